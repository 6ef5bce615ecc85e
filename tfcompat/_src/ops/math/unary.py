"""Elementwise functions of one tensor, and the op types of their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import Facts, NotDifferentiable, op
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.shape_inference import unchanged
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.shape import shape

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.tensor import Tensor

FLOATS = "bfloat16, float16, float32, float64"
_INEXACT = "{" + FLOATS + ", complex64, complex128}"
_SIGNED = "{" + FLOATS + ", int32, int64, complex64, complex128}"
_REAL_SIGNED = "{" + FLOATS + ", int8, int16, int32, int64}"
_ROUNDING = NotDifferentiable("the derivative of rounding is zero")
_PREDICATE = NotDifferentiable("a predicate has no derivative", raises=True)


def conjugate(x: Any) -> Any:
    """Conj of a complex tensor; any other tensor as it is."""
    return raw.Conj(x) if x.dtype.is_complex else x


def number(like: Any, value: Any) -> np.ndarray:
    """A scalar of the dtype of the tensor `like`."""
    return np.asarray(value, like.dtype.as_numpy_dtype)


def _unary(
    name: str, types: str, kernel: Callable, gradient: Any, fold: Callable | None = None, output: str = "T", **fields: Any
) -> None:
    text = f"(x: T, *, T: {types}) -> (y: {output})"
    op(name, text, shape=unchanged, kernel=kernel, gradient=gradient, fold=fold, depth=2, **fields)


def by_input(derivative: Callable) -> Callable:
    """The gradient of an op with derivative `derivative(x)`."""

    def gradient(op: Operation, g: Tensor) -> list:
        with control_dependencies([g]):
            return [g * derivative(conjugate(op.inputs[0]))]

    return gradient


def _by_result(derivative: Callable) -> Callable:
    """The gradient of an op from `derivative(y, g)` of its result."""

    def gradient(op: Operation, g: Tensor) -> list:
        with control_dependencies([g]):
            return [derivative(conjugate(op.outputs[0]), g)]

    return gradient


def _zeros(op: Operation, g: Tensor) -> list:
    return [zeros(shape(op.inputs[0]), op.inputs[0].dtype)]


# ---- kernels ----


def _reciprocal(x):
    return lax.div(x.dtype.type(1), x)


def _reciprocal_numpy(x):
    return np.divide(x.dtype.type(1), x) if x.dtype.kind in "fcV" else _truncated_reciprocal(x)


def _truncated_reciprocal(x):
    return np.where(np.abs(x) == 1, x, 0).astype(x.dtype)


def _sign(x):
    if x.dtype.kind in "iuc":
        return lax.sign(x)
    zero = x.dtype.type(0)
    positive, negative = (lax.convert_element_type(compare(x, zero), x.dtype) for compare in (lax.gt, lax.lt))
    return lax.sub(positive, negative)


def _round(x):
    return x if x.dtype.kind in "iu" else lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


def _round_by_floor(x):
    """The nearest integer, halves to the even one; 0 and not -0 for negative numbers, as 1.15 adds to the floor."""
    rounded = _round(x)
    if x.dtype.kind in "iuc":
        return rounded
    zero = lax.full_like(x, 0)
    return lax.select(lax.bitwise_and(lax.eq(rounded, zero), lax.ne(x, zero)), zero, rounded)


def _round_by_floor_numpy(x):
    if x.dtype.kind in "iuc":
        return x if x.dtype.kind in "iu" else np.rint(x)
    rounded = np.rint(x)
    return np.where((rounded == 0) & (x != 0), x.dtype.type(0), rounded)


def _square(x):
    return lax.mul(x, x)


def _is_inf(x):
    return lax.eq(lax.abs(x), x.dtype.type(np.inf))


def _is_nan(x):
    return lax.ne(x, x)


def _half_exp(x):
    """exp(x) / 2, which sinh and cosh are to the last bit for x > 20; finite also where exp(x) is not."""
    root = lax.exp(lax.mul(x, x.dtype.type(0.5)))
    return lax.mul(lax.mul(root, x.dtype.type(0.5)), root)


def _sinh(x):
    if x.dtype.kind == "c":
        return lax.sinh(x)
    size = lax.abs(x)
    return lax.select(lax.gt(size, x.dtype.type(20)), lax.mul(lax.sign(x), _half_exp(size)), lax.sinh(x))


def _cosh(x):
    if x.dtype.kind == "c":
        return lax.cosh(x)
    size = lax.abs(x)
    return lax.select(lax.gt(size, x.dtype.type(20)), _half_exp(size), lax.cosh(x))


# ---- derivatives ----


def _square_grad(op: Operation, g: Tensor) -> list:
    with control_dependencies([g]):
        x = conjugate(op.inputs[0])
        return [raw.Mul(g, raw.Mul(x, constant(2.0, dtype=x.dtype)))]


def _one(x: Any) -> Tensor:
    return constant(1, dtype=x.dtype)


def _sine_of_angle(x: TensorLike) -> Tensor:
    """cos(asin(x)) = sqrt(1 - x * x)."""
    squared = raw.Square(x)
    return raw.Reciprocal(raw.Sqrt(raw.Sub(_one(x), squared)))


def _of_squared(combine: str) -> Callable:
    """1 / combine(1, x * x)."""

    def derivative(x: TensorLike) -> Tensor:
        squared = raw.Square(x)
        return raw.Reciprocal(raw.function(combine)(_one(x), squared))

    return derivative


def _negated_by_input(derivative: Callable) -> Callable:
    """The gradient of an op with derivative `-derivative(x)`."""

    def gradient(op: Operation, g: Tensor) -> list:
        with control_dependencies([g]):
            x = conjugate(op.inputs[0])
            slope = derivative(x)
            return [-g * slope]

    return gradient


def _cos_grad(op: Operation, g: Tensor) -> list:
    with control_dependencies([g]):
        x = conjugate(op.inputs[0])
        return [-g * raw.Sin(x)]


def _tan_grad(op: Operation, g: Tensor) -> list:
    with control_dependencies([g]):
        return [raw.Square(raw.Reciprocal(raw.Cos(conjugate(op.inputs[0])))) * g]


def _by_output(grad_op: str) -> Callable:
    """The gradient that TensorFlow's op type `grad_op` computes of (y, dy)."""
    return lambda op, g: [raw.function(grad_op)(op.outputs[0], g)]


