"""The body of a loop that makes no iteration, and a branch that is not taken, never raise: TensorFlow 1.15.5 does not run them."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.engines import choice

EMPTY = np.zeros([0, 3], np.float32)

ROWS = {
    "index": lambda x, i: x[i, 0], "first": lambda x, i: x[0, 0], "last": lambda x, i: x[-1, 0], "gather": lambda x, i: tf.gather(x, i)[0],
    "gather_nd": lambda x, i: tf.gather_nd(x, [i, 0]), "slice": lambda x, i: tf.slice(x, [i, 0], [1, 3])[0, 0],
    "reshape": lambda x, i: tf.reshape(x, [3])[0], "top_k": lambda x, i: tf.nn.top_k(x[:, 0], 2)[0][0],
    "argmax": lambda x, i: tf.to_float(tf.argmax(x))[0], "matmul": lambda x, i: tf.matmul(tf.ones([1, 2]), x)[0, 0],
    "split": lambda x, i: tf.split(x, [1, 2])[0][0, 0], "unstack": lambda x, i: tf.unstack(x, num=2)[0][0],
    "py_func": lambda x, i: tf.reshape(tf.py_func(lambda v: v[0, 0], [x], tf.float32), []),
}  # fmt: skip


@pytest.fixture(params=["compile", "interpret", "choose"])
def engine(request, monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", request.param)


@pytest.mark.parametrize("name", ROWS)
def test_a_loop_over_nothing(name, engine):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3])
        looped = tf.while_loop(lambda i, total: i < tf.shape(x)[0], lambda i, total: (i + 1, total + ROWS[name](x, i)), [0, 0.0])
        chosen = tf.cond(tf.shape(x)[0] > 0, lambda: ROWS[name](x, 0), lambda: -1.0)
        assert session.run([*looped, chosen], {x: EMPTY}) == [0, 0.0, -1.0]


FAILURES = {
    "index": "slice index 0 of dimension 0 out of bounds", "first": "slice index 0 of dimension 0 out of bounds",
    "gather": r"indices = 0 is not in \[0, 0\)", "slice": r"Expected begin\[0\] == 0 \(got 0\) and size\[0\] == 0 \(got 1\) when input.dim_size\(0\) == 0",
    "reshape": "tensor with 0 values, but the requested shape has 3", "argmax": r"Reduction axis 0 is empty in shape \[0,3\]",
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_loop_whose_length_only_the_run_shows(name, engine):
    """Texts of 1.15.5, of the first iteration that is run."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, n = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [])
        looped = tf.while_loop(lambda i, total: i < n, lambda i, total: (i + 1, total + ROWS[name](x, i)), [0, 0.0])
        assert list(session.run(looped, {x: EMPTY, n: 0})) == [0, 0.0]
        if name in FAILURES:
            with pytest.raises(tf.errors.InvalidArgumentError, match=FAILURES[name]):
                session.run(looped, {x: EMPTY, n: 1})


def test_training_goes_on_after_an_empty_batch(engine):
    """Values of 1.15.5; the loop is empty at the second and the fourth step."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        w = tf.get_variable("w", [], initializer=tf.ones_initializer())
        total = tf.while_loop(lambda i, s: i < tf.shape(x)[0], lambda i, s: (i + 1, s + w * x[i]), [0, 0.0])[1]
        step = tf.train.GradientDescentOptimizer(0.1).minimize(total + w)
        session.run(w.initializer)
        found = [(session.run(step, {x: batch}), session.run(w))[1] for batch in ([1.0, 2.0], [], [3.0], [])]
    assert found == pytest.approx([0.6, 0.5, 0.1, 0.0], abs=1e-6)


@pytest.mark.parametrize("params", [["a", "b"], [1, 2]], ids=["on the host", "in a kernel"])
def test_an_axis_must_be_a_scalar(params):
    """What 1.15.5 says."""
    with tf.Graph().as_default(), tf.Session() as session:
        axis = tf.placeholder(tf.int32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="axis must be scalar"):
            session.run(tf.gather(tf.identity(tf.constant(params)), [0], axis=axis), {axis: [0]})
