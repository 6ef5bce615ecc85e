"""Special functions: error function, gamma, beta, zeta, Bessel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.shape_inference import broadcast_inputs, merge, unchanged
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.math.binary import full, repeated
from tfcompat._src.ops.math.broadcast_gradient import summed
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import FLOATS, absolute, by_input, exp, unary_function

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext
    from tfcompat._src.graph.tensor import Tensor

_TWO_OVER_SQRT_PI = 2 / np.sqrt(np.pi)


def _unary(name: str, kernel: Callable, gradient: Callable) -> None:
    op(name, "(x: T, *, T: {" + FLOATS + "}) -> (y: T)", shape=unchanged, kernel=kernel, gradient=gradient, depth=2)


def _erf_grad(sign: int) -> Callable:
    def gradient(op: Operation, g: Tensor) -> list:
        factor = constant(sign * _TWO_OVER_SQRT_PI, dtype=g.dtype)
        with control_dependencies([g]):
            x = op.inputs[0]
            return [g * factor * raw.Exp(-raw.Square(x))]

    return gradient


def _i0e_grad(op: Operation, g: Tensor) -> list:
    x, y = op.inputs[0], op.outputs[0]
    with control_dependencies([g]):
        return [g * (raw.BesselI1e(x) - raw.Sign(x) * y)]


def _i1e_grad(op: Operation, g: Tensor) -> list:
    """At 0, where the formula divides by it, the derivative is 1 / 2."""
    x, y = op.inputs[0], op.outputs[0]
    with control_dependencies([g]):
        tiny = np.finfo(x.dtype.as_numpy_dtype).eps
        nothing = zeros_like(x)
        is_large = raw.Abs(x) > tiny
        safe = raw.Select(is_large, x, tiny + nothing)
        slope = raw.BesselI0e(safe) - y * (raw.Sign(safe) + raw.Reciprocal(safe))
        return [g * raw.Select(is_large, slope, 0.5 + nothing)]


def _is_pole(x):
    return (x <= 0) & (x == lax.floor(x))


def _choose(cases: list, otherwise: Any) -> Any:
    """For each element the value of the first of `cases` (condition, value) that holds there, else `otherwise`."""
    for condition, value in reversed(cases):
        otherwise = lax.select(condition, lax.full_like(otherwise, value), otherwise)
    return otherwise


def _digamma(x):
    """Infinity at the poles, 0 and the negative integers."""
    return _choose([(_is_pole(x), np.inf)], lax.digamma(x))


def _bessel_i1e(x):
    """An odd function, but for -0, of which it is 0."""
    return _choose([(x == 0, 0)], lax.bessel_i1e(x))


# Where both arguments are larger, JAX's series of the incomplete gamma function takes longer than anybody waits.
_LARGEST = 1e12


def in_gamma_domain(function: Callable) -> Callable:
    """`function(a, x)` for a > 0 and x >= 0, and not a number elsewhere or where both are finite and large: 1.15's series do not converge there."""

    def kernel(a, x):
        outside = ~((a > 0) & (x >= 0)) | (a > _LARGEST) & (x > _LARGEST) & (x < np.inf)
        one = lax.full_like(x, 1)
        return _choose([(outside, np.nan)], function(lax.select(outside, one, a), lax.select(outside, one, x)))

    return kernel


def _igamma(a, x):
    """Zero where `x` is, for every `a`; not a number for infinite `a` where x >= 1, of which versions of JAX think differently."""
    return _choose([(x == 0, 0), ((a == np.inf) & (x >= 1), np.nan)], in_gamma_domain(lax.igamma)(a, x))


def _igammac(a, x):
    """One less `_igamma`, but 0 where both are infinite, and not a number for every `x` unless a > 0."""
    cases = [(~(a > 0), np.nan), (x == 0, 1), ((a == np.inf) & (x == np.inf), 0), ((a == np.inf) & (x >= 1), np.nan)]
    return _choose(cases, in_gamma_domain(lax.igammac)(a, x))


