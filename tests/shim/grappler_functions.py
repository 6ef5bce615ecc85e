"""Prints what Grappler's items and clusters tell of small graphs; what 1.15.5 prints is in grappler_functions_expected.txt."""

import tensorflow as tf
from tensorflow.core.protobuf import device_properties_pb2
from tensorflow.python.framework import meta_graph
from tensorflow.python.grappler import cluster, item


def device(kind, name, **properties):
    return device_properties_pb2.NamedDevice(properties=device_properties_pb2.DeviceProperties(type=kind, **properties), name=name)


def make_item(build, collection="train_op", **options):
    with tf.Graph().as_default() as graph:
        with tf.device("/device:GPU:0"):
            result = build()
        tf.compat.v1.add_to_collection(collection, result)
        return item.Item(meta_graph.create_meta_graph_def(graph=graph), **options)


def sums():
    return tf.add(tf.random.uniform([1024, 1024]), tf.random.uniform([1024, 1024]))


def layers():
    placeholder = tf.compat.v1.placeholder
    c = tf.tanh(tf.identity(tf.matmul(placeholder(tf.float32, [2048, 1024]), placeholder(tf.float32, [1024, 512]))))
    c = tf.reshape(c, [512, 2048])
    v = tf.compat.v1.get_variable("v", [2048, 512], use_resource=False)
    w = tf.compat.v1.assign_add(v, tf.transpose(c) + 1.0)
    rows = tf.gather(tf.nn.softmax(tf.stop_gradient(c))[:, :512], [3, 1, 2])
    tf.constant(3, name="not_needed")
    return tf.concat([w, tf.slice(rows, [0, 0], [2, 512]) * tf.reduce_sum(tf.exp(w) / tf.sqrt(c[0, 0]))], 0)


def values():
    x = tf.compat.v1.placeholder(tf.float32, name="x")
    k = tf.identity(tf.constant([2, 3]), name="k")
    shape = tf.raw_ops.Shape(input=tf.ones([4, 5]), name="shape")
    rank = tf.raw_ops.Rank(input=tf.ones([4, 5]), name="rank")
    return tf.group(x, k, shape, rank, tf.fill(k, 1.0, name="filled"))


def line(message):
    return " ".join(str(message).split())


def show_item(build):
    made = make_item(build)
    names = made.IdentifyImportantOps(sort_topologically=True)
    print(build.__name__, names, sorted(made.IdentifyImportantOps()) == sorted(names), sorted(map(sorted, made.GetColocationGroups())))
    for name, outputs in made.GetOpProperties().items():
        if "random_uniform" not in name and "ones" not in name and build is not layers:  # it has placeholders of known shape
            print("  ", name, [line(output) for output in outputs])


def show_costs(build, **options):
    gpu = device("GPU", "/device:GPU:0", frequency=1000, num_cores=60, environment={"architecture": "7"}, **options)
    virtual = cluster.Cluster(disable_timeline=False, devices=[gpu])
    made = make_item(build)
    performances, seconds, statistics = virtual.MeasureCosts(made)
    print(build.__name__, options, seconds)
    for p in performances:
        print("  ", p.node, p.op.op, p.compute_cost, p.compute_time, p.memory_time, list(p.op_memory.output_memory), len(p.op.inputs), sorted(p.op.attr))
    for of_device in statistics.dev_stats:
        print("  ", of_device.device, [(n.node_name, n.all_start_micros, n.all_end_rel_micros, line(n.memory_stats)) for n in of_device.node_stats])
    print("  ", {name: (most, sorted(live)) for name, (most, live) in virtual.DeterminePeakMemoryUsage(made).items()})


for build in (sums, layers, values):
    show_item(build)
for build in (sums, layers):
    show_costs(build)
show_costs(layers, bandwidth=7000000)

try:
    make_item(sums, "another_collection")
except tf.errors.InvalidArgumentError as error:
    print(error)

cpu = device("CPU", "/CPU:0", frequency=3000, num_cores=6)
gpus = [device("GPU", "/GPU:0", frequency=1000, num_cores=60, environment={"architecture": a}) for a in ("1", "2.0", "3.5", "4", "5.2", "6.1", "7", "8")]
with cluster.Provision(devices=[cpu, gpus[0]]) as both:
    print([both.EstimatePerformance(each) for each in [cpu, *gpus]], sorted(each.name for each in both.ListDevices()))
    print(sorted(both.GetSupportedDevices(make_item(layers)).items())[:3])
    names = both.ListAvailableOps()
    print(names == sorted(names), {"Add", "MatMul"} <= set(names))
print(both.ListDevices(), both.tf_cluster)

small = device("CPU", "/CPU:0", frequency=3000, num_cores=6, memory_size=1000)
try:
    cluster.Cluster(devices=[small]).MeasureCosts(make_item(sums, ignore_user_placement=True))
except tf.errors.ResourceExhaustedError as error:
    print(error)

real = cluster.Cluster()
try:
    cluster.Cluster()
except tf.errors.UnavailableError as error:
    print(error)
made = make_item(lambda: tf.constant([[1.0, 2.0]] * 4) + tf.constant(2.0), ignore_user_placement=True)
performances, seconds, statistics = real.MeasureCosts(made)
print(performances, seconds > 0, len(statistics.dev_stats))
usage = real.DeterminePeakMemoryUsage(made)["/job:localhost/replica:0/task:0/device:CPU:0"]
print(usage[0], sorted(usage[1]))
real.Shutdown()
with cluster.Provision(disable_detailed_stats=False, disable_timeline=False) as detailed:
    performances, seconds, statistics = detailed.MeasureCosts(made)
    print(seconds > 0, len(statistics.dev_stats) > 0)
