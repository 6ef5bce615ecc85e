"""The normal distribution function, its logarithm and inverse, and that of the Laplace distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import fill, zeros_like
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.math.binary import maximum, minimum
from tfcompat._src.ops.math.compare import greater, less
from tfcompat._src.ops.math.special import erf, erfc
from tfcompat._src.ops.math.unary import absolute, exp, log, log1p, sqrt, square

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

LOGNDTR_FLOAT64_LOWER = np.array(-20, np.float64)
LOGNDTR_FLOAT32_LOWER = np.array(-10, np.float32)
LOGNDTR_FLOAT64_UPPER = np.array(8, np.float64)
LOGNDTR_FLOAT32_UPPER = np.array(5, np.float32)

_CENTRE = (
    (-1.23916583867381258016e0, 1.39312609387279679503e1, -5.66762857469070293439e1, 9.80010754185999661536e1,
     -5.99633501014107895267e1),
    (-1.18331621121330003142e0, 1.59056225126211695515e1, -8.20372256168333339912e1, 2.00260212380060660359e2,
     -2.25462687854119370527e2, 8.63602421390890590575e1, 4.67627912898881538453e0, 1.95448858338141759834e0, 1.0),
)  # fmt: skip
_TAIL = (
    (-8.57456785154685413611e-4, -3.50424626827848203418e-2, -1.40256079171354495875e-1, 2.18663306850790267539e0,
     1.46849561928858024014e1, 4.40805073893200834700e1, 5.71628192246421288162e1, 3.15251094599893866154e1,
     4.05544892305962419923e0),
    (-9.33259480895457427372e-4, -3.80806407691578277194e-2, -1.42182922854787788574e-1, 2.50464946208309415979e0,
     1.50425385692907503408e1, 4.13172038254672030440e1, 4.53907635128879210584e1, 1.57799883256466749731e1, 1.0),
)  # fmt: skip
_FAR_TAIL = (
    (6.23974539184983293730e-9, 2.65806974686737550832e-6, 3.01581553508235416007e-4, 1.23716634817820021358e-2,
     2.01485389549179081538e-1, 1.33303460815807542389e0, 3.93881025292474443415e0, 6.91522889068984211695e0,
     3.23774891776946035970e0),
    (6.79019408009981274425e-9, 2.89247864745380683936e-6, 3.28014464682127739104e-4, 1.34204006088543189037e-2,
     2.16236993594496635890e-1, 1.37702099489081330271e0, 3.67983563856160859403e0, 6.02427039364742014255e0, 1.0),
)  # fmt: skip
"""Numerators and denominators of the rational approximations of ndtri in the Cephes library, lowest power first."""


def _float_tensor(x: TensorLike, name: str) -> Tensor:
    x = convert_to_tensor(x, name=name)
    if x.dtype.as_numpy_dtype not in (np.float32, np.float64):
        raise TypeError(f"{name}.dtype={x.dtype} is not handled, see docstring for supported types.")
    return x


def ndtr(x: TensorLike, name: str = "ndtr") -> Tensor:
    """The standard normal distribution function of float32 or float64 `x`; TypeError for another dtype."""
    with name_scope(name, values=[x]):
        return _ndtr(_float_tensor(x, "x"))


def _ndtr(x: Tensor) -> Tensor:
    half_sqrt_2 = constant(0.5 * np.sqrt(2.0), dtype=x.dtype, name="half_sqrt_2")
    w = x * half_sqrt_2
    z = absolute(w)
    is_near, near = less(z, half_sqrt_2), 1.0 + erf(w)
    is_above, above = greater(w, 0.0), 2.0 - erfc(z)
    return 0.5 * where_v2(is_near, near, where_v2(is_above, above, erfc(z)))


def ndtri(p: TensorLike, name: str = "ndtri") -> Tensor:
    """The inverse of `ndtr`: infinite at 0 and 1."""
    with name_scope(name, values=[p]):
        return _ndtri(_float_tensor(p, "p"))


def _polynomial(x: Tensor, coefficients: np.ndarray) -> Tensor:
    """Horner's scheme; coefficients begin with that of power 0."""
    if not coefficients.size:
        return zeros_like(x)
    return coefficients[0] + _polynomial(x, coefficients[1:]) * x