def _igamma_grad_a(a, x):
    """Zero where `x` is, for every `a`, and where `x` is infinite and `a` is not."""
    return _choose([(x == 0, 0), (a == np.inf, np.nan), ((a > 0) & (x == np.inf), -0.0)], in_gamma_domain(lax.igamma_grad_a)(a, x))


def _zeta(x, q):
    """Not a number for x < 1, infinity for x = 1, at the poles of q, and for infinite `x` where q < 1."""
    is_infinite = (x == 1) | (q <= 0) & (q == lax.floor(q)) | (x == np.inf) & (q < 1)
    is_one = (x == np.inf) & (q == 1)
    return _choose([(x < 1, np.nan), (is_infinite, np.inf), (is_one, 1)], lax.zeta(x, q))


def _polygamma(n, x):
    """Digamma for n = 0, not a number for other n below 1 or between integers, or where n! is infinite and zeta(n + 1, x) is not."""
    at_zero = lax.select(n == 0, _digamma(x), lax.polygamma(n, x))
    is_huge = n > _LARGEST
    is_infinite = is_huge & (x <= 1) | (n > 0) & (n == lax.floor(n)) & _is_pole(x)
    return _choose([(is_infinite, np.inf), (is_huge, np.nan)], at_zero)


_unary("Erf", lax.erf, _erf_grad(1))
_unary("Erfc", lax.erfc, _erf_grad(-1))
_unary("Lgamma", lax.lgamma, by_input(lambda x: raw.Digamma(x)))
_unary("Digamma", _digamma, by_input(lambda x: raw.Polygamma(constant(1, dtype=x.dtype), x)))
_unary("BesselI0e", lax.bessel_i0e, _i0e_grad)
_unary("BesselI1e", _bessel_i1e, _i1e_grad)


def _binary(name: str, first: str, second: str, function: Callable, gradient: Any, **fields: Any) -> None:
    def kernel(a, x):
        return function(*repeated(a, x))

    text = f"({first}: T, {second}: T, *, T: {{float32, float64}}) -> (z: T)"
    op(name, text, shape=broadcast_inputs, kernel=kernel, gradient=gradient, depth=2, **fields)


def _igamma_grad(op: Operation, g: Tensor) -> list:
    a, x = op.inputs
    to_a, to_x = summed(shape(a), shape(x))
    with control_dependencies([g]):
        by_a = raw.IgammaGradA(a, x)
        by_x = raw.Exp(-x + (a - 1) * raw.Log(x) - raw.Lgamma(a))
        return [to_a(by_a * g), to_x(by_x * g)]


def _igammac_grad(op: Operation, g: Tensor) -> list:
    return [-grad for grad in _igamma_grad(op, g)]


def _polygamma_grad(op: Operation, g: Tensor) -> list:
    n, x = op.inputs
    _, to_x = summed(shape(n), shape(x))
    with control_dependencies([g]):
        return [None, to_x(raw.Polygamma(n + 1, x) * g)]


def _zeta_grad(op: Operation, g: Tensor) -> list:
    x, q = op.inputs
    _, to_q = summed(shape(x), shape(q))
    with control_dependencies([g]):
        return [None, to_q(-x * raw.Zeta(x + 1, q) * g)]


_binary("Igamma", "a", "x", _igamma, _igamma_grad)
_binary("Igammac", "a", "x", _igammac, _igammac_grad)
_binary("IgammaGradA", "a", "x", _igamma_grad_a, NotDifferentiable("no gradient is defined", raises=True))
_binary("Polygamma", "a", "x", _polygamma, _polygamma_grad)
_binary("Zeta", "x", "q", _zeta, _zeta_grad)


# ---- Betainc ----


def _betainc_shape(c: InferenceContext) -> list:
    known = [s for s in c.inputs if s is not None and len(s)]
    merged = None
    for sizes in known:
        merged = merge(merged, sizes)
    return [merged if known or None in c.inputs else ()]


def _betainc_grad(op: Operation, g: Tensor) -> list:
    a, b, x = op.inputs
    _, to_x = summed(shape(a), shape(x))
    log_beta = raw.Lgamma(a) + raw.Lgamma(b) - raw.Lgamma(a + b)
    slope = raw.Exp((b - 1) * raw.Log(1 - x) + (a - 1) * raw.Log(x) - log_beta)
    return [None, None, to_x(slope * g)]


