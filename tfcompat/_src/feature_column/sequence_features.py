"""tf.keras.experimental.SequenceFeatures, and context that is joined to each step."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.feature_column.base import SequenceDenseColumn
from tfcompat._src.feature_column.features_layer import _BaseFeaturesLayer
from tfcompat._src.feature_column.inputs import FeatureTransformationCache
from tfcompat._src.feature_column.utils import check_static_batch_sizes
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.registry import provides_layer
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_type
from tfcompat._src.ops.composed.rank_checks import assert_rank


@provides_layer
@export("keras.experimental.SequenceFeatures")
class SequenceFeatures(_BaseFeaturesLayer):
    """A layer that puts the tensors of columns of sequences side by side, in the order of their names.

    Args:
      feature_columns: dense columns of sequences.
      trainable: whether their variables are trained.
      name: of the layer.

    Raises:
      ValueError: a column is not one of sequences; later, the features are no dict or batch sizes differ.
    """

    def __init__(self, feature_columns: object, trainable: bool = True, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(
            feature_columns=feature_columns,
            trainable=trainable,
            name=name,
            expected_column_type=SequenceDenseColumn,
            **kwargs,
        )

    def _target_shape(self, input_shape: Any, num_elements: int) -> tuple:
        return input_shape[0], input_shape[1], num_elements

    def call(self, features: dict[Any, Any]) -> tuple[Tensor, Tensor]:
        """The tensor [batch, time, elements of all columns] and the lengths int64 [batch]."""
        self._check_features(features)
        cache, tensors, lengths = FeatureTransformationCache(features), [], []
        for column in self._feature_columns:
            with name_scope(column.name):
                dense, length = column.get_sequence_dense_tensor(cache, self._state_manager)
                tensors.append(self._process_dense_tensor(column, dense))
                lengths.append(length)
        check_static_batch_sizes(lengths, self._feature_columns)
        length = _assert_all_equal_and_return(lengths)
        return self._verify_and_concat_tensors(tensors), length


def _assert_all_equal_and_return(tensors: list[Tensor], name: str | None = None) -> Tensor:
    """The first of tensors that must be equal."""
    with name_scope(name, "assert_all_equal", values=tensors):
        if len(tensors) == 1:
            return tensors[0]
        with control_dependencies([assert_equal(tensors[0], other) for other in tensors[1:]]):
            return identity(tensors[0])


def concatenate_context_input(context_input: Tensor, sequence_input: Tensor) -> Tensor:
    """Joins what belongs to a whole sequence to each of its steps.

    Args:
      context_input: float32 Tensor [batch, elements].
      sequence_input: float32 Tensor [batch, time, elements].

    Returns:
      Tensor [batch, time, elements of both].

    Raises:
      ValueError: another rank. TypeError: another dtype.
    """
    checks = []
    for tensor, what, wanted in ((sequence_input, "sequence_input", 3), (context_input, "context_input", 2)):
        sizes = shape_of(tensor)
        checks.append(assert_rank(tensor, wanted, message=f"{what} must have rank {wanted}", data=[sizes]))
        message = f"{what} must have dtype float32; got {tensor.dtype}."
        checks.append(assert_type(tensor, dtypes.float32, message=message))
    with control_dependencies(checks):
        length = shape_of(sequence_input)[1]
        tiled = tile(expand_dims(context_input, 1), concat([[1], [length], [1]], 0))
    return concat([sequence_input, tiled], 2)
