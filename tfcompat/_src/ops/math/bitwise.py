"""Bitwise operations on integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.shape_inference import broadcast_inputs, unchanged
from tfcompat._src.nodes import raw
from tfcompat._src.ops.math.binary import broadcasting

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array

_INTEGERS = "{int8, int16, int32, int64, uint8, uint16, uint32, uint64}"
_NO_GRADIENT = NotDifferentiable("bits have no derivative")


def _bitwise(name: str, function: Callable, fold: Callable | None = None) -> None:
    text = f"(x: T, y: T, *, T: {_INTEGERS}) -> (z: T)"
    op(name, text, shape=broadcast_inputs, kernel=broadcasting(function), gradient=_NO_GRADIENT, fold=fold, depth=2)


def _last_bit(count: Any) -> Any:
    """The largest number of bits that a shift can take: all but one."""
    return count.dtype.type(8 * count.dtype.itemsize - 1)


def _clamped(count: Any) -> Array:
    return lax.clamp(count.dtype.type(0), count, _last_bit(count))


def _in_numpy(shift: Callable) -> Callable:
    return lambda x, y: shift(x, np.clip(y, y.dtype.type(0), _last_bit(y)))


def _left_shift(x, y):
    return lax.shift_left(x, _clamped(y))


def _right_shift(x, y):
    shift = lax.shift_right_logical if x.dtype.kind == "u" else lax.shift_right_arithmetic
    return shift(x, _clamped(y))


def _population_count(x):
    return lax.convert_element_type(lax.population_count(x), np.uint8)


_bitwise("BitwiseAnd", lax.bitwise_and, np.bitwise_and)
_bitwise("BitwiseOr", lax.bitwise_or, np.bitwise_or)
_bitwise("BitwiseXor", lax.bitwise_xor, np.bitwise_xor)
_bitwise("LeftShift", _left_shift, _in_numpy(np.left_shift))
_bitwise("RightShift", _right_shift, _in_numpy(np.right_shift))
op("Invert", f"(x: T, *, T: {_INTEGERS}) -> (y: T)",
   shape=unchanged, kernel=lax.bitwise_not, gradient=_NO_GRADIENT, fold=np.invert)  # fmt: skip
op("PopulationCount", f"(x: T, *, T: {_INTEGERS}) -> (y: uint8)",
   shape=unchanged, kernel=_population_count, gradient=_NO_GRADIENT)  # fmt: skip


def _function(name: str, op_type: str, doc: str) -> Callable:
    """The public function `name(x, y, name=None)` that adds one node of `op_type`."""
    apply = raw.function(op_type)

    def function(x, y, name=None):
        return apply(x, y, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}, element by element with broadcasting; x and y are integers of one dtype."
    return function


bitwise_and = export("bitwise.bitwise_and")(_function("bitwise_and", "BitwiseAnd", "The bits set in x and in y"))
bitwise_or = export("bitwise.bitwise_or")(_function("bitwise_or", "BitwiseOr", "The bits set in x or in y"))
bitwise_xor = export("bitwise.bitwise_xor")(
    _function("bitwise_xor", "BitwiseXor", "The bits set in exactly one of x and y")
)
left_shift = export("bitwise.left_shift")(_function("left_shift", "LeftShift", "x shifted left by y bits"))
right_shift = export("bitwise.right_shift")(
    _function("right_shift", "RightShift", "x shifted right by y bits, keeping the sign")
)


@export("bitwise.invert")
def invert(x, name=None):
    """The bits not set in the integer `x`, element by element."""
    return raw.Invert(x, name=name)
