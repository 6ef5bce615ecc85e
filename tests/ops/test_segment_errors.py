"""Error messages of reductions over segments, as TensorFlow 1.15.5 gives them, and texts that scatter_nd joins."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.nodes import raw

DATA = np.arange(16, dtype=np.float32).reshape(4, 4)
UNSORTED = "Segment id {} out of range [0, {}), possibly because 'segment_ids' input is not sorted."
SORTED = [
    ([0, 1, 2, 0], UNSORTED.format(1, 1)),
    ([-1, 0, 1, 1], UNSORTED.format(-1, 2)),
    ([0, 0, 0, -1], "segment ids must be >= 0"),
    ([0, 1, 0, 1], "segment ids are not increasing"),
]
SPARSE = [
    ([3, 0, 1], [0, 1, 2], 1, "segment ids must be < num_segments"),
    ([3, 0, 1], [-1, 0, 1], 5, UNSORTED.format(-1, 5)),
    ([3, 0, 1], [0, 0, -1], 0, "segment ids must be >= 0"),
    ([3, 0, 1], [0, 0, -1], 3, "segment ids are not increasing"),
    ([3, 0, 4], [0, 1, 1], None, "Bad: indices[2] == 4 out of range [0, 4)"),
]
GRADIENT = [
    (3, [8, 3, 0, 9], [0, 1, 1, 4], "Invalid number of segments"),
    (0, [8, 3, 0, 9], [0, 1, 2, -1], "Segment id 0 out of range [0, 0)."),
    (3, [8, 3, 0, 9], [-1, 0, 1, 2], "Segment id -1 out of range [0, 3)."),
    (3, [8, 3, 0, 10], [0, 1, 2, 2], "Index 10 out of range [0, 10)."),
]


def message(build):
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(build())
    return caught.value.message.partition("\n")[0]


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "min", "max"])
@pytest.mark.parametrize(("ids", "text"), SORTED)
def test_sorted_ids(name, ids, text):
    assert message(lambda: getattr(tf.math, f"segment_{name}")(DATA, ids)) == text


@pytest.mark.parametrize("name", ["sum", "mean", "sqrt_n"])
@pytest.mark.parametrize(("indices", "ids", "count", "text"), SPARSE)
def test_chosen_rows(name, indices, ids, count, text):
    reduce = getattr(tf, f"sparse_segment_{name}")
    assert message(lambda: reduce(DATA, indices, ids, num_segments=count)) == text


@pytest.mark.parametrize("kind", ["Mean", "SqrtN"])
@pytest.mark.parametrize(("rows", "indices", "ids", "text"), GRADIENT)
def test_gradient_of_chosen_rows(kind, rows, indices, ids, text):
    gradient = raw.function(f"SparseSegment{kind}Grad")
    assert message(lambda: gradient(np.ones((rows, 4), np.float32), indices, ids, 10)) == text


@pytest.mark.parametrize(("name", "limit"), [("min", 3.3895313892515355e38), ("max", -3.3895313892515355e38)])
def test_empty_segments_of_bfloat16_hold_the_limit(name, limit):
    with tf.Graph().as_default(), tf.Session() as session:
        reduce = getattr(tf, f"unsorted_segment_{name}")
        found = tf.cast(reduce(tf.cast([[5.0]], tf.bfloat16), [0], 2), tf.float32)
        np.testing.assert_array_equal(session.run(found), np.array([[5.0], [limit]], np.float32))


def test_texts_at_one_place_are_joined():
    with tf.Graph().as_default(), tf.Session() as session:
        joined = tf.scatter_nd([[1], [1]], ["a", "c"], [3])
        written = tf.tensor_scatter_update(["a", "b"], [[1]], ["c"])
        assert [v.tolist() for v in session.run([joined, written])] == [[b"", b"ac", b""], [b"a", b"c"]]


@pytest.mark.parametrize(
    ("data", "ids", "text"),
    [
        ([[17, 1]], [[0, 2]], "segment_ids[0,1] = 2 is out of range [0, 2)"),
        (np.ones((2, 2, 2)), [[0, 1], [5, 1]], "segment_ids[1,0] = 5 is out of range [0, 2)"),
        ([17], [2], "segment_ids[0] = 2 is out of range [0, 2)"),
        (17, 2, "segment_ids = 2 is out of range [0, 2)"),
    ],
)
def test_unsorted_ids(data, ids, text):
    assert message(lambda: tf.unsorted_segment_sum(data, ids, 2)) == text
