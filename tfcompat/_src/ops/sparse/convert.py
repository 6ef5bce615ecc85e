"""Sparse tensors made of dense ones, of ids and values, or with another shape stated; and back."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import fill, ones, ones_like, zeros
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.search import where, where_v2
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_less_equal
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.binary import add, maximum, minimum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import not_equal
from tfcompat._src.ops.math.reduce import reduce_max
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.sparse.layout import sparse_reorder
from tfcompat._src.ops.sparse.parts import as_sparse
from tfcompat._src.ops.sparse.to_dense import sparse_to_dense

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


@export("sparse.from_dense")
def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """A SparseTensor of the elements of a Tensor that are not zero.

    Args:
      tensor: Tensor of numbers.
      name: name of the scope of the nodes.
    """
    with name_scope(name, "dense_to_sparse"):
        tensor = convert_to_tensor(tensor)
        indices = where(not_equal(tensor, constant(0, tensor.dtype)))
        return SparseTensor(indices, gather_nd(tensor, indices), shape(tensor, out_type=dtypes.int64))


@export("sparse.to_dense", "sparse_tensor_to_dense")
def sparse_tensor_to_dense(
    sp_input: object, default_value: TensorLike | None = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """The Tensor that a SparseTensor stands for.

    Args:
      sp_input: SparseTensor.
      default_value: scalar for the elements that are not stored; zero by default.
      validate_indices: whether indices must rise in row-major order without repeats.
      name: node name.

    Raises:
      TypeError: the input is not sparse.
    """
    sp_input = as_sparse(sp_input)
    if default_value is None:
        default_value = zeros([], dtype=sp_input.dtype)
    return sparse_to_dense(
        sp_input.indices, sp_input.dense_shape, sp_input.values, default_value, validate_indices=validate_indices, name=name
    )


@export("sparse.to_indicator", "sparse_to_indicator")
def sparse_to_indicator(sp_input: object, vocab_size: object, name: str | None = None) -> Tensor:
    """Which ids each row of a SparseTensor of ids holds.

    Args:
      sp_input: SparseTensor of int32 or int64 ids of shape [..., n].
      vocab_size: number of ids.
      name: node name.

    Returns:
      a bool Tensor [..., vocab_size].
    """
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [sp_input]) as scope:
        count = shape(sp_input.indices)[0]
        is_there = fill(expand_dims(count, 0), True)
        found = sparse_merge(
            sp_input, SparseTensor(sp_input.indices, is_there, sp_input.dense_shape), vocab_size, name=scope
        )
        return sparse_tensor_to_dense(found, default_value=False, validate_indices=False, name=scope)


def _ids_and_sizes(sp_ids: Any, vocab_size: Any) -> tuple[list, list]:
    """Lists of id tensors and vocabulary sizes; TypeError where one is a list and the other is not."""
    if isinstance(sp_ids, (SparseTensor, tuple)) and hasattr(sp_ids, "dense_shape"):
        if not isinstance(vocab_size, (Tensor, numbers.Integral)):
            raise TypeError(f"vocab_size has to be a Tensor or Python int. Found {type(vocab_size)}")
        return [sp_ids], [vocab_size]
    if not isinstance(vocab_size, (list, tuple)):
        raise TypeError(f"vocab_size has to be a list of Tensors or Python ints. Found {type(vocab_size)}")
    for size in vocab_size:
        if not isinstance(size, (Tensor, numbers.Integral)):
            raise TypeError(f"vocab_size has to be a list of Tensors or Python ints. Found {type(size)}")
    if len(sp_ids) != len(vocab_size):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    return list(sp_ids), list(vocab_size)


@export("sparse.merge", "sparse_merge")
def sparse_merge(
    sp_ids: object, sp_values: object, vocab_size: object, name: str | None = None, already_sorted: bool = False
) -> SparseTensor:
    """Feature ids and their values as one SparseTensor, in which an id is an index of the last dimension.

    Args:
      sp_ids: SparseTensor of integer ids [d0, ..., n], or a list of them for one more dimension each.
      sp_values: SparseTensor of the same indices and shape.
      vocab_size: number of ids (a list where `sp_ids` is one), int or int64 scalar.
      name: name of the scope of the nodes.
      already_sorted: whether the ids of each row rise, so that nothing is sorted.

    Returns:
      a SparseTensor [d0, ..., vocab_size].

    Raises:
      TypeError: an argument is of a wrong kind. ValueError: lists of different lengths.
    """
    all_ids, all_sizes = _ids_and_sizes(sp_ids, vocab_size)
    with name_scope(name, "SparseMerge", [all_ids, sp_values]):
        all_ids, sp_values = [as_sparse(ids) for ids in all_ids], as_sparse(sp_values)
        columns = []
        for ids in all_ids:
            values = ids.values if ids.dtype is dtypes.int64 else cast(ids.values, dtypes.int64)
            columns.append(expand_dims(values, 1))
        sizes = [cast(s, dtypes.int64) for s in all_sizes]
        indices = concat([all_ids[0].indices[:, :-1], *columns], 1)
        total = concat([all_ids[0].dense_shape[:-1], sizes], 0)
        found = SparseTensor(indices, sp_values.values, total)
        if already_sorted:
            return found
        ordered = sparse_reorder(found)
        return SparseTensor(ordered.indices, ordered.values, total)


@export("sparse.expand_dims")
def sparse_expand_dims(sp_input: Any, axis: object = None, name: str | None = None) -> SparseTensor:
    """A SparseTensor with a dimension of size 1 put in.

    Args:
      sp_input: SparseTensor of a known rank.
      axis: int or int32 scalar, where the dimension stands; -1 by default.
      name: name of the scope of the nodes.

    Raises:
      TypeError: the axis is no integer.
    """
    count = sp_input.dense_shape.shape[0]
    axis = -1 if axis is None else axis
    with name_scope(name, "expand_dims", [sp_input]):
        if isinstance(axis, (int, np.integer)):
            axis = convert_to_tensor(axis, name="axis", dtype=dtypes.int32)
        elif not isinstance(axis, Tensor):
            raise TypeError("axis must be an integer value in range [-rank(sp_input) - 1, rank(sp_input)]")
        axis = where_v2(axis >= 0, axis, axis + count + 1)
        column = zeros([shape(sp_input.indices)[0], 1], dtype=dtypes.int64)
        left, right = _cut(sp_input.indices, axis, 2)
        indices = concat([left, column, right], axis=1)
        leading, trailing = _cut(sp_input.dense_shape, axis, 1)
        one = convert_to_tensor([1], name="new_shape", dtype=dtypes.int64)
        return SparseTensor(indices, sp_input.values, concat([leading, one, trailing], axis=0))


def _cut(x: Tensor, place: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """The part of a Tensor before `place` in its last dimension, and the rest."""
    whole = rank - 1
    return slice_(x, [0] * rank, [-1] * whole + [place]), slice_(x, [0] * whole + [place], [-1] * rank)


def _int64(value: TensorLike, name: str) -> Tensor:
    return cast(convert_to_tensor(value, preferred_dtype=dtypes.int64, name=name), dtypes.int64)


@export("sparse.eye")
def sparse_eye(num_rows: TensorLike, num_columns: TensorLike | None = None, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> SparseTensor:
    """A sparse matrix of ones on the diagonal, by default square."""
    with name_scope(name, "eye", [num_rows, num_columns]):
        rows = _int64(num_rows, "num_rows")
        columns = rows if num_columns is None else _int64(num_columns, "num_columns")
        length = minimum(rows, columns)
        diagonal = arange(length, dtype=dtypes.int64)
        return SparseTensor(stack([diagonal, diagonal], axis=1), ones(length, dtype=dtype), [rows, columns])


@export("sparse.retain", "sparse_retain")
def sparse_retain(sp_input: object, to_retain: TensorLike) -> SparseTensor:
    """A SparseTensor with those elements for which the bool vector `to_retain` is true; TypeError unless it is sparse."""
    sp_input = as_sparse(sp_input)
    to_retain = convert_to_tensor(to_retain)
    sp_input.values.shape.with_rank(1).merge_with(to_retain.shape.with_rank(1))
    places = reshape(where(to_retain), [-1])
    return SparseTensor(
        gather(sp_input.indices, places), gather(sp_input.values, places), raw.Identity(sp_input.dense_shape)
    )


@export("sparse.reset_shape", "sparse_reset_shape")
def sparse_reset_shape(sp_input: object, new_shape: TensorLike | None = None) -> SparseTensor:
    """A SparseTensor with another dense shape around the same elements.

    Args:
      sp_input: SparseTensor.
      new_shape: integer vector, no smaller than the shape in any dimension; None for the smallest that holds all elements.

    Raises:
      TypeError: the input is not sparse. ValueError: a known `new_shape` is too small or of another rank.
    """
    sp_input = as_sparse(sp_input)
    indices, values, sizes = (raw.Identity(part) for part in sp_input._to_components())
    if new_shape is None:
        last = reduce_max(indices, axis=0)
        return SparseTensor(indices, values, maximum(constant(0, dtypes.int64), add(last, ones_like(sizes))))
    return SparseTensor(indices, values, _not_smaller(new_shape, sizes, sp_input.shape))


def _not_smaller(new_shape: TensorLike, sizes: Tensor, static: TensorShape) -> Any:
    """`new_shape` as int64, checked against the sizes: at once where both are known, else when it runs."""
    wanted = convert_to_tensor(new_shape)
    wanted.shape.assert_has_rank(1)
    wanted = cast(wanted, dtypes.int64)
    wanted.shape.with_rank(1).dims[0].assert_is_compatible_with(sizes.shape.with_rank(1).dims[0])
    known = constant_value(wanted)
    if known is None or not static.is_fully_defined():
        wanted = with_dependencies([assert_equal(shape(sizes), shape(wanted))], wanted)
        return with_dependencies([assert_less_equal(sizes, wanted)], wanted)
    if np.any(known < static.as_list()):
        raise ValueError(
            "Requested new_shape should have dimension sizes >= sp_input.shape.  Found new_shape "
            f"({known}), sp_input.shape ({np.array(static.as_list())})."
        )
    return known
