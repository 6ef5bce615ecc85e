"""The base of the layers that make features dense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.feature_column.base import normalize_feature_columns
from tfcompat._src.feature_column.serialization import deserialize_feature_columns, serialize_feature_columns
from tfcompat._src.feature_column.state import _StateManagerImpl
from tfcompat._src.feature_column.utils import check_static_batch_sizes
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.variables.scope import pure_variable_scope

if TYPE_CHECKING:
    from typing import Self


class _BaseFeaturesLayer(Layer):
    """What DenseFeatures and SequenceFeatures share.

    Args:
      feature_columns: the columns.
      expected_column_type: the class that they must have.
      trainable: whether their variables are trained.
      name: of the layer.

    Raises:
      ValueError: a column of another class.
    """

    def __init__(
        self, feature_columns: Any, expected_column_type: type, trainable: bool, name: str | None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        self._feature_columns = normalize_feature_columns(feature_columns)
        self._state_manager = _StateManagerImpl(self, self.trainable)
        for column in self._feature_columns:
            if not isinstance(column, expected_column_type):
                raise ValueError(
                    f"Items of feature_columns must be a {expected_column_type}. You can wrap a categorical column with an "
                    f"embedding_column or indicator_column. Given: {column}"
                )

    _is_feature_layer = property(lambda self: True)

    def build(self, _: Any) -> None:
        for column in self._feature_columns:
            with (
                pure_variable_scope(self.name),
                pure_variable_scope(column.name),
            ):
                column.create_state(self._state_manager)
        super().build(None)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the output for features of a shape."""
        return self._target_shape(input_shape, sum(c.variable_shape.num_elements() for c in self._feature_columns))

    def _target_shape(self, input_shape: Any, num_elements: int) -> tuple:
        raise NotImplementedError("Calling an abstract method.")

    def _check_features(self, features: object) -> None:
        if not isinstance(features, dict):
            raise ValueError("We expected a dictionary here. Instead we got: ", features)

    def _process_dense_tensor(self, column: Any, tensor: Tensor) -> Tensor:
        shape = self._target_shape(shape_of(tensor), column.variable_shape.num_elements())
        return reshape(tensor, shape=shape)

    def _verify_and_concat_tensors(self, output_tensors: list[Tensor]) -> Tensor:
        check_static_batch_sizes(output_tensors, self._feature_columns)
        return concat(output_tensors, -1)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "feature_columns": serialize_feature_columns(self._feature_columns)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: object = None) -> Self:
        """The layer of a configuration."""
        columns = deserialize_feature_columns(config["feature_columns"], custom_objects=custom_objects)
        return cls(**{**config, "feature_columns": columns})
