"""Shapes of ragged tensors as tensors; expected sizes are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.ops.ragged.tensor_shape import RaggedTensorDynamicShape, broadcast_dynamic_shape, broadcast_to


def sizes(shape):
    with tf.Session() as session:
        partitioned, inner = session.run([list(shape.partitioned_dim_sizes), shape.inner_dim_sizes])
    return [size.tolist() for size in partitioned] + inner.tolist()


@pytest.mark.parametrize(
    "x, y, expected",
    [
        ([], [2, (2, 3), (5, 7, 2, 0, 9)], [2, [2, 3], [5, 7, 2, 0, 9]]),
        ([3], [3, (2, 3, 1), 1], [3, [2, 3, 1], 3]),
        ([1, 3, (3, 0, 2), 1, 2], [2, 1, 1, (7, 2), 1], [2, 3, [3, 0, 2, 3, 0, 2], [7, 7, 7, 7, 7, 2, 2, 2, 2, 2], 2]),
        ([2, (2, 1), 2, 1], [1, 1, 2, (2, 1)], [2, [2, 1], 2, [2, 1, 2, 1, 2, 1]]),
    ],
)
def test_two_shapes_broadcast_to_one(x, y, expected):
    for a, b in ((x, y), (y, x)):
        with tf.Graph().as_default():
            assert sizes(broadcast_dynamic_shape(*map(RaggedTensorDynamicShape.from_dim_sizes, (a, b)))) == expected


@pytest.mark.parametrize(
    "axis, lengths, before, after",
    [
        (1, [4, 1, 2], [3, 1, [3, 1, 2], 5], [3, [4, 1, 2], [3, 3, 3, 3, 1, 2, 2], 5]),
        (1, 2, [3, 1, [4, 0, 2], 5], [3, 2, [4, 0, 2, 4, 0, 2], 5]),
        (2, [4, 1, 2], [3, [2, 0, 1], 1, [3, 2, 1], [1, 0, 1, 0, 2, 3], 5],
         [3, [2, 0, 1], [4, 1, 2], [3, 3, 3, 3, 2, 1, 1], [1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0, 2, 3, 3], 5]),
    ],
)  # fmt: skip
def test_a_dimension_of_size_1_is_repeated(axis, lengths, before, after):
    with tf.Graph().as_default():
        assert sizes(RaggedTensorDynamicShape.from_dim_sizes(before).broadcast_dimension(axis, lengths)) == after


def test_values_are_repeated_to_a_ragged_shape():
    with tf.Graph().as_default(), tf.Session() as session:
        shape = RaggedTensorDynamicShape.from_dim_sizes([2, [2, 3], [0, 2, 1, 2, 0]])
        assert session.run(broadcast_to(np.array([[[1]], [[2]]]), shape)).to_list() == [[[], [1, 1]], [[2], [2, 2], []]]
        inner = broadcast_to(np.array([[7], [8]]), RaggedTensorDynamicShape.from_dim_sizes([2, [1, 2], 2, 2]))
        assert session.run(inner).to_list() == [[[[7, 7], [8, 8]]], [[[7, 7], [8, 8]]] * 2]


def test_shapes_that_do_not_fit_are_refused():
    with tf.Graph().as_default(), tf.Session() as session:
        shape = RaggedTensorDynamicShape.from_dim_sizes([3, [1, 2, 3]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="dimension size mismatch in dimension"):
            session.run(shape.broadcast_dimension(0, 2).partitioned_dim_sizes[0])
        with pytest.raises(ValueError, match="outermost partitioned dimension must be uniform"):
            RaggedTensorDynamicShape([[1, 2], [3]], [])
        with pytest.raises(ValueError, match="rank mismatch"):
            broadcast_to(np.zeros([1, 1, 1]), shape)
