"""Sessions over two tasks: this process is the worker, another one the parameter server; golden: what TensorFlow 1.15.5 gives."""

import re

import numpy as np
import pytest
from cluster import processes

import tfcompat as tf
from tfcompat._src.cluster.tensor_streams import TensorStreams
from tfcompat._src.runtime.devices import local_servers

WORKER, PS = "/job:worker/task:0", "/job:ps/task:0"


@pytest.fixture(scope="module")
def target():
    ps, worker = processes.free_addresses(2)
    cluster = {"ps": [ps], "worker": [worker]}
    with processes.server(cluster, "ps", 0):
        yield tf.train.Server(cluster, "worker", 0).target


@pytest.fixture(autouse=True)
def graph(target):
    with tf.Graph().as_default() as graph:
        yield graph
    tf.Session.reset(target)


def test_each_task_has_its_variables(target):
    with tf.device(PS):
        v, r = tf.Variable([1.0, 1.0]), tf.get_variable("r", initializer=[1.0, 1.0], use_resource=True)
    with tf.device(WORKER):
        x = tf.placeholder(tf.float32, [2])
        own = tf.Variable([5.0, 6.0])
        w = v + x * r + own
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        assert session.run([w, v.assign_add([1.0, 2.0]), x], {x: [1.0, 2.0]})[1:] == [pytest.approx([2.0, 3.0]), pytest.approx([1.0, 2.0])]
    with tf.Session(target) as session:
        assert session.run([v, own, w], {x: [1.0, 2.0]})[2].tolist() == [8.0, 11.0]
        assert sorted(d.name for d in session.list_devices()) == [f"/job:{j}/replica:0/task:0/device:CPU:0" for j in ("ps", "worker")]


def test_a_task_is_told_of_the_end_of_steps_that_failed_only(target, monkeypatch):
    """Others it ends itself, which is a message less."""
    told = []
    monkeypatch.setattr(TensorStreams, "end", lambda self, address, number: told.append(address))
    with tf.device(PS):
        x = tf.placeholder(tf.float32, [])
        checked = tf.check_numerics(x, "no number") * 2.0
    with tf.Session(target) as session:
        for value in (1.0, 2.0):
            assert session.run(checked, {x: value}) == 2.0 * value
        assert told == []
        with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
            session.run(checked, {x: np.nan})
    assert len(told) == 1


def named_cluster(target, names):
    """A ConfigProto that gives the two tasks other names, the parameter server first."""
    with tf.Session(target) as session:
        assert len(session.list_devices()) == 2
    addresses = [address for _, address in sorted(local_servers.find(target).addresses.items())]
    config = tf.ConfigProto()
    for (job, index), address in zip(names, addresses):
        config.cluster_def.job.add(name=job).tasks[index] = address
    return config


def test_a_session_gives_tasks_other_names(target):
    config = named_cluster(target, [("beta", 5), ("alpha", 3)])
    with tf.device("/job:beta/task:5"):
        v = tf.Variable([1.0, 2.0])
    with tf.device("/job:alpha/task:3"):
        x = tf.placeholder(tf.float32, [2])
        w = v * x
    update = v.assign_add(w)
    with tf.Session(target, config=config) as session:
        session.run(v.initializer)
        assert session.run(update, {x: [3.0, 4.0]}).tolist() == [4.0, 10.0]
        names = [f"/job:{task}/device:CPU:0" for task in ("alpha/replica:0/task:3", "beta/replica:0/task:5")]
        assert sorted(d.name for d in session.list_devices()) == names
        metadata = tf.RunMetadata()
        session.run(w, {x: [1.0, 1.0]}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
        assert {d.device.partition("/stream")[0] for d in metadata.step_stats.dev_stats} == set(names)


@pytest.mark.parametrize(
    "names, words",
    [
        ([("ps", 0), ("worker", 0)], "same names that were provided when the server booted. This is currently not allowed. Job: worker, task index: 0"),
        ([("ps", 0)], "The master (current machine) is not included in the provided cluster_def. job"),
        ([("b", 0), ("a", 0)], "Cannot assign a device for operation c: node c was explicitly assigned to /job:worker/task:0 but available"),
    ],
)  # fmt: skip
def test_clusters_that_a_session_cannot_have(target, names, words):
    config = named_cluster(target, names)
    with tf.device("/job:worker/task:0"):
        c = tf.add(tf.constant(1.0), 2.0, name="c")
    with tf.Session(target, config=config) as session, pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(words)):
        session.run(c)