_unary("Abs", _REAL_SIGNED, lax.abs, lambda op, g: [g * raw.Sign(op.inputs[0])], np.abs)
_unary("Neg", _SIGNED, lax.neg, lambda op, g: [-g], np.negative, exact=True, facts=Facts(scales_rows=True))
_unary("Reciprocal", _SIGNED, _reciprocal, _by_output("ReciprocalGrad"), _reciprocal_numpy)
_unary("Inv", _SIGNED, _reciprocal, _by_output("ReciprocalGrad"), _reciprocal_numpy)
_unary("Square", _SIGNED, _square, _square_grad, np.square)
_unary("Sqrt", _INEXACT, lax.sqrt, _by_output("SqrtGrad"), np.sqrt)
_unary("Rsqrt", _INEXACT, lax.rsqrt, _by_output("RsqrtGrad"), near=lambda x: x.dtype.type(1) / np.sqrt(x))
_unary("Exp", _INEXACT, lax.exp, _by_result(lambda y, g: g * y), exact=True, near=np.exp)
_unary("Expm1", _INEXACT, lax.expm1, by_input(lambda x: raw.Exp(x)))
_unary("Log", _INEXACT, lax.log, by_input(lambda x: raw.Reciprocal(x)), near=np.log)
_unary("Log1p", _INEXACT, lax.log1p, by_input(lambda x: raw.Reciprocal(1 + x)), near=np.log1p)
_unary("Sin", _INEXACT, lax.sin, by_input(lambda x: raw.Cos(x)), near=np.sin)
_unary("Cos", _INEXACT, lax.cos, _cos_grad, near=np.cos)
_unary("Tan", _SIGNED, lax.tan, _tan_grad)
_unary("Asin", _SIGNED, lax.asin, by_input(_sine_of_angle))
_unary("Acos", _SIGNED, lax.acos, _negated_by_input(_sine_of_angle))
_unary("Atan", _SIGNED, lax.atan, by_input(_of_squared("Add")))
_unary("Sinh", _INEXACT, _sinh, by_input(lambda x: raw.Cosh(x)))
_unary("Cosh", _INEXACT, _cosh, by_input(lambda x: raw.Sinh(x)))
_unary("Tanh", _INEXACT, lax.tanh, _by_result(lambda y, g: raw.TanhGrad(y, g)), near=np.tanh)
_unary("Asinh", _INEXACT, lax.asinh, _by_result(lambda y, g: g / raw.Cosh(y)))
_unary("Acosh", _INEXACT, lax.acosh, _by_result(lambda y, g: g / raw.Sinh(y)))
_unary("Atanh", _INEXACT, lax.atanh, by_input(_of_squared("Sub")))
_unary("Sigmoid", _INEXACT, lax.logistic, _by_result(lambda y, g: raw.SigmoidGrad(y, g)), exact=True, near=lambda x: x.dtype.type(1) / (x.dtype.type(1) + np.exp(-x)))
_unary("Sign", _SIGNED, _sign, _zeros)
_unary("Floor", "{" + FLOATS + "}", lax.floor, _ROUNDING, np.floor)
_unary("Ceil", "{" + FLOATS + "}", lax.ceil, _ROUNDING, np.ceil)
_unary("Rint", "{" + FLOATS + "}", _round, _ROUNDING, np.rint)
_unary("Round", _SIGNED, _round_by_floor, _ROUNDING, _round_by_floor_numpy)
_unary("IsNan", "{" + FLOATS + "}", _is_nan, _PREDICATE, np.isnan, "bool")
_unary("IsInf", "{" + FLOATS + "}", _is_inf, _PREDICATE, np.isinf, "bool")
_unary("IsFinite", "{" + FLOATS + "}", lax.is_finite, _PREDICATE, np.isfinite, "bool")


