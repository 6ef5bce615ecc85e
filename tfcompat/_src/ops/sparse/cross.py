"""SparseCross: all combinations of the features of each row, as strings or as hashes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor, is_sparse
from tfcompat._src.ops.array.shape import invalid
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.sparse.parts import check_parts
from tfcompat._src.ops.strings.farmhash import fingerprint64

DEFAULT_HASH_KEY = 0xDECAFCAFFE
_MULTIPLIER = np.uint64(0xC6A4A7935BD1E995)
_LARGEST = np.uint64(2**63 - 1)


def combined_fingerprint(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """One uint64 fingerprint of two, by the mixing steps of MurmurHash64A."""
    with np.errstate(over="ignore"):
        mixed = b * _MULTIPLIER
        found = (a ^ _MULTIPLIER) ^ ((mixed ^ (mixed >> np.uint64(47))) * _MULTIPLIER)
        found = found * _MULTIPLIER
        found = (found ^ (found >> np.uint64(47))) * _MULTIPLIER
        return found ^ (found >> np.uint64(47))


def as_hashes(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return fingerprint64(values.reshape(-1).tolist()).reshape(values.shape)
    return values.astype(np.int64).view(np.uint64)


def as_texts(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return values
    found = np.empty(values.shape, object)
    for place, value in np.ndenumerate(values):
        found[place] = b"%d" % value
    return found


def _batch_size(indices: tuple, values: tuple, shapes: tuple, dense: tuple) -> int:
    """The number of rows that all inputs have."""
    sizes = []
    for i, parts in enumerate(zip(indices, values, shapes)):
        check_parts(*parts)
        if len(parts[2]) != 2:
            raise invalid(f"shape should imply a 2D tensor, but got {shape_text(tuple(int(n) for n in parts[2]))} at position {i}")
        sizes.append(int(parts[2][0]))
    for i, table in enumerate(dense):
        if table.ndim != 2:
            raise invalid(f"Dense inputs should be a matrix but received shape {shape_text(table.shape)} at position {i}")
        sizes.append(len(table))
    for i, n in enumerate(sizes):
        if n != sizes[0]:
            raise invalid(f"Expected batch size {sizes[0]} got {n} at position {i}")
    return sizes[0] if sizes else 0


def columns_of(indices: tuple, values: tuple, shapes: tuple, dense: tuple, convert: Callable) -> tuple[int, list[list]]:
    """The number of rows, and for each input the converted features of each row."""
    count = _batch_size(indices, values, shapes, dense)
    columns = []
    for rows, given in zip(indices, values):
        first = rows[:, 0]
        if len(first) and not (0 <= first.min() and first.max() < count):
            raise invalid(f"A row index of a sparse input is outside [0, {count})")
        ends = np.cumsum(np.bincount(first, minlength=count))[:-1]
        columns.append(np.split(convert(given), ends) if count else [])
    columns.extend(list(convert(table)) for table in dense)
    return count, columns


def crossed(count: int, columns: list[list], join: Callable, dtype: Any) -> tuple:
    """The three parts of the result: `join` of every combination of one feature of each column, row by row."""
    indices, found, widest = [], [], 0
    for row in range(count):
        texts = [join(c) for c in itertools.product(*(column[row] for column in columns))] if columns else []
        indices.extend((row, i) for i in range(len(texts)))
        found.extend(texts)
        widest = max(widest, len(texts))
    values = np.empty(len(found), dtype)
    values[:] = found
    return np.array(indices, np.int64).reshape(-1, 2), values, np.array([count, widest], np.int64)


def hashed_cross(
    count: int, columns: list[list], hash_key: int, num_buckets: int, combine: Callable = combined_fingerprint
) -> tuple:
    """The three parts of the result, with one chained fingerprint for each combination."""
    chained = np.full(count, hash_key & (2**64 - 1), np.uint64)
    rows, sizes = np.arange(count), np.ones(count, np.int64)
    for column in columns if count else ():
        # each combination so far is repeated for each feature of its row in the next column
        lengths = np.array(list(map(len, column)), np.int64)
        firsts, repeats = lengths.cumsum() - lengths, lengths[rows]
        chosen = _places(repeats) + firsts[rows].repeat(repeats)
        chained = combine(chained.repeat(repeats), np.concatenate(column)[chosen])
        rows, sizes = rows.repeat(repeats), sizes * lengths
    values = chained % (np.uint64(num_buckets) if num_buckets else _LARGEST)
    indices = np.stack([rows, _places(sizes)], 1)
    return indices, values.astype(np.int64), np.array([count, sizes.max(initial=0)], np.int64)


def _places(counts: np.ndarray) -> np.ndarray:
    """0, 1, ... up to each count, one after another."""
    return np.arange(counts.sum()) - (counts.cumsum() - counts).repeat(counts)


@op(
    "SparseCross",
    "(indices: N*int64, values: sparse_types, shapes: N*int64, dense_inputs: dense_types, *, N: int >= 0, "
    "hashed_output: bool, num_buckets: int >= 0, hash_key: int, sparse_types: list({int64, string}) >= 0, "
    "dense_types: list({int64, string}) >= 0, out_type: {int64, string}, internal_type: {int64, string}) -> "
    "(output_indices: int64, output_values: out_type, output_shape: int64)",
    shape=lambda c: [(None, 2), (None,), (2,)], gradient=NotDifferentiable("hashes and strings have no gradient", raises=True),
    side=HOST,
)  # fmt: skip
def _sparse_cross(indices, values, shapes, dense, *, hashed_output, num_buckets, hash_key):
    count, columns = columns_of(indices, values, shapes, dense, as_hashes if hashed_output else as_texts)
    if hashed_output:
        return hashed_cross(count, columns, hash_key, num_buckets)
    return crossed(count, columns, b"_X_".join, object)


def prepared(inputs: object) -> tuple[list, list]:
    """SparseTensors and Tensors of int64 or string; TypeError for anything else."""
    if not isinstance(inputs, list):
        raise TypeError("Inputs must be a list")
    if not all(is_sparse(i) or isinstance(i, Tensor) for i in inputs):
        raise TypeError("All inputs must be SparseTensors")
    sparse = [SparseTensor.from_value(i) if not isinstance(i, SparseTensor) else i for i in inputs if is_sparse(i)]
    dense = [i for i in inputs if not is_sparse(i)]
    sparse = [
        i if i.dtype is dtypes.string else SparseTensor(i.indices, cast(i.values, dtypes.int64), i.dense_shape) for i in sparse
    ]
    return sparse, [i if i.dtype is dtypes.string else cast(i, dtypes.int64) for i in map(to_tensor, dense)]


def sparse_cross_internal(
    inputs: object, hashed_output: bool = False, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """The combinations of one feature of each input in a row, as text or as hashes."""
    sparse, dense = prepared(inputs)
    internal = dtypes.string if all(i.dtype is dtypes.string for i in (*sparse, *dense)) else dtypes.int64
    found = raw.SparseCross(
        [i.indices for i in sparse], [i.values for i in sparse], [i.dense_shape for i in sparse], dense,
        hashed_output=hashed_output, num_buckets=num_buckets, hash_key=hash_key or DEFAULT_HASH_KEY,
        out_type=dtypes.int64 if hashed_output else dtypes.string, internal_type=internal, name=name,
    )  # fmt: skip
    return SparseTensor(*found)


@export("sparse.cross")
def sparse_cross(inputs: object, name: str | None = None) -> SparseTensor:
    """All combinations of one feature of each input in a row, as strings joined by "_X_".

    Args:
      inputs: list of SparseTensors and Tensors [batch, any] of integers or strings.
      name: node name.

    Raises:
      TypeError: `inputs` is no list, or one of them is no tensor.
    """
    return sparse_cross_internal(inputs, name=name)


@export("sparse.cross_hashed")
def sparse_cross_hashed(
    inputs: object, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """The combinations of `tf.sparse.cross` as int64 hashes below `num_buckets` (2**63 - 1 where it is 0)."""
    return sparse_cross_internal(inputs, True, num_buckets, hash_key, name)
