"""Between numbers and quantized values: QuantizeV2, Dequantize, QuantizeAndDequantize, Requantize."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.quantized.values import (
    dequantized,
    half_away,
    integers,
    invalid,
    limits,
    narrowed,
    number,
    quantized,
    requantized,
    to_floats,
)

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_F32 = np.float32
_NO_GRADIENT = NotDifferentiable("1.15 has no gradient of quantized values", raises=True)
_MODE = 'mode: {"MIN_COMBINED", "MIN_FIRST", "SCALED"} = "MIN_COMBINED"'


def with_range(c: si.InferenceContext) -> list:
    """Output 0 has the shape of input 0; the other inputs and outputs are the scalars of ranges."""
    for sizes in c.inputs[1:]:
        si.with_rank(sizes, 0)
    return [c.inputs[0], (), ()]


def _scaled_range(low: np.float32, high: np.float32, dtype: object) -> tuple[np.float32, np.float32, np.float32]:
    """The factor of SCALED, and the range that it gives."""
    lowest, highest = limits(dtype)
    most = np.finfo(_F32).max
    factor = min(_F32(v) / b if v * b > 0 else most for v, b in ((lowest, low), (highest, high)))
    return factor, _F32(lowest) / factor, _F32(highest) / factor


@op(
    "QuantizeV2",
    f"(input: float32, min_range: float32, max_range: float32, *, T: QUANTIZED, {_MODE}, "
    'round_mode: {"HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"} = "HALF_AWAY_FROM_ZERO") -> '
    "(output: T, output_min: float32, output_max: float32)",
    shape=with_range, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _quantize(x, low, high, *, T, mode, round_mode):
    low, high = number(low, "min_range"), number(high, "max_range")
    if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
        raise invalid(f"Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '{mode}'.")
    if high < low:
        raise invalid("input_max_range must be larger than input_min_range.")
    epsilon = max(_F32(1), abs(low), abs(high)) / _F32(100)
    low = min(_F32(0), low)
    high = max(_F32(0), high, low + epsilon)
    lowest, highest = limits(T)
    if mode == "SCALED":
        factor, low, high = _scaled_range(low, high, T)
        rounded = np.rint if round_mode == "HALF_TO_EVEN" else half_away
        found = rounded(np.clip(x, low, high) * factor)
    elif mode == "MIN_FIRST":
        found = requantized(x, low, high, T)
    else:
        factor = _F32(float(highest - lowest) / float(high - low))
        found = (np.clip(x, low, high) - low) * factor
        found = half_away(found - _F32((highest - lowest + 1) / 2)) if lowest else np.trunc(found + _F32(0.5))
    if highest == 2**31 - 1:
        found = np.where(found >= _F32(2**31), _F32(lowest), found)
    return quantized(np.clip(found.astype(np.float64), lowest, highest).astype(np.int64), T), low, high


@op(
    "Dequantize", f"(input: T, min_range: float32, max_range: float32, *, T: QUANTIZED, {_MODE}) -> (output: float32)",
    shape=lambda c: with_range(c)[:1], gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _dequantize(x, low, high, *, T, mode):
    low, high, values = number(low, "min_range"), number(high, "max_range"), integers(x)
    lowest, highest = limits(T)
    if mode == "MIN_FIRST":
        return dequantized(values, low, high, T)
    if mode == "SCALED":
        factor = high / _F32(highest)
        if lowest:
            factor = max(low / _F32(lowest), factor)
        return values.astype(_F32) * factor
    half = _F32((_F32(highest) - _F32(lowest) + _F32(1)) / _F32(2)) if lowest else _F32(0)
    factor = (high - low) / (_F32(highest) - _F32(lowest))
    return (values.astype(_F32) + half) * factor + low


@export("quantization.quantize", "quantize")
def quantize(
    input: TensorLike, min_range: TensorLike, max_range: TensorLike, T: DTypeLike, mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO", name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Numbers as quantized values.

    Args:
      input: float32 Tensor.
      min_range, max_range: float32 scalars, the numbers for the least and the greatest value.
      T: quantized dtype.
      mode: "MIN_COMBINED", "MIN_FIRST" (0 is exact) or "SCALED" (0 is 0).
      round_mode: "HALF_AWAY_FROM_ZERO", or with "SCALED" also "HALF_TO_EVEN".
      name: node name.

    Returns:
      the values, and the range that was used, which holds 0.

    Raises:
      InvalidArgumentError: in a run with a range upside down, or options that do not go together.
    """
    return raw.QuantizeV2(input, min_range, max_range, T=T, mode=mode, round_mode=round_mode, name=name)


