"""Ragged tensors of nested Python lists, and ragged placeholders."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.nodes import convert
from tfcompat._src.ops.array.constant import placeholder as dense_placeholder
from tfcompat._src.ops.ragged.tensor import RaggedTensor, is_ragged
from tfcompat._src.ops.ragged.value import RaggedTensorValue

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike
    from tfcompat._src.graph.tensor import Tensor


def _is_nested(item: Any) -> bool:
    return isinstance(item, (list, tuple)) or np.ndim(item) != 0


def scalar_and_largest_depth(item: Any) -> tuple[int | None, int]:
    """The nesting depth of the scalars (None where there are none) and the largest depth of lists."""
    if not _is_nested(item):
        return 0, 0
    scalar, deepest = None, 1
    for child in item:
        inner, depth = scalar_and_largest_depth(child)
        if inner is not None:
            if scalar not in (None, inner + 1):
                raise ValueError("all scalar values must have the same nesting depth")
            scalar = inner + 1
        deepest = max(deepest, depth + 1)
    return scalar, deepest


def _uniform_shape(item: Any) -> tuple:
    """The shape of nested lists of equal lengths; ValueError where they differ."""
    if not _is_nested(item):
        return ()
    shapes = {_uniform_shape(child) for child in item}
    if len(shapes) > 1:
        raise ValueError("inner values have inconsistent shape")
    return (len(item), *(shapes.pop() if shapes else ()))


def _flattened(rows: list, depth: int) -> tuple[list, list]:
    """The values `depth` levels down, and the splits of each level."""
    nested_splits = []
    for level in range(depth):
        if not all(map(_is_nested, rows)):
            raise ValueError(
                f"pylist has scalar values depth {level + 1}, but ragged_rank={depth} requires scalar value depth greater than {depth}"
            )
        nested_splits.append([0, *np.cumsum([len(row) for row in rows]).tolist()])
        rows = functools.reduce(operator.iconcat, map(list, rows), [])
    return rows, nested_splits


def inner_shape_below(pylist: Any, ragged_rank: int) -> tuple:
    """The shape that the values below `ragged_rank` ragged dimensions have in common; ValueError where they differ."""
    return _uniform_shape(_flattened(pylist, ragged_rank)[0])[1:]


def _check_request(pylist: object, depths: tuple, ragged_rank: int | None, inner_shape: tuple | None) -> None:
    scalar, deepest = depths
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank!r}: must be nonnegative")
    if scalar is not None and deepest > scalar:
        raise ValueError(f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value nesting")
    if ragged_rank is None or inner_shape is None:
        return
    wanted = ragged_rank + len(inner_shape) + 1
    if scalar is not None and wanted != scalar or scalar is None and wanted < deepest:
        raise ValueError(
            f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and dim(inner_shape)={len(inner_shape)}"
        )


def _build(
    pylist: Any, dtype: object, ragged_rank: int | None, inner_shape: tuple | None, make_values: Callable, make_ragged: Callable
) -> Any:
    """The ragged or dense value of nested lists."""
    if is_ragged(pylist):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    if not _is_nested(pylist):
        if ragged_rank:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}")
        if inner_shape:
            raise ValueError(f"Invalid pylist={pylist!r}: incompatible with dim(inner_shape)={len(inner_shape)}")
        return make_values(pylist, dtype, ())
    depths = scalar, deepest = scalar_and_largest_depth(pylist)
    _check_request(pylist, depths, ragged_rank, inner_shape)
    inner_rank = 0 if inner_shape is None else len(inner_shape)
    if ragged_rank == 0 or ragged_rank is None and deepest - inner_rank < 2:
        return make_values(pylist, dtype, inner_shape)
    if ragged_rank is None:
        depth = deepest - 1 if scalar is None else scalar - 1 - inner_rank
        values, nested_splits = _flattened(pylist, max(1, depth))
        inner_shape = inner_shape or ()
    else:
        values, nested_splits = _flattened(pylist, ragged_rank)
        inner_shape = inner_shape_below(pylist, ragged_rank) if inner_shape is None else inner_shape
    result = make_values(values, dtype, (len(values), *inner_shape))
    for splits in reversed(nested_splits):
        result = make_ragged(result, splits)
    return result


@export("ragged.constant")
def constant(
    pylist: Any, dtype: Any = None, ragged_rank: int | None = None, inner_shape: tuple | None = None, name: str | None = None,
    row_splits_dtype: DTypeLike = dtypes.int64,
) -> Any:  # fmt: skip
    """A RaggedTensor of nested lists; a Tensor where nothing is ragged.

    Args:
      pylist: nested lists, tuples or arrays with all scalars at one depth.
      dtype: element type, by default inferred.
      ragged_rank: number of ragged dimensions; by default all but the first and those of `inner_shape`.
      inner_shape: tuple, the shape of the uniform inner dimensions.
      name: name scope.
      row_splits_dtype: int32 or int64.

    Raises:
      TypeError: `pylist` is ragged. ValueError: depths or shapes do not fit.
    """
    splits_dtype = dtypes.as_dtype(row_splits_dtype)

    def make_values(values: Any, dtype: Any, sizes: Any) -> Tensor:
        return convert.constant_v2(values, dtype, sizes, name="Const" if sizes in (None, ()) or not _is_nested(pylist) else "values")

    def make_ragged(values: object, splits: list) -> RaggedTensor:
        return RaggedTensor.from_row_splits(values, convert.constant(splits, splits_dtype), validate=False)

    with name_scope(name, "RaggedConstant"):
        return _build(pylist, dtype, ragged_rank, inner_shape, make_values, make_ragged)


@export("ragged.constant_value")
def constant_value(
    pylist: object, dtype: object = None, ragged_rank: int | None = None, inner_shape: tuple | None = None,
    row_splits_dtype: DTypeLike = "int64",
) -> Any:  # fmt: skip
    """A RaggedTensorValue of nested lists, or an array; the arguments are those of `tf.ragged.constant`."""
    numpy_dtype = dtype.as_numpy_dtype if isinstance(dtype, dtypes.DType) else dtype
    splits_dtype = dtypes.as_dtype(row_splits_dtype).as_numpy_dtype

    def make_values(values: Any, dtype: Any, sizes: Any) -> np.ndarray:
        array = np.array(values, dtype=dtype)
        return array if sizes is None else np.reshape(array, sizes)

    return _build(
        pylist, numpy_dtype, ragged_rank, inner_shape, make_values,
        lambda values, splits: RaggedTensorValue(values, np.array(splits, splits_dtype)),
    )  # fmt: skip


@export("ragged.placeholder")
def placeholder(dtype: object, ragged_rank: int, value_shape: ShapeLike = None, name: str | None = None) -> RaggedTensor | Tensor:
    """A RaggedTensor that must be fed, as a RaggedTensorValue.

    Args:
      dtype: element type.
      ragged_rank: number of ragged dimensions; 0 for a Tensor.
      value_shape: shape of the inner dimensions of the values.
      name: name scope.
    """
    if not ragged_rank:
        return dense_placeholder(dtype, value_shape, name)
    with name_scope(name, "RaggedPlaceholder", []):
        result = dense_placeholder(dtype, TensorShape([None]).concatenate(value_shape), "flat_values")
        for i in reversed(range(ragged_rank)):
            result = RaggedTensor(result, dense_placeholder(dtypes.int64, [None], f"row_splits_{i}"), internal=True)
        return result
