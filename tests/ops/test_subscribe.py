"""Subscriptions, and operations found by walking a graph: what runs is what runs in TensorFlow 1.15.5."""

import pytest

import tfcompat as tf
from tfcompat._src.graph import op_selector
from tfcompat._src.ops.composed.subscribe import subscribe


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def seen_by(values):
    def effect(tensor):
        return tf.py_func(lambda v: values.append(int(v)) or v, [tensor], [tensor.dtype])

    return effect


def test_users_and_waiting_operations_go_through_the_subscription():
    values = []
    c = tf.add(tf.constant(1), 1, name="c")
    with tf.control_dependencies([c]):
        d = tf.constant(42)
    n = tf.negative(c)
    out = subscribe(c, seen_by(values))
    assert out.name == "c/subscription/Identity:0"
    assert d.op.control_inputs == [out.op]
    with tf.Session() as sess:
        assert [sess.run(t) for t in (n, d, out)] == [-2, 42, 2]
    assert values == [2, 2, 2]


def test_a_second_subscription_extends_the_first():
    first, second = [], []
    c = tf.add(tf.constant(1), 1)
    out = subscribe(c, seen_by(first))
    assert subscribe(c, seen_by(second)) is out and subscribe([out], [])[0] is out
    with tf.Session() as sess:
        sess.run(out)
    assert first == second == [2]


def test_only_tensors_can_be_subscribed():
    with pytest.raises(TypeError, match="has invalid type"):
        subscribe("c:0", [])


def test_backward_walk():
    a, b = tf.constant(1.0), tf.constant(2.0)
    c = a + b
    with tf.control_dependencies([b]):
        d = tf.negative(c)
    assert set(op_selector.get_backward_walk_ops(d)) == {a.op, b.op, c.op, d.op}
    assert op_selector.get_backward_walk_ops([d.op], inclusive=False, stop_at_ts=[c]) == []
    assert op_selector.get_backward_walk_ops([d.op], stop_at_ts=[c], control_inputs=True) == [d.op, b.op]
    assert op_selector.get_consuming_ops([a, b]) == [c.op, *[op for op in b.consumers() if op is not c.op]]
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    with pytest.raises(ValueError, match="Wrong graph"):
        op_selector.check_graphs(a, other)