def test_the_error_of_a_filtered_task_names_what_tensorflow_places_first(target):
    def error(tensor):
        with tf.Session(target, config=tf.ConfigProto(device_filters=["/job:worker/task:0"])) as session, pytest.raises(tf.errors.InvalidArgumentError) as found:
            session.run(tensor)
        return found.value.message

    with tf.device(PS):
        kernel = tf.get_variable("kernel", [3, 2])
    assert error(kernel).startswith(
        "Cannot assign a device for operation kernel/Initializer/random_uniform/RandomUniform: Could not satisfy explicit device specification '' because "
        "the node kernel/Initializer/random_uniform/RandomUniform was colocated with a group of nodes that required incompatible device '/job:ps/task:0'"
    )
    with tf.Graph().as_default():
        with tf.device(PS):
            v = tf.Variable(1.0, name="v")
        assert error(v).startswith("Cannot assign a device for operation v: node v was explicitly assigned to /job:ps/task:0 but available devices are [ /job:worker/")


def test_training_over_tasks_is_training(target):
    def losses(target, on_ps, on_worker):
        with tf.Graph().as_default():
            with tf.device(on_ps):
                w, b = tf.Variable(tf.fill([4, 2], 0.1)), tf.Variable(tf.zeros([2]))
            with tf.device(on_worker):
                x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [None])
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=tf.matmul(x, w) + b))
            step = tf.train.get_or_create_global_step()
            train = tf.train.AdamOptimizer(0.1).minimize(loss, step)
            inputs = np.random.RandomState(1).rand(16, 4)
            labels = (inputs[:, 0] > 0.5).astype(int)
            with tf.Session(target) as session:
                session.run(tf.global_variables_initializer())
                return [session.run([loss, train], {x: inputs, y: labels})[0] for _ in range(10)]

    there, here = losses(target, PS, WORKER), losses("", "", "")
    np.testing.assert_allclose(there, here, rtol=1e-6)
    assert there[-1] < there[0]


def ran(session, fetches, feed):
    """The op types that a run runs one by one, and how many clusters of others."""
    metadata = tf.RunMetadata()
    session.run(fetches, feed, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    nodes = [node for device in metadata.step_stats.dev_stats for node in device.node_stats]
    return [node.timeline_label.partition(" = ")[2].partition("(")[0] for node in nodes]


@pytest.mark.parametrize("on", [PS, WORKER])
def test_a_recurrent_network_trains_over_tasks(target, on):
    """The task that the loops are on computes the backward loop as the derivative of the forward one."""

    def losses(target, on):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            x, y = tf.placeholder(tf.float32, [2, None, 3]), tf.placeholder(tf.float32, [2, 4])
            with tf.device(on and tf.train.replica_device_setter(1, worker_device=on)):
                _, (_, last) = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), x, dtype=tf.float32)
                loss = tf.reduce_mean(tf.square(last - y))
                train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
            rng = np.random.RandomState(1)
            feed = {x: rng.rand(2, 6, 3), y: rng.rand(2, 4)}
            with tf.Session(target) as session:
                session.run(tf.global_variables_initializer())
                found = [session.run([loss, train], feed)[0] for _ in range(5)]
                return found, ran(session, train, feed)

    (there, types), (here, _) = losses(target, on), losses("", "")
    np.testing.assert_allclose(there, here, rtol=1e-5)
    assert there[-1] < there[0]
    assert "ApplyGradientDescent" in types and not {"StackPushV2", "StackPopV2"}.intersection(types)


