"""Placement, towers on several devices, and the mesh plan. Virtual CPU devices stand in for GPUs."""

import contextlib
import re

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.function.control_flow_v2 import cond_v2
from tfcompat._src.runtime.session import config

IMAGES = np.random.RandomState(0).rand(20, 16, 12, 12, 1).astype(np.float32)
LABELS = np.random.RandomState(1).randint(0, 10, (20, 16))


@pytest.fixture
def four_gpus(monkeypatch):
    """Four virtual GPUs for the sessions of a test, in a process that has not looked at its devices yet."""
    monkeypatch.setenv("TFCOMPAT_VIRTUAL_GPUS", "4")
    monkeypatch.setattr(config, "_CURRENT", [])


@pytest.fixture(autouse=True)
def fresh_graph():
    """A graph of its own for each test."""
    with tf.Graph().as_default():
        yield


def variable(name, shape, seed):
    with tf.device("/cpu:0"):
        return tf.get_variable(name, shape, initializer=tf.glorot_uniform_initializer(seed=seed))


def tower_loss(images, labels, keep=None):
    hidden = tf.nn.relu(tf.nn.conv2d(images, variable("conv", [3, 3, 1, 8], 1), [1, 1, 1, 1], "SAME"))
    hidden = tf.reshape(tf.nn.max_pool(hidden, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), [-1, 288])
    if keep is not None:
        hidden = tf.nn.dropout(hidden, keep, seed=5)
    logits = tf.matmul(hidden, variable("dense", [288, 10], 2))
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def averaged(tower_gradients):
    """The mean over the towers of each gradient, as the CIFAR-10 tutorial writes it."""
    found = []
    for pairs in zip(*tower_gradients):
        stacked = tf.concat([tf.expand_dims(g, 0) for g, _ in pairs], 0)
        found.append((tf.reduce_mean(stacked, 0), pairs[0][1]))
    return found


def towers(count, keep=None, optimizer=None):
    """Placeholders, the train op and the mean loss of a model with one tower per GPU."""
    images, labels = tf.placeholder(tf.float32, [None, 12, 12, 1]), tf.placeholder(tf.int32, [None])
    optimizer = optimizer or tf.train.GradientDescentOptimizer(0.1)
    losses, gradients = [], []
    with tf.variable_scope(tf.get_variable_scope()):
        for i, (x, y) in enumerate(zip(tf.split(images, count), tf.split(labels, count))):
            with tf.device(f"/gpu:{i}"), tf.name_scope(f"tower_{i}"):
                losses.append(tower_loss(x, y, keep))
                tf.get_variable_scope().reuse_variables()
                gradients.append(optimizer.compute_gradients(losses[-1]))
    return images, labels, optimizer.apply_gradients(averaged(gradients)), tf.add_n(losses) / count


def curve(session, images, labels, train, loss, steps=20):
    session.run(tf.global_variables_initializer())
    return [session.run([train, loss], {images: IMAGES[k], labels: LABELS[k]})[1] for k in range(steps)]


def test_mesh_plan_is_one_compiled_call(four_gpus):
    images, labels, train, loss = towers(4)
    with tf.Session() as session:
        curve(session, images, labels, train, loss, 2)
        plan = session.plan([train, loss], {images: IMAGES[0], labels: LABELS[0]})
    assert len(plan.steps) == 1 and plan.compile_count() == 1
    assert plan.steps[0].place.mesh.size == 4


def test_gradients_are_one_all_reduce(four_gpus):
    images, labels, train, loss = towers(4)
    feed = {images: IMAGES[0], labels: LABELS[0]}
    texts = []
    with tf.Session() as session:
        curve(session, images, labels, train, loss, 1)
        (program,) = session.plan([train, loss], feed).steps[0].programs.values()
        ((shapes, executable),) = program.executables.items()

        class Noted:
            takes_kept, is_used_up, tracing = False, False, executable.tracing

            def fits(self, arguments):
                return True

            def make(self, call):
                texts.append(self.tracing.call.lower(*call.arguments).compile().as_text())
                executable.make(call)

        program.executables[shapes] = Noted()
        session.run([train, loss], feed)
    assert len(re.findall(r"= \(?f32\[.* all-reduce(?:-start)?\(", texts[0])) == 1


@pytest.mark.parametrize("optimizer", [tf.train.GradientDescentOptimizer, tf.train.AdamOptimizer])
def test_mesh_equals_separate_and_single(four_gpus, optimizer):
    images, labels, train, loss = towers(4, optimizer=optimizer(0.01))
    with tf.Session() as session:
        mesh = curve(session, images, labels, train, loss)
    with tf.Session() as session:
        session.context.placer.mesh_towers = False
        separate = curve(session, images, labels, train, loss)
        assert len(session.plan([train, loss], {images: IMAGES[0], labels: LABELS[0]}).clusters) > 4
    with tf.Graph().as_default():
        images, labels = tf.placeholder(tf.float32, [None, 12, 12, 1]), tf.placeholder(tf.int32, [None])
        loss = tower_loss(images, labels)
        with tf.Session() as session:
            single = curve(session, images, labels, optimizer(0.01).minimize(loss), loss)
    np.testing.assert_allclose(mesh, separate, rtol=1e-5)
    np.testing.assert_allclose(mesh, single, rtol=1e-5)


