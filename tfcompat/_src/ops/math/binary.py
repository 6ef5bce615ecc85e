"""Arithmetic of two tensors with NumPy broadcasting."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import Facts, NotDifferentiable, op
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.shape_inference import broadcast_inputs
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.fill import ones, ones_like, zeros, zeros_like
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.flow.array_value import Arrays
from tfcompat._src.ops.math.broadcast_gradient import all_sizes_equal, reducers, summed
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.extremes import larger, larger_numpy, smaller, smaller_numpy
from tfcompat._src.ops.math.unary import FLOATS, conjugate, number

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.tensor import Tensor

_SMALL = "uint8, int8, int16, int32, int64, complex64, complex128"
_ADD = "{" + FLOATS + ", " + _SMALL + ", string}"
_ADD_V2 = "{" + FLOATS + ", " + _SMALL + "}"
_MUL = "{" + FLOATS + ", uint8, int8, uint16, int16, int32, int64, complex64, complex128}"
_NO_NAN = "{float16, float32, float64, complex64, complex128}"
_MOD = "{int32, int64, " + FLOATS + "}"
_REAL = "{" + FLOATS + ", int32, int64}"
_SIGNED = "{" + FLOATS + ", int32, int64, complex64, complex128}"


# ---- kernels ----


def same_rank(x: Any, y: Any) -> tuple[Any, Any]:
    """Both with leading dimensions of size 1 to the larger rank: lax broadcasts size 1 itself."""
    if x.ndim == y.ndim:
        return x, y
    if x.ndim < y.ndim:
        return lax.expand_dims(x, range(y.ndim - x.ndim)), y
    return x, lax.expand_dims(y, range(x.ndim - y.ndim))


def common_shape(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which both can be repeated; InvalidArgumentError where there is none."""
    try:
        return np.broadcast_shapes(x, y)
    except ValueError:
        raise errors.InvalidArgumentError(None, None, f"Incompatible shapes: {shape_text(x)} vs. {shape_text(y)}") from None


def broadcasting(function: Callable) -> Callable:
    """A kernel of two arrays with NumPy broadcasting, from an elementwise lax function."""

    def kernel(x, y):
        if x.shape != y.shape and x.ndim and y.ndim:
            common_shape(x.shape, y.shape)
            x, y = same_rank(x, y)
        return function(x, y)

    return kernel


