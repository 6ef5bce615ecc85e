"""Runs the modules of a program as Python 2: finds, converts and compiles them, and gives them Python 2's built-in names."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import pathlib
import sys
import sysconfig
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfcompat._src.cli.legacy import sources
from tfcompat._src.cli.python2 import compiler, files, float_indices, names

_HERE = pathlib.Path(__file__).parent
_LIBRARY = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), str(_HERE.parents[2]))


def is_of_program(path: str) -> bool:
    """Whether a file is one of the program: not of Python's library, of an installed package or of tfcompat."""
    parts = pathlib.PurePath(path).parts
    return not {"site-packages", "dist-packages"}.intersection(parts) and not any(path.startswith(folder + "/") for folder in _LIBRARY)


class ProgramLoader(importlib.machinery.SourceFileLoader):
    """Loads a module of the program as Python 2."""

    def get_code(self, fullname: str) -> types.CodeType:
        return compiler.compiled(self.get_data(self.path), self.path)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        vars(module)["__builtins__"] = vars(names.BUILTIN)
        return module


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the program."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] in sources.LEFT_ALONE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        loader = spec and spec.loader
        if type(loader) is not importlib.machinery.SourceFileLoader or not is_of_program(loader.path):
            return None
        spec.loader = ProgramLoader(loader.name, loader.path)  # type: ignore[union-attr]
        return spec


def _of_old_files(function: Any) -> Any:
    """A function of NumPy that reads or writes a file, for files of Python 2."""

    def wrapped(file: Any, *arguments: Any, **named: Any) -> Any:
        return function(files.bytes_of(file), *arguments, **named)

    wrapped.__name__, wrapped.__doc__ = function.__name__, function.__doc__
    return wrapped


def _load_array(file: Any, *arguments: Any, encoding: str = "latin1", **named: Any) -> Any:
    return _np_load(files.bytes_of(file), *arguments, encoding=encoding, **named)


_np_load = np.load


def is_installed() -> bool:
    """Whether this process is one of Python 2."""
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def install() -> None:
    """Makes this process one of Python 2."""
    vars(names.BUILTIN).update({sources.RESTORED: sources.restored, sources.INDEX: sources.index})
    float_indices.install()
    sys.meta_path.insert(0, Finder())
    np.load = _load_array
    for name in ("save", "savez", "savez_compressed", "fromfile"):
        setattr(np, name, _of_old_files(getattr(np, name)))
    for stream in (sys.stdin, sys.stdout):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="surrogateescape")
