"""What packages other than NumPy have removed and TensorFlow 1 programs use: applied when the program imports the package."""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfcompat._src.cli import legacy_images

Names = dict[Any, dict[str, Any]]


def _pil_image(image: Any) -> Names:
    return {image: dict(ANTIALIAS=image.LANCZOS, LINEAR=image.BILINEAR, CUBIC=image.BICUBIC)}


def _text_size(draw: Any, text: str, font: Any = None, spacing: float = 4, *more: Any, **options: Any) -> tuple[int, int]:
    left, top, right, bottom = draw.textbbox((0, 0), text, font, None, spacing, *more, **options)
    return right, bottom


def _font_size(font: Any, text: str, *more: Any, **options: Any) -> tuple[int, int]:
    left, top, right, bottom = font.getbbox(text, *more, **options)
    return right, bottom


def _pil_font(fonts: Any) -> Names:
    return {kind: dict(getsize=_font_size) for kind in (fonts.FreeTypeFont, fonts.ImageFont, fonts.TransposedFont)}


def _pandas(pandas: Any) -> Names:
    def append(self: Any, other: Any, ignore_index: bool = False, verify_integrity: bool = False, sort: bool = False) -> Any:
        if isinstance(other, (dict, pandas.Series)) and isinstance(self, pandas.DataFrame):
            other = pandas.DataFrame([other])
        others = other if isinstance(other, list) else [other]
        return pandas.concat([self, *others], ignore_index=ignore_index, verify_integrity=verify_integrity, sort=sort)

    def as_matrix(self: Any, columns: Any = None) -> Any:
        return self.values if columns is None else self[columns].values

    return {pandas.DataFrame: dict(append=append, as_matrix=as_matrix), pandas.Series: dict(append=append, as_matrix=as_matrix)}


def _yaml(yaml: Any) -> Names:
    load = yaml.load

    @functools.wraps(load)
    def load_with_any_loader(stream: Any, Loader: Any = yaml.FullLoader) -> Any:  # noqa: N803 (its name)
        return load(stream, Loader)

    return {yaml: dict(load=load_with_any_loader)}


def _scipy(scipy: Any) -> Names:
    return {scipy: {name: vars(np)[name] for name in np.__all__ if not isinstance(vars(np).get(name), (type, types.ModuleType, type(None)))}}


def _scipy_signal(signal: Any) -> Names:
    return {signal: {name: getattr(signal.windows, name) for name in signal.windows.__all__}}


def _scipy_integrate(integrate: Any) -> Names:
    def simps(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
        return integrate.simpson(y, x=x, dx=dx, axis=axis)

    return {integrate: dict(simps=simps, trapz=integrate.trapezoid, cumtrapz=integrate.cumulative_trapezoid)}


def _h5py(h5py: Any) -> Names:
    manager = h5py.AttributeManager
    get = manager.__getitem__

    @functools.wraps(get)
    def with_ascii_as_bytes(self: Any, name: str) -> Any:
        value = get(self, name)
        is_array = isinstance(value, np.ndarray) and value.dtype == np.object_
        kind = h5py.check_string_dtype(self.get_id(name).dtype) if is_array or isinstance(value, str) else None
        if kind is None or kind.encoding != "ascii":
            return value
        return np.char.encode(value.astype(str)).astype(np.object_) if is_array else value.encode()

    return {manager: dict(__getitem__=with_ascii_as_bytes), h5py.Dataset: dict(value=property(lambda self: self[()]))}


def _of(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when it is called."""
    return lambda *args, **kw: getattr(importlib.import_module(module), name)(*args, **kw)


SCIPY_MISC = dict(
    imread=legacy_images.imread, imsave=legacy_images.imsave, imresize=legacy_images.imresize,
    imrotate=legacy_images.imrotate, toimage=legacy_images.toimage, bytescale=legacy_images.bytescale,
    logsumexp=_of("scipy.special", "logsumexp"), comb=_of("scipy.special", "comb"), factorial=_of("scipy.special", "factorial"),
)  # fmt: skip
"""What SciPy took out of `scipy.misc`."""

CHANGES: dict[str, Callable[[Any], Names]] = {
    "PIL.Image": _pil_image,
    "PIL.ImageDraw": lambda module: {module.ImageDraw: dict(textsize=_text_size)},
    "PIL.ImageFont": _pil_font,
    "pandas": _pandas,
    "scipy": _scipy,
    "scipy.integrate": _scipy_integrate,
    "scipy.misc": lambda module: {module: SCIPY_MISC},
    "scipy.signal": _scipy_signal,
    "scipy.sparse.linalg.eigen": lambda module: {module: dict(__path__=[])},
}
"""Module -> the names that it and its classes lack, given the module; a name that is there stays as it is."""

REPLACED: dict[str, Callable[[Any], Names]] = {"h5py": _h5py, "yaml": _yaml}
"""Module -> functions of it that take what they took."""

MOVED = {
    "sklearn.cross_validation": "sklearn.model_selection",
    "sklearn.grid_search": "sklearn.model_selection",
    "sklearn.externals.joblib": "joblib",
    "sklearn.datasets.samples_generator": "sklearn.datasets",
    "scipy.signal.signaltools": "scipy.signal",
    "scipy.ndimage.filters": "scipy.ndimage",
    "scipy.ndimage.interpolation": "scipy.ndimage",
    "scipy.ndimage.measurements": "scipy.ndimage",
    "scipy.ndimage.morphology": "scipy.ndimage",
    "scipy.linalg.special_matrices": "scipy.linalg",
    "scipy.sparse.base": "scipy.sparse",
    "scipy.sparse.csr": "scipy.sparse",
    "scipy.sparse.linalg.eigen": "scipy.sparse.linalg",
    "scipy.sparse.linalg.eigen.arpack": "scipy.sparse.linalg",
    "scipy.stats.stats": "scipy.stats",
}
"""Module that is gone -> where its names are now."""


class _Completing(importlib.abc.Loader):
    """A loader that adds to the module what it lacks."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        self._loader.exec_module(module)
        complete(module)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the tables, so that they are complete when the program gets them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in CHANGES and fullname not in REPLACED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Completing(spec.loader)
        return spec


class MovedFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the modules that have moved, where nothing else has them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if fullname in MOVED else None

    def exec_module(self, module: types.ModuleType) -> None:
        names = vars(importlib.import_module(MOVED[module.__name__]))
        vars(module).update({name: value for name, value in names.items() if not name.startswith("__")})


def complete(module: types.ModuleType) -> None:
    """Adds to a module and its classes what they lack."""
    for owner, names in CHANGES.get(module.__name__, lambda _: {})(module).items():
        for name, value in names.items():
            if not hasattr(owner, name):
                setattr(owner, name, value)
    for owner, names in REPLACED.get(module.__name__, lambda _: {})(module).items():
        for name, value in names.items():
            setattr(owner, name, value)


def restore() -> None:
    """Completes what is imported, and what will be."""
    for name in (*CHANGES, *REPLACED):
        if name in sys.modules:
            complete(sys.modules[name])
    sys.meta_path.insert(0, Finder())
    sys.meta_path.append(MovedFinder())
