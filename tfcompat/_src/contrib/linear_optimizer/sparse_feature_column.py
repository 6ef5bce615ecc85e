"""tf.contrib.linear_optimizer.SparseFeatureColumn."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor


@export("contrib.linear_optimizer.SparseFeatureColumn")
class SparseFeatureColumn:
    """A sparse feature of several examples.

    Args:
      example_indices: int64 vector, the example of each element, rising.
      feature_indices: int64 vector, the index of each element in the feature.
      feature_values: float32 vector of the elements, or None where all are 1.
    """

    def __init__(self, example_indices: Any, feature_indices: Any, feature_values: Any) -> None:
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
