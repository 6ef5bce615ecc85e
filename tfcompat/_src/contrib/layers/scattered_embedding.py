"""Embeddings whose elements are found by hashes in one vector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.layers.sparse_feature_cross import sparse_feature_cross
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.search import unique
from tfcompat._src.ops.array.shape import expand_dims, rank, reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.binary import multiply, subtract
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_all
from tfcompat._src.ops.math.segment import unsorted_segment_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.sparse_segment import (
    sparse_segment_mean,
    sparse_segment_sqrt_n,
    sparse_segment_sum,
)
from tfcompat._src.ops.nn.embedding import embedding_lookup, parts_of
from tfcompat._src.ops.sparse.convert import sparse_tensor_to_dense
from tfcompat._src.ops.sparse.layout import sparse_fill_empty_rows

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_COMBINERS = {"sum": sparse_segment_sum, "mean": sparse_segment_mean, "sqrtn": sparse_segment_sqrt_n}
_NOTHING = {True: "6ZxWzWOHxZ", False: 1288896567}
"""The value of rows without values, of strings or not."""


@export("contrib.slim.scattered_embedding_lookup")
def scattered_embedding_lookup(
    params: object, values: TensorLike, dimension: int, name: str | None = None, hash_key: int | None = None
) -> Tensor:
    """The embeddings of values, of any type that can be hashed; element i is the parameter at hash(i, value).

    Args:
      params: vector of parameters, or a list of its parts.
      values: Tensor [d0, ...].
      dimension: of an embedding.
      name: name scope.
      hash_key: key of the hashes.

    Returns:
      Tensor [d0, ..., dimension].

    Raises:
      ValueError: no dimension above 0, or parts of wrong sizes.
    """
    if dimension is None:
        raise ValueError("You must specify dimension.")
    return _sampled_scattered_embedding_lookup(params, values, dimension=dimension, hash_key=hash_key, name=name)


def _sampled_scattered_embedding_lookup(
    params: object, values: TensorLike, dimension: Any = None, sampled_candidates: TensorLike | None = None, hash_key: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """`scattered_embedding_lookup`, of the elements `sampled_candidates` [d0, ..., n] of each embedding where given."""
    params = parts_of(params)
    with name_scope(name, "scattered_embedding_lookup", [*params, dimension, values]):
        sizes = shape_of(values)
        values = reshape(values, [-1, 1])
        if sampled_candidates is not None:
            dimension = shape_of(sampled_candidates)[subtract(rank(sampled_candidates), 1)]
            candidates = _flat_candidates(sampled_candidates, sizes, dimension)
        elif dimension is None:
            raise ValueError("You must specify either dimension or sampled_candidates.")
        elif dimension <= 0:
            raise ValueError(f"Dimension must be >0. Given is {dimension}")
        else:
            candidates = tile(expand_dims(arange(0, dimension), 0), shape_of(values))
        places = sparse_feature_cross(
            [candidates, values], hashed_output=True, num_buckets=_num_params(params), hash_key=hash_key
        )
        found = embedding_lookup(params, sparse_tensor_to_dense(places), partition_strategy="div")
        return reshape(found, concat([sizes, [dimension]], 0))


def _flat_candidates(candidates: TensorLike, sizes: Tensor, dimension: Tensor) -> Tensor:
    have = shape_of(candidates)
    wanted = concat([sizes, reshape(dimension, shape=[1])], 0)
    message = ["The shape of sampled_candidates: ", have, " does not match the shape of values: ", sizes]
    with control_dependencies([Assert(reduce_all(equal(have, wanted)), message)]):
        return reshape(candidates, [-1, dimension])


def _num_params(parts: list[Any]) -> int:
    """The number of parameters; ValueError where they are not dealt evenly to the parts."""
    sizes = []
    for part in parts:
        part.get_shape().assert_has_rank(1)
        part.get_shape().assert_is_fully_defined()
        sizes.append(part.get_shape().as_list()[0])
    for p, size in enumerate(sizes):
        expected = (sum(sizes) - p - 1) // len(sizes) + 1
        if size != expected:
            raise ValueError(f"Tensor {p} in params has size {size}, expected {expected}.")
    return sum(sizes)


def _segment_ids(sparse: SparseTensor) -> Tensor:
    return cast(sparse.indices[:, 0], dtypes.int32)


@export("contrib.slim.scattered_embedding_lookup_sparse")
def scattered_embedding_lookup_sparse(
    params: object, sparse_values: SparseTensor, dimension: int, combiner: str | None = None, default_value: TensorLike | None = None,
    name: str | None = None, hash_key: int | None = None,
) -> Tensor:  # fmt: skip
    """The combined embeddings of the values of each row; see scattered_embedding_lookup.

    Args:
      params: vector of parameters, or a list of its parts.
      sparse_values: SparseTensor [rows, any].
      dimension: of an embedding.
      combiner: "mean" (the default), "sqrtn" or "sum".
      default_value: the value of rows without values.
      name: node name.
      hash_key: key of the hashes.

    Raises:
      TypeError: the values are no SparseTensor. ValueError: another combiner.
    """
    if not isinstance(sparse_values, SparseTensor):
        raise TypeError("sparse_values must be SparseTensor")
    params = parts_of(params)
    with name_scope(name, "scattered_embedding_lookup_sparse", [*params, sparse_values]) as scope:
        if default_value is None:
            default_value = _NOTHING[sparse_values.dtype == dtypes.string]
        sparse_values, _ = sparse_fill_empty_rows(sparse_values, default_value)
        segment_ids = _segment_ids(sparse_values)
        distinct, places = unique(sparse_values.values)
        embeddings = scattered_embedding_lookup(params, distinct, dimension, hash_key=hash_key)
        if combiner not in (None, *_COMBINERS):
            raise ValueError("Combiner must be one of 'mean', 'sqrtn' or 'sum'.")
        return _COMBINERS[combiner or "mean"](embeddings, places, segment_ids, name=scope)


def _sampled_scattered_embedding_lookup_sparse(
    params: object, sp_values: SparseTensor, dimension: object = None, sampled_candidates: TensorLike | None = None,
    hash_key: int | None = None, with_sign_hash: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The sums of sampled elements of the embeddings of each row, with signs by a second hash where wanted."""
    if not isinstance(sp_values, SparseTensor):
        raise TypeError("sp_values must be SparseTensor")
    with name_scope(
        name, "sampled_scattered_embedding_lookup_sparse", [sp_values, params, dimension, sampled_candidates]
    ) as scope:
        rows = sp_values.indices[:, 0]
        if sampled_candidates is not None:
            sampled_candidates = gather(sampled_candidates, rows)
        arguments = sp_values.values, dimension, sampled_candidates, hash_key
        embeddings = _sampled_scattered_embedding_lookup(params, *arguments, name="values_lookup")
        if with_sign_hash:
            signs = _sampled_scattered_embedding_lookup(convert_to_tensor([-1.0, 1.0]), *arguments, name="signs_lookup")
            embeddings = multiply(signs, embeddings, name="signs_hash")
        segment_ids = cast(rows, dtypes.int32)
        return unsorted_segment_sum(embeddings, segment_ids, num_segments=shape_of(sp_values)[0], name=scope)
