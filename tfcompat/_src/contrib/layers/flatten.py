"""Dimensions of features made one."""

from __future__ import annotations

from typing import Any

from tfcompat._src.contrib.layers.common import collect
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.slice import strided_slice
from tfcompat._src.ops.composed.rank_checks import assert_rank_at_least
from tfcompat._src.ops.math.reduce import reduce_prod
from tfcompat._src.ops.sparse.layout import sparse_reshape
from tfcompat._src.platform import logging


def inner_flatten(inputs: Any, new_rank: Any, output_collections: object = None, scope: str | None = None) -> Any:
    """`inputs` with all dimensions after the first `new_rank - 1` as one.

    Args:
      inputs: Tensor or SparseTensor of at least that rank.
      new_rank: the rank of the result, an int or a scalar.
      output_collections: names of collections that get the result.
      scope: name scope.

    Raises:
      ValueError: the rank of `inputs` is lower.
    """
    with name_scope(scope, "InnerFlatten", [inputs, new_rank]) as name:
        flat = _sparse(inputs, new_rank) if isinstance(inputs, SparseTensor) else _dense(convert_to_tensor(inputs), new_rank)
    return collect(output_collections, name, flat)


def _sparse(inputs: SparseTensor, new_rank: int) -> SparseTensor:
    rank = inputs.dense_shape.get_shape().as_list()[0]
    if rank < new_rank:
        raise ValueError(
            f"Inputs has rank less than new_rank. {inputs} must have rank at least {new_rank}. Received rank {rank}, "
            f"shape {inputs.get_shape()}"
        )
    outer, inner = inputs.dense_shape[: new_rank - 1], inputs.dense_shape[new_rank - 1 :]
    return sparse_reshape(inputs, concat((outer, [reduce_prod(inner)]), 0))


def _dense(inputs: Tensor, new_rank: Any) -> Tensor:
    with control_dependencies([assert_rank_at_least(inputs, new_rank, message="inputs has rank less than new_rank")]):
        outer = strided_slice(shape_of(inputs), [0], [new_rank - 1])
        flat = reshape(inputs, concat((outer, [-1]), 0))
    if isinstance(new_rank, int) and inputs.shape.ndims is not None:
        outer_sizes, inner_sizes = inputs.shape[: new_rank - 1], inputs.shape[new_rank - 1 :]
        flat.set_shape(outer_sizes.concatenate([inner_sizes.num_elements()]))
    return flat


def as_rank(tensor: Tensor, rank: int, column_name: str) -> Tensor:
    """A tensor of a feature with `rank` dimensions: one more, or several as one.

    Raises:
      ValueError: more than one is missing.
    """
    known = tensor.shape.ndims
    if known == rank:
        return tensor
    if known is not None and rank > known + 1:
        raise ValueError(
            f"Error while processing column {column_name}.Rank of input Tensor ({known}) should be the same as output_rank "
            f"({rank}). For example, sequence data should typically be 3 dimensional (rank 3) while non-sequence data is "
            "typically 2 dimensional (rank 2)."
        )
    if known is not None and rank == known + 1:
        logging.warning(
            f"Rank of input Tensor ({known}) should be the same as output_rank ({rank}) for column. Will attempt to expand "
            "dims. It is highly recommended that you resize your input, as this behavior may change."
        )
        return expand_dims(tensor, -1, name="expand_dims")
    return inner_flatten(tensor, rank)
