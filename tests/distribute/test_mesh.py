"""Strategies over several virtual GPUs: one compiled call per step, and the same values as on one device."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.ops.math import nccl_ops as ops

INPUTS = np.random.RandomState(0).rand(5, 16, 6).astype(np.float32)
TARGETS = np.random.RandomState(1).rand(5, 16, 1).astype(np.float32)
OPTIMIZERS = [lambda: tf.train.GradientDescentOptimizer(0.5), lambda: tf.train.AdamOptimizer(0.05)]


@pytest.fixture(autouse=True)
def four_gpus(monkeypatch):
    """Four virtual GPUs, and a graph of its own for each test."""
    monkeypatch.setenv("TFCOMPAT_VIRTUAL_GPUS", "4")
    with tf.Graph().as_default():
        yield


def replica_number():
    return int(tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group))


def model(x, y):
    hidden = tf.layers.dense(x, 8, tf.nn.relu, kernel_initializer=tf.glorot_uniform_initializer(seed=1), name="a")
    output = tf.layers.dense(hidden, 1, kernel_initializer=tf.glorot_uniform_initializer(seed=2), name="b")
    return tf.reduce_mean(tf.square(output - y))


def curve(strategy, optimizer):
    """Losses of five steps, and the plan of a step."""
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, [16, 6]), tf.placeholder(tf.float32, [16, 1])
        count = strategy.num_replicas_in_sync
        parts = list(zip(tf.split(x, count), tf.split(y, count)))

        def step():
            loss = model(*parts[replica_number()])
            train = optimizer().minimize(loss / count, global_step=tf.train.get_or_create_global_step())
            with tf.control_dependencies([train]):
                return tf.identity(loss)

        with strategy.scope():
            loss = strategy.reduce("mean", strategy.experimental_run_v2(step), axis=None)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run(loss, {x: a, y: b}) for a, b in zip(INPUTS, TARGETS)]
            return losses, session.plan(loss, {x: INPUTS[0], y: TARGETS[0]})


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=["sgd", "adam"])
@pytest.mark.parametrize(
    "strategy", ["MirroredStrategy", "experimental.CentralStorageStrategy", "experimental.MultiWorkerMirroredStrategy"]
)
def test_step_is_one_compiled_call_and_equals_one_device(strategy, optimizer):
    make = tf.distribute
    for part in strategy.split("."):
        make = getattr(make, part)
    losses, plan = curve(make(), optimizer)
    assert len(plan.steps) == 1 and plan.compile_count() == 1
    assert plan.steps[0].place.mesh.size == 4
    single, _ = curve(tf.distribute.OneDeviceStrategy("/gpu:0"), optimizer)
    np.testing.assert_allclose(losses, single, rtol=1e-5)
    assert losses[-1] != losses[0]


def test_all_reduce_in_the_forward_pass_equals_one_device():
    x = tf.placeholder(tf.float32, [8, 3])
    parts = tf.split(x, 4)
    strategy = tf.distribute.MirroredStrategy()

    def replica():
        w = tf.get_variable("w", [3, 3], initializer=tf.glorot_uniform_initializer(seed=1))
        h = tf.matmul(parts[replica_number()], w)
        mean = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, tf.reduce_mean(h, 0))
        loss = tf.reduce_sum(tf.square(tf.matmul(h - mean, w)))
        return loss, tf.gradients(loss, x)[0]

    with strategy.scope():
        losses, slopes = strategy.experimental_run_v2(replica)
        total = strategy.reduce("sum", losses), strategy.reduce("sum", slopes)
    w = tf.get_variable("whole", [3, 3], initializer=tf.glorot_uniform_initializer(seed=1))
    h = tf.matmul(x, w)
    loss = tf.reduce_sum(tf.square(tf.matmul(h - tf.reduce_mean(h, 0), w)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(w.assign(strategy.experimental_local_results(tf.trainable_variables()[0])[0].value()))
        found = session.run(total, {x: INPUTS[0, :8, :3]})
        wanted = session.run(loss, {x: INPUTS[0, :8, :3]})
    np.testing.assert_allclose(found[0], wanted, rtol=1e-5)


def test_saver_restores_every_component(tmp_path):
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
        count = tf.get_variable(
            "count", [], initializer=tf.zeros_initializer(), synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )  # fmt: skip
        add = strategy.group(strategy.experimental_run_v2(lambda: tf.identity(count.assign_add(2.0))))
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([part.assign([3.0, 4.0]) for part in v.values])
        session.run(add)
        path = saver.save(session, str(tmp_path / "model"))
    assert sorted(tf.train.list_variables(path)) == [("count", []), ("v", [2])]
    assert tf.train.load_variable(path, "count") == 8.0
    with tf.Session() as session:
        saver.restore(session, path)
        assert [p.tolist() for p in session.run(list(v.values))] == [[3.0, 4.0]] * 4
        assert session.run(list(count.values)) == [2.0] * 4


def test_nccl_sums_are_one_program():
    x = tf.placeholder(tf.float32, [4, 3])
    squares = []
    for i, part in enumerate(tf.unstack(x)):
        with tf.device(f"/gpu:{i}"):
            squares.append(tf.square(part))
    sums, tops = ops.all_sum(squares), ops.all_max(squares)
    data = np.arange(12, dtype=np.float32).reshape(4, 3)
    with tf.Session() as session:
        found = session.run(sums + tops, {x: data})
        assert len(session.plan(sums, {x: data}).steps) == 1
    assert [t.device for t in sums] == [f"/device:GPU:{i}" for i in range(4)]
    np.testing.assert_array_equal(found[:4], [(data**2).sum(0)] * 4)
    np.testing.assert_array_equal(found[4:], [(data**2).max(0)] * 4)
    with pytest.raises(ValueError, match="Must pass >0 tensors"):
        ops.all_sum([])
    with tf.device(None), pytest.raises(ValueError, match="Device assignment required"):
        ops.all_sum([tf.constant(1.0)])