def test_gradients_of_a_result_that_nothing_else_needs(target):
    """The part of the task has the result of the loop only for its derivative; where a node of the backward loop is fetched too, its nodes run."""
    x = tf.placeholder(tf.float32, [])
    with tf.device(PS):
        w = tf.Variable(2.0)
    with tf.device(WORKER):
        y = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * w), [0, x])[1]
        slope = tf.gradients(3.0 * y, w)[0]
    counted = tf.get_default_graph().get_tensor_by_name("gradients/b_count_3:0")
    session = tf.Session(target)
    session.run(w.initializer)
    assert session.run(slope, {x: 0.5}) == 3 * 0.5 * 3 * 2.0**2
    assert "StackPopV2" not in ran(session, slope, {x: 0.5})
    assert session.run([slope, counted], {x: 0.5}) == [18.0, 0]
    assert session.run([slope, y], {x: 0.5}) == [18.0, 4.0]


@pytest.mark.parametrize("on", [PS, WORKER, ""])
def test_conditionals_over_tasks(target, on):
    with tf.device(PS):
        v = tf.Variable([4.0, 9.0])
    with tf.device(WORKER):
        own, x = tf.Variable([5.0, 6.0]), tf.placeholder(tf.float32, [])

    def there():
        with tf.device(WORKER):
            return own * 3.0

    def nested():
        return tf.cond(x > 5.0, there, lambda: v.assign([7.0, 7.0]) + 1.0)

    with tf.device(on):
        one = tf.cond(x > 0.0, there, lambda: v - 1.0)
        two = tf.cond(x > 0.0, nested, lambda: v - own)
        initial = v.initialized_value() + 0.0
    session = tf.Session(target)
    assert session.run(initial).tolist() == [4.0, 9.0]
    session.run(tf.global_variables_initializer())
    for value, wanted in ((1.0, [15.0, 18.0]), (-1.0, [3.0, 8.0]), (1.0, [15.0, 18.0])):
        assert session.run(one, {x: value}).tolist() == wanted
    for value, wanted, after in ((9.0, [15.0, 18.0], [4.0, 9.0]), (-1.0, [-1.0, 3.0], [4.0, 9.0]), (1.0, [8.0, 8.0], [7.0, 7.0])):
        assert session.run(two, {x: value}).tolist() == wanted
        assert session.run(v).tolist() == after
    assert session.run(initial).tolist() == [7.0, 7.0]


def test_loops_and_functions_of_values_of_other_tasks(target):
    @tf.function
    def doubled(x):
        return x * 2.0

    with tf.device(PS):
        v = tf.Variable([1.0, 2.0])
    with tf.device(WORKER):
        _, total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + v), [0, tf.zeros([2])])
        called = doubled(v)
        python = tf.py_func(lambda x: x + 1.0, [v], tf.float32)
    session = tf.Session(target)
    session.run(v.initializer)
    assert [x.tolist() for x in session.run([total, called, python])] == [[3.0, 6.0], [2.0, 4.0], [2.0, 3.0]]


def test_a_failure_is_told_from_the_task_where_it_is(target):
    x = tf.placeholder(tf.float32, [])
    with tf.device(PS):
        bad = tf.check_numerics(tf.log(x), "bad", name="check")
    with tf.device(WORKER):
        after = bad + 1.0
    session = tf.Session(target)
    with pytest.raises(tf.errors.InvalidArgumentError) as e:
        session.run(after, {x: -1.0})
    assert e.value.message.startswith("From /job:ps/replica:0/task:0:\nbad : Tensor had NaN values\n\t [[node check (defined at ")
    assert e.value.op is bad.op
    assert session.run(after, {x: 1.0}) == 1.0
    with tf.device(PS):
        v = tf.Variable(1.0, name="v")
    with pytest.raises(tf.errors.FailedPreconditionError, match="(?s)From /job:ps/.*uninitialized value v"):
        session.run(v)


def test_a_queue_of_another_task_and_the_deadline_of_waiting_for_it(target):
    with tf.device(PS):
        queue = tf.FIFOQueue(3, tf.float32, shapes=[()])
        put, taken = queue.enqueue(25.0), queue.dequeue()
    with tf.device(WORKER):
        more = taken + 1.0
    session = tf.Session(target)
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(more, options=tf.RunOptions(timeout_in_ms=100))
    session.run(put)
    assert session.run(more) == 26.0


