"""tf.tpu on devices that stand in for TPU cores."""

import numpy as np
import pytest

import tfcompat as tf

DATA = np.random.RandomState(0).rand(8, 3).astype(np.float32)


@pytest.fixture(autouse=True, params=["0", "4"], ids=["one device", "four GPUs"])
def devices(monkeypatch, request):
    """Computations on one device, and on four virtual GPUs."""
    monkeypatch.setenv("TFCOMPAT_VIRTUAL_GPUS", request.param)
    with tf.Graph().as_default():
        yield


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def test_rewrite():
    assert [v.tolist() for v in run(tf.tpu.rewrite(lambda a, b: (a + b, a * b), [[1.0], [3.0]]))] == [[4.0], [3.0]]
    assert isinstance(tf.tpu.rewrite(lambda: None), tf.Operation)


def test_replicate_gives_the_outputs_of_each_replica():
    found = tf.tpu.replicate(lambda x: [x * 2.0, x + 1.0], [[1.0], [2.0]])
    assert run(found) == [[2.0, 2.0], [4.0, 3.0]]


def test_shard_and_batch_parallel():
    (rows,) = tf.tpu.batch_parallel(lambda x: tf.square(x), [tf.constant(DATA)], num_shards=4)
    totals, first = tf.tpu.shard(
        lambda x: (tf.reduce_sum(x), x), [tf.constant(DATA)], num_shards=4, outputs_from_all_shards=[True, False]
    )
    got = run([rows, totals, first])
    np.testing.assert_allclose(got[0], DATA**2)
    np.testing.assert_allclose(got[1], DATA.reshape(4, 6).sum(1), rtol=1e-6)
    np.testing.assert_array_equal(got[2], DATA[:2])


def test_cross_replica_sum():
    (sums,) = tf.tpu.shard(lambda x: tf.tpu.cross_replica_sum(x), [tf.constant([1.0, 2.0, 3.0, 4.0])], num_shards=4)
    (pairs,) = tf.tpu.shard(
        lambda x: tf.tpu.cross_replica_sum(x, [[0, 1], [2, 3]]), [tf.constant([1.0, 2.0, 3.0, 4.0])], num_shards=4
    )
    assert [v.tolist() for v in run([sums, pairs])] == [[10.0] * 4, [3.0, 3.0, 7.0, 7.0]]
    with pytest.raises(ValueError, match="cross_replica_sum"):
        tf.tpu.cross_replica_sum(1.0)


def train(num_shards, x, optimizer):
    def computation(part):
        w = tf.get_variable("w", [3, 1], initializer=tf.ones_initializer(), use_resource=True)
        loss = tf.reduce_mean(tf.square(tf.matmul(part, w) - 1.0))
        with tf.control_dependencies([optimizer.minimize(loss)]):
            return tf.identity(loss)

    if num_shards == 1:
        return computation(x)
    return tf.reduce_mean(tf.tpu.shard(computation, [x], num_shards=num_shards)[0])


def losses(num_shards, optimizer):
    with tf.Graph().as_default():
        loss = train(num_shards, tf.constant(DATA), optimizer)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return [session.run(loss) for _ in range(4)]


def test_cross_shard_optimizer_equals_the_whole_batch():
    sharded = losses(4, tf.tpu.CrossShardOptimizer(tf.train.MomentumOptimizer(0.1, 0.9)))
    np.testing.assert_allclose(sharded, losses(1, tf.train.MomentumOptimizer(0.1, 0.9)), rtol=1e-5)


def test_replicas_may_not_write_variables_by_themselves():
    with pytest.raises(NotImplementedError, match="CrossShardOptimizer"):
        train(4, tf.constant(DATA), tf.train.GradientDescentOptimizer(0.1))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: tf.tpu.shard(tf.identity, [1.0], num_shards=0), ValueError),
        (lambda: tf.tpu.shard(tf.identity, 1.0), TypeError),
        (lambda: tf.tpu.shard(tf.identity, [[1.0]], input_shard_axes=[0, 1]), ValueError),
        (lambda: tf.tpu.replicate(tf.identity, 1.0), TypeError),
        (lambda: tf.tpu.replicate(tf.identity, [[1.0], []]), ValueError),
        (lambda: tf.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(), reduction="none"), ValueError),
        (lambda: tf.tpu.outside_compilation(tf.identity, 1.0), NotImplementedError),
    ],
)
def test_refuses(call, error):
    with pytest.raises(error):
        call()


def test_bfloat16_scope():
    with tf.tpu.bfloat16_scope():
        v = tf.get_variable("v", [2], tf.bfloat16, initializer=tf.ones_initializer())
    assert v.dtype == tf.bfloat16 and tf.global_variables()[0].dtype.base_dtype == tf.float32
    assert tf.tpu.core(3) == "device:TPU_REPLICATED_CORE:3"


def test_system():
    topology, _ = run([tf.tpu.initialize_system(), tf.tpu.shutdown_system()])
    assert isinstance(topology, bytes)