@export("quantize_v2")
def quantize_v2(
    input: TensorLike, min_range: TensorLike, max_range: TensorLike, T: DTypeLike, mode: str = "MIN_COMBINED", name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`quantize` with another order of arguments."""
    return quantize(input, min_range, max_range, T, mode, round_mode, name)


@export("quantization.dequantize", "dequantize", "contrib.quantization.dequantize")
def dequantize(input: TensorLike, min_range: TensorLike, max_range: TensorLike, mode: str = "MIN_COMBINED", name: str | None = None) -> Tensor:
    """The float32 numbers of quantized values in the range [min_range, max_range], as `quantize` made them."""
    return raw.Dequantize(input, min_range, max_range, mode=mode, name=name)


# ---- there and back ----


def _there_and_back(x: Any, low: Any, high: Any, signed: bool, bits: int, given: bool, half_up: bool, narrow: bool) -> Array:
    if not 0 < bits < (62 if signed else 63):
        raise invalid(f"num_bits is out of range: {bits} with signed_input_ {int(signed)}")
    kind = x.dtype
    least = (-(1 << (bits - 1)) + int(narrow)) if signed else 0
    most = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    if given:
        low, high = _only(low, "input_min"), _only(high, "input_max")
        checks.require(low <= high, "Invalid range: input_min {:g} > input_max {:g}", low, high)
    else:
        low, high = jnp.min(x, initial=np.inf), jnp.max(x, initial=-np.inf)
    biggest = np.array(np.finfo(kind).max, kind)
    least, most = lax.optimization_barrier((np.array(least, kind), np.array(most, kind)))

    def side(limit: Any, bound: Any) -> Array:
        fits = limit * bound > 0
        return jnp.where(fits, limit / jnp.where(fits, bound, np.ones((), kind)), biggest)

    from_low, from_high = side(least, low), side(most, high)
    by_low = from_low < from_high
    factor = jnp.where(by_low, from_low, from_high)
    inverse = jnp.where(by_low, low / jnp.where(least == 0, np.ones((), kind), least), high / most)
    if given:
        x = jnp.clip(x, jnp.where(by_low, low, least * inverse), jnp.where(by_low, most * inverse, high))
    x = x * factor
    return (jnp.floor(x + np.array(0.5, kind)) if half_up else jnp.round(x)) * inverse


def _only(x: Any, name: str) -> Any:
    """The one number of an input; 1.15's kernels do not look at its rank."""
    if np.size(x) != 1:
        raise invalid(f"{name} must have 1 element, but it has {np.size(x)}")
    return x.reshape(())


def _like_input(c: si.InferenceContext) -> list:
    """The shape of input 0; the others are scalars."""
    for sizes in c.inputs[1:]:
        si.with_rank(sizes, 0)
    return [c.inputs[0]]


def _straight_through(op, g):
    return [g] + [None] * (len(op.inputs) - 1)


@op(
    "QuantizeAndDequantize",
    "(input: T, *, signed_input: bool = True, num_bits: int = 8, range_given: bool = False, input_min: float = 0, "
    "input_max: float = 0, T: FLOAT) -> (output: T)",
    shape=si.unchanged, gradient=_straight_through,
)  # fmt: skip
def _quantize_and_dequantize(x, *, signed_input, num_bits, range_given, input_min, input_max):
    if range_given and input_min > input_max:
        raise invalid(f"Invalid range: input_min {input_min:g} > input_max {input_max:g}")
    low, high = np.array(input_min, x.dtype), np.array(input_max, x.dtype)
    return _there_and_back(x, low, high, signed_input, num_bits, range_given, False, False)


@op(
    "QuantizeAndDequantizeV2",
    "(input: T, input_min: T, input_max: T, *, signed_input: bool = True, num_bits: int = 8, range_given: bool = False, "
    'T: FLOAT, round_mode: {"HALF_TO_EVEN", "HALF_UP"} = "HALF_TO_EVEN", narrow_range: bool = False) -> (output: T)',
    shape=_like_input, gradient=_straight_through,
)  # fmt: skip
def _quantize_and_dequantize_v2(x, low, high, *, signed_input, num_bits, range_given, round_mode, narrow_range):
    return _there_and_back(x, low, high, signed_input, num_bits, range_given, round_mode == "HALF_UP", narrow_range)


@op(
    "QuantizeAndDequantizeV3",
    "(input: T, input_min: T, input_max: T, num_bits: int32, *, signed_input: bool = True, range_given: bool = True, "
    "T: FLOAT, narrow_range: bool = False) -> (output: T)",
    shape=_like_input, gradient=_straight_through, constants=("num_bits",),
)  # fmt: skip
def _quantize_and_dequantize_v3(x, low, high, num_bits, *, signed_input, range_given, narrow_range):
    return _there_and_back(x, low, high, signed_input, int(_only(num_bits, "num_bits")), range_given, False, narrow_range)


@export("quantization.quantize_and_dequantize")
def quantize_and_dequantize(
    input: TensorLike, input_min: TensorLike, input_max: TensorLike, signed_input: bool = True, num_bits: int = 8, range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN", name: str | None = None, narrow_range: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers as they are after being quantized and read back; the gradient passes as if nothing had happened.

    Args:
      input: floating Tensor.
      input_min, input_max: scalars, the range, where `range_given` is true; else that of `input` is used.
      signed_input: whether the values have a sign.
      num_bits: bits of a value.
      round_mode: "HALF_TO_EVEN" or "HALF_UP".
      name: node name.
      narrow_range: whether the least value is that of the greatest with a sign.

    Raises:
      InvalidArgumentError: in a run with a range upside down, or too many bits.
    """
    return raw.QuantizeAndDequantizeV2(
        input, input_min, input_max, signed_input=signed_input, num_bits=num_bits, range_given=range_given,
        round_mode=round_mode, narrow_range=narrow_range, name=name,
    )  # fmt: skip


# ---- to another type or range ----


def _used_range(x: np.ndarray, low: np.float32, high: np.float32, dtype: object) -> tuple[np.float32, np.float32]:
    """The numbers of the least (at most 0) and the greatest value."""
    lowest, highest = limits(dtype)
    ends = np.array([x.min(initial=highest), x.max(initial=lowest)])
    least, most = to_floats(ends, low, high, dtype)
    return min(_F32(0), least), most


def _in_range(x: np.ndarray, source: tuple, dtype: object, target: tuple, out_type: object) -> np.ndarray:
    if limits(dtype)[1] == 2**31 - 1 and limits(out_type) == (0, 255):
        return quantized(narrowed(x, source, target), out_type)
    return quantized(requantized(dequantized(x, *source, dtype), *target, out_type), out_type)


@op("QuantizeDownAndShrinkRange",
    "(input: Tinput, input_min: float32, input_max: float32, *, Tinput: QUANTIZED, out_type: QUANTIZED) -> "
    "(output: out_type, output_min: float32, output_max: float32)",
    shape=with_range, gradient=_NO_GRADIENT, side=HOST)  # fmt: skip
def _quantize_down(x, low, high, *, Tinput, out_type):
    source, values = (number(low, "input_min"), number(high, "input_max")), integers(x)
    used = _used_range(values, *source, Tinput)
    return _in_range(values, source, Tinput, used, out_type), *used


@op("RequantizationRange",
    "(input: Tinput, input_min: float32, input_max: float32, *, Tinput: QUANTIZED) -> "
    "(output_min: float32, output_max: float32)",
    shape=lambda c: with_range(c)[1:], gradient=_NO_GRADIENT, side=HOST)  # fmt: skip
def _requantization_range(x, low, high, *, Tinput):
    return _used_range(integers(x), number(low, "input_min"), number(high, "input_max"), Tinput)


@op("Requantize",
    "(input: Tinput, input_min: float32, input_max: float32, requested_output_min: float32, requested_output_max: float32, "
    "*, Tinput: QUANTIZED, out_type: QUANTIZED) -> (output: out_type, output_min: float32, output_max: float32)",
    shape=with_range, gradient=_NO_GRADIENT, side=HOST)  # fmt: skip
def _requantize(x, low, high, out_low, out_high, *, Tinput, out_type):
    source = number(low, "input_min"), number(high, "input_max")
    target = number(out_low, "requested_output_min"), number(out_high, "requested_output_max")
    if target[0] > 0:
        raise invalid(f"requested_output_min must be <= 0, but got {target[0]:g}")
    if target[1] < target[0]:
        raise invalid(f"requested_output_max must be >= requested_output_min, but got {target[1]:g} and {target[0]:g}")
    return _in_range(integers(x), source, Tinput, target, out_type), *target
