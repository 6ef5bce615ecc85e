"""Changes of single rows, and tensors whose elements are not set."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks, dtypes
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.shape import invalid, reshape, shape
from tfcompat._src.ops.math.cast import cast

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_UNDEFINED = NotDifferentiable("no gradient is defined", raises=True)


def _rows(x: Any, i: Any, v: Any) -> Array:
    """The rows that `i` names, counted modulo the size of the first dimension."""
    if i.ndim != 1:
        raise invalid(f"i must be a vector. {shape_text(i.shape)}")
    if x.ndim != v.ndim:
        raise invalid(f"x and v shape doesn't match (ranks differ): {shape_text(x.shape)} vs. {shape_text(v.shape)}")
    for d in range(1, x.ndim):
        if x.shape[d] != v.shape[d]:
            raise invalid(f"x and v shape doesn't match at index {d} : {shape_text(x.shape)} vs. {shape_text(v.shape)}")
    if i.shape[0] != v.shape[0]:
        raise invalid(f"i and x shape doesn't match at index 0: {shape_text(i.shape)} vs. {shape_text(v.shape)}")
    return jnp.mod(i, x.shape[0])


def _inplace(name: str, change: Callable) -> None:
    def kernel(x, i, v):
        rows = _rows(x, i, v)
        return change(jnp.asarray(x).at[rows], v)

    text = "(x: T, i: int32, v: T, *, T: type) -> (y: T)"
    op(name, text, shape=si.unchanged, gradient=_UNDEFINED, kernel=kernel, depth=2)


_inplace("InplaceUpdate", lambda rows, v: rows.set(v))
_inplace("InplaceAdd", lambda rows, v: rows.add(v))
_inplace("InplaceSub", lambda rows, v: rows.subtract(v))


@op("Empty", "(shape: int32, *, dtype: type, init: bool = False) -> (output: dtype)", shape=si.from_shape_input(0),
    gradient=_UNDEFINED, constants=("shape",), fold=True)  # fmt: skip
def _empty(sizes, *, dtype):
    if sizes.ndim != 1:
        raise invalid(f"shape must be a vector of int32, got shape {shape_text(sizes.shape)}")
    for s in sizes:
        if s < 0:
            raise invalid(f"Dimension {s} must be >= 0")
    checks.require_room(sizes.tolist(), dtype)
    return np.full(tuple(sizes), b"", dtype) if dtype.kind == "O" else np.zeros(tuple(sizes), dtype)


def _changed(apply: Callable, x: TensorLike, i: TensorLike, v: TensorLike) -> Tensor:
    x = convert_to_tensor(x)
    v = convert_to_tensor(v, x.dtype.base_dtype)
    if i is None:
        return reshape(apply(reshape(x, [1, -1]), [0], reshape(v, [1, -1])), shape(x))
    i = cast(i, dtypes.int32)
    if i.shape.ndims == 0:
        return apply(x, reshape(i, [1]), raw.ExpandDims(v, 0))
    return apply(x, i, v)


def alias_inplace_update(x: TensorLike, i: TensorLike, v: TensorLike) -> Tensor:
    """`x` with its rows `i` (a scalar, a vector, or None for all) replaced by `v`."""
    return _changed(raw.InplaceUpdate, x, i, v)


def alias_inplace_add(x: TensorLike, i: TensorLike, v: TensorLike) -> Tensor:
    """`x` with `v` added to its rows `i` (a scalar, a vector, or None for all)."""
    return _changed(raw.InplaceAdd, x, i, v)


def alias_inplace_sub(x: TensorLike, i: TensorLike, v: TensorLike) -> Tensor:
    """`x` with `v` subtracted from its rows `i` (a scalar, a vector, or None for all)."""
    return _changed(raw.InplaceSub, x, i, v)


def inplace_update(x: TensorLike, i: TensorLike, v: TensorLike) -> Tensor:
    """As `alias_inplace_update`, of a copy of `x`."""
    return alias_inplace_update(raw.DeepCopy(x), i, v)


def inplace_add(x: TensorLike, i: TensorLike, v: TensorLike) -> Tensor:
    """As `alias_inplace_add`, of a copy of `x`."""
    return alias_inplace_add(raw.DeepCopy(x), i, v)


def inplace_sub(x: TensorLike, i: TensorLike, v: TensorLike) -> Tensor:
    """As `alias_inplace_sub`, of a copy of `x`."""
    return alias_inplace_sub(raw.DeepCopy(x), i, v)


def empty(shape: TensorLike, dtype: DTypeLike, init: bool = False) -> Tensor:
    """A tensor whose elements are not meant to be read before they are written; they are zeros."""
    return raw.Empty(shape, dtype=dtype, init=init)


def empty_like(x: TensorLike, init: bool | None = None) -> Tensor:
    """An `empty` tensor of the shape and dtype of `x`."""
    x = convert_to_tensor(x)
    return raw.Empty(shape(x), dtype=x.dtype, init=bool(init))
