"""`constant_value_as_shape` of slices of partly known shapes; expected values are TensorFlow 1.15.5's."""

import pytest

import tfcompat as tf
from tfcompat._src.graph.constant_value import constant_value_as_shape

SLICES = [
    (slice(2, None), [16, 37, None, 48]),
    (slice(2, None, -1), [16, 2, 1]),
    (slice(None, -2), [1, 2, 16, 37]),
    (slice(-2, None), [None, 48]),
    (slice(1, 5, 2), [2, 37]),
    (slice(None, None, -1), [48, None, 37, 16, 2, 1]),
    (slice(2, -1), [16, 37, None]),
    (slice(5, 1), []),
]


@pytest.mark.parametrize(("part", "wanted"), SLICES)
def test_of_concatenated_sizes(part, wanted):
    sizes = tf.concat([[1, 2, 16, 37], tf.placeholder(tf.int32, (1,)), [48]], 0)
    assert constant_value_as_shape(sizes[part]).as_list() == wanted


def test_of_slices_packs_and_shapes():
    packed = tf.stack([3, tf.placeholder(tf.int32, []), 5])
    shape = tf.shape(tf.placeholder(tf.float32, [None, 7, 8]))
    for tensor, sizes in [
        (packed[1:], [None, 5]),
        (packed[::2], [3, 5]),
        (packed[1:][1:], [5]),
        (shape[1:], [7, 8]),
        (shape[::-1], [8, 7, None]),
        (tf.slice(shape, [1], [2]), [None, None]),
        (packed[1:, ...], [None, None]),
        (tf.placeholder(tf.int32, [4])[0:2], [None, None]),
    ]:
        assert constant_value_as_shape(tensor).as_list() == sizes, tensor
    assert constant_value_as_shape(packed[tf.placeholder(tf.int32, []) :]).ndims is None