def _ratio(of: Callable[[], Tensor], parts: tuple) -> Tensor:
    """The ratio of two polynomials of `of()`."""
    top, bottom = (_polynomial(x, np.array(each, x.dtype.as_numpy_dtype)) for each in parts for x in (of(),))
    return top / bottom


def _ndtri(p: Tensor) -> Tensor:
    dtype = p.dtype.as_numpy_dtype
    folded = where_v2(p > -np.expm1(-2.0), 1.0 - p, p)
    is_zero, half = folded <= 0.0, fill(shape(p), np.array(0.5, dtype))
    safe = where_v2(is_zero, half, folded)
    w = safe - 0.5
    ww = w**2
    centre = (w + w * ww * _ratio(lambda: ww, _CENTRE)) * -np.sqrt(2.0 * np.pi)
    z = sqrt(-2.0 * log(safe))
    first = z - log(z) / z
    far = _ratio(lambda: 1.0 / z, _FAR_TAIL) / z
    near = _ratio(lambda: 1.0 / z, _TAIL) / z
    far, near = first - far, first - near
    x = where_v2(safe > np.exp(-2.0), centre, where_v2(z >= 8.0, far, near))
    x = where_v2(p > 1.0 - np.exp(-2.0), x, -x)
    infinity = constant(np.inf, dtype=p.dtype)
    infinity = fill(shape(p), infinity)
    return where_v2(p <= 0.0, -infinity, where_v2(p >= 1.0, infinity, x))


def log_ndtr(x: TensorLike, series_order: int = 3, name: str = "log_ndtr") -> Tensor:
    """log(ndtr(x)), by an asymptotic series where `x` is far below 0.

    Args:
      x: float32 or float64 Tensor.
      series_order: number of terms of the series, 0 to 30.
      name: name scope.

    Raises:
      TypeError: another dtype, or `series_order` is no int. ValueError: `series_order` is out of range.
    """
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if series_order < 0:
        raise ValueError("series_order must be non-negative.")
    if series_order > 30:
        raise ValueError("series_order must be <= 30.")
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        if x.dtype.as_numpy_dtype == np.float64:
            lower, upper = LOGNDTR_FLOAT64_LOWER, LOGNDTR_FLOAT64_UPPER
        elif x.dtype.as_numpy_dtype == np.float32:
            lower, upper = LOGNDTR_FLOAT32_LOWER, LOGNDTR_FLOAT32_UPPER
        else:
            raise TypeError(f"x.dtype={x.dtype} is not supported.")
        is_high, high = greater(x, upper), -_ndtr(-x)
        is_middle, middle = greater(x, lower), log(_ndtr(maximum(x, lower)))
        return where_v2(is_high, high, where_v2(is_middle, middle, _log_ndtr_lower(minimum(x, lower), series_order)))


def _log_ndtr_lower(x: Tensor, series_order: int) -> Tensor:
    scale = -0.5 * square(x) - log(-x) - 0.5 * np.log(2.0 * np.pi)
    return scale + log(_asymptotic_series(x, series_order))


def _asymptotic_series(x: Tensor, series_order: int) -> Any:
    """1 + sum over n of (-1)^n (2n - 1)!! / x^(2n)."""
    dtype = x.dtype.as_numpy_dtype
    if not series_order:
        return np.array(1, dtype)
    x_2 = square(x)
    sums = [zeros_like(x), zeros_like(x)]
    power, factorial = x_2, 1
    for n in range(1, series_order + 1):
        factorial *= 2 * n - 1
        sums[n % 2] += np.array(factorial, dtype) / power
        power *= x_2
    return 1.0 + sums[0] - sums[1]


def erfinv(x: TensorLike, name: str = "erfinv") -> Tensor:
    """The inverse of the error function."""
    with name_scope(name, values=[x]):
        return ndtri((_float_tensor(x, "x") + 1.0) / 2.0) / np.sqrt(2)


def log_cdf_laplace(x: TensorLike, name: str = "log_cdf_laplace") -> Tensor:
    """The logarithm of the distribution function of the standard Laplace distribution."""
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        lower = -np.log(2.0) + x
        upper = log1p(-0.5 * exp(-absolute(x)))
        return where_v2(x < 0.0, lower, upper)
