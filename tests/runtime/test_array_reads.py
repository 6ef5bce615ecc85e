"""An element of a TensorArray that is read twice is refused in every run, as TensorFlow 1.15.5 does, and not from the run on whose sizes are guessed."""

import pytest

import tfcompat as tf

RUNS = 8


def array(x, size=None, **options):
    return tf.TensorArray(tf.float32, tf.size(x) if size is None else size, **options).unstack(x)


def read_and_stack(x, i):
    a = array(x)
    return a.read(0) + tf.reduce_sum(a.stack())


def stack_and_read(x, i):
    a = array(x)
    total = tf.reduce_sum(a.stack())
    with tf.control_dependencies([total]):
        return a.read(0) + total


def grown_read_and_stack(x, i):
    a = array(x, 0, dynamic_size=True)
    return a.read(0) + tf.reduce_sum(a.stack())


def stacked_twice(x, i):
    a = array(x)
    return a.stack() + a.stack()


def written_in_a_loop(x, i):
    a = tf.TensorArray(tf.float32, tf.size(x))
    a = tf.while_loop(lambda k, _: k < tf.size(x), lambda k, a: (k + 1, a.write(k, x[k])), [0, a])[1]
    return a.read(1) + tf.reduce_sum(a.stack())


def index_that_is_fed(x, i):
    a = array(x)
    return a.read(i) + a.read(i)


def fed_index_and_stack(x, i):
    a = array(x)
    return a.read(i) + tf.reduce_sum(a.stack())


def gathered(x, i):
    a = array(x)
    return a.read(0) + tf.reduce_sum(a.gather([1, 0]))


TWICE = [
    read_and_stack, stack_and_read, grown_read_and_stack, stacked_twice, written_in_a_loop, index_that_is_fed, fed_index_and_stack, gathered,
]  # fmt: skip


@pytest.mark.parametrize("make", TWICE, ids=lambda f: f.__name__)
def test_each_run_refuses(make):
    x, i = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [])
    y = make(x, i)
    with tf.Session() as session:
        for _ in range(RUNS):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Could not read index .* twice because it was cleared after a previous read"):
                session.run(y, {x: [1.0, 2.0], i: 1})


def test_each_run_allows():
    """What 1.15.5 runs: elements that are kept, other indices, one array read once by each of two runs."""
    x, i, j = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    kept = array(x, clear_after_read=False)
    once = array(x)
    both = once.read(i) + once.read(j)
    with tf.Session() as session:
        for _ in range(RUNS):
            assert session.run(kept.read(0) + tf.reduce_sum(kept.stack()) + kept.read(i), {x: [1.0, 2.0], i: 1}) == 6.0
            assert session.run(both, {x: [1.0, 2.0], i: 1, j: 0}) == 3.0
