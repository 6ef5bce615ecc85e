"""Batch, Unbatch and batched functions: runs in several threads meet; values and errors are what 1.15.5 gives."""

import threading

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.nodes import raw

LONG = 60_000_000


def batch(inputs, threads=1, rows=4, timeout=0, **options):
    return raw.Batch(inputs, threads, rows, timeout, LONG, **options)


def together(session, fetch, feeds):
    """What each feed gives, fed by threads of their own."""
    found = [None] * len(feeds)

    def run(place):
        found[place] = session.run(fetch, feeds[place])

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(feeds))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert all(f is not None for f in found)
    return found


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_the_last_run_gets_the_batch(session):
    p, q = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None, 2])
    (ints, floats), index, key = batch([p, q], rows=3, timeout=LONG)
    assert (ints.shape.as_list(), floats.shape.as_list(), index.shape.as_list(), key.shape.as_list()) == ([None], [None, 2], [None, 3], [])
    feeds = [{p: [1], q: np.ones([1, 2])}, {p: [7, 8], q: np.zeros([2, 2])}]
    found = sorted(together(session, [ints, floats, index, key], feeds), key=lambda f: len(f[0]))
    assert found[0][0].shape == (0,) and found[0][1].shape == (0, 2) and found[0][2].shape == (0, 3)
    ints, floats, index, key = found[1]
    assert sorted(ints) == [1, 7, 8] and floats.shape == (3, 2)
    keys = {found[0][3], key}
    assert {k for k, _, _ in index} == keys and [(a, b) for _, a, b in index] in ([(0, 1), (1, 3)], [(0, 2), (2, 3)])


def test_a_batch_that_has_waited_is_filled_up_to_an_allowed_size(session):
    (batched,), index, _ = batch([tf.constant([7, 8])], rows=6, timeout=1000, allowed_batch_sizes=[4, 6])
    values, index = session.run([batched, index])
    assert values.tolist() == [7, 8, 7, 7] and index[:, 1:].tolist() == [[0, 2]]


def test_unbatch_and_gradients(session):
    p = tf.placeholder(tf.float32, [None, 2])
    (batched,), index, key = batch([p], rows=3, timeout=LONG)
    y = raw.Unbatch(batched * batched, index, key, LONG)
    found = together(session, [y, tf.gradients(y, p)[0]], [{p: [[1, 2]]}, {p: [[3, 4], [5, 6]]}])
    assert [[x.tolist() for x in f] for f in found] == [[[[1, 4]], [[2, 4]]], [[[9, 16], [25, 36]], [[6, 8], [10, 12]]]]


def test_batched_function(session):
    traced = []
    offset = tf.placeholder_with_default(5, [])

    @tf.nondifferentiable_batch_function(1, 3, LONG)
    def both(a, b):
        traced.append((a.shape.as_list(), b.shape.as_list()))
        return tf.reshape(a, [-1]) + offset, tf.cumsum(b)

    p = tf.placeholder(tf.int32, [None])
    first, second = both(p, tf.ones_like(p))
    assert traced == [([None], [None])] and first.op.name == "batch/BatchFunction" and first.op.get_attr("shared_name") == b"batch/"
    found = together(session, [first, second], [{p: [1]}, {p: [10, 20]}])
    assert [f[0].tolist() for f in found] == [[6], [15, 25]]
    assert sorted(n for f in found for n in f[1]) == [1, 2, 3]


def test_an_error_reaches_every_run(session):
    @tf.contrib.batching.batch_function(1, 2, LONG)
    def fails(x):
        return tf.check_numerics(x / 0.0, "bad")

    p = tf.placeholder(tf.float32, [None])
    y, errors = fails(p), []

    def run():
        with pytest.raises(tf.errors.InvalidArgumentError, match="bad : Tensor had Inf"):
            session.run(y, {p: [1.0]})
        errors.append(1)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert errors == [1, 1]


BAD_BATCHES = {
    "Task size 3 is larger than maximum batch size 2": {"rows": 2},
    "num_batch_threads must be positive; was 0": {"threads": 0},
    "max_batch_size must be positive; was 0": {"rows": 0},
    "batch_timeout_micros must be non-negative; was -1": {"timeout": -1},
    "entries must be monotonically increasing": {"allowed_batch_sizes": [3, 1]},
    "final entry in allowed_batch_sizes must equal": {"allowed_batch_sizes": [1, 3]},
}


@pytest.mark.parametrize("text", BAD_BATCHES)
def test_bad_batches(session, text):
    (batched,), _, _ = batch([tf.constant([1, 2, 3])], **BAD_BATCHES[text])
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        session.run(batched)


def test_bad_inputs_of_a_batch(session):
    with pytest.raises(ValueError, match="Out of range dim_index 0"):
        batch([tf.constant(1)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have equal 0th-dimension size"):
        session.run(batch([tf.constant([1]), tf.constant([1, 2])])[0])


BAD_FUNCTIONS = [
    (lambda x: tf.reduce_sum(x), tf.errors.FailedPreconditionError, "has 0 dimensions"),
    (lambda x: x[:1], tf.errors.FailedPreconditionError, "0th dimension does not equal"),
    (lambda x: (x, x), tf.errors.InternalError, "Wrong number of batched output"),
    (lambda x: tf.cast(x, tf.float32), tf.errors.InternalError, "Output 0 of type float does not match"),
]


@pytest.mark.parametrize(("function", "error", "text"), BAD_FUNCTIONS)
def test_bad_functions(session, function, error, text):
    from tfcompat._src.function.defun import Defun

    y = raw.BatchFunction([tf.constant([1, 2])], [], Defun(tf.int32)(function), 1, 4, 0, [tf.int32])
    with pytest.raises(error, match=text):
        session.run(y)


def test_a_function_of_another_number_of_arguments(session):
    from tfcompat._src.function.defun import Defun

    y = raw.BatchFunction([tf.constant([1, 2])], [], Defun(tf.int32, tf.int32)(lambda a, b: a + b), 1, 4, 0, [tf.int32])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expects 2 arguments, but 1 is provided"):
        session.run(y)


UNBATCHED = [
    ([1, 2, 3], [[7, 0, 1], [8, 1, 3]], 8, [2, 3]),
    ([1, 3], [[7, 0, 1], [7, 1, 2]], 7, [1]),
    ([1, 2, 3], [[7, 0, 1], [8, 1, 3]], 9, "Batched data did not arrive"),
    ([1, 2, 3], [[7, 0, 1], [8, 1, 4]], 8, "Sum of split sizes must not exceed"),
    ([1], [[7, 0, 1], [8, 1, 3]], 8, "no greater than 1; Got: 2"),
    ([1, 3], [[7, 0], [8, 1]], 8, "1st dimension size to be 3 ; Got: 2"),
]


@pytest.mark.parametrize(("data", "index", "key", "want"), UNBATCHED)
def test_unbatch(session, data, index, key, want):
    y = raw.Unbatch(data, tf.constant(index, tf.int64), tf.constant(key, tf.int64), 1000)
    if isinstance(want, list):
        assert session.run(y).tolist() == want
        return
    error = tf.errors.DeadlineExceededError if "arrive" in want else tf.errors.InvalidArgumentError
    with pytest.raises(error, match=want):
        session.run(y)