def full(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` repeated to `shape`."""
    if x.shape == shape:
        return x
    return lax.broadcast_in_dim(x, shape, range(len(shape) - x.ndim, len(shape)))


def repeated(x: Any, y: Any) -> tuple[Any, Any]:
    """Both repeated to their common shape."""
    shape = common_shape(x.shape, y.shape)
    return full(x, shape), full(y, shape)


def zero_where(condition: Any, x: Any) -> Array:
    """`x` with 0 where the condition, of the same shape, holds."""
    return lax.select(condition, lax.full_like(x, 0), x)


def _require_nonzero(x: Any, y: Any) -> None:
    if y.dtype.kind in "iu" and 0 not in np.broadcast_shapes(x.shape, y.shape):
        ok = np.all(y) if isinstance(y, np.ndarray) else lax.reduce_and(lax.ne(y, y.dtype.type(0)), range(y.ndim))
        checks.require(ok, "Integer division by zero")


def _divisor(x: object, y: Any) -> Any:
    """`y`, which must not be zero where it is an integer; with 1 in place of 0, on which the compiler would end the process."""
    _require_nonzero(x, y)
    if y.dtype.kind not in "iu":
        return y
    if isinstance(y, np.ndarray):
        return np.where(y == 0, y.dtype.type(1), y)
    return lax.select(lax.eq(y, lax.full_like(y, 0)), lax.full_like(y, 1), y)


def _differing_signs(x: Any, y: Any) -> Array:
    zero = x.dtype.type(0)
    return lax.ne(lax.lt(x, zero), lax.lt(y, zero))


def _divide(x, y):
    y = _divisor(x, y)
    return lax.div(x, y)


def _floor_divide(x, y):
    if x.dtype.kind not in "iu":
        return lax.floor(lax.div(x, y))
    y = _divisor(x, y)
    quotient = lax.div(x, y)
    if x.dtype.kind == "u":
        return quotient
    x, y = repeated(x, y)
    inexact = lax.ne(lax.mul(quotient, y), x)
    return lax.sub(quotient, lax.convert_element_type(lax.bitwise_and(inexact, _differing_signs(x, y)), x.dtype))


def _floor_modulus(x, y):
    y = _divisor(x, y)
    x, y = repeated(x, y)
    rest = lax.rem(x, y)
    wrong_sign = lax.bitwise_and(lax.ne(rest, rest.dtype.type(0)), _differing_signs(rest, y))
    return lax.select(wrong_sign, lax.add(rest, y), rest)


def _truncated_modulus(x, y):
    y = _divisor(x, y)
    return lax.rem(x, y)


def _divide_no_nan(x, y):
    x, y = repeated(x, y)
    return zero_where(lax.eq(y, y.dtype.type(0)), lax.div(x, y))


def _multiply_no_nan(x, y):
    x, y = repeated(x, y)
    return zero_where(lax.eq(y, y.dtype.type(0)), lax.mul(x, y))


def _xdivy(x, y):
    x, y = repeated(x, y)
    return zero_where(lax.eq(x, x.dtype.type(0)), lax.div(x, y))


def _xlogy(x, y):
    x, y = repeated(x, y)
    return zero_where(lax.eq(x, x.dtype.type(0)), lax.mul(x, lax.log(y)))


def _power(x, y):
    if x.dtype.kind not in "iu":
        return lax.pow(x, y)
    nonnegative = (
        np.all(y >= 0) if isinstance(y, np.ndarray) else lax.reduce_and(lax.ge(y, y.dtype.type(0)), range(y.ndim))
    )
    checks.require(nonnegative, "Integers to negative integer powers are not allowed")
    if isinstance(y, np.ndarray) and y.ndim == 0 and nonnegative:
        return lax.integer_pow(x, int(y))
    return _integer_power(*repeated(x, y))


def _integer_power(x, y):
    """Exponentiation by squaring, as long as a bit is left in some exponent."""
    one = x.dtype.type(1)

    def step(state):
        base, exponent, result = state
        odd = lax.eq(lax.bitwise_and(exponent, one), one)
        result = lax.select(odd, lax.mul(result, base), result)
        return lax.mul(base, base), lax.shift_right_logical(exponent, one), result

    def unfinished(state):
        return lax.reduce_or(lax.gt(state[1], x.dtype.type(0)), range(x.ndim))

    return lax.while_loop(unfinished, step, (x, y, lax.full_like(x, 1)))[2]


def _squared_difference(x, y):
    difference = lax.sub(x, y)
    return lax.mul(difference, lax.conj(difference) if difference.dtype.kind == "c" else difference)


# ---- the same in NumPy ----


def _numpy_divide(x, y):
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    _require_nonzero(x, y)
    return ((x - np.fmod(x, y)) // y).astype(x.dtype)


def _numpy_floor_divide(x, y):
    if x.dtype.kind not in "iu":
        return np.floor(np.divide(x, y))
    _require_nonzero(x, y)
    return np.floor_divide(x, y)


def _numpy_floor_modulus(x, y):
    _require_nonzero(x, y)
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


def _numpy_truncated_modulus(x, y):
    _require_nonzero(x, y)
    return np.fmod(x, y)


# ---- gradients ----


def _add_grad(op: Operation, g: Tensor) -> list:
    x, y = op.inputs
    if all_sizes_equal(x, y, g):
        return [g, g]
    to_x, to_y = reducers(x, y, g)
    return [to_x(g), to_y(g)]


def _sub_grad(op: Operation, g: Tensor) -> list:
    x, y = op.inputs
    if all_sizes_equal(x, y, g):
        return [g, -g]
    to_x, to_y = reducers(x, y, g)
    return [to_x(g), to_y(-g)]


def _mul_grad(op: Operation, g: Tensor) -> list:
    x, y = op.inputs
    if all_sizes_equal(x, y, g) and g.dtype in (dtypes.float32, dtypes.int32):
        return [raw.Mul(g, y), raw.Mul(g, x)]
    to_x, to_y = reducers(x, y, g)
    x, y = conjugate(x), conjugate(y)
    return [to_x(raw.Mul(g, y)), to_y(raw.Mul(x, g))]


def _mul_no_nan_grad(op: Operation, g: Tensor) -> list:
    x, y = op.inputs
    if all_sizes_equal(x, y, g):
        return [raw.MulNoNan(g, y), raw.MulNoNan(x, g)]
    to_x, to_y = reducers(x, y)
    return [to_x(raw.MulNoNan(g, y)), to_y(raw.MulNoNan(x, g))]


def _quotient_grad(quotient: Callable) -> Callable:
    """The gradient of an op that divides, from how its gradient divides."""

    def gradient(op: Operation, g: Tensor) -> list:
        to_x, to_y = reducers(*op.inputs)
        x, y = conjugate(op.inputs[0]), conjugate(op.inputs[1])
        return [to_x(quotient(g, y)), to_y(g * quotient(quotient(-x, y), y))]

    return gradient


def _floor_mod_grad(op: Operation, g: Tensor) -> list:
    x, y = op.inputs
    to_x, to_y = reducers(x, y)
    rounded = raw.FloorDiv(x, y)
    return [to_x(g), to_y(g * raw.Neg(rounded))]


def _pow_grad(op: Operation, g: Tensor) -> list:
    to_x, to_y = reducers(*op.inputs, g)
    x, y = conjugate(op.inputs[0]), conjugate(op.inputs[1])
    gx = to_x(g * y * power(x, y - 1))
    z = conjugate(op.outputs[0])
    has_log = raw.NotEqual(x, number(x, 0)) if x.dtype.is_complex else x > 0
    log = raw.Log(raw.Select(has_log, x, ones_like(x)))
    log = raw.Select(has_log, log, zeros_like(x))
    return [gx, to_y(g * z * log)]


def _selecting_grad(chooses_x: str) -> Callable:
    """The gradient of an op that returns x where `chooses_x(x, y)`, else y."""

    def gradient(op: Operation, g: Tensor) -> list:
        x, y = op.inputs
        sizes = [shape(t) for t in (x, y, g)]
        nothing = zeros(sizes[2], g.dtype)
        chosen = raw.function(chooses_x)(x, y)
        to_x, to_y = summed(sizes[0], sizes[1])
        return [to_x(raw.Select(chosen, g, nothing)), to_y(raw.Select(chosen, nothing, g))]

    return gradient


def _squared_difference_grad(op: Operation, g: Tensor) -> list:
    x, y = op.inputs
    with control_dependencies([g]):
        gx = scalar_mul(2.0, g) * (x - y)
    if all_sizes_equal(x, y, g):
        return [gx, -gx]
    to_x, to_y = reducers(x, y, g)
    return [to_x(gx), -to_y(gx)]


def _atan2_grad(op: Operation, g: Tensor) -> list:
    y, x = op.inputs
    with control_dependencies([g]):
        scaled = g / (raw.Square(x) + raw.Square(y))
        gy, gx = x * scaled, -y * scaled
    if None not in (y._sizes, x._sizes) and y._sizes != x._sizes:
        to_y, to_x = reducers(y, x)
        return [to_y(gy), to_x(gx)]
    return [gy, gx]


def _nonzero(x: Any) -> Any:
    return cast(raw.NotEqual(x, cast(0.0, x.dtype)), x.dtype)


def _xlogy_grad(op: Operation, g: Tensor) -> list:
    x, y = op.inputs
    to_x, to_y = reducers(x, y)
    with control_dependencies([g]):
        by_x, by_y = raw.Xlogy(_nonzero(x), y), raw.Xdivy(x, y)
        return [to_x(by_x * g), to_y(by_y * g)]


def _xdivy_grad(op: Any, g: Tensor) -> list:
    x, y = op.inputs
    to_x, to_y = reducers(x, y)
    with control_dependencies([g]):
        by_x, by_y = raw.Xdivy(_nonzero(x), y), raw.Xdivy(raw.Neg(x), y**2)
        return [to_x(by_x * g), to_y(by_y * g)]


def _next_after_grad(op: Operation, g: Tensor) -> list:
    sizes = [shape(t) for t in op.inputs]
    to_x, to_y = summed(*sizes)
    with control_dependencies([g]):
        by_x, by_y = ones(sizes[0], g.dtype), zeros(sizes[1], g.dtype)
        return [to_x(by_x * g), to_y(by_y * g)]


def _binary(name: str, types: str, function: Callable, gradient: Any, fold: Callable | None = None, **fields: Any) -> None:
    text = f"(x: T, y: T, *, T: {types}) -> (z: T)"
    op(name, text, shape=broadcast_inputs, kernel=broadcasting(function), gradient=gradient, fold=fold, depth=2, **fields)


_STEPWISE = NotDifferentiable("the derivative of a rounded quotient is zero")
_UNDEFINED = NotDifferentiable("no gradient is defined", raises=True)


def _adding(function: Callable) -> Callable:
    """The sum of two values, by `function` where they are no flows of TensorArrays."""

    def add(x, y):
        return x + y if isinstance(x, Arrays) or isinstance(y, Arrays) else function(x, y)

    return add


for _name, _types in (("Add", _ADD), ("AddV2", _ADD_V2)):
    op(
        _name, f"(x: T, y: T, *, T: {_types}) -> (z: T)", shape=broadcast_inputs, kernel=_adding(broadcasting(lax.add)), exact=True, gradient=_add_grad,
        fold=_adding(np.add), facts=Facts(counts=1),
    )  # fmt: skip
_binary("Sub", _MUL, lax.sub, _sub_grad, np.subtract, exact=True, facts=Facts(counts=-1))
_binary("Mul", _MUL, lax.mul, _mul_grad, np.multiply, exact=True, facts=Facts(scales_rows=True))
_binary("MulNoNan", _NO_NAN, _multiply_no_nan, _mul_no_nan_grad)
_binary("Div", _MUL, _divide, _quotient_grad(operator.truediv), _numpy_divide)
_binary("RealDiv", _MUL, _divide, _quotient_grad(raw.function("RealDiv")), _numpy_divide, facts=Facts(scales_rows=True))
_binary("DivNoNan", _NO_NAN, _divide_no_nan, _quotient_grad(lambda x, y: div_no_nan(x, y)))
_binary("FloorDiv", _MUL, _floor_divide, _STEPWISE, _numpy_floor_divide)
_binary("TruncateDiv", _MUL, _divide, _STEPWISE, _numpy_divide)
_binary("FloorMod", _MOD, _floor_modulus, _floor_mod_grad, _numpy_floor_modulus)
_binary("Mod", _MOD, _truncated_modulus, _UNDEFINED, _numpy_truncated_modulus)
_binary("TruncateMod", _MOD, _truncated_modulus, _UNDEFINED, _numpy_truncated_modulus)
_binary("Pow", _SIGNED, _power, _pow_grad, near=np.power)
_binary("Maximum", _REAL, larger, _selecting_grad("GreaterEqual"), larger_numpy)
_binary("Minimum", _REAL, smaller, _selecting_grad("LessEqual"), smaller_numpy)
_binary("SquaredDifference", _SIGNED, _squared_difference, _squared_difference_grad)
_binary("Xdivy", _NO_NAN, _xdivy, _xdivy_grad)
_binary("Xlogy", _NO_NAN, _xlogy, _xlogy_grad)
op("Atan2", "(y: T, x: T, *, T: {bfloat16, float16, float32, float64}) -> (z: T)",
   shape=broadcast_inputs, kernel=broadcasting(lax.atan2), gradient=_atan2_grad)  # fmt: skip
op("NextAfter", "(x1: T, x2: T, *, T: {float64, float32} = float32) -> (output: T)", shape=broadcast_inputs,
   kernel=broadcasting(lax.nextafter), gradient=_next_after_grad,
    fold=np.nextafter)  # fmt: skip


# ---- public functions ----


def _function(name: str, op_type: str, doc: str) -> Callable:
    """The public function `name(x, y, name=None)` that adds one node of `op_type`."""
    apply = raw.function(op_type)

    def function(x, y, name=None):
        return apply(x, y, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}, element by element; x and y have one dtype and are broadcast to one shape."
    return function


add = export("add", "math.add")(_function("add", "Add", "x + y"))
maximum = export("maximum", "math.maximum")(_function("maximum", "Maximum", "The larger of x and y"))
minimum = export("minimum", "math.minimum")(_function("minimum", "Minimum", "The smaller of x and y"))
floor_div = export("floor_div")(_function("floor_div", "FloorDiv", "floor(x / y)"))
floormod = export("floormod", "mod", "math.floormod", "math.mod")(
    _function("floormod", "FloorMod", "The remainder of x / y with the sign of y")
)
realdiv = export("realdiv")(_function("realdiv", "RealDiv", "x / y of real numbers"))
truncatediv = export("truncatediv")(_function("truncatediv", "TruncateDiv", "x / y rounded towards zero, of integers"))
truncatemod = export("truncatemod")(
    _function("truncatemod", "TruncateMod", "The remainder of x / y with the sign of x")
)
squared_difference = export("squared_difference", "math.squared_difference")(
    _function("squared_difference", "SquaredDifference", "(x - y)(x - y)")
)
xdivy = export("math.xdivy")(_function("xdivy", "Xdivy", "x / y, and 0 where x is 0"))
xlogy = export("math.xlogy")(_function("xlogy", "Xlogy", "x log(y), and 0 where x is 0"))


@export("atan2", "math.atan2")
def atan2(y, x, name=None):
    """The angle in radians, in [-pi, pi], of the point (x, y), element by element with broadcasting."""
    return raw.Atan2(y, x, name=name)


@export("math.nextafter")
def nextafter(x1, x2, name=None):
    """The number next to `x1` in the direction of `x2`, element by element with broadcasting."""
    return raw.NextAfter(x1, x2, name=name)


@export("multiply", "math.multiply")
def multiply(x, y, name=None):
    """x * y, element by element; x and y have one dtype and are broadcast to one shape."""
    return raw.Mul(x, y, name=name)


@export("subtract", "math.subtract")
def subtract(x, y, name=None):
    """x - y, element by element; x and y have one dtype and are broadcast to one shape."""
    return raw.Sub(x, y, name=name)


class DivideDelegateWithName:
    """`x / y` by Python's operator, with a name for the node."""

    def __init__(self, x: Any, name: str | None) -> None:
        self.x, self.name = x, name

    def __truediv__(self, y):
        return truediv(self.x, y, self.name)

    def __floordiv__(self, y):
        return floordiv(self.x, y, self.name)

    def __div__(self, y):
        return div(self.x, y, self.name)


@export("divide", "math.divide")
def divide(x, y, name=None):
    """x / y as Python's operator divides: integers are cast to floating point first."""
    return DivideDelegateWithName(x, name) / y if name is not None else x / y


_QUOTIENT_DTYPE = {
    dtypes.uint8: dtypes.float32, dtypes.int8: dtypes.float32,
    dtypes.uint16: dtypes.float32, dtypes.int16: dtypes.float32,
    dtypes.int32: dtypes.float64, dtypes.int64: dtypes.float64,
    dtypes.bfloat16: None, dtypes.float16: None, dtypes.float32: None, dtypes.float64: None,
    dtypes.complex64: None, dtypes.complex128: None,
}  # fmt: skip


def _same_dtype(x: Any, y: Any) -> dtypes.DType:
    """The dtype of both; TypeError where they differ."""
    x_dtype, y_dtype = x.dtype.base_dtype, y.dtype.base_dtype
    if x_dtype is not y_dtype:
        raise TypeError(f"x and y must have the same dtype, got {x_dtype!r} != {y_dtype!r}")
    return x_dtype


@export("truediv", "math.truediv")
def truediv(x, y, name=None):
    """x / y, element by element; integers are cast first: 8 and 16 bits to float32, 32 and 64 bits to float64.

    Raises:
      TypeError: the dtypes differ or cannot be divided.
    """
    with name_scope(name, "truediv", [x, y]) as scope:
        x, y = to_tensor(x, name="x"), to_tensor(y, name="y")
        dtype = _same_dtype(x, y)
        if dtype not in _QUOTIENT_DTYPE:
            raise TypeError(f"Invalid dtype {dtype!r} in __truediv__")
        quotient = _QUOTIENT_DTYPE[dtype]
        if quotient is not None:
            x, y = (raw.Cast(t, DstT=quotient) for t in (x, y))
        return raw.RealDiv(x, y, name=scope)


@export("div")
def div(x, y, name=None):
    """x / y as Python 2 divides: integers are divided and rounded down; TypeError where the dtypes differ."""
    with name_scope(name, "div", [x, y]) as scope:
        x = to_tensor(x, name="x")
        y = to_tensor(y, x.dtype.base_dtype, "y")
        dtype = _same_dtype(x, y)
        apply = raw.RealDiv if dtype.is_floating or dtype.is_complex else raw.FloorDiv
        return apply(x, y, name=scope)


@export("div_no_nan", "math.divide_no_nan")
def div_no_nan(x, y, name=None):
    """x / y, and 0 where y is 0, element by element."""
    with name_scope(name, "div_no_nan", [x, y]) as scope:
        x = to_tensor(x, name="x")
        y = to_tensor(y, x.dtype.base_dtype, "y")
        _same_dtype(x, y)
        return raw.DivNoNan(x, y, name=scope)


@export("math.multiply_no_nan")
def multiply_no_nan(x, y, name=None):
    """x * y, and 0 where y is 0 even if x is not finite, element by element."""
    with name_scope(name, "multiply_no_nan", [x, y]) as scope:
        x = to_tensor(x, name="x")
        y = to_tensor(y, x.dtype.base_dtype, "y")
        _same_dtype(x, y)
        return raw.MulNoNan(x, y, name=scope)


@export("floordiv", "math.floordiv")
def floordiv(x, y, name=None):
    """x / y rounded down, element by element; x and y have one dtype."""
    with name_scope(name, "floordiv", [x, y]) as scope:
        return raw.FloorDiv(x, y, name=scope)


@export("pow", "math.pow")
def power(x, y, name=None):
    """x to the power y, element by element with broadcasting; x and y have one dtype."""
    with name_scope(name, "Pow", [x]) as scope:
        return raw.Pow(x, y, name=scope)


power.__name__ = "pow"


@export("scalar_mul", "math.scalar_mul")
def scalar_mul(scalar, x, name=None):
    """`scalar` times `x`, a Tensor or IndexedSlices.

    Raises:
      ValueError: `scalar` is not of rank 0.
    """
    scalar = to_tensor(scalar, x.dtype.base_dtype, "scalar")
    if scalar.shape.ndims != 0:
        raise ValueError(f"Only scalar multiply works, got shape {scalar.shape}")
    if hasattr(x, "dense_shape"):
        return type(x)(values=raw.Mul(scalar, x.values, name=name), indices=x.indices, dense_shape=x.dense_shape)
    return raw.Mul(scalar, x, name=name)


@export("math.polyval")
def polyval(coeffs, x, name=None):
    """The polynomial with `coeffs`, a list from the highest power down, at `x`, by Horner's rule; a Tensor like `x`."""
    with name_scope(name, "polyval", [*coeffs, x]) as scope:
        x = to_tensor(x, name="x")
        if not len(coeffs):
            return zeros_like(x, name=scope)
        terms = [to_tensor(c, name=f"coeff_{i}") for i, c in enumerate(coeffs)]
        return functools.reduce(lambda total, term: term + total * x, terms)