@op("Betainc", "(a: T, b: T, x: T, *, T: {float32, float64}) -> (z: T)", shape=_betainc_shape, gradient=_betainc_grad)
def _betainc(a, b, x):
    for (name, one), (other_name, other) in (("a", a), ("b", b)), (("b", b), ("x", x)), (("a", a), ("x", x)):
        if one.ndim and other.ndim and one.shape != other.shape:
            raise errors.InvalidArgumentError(
                None, None,
                f"Shapes of {name} and {other_name} are inconsistent: {shape_text(one.shape)} vs. "
                f"{shape_text(other.shape)}",
            )  # fmt: skip
    shape = np.broadcast_shapes(a.shape, b.shape, x.shape)
    dtype = x.dtype
    # In float32 the continued fraction loses up to two digits where a or b is large.
    a, b, x = (lax.convert_element_type(full(v, shape), np.float64) for v in (a, b, x))
    return lax.convert_element_type(_choose([(~((a > 0) & (b > 0)), np.nan)], lax.betainc(a, b, x)), dtype)


# ---- public functions ----


erf = export("erf", "math.erf")(unary_function("erf", "Erf", "The error function"))
erfc = export("erfc", "math.erfc")(unary_function("erfc", "Erfc", "1 - erf(x)"))
lgamma = export("lgamma", "math.lgamma")(unary_function("lgamma", "Lgamma", "log |gamma(x)|"))
digamma = export("digamma", "math.digamma")(unary_function("digamma", "Digamma", "The derivative of lgamma"))
bessel_i0e = export("math.bessel_i0e")(
    unary_function("bessel_i0e", "BesselI0e", "exp(-|x|) times the modified Bessel function of the first kind of order 0")
)
bessel_i1e = export("math.bessel_i1e")(
    unary_function("bessel_i1e", "BesselI1e", "exp(-|x|) times the modified Bessel function of the first kind of order 1")
)


@export("math.bessel_i0")
def bessel_i0(x, name=None):
    """The modified Bessel function of the first kind of order 0, element by element."""
    with name_scope(name, "bessel_i0", [x]):
        return exp(absolute(x)) * bessel_i0e(x)


@export("math.bessel_i1")
def bessel_i1(x, name=None):
    """The modified Bessel function of the first kind of order 1, element by element."""
    with name_scope(name, "bessel_i1", [x]):
        return exp(absolute(x)) * bessel_i1e(x)


@export("igamma", "math.igamma")
def igamma(a, x, name=None):
    """The lower regularized incomplete gamma function P(a, x), element by element with broadcasting."""
    return raw.Igamma(a, x, name=name)


@export("igammac", "math.igammac")
def igammac(a, x, name=None):
    """The upper regularized incomplete gamma function Q(a, x), element by element with broadcasting."""
    return raw.Igammac(a, x, name=name)


@export("polygamma", "math.polygamma")
def polygamma(a, x, name=None):
    """The derivative of order `a` of digamma at `x`, element by element with broadcasting."""
    return raw.Polygamma(a, x, name=name)


@export("zeta", "math.zeta")
def zeta(x, q, name=None):
    """The Hurwitz zeta function, the sum of (q + n) to the power -x, element by element with broadcasting."""
    return raw.Zeta(x, q, name=name)


@export("betainc", "math.betainc")
def betainc(a, b, x, name=None):
    """The regularized incomplete beta function I_x(a, b), element by element; scalars meet any shape."""
    return raw.Betainc(a, b, x, name=name)


@export("lbeta", "math.lbeta")
def lbeta(x, name=None):
    """log |Beta(x)| over the last dimension: the sum of lgamma(x) minus lgamma of the sum.

    Args:
      x: a Tensor [..., n] of a floating type.
      name: node name.

    Returns:
      a Tensor [...].
    """
    with name_scope(name, "lbeta", [x]):
        x = to_tensor(x, name="x")
        total = reduce_sum(lgamma(x), axis=[-1])
        return total - lgamma(reduce_sum(x, axis=[-1]))