# ---- the op types of gradients ----


def _gradient_op(name: str, kernel: Callable, gradient: Callable, near: Callable | None = None) -> None:
    text = f"(y: T, dy: T, *, T: {_INEXACT}) -> (z: T)"
    op(name, text, shape=unchanged, kernel=kernel, gradient=gradient, depth=2, near=near)


def _tanh_grad(y, dy):
    return lax.mul(dy, lax.sub(y.dtype.type(1), lax.mul(y, y)))


def _tanh_grad_grad(op: Operation, g: Tensor) -> list:
    with control_dependencies([g]):
        y, dy = (conjugate(t) for t in op.inputs)
        return [g * -2.0 * dy * y, raw.TanhGrad(y, g)]


def _sigmoid_grad(y, dy):
    return lax.mul(dy, lax.mul(y, lax.sub(y.dtype.type(1), y)))


def _sigmoid_grad_grad(op: Operation, g: Tensor) -> list:
    with control_dependencies([g]):
        y, dy = (conjugate(t) for t in op.inputs)
        product = g * dy
        return [product - 2.0 * product * y, raw.SigmoidGrad(y, g)]


def _conj(y):
    return lax.conj(y) if y.dtype.kind == "c" else y


def _zero_for_zero(gradient: Callable) -> Callable:
    """The kernel `gradient(y, dy)` with 0 where `dy` is 0, whatever `y` is: zero and infinity make no NaN of it."""

    def kernel(y, dy):
        zero = lax.full_like(dy, 0)
        return lax.select(lax.eq(dy, zero), zero, gradient(y, dy))

    return kernel


@_zero_for_zero
def _sqrt_grad(y, dy):
    return lax.div(lax.mul(dy, y.dtype.type(0.5)), _conj(y))


def _sqrt_grad_grad(op: Operation, g: Tensor) -> list:
    y, z = op.inputs[0], op.outputs[0]
    with control_dependencies([g]):
        quotient = g / y
        return [-conjugate(quotient) * z, 0.5 * quotient]


@_zero_for_zero
def _rsqrt_grad(y, dy):
    y = _conj(y)
    return lax.mul(lax.mul(y.dtype.type(-0.5), dy), lax.mul(y, lax.mul(y, y)))


def _rsqrt_grad_grad(op: Operation, g: Tensor) -> list:
    with control_dependencies([g]):
        y, conjugated = conjugate(op.inputs[0]), conjugate(g)
        return [-1.5 * conjugated * op.inputs[1] * raw.Square(y), raw.RsqrtGrad(y, g)]


@_zero_for_zero
def _reciprocal_grad(y, dy):
    y = _conj(y)
    return lax.neg(lax.mul(dy, lax.mul(y, y)))


def _reciprocal_grad_grad(op: Operation, g: Tensor) -> list:
    with control_dependencies([g]):
        y, conjugated = conjugate(op.inputs[0]), conjugate(g)
        return [conjugated * -2.0 * op.inputs[1] * y, raw.ReciprocalGrad(y, g)]


_gradient_op("TanhGrad", _tanh_grad, _tanh_grad_grad, lambda y, dy: dy * (y.dtype.type(1) - y * y))
_gradient_op("SigmoidGrad", _sigmoid_grad, _sigmoid_grad_grad, lambda y, dy: dy * (y * (y.dtype.type(1) - y)))
_gradient_op("SqrtGrad", _sqrt_grad, _sqrt_grad_grad)
_gradient_op("RsqrtGrad", _rsqrt_grad, _rsqrt_grad_grad)
_gradient_op("ReciprocalGrad", _reciprocal_grad, _reciprocal_grad_grad)
_gradient_op("InvGrad", _reciprocal_grad, _reciprocal_grad_grad)


# ---- public functions ----


def unary_function(name: str, op_type: str, doc: str) -> Callable:
    """The public function `name(x, name=None)` that adds one node of `op_type`."""
    apply = raw.function(op_type)

    def function(x, name=None):
        return apply(x, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}, element by element; a Tensor of the shape of `x`."
    return function


