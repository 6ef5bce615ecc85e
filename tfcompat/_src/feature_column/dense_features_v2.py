"""DenseFeatures as TensorFlow 2 has it: its variables are named by name scopes and not by variable scopes."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.feature_column import dense_features
from tfcompat._src.feature_column.state import _StateManagerImplV2
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.keras.engine.base_layer import Layer


@export("compat.v2.keras.layers.DenseFeatures")
class DenseFeatures(dense_features.DenseFeatures):
    """See tf.keras.layers.DenseFeatures."""

    def __init__(self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(feature_columns=feature_columns, trainable=trainable, name=name, **kwargs)
        self._state_manager = _StateManagerImplV2(self, self.trainable)

    def build(self, _: Any) -> None:
        for column in self._feature_columns:
            with name_scope(column.name):
                column.create_state(self._state_manager)
        Layer.build(self, None)
