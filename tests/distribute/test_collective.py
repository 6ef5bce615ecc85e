"""Collectives between devices: what TensorFlow 1.15.5 gives for the same calls on CPU devices."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.ops.math import collective_ops

CONFIG = tf.ConfigProto(device_count={"CPU": 2})


@pytest.fixture(autouse=True)
def own_graph():
    with tf.Graph().as_default():
        yield


def on_each(values, build):
    """`build` of each value, on a device of its own."""
    found = []
    for index, value in enumerate(values):
        with tf.device(f"/CPU:{index}"):
            found.append(build(tf.constant(value)))
    return found


def reduced(values, merge="Add", final="Div", size=2):
    return on_each(values, lambda x: collective_ops.all_reduce(x, size, 1, 1, merge, final))


def run(outputs, repeat=1):
    with tf.Session(config=CONFIG) as session:
        for _ in range(repeat):
            found = session.run(outputs)
    return [x.tolist() for x in found]


@pytest.mark.parametrize(
    ("merge", "final", "dtype", "want"),
    [
        ("Add", "Div", np.float32, [2.5, -3.5, -1.5]),
        ("Add", "Div", np.int64, [2, -3, -1]),
        ("Add", "Id", np.float16, [5, -7, -3]),
        ("Mul", "Id", np.int32, [4, 10, -18]),
    ],
)
def test_all_reduce(merge, final, dtype, want):
    values = np.array([[1, -2, 3], [4, -5, -6]], dtype)
    outputs = reduced(values, merge, final)
    assert [o.shape.as_list() for o in outputs] == [[3], [3]]
    assert run(outputs, repeat=2) == [want, want]


def test_members_that_wait_for_each_other_in_turn():
    outputs = []
    for index in range(2):
        with tf.device(f"/CPU:{index}"):
            x = tf.constant([1.0 + index])
            for instance in range(4):
                x = collective_ops.all_reduce(x + 1, 2, 1, instance, "Add", "Id")
            outputs.append(x)
    assert run(outputs) == [[54.0], [54.0]]


def test_all_reduce_in_a_loop():
    def body(i, a, b):
        with tf.device("/CPU:0"):
            first = collective_ops.all_reduce(tf.identity(a), 2, 1, 1, "Add", "Id")
        with tf.device("/CPU:1"):
            second = collective_ops.all_reduce(tf.identity(b), 2, 1, 1, "Add", "Id")
        return i + 1, first, second

    assert run(tf.while_loop(lambda i, a, b: i < 4, body, [0, 1.0, 2.0])) == [4, 24.0, 24.0]


def test_all_gather():
    outputs = on_each([[[0, 1]], [[1, 2]]], lambda x: collective_ops.all_gather(x, 2, 1, 1))
    assert [o.shape.as_list() for o in outputs] == [[2, 2], [2, 2]]
    assert run(outputs) == [[[0, 1], [1, 2]]] * 2


def test_broadcast():
    with tf.device("/CPU:0"):
        sent = collective_ops.broadcast_send(tf.constant([1.0, 2.0]), tf.TensorShape([2]), tf.float32, 2, 1, 1)
    with tf.device("/CPU:1"):
        received = collective_ops.broadcast_recv(tf.TensorShape([2]), tf.float32, 2, 1, 1)
    assert run([sent, received]) == [[1.0, 2.0]] * 2


def test_what_does_not_fit_raises_and_leaves_nothing_behind():
    with tf.Session(config=CONFIG) as session:
        good, short = reduced([[1.0, 2.0], [3.0, 5.0]], final="Id"), reduced([[1.0, 2.0], [1.0]])
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Shape mismatch"):
                session.run(short)
            with pytest.raises(tf.errors.DeadlineExceededError, match="1 of the 2 members"):
                session.run(good[0])
            assert session.run(good)[1].tolist() == [4.0, 7.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="merge_op must be one of"):
            session.run(reduced([[1], [2]], merge="Min"))
    with pytest.raises(ValueError, match="Device assignment"):
        collective_ops.all_reduce(tf.constant(1.0), 2, 1, 1, "Add", "Id")
    with pytest.raises(ValueError, match="at least 2"):
        reduced([1.0], size=1)
    with pytest.raises(ValueError, match="at least rank 1"):
        on_each([1.0], lambda x: collective_ops.all_gather(x, 2, 1, 1))
    with pytest.raises(LookupError, match="No gradient"):
        tf.gradients(good, [o.op.inputs[0] for o in good])
