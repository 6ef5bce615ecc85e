"""Judges names of Python, NumPy and other packages: what is gone, and whether `tfcompat run` has it again."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

from tfcompat._src.cli.check import python2
from tfcompat._src.cli.legacy import names, packages, restore, sources

_ABSENT = object()
_NOT_IMPORTED = {"antigravity", "this", "__main__"}
_CHECKED = {"numpy", "scipy", *packages.PACKAGES}
_INDEX = "index list(...) of it: it is no list in Python 3"
_CLASSES = {
    name: (owner,) for owner, members in names.ATTRIBUTES.items() if isinstance(owner, type) for name in members
} | {name: kinds for kinds, members in sources.METHODS.items() for name in members}
"""Method that a class lost -> the classes that lost it."""

WATCHED = frozenset({*python2.METHODS, *_CLASSES})
"""Attributes to note where the object is not known."""


class Verdict(NamedTuple):
    """What stops today's Python, NumPy or SciPy, whether `tfcompat run` restores it, and what to do."""

    name: str
    is_restored: bool
    advice: str


def is_judged(path: str) -> bool:
    """Whether names of a module are looked up: of Python's, and of packages that are installed and of which `tfcompat run` restores some."""
    first = path.partition(".")[0]
    if first in _CHECKED:
        return importlib.util.find_spec(first) is not None
    return first in python2.MODULES or first in sys.stdlib_module_names or any(first == name.partition(".")[0] for name in names.MODULES)


def verdicts(paths: Iterable[str]) -> dict[str, Verdict]:
    """Says of each path ("numpy.int") that is gone whether it is restored: it is looked up, restored in this process, and looked up again."""
    absent = {path: lacking for path in paths if (lacking := _lacking(path)) is not None}
    restore.restore()
    found = {}
    for path, lacking in absent.items():
        is_restored = _lacking(path) is None
        advice = "" if is_restored else _advice(lacking)
        found[path] = Verdict(lacking, is_restored, advice)
    return found


def of_oddity(name: str) -> Verdict | None:
    """What to say of something without a module, or None where nothing is lost."""
    method = name.removeprefix(".")
    if name in python2.BUILTINS:
        return Verdict(name, False, f"Python 3 has no {name}; use {python2.BUILTINS[name]}")
    if name.startswith(".") and method in python2.METHODS:
        return Verdict(f"dict{name}", False, f"Python 3 has no dict.{method}; use {python2.METHODS[method]}")
    if name.startswith(".") and method in _CLASSES:
        lost = [kind for kind in _CLASSES[method] if not hasattr(kind, method)]
        return Verdict(name, True, "") if lost else None
    if name in python2.IDIOMS:
        return Verdict(name, False, python2.IDIOMS[name])
    return Verdict(name, False, _INDEX) if name.endswith("[i]") else Verdict(name, True, "")


def _advice(lacking: str) -> str:
    new = python2.NAMES.get(lacking) or python2.MODULES.get(lacking)
    if new is not None:
        return f"Python 3 has it as {new}"
    package = lacking.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", None)
    return f"{package} {version} does not have it" if version else f"Python {sys.version_info.major}.{sys.version_info.minor} does not have it"


def _lacking(path: str) -> str | None:
    """The part of a path that names nothing; None where all of it is there, or the package is not installed."""
    first, *rest = path.split(".")
    if first in _NOT_IMPORTED:
        return None
    value = _module(first)
    if value is None:
        return first
    name = first
    for part in rest:
        if not isinstance(value, types.ModuleType):
            return None
        name = f"{name}.{part}"
        value = _attribute(value, part)
        if value is _ABSENT:
            return name
    return None


def _attribute(module: types.ModuleType, name: str) -> Any:
    """An attribute or an inner module, or `_ABSENT`: some packages raise ImportError for what they removed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(module, name)
    except (AttributeError, ImportError):
        return _module(f"{module.__name__}.{name}") or _ABSENT


def _module(name: str) -> types.ModuleType | None:
    """A module, or None where it cannot be imported."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except (ImportError, AttributeError, TypeError, ValueError, OSError):
        return None


def brings(module: str, name: str) -> bool:
    """Whether `from module import *` brings a name of such a module."""
    found = _module(module) if is_judged(module) else None
    return found is not None and not name.startswith("_") and _attribute(found, name) is not _ABSENT