def test_each_tower_draws_its_own_random_numbers(four_gpus):
    images, labels, train, loss = towers(4, keep=0.5)
    with tf.Session() as session:
        mesh = curve(session, images, labels, train, loss)
    with tf.Session() as session:
        session.context.placer.mesh_towers = False
        separate = curve(session, images, labels, train, loss)
    np.testing.assert_allclose(mesh, separate, rtol=1e-5)


@pytest.mark.parametrize("engine", ["interpret", "compile"])
def test_towers_with_dropout_that_a_feed_switches(four_gpus, monkeypatch, engine):
    monkeypatch.setenv("TFCOMPAT_ENGINE", engine)
    training, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [8, 3])
    optimizer, losses, gradients = tf.train.GradientDescentOptimizer(0.1), [], []
    for i, part in enumerate(tf.split(x, 2)):
        with tf.device(f"/gpu:{i}"), tf.variable_scope("net", reuse=bool(i)):
            hidden = tf.layers.dense(part, 2, kernel_initializer=tf.ones_initializer())
            losses.append(tf.reduce_mean(tf.layers.dropout(hidden, 0.5, training=training, seed=7)))
            gradients.append(optimizer.compute_gradients(losses[-1]))
    loss, train = tf.add_n(losses) / 2.0, optimizer.apply_gradients(averaged(gradients))
    feed, found = np.arange(24.0).reshape(8, 3), {}
    for meshed in (True, False):
        with tf.Session() as session:
            session.context.placer.mesh_towers = meshed
            session.run(tf.global_variables_initializer())
            found[meshed] = [session.run([loss, train], {x: feed, training: on})[0] for on in (True, False, True, False)]
    np.testing.assert_allclose(found[True], found[False], rtol=1e-5)


def test_failing_check_names_the_node_of_its_tower(four_gpus):
    ids = tf.placeholder(tf.int32, [4, 2])
    table = variable("table", [5, 3], 3)
    parts = []
    for i, mine in enumerate(tf.unstack(ids)):
        with tf.device(f"/gpu:{i}"), tf.name_scope(f"tower_{i}"):
            parts.append(tf.reduce_sum(tf.gather(table, mine, name="rows")))
    total = tf.add_n(parts)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(total, {ids: np.zeros([4, 2])})
        with pytest.raises(tf.errors.InvalidArgumentError, match="tower_2/rows"):
            session.run(total, {ids: [[0, 1], [2, 3], [4, 5], [0, 0]]})


def test_towers_of_different_shapes_run_apart(four_gpus):
    x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    sums = []
    for i, part in enumerate((x, y)):
        with tf.device(f"/gpu:{i}"):
            sums.append(tf.reduce_sum(tf.square(part)))
    with tf.Session() as session:
        assert session.run(tf.add_n(sums), {x: [1, 2, 3], y: [4]}) == 30.0


def test_one_device_with_soft_placement():
    images, labels, train, loss = towers(4)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        soft = curve(session, images, labels, train, loss, 5)
        assert len(session.plan([train, loss], {images: IMAGES[0], labels: LABELS[0]}).steps) == 1
    with tf.Graph().as_default():
        images, labels = tf.placeholder(tf.float32, [None, 12, 12, 1]), tf.placeholder(tf.int32, [None])
        loss = tower_loss(images, labels)
        with tf.Session() as session:
            single = curve(session, images, labels, tf.train.GradientDescentOptimizer(0.1).minimize(loss), loss, 5)
    np.testing.assert_allclose(soft, single, rtol=1e-5)


def test_model_parallel(four_gpus):
    x = tf.placeholder(tf.float32, [None, 4])
    with tf.device("/gpu:0"):
        first = variable("first", [4, 8], 1)
        hidden = tf.nn.relu(tf.matmul(x, first))
    with tf.device("/gpu:1"):
        loss = tf.reduce_mean(tf.square(tf.matmul(hidden, variable("second", [8, 1], 2))))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, colocate_gradients_with_ops=True)
    data = np.random.RandomState(0).rand(6, 4)
    losses = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            losses.append(session.run([train, loss], {x: data})[1])
        places = {c.place for c in session.plan([train, loss], {x: data}).clusters}
    assert len(places) == 2 and losses[-1] < losses[0]


def test_variables_stay_where_they_were_placed(four_gpus):
    with tf.device("/gpu:2"):
        v = tf.get_variable("v", [3], initializer=tf.zeros_initializer())
    add = v.assign_add([1.0, 1.0, 1.0])
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(add)
        session.run(add)
        (value,) = session.context.variable_state.values.values()
        assert value.device == session.context.devices[3].jax_device
        assert session.run(v).tolist() == [2.0, 2.0, 2.0]


