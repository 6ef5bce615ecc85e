"""Sparse tensors as three tensors of serialized protos, and in a store of the session under a handle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import checks, dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NotDifferentiable, op
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.graph.tensor_proto import content_proto, parse
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.shape import invalid
from tfcompat._src.ops.sparse.parts import as_sparse, check_parts, check_sizes, check_tensor, row_keys, with_part_ranks
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.graph.tensor import Tensor

_NO_GRADIENT = NotDifferentiable("a serialized tensor has no gradient", raises=True)
_PARTS = "sparse_indices: int64, sparse_values: T, sparse_shape: int64"
Parts = tuple[np.ndarray, np.ndarray, np.ndarray]


def parts_vector(parts: Iterable[np.ndarray], out_type: str = "variant") -> np.ndarray:
    """The three arrays of a sparse tensor as a vector: as they are in variants, as protos in strings."""
    found = np.empty(3, object)
    for i, part in enumerate(parts):
        found[i] = part if out_type == "variant" else content_proto(part).SerializeToString()
    return found


def rows_of(indices: np.ndarray, values: np.ndarray, sizes: np.ndarray) -> list[Parts]:
    """Each row of a sparse tensor of rank 2 or more, without the first dimension."""
    check_tensor(indices, values, sizes)
    if len(sizes) < 2:
        raise invalid(f"Rank of input SparseTensor should be > 1, but saw rank: {len(sizes)}")
    checks.require_room((int(sizes[0]),), np.dtype(np.int64))
    count, first = int(sizes[0]), indices[:, 0]
    outside = np.flatnonzero((first < 0) | (first >= count))
    if outside.size:
        raise invalid(f"Received unexpected column 0 value in input SparseTensor: {first[outside[0]]} < 0 or >= N (= {count})")
    outside = np.flatnonzero(((indices < 0) | (indices >= sizes)).any(1))
    if outside.size:
        i = outside[0]
        raise invalid(f"indices[{i}] = {indices[i].tolist()} is out of bounds: need 0 <= index < {sizes.tolist()}")
    keys = row_keys(indices)[0]
    falls = np.flatnonzero(keys[1:] <= keys[:-1]) + 1
    if falls.size:
        i = falls[0]
        raise invalid(f"indices[{i}] = {indices[i].tolist()} is {'repeated' if keys[i] == keys[i - 1] else 'out of order'}")
    found = []
    for row in range(count):
        kept = first == row
        found.append((indices[kept, 1:], values[kept], sizes[1:]))
    return found


def joined(entries: list[Parts], leading: tuple[int, ...], what: str = "shape", batch_rank: int = 0) -> Parts:
    """Sparse tensors of one rank as one, with the dimensions `leading` before theirs; sizes are the largest of all.

    Where ranks differ, the error calls it `what` and counts `batch_rank` dimensions more.
    """
    rank = len(entries[0][2])
    for i, (_, _, sizes) in enumerate(entries):
        if len(sizes) != rank:
            raise invalid(
                f"Inconsistent {what} across SparseTensors: rank prior to SparseTensor[{i}] was: {rank + batch_rank} but rank of "
                f"SparseTensor[{i}] is: {len(sizes) + batch_rank}"
            )
    places = np.array(list(np.ndindex(*leading)), np.int64).reshape(len(entries), len(leading))
    indices = [np.hstack((np.tile(place, (len(e[0]), 1)), e[0])) for place, e in zip(places, entries)]
    sizes = np.max([e[2] for e in entries], axis=0)
    return (
        np.concatenate(indices).astype(np.int64),
        np.concatenate([e[1] for e in entries]),
        np.concatenate((np.array(leading, np.int64), sizes)).astype(np.int64),
    )


def _serialize_shape(c, leading):
    with_part_ranks(c, 0)
    return [leading + (3,)]


@op(
    "SerializeSparse", f"({_PARTS}, *, T: type, out_type: {{string, variant}} = string) -> (serialized_sparse: out_type)",
    shape=lambda c: _serialize_shape(c, ()), gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _serialize_sparse(indices, values, sizes, *, out_type):
    check_parts(indices, values, sizes)
    return parts_vector((indices, values, sizes), out_type.name)


@op(
    "SerializeManySparse", f"({_PARTS}, *, T: type, out_type: {{string, variant}} = string) -> (serialized_sparse: out_type)",
    shape=lambda c: _serialize_shape(c, (None,)), gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _serialize_many_sparse(indices, values, sizes, *, out_type):
    rows = rows_of(indices, values, sizes)
    found = np.empty((len(rows), 3), object)
    for i, parts in enumerate(rows):
        found[i] = parts_vector(parts, out_type.name)
    return found


def _parsed(text: bytes | np.ndarray) -> np.ndarray:
    if isinstance(text, np.ndarray):
        return text
    try:
        return parse(messages.TensorProto.FromString(text))
    except (DecodeError, TypeError, ValueError) as error:
        raise invalid("Could not parse serialized proto") from error


def _parsed_parts(row: np.ndarray, i: int, dtype: np.dtype) -> Parts:
    indices, values, sizes = (_parsed(text) for text in row)
    if indices.ndim != 2:
        raise invalid(f"Expected serialized_sparse[{i}, 0] to represent an index matrix but received shape {shape_text(indices.shape)}")
    if values.ndim != 1:
        raise invalid(f"Expected serialized_sparse[{i}, 1] to represent a values vector but received shape {shape_text(values.shape)}")
    if sizes.ndim != 1:
        raise invalid(f"Expected serialized_sparse[{i}, 2] to represent a shape vector but received shape {shape_text(sizes.shape)}")
    if values.dtype != dtype:
        names = dtypes.as_dtype(dtype).name, dtypes.cpp_name(values.dtype.name)
        raise invalid(f"Requested SparseTensor of type {names[0]} but SparseTensor[{i}].values.dtype() == {names[1]}")
    if len(indices) != len(values):
        raise invalid(f"Expected row counts of SparseTensor[{i}].indices and SparseTensor[{i}].values to match but they do not: {len(indices)} vs. {len(values)}")
    if indices.shape[1] != len(sizes):
        raise invalid(f"Expected column counts of SparseTensor[{i}].indices to match size of SparseTensor[{i}].shape but they do not: {indices.shape[1]} vs. {len(sizes)}")
    check_sizes(sizes)
    return indices, values, sizes


def _deserialize_shape(c):
    sizes = si.with_rank_at_least(c.inputs[0], 1)
    if sizes is not None:
        si.merge_size(sizes[-1], 3)
    return [(None, None), (None,), (None,)]


def _deserialize(serialized: np.ndarray, dtype: np.dtype) -> Parts:
    if not serialized.ndim:
        raise invalid("Serialized sparse should have non-zero rank []")
    if serialized.shape[-1] != 3:
        raise invalid(f"Serialized sparse should have 3 as the last dimension {shape_text(serialized.shape)}")
    leading = serialized.shape[:-1]
    if 0 in leading:
        raise invalid(f"Serialized sparse should have at least 1 serialized tensor, but has a zero dimension {shape_text(serialized.shape)}")
    return joined([_parsed_parts(row, i, dtype) for i, row in enumerate(serialized.reshape(-1, 3))], leading)


@op(
    "DeserializeSparse",
    "(serialized_sparse: Tserialized, *, dtype: type, Tserialized: {string, variant} = string) -> "
    "(sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)",
    shape=_deserialize_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _deserialize_sparse(serialized, *, dtype):
    return _deserialize(serialized, dtype)


@op(
    "DeserializeManySparse",
    "(serialized_sparse: string, *, dtype: type) -> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)",
    shape=lambda c: [si.with_rank(c.inputs[0], 2) and s for s in _deserialize_shape(c)], gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _deserialize_many_sparse(serialized, *, dtype):
    if serialized.ndim != 2:
        raise invalid(f"Serialized sparse should be a matrix but received shape {shape_text(serialized.shape)}")
    return _deserialize(serialized, dtype)


# ---- sparse tensors kept in the session ----


class _Store:
    """Sparse tensors by handle."""

    def __init__(self) -> None:
        self.entries: dict[int, Parts] = {}
        self.count = 0

    def add(self, parts: Parts) -> int:
        self.entries[self.count] = parts
        self.count += 1
        return self.count - 1

    def take(self, handle: int) -> Parts:
        if handle not in self.entries:
            raise invalid(f"Unable to find SparseTensor: {handle} in map")
        return self.entries.pop(handle)


def _store(ctx: Any, name: str) -> _Store:
    return ctx.resources.setdefault(f"{ctx.op.attrs['container'].decode()}/sparse_tensors_map/{name}", _Store())


_STORE = "container: string = \"\", shared_name: string = \"\""


@op(
    "AddSparseToTensorsMap", f"({_PARTS}, *, T: type, {_STORE}) -> (sparse_handle: int64)",
    shape=lambda c: with_part_ranks(c, 0) or [()], gradient=_NO_GRADIENT, side=HOST, effects=EXTERNAL, context=True,
)  # fmt: skip
def _add_to_map(ctx, indices, values, sizes, *, shared_name):
    check_tensor(indices, values, sizes)
    return np.int64(_store(ctx, shared_name or ctx.op.name).add((indices, values, sizes)))


@op(
    "AddManySparseToTensorsMap", f"({_PARTS}, *, T: type, {_STORE}) -> (sparse_handles: int64)",
    shape=lambda c: with_part_ranks(c, 0) or [(None,)], gradient=_NO_GRADIENT, side=HOST, effects=EXTERNAL, context=True,
)  # fmt: skip
def _add_many_to_map(ctx, indices, values, sizes, *, shared_name):
    store = _store(ctx, shared_name or ctx.op.name)
    return np.array([store.add(parts) for parts in rows_of(indices, values, sizes)], np.int64)


@op(
    "TakeManySparseFromTensorsMap",
    f"(sparse_handles: int64, *, dtype: type, {_STORE}) -> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)",
    shape=lambda c: si.with_rank(c.inputs[0], 1) and [(None, None), (None,), (None,)], gradient=_NO_GRADIENT, side=HOST,
    effects=EXTERNAL, context=True,
)  # fmt: skip
def _take_many_from_map(ctx, handles, *, dtype, shared_name):
    if handles.ndim != 1:
        raise invalid(f"sparse_handles should be a vector but received shape {shape_text(handles.shape)}")
    store = _store(ctx, shared_name or ctx.op.name)
    entries = [store.take(int(handle)) for handle in handles]
    for i, (_, values, _) in enumerate(entries):
        if values.dtype != dtype:
            raise invalid(f"Requested SparseTensor of type {dtypes.as_dtype(dtype).name} but SparseTensor[{i}].values.dtype() == {dtypes.as_dtype(values.dtype).name}")
    return joined(entries, (len(entries),), "rank", batch_rank=1)


def add_sparse_to_tensors_map(sp_input: object, container: str | None = None, shared_name: str | None = None, name: str | None = None) -> Tensor:
    """Keeps a SparseTensor in the session; an int64 handle."""
    parts = as_sparse(sp_input)._to_components()
    return raw.AddSparseToTensorsMap(*parts, container=container or "", shared_name=shared_name or "", name=name)


def add_many_sparse_to_tensors_map(sp_input: object, container: str | None = None, shared_name: str | None = None, name: str | None = None) -> Tensor:
    """Keeps each row of a SparseTensor in the session; a vector of int64 handles."""
    parts = as_sparse(sp_input)._to_components()
    return raw.AddManySparseToTensorsMap(*parts, container=container or "", shared_name=shared_name or "", name=name)


def take_many_sparse_from_tensors_map(sparse_map_op: Any, sparse_handles: object, rank: int | None = None, name: str | None = None) -> SparseTensor:
    """The SparseTensors behind handles as one, removed from the session; `sparse_map_op` is the op that kept them."""
    shared_name = sparse_map_op.get_attr("shared_name").decode() or sparse_map_op.name
    with get_default_graph().colocate_with(sparse_map_op):
        found = raw.TakeManySparseFromTensorsMap(
            sparse_handles, dtype=sparse_map_op.get_attr("T"), container=sparse_map_op.get_attr("container"),
            shared_name=shared_name, name=name,
        )  # fmt: skip
    return _with_rank(found, rank)


def _with_rank(found: Any, rank: int | None) -> SparseTensor:
    indices, values, sizes = found
    indices.set_shape([None, rank])
    sizes.set_shape([rank])
    return SparseTensor(indices, values, sizes)


# ---- public functions ----


@export("serialize_sparse", "io.serialize_sparse")
def serialize_sparse(sp_input: object, name: str | None = None, out_type: DTypeLike = dtypes.string) -> Tensor:
    """A SparseTensor as a vector of three serialized TensorProtos: indices, values, shape."""
    return raw.SerializeSparse(*as_sparse(sp_input)._to_components(), name=name, out_type=out_type)


@export("serialize_many_sparse", "io.serialize_many_sparse")
def serialize_many_sparse(sp_input: object, name: str | None = None, out_type: DTypeLike = dtypes.string) -> Tensor:
    """Each row of a SparseTensor of rank 2 or more, serialized: a string matrix [rows, 3]."""
    return raw.SerializeManySparse(*as_sparse(sp_input)._to_components(), name=name, out_type=out_type)


@export("deserialize_many_sparse", "io.deserialize_many_sparse")
def deserialize_many_sparse(serialized_sparse: TensorLike, dtype: DTypeLike, rank: int | None = None, name: str | None = None) -> SparseTensor:
    """Serialized SparseTensors of one rank as one with a dimension more.

    Args:
      serialized_sparse: string matrix [n, 3].
      dtype: type of the values.
      rank: int, the rank of the result where it is known.
      name: node name.
    """
    return _with_rank(raw.DeserializeManySparse(serialized_sparse, dtype, name=name), rank)


def deserialize_sparse(serialized_sparse: TensorLike, dtype: DTypeLike, rank: int | None = None, name: str | None = None) -> SparseTensor:
    """Serialized SparseTensors as one; the arguments are those of `deserialize_many_sparse` with a string Tensor [..., 3]."""
    return _with_rank(raw.DeserializeSparse(serialized_sparse, dtype, name=name), rank)
