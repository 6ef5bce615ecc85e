"""Checks of a bijector: that its methods agree with each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.distributions.bijector import Bijector
from tfcompat._src.distributions.uniform import Uniform
from tfcompat._src.ops.math.reduce import reduce_mean
from tfcompat._src.ops.math.unary import exp
from tfcompat._src.runtime.session.session import get_default_session


def assert_finite(array: Any) -> None:
    """Fails where an element is not finite."""
    if not np.isfinite(array).all():
        raise AssertionError(f"array was not all finite. {array[:15]}")


def assert_strictly_increasing(array: Any) -> None:
    """Fails where an element is not larger than the one before it."""
    np.testing.assert_array_less(0.0, np.diff(array))


def assert_strictly_decreasing(array: Any) -> None:
    """Fails where an element is not smaller than the one before it."""
    np.testing.assert_array_less(np.diff(array), 0.0)


def assert_strictly_monotonic(array: Any) -> None:
    """Fails where the elements neither rise nor fall."""
    if array[0] < array[-1]:
        assert_strictly_increasing(array)
    else:
        assert_strictly_decreasing(array)


def assert_scalar_congruency(
    bijector: Bijector, lower_x: float, upper_x: float, n: int = 10000, rtol: float = 0.01, sess: SessionLike | None = None
) -> None:
    """Fails where a bijector of numbers is not monotonic, not inverted by its inverse, or has another derivative.

    Args:
      bijector: of numbers.
      lower_x, upper_x: the interval in which it is tried.
      n: number of samples.
      rtol: relative tolerance of the integral of the derivative.
      sess: Session, by default the default one.
    """
    sess = sess or get_default_session()
    dtype = np.float32 if bijector.dtype is None else bijector.dtype.as_numpy_dtype
    curve = bijector.forward(np.linspace(lower_x, upper_x, num=10).astype(dtype))
    lower_y, upper_y = sorted(sess.run([bijector.forward(lower_x), bijector.forward(upper_x)]))
    x = Uniform(low=lower_x, high=upper_x).sample(n, seed=0)
    y = Uniform(low=lower_y, high=upper_y).sample(n, seed=1)
    inverse_slope = exp(bijector.inverse_log_det_jacobian(y, event_ndims=0))
    slope = exp(bijector.forward_log_det_jacobian(bijector.inverse(y), event_ndims=0))
    found = sess.run({
        "curve": curve, "x": x, "y": y, "x again": bijector.inverse(bijector.forward(x)),
        "y again": bijector.forward(bijector.inverse(y)), "inverse slope": inverse_slope, "slope": slope,
        "length": (upper_y - lower_y) * reduce_mean(inverse_slope),
    })  # fmt: skip
    assert_strictly_monotonic(found["curve"])
    np.testing.assert_allclose(found["x again"], found["x"], atol=1e-5, rtol=1e-3)
    np.testing.assert_allclose(found["y again"], found["y"], atol=1e-5, rtol=1e-3)
    np.testing.assert_allclose(upper_x - lower_x, found["length"], atol=0, rtol=rtol)
    np.testing.assert_allclose(found["inverse slope"], np.divide(1.0, found["slope"]), atol=1e-5, rtol=1e-3)


def assert_bijective_and_finite(
    bijector: Bijector, x: Any, y: Any, event_ndims: int, atol: float = 0, rtol: float = 1e-5, sess: SessionLike | None = None
) -> None:
    """Fails where the methods are not finite or not inverse to each other at `x` and `y`.

    Args:
      bijector: what is tried.
      x, y: arrays of its domain and of its range.
      event_ndims: over how many dimensions log determinants are summed.
      atol, rtol: tolerances.
      sess: Session, by default the default one.
    """
    sess = sess or get_default_session()
    of_x, of_y = bijector.forward(x), bijector.inverse(y)
    found = sess.run({
        "x": bijector.inverse(of_x), "y": bijector.forward(of_y), "f(x)": of_x, "g(y)": of_y,
        "ildj f(x)": bijector.inverse_log_det_jacobian(of_x, event_ndims=event_ndims),
        "fldj x": bijector.forward_log_det_jacobian(x, event_ndims=event_ndims),
        "ildj y": bijector.inverse_log_det_jacobian(y, event_ndims=event_ndims),
        "fldj g(y)": bijector.forward_log_det_jacobian(of_y, event_ndims=event_ndims),
    })  # fmt: skip
    for each in (x, y, *found.values()):
        assert_finite(each)
    np.testing.assert_allclose(found["x"], x, atol=atol, rtol=rtol)
    np.testing.assert_allclose(found["y"], y, atol=atol, rtol=rtol)
    np.testing.assert_allclose(-found["ildj f(x)"], found["fldj x"], atol=atol, rtol=rtol)
    np.testing.assert_allclose(-found["ildj y"], found["fldj g(y)"], atol=atol, rtol=rtol)
