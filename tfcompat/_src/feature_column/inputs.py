"""Features as columns get them: each is made into a tensor once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.feature_column.base import FeatureColumn, _FeatureColumn
from tfcompat._src.feature_column.state import ScopeState
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import expand_dims, rank
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed.check_ops import assert_positive
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, not_equal
from tfcompat._src.ops.sparse.layout import sparse_reshape
from tfcompat._src.platform import logging

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class FeatureTransformationCache:
    """Gives the tensors of features and columns, and makes each of them only once.

    Args:
      features: dict from key to a tensor, SparseTensor or what converts to a tensor.
    """

    _kind: type = FeatureColumn

    def __init__(self, features: dict[Any, Any]) -> None:
        self._features = features.copy()
        self._feature_tensors: dict[Any, Any] = {}

    def get(self, key: Any, state_manager: Any) -> Any:
        """The tensor of a feature, with at least two dimensions, or what a column makes of its features.

        Raises:
          ValueError: the feature is missing or a scalar, or the column gives None. TypeError: another `key`.
        """
        if key not in self._feature_tensors:
            self._feature_tensors[key] = self._raw(key) if key in self._features else self._made(key, state_manager)
        return self._feature_tensors[key]

    def _made(self, column: object, state_manager: object) -> Any:
        if isinstance(column, str):
            raise ValueError(f"Feature {column} is not in features dictionary.")
        if not isinstance(column, self._kind):
            raise TypeError(f'"key" must be either a "str" or "{self._kind.__name__}". Provided: {column}')
        logging.debug("Transforming feature_column %s.", column)
        made = self._transformed(column, state_manager)
        if made is None:
            raise ValueError(f"Column {column.name} is not supported.")
        return made

    def _transformed(self, column: Any, state_manager: Any) -> Any:
        return column.transform_feature(self, state_manager)

    def sparse_tensors(self, column: Any, state_manager: Any) -> Any:
        """The ids and weights of a categorical column."""
        return column.get_sparse_tensors(self, state_manager)

    def dense_tensor(self, column: Any, state_manager: Any) -> Any:
        """The tensor of a dense column."""
        return column.get_dense_tensor(self, state_manager)

    def _raw(self, key: object) -> Any:
        feature = convert_to_tensor_or_sparse_tensor(self._features[key])
        message = f"Feature (key: {key}) cannot have rank 0. Given: {feature}"
        ndims = feature.get_shape().ndims
        if ndims == 0:
            raise ValueError(message)
        if ndims is not None:
            return _as_column(feature) if ndims == 1 else feature
        with control_dependencies([assert_positive(rank(feature), message=message)]):
            return cond(equal(1, rank(feature)), lambda: _as_column(feature), lambda: feature)


class _LazyBuilder(FeatureTransformationCache):
    """A cache for columns of the earlier interface."""

    _kind = _FeatureColumn

    def get(self, key: object, state_manager: object = None) -> Any:
        return super().get(key, state_manager)

    def _transformed(self, column: Any, state_manager: object) -> Any:
        return column._transform_feature(self)

    def sparse_tensors(self, column: Any, state_manager: ScopeState | None) -> Any:
        return column._get_sparse_tensors(self, **_variable_settings(state_manager))

    def dense_tensor(self, column: Any, state_manager: ScopeState | None) -> Any:
        return column._get_dense_tensor(self, **_variable_settings(state_manager))


def _variable_settings(state: ScopeState | None) -> dict[str, Any]:
    if state is None:
        return {}
    return {"weight_collections": state.weight_collections, "trainable": state.trainable}


def _as_column(feature: TensorLike) -> SparseTensor | Tensor:
    if isinstance(feature, SparseTensor):
        return sparse_reshape(feature, [shape_of(feature)[0], 1])
    return expand_dims(feature, -1)


def to_sparse_input(input_tensor: TensorLike, ignore_value: object = None) -> SparseTensor:
    """A SparseTensor of the elements of a tensor that differ from `ignore_value`; a SparseTensor stays as it is.

    Args:
      input_tensor: Tensor or SparseTensor.
      ignore_value: by default "" for strings, -1 for integers and 0 for floats.
    """
    input_tensor = convert_to_tensor_or_sparse_tensor(input_tensor)
    if isinstance(input_tensor, SparseTensor):
        return input_tensor
    with name_scope(None, "to_sparse_input", (input_tensor, ignore_value)):
        if ignore_value is None:
            ignore_value = _missing(input_tensor)
        ignore_value = cast(ignore_value, input_tensor.dtype, name="ignore_value")
        indices = where_v2(not_equal(input_tensor, ignore_value), name="indices")
        return SparseTensor(
            indices=indices,
            values=gather_nd(input_tensor, indices, name="values"),
            dense_shape=shape_of(input_tensor, out_type=dtypes.int64, name="dense_shape"),
        )


def _missing(tensor: Tensor) -> Any:
    """The element that stands for a missing one."""
    if tensor.dtype == dtypes.string:
        return ""
    return -1 if tensor.dtype.is_integer else tensor.dtype.as_numpy_dtype()
