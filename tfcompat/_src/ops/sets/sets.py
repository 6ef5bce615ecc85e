"""Operations on the sets that rows hold. They run in NumPy: the size of a result depends on the values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from tfcompat._src.ops.array.shape import invalid
from tfcompat._src.ops.sparse.parts import check_parts, row_keys

if TYPE_CHECKING:
    from tfcompat._src.graph.shape_inference import InferenceContext

_COMBINE = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}
_TYPES = frozenset(
    (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16, dtypes.string)
)
_ATTRS = (
    "set_operation: string, validate_indices: bool = True, T: {int8, int16, int32, int64, uint8, uint16, string}) -> "
    "(result_indices: int64, result_values: T, result_shape: int64)"
)
_NO_GRADIENT = NotDifferentiable("sets have no gradient")
Rows = dict[tuple, set]


# ---- kernels ----


def _group_shape(first: tuple, second: tuple) -> tuple:
    """The dimensions that both inputs have before the one of the sets."""
    if min(len(first), len(second)) < 2:
        raise invalid(f"Shape [{','.join(map(str, min(first, second, key=len)))}] has rank < 2.")
    if first[:-1] != second[:-1]:
        raise invalid(f"Mismatched group shapes {shape_text(first)} vs. {shape_text(second)}.")
    return first[:-1]


def _dense_rows(table: np.ndarray) -> Rows:
    return {place: set(table[place].tolist()) for place in np.ndindex(*table.shape[:-1])}


def _sparse_rows(indices: np.ndarray, values: np.ndarray, sizes: np.ndarray, check: Callable[[np.ndarray, np.ndarray], None]) -> Rows:
    """The elements by row. 1.15 checks the same whatever `validate_indices` says."""
    check_parts(indices, values, sizes)
    check(indices, sizes)
    rows: Rows = {}
    for place, value in zip(indices[:, :-1].tolist(), values.tolist()):
        rows.setdefault(tuple(place), set()).add(value)
    return rows


def _check_order(indices: np.ndarray, sizes: np.ndarray) -> None:
    """InvalidArgumentError where positions are outside the shape or do not rise."""
    limits = shape_text(tuple(int(n) for n in sizes))
    outside = np.flatnonzero(((indices < 0) | (indices >= sizes)).any(1))
    steps = np.diff(row_keys(indices)[0])
    wrong = np.flatnonzero(steps <= 0)
    if outside.size:
        i = outside[0]
        raise invalid(f"indices[{i}] = {shape_text(tuple(indices[i].tolist()))} is out of bounds: need 0 <= index < {limits}")
    if wrong.size:
        i = wrong[0] + 1
        what = "repeated" if not steps[i - 1] else "out of order. Many sparse ops require sorted indices."
        raise invalid(f"indices[{i}] = {shape_text(tuple(indices[i].tolist()))} is {what}")


def _check_limits(indices: np.ndarray, sizes: np.ndarray) -> None:
    """InternalError where positions are behind the end of the shape; 1.15 asks no more of a second sparse set."""
    behind = np.argwhere(indices >= sizes)
    if behind.size:
        row, column = behind[0].tolist()
        i = int((indices[:row, :-1] == indices[row, :-1]).all(1).sum())
        text = f"indices[{i}, {column}] expected < {sizes[column]}, got {indices[row, column]}."
        raise errors.InternalError(None, None, text)


def _sizes(shape: np.ndarray) -> tuple:
    return tuple(int(n) for n in shape)


def _combined(set_operation: str, first: Rows, second: Rows, group: tuple, dtype: Any) -> tuple:
    """The three parts of the result: the elements of each row in rising order."""
    combine = _COMBINE.get(set_operation.lower())
    if combine is None:
        raise invalid(f"Invalid set_operation {set_operation}.")
    empty: set = set()
    indices, values, longest = [], [], 0
    for place in sorted({*first, *second}):
        row = sorted(combine(first.get(place, empty), second.get(place, empty)))
        indices.extend((*place, i) for i in range(len(row)))
        values.extend(row)
        longest = max(longest, len(row))
    return (
        np.array(indices, np.int64).reshape(-1, len(group) + 1), np.array(values, dtype),
        np.array([*group, longest], np.int64),
    )  # fmt: skip


def _outputs(rank: int | None) -> list:
    return [(None, rank), (None,), (rank,)]


def _dense_shape(c: InferenceContext) -> list:
    first, second = (si.with_rank_at_least(s, 2) for s in c.inputs[:2])
    if first is not None and second is not None:
        si.merge(first[:-1], si.with_rank(second, len(first))[:-1])
    known = second if first is None else first
    return _outputs(None if known is None else len(known))


@op(
    "DenseToDenseSetOperation", f"(set1: T, set2: T, *, {_ATTRS}", shape=_dense_shape, gradient=_NO_GRADIENT, side=HOST,
    fold=True,
)  # fmt: skip
def _dense_to_dense(set1, set2, *, set_operation):
    group = _group_shape(set1.shape, set2.shape)
    return _combined(set_operation, _dense_rows(set1), _dense_rows(set2), group, set1.dtype)


def _dense_to_sparse_shape(c: InferenceContext) -> list:
    rank, first = si.sparse_rank(*c.inputs[1:]), si.with_rank_at_least(c.inputs[0], 2)
    return _outputs(rank if first is None else si.with_size(rank, len(first)))


@op(
    "DenseToSparseSetOperation",
    f"(set1: T, set2_indices: int64, set2_values: T, set2_shape: int64, *, {_ATTRS}", shape=_dense_to_sparse_shape,
    gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _dense_to_sparse(set1, indices, values, sizes, *, set_operation, validate_indices):
    second = _sparse_rows(indices, values, sizes, _check_order)
    group = _group_shape(set1.shape, _sizes(sizes))
    return _combined(set_operation, _dense_rows(set1), second, group, set1.dtype)


def _sparse_to_sparse_shape(c: InferenceContext) -> list:
    first, second = si.sparse_rank(*c.inputs[:3]), si.sparse_rank(*c.inputs[3:])
    number, rank = (0, first) if first is not None else (1, second)
    if rank is not None and rank < 2:
        raise ValueError(f"Input {number}, expected rank >= 2, got {rank}.")
    return _outputs(second if first is None else si.with_size(second, first))


@op(
    "SparseToSparseSetOperation",
    "(set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: T, set2_shape: int64, *, "
    f"{_ATTRS}",
    shape=_sparse_to_sparse_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _sparse_to_sparse(
    indices1, values1, sizes1, indices2, values2, sizes2, *, set_operation, validate_indices
):
    first = _sparse_rows(indices1, values1, sizes1, _check_order)
    second = _sparse_rows(indices2, values2, sizes2, _check_limits)
    group = _group_shape(_sizes(sizes1), _sizes(sizes2))
    return _combined(set_operation, first, second, group, values1.dtype)


@op(
    "SetSize",
    "(set_indices: int64, set_values: T, set_shape: int64, *, validate_indices: bool = True, "
    "T: {int8, int16, int32, int64, uint8, uint16, string}) -> (size: int32)",
    shape=si.unknown, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _set_size(indices, values, sizes, *, validate_indices):
    rows = _sparse_rows(indices, values, sizes, _check_order)
    group = _group_shape(_sizes(sizes), _sizes(sizes))
    found = np.zeros(group, np.int32)
    for place, row in rows.items():
        found[place] = len(row)
    return found


# ---- public functions ----


def _operands(a: object, b: object) -> tuple[Any, Any, bool]:
    """The two as tensors; where only `a` is sparse they are exchanged, and the third value says so."""
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    if a.dtype.base_dtype not in _TYPES:
        raise TypeError(f"'a' invalid dtype {a.dtype}.")
    b = convert_to_tensor_or_sparse_tensor(b, name="b")
    if b.dtype.base_dtype != a.dtype.base_dtype:
        raise TypeError(f"Types don't match, {a.dtype} vs {b.dtype}.")
    flipped = isinstance(a, SparseTensor) and not isinstance(b, SparseTensor)
    return (b, a, True) if flipped else (a, b, False)


def _apply(a: object, b: object, set_operation: str, validate_indices: bool) -> SparseTensor:
    operands = [part for x in (a, b) for part in (x._to_components() if isinstance(x, SparseTensor) else [x])]
    kinds = ["Sparse" if isinstance(x, SparseTensor) else "Dense" for x in (a, b)]
    apply = raw.function(f"{kinds[0]}To{kinds[1]}SetOperation")
    return SparseTensor(*apply(*operands, set_operation=set_operation, validate_indices=validate_indices))


@export("sets.size", "sets.set_size")
def set_size(a: object, validate_indices: bool = True) -> Tensor:
    """The number of different elements in each row (the last dimension) of a SparseTensor.

    Args:
      a: SparseTensor of integers or strings, in row-major order.
      validate_indices: an attribute of the node; the order of the indices is checked in any case, as in 1.15.

    Raises:
      TypeError: `a` is not sparse or of another type.
    """
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    if a.values.dtype.base_dtype not in _TYPES:
        raise TypeError(f"Invalid dtype {a.values.dtype}.")
    return raw.SetSize(a.indices, a.values, a.dense_shape, validate_indices)


@export("sets.intersection", "sets.set_intersection")
def set_intersection(a: object, b: object, validate_indices: bool = True) -> SparseTensor:
    """The elements that both inputs have in a row.

    Args:
      a, b: Tensors or SparseTensors [..., any] of one integer or string type, equal in all dimensions but the last;
        sparse ones in row-major order.
      validate_indices: an attribute of the node; sparse indices are checked in any case, as in 1.15.

    Returns:
      a SparseTensor whose rows hold the result in rising order.

    Raises:
      TypeError: types differ or are neither integers nor strings.
    """
    a, b, _ = _operands(a, b)
    return _apply(a, b, "intersection", validate_indices)


@export("sets.difference", "sets.set_difference")
def set_difference(a: object, b: object, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """The elements that a row of `a` has and that of `b` has not; the other way round without `aminusb`.

    The other arguments are those of `tf.sets.intersection`.
    """
    a, b, flipped = _operands(a, b)
    return _apply(a, b, "a-b" if bool(aminusb) != flipped else "b-a", validate_indices)


@export("sets.union", "sets.set_union")
def set_union(a: object, b: object, validate_indices: bool = True) -> SparseTensor:
    """The elements that either input has in a row; the arguments are those of `tf.sets.intersection`."""
    a, b, _ = _operands(a, b)
    return _apply(a, b, "union", validate_indices)