def test_device_count_gives_cpu_devices():
    with tf.device("/cpu:3"):
        y = tf.placeholder(tf.float32, []) * 2.0
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 4})) as session:
        assert [d.name for d in session.list_devices()] == [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(4)]
        assert session.run(y, {"Placeholder:0": 3.0}) == 6.0
        assert [c.place.id for c in session.plan(y, {"Placeholder:0": 3.0}).clusters] == [3]


def test_a_device_that_is_not_there_fails_the_whole_graph():
    good = tf.constant(1.0)
    with tf.device("/gpu:0"):
        tf.constant(2.0, name="bad")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="operation bad.*/device:GPU:0"):
        session.run(good)


def test_soft_placement_does_not_change_the_job():
    with tf.device("/job:worker/cpu:0"):
        x = tf.constant(1.0)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(x)


def test_visible_devices(four_gpus):
    options = tf.GPUOptions(visible_device_list="2,0")
    with tf.Session(config=tf.ConfigProto(gpu_options=options)) as session:
        assert [d.jax_device.id for d in session.context.devices] == [0, 2, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="visible_device_list"):
        tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="9")))


def test_placement_log(capsys):
    with tf.device("/cpu:0"):
        a = tf.constant([1.0, 2.0], name="a")
    v = tf.Variable([1.0, 2.0], name="v")
    c = tf.add(a, v, name="c")
    with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
        session.run(v.initializer)
        session.run(c)
        lines = capsys.readouterr().out.splitlines()
        cpu = "/job:localhost/replica:0/task:0/device:CPU:0"
        names = ["v: (VariableV2)", "v/Assign: (Assign)", "v/read: (Identity)", "c: (Add)", "a: (Const)", "v/initial_value: (Const)"]
        assert lines == ["Device mapping: no known devices."] + [f"{name}: {cpu}" for name in names]
        session.run(c)
        assert capsys.readouterr().out == ""


def test_partition_graphs(four_gpus):
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.device("/gpu:1"):
        y = tf.square(x, name="y")
    with tf.device("/cpu:0"):
        z = tf.exp(y, name="z")
    options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
    with tf.Session() as session:
        session.run(z, {x: 2.0}, options, metadata)
    found = {node.name: node.device for graph in metadata.partition_graphs for node in graph.node}
    assert found["y"].endswith("GPU:1") and found["z"].endswith("CPU:0")


@pytest.mark.parametrize("asked", ["device", "colocation", "none"])
def test_nodes_of_a_branch_run_where_they_ask_to(four_gpus, asked):
    with tf.device("/gpu:1"):
        other = tf.constant(1.0, name="other")
    scopes = {
        "device": lambda: tf.device("/gpu:2"),
        "colocation": lambda: tf.colocate_with(other.op),
        "none": contextlib.nullcontext,
    }

    def branch():
        assert tf.constant(3.0).op.device == ""
        with scopes[asked]():
            return tf.add(x, x, name="sum")

    options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
    with tf.device("/gpu:0"), tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        found = cond_v2(tf.placeholder_with_default(True, []), branch, lambda: x)
        assert session.run(found, {x: 2.0}, options, metadata) == 4.0
    (device,) = {node.device for graph in metadata.partition_graphs for node in graph.node if node.name.endswith("/sum")}
    assert device.endswith({"device": "GPU:2", "colocation": "GPU:1", "none": "GPU:0"}[asked])


def clusters_of(fetches, **settings):
    """Where `explain` says that each cluster of a run is."""
    with tf.Session(**settings) as session:
        return re.findall(r"^step \d+: cluster on (.*?): ", session.explain(fetches), re.MULTILINE)


def test_a_plan_names_devices_as_the_program_does(four_gpus):
    x = tf.random.uniform([3])
    with tf.device("/gpu:2"):
        far = tf.exp(x)
    with tf.device("/cpu:0"):
        near = tf.exp(tf.random.uniform([3]))
    assert clusters_of(far)[-1] == "/device:GPU:2"
    assert clusters_of(near) == ["/device:CPU:0"]
    assert clusters_of(tf.exp(x)) == ["/device:GPU:0"]


def test_a_plan_names_the_cpu_where_there_is_nothing_else():
    assert clusters_of(tf.exp(tf.random.uniform([3]))) == ["/device:CPU:0"]


def test_a_plan_names_all_devices_of_a_mesh(four_gpus):
    weight = tf.get_variable("weight", [3], initializer=tf.zeros_initializer())
    towers = []
    for i in range(4):
        with tf.device(f"/gpu:{i}"):
            towers.append(tf.gradients(tf.reduce_sum(tf.square(weight - tf.random.uniform([3], seed=i))), weight)[0])
    step = tf.assign_sub(weight, tf.add_n(towers) / 4.0)
    (where,) = set(clusters_of(step))
    assert where == "/device:GPU:0, /device:GPU:1, /device:GPU:2, /device:GPU:3"
