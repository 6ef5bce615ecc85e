"""Transcendental functions by NumPy and SciPy, with XLA's values at poles and infinities; small floats are computed in float32 and rounded once."""

from __future__ import annotations

import jax
import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.jax_compat import igamma_grad_a_impl, x64
from tfcompat._src.base.on_demand import special
from tfcompat._src.interpreter.evaluator import Evaluator
from tfcompat._src.interpreter.table import TABLE, Equation, Prepare, ToArray, is_small_float, primitive, wide


def _exp(x: NDArray) -> NDArray:
    """Exponential function, rounded once: NumPy's float32 loop errs by up to 3 units in the last place.

    Graphs with folded constants, which other code computes, would show the difference.
    """
    return np.exp(x, dtype=np.float64).astype(x.dtype) if x.dtype == np.float32 else np.exp(x)


def _of_scipy(name: str) -> ToArray:
    """Returns a function of `scipy.special`, which is imported on the first call."""
    return lambda *args: getattr(special, name)(*args)


def _odd(function: ToArray) -> ToArray:
    """Returns an odd function that keeps the sign of zero."""
    return lambda x: np.copysign(function(x), x)


def _lgamma(x: NDArray) -> NDArray:
    return np.where(np.isinf(x), np.abs(x), special.gammaln(x))


def _digamma(x: NDArray) -> NDArray:
    return np.where((x <= 0) & (x == np.floor(x)), np.nan, special.digamma(x))


def _igamma(function: ToArray, at_infinities: float, near_zero: float) -> ToArray:
    """Returns a regularized incomplete gamma function with XLA's values where SciPy's differ: infinite `a`, and `a` = 0 with x in (0, 1)."""
    def regularized(a: NDArray, x: NDArray) -> NDArray:
        value = np.where(np.isposinf(a) & (x >= 1), np.where(np.isinf(x), at_infinities, np.nan), function(a, x))
        return np.where((a == 0) & (x > 0) & (x < 1), near_zero, value)

    return regularized


def _zeta(x: NDArray, q: NDArray) -> NDArray:
    """Hurwitz zeta function. At poles q = 0, -1, ... it is inf for even x and NaN for odd or fractional x, as in XLA."""
    # scipy.special.zeta is inf at every pole.
    # zeta(x, q) for q = 0, -1, ...: the sum has an infinite term, whose sign is defined for even x only.
    at_poles = np.where((x == 1) | (x % 2 == 0), np.inf, np.nan)
    value = np.where((q <= 0) & (q == np.floor(q)), at_poles, special.zeta(x, q))
    return np.where(np.isfinite(x) & ((q < np.inf) | (x <= 1)), value, np.nan)


def _polygamma(n: NDArray, x: NDArray) -> NDArray:
    """Polygamma function by the zeta function: (-1)**(n + 1) * n! * zeta(n + 1, x); NaN unless n is a natural number."""
    # The sign alternates with n. For n = 0, digamma, the series diverges.
    size = special.gamma(n + 1) * _zeta(n + 1, x)
    value = np.where(n == 0, _digamma(x), np.where(n % 2 == 0, -size, size))
    return np.where((n >= 0) & (n == np.floor(n)), value, np.nan)


_FUNCTIONS: dict[str, ToArray] = {
    "exp": _exp, "exp2": np.exp2, "log2": np.log2, "log1p": np.log1p, "expm1": np.expm1, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "atan2": np.arctan2, "cbrt": np.cbrt, "pow": np.power, "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": _of_scipy("erf"), "erfc": _of_scipy("erfc"), "erf_inv": _odd(_of_scipy("erfinv")), "digamma": _digamma, "lgamma": _lgamma,
    "igamma": _igamma(_of_scipy("gammainc"), 1.0, np.nan), "igammac": _igamma(_of_scipy("gammaincc"), 0.0, 0.0),
    "polygamma": _polygamma, "zeta": _zeta, "bessel_i0e": _of_scipy("i0e"), "bessel_i1e": _odd(_of_scipy("i1e")),
    "regularized_incomplete_beta": _of_scipy("betainc"),
}  # fmt: skip


def _in_float32(function: ToArray) -> Prepare:
    """Returns the preparation of a function that computes small floats in float32; a ufunc with a loop for the dtype is used directly."""
    def prepared(e: Equation) -> ToArray:
        dtype = e.dtype
        if is_small_float(dtype):
            return lambda *args: np.asarray(function(*[a.astype(np.float32) for a in args])).astype(dtype)
        # Other functions may compute in float64 or return a scalar: their result is cast.
        if isinstance(function, np.ufunc) and f"{dtype.char * function.nin}->{dtype.char}" in function.types:
            return function
        return lambda *args: np.asarray(function(*args)).astype(dtype, copy=False)

    return prepared


TABLE.update({name: _in_float32(function) for name, function in _FUNCTIONS.items()})
TABLE["logistic"] = lambda e: lambda x: 1 / (1 + np.exp(-x))  # in the dtype itself: XLA rounds after each step, of small floats too


@primitive("igamma_grad_a")
def igamma_grad_a(e: Equation) -> ToArray:
    """Derivative of igamma by its parameter, which SciPy lacks: JAX's series and continued fractions are traced and interpreted."""
    dtype, inside = e.dtype, wide(e.dtype)
    shapes = [jax.ShapeDtypeStruct(i.shape, inside) for i in e.inputs]
    # Traced once for these shapes, with 64-bit types enabled so that float64 stays float64.
    with x64():
        run = Evaluator(jax.make_jaxpr(lambda a, x: igamma_grad_a_impl(a, x, dtype=inside))(*shapes)).run
    return lambda a, x: run([a.astype(inside, copy=False), x.astype(inside, copy=False)])[0].astype(dtype, copy=False)
