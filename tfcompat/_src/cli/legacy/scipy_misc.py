"""What SciPy took out of `scipy.misc`."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.cli.legacy import images


def _of(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when it is called."""
    return lambda *args, **kw: getattr(importlib.import_module(module), name)(*args, **kw)


def central_diff_weights(Np: int, ndiv: int = 1) -> np.ndarray:
    """The weights of `Np` equally spaced points around one for the `ndiv`-th derivative there."""
    if Np < ndiv + 1:
        raise ValueError("Number of points must be at least the derivative order + 1.")
    if Np % 2 == 0:
        raise ValueError("The number of points must be odd.")
    points = np.arange(Np) - Np // 2.0
    return math.factorial(ndiv) * np.linalg.solve(np.vander(points, increasing=True).T, np.eye(Np)[ndiv])


def derivative(func: Callable[..., Any], x0: float, dx: float = 1.0, n: int = 1, args: tuple = (), order: int = 3) -> Any:
    """The `n`-th derivative of a function at `x0`, by `order` central differences with spacing `dx`."""
    if order < n + 1:
        raise ValueError("'order' (the number of points used to compute the derivative), must be at least the derivative order 'n' + 1.")
    if order % 2 == 0:
        raise ValueError("'order' (the number of points used to compute the derivative) must be odd.")
    weights = central_diff_weights(order, n)
    return sum(weight * func(x0 + (k - order // 2) * dx, *args) for k, weight in enumerate(weights)) / dx**n


SCIPY_MISC = dict(
    imread=images.imread, imsave=images.imsave, imresize=images.imresize, imshow=images.imshow, fromimage=images.fromimage,
    imrotate=images.imrotate, toimage=images.toimage, bytescale=images.bytescale, imfilter=images.imfilter,
    logsumexp=_of("scipy.special", "logsumexp"), comb=_of("scipy.special", "comb"), factorial=_of("scipy.special", "factorial"),
    factorial2=_of("scipy.special", "factorial2"), factorialk=_of("scipy.special", "factorialk"),
    central_diff_weights=central_diff_weights, derivative=derivative,
    face=_of("scipy.datasets", "face"), ascent=_of("scipy.datasets", "ascent"),
)  # fmt: skip
