"""What packages other than NumPy have removed and TensorFlow 1 programs use: applied when the program imports the package.

For a package `matplotlib` the module `of_matplotlib` says what is restored, in three tables: `ADDED` and `REPLACED` give a module's
restored names, and those of its classes, when it has been imported: the first where they are lacking, the second in place of what is there.
`MOVED` says where the names of a module that is gone are now.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

PACKAGES = ("PIL", "_pytest", "gast", "gym", "h5py", "matplotlib", "mpl_toolkits", "networkx", "pandas", "scipy", "skimage", "sklearn", "yaml")


@functools.cache
def _tables(package: str) -> ModuleType:
    """The module with the tables of a package."""
    return importlib.import_module(f"{__package__}.of_{package.strip('_').lower()}")


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
        package = fullname.partition(".")[0]
        if package not in PACKAGES or not (fullname in _tables(package).ADDED or fullname in _tables(package).REPLACED):
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
        package = fullname.partition(".")[0]
        if package not in PACKAGES or fullname not in _tables(package).MOVED:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        tables = _tables(module.__name__.partition(".")[0])
        moved = importlib.import_module(tables.MOVED[module.__name__])
        vars(module).update({name: value for name, value in vars(moved).items() if not name.startswith("__")})
        vars(module)["__getattr__"] = functools.partial(getattr, moved)
        complete(module)


def complete(module: types.ModuleType) -> None:
    """Gives a module and its classes what they lost."""
    tables = _tables(module.__name__.partition(".")[0])
    for table, overrides in ((tables.ADDED, False), (tables.REPLACED, True)):
        for owner, names in _lost(table, module).items():
            for name, value in names.items():
                if overrides or not hasattr(owner, name):
                    setattr(owner, name, value)


def _lost(table: Any, module: types.ModuleType) -> dict[Any, dict[str, Any]]:
    """What a table has for a module; nothing where it is another package of that name, which lacks what the table goes by."""
    if module.__name__ not in table:
        return {}
    try:
        return table[module.__name__](module)
    except AttributeError:
        return {}


def restore() -> None:
    """Completes what is imported, and what will be."""
    for package in set(PACKAGES) & set(sys.modules):
        for name in dict.fromkeys((*_tables(package).ADDED, *_tables(package).REPLACED)):
            if name in sys.modules:
                complete(sys.modules[name])
    sys.meta_path.insert(0, Finder())
    sys.meta_path.append(MovedFinder())
