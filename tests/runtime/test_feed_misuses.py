"""Feeds of wrong kinds give 1.15.5's values and errors in the first run, warm, after a failed run, in another thread, and after close()."""

import concurrent.futures
import json
from pathlib import Path

import feed_misuses
import numpy as np
import pytest

import tfcompat as tf

GOLDEN = json.loads((Path(__file__).resolve().parent.parent / "golden/runtime/feed_misuses.json").read_text())
RUNS = 50
pytestmark = pytest.mark.filterwarnings("ignore:Casting complex values to real")  # NumPy says so under 1.15 too
OTHER_WORDS = {
    "a string or a real number": "a string or a number",
    "a bytes-like object or a real number": "a bytes-like object or a number",
    "float() argument must be a string or a number, not 'complex'": "can't convert complex to float",
    "'SparseTensor' object is not iterable": "zip argument #2 must support iteration",
    "'NoneType' object is not iterable": "zip argument #2 must support iteration",
    'Tensor("inside:0", shape=(1, 1), dtype=int32)': "(<tf.Tensor 'inside:0' shape=(1, 1) dtype=int32>, [1.0], [2])",
}
"""Words of Python 3.11 and NumPy 2, and those of Python 3.7 and NumPy 1.18; the last names the tensor where 1.15 names the whole value."""
UNEQUAL = "setting an array element with a sequence."
"""NumPy 2 adds the shape to this text, and says it where NumPy 1.18 says that it could not broadcast an array."""


def in_old_words(outcome):
    kind, text = outcome[:2]
    if kind == "value":
        return outcome
    for new, old in OTHER_WORDS.items():
        text = text.replace(new, old)
    return [kind, UNEQUAL if text.startswith((UNEQUAL, "could not broadcast input array")) else text]


def first(session, run, good, bad):
    pass


def warm(session, run, good, bad):
    for _ in range(RUNS):
        run(good)


def after_a_failure(session, run, good, bad):
    warm(session, run, good, bad)
    feed_misuses.described(lambda: run(bad))
    run(good)


def in_a_thread(run, feeds):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(run, feeds).result()


@pytest.mark.parametrize("before", [first, warm, after_a_failure], ids=lambda f: f.__name__)
@pytest.mark.parametrize("row", feed_misuses.ROWS, ids=lambda row: row.name)
def test_a_feed_is_as_in_tensorflow(row, before):
    assert in_old_words(feed_misuses.observed(tf, row, before)) == in_old_words(GOLDEN[row.name])


@pytest.mark.parametrize("row", feed_misuses.ROWS, ids=lambda row: row.name)
def test_a_second_thread_feeds_alike(row):
    assert in_old_words(feed_misuses.observed(tf, row, warm, in_a_thread)) == in_old_words(GOLDEN[row.name])


@pytest.mark.parametrize("row", feed_misuses.ROWS, ids=lambda row: row.name)
def test_a_closed_session_says_so_first(row):
    def closed(session, run, good, bad):
        warm(session, run, good, bad)
        session.close()

    assert feed_misuses.observed(tf, row, closed) == ["RuntimeError", "Attempted to use a closed Session."]


def test_what_may_be_fed_and_fetched_is_asked_in_warm_runs():
    x = tf.placeholder(tf.float32, [], name="x")
    y = x + 1.0
    with tf.Session() as session:
        for _ in range(RUNS):
            assert session.run(y, {x: 1.0}) == 2.0
        tf.get_default_graph().prevent_fetching(y.op)
        with pytest.raises(ValueError, match="has been marked as not fetchable"):
            session.run(y, {x: 1.0})
        z = x + 2.0
        session.run(z, {x: 1.0})
        tf.get_default_graph().prevent_feeding(x)
        with pytest.raises(ValueError, match=r'Tensor Tensor\("x:0", shape=\(\), dtype=float32\) may not be fed.'):
            session.run(z, {x: 1.0})


def test_a_callable_converts_like_a_run():
    x = tf.placeholder(tf.uint8, [None])
    with tf.Session() as session:
        call = session.make_callable(tf.identity(x), [x])
        for _ in range(RUNS):
            call([1])
        np.testing.assert_array_equal(call([-1, 300]), [255, 44])
        with pytest.raises(TypeError, match="The value of a feed cannot be a tf.Tensor object"):
            call(tf.constant([1], tf.uint8))
