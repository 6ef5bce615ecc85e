"""`tfcompat run --debug-nans`: the first node that made a NaN or an infinity is named, with its line and its inputs."""

import children
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base import nan_search

TRAINING = """
import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None], name="x")
w = tf.Variable(3.0, name="w")
loss = tf.reduce_mean(tf.log(w * x), name="loss")
step = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for i in range(100):
        session.run([step, loss], {x: np.ones(4, np.float32)})
        print(i)
"""


def test_a_program_ends_at_the_first(tmp_path):
    (tmp_path / "train.py").write_text(TRAINING)
    done = children.python(*children.RUN, "--debug-nans", "train.py", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.split() == ["0", "1", "2", "3", "4", "5"]  # in 1.15.5 the loss of run 6, counted from 0, is the first NaN
    assert "Log:0 (op type Log) is the first in creation order that has elements that are not finite: 4 NaN of 4.\n" in done.stderr
    assert f'  made in File "{tmp_path}/train.py", line 7: loss = tf.reduce_mean(tf.log(w * x), name="loss")\n' in done.stderr
    assert "  input mul:0: float32 of shape (4,), from -1.23999 to -1.23999\n" in done.stderr


@pytest.fixture
def searched(monkeypatch):
    """A function that runs a fetch in a new session under the search."""

    def run(fetch, feeds=None):
        monkeypatch.setattr(nan_search.Switch, "is_on", True)
        with tf.Session() as sess:
            return sess.run(fetch, feeds)

    with tf.Graph().as_default():
        yield run


def loop(x):
    body = lambda i, a: (i + 1, tf.divide(a, tf.cast(2 - i, tf.float32), name="divided"))
    return tf.while_loop(lambda i, a: i < 4, body, [0, x])[1]


def order(x):
    """What is made first runs last."""
    late = tf.placeholder_with_default(x, [2], name="late")
    root = tf.sqrt(late, name="root")
    return tf.log(x, name="logarithm") + root


@pytest.mark.parametrize(
    "build, value, expected",
    [
        (loop, [1.0, -4.0], ["while/divided:0 (op type RealDiv)", "2 infinite of 2", "input while/Identity_1:0: float32 of shape (2,), from -2 to 0.5"]),
        (order, [-1.0, 4.0], ["root:0 (op type Sqrt)", "1 NaN of 2", "float32 of shape (2,), from -1 to 4"]),
        (lambda x: tf.exp(x, name="grown"), [1000.0, 0.0], ["grown:0 (op type Exp)", "1 infinite of 2", "from 0 to 1000"]),
        (tf.is_nan, [np.nan, np.inf], ["x:0 (op type Placeholder) was fed with", "1 NaN and 1 infinite of 2"]),
        (lambda x: tf.py_func(lambda a: np.where(a > 0, np.inf, a), [x], tf.float32, name="called"), [1.0, 0.0], ["called:0 (op type PyFunc)"]),
    ],
)  # fmt: skip
def test_what_is_named(build, value, expected, searched):
    x = tf.placeholder(tf.float32, [2], name="x")
    fetch = build(x)
    with pytest.raises(tf.errors.InvalidArgumentError) as e:
        searched(fetch, {x: value})
    for text in expected:
        assert text in e.value.message


def test_infinite_constants_do_not_count(searched):
    mask = tf.constant([0.0, -np.inf])
    np.testing.assert_array_equal(searched(tf.where([True, False], tf.constant([1.0, 2.0]), tf.zeros([2])) * tf.exp(mask)), [1.0, 0.0])


def test_other_runs_are_as_ever(searched):
    """Training with dropout, a queue and a trace gives what it gives without the search."""

    def losses():
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.set_random_seed(1)
            queue = tf.FIFOQueue(9, tf.float32, shapes=[[4]])
            fill = queue.enqueue_many((np.arange(12.0).reshape(3, 4),))
            y = tf.layers.dense(tf.nn.dropout(queue.dequeue()[None], rate=0.5), 3)
            loss = tf.reduce_mean(tf.square(y))
            step, metadata = tf.train.AdamOptimizer(0.1).minimize(loss), tf.RunMetadata()
            sess.run([fill, tf.global_variables_initializer()])
            found = [sess.run([loss, step])[0] for _ in range(2)]
            found.append(sess.run([loss, step], options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)[0])
            assert {"_SOURCE", "dense/MatMul"} <= {stats.node_name for device in metadata.step_stats.dev_stats for stats in device.node_stats}
        return found

    plain = losses()
    searched(tf.constant(1.0))
    np.testing.assert_allclose(losses(), plain, rtol=1e-6)
