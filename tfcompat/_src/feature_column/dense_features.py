"""tf.keras.layers.DenseFeatures."""

from __future__ import annotations

import json
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.feature_column.base import DenseColumn
from tfcompat._src.feature_column.features_layer import _BaseFeaturesLayer
from tfcompat._src.feature_column.inputs import FeatureTransformationCache
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.registry import provides_layer


@provides_layer
@export("keras.layers.DenseFeatures")
class DenseFeatures(_BaseFeaturesLayer):
    """A layer that puts the tensors of dense columns side by side, in the order of their names.

    Args:
      feature_columns: dense columns.
      trainable: whether their variables are trained.
      name: of the layer.

    Raises:
      ValueError: a column is not dense; later, the features are no dict or batch sizes differ.
    """

    def __init__(self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(
            feature_columns=feature_columns, trainable=trainable, name=name, expected_column_type=DenseColumn, **kwargs
        )

    @property
    def _tracking_metadata(self) -> str:
        return json.dumps({**json.loads(super()._tracking_metadata), "_is_feature_layer": True})

    def _target_shape(self, input_shape: Any, num_elements: int) -> tuple:
        return input_shape[0], num_elements

    def call(self, features: dict[Any, Any], cols_to_output_tensors: dict | None = None) -> Tensor:
        """The tensor [batch, elements of all columns]; `cols_to_output_tensors` gets the part of each column."""
        self._check_features(features)
        cache, tensors = FeatureTransformationCache(features), []
        for column in self._feature_columns:
            with name_scope(column.name):
                dense = column.get_dense_tensor(cache, self._state_manager)
                tensors.append(self._process_dense_tensor(column, dense))
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = tensors[-1]
        return self._verify_and_concat_tensors(tensors)
