"""tf.contrib.reduce_slice_ops; 1.15 gives no static shape that can be compared, so what TensorFlow computed stands here."""

import numpy as np
import pytest

import tfcompat as tf

OPS = tf.contrib.reduce_slice_ops.python.ops.reduce_slice_ops
SLICES = [[0, 2], [1, 1], [2, 9]]


def run(kind, *inputs):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(getattr(OPS, "reduce_slice_" + kind)(*inputs))


@pytest.mark.parametrize(
    "kind, dtype, expected",
    [
        ("sum", np.float32, [3, 0, 3]), ("prod", np.int32, [2, 1, 3]), ("max", np.float16, [2, -np.inf, 3]),
        ("max", np.int32, [2, -(2**31), 3]), ("min", np.float32, [1, np.inf, 3]), ("min", np.uint8, [1, 255, 3]),
    ],
)  # fmt: skip
def test_empty_slices_and_ends_beyond_the_data(kind, dtype, expected):
    found = run(kind, np.array([1, 2, 3], dtype), SLICES, 0)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.array(expected, found.dtype))


def test_slices_between_indices_along_an_axis():
    data = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(
        run("sum", data, [[0], [2], [3], [9]], 1), np.stack([data[:, :2].sum(1), data[:, 2], data[:, 3]], 1)
    )
    assert run("sum", data, [2], 0).shape == (0, 4)


def test_extremes_pass_over_nan_that_is_not_last():
    data = np.array([[1.0, 2.0], [np.nan, 5.0], [3.0, np.nan]], np.float32)
    np.testing.assert_array_equal(run("max", data, [[0, 3], [0, 2]], 0), [[3, np.nan], [np.nan, 5]])


def test_static_shape():
    found = OPS.reduce_slice_sum(tf.placeholder(tf.float32, [None, 4, 2]), tf.placeholder(tf.int32, [5, 2]), 1)
    assert found.shape.as_list() == [None, 5, 2]


@pytest.mark.parametrize("indices, axis", [([[-1, 2]], 0), ([[0, 1]], tf.int64)])
def test_what_1_15_reads_out_of_bounds_is_refused(indices, axis):
    with tf.Graph().as_default(), tf.Session() as session:
        place = tf.placeholder(tf.int64, []) if axis is tf.int64 else axis
        found = OPS.reduce_slice_sum(np.ones([2], np.float32), indices, place)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(found, {place: 5} if axis is tf.int64 else {})
