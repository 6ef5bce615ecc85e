"""SciPy: names, and whole modules, that were removed from 1.0 to 1.14."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from tfcompat._src.cli.legacy import images
from tfcompat._src.cli.legacy.keywords import Tables, taking
from tfcompat._src.cli.legacy.scipy_misc import SCIPY_MISC

Names = dict[Any, dict[str, Any]]


def _scipy(scipy: object) -> Names:
    functions = {n: vars(np)[n] for n in np.__all__ if not isinstance(vars(np).get(n), (type, types.ModuleType, type(None)))}
    return {scipy: functions | dict(rand=np.random.rand, randn=np.random.randn, pi=np.pi, inf=np.inf, nan=np.nan)}


def _signal(signal: Any) -> Names:
    return {signal: {name: getattr(signal.windows, name) for name in signal.windows.__all__}}


def _integrate(integrate: Any) -> Names:
    def simps(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
        return integrate.simpson(y, x=x, dx=dx, axis=axis)

    return {integrate: dict(simps=simps, trapz=integrate.trapezoid, cumtrapz=integrate.cumulative_trapezoid)}


def _stats(stats: Any) -> Names:
    def binom_test(x: Any, n: Any = None, p: float = 0.5, alternative: str = "two-sided") -> float:
        successes, trials = (x, n) if n is not None else (x[0], x[0] + x[1])
        return stats.binomtest(successes, trials, p, alternative).pvalue

    def itemfreq(a: Any) -> np.ndarray:
        return np.array(np.unique(a, return_counts=True)).T

    def median_absolute_deviation(x: Any, axis: Any = 0, center: Any = np.median, scale: Any = 1.4826, **options: Any) -> Any:
        return stats.median_abs_deviation(x, axis, center, 1 / scale, **options)

    return {stats: dict(binom_test=binom_test, itemfreq=itemfreq, median_absolute_deviation=median_absolute_deviation,
                        chisqprob=stats.distributions.chi2.sf)}  # fmt: skip


def _interpolate(interpolate: Any) -> Names:
    def interp2d(x: Any, y: Any, z: Any, kind: str = "linear", copy: bool = True, bounds_error: bool = False, fill_value: object = None) -> Any:
        """A function of points x [n] and y [m] that gives an array [m, n], from values z [rows, columns] on a grid."""
        x, y, z = np.ravel(x), np.ravel(y), np.asarray(z)
        order = {"linear": 1, "cubic": 3, "quintic": 5}[kind]
        if z.size != x.size * y.size or bounds_error or fill_value is not None:
            raise NotImplementedError("tfcompat has scipy.interpolate.interp2d for values on a grid, whose edges go on outside of it.")
        spline = interpolate.RectBivariateSpline(x, y, z.reshape(y.size, x.size).T, kx=order, ky=order, s=0)
        return lambda at_x, at_y: np.squeeze(spline(np.sort(np.atleast_1d(at_x)), np.sort(np.atleast_1d(at_y))).T)

    def spline(xk: Any, yk: Any, xnew: Any, order: int = 3) -> Any:
        return interpolate.make_interp_spline(xk, yk, order)(xnew)

    return {interpolate: dict(interp2d=interp2d, spline=spline)}


def _distance(distance: Any) -> Names:
    def wminkowski(u: Any, v: Any, p: float, w: Any) -> float:
        return distance.minkowski(u, v, p, np.asarray(w) ** p)

    return {distance: dict(wminkowski=wminkowski, matching=distance.hamming)}


ADDED: Tables = {
    "scipy": _scipy,
    "scipy.integrate": _integrate,
    "scipy.interpolate": lambda module: {module: {"spline": _interpolate(module)[module]["spline"]}},
    "scipy.linalg": lambda module: {module: dict(pinv2=module.pinv, triu=np.triu, tril=np.tril)},
    "scipy.misc": lambda module: {module: SCIPY_MISC},
    "scipy.ndimage": lambda module: {module: dict(imread=images.imread)},
    "scipy.signal": _signal,
    "scipy.sparse.linalg.eigen": lambda module: {module: dict(__path__=[])},
    "scipy.spatial.distance": _distance,
    "scipy.stats": _stats,
}

REPLACED: Tables = {
    "scipy.interpolate": lambda module: {module: {"interp2d": _interpolate(module)[module]["interp2d"]}},
    "scipy.stats": lambda module: {module: dict(mode=taking(module.mode, defaults=dict(keepdims=True)))},
}

MOVED = {
    "scipy.signal.signaltools": "scipy.signal",
    "scipy.signal.windows.windows": "scipy.signal.windows",
    "scipy.ndimage.filters": "scipy.ndimage",
    "scipy.ndimage.fourier": "scipy.ndimage",
    "scipy.ndimage.interpolation": "scipy.ndimage",
    "scipy.ndimage.measurements": "scipy.ndimage",
    "scipy.ndimage.morphology": "scipy.ndimage",
    "scipy.linalg.basic": "scipy.linalg",
    "scipy.linalg.decomp": "scipy.linalg",
    "scipy.linalg.special_matrices": "scipy.linalg",
    "scipy.interpolate.interpolate": "scipy.interpolate",
    "scipy.interpolate.fitpack2": "scipy.interpolate",
    "scipy.optimize.linesearch": "scipy.optimize._linesearch",
    "scipy.optimize.optimize": "scipy.optimize",
    "scipy.sparse.base": "scipy.sparse",
    "scipy.sparse.coo": "scipy.sparse",
    "scipy.sparse.csc": "scipy.sparse",
    "scipy.sparse.csr": "scipy.sparse",
    "scipy.sparse.lil": "scipy.sparse",
    "scipy.sparse.linalg.eigen": "scipy.sparse.linalg",
    "scipy.sparse.linalg.eigen.arpack": "scipy.sparse.linalg",
    "scipy.special.basic": "scipy.special",
    "scipy.stats.distributions": "scipy.stats",
    "scipy.stats.stats": "scipy.stats",
}
