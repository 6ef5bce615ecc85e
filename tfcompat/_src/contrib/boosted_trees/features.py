"""Features of tf.contrib.boosted_trees: dense floats, sparse floats and sparse ids, in slots in this order."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.contrib.layers.embedding_columns import _EmbeddingColumn
from tfcompat._src.contrib.layers.feature_column_ops import input_from_feature_columns, transform_features
from tfcompat._src.feature_column.base import is_feature_column_v2
from tfcompat._src.feature_column.input_layer import _transform_features, _transform_features_v2
from tfcompat._src.feature_column.state import _StateManagerImpl
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.join import concat, unstack
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.variables.scope import variable_scope


class Slots(NamedTuple):
    """The features of a model: names in the order of all slots, then what each kind has."""

    names: list[str]
    dense_floats: list[Tensor]
    sparse_floats: list[SparseTensor]
    sparse_ints: list[SparseTensor]

    def inputs(self) -> list[list[Tensor]]:
        """The lists of inputs that operations take; ValueError where there is no feature."""
        if not self.names:
            raise ValueError("No input tensors for prediction.")
        sparse = [
            [getattr(each, part) for each in kind]
            for kind in (self.sparse_floats, self.sparse_ints)
            for part in ("indices", "values", "dense_shape")
        ]
        return [self.dense_floats, *sparse]


def _of_column(features: dict[str, Any], column: object, use_core_columns: bool) -> Any:
    if use_core_columns:
        if is_feature_column_v2([column]):
            return _transform_features_v2(features, [column], _StateManagerImpl(layer=None, trainable=False))[column]
        return _transform_features(features, [column])[column]
    if isinstance(column, _EmbeddingColumn):
        return input_from_feature_columns(features, [column], weight_collections=["gbdt"])
    (found,) = transform_features(features, [column]).values()
    return found


def _weighted_ids(ids: SparseTensor, weights: SparseTensor) -> SparseTensor:
    """Weights of ids as a sparse float feature with a dimension for each id."""
    places = concat([ids.indices[:, :1], expand_dims(cast(ids.values, dtypes.int64), -1)], 1)
    return SparseTensor(places, weights.values, ids.dense_shape)


def extract_features(features: dict[str, Any], feature_columns: Any, use_core_columns: bool) -> Slots:
    """The features of a dict in slots.

    Args:
      features: from name to Tensor, SparseTensor, or (ids, weights).
      feature_columns: columns that make features; by default those of the dict count as they are.
      use_core_columns: whether columns are those of tf.feature_column, not of tf.contrib.layers.

    Raises:
      ValueError: there are no features, or one has a dtype that is not supported.
    """
    if not features:
        raise ValueError("Features dictionary must be specified.")
    if feature_columns:
        with variable_scope("gbdt"):
            features = {column.name: _of_column(dict(features), column, use_core_columns) for column in feature_columns}
    dense: list[tuple[str, Tensor]] = []
    floats: list[tuple[str, SparseTensor]] = []
    ints: list[tuple[str, SparseTensor]] = []
    for name in sorted(features):
        tensor = features[name]
        if isinstance(tensor, tuple) and not isinstance(tensor, SparseTensor):
            tensor = _weighted_ids(*tensor[:2])
        if isinstance(tensor, SparseTensor):
            if tensor.dtype not in (dtypes.float32, dtypes.int64):
                raise ValueError(f"Unsupported sparse feature {tensor.indices.name} with dtype {tensor.dtype}.")
            (floats if tensor.dtype == dtypes.float32 else ints).append((name, tensor))
        elif tensor.dtype != dtypes.float32:
            raise ValueError(f"Unsupported dense feature {tensor.name} with dtype {tensor.dtype}.")
        elif len(tensor.shape) > 1 and tensor.shape[1] > 1:
            dense += [(f"{name}_{i}", reshape(column, [-1, 1])) for i, column in enumerate(unstack(tensor, axis=1))]
        else:
            dense.append((name, tensor))
    kinds = [[tensor for _, tensor in kind] for kind in (dense, floats, ints)]
    return Slots([name for name, _ in (*dense, *floats, *ints)], *kinds)
