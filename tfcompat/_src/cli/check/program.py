"""The modules of a program, linked: what one imports of another means what it means there."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable

from tfcompat._src.cli.check.files import Problem, read
from tfcompat._src.cli.check.uses import Context, Module
from tfcompat._src.shim.resolve import ROOTS


class Program:
    """All files that are checked, and those beside them that they import."""

    def __init__(self, paths: Iterable[str], brings: Callable[[str, str], bool], watched: frozenset[str]) -> None:
        self.paths = list(paths)
        self.problems: list[Problem] = []
        self._context = Context(self.find, brings, watched)
        self._modules: dict[str, Module] = {}
        self._given = {os.path.realpath(path): path for path in self.paths}
        self._by_name: dict[str, str] = {}
        for path in self.paths:
            self._by_name.setdefault(_name(path), path)

    def modules(self, progress: Callable[[int], None]) -> list[Module]:
        """Reads all files; `progress` is told how many are read."""
        found = []
        for count, path in enumerate(self.paths, 1):
            found.append(self._module(path))
            progress(count)
        return found

    def defined(self) -> set[str]:
        """The names of all functions and methods that the program defines."""
        return {name for module in self._modules.values() for name in module.defined}

    def _module(self, path: str) -> Module:
        key = os.path.realpath(path)
        if key not in self._modules:
            source = read(self._given.get(key, path))
            if key in self._given:
                self.problems += source.problems
            self._modules[key] = module = Module(source, self._context)
            module.read()
        return self._modules[key]

    def find(self, name: str, importer: str, level: int) -> Module | None:
        """The module of the program that an import means.

        Args:
          name: dotted; "" with a level above 0 for the package itself.
          importer: path of the file with the import.
          level: the dots before the name.

        Returns:
          The module, or None where the import means another package or nothing.
        """
        folder = os.path.dirname(os.path.abspath(importer))
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            path = _file(folder, name) if name else _existing(os.path.join(folder, "__init__.py"))
            return self._module(path) if path else None
        first = name.partition(".")[0]
        if is_elsewhere(first):
            folders = [_top(folder)] + [folder] * (not _is_package(folder))
        else:
            folders = upwards(folder)
        for each in folders:
            path = _file(each, name)
            if path:
                return self._module(path)
        if not is_elsewhere(first) and name in self._by_name:
            return self._module(self._by_name[name])
        return None

    def has_package(self, first: str, importer: str) -> bool:
        """Whether a name at the top of an import is a file or a folder of the program."""
        folders = upwards(os.path.dirname(os.path.abspath(importer)))
        return first in self._by_name or any(os.path.isdir(os.path.join(each, first)) for each in folders) or any(
            f"{os.sep}{first}{os.sep}" in path for path in self.paths
        )


@functools.cache
def is_elsewhere(first: str) -> bool:
    """Whether a top-level name is TensorFlow's, Python's or that of an installed package."""
    if first in ROOTS or first in sys.stdlib_module_names or first in sys.builtin_module_names:
        return True
    try:
        spec = importlib.util.find_spec(first)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None and not spec.origin.startswith(os.getcwd() + os.sep)


def absent_package(path: str) -> str | None:
    """The package that an import needs and this Python lacks: "google.colab", where other packages share the folder `google`."""
    first, _, below = path.partition(".")
    if is_elsewhere(first):
        return None
    spec = importlib.util.find_spec(first)
    if spec is None or spec.submodule_search_locations is None or not below:
        return first
    second = f"{first}.{below.partition('.')[0]}"
    return None if importlib.util.find_spec(second) else second


def _name(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


@functools.cache
def _existing(path: str) -> str | None:
    return path if os.path.isfile(path) else None


def _file(folder: str, name: str) -> str | None:
    base = os.path.join(folder, *name.split("."))
    return _existing(base + ".py") or _existing(os.path.join(base, "__init__.py"))


def _is_package(folder: str) -> bool:
    return _existing(os.path.join(folder, "__init__.py")) is not None


def _top(folder: str) -> str:
    """The folder above the packages that `folder` is in."""
    while _is_package(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def upwards(folder: str) -> list[str]:
    """A folder and those above it, as far as they belong to the repository."""
    found = [folder]
    while len(found) < 6 and not os.path.exists(os.path.join(folder, ".git")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        found.append(folder)
    return found
