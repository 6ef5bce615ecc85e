"""matplotlib: names, keywords and styles that 3.1 to 3.10 removed."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.cli.legacy.keywords import Tables, taking

Names = dict[Any, dict[str, Any]]


def _rgb(self: Any) -> bytes:
    return np.asarray(self.buffer_rgba())[..., :3].tobytes()


def _colour_maps(cm: object) -> Names:
    matplotlib = importlib.import_module("matplotlib")

    def get_cmap(name: object = None, lut: int | None = None) -> Any:
        if name is not None and not isinstance(name, str):
            return name
        found = matplotlib.colormaps[name or matplotlib.rcParams["image.cmap"]]
        return found if lut is None else found.resampled(lut)

    def register_cmap(name: str | None = None, cmap: object = None) -> None:
        matplotlib.colormaps.register(cmap, name=name, force=True)

    return {cm: dict(get_cmap=get_cmap, register_cmap=register_cmap)}


def _with_projection(gca: Callable[..., Any]) -> Callable[..., Any]:
    """`gca` that makes axes of the kind that is asked for, where the figure has none of it."""

    @functools.wraps(gca)
    def wrapped(figure: Any, **kind: Any) -> Any:
        if not kind:
            return gca(figure)
        current = figure.axes[-1] if figure.axes else None
        is_right = current is not None and getattr(current, "name", None) == kind.get("projection", "rectilinear")
        return current if is_right else figure.add_subplot(**kind)

    return wrapped


def _with_any_style(use: Callable[..., Any]) -> Callable[..., Any]:
    """`style.use` that takes the names `seaborn...`."""

    @functools.wraps(use)
    def wrapped(style: object) -> None:
        use([_style(each) for each in style] if isinstance(style, (list, tuple)) else _style(style))

    return wrapped


def _style(name: object) -> Any:
    is_seaborn = isinstance(name, str) and name.startswith("seaborn") and not name.startswith("seaborn-v0_8")
    return name.replace("seaborn", "seaborn-v0_8", 1) if is_seaborn else name


def _set_window_title(self: Any, title: str) -> None:
    if self.manager is not None:
        self.manager.set_window_title(title)


def _scales(set_scale: Callable[..., Any]) -> Callable[..., Any]:
    axis = set_scale.__name__[4]
    return taking(set_scale, renamed={f"base{axis}": "base", f"nonpos{axis}": "nonpositive", f"subs{axis}": "subs", f"linthresh{axis}": "linthresh"})


def _axes(module: Any) -> Names:
    axes = module.Axes
    return {axes: dict(
        hist=taking(axes.hist, renamed=dict(normed="density")), grid=taking(axes.grid, renamed=dict(b="visible")),
        set_xscale=_scales(axes.set_xscale), set_yscale=_scales(axes.set_yscale),
    )}  # fmt: skip


def _pyplot(plt: Any) -> Names:
    def gca(**kind: Any) -> Any:
        return plt.gcf().gca(**kind)

    return {plt: dict(
        gca=gca, hist=taking(plt.hist, renamed=dict(normed="density")), grid=taking(plt.grid, renamed=dict(b="visible")),
        savefig=taking(plt.savefig, ignored=("frameon", "papertype", "quality", "optimize", "progressive")),
        switch_backend=taking(plt.switch_backend, ignored=("warn",)),
    )}  # fmt: skip


def _mlab(mlab: object) -> Names:
    def normpdf(x: object, mu: object, sigma: object) -> Any:
        """The density of a normal distribution."""
        return np.exp(-0.5 * ((np.asarray(x) - mu) / sigma) ** 2) / (np.sqrt(2 * np.pi) * sigma)

    def bivariate_normal(
        X: object, Y: object, sigmax: float = 1.0, sigmay: float = 1.0, mux: float = 0.0, muy: float = 0.0, sigmaxy: float = 0.0  # noqa: N803 (its names)
    ) -> Any:
        """The density of a normal distribution of two variables; `sigmaxy` is their covariance."""
        rho = sigmaxy / (sigmax * sigmay)
        x, y = (np.asarray(X) - mux) / sigmax, (np.asarray(Y) - muy) / sigmay
        scale = 2 * np.pi * sigmax * sigmay * np.sqrt(1 - rho**2)
        return np.exp(-(x**2 + y**2 - 2 * rho * x * y) / (2 * (1 - rho**2))) / scale

    def movavg(x: Any, n: int) -> Any:
        return np.convolve(x, np.ones(n) / n, mode="valid")

    return {mlab: dict(normpdf=normpdf, bivariate_normal=bivariate_normal, movavg=movavg)}


ADDED: Tables = {
    "matplotlib.cm": _colour_maps,
    "matplotlib.backend_bases": lambda m: {m.FigureCanvasBase: dict(set_window_title=_set_window_title)},
    "matplotlib.backends.backend_agg": lambda m: {m.FigureCanvasAgg: dict(tostring_rgb=_rgb)},
    "matplotlib.legend": lambda m: {m.Legend: dict(legendHandles=property(lambda self: self.legend_handles))},
    "matplotlib.mlab": _mlab,
    "matplotlib.pyplot": lambda m: {m: dict(register_cmap=_colour_maps(m.cm)[m.cm]["register_cmap"])},
    "mpl_toolkits.mplot3d.axes3d": lambda m: {m.Axes3D: dict(
        w_xaxis=property(lambda self: self.xaxis), w_yaxis=property(lambda self: self.yaxis), w_zaxis=property(lambda self: self.zaxis)
    )},
}  # fmt: skip


def _with_figure(begin: Callable[..., Any]) -> Callable[..., Any]:
    """`Axes3D(figure)` that adds itself to the figure, as long as no function of the figure makes it."""

    @functools.wraps(begin)
    def wrapped(self: Any, fig: Any, *arguments: Any, **options: Any) -> None:
        adds = options.pop("auto_add_to_figure", sys._getframe(1).f_globals.get("__name__") != "matplotlib.figure")
        begin(self, fig, *arguments, **options)
        if adds:
            fig.add_axes(self)

    return wrapped


REPLACED: Tables = {
    "matplotlib": lambda m: {m: dict(use=taking(m.use, ignored=("warn",)))},
    "matplotlib.axes": _axes,
    "matplotlib.figure": lambda m: {m.Figure: dict(
        gca=_with_projection(m.Figure.gca),
        savefig=taking(m.Figure.savefig, ignored=("frameon", "papertype", "quality", "optimize", "progressive")),
    )},
    "matplotlib.pyplot": _pyplot,
    "matplotlib.style": lambda m: {m: dict(use=_with_any_style(m.use))},
    "mpl_toolkits.mplot3d.axes3d": lambda m: {m.Axes3D: dict(__init__=_with_figure(m.Axes3D.__init__))},
}  # fmt: skip
MOVED: dict[str, str] = {}