def test_a_queue_without_a_shared_name_ends_with_its_session(target):
    with tf.device(PS):
        own, shared = (tf.FIFOQueue(3, tf.int32, shapes=[()], shared_name=name) for name in (None, "shared"))
        sizes, ends = [own.size(), shared.size()], [own.is_closed(), shared.is_closed()]
        puts, closes = [own.enqueue(1), shared.enqueue(1)], [own.close(), shared.close()]
    with tf.device(WORKER):
        sizes = [tf.identity(size) for size in sizes]
    with tf.Session(target) as first, tf.Session(target) as second:
        first.run(puts)
        assert [first.run(sizes), second.run(sizes)] == [[1, 1], [0, 1]]
        first.run(closes)
        assert [first.run(ends), second.run(ends)] == [[True, True], [False, True]]
    with tf.Session(target) as third:
        assert [third.run(sizes), third.run(ends)] == [[0, 1], [False, True]]


def test_random_numbers_go_on_from_one_run_to_another(target):
    with tf.device(PS):
        drawn = tf.random_uniform([2], seed=5)
    with tf.device(WORKER):
        seen = drawn + 0.0
    with tf.Session(target) as session, tf.Session() as local:
        there = [session.run(f).tolist() for f in (seen, drawn, seen)]
    with tf.Graph().as_default():
        drawn = tf.random_uniform([2], seed=5)
        with tf.Session() as local:
            assert there == [local.run(drawn).tolist() for _ in range(3)]


