"""tf.confusion_matrix: how often each class was taken for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import ones_like, zeros
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.shape import rank, squeeze
from tfcompat._src.ops.composed.check_ops import assert_less, assert_non_negative
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_max

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


def remove_squeezable_dimensions(labels: TensorLike, predictions: TensorLike, expected_rank_diff: int = 0, name: str | None = None) -> tuple[Tensor, Tensor]:
    """`labels` and `predictions`, one of them without a last dimension of 1 where that gives the expected difference of ranks.

    Args:
      labels, predictions: tensors.
      expected_rank_diff: wanted rank of `predictions` less that of `labels`.
      name: name scope.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        if labels.shape.ndims is not None and predictions.shape.ndims is not None:
            rank_diff = predictions.shape.ndims - labels.shape.ndims
            if rank_diff == expected_rank_diff + 1:
                predictions = squeeze(predictions, [-1])
            elif rank_diff == expected_rank_diff - 1:
                labels = squeeze(labels, [-1])
            return labels, predictions
        rank_diff = rank(predictions) - rank(labels)
        predictions = squeezed_where(expected_rank_diff + 1, rank_diff, predictions)
        return squeezed_where(expected_rank_diff - 1, rank_diff, labels), predictions


def squeezed_where(wanted: int, rank_diff: Tensor, value: Tensor) -> Tensor:
    """`value` without its last dimension where that may be 1 and the difference of ranks is `wanted`."""
    if value.shape.ndims is not None and not value.shape.dims[-1].is_compatible_with(1):
        return value
    return cond(equal(wanted, rank_diff), lambda: squeeze(value, [-1]), lambda: value)


@export("confusion_matrix", "math.confusion_matrix")
def confusion_matrix(
    labels: TensorLike, predictions: TensorLike, num_classes: object = None, dtype: DTypeLike = dtypes.int32, name: str | None = None,
    weights: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """The matrix whose element [i, j] counts the examples of class i that were predicted as class j.

    Args:
      labels, predictions: vectors of class numbers.
      num_classes: number of classes; by default the largest number found and 1.
      dtype: dtype of the counts.
      name: name scope.
      weights: what each example counts, a vector; 1 by default.

    Returns:
      a Tensor [num_classes, num_classes] of `dtype`.

    Raises:
      ValueError: the shapes do not fit. InvalidArgumentError: a class number is negative or not below `num_classes`.
    """
    with name_scope(name, "confusion_matrix", (predictions, labels, num_classes, weights)):
        labels, predictions = convert_to_tensor(labels, name="labels"), convert_to_tensor(predictions, name="predictions")
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions, labels = cast(predictions, dtypes.int64), cast(labels, dtypes.int64)
        labels = with_dependencies(
            [assert_non_negative(labels, message="`labels` contains negative values")], labels
        )
        predictions = with_dependencies(
            [assert_non_negative(predictions, message="`predictions` contains negative values")], predictions
        )
        if num_classes is None:
            num_classes = maximum(reduce_max(predictions), reduce_max(labels)) + 1
        else:
            limit = cast(num_classes, dtypes.int64)
            labels = with_dependencies([assert_less(labels, limit, message="`labels` out of bound")], labels)
            predictions = with_dependencies(
                [assert_less(predictions, limit, message="`predictions` out of bound")], predictions
            )
        if weights is not None:
            weights = convert_to_tensor(weights, name="weights")
            predictions.shape.assert_is_compatible_with(weights.shape)
            weights = cast(weights, dtype)
        sizes = stack([num_classes, num_classes])
        indices = stack([labels, predictions], axis=1)
        counts = SparseTensor(
            indices, ones_like(predictions, dtype) if weights is None else weights, cast(sizes, dtypes.int64)
        )
        nothing = zeros(cast(sizes, dtypes.int32), dtype)
        return raw.SparseTensorDenseAdd(counts.indices, counts.values, counts.dense_shape, nothing)
