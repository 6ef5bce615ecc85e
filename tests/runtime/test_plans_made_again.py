"""Runs that find midway that what is left of them needs another plan; loops whose variables grow."""

import numpy as np
import pytest

import tfcompat as tf


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as found:
        yield found


def _growing(first):
    """Rows of `first`, repeated until there are 8 or more, in a loop whose variable changes its shape."""
    return tf.while_loop(
        lambda rows: tf.shape(rows)[0] < 8, lambda rows: [tf.concat([rows, rows * 2.0], 0)], [first], [tf.TensorShape([None, 2])]
    )


def test_what_has_acted_does_not_act_again(session):
    """An element of a queue is taken once, a counter counts once, and a random number is drawn once."""
    queue = tf.FIFOQueue(10, tf.float32, [[1, 2]])
    counter = tf.Variable(0)
    calls = []
    session.run([counter.initializer, queue.enqueue_many([np.arange(20.0).reshape(10, 1, 2)])])
    taken = queue.dequeue()
    with tf.control_dependencies([counter.assign_add(1)]):
        seen = tf.py_func(lambda x: calls.append(1) or x, [taken], tf.float32)
    seen.set_shape([1, 2])
    grown = _growing(seen)
    for i in range(3):
        np.testing.assert_array_equal(session.run(grown)[0], [2 * i, 2 * i + 1])
    assert session.run([counter, queue.size()]) == [3, 7] and len(calls) == 3


def test_another_plan_finds_the_same_loop(session):
    """A plan that compiled the loop while its variables kept their shape is made again too."""
    start = tf.placeholder(tf.float32, [None, 2])
    grown = _growing(start)
    other = tf.reduce_sum(grown)
    enough = np.ones((8, 2), np.float32)
    assert session.run(other, {start: enough}) == 16.0
    assert session.run(grown, {start: enough[:2]}).shape == (8, 2)
    assert session.run(other, {start: enough[:4]}) == 24.0


def test_a_growing_variable_gives_the_same_with_and_without_a_program(session):
    """The first shapes are compiled; later ones run in NumPy."""
    weights = tf.constant(np.linspace(-1.0, 1.0, 12).reshape(3, 4), tf.float32)

    def step(i, state):
        scores = tf.nn.softmax(tf.matmul(state, weights))
        row = tf.reduce_mean(tf.tanh(scores), 0, keepdims=True)[:, :3] + tf.cumsum(state, exclusive=True)[-1:]
        return i + 1, tf.concat([state, row], 0)

    _, found = tf.while_loop(lambda i, _: i < 12, step, [0, tf.ones([1, 3])], [tf.TensorShape([]), tf.TensorShape([None, 3])])
    state = np.ones((1, 3), np.float32)
    w = np.linspace(-1.0, 1.0, 12).reshape(3, 4).astype(np.float32)
    for _ in range(12):
        e = np.exp(state @ w)
        scores = e / e.sum(1, keepdims=True)
        row = np.tanh(scores).mean(0, keepdims=True)[:, :3] + state[:-1].sum(0, keepdims=True)
        state = np.concatenate([state, row])
    np.testing.assert_allclose(session.run(found), state, rtol=1e-5)