negative = export("negative", "math.negative")(unary_function("negative", "Neg", "-x"))
reciprocal = export("reciprocal", "math.reciprocal")(unary_function("reciprocal", "Reciprocal", "1 / x"))
square = export("square", "math.square")(unary_function("square", "Square", "x * x"))
sqrt = export("sqrt", "math.sqrt")(unary_function("sqrt", "Sqrt", "The square root"))
rsqrt = export("rsqrt", "math.rsqrt")(unary_function("rsqrt", "Rsqrt", "1 / sqrt(x)"))
exp = export("exp", "math.exp")(unary_function("exp", "Exp", "e to the power x"))
expm1 = export("expm1", "math.expm1")(unary_function("expm1", "Expm1", "exp(x) - 1"))
log = export("log", "math.log")(unary_function("log", "Log", "The natural logarithm"))
log1p = export("log1p", "math.log1p")(unary_function("log1p", "Log1p", "log(1 + x)"))
sin = export("sin", "math.sin")(unary_function("sin", "Sin", "The sine of x radians"))
cos = export("cos", "math.cos")(unary_function("cos", "Cos", "The cosine of x radians"))
tan = export("tan", "math.tan")(unary_function("tan", "Tan", "The tangent of x radians"))
asin = export("asin", "math.asin")(unary_function("asin", "Asin", "The inverse sine in radians"))
acos = export("acos", "math.acos")(unary_function("acos", "Acos", "The inverse cosine in radians"))
atan = export("atan", "math.atan")(unary_function("atan", "Atan", "The inverse tangent in radians"))
sinh = export("sinh", "math.sinh")(unary_function("sinh", "Sinh", "The hyperbolic sine"))
cosh = export("cosh", "math.cosh")(unary_function("cosh", "Cosh", "The hyperbolic cosine"))
tanh = export("tanh", "math.tanh", "nn.tanh")(unary_function("tanh", "Tanh", "The hyperbolic tangent"))
asinh = export("asinh", "math.asinh")(unary_function("asinh", "Asinh", "The inverse hyperbolic sine"))
acosh = export("acosh", "math.acosh")(unary_function("acosh", "Acosh", "The inverse hyperbolic cosine"))
atanh = export("atanh", "math.atanh")(unary_function("atanh", "Atanh", "The inverse hyperbolic tangent"))
sign = export("sign", "math.sign")(unary_function("sign", "Sign", "-1, 0 or 1 by the sign of x; x / |x| where complex"))
floor = export("floor", "math.floor")(unary_function("floor", "Floor", "The largest integer not above x"))
ceil = export("ceil", "math.ceil")(unary_function("ceil", "Ceil", "The smallest integer not below x"))
rint = export("rint", "math.rint")(unary_function("rint", "Rint", "The nearest integer, halves to the even one"))
is_nan = export("is_nan", "math.is_nan", "debugging.is_nan")(unary_function("is_nan", "IsNan", "Whether x is NaN"))
is_inf = export("is_inf", "math.is_inf", "debugging.is_inf")(unary_function("is_inf", "IsInf", "Whether x is infinite"))
is_finite = export("is_finite", "math.is_finite", "debugging.is_finite")(
    unary_function("is_finite", "IsFinite", "Whether x is neither infinite nor NaN")
)


@export("abs", "math.abs")
def absolute(x, name=None):
    """|x|, element by element; a real Tensor of the shape of `x`, which may be complex."""
    with name_scope(name, "Abs", [x]) as scope:
        x = to_tensor(x, name="x")
        if x.dtype.is_complex:
            return raw.ComplexAbs(x, Tout=x.dtype.real_dtype, name=scope)
        return raw.Abs(x, name=scope)


absolute.__name__ = "abs"


@export("round", "math.round")
def round_half_to_even(x, name=None):
    """The nearest integer, halves to the even one; integers are returned as they are."""
    x = to_tensor(x, name="x")
    return x if x.dtype.is_integer else raw.Round(x, name=name)


round_half_to_even.__name__ = "round"


@export("sigmoid", "math.sigmoid", "nn.sigmoid")
def sigmoid(x, name=None):
    """1 / (1 + exp(-x)), element by element; a Tensor of the shape of `x`."""
    with name_scope(name, "Sigmoid", [x]) as scope:
        return raw.Sigmoid(to_tensor(x, name="x"), name=scope)


@export("log_sigmoid", "math.log_sigmoid")
def log_sigmoid(x, name=None):
    """log(1 / (1 + exp(-x))), computed without overflow as -softplus(-x); a Tensor of the shape of `x`."""
    with name_scope(name, "LogSigmoid", [x]) as scope:
        x = to_tensor(x, name="x")
        return raw.Neg(raw.Softplus(raw.Neg(x)), name=scope)


@export("math.reciprocal_no_nan")
def reciprocal_no_nan(x, name=None):
    """1 / x, and 0 where `x` is 0, element by element."""
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        x = to_tensor(x, name="x")
        return raw.DivNoNan(to_tensor(1, x.dtype.base_dtype, "one"), x, name=scope)
