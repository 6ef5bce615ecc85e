"""Conversion between dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from jax import lax

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import Facts, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.shape_inference import unchanged
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation

_DIFFERENTIABLE = frozenset((
    dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.complex64, dtypes.complex128,
))  # fmt: skip


def _cast_grad(op: Operation, g: Tensor) -> list:
    source, target = op.inputs[0].dtype.base_dtype, g.dtype.base_dtype
    if source not in _DIFFERENTIABLE or target not in _DIFFERENTIABLE:
        return [None]
    return [raw.Cast(g, DstT=source)]


def _require_numeric(source: np.dtype, target: object) -> None:
    if "O" in (source.kind, getattr(target, "kind", "O")):
        names = (dtypes.as_dtype(t).name for t in (source, target))
        names = tuple(map(dtypes.cpp_name, names))
        raise errors.UnimplementedError(None, None, f"Cast {names[0]} to {names[1]} is not supported")


def _lost_bits(source: np.dtype, target: np.dtype) -> int:
    """How many bits of its fraction a float loses by a conversion that truncates; 0 where it does not.

    1.15 rounds to bfloat16 whatever is not float32.
    """
    to_bfloat16 = target == dtypes.bfloat16.as_numpy_dtype
    if not {source.kind, target.kind} <= {"f", "V"} or to_bfloat16 and source != np.float32:
        return 0
    return max(0, ml_dtypes.finfo(source).nmant - ml_dtypes.finfo(target).nmant)


def _kept_bits(dtype: np.dtype, lost: int) -> Any:
    """The unsigned integer whose set bits are those of `dtype` that are kept."""
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return unsigned.type(np.iinfo(unsigned).max - (2**lost - 1))


def _cast_numpy(x, *, DstT, Truncate):
    _require_numeric(x.dtype, DstT)
    if Truncate and (lost := _lost_bits(x.dtype, DstT)):
        kept = _kept_bits(x.dtype, lost)
        x = np.where(np.isnan(x), x, (x.view(kept.dtype) & kept).view(x.dtype))
    if x.dtype.kind == "c" and DstT.kind != "c":
        x = x.real
    if DstT.kind == "b":
        return x != 0
    if x.dtype.kind in "fV" and DstT == np.uint32:
        x = x.astype(np.int64)
    return x.astype(DstT)


@op("Cast", "(x: SrcT, *, SrcT: type, DstT: type, Truncate: bool = False) -> (y: DstT)",
    shape=unchanged, exact=True, gradient=_cast_grad, fold=_cast_numpy, facts=Facts(scales_rows=True, converts=True))  # fmt: skip
def _cast(x, *, DstT, Truncate):
    _require_numeric(x.dtype, DstT)
    if x.dtype == DstT:
        return x
    if Truncate and (lost := _lost_bits(x.dtype, DstT)):
        kept = _kept_bits(x.dtype, lost)
        truncated = lax.bitcast_convert_type(lax.bitwise_and(lax.bitcast_convert_type(x, kept.dtype), kept), x.dtype)
        x = lax.select(lax.ne(x, x), x, truncated)
    if x.dtype.kind == "c" and DstT.kind != "c":
        x = lax.real(x)
    if DstT.kind == "b":
        return lax.ne(x, x.dtype.type(0))
    if x.dtype.kind in "fV" and DstT == np.uint64:
        return _float_to_uint64(x)
    if x.dtype.kind in "fV" and DstT.kind in "iu":
        return _float_to_integer(x, DstT)
    return lax.convert_element_type(x, DstT)


def _float_to_integer(x, target):
    """Truncation; a value outside the range gives the lowest integer of the converting x86 instruction, cut to size."""
    wide = np.dtype(np.int32 if target.itemsize < 4 or target == np.int32 else np.int64)
    if x.dtype.itemsize < 4:
        x = lax.convert_element_type(x, np.float32)
    lowest = np.iinfo(wide).min
    limit = x.dtype.type(-float(lowest))
    inside = lax.lt(lax.abs(x), limit)
    found = lax.select(inside, lax.convert_element_type(x, wide), lax.full(x.shape, lowest, wide))
    return found if wide == target else lax.convert_element_type(found, target)


def _float_to_uint64(x):
    """By the conversion to int64: of numbers from 2**63 on, 2**63 is subtracted before it, and its bit is turned after it."""
    half = 2**63
    if x.dtype.itemsize < 4:
        x = lax.convert_element_type(x, np.float32)
    is_upper = lax.ge(x, x.dtype.type(half))
    lower = _float_to_integer(lax.select(is_upper, lax.sub(x, x.dtype.type(half)), x), np.dtype(np.uint64))
    return lax.select(is_upper, lax.bitwise_xor(lower, np.uint64(half)), lower)


@export("cast", "dtypes.cast")
def cast(x, dtype, name=None):
    """`x` converted to `dtype`.

    Args:
      x: a Tensor, SparseTensor, IndexedSlices, or what can be converted to a Tensor, of a numeric type or bool.
      dtype: the DType to convert to. Floating point to integer truncates.
      name: node name.

    Returns:
      the same kind of object with elements of `dtype`; `x` itself where it is of that type already.

    Raises:
      TypeError: `x` cannot be cast to `dtype`.
    """
    base = dtypes.as_dtype(dtype).base_dtype
    if base is getattr(x, "dtype", None) and (isinstance(x, Tensor) or hasattr(x, "handle")):
        return x
    with name_scope(name, "Cast", [x]) as scope:
        if hasattr(x, "dense_shape"):
            values = cast(x.values, base, name=scope)
            return type(x)(indices=x.indices, values=values, dense_shape=x.dense_shape)
        x = to_tensor(x, name="x")
        return x if x.dtype.base_dtype is base else raw.Cast(x, DstT=base, name=scope)


@export("saturate_cast", "dtypes.saturate_cast")
def saturate_cast(value, dtype, name=None):
    """`value` cast to `dtype` after it is clipped to the range of `dtype`."""
    with name_scope(name, "saturate_cast", [value]) as scope:
        value = to_tensor(value, name="value")
        target = dtypes.as_dtype(dtype).base_dtype
        if value.dtype.min < target.min:
            value = raw.Maximum(value, to_tensor(target.min, value.dtype, "min"))
        if value.dtype.max > target.max:
            value = raw.Minimum(value, to_tensor(target.max, value.dtype, "max"))
        return cast(value, target, name=scope)


@export("to_float")
def to_float(x, name="ToFloat"):
    """`x` cast to float32."""
    return cast(x, dtypes.float32, name)


@export("to_double")
def to_double(x, name="ToDouble"):
    """`x` cast to float64."""
    return cast(x, dtypes.float64, name)


@export("to_int32")
def to_int32(x, name="ToInt32"):
    """`x` cast to int32."""
    return cast(x, dtypes.int32, name)


@export("to_int64")
def to_int64(x, name="ToInt64"):
    """`x` cast to int64."""
    return cast(x, dtypes.int64, name)


@export("to_bfloat16")
def to_bfloat16(x, name="ToBFloat16"):
    """`x` cast to bfloat16."""
    return cast(x, dtypes.bfloat16, name)


@export("to_complex64")
def to_complex64(x, name="ToComplex64"):
    """`x` cast to complex64."""
    return cast(x, dtypes.complex64, name)


@export("to_complex128")
def to_complex128(x, name="ToComplex128"):
    """`x` cast to complex128."""
    return cast(x, dtypes.complex128, name)