def test_what_is_received_and_its_memory_are_in_the_metadata(target):
    """The names, bytes and devices that 1.15.5 states of the same program; times are of this run."""
    with tf.device(PS):
        v = tf.Variable(tf.ones([100, 100]), name="v")
    with tf.device(WORKER):
        y = tf.matmul(v, v, name="y")
        z = tf.reduce_sum(y, name="z")
    with tf.device(PS):
        u = tf.assign_add(v, tf.fill([100, 100], z), name="u")
    metadata = tf.RunMetadata()
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        session.run(u.op, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    nodes = [(device.device.split(":")[1].split("/")[0], node) for device in metadata.step_stats.dev_stats for node in device.node_stats]
    received = {task: node for task, node in nodes if node.node_name == "RecvTensor"}
    assert received.keys() == {"worker", "ps"}
    for task, size, name in (("worker", 40000, "v/read"), ("ps", 4, "z")):
        sender = "ps" if task == "worker" else "worker"
        device = "/job:{}/replica:0/task:0/device:CPU:0"
        label = received[task].timeline_label
        assert label.startswith(f"[{size}B] [") and label.endswith(f"_{name} from {device.format(sender)} to {device.format(task)}")
        assert [output.tensor_description.allocation_description.requested_bytes for output in received[task].output] == [size]
        assert received[task].all_end_rel_micros >= 1
    memory = {node.node_name: [m.total_bytes for m in node.memory] for _, node in nodes}
    assert [memory[name] for name in ("y", "z", "Fill", "v/read", "u")] == [[40000], [4], [40000], [], []]


def test_metadata_is_that_of_all_tasks(target):
    with tf.device(PS):
        v = tf.Variable(1.0)
    with tf.device(WORKER):
        w = v + 1.0
    session, metadata = tf.Session(target), tf.RunMetadata()
    session.run(v.initializer)
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    session.run(w, options=options, run_metadata=metadata)
    assert {d.device.partition("/device")[0] for d in metadata.step_stats.dev_stats} == {f"/job:{j}/replica:0/task:0" for j in ("ps", "worker")}
    assert len(metadata.partition_graphs) == 2


def test_the_names_of_nodes_in_the_metadata(target):
    with tf.device(PS):
        w, r = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w"), tf.get_variable("r", initializer=[[1.0, 1.0], [0.0, 1.0]], use_resource=True)
    with tf.device(WORKER):
        x = tf.placeholder(tf.float32, [2, 2], name="x")
        z = tf.reduce_sum(tf.matmul(x, w, name="y") + r, name="z")
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        session.run(z, {x: np.eye(2)}, options, metadata)
    ran = {d.device: sorted({n.node_name for n in d.node_stats}) for d in metadata.step_stats.dev_stats if "stream" not in d.device}
    assert ran == {
        "/job:ps/replica:0/task:0/device:CPU:0": ["_SOURCE", "add/ReadVariableOp", "r", "w", "w/read"],
        "/job:worker/replica:0/task:0/device:CPU:0": ["Const", "RecvTensor", "_SOURCE", "add", "y", "z"],
    }
    assert sorted(sorted(n.name for n in graph.node) for graph in metadata.partition_graphs) == [
        ["Const", "_recv_x_0", "_send_z_0", "add", "add/ReadVariableOp_S3", "w/read_S1", "y", "z"],
        ["add/ReadVariableOp", "add/ReadVariableOp_S2", "r", "w", "w/read", "w/read_S0"],
    ]


def test_partial_runs_over_tasks(target):
    with tf.device(PS):
        v, a = tf.Variable([1.0, 2.0]), tf.placeholder(tf.float32, [2])
        added = v.assign_add(a)
    with tf.device(WORKER):
        b, drawn = tf.placeholder(tf.float32, [2]), tf.random_uniform([2])
        twice = added * 2.0
        both = twice + b + drawn
        last = both + drawn
    with tf.control_dependencies([added.op]), tf.device(PS):
        after = v + 0.0
    session = tf.Session(target)
    session.run(v.initializer)
    handle = session.partial_run_setup([twice, both, last, drawn, after], [a, b])
    assert session.partial_run(handle, twice, {a: [10.0, 20.0]}).tolist() == [22.0, 44.0]
    x, y = session.partial_run(handle, [both, drawn], {b: [100.0, 200.0]})
    assert x - y == pytest.approx([122.0, 244.0]) and session.partial_run(handle, last) - x == pytest.approx(y, abs=1e-4)
    assert session.partial_run(handle, after).tolist() == session.run(v).tolist() == [11.0, 22.0]
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.partial_run(handle, after)


def test_input_by_datasets_queues_and_tables(target):
    with tf.device(PS):
        v = tf.Variable(10.0)
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2], tf.string, tf.int32), -1)
    with tf.device(WORKER):
        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(3).map(lambda x: tf.cast(x, tf.float32)))
        once = tf.data.make_one_shot_iterator(tf.data.Dataset.from_generator(lambda: iter([1.0, 2.0]), tf.float32)).get_next()
        added = iterator.get_next() + v
        found = table.lookup(tf.constant(["b", "c"]))
        batch = tf.train.batch([tf.constant(1.0) + v], 2, shapes=[[]])
    with tf.Session(target) as session:
        session.run([v.initializer, iterator.initializer, tf.tables_initializer()])
        assert [session.run(added) for _ in range(3)] == [10.0, 11.0, 12.0]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(added)
        assert [session.run(once + v) for _ in range(2)] == [11.0, 12.0]
        assert session.run(found).tolist() == [2, -1]
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        assert session.run(batch).tolist() == [11.0, 11.0]
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=30)


def test_checkpoints_of_variables_of_several_tasks(target, tmp_path):
    with tf.device(PS):
        v = tf.Variable([1.0, 2.0], name="v")
    with tf.device(WORKER):
        w = tf.Variable([3.0], name="w")
    saver = tf.train.Saver(sharded=True)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        session.run([v.assign([0.0, 0.0]), w.assign([0.0])])
        saver.restore(session, path)
        assert [x.tolist() for x in session.run([v, w])] == [[1.0, 2.0], [3.0]]
    assert tf.train.load_checkpoint(path).get_tensor("v").tolist() == [1.0, 2.0]


def test_gradients_and_summaries_of_a_loop_over_variables_of_another_task(target):
    with tf.device(PS):
        w = tf.get_variable("w", initializer=[[0.5, 0.1], [0.2, 0.3]])
    with tf.device(WORKER):
        x = tf.placeholder(tf.float32, [None, 3, 2])
        _, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), x, dtype=tf.float32)
        loss = tf.reduce_sum(tf.matmul(state, w))
        summary = tf.summary.scalar("loss", loss)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    inputs = np.random.RandomState(0).rand(4, 3, 2)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, train, summary], {x: inputs})[0] for _ in range(3)]
    assert losses[0] > losses[1] > losses[2]
