"""tf.contrib.linear_optimizer.SparseFeatureColumn, and how ids of examples become one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.search import unique
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.composed.masks import boolean_mask
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_max

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.linear_optimizer.SparseFeatureColumn")
class SparseFeatureColumn:
    """A sparse feature of several examples.

    Args:
      example_indices: int64 vector, the example of each element, rising.
      feature_indices: int64 vector, the index of each element in the feature.
      feature_values: float32 vector of the elements, or None where all are 1.
    """

    def __init__(self, example_indices: TensorLike, feature_indices: TensorLike, feature_values: TensorLike) -> None:
        with name_scope(None, "SparseFeatureColumn", [example_indices, feature_indices]):
            self._example_indices = convert_to_tensor(example_indices, dtypes.int64, name="example_indices")
            self._feature_indices = convert_to_tensor(feature_indices, dtypes.int64, name="feature_indices")
        self._feature_values: Tensor | None = None
        if feature_values is not None:
            with name_scope(None, "SparseFeatureColumn", [feature_values]):
                self._feature_values = convert_to_tensor(feature_values, dtypes.float32, name="feature_values")

    example_indices = property(lambda self: self._example_indices)
    feature_indices = property(lambda self: self._feature_indices)
    feature_values = property(lambda self: self._feature_values)


def of_ids(ids: Any, weights: Any) -> SparseFeatureColumn:
    """The ids of examples, each once with the sum of its weights (1 without weights); negative ids are left out."""
    examples, values = ids.indices[:, 0], cast(reshape(ids.values, [-1]), dtypes.int64)
    weights = ones(shape(values), dtypes.float32) if weights is None else reshape(weights.values, [-1])
    kept = raw.GreaterEqual(values, cast(0, values.dtype))
    examples, values, weights = (boolean_mask(t, kept) for t in (examples, values, weights))
    width = reduce_max(values) + 1
    pairs, places = unique(width * examples + values)
    count = shape(pairs)[0]
    examples = raw.UnsortedSegmentMin(examples, places, count)
    return SparseFeatureColumn(examples, pairs - width * examples, raw.UnsortedSegmentSum(weights, places, count))
