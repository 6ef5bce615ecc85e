"""What a linear model adds up: the weights of ids, and products with dense columns."""

from __future__ import annotations

from typing import Any

from tfcompat._src.feature_column.base import CategoricalColumn, FeatureColumn, _CategoricalColumn, num_buckets_of
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.sparse.embedding import safe_embedding_lookup_sparse
from tfcompat._src.ops.sparse.layout import sparse_reshape


def is_categorical(column: object) -> bool:
    """Whether a linear model takes the column's ids."""
    return isinstance(column, (CategoricalColumn, _CategoricalColumn))


def num_elements_of(column: Any) -> int:
    """The number of elements of a dense column of either interface in one example."""
    shape = column.variable_shape if isinstance(column, FeatureColumn) else column._variable_shape
    return shape.num_elements()


def num_weights_of(column: object) -> int:
    """The number of rows of the weights of a column."""
    return num_buckets_of(column) if is_categorical(column) else num_elements_of(column)


def as_rows(tensor: Tensor, column: object) -> Tensor:
    """The tensor of a dense column as a matrix with a row for each example."""
    return reshape(tensor, shape=(shape_of(tensor)[0], num_elements_of(column)))


def weighted_sum(column: Any, cache: Any, state_manager: Any, sparse_combiner: str, weights: Any) -> Tensor:
    """The part of a column in a linear model.

    Args:
      column: dense or categorical.
      cache, state_manager: give its tensors and variables.
      sparse_combiner: how the weights of several ids are combined: "mean", "sqrtn" or "sum".
      weights: variable [ids or elements, units].

    Returns:
      Tensor [batch, units].
    """
    if not is_categorical(column):
        return matmul(as_rows(cache.dense_tensor(column, state_manager), column), weights, name="weighted_sum")
    ids, id_weights = cache.sparse_tensors(column, state_manager)
    ids = sparse_reshape(ids, [shape_of(ids)[0], -1])
    if id_weights is not None:
        id_weights = sparse_reshape(id_weights, [shape_of(id_weights)[0], -1])
    return safe_embedding_lookup_sparse(
        weights, ids, sparse_weights=id_weights, combiner=sparse_combiner, name="weighted_sum"
    )
