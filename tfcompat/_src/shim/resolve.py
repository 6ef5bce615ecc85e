"""Resolves paths and names of TensorFlow to objects of tfcompat: public paths, op types, and internal names by a search of modules."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import json
import pkgutil
import types
from collections.abc import Callable
from typing import Any

from tfcompat._src.graph import op_spec
from tfcompat._src.shim.places import places
from tfcompat._src.shim.table import modules

ABSENT = object()
"""The result of a failed lookup, since None is a valid value."""
IMPLEMENTATION = "tfcompat._src."
ROOTS = ("tensorflow", "tensorflow_core", "tensorflow_estimator", "tensorflow_serving")
INTERNAL = (["python"], ["core"], ["examples"], ["tools"], ["_src"])
"""Packages below `tensorflow` that are not public namespaces."""
# The generated API modules of 1.15 and its forwarding modules, each with the path that it repeats.
ALIASES = (
    ("tensorflow_core", "tensorflow"),
    ("tensorflow._api.v1", "tensorflow"),
    ("tensorflow.compat.v1", "tensorflow"),
    ("tensorflow._api.v2", "tensorflow.compat.v2"),
    ("tensorflow_estimator.python.estimator.api._v1.estimator", "tensorflow.estimator"),
    ("tensorflow_estimator.python.estimator.api._v2.estimator", "tensorflow.compat.v2.estimator"),
    ("tensorflow.python.keras.api._v1.keras", "tensorflow.keras"),
    ("tensorflow.python.keras.api._v2.keras", "tensorflow.compat.v2.keras"),
    ("tensorflow.python.keras.api.keras", "tensorflow.keras"),
    ("tensorflow.contrib.keras.api.keras", "tensorflow.keras"),
    ("tensorflow.python.keras._impl.keras", "tensorflow.python.keras"),
    ("tensorflow.python.estimator", "tensorflow_estimator.python.estimator"),
    ("tensorflow.python.training.checkpointable", "tensorflow.python.training.tracking"),
)
_KINDS: dict[str, Callable[[Any], bool]] = {"c": callable, "f": callable, "v": lambda value: True}
"""Whether an object can be a class, function or value of TensorFlow. A class there may be a function here."""


def canonical(path: str) -> str:
    """Returns the canonical path of a module that TensorFlow 1.15 has under several paths."""
    # Recursive, as the result may begin with another alias.
    for alias, meant in ALIASES:
        if path == alias or path.startswith(alias + "."):
            return canonical(meant + path[len(alias) :])
    return path


def public(path: str) -> Any:
    """Returns the object with the public path `path` ("nn.relu"), or ABSENT."""
    value: Any = importlib.import_module("tfcompat")
    for name in path.split("."):
        # A module that a namespace imports, such as numpy, is no part of the API.
        if isinstance(value, types.ModuleType) and not value.__name__.startswith("tfcompat"):
            return ABSENT
        # Some namespaces are imported only when a program asks for them.
        if not hasattr(value, name):
            inner = importlib.util.find_spec(f"{value.__name__}.{name}") if hasattr(value, "__path__") else None
            if inner is None:
                return ABSENT
            importlib.import_module(inner.name)
        value = getattr(value, name)
    return value


@functools.cache
def public_module(path: str) -> types.ModuleType | None:
    """Returns the public namespace with TensorFlow's path `path` ("tensorflow.nn"), or None."""
    # Cached, as each import below TensorFlow's names asks. Other roots (tensorflow_estimator) have internal modules only.
    parts = path.split(".")
    if parts[0] != "tensorflow" or parts[1:2] in INTERNAL:
        return None
    if len(parts) == 1:
        return importlib.import_module("tfcompat")
    value = public(".".join(parts[1:]))
    return value if isinstance(value, types.ModuleType) and value.__name__.startswith("tfcompat") else None


def known(path: str) -> bool:
    """Whether the module `path` is made from the recorded table. Packages of contrib are not: tfcompat has them as namespaces or not at all."""
    return path in modules() and not (path.startswith("tensorflow.contrib.") and path.count(".") == 2)


def op(op_type: str) -> Any:
    """Returns the function that makes operations of a type, or ABSENT."""
    return getattr(importlib.import_module(IMPLEMENTATION + "nodes.raw"), op_type, ABSENT)


def own(module: str, name: str, kind: str) -> Any:
    """Returns an internal object that a module of TensorFlow defines, or ABSENT.

    Args:
      kind: "c", "f" or "v" for a class, function or value of 1.15, followed by the JSON of a plain value. An object of tfcompat must be of this
        kind; if it has none, the plain value is returned.
    """
    value = internal(places(module), name)
    if value is not ABSENT and _KINDS[kind[0]](value):
        return value
    return json.loads(kind[1:]) if kind[1:] else ABSENT


def internal(where: tuple[str, ...], name: str) -> Any:
    """Returns the object that the first of the modules `where` defines as `name`, or ABSENT.

    Args:
      where: paths below `tfcompat._src`; a package means all of its modules.
    """
    # Classes and functions that a module only imports do not count: they may be others than TensorFlow's module has by this name.
    for package in where:
        for path in paths_below(IMPLEMENTATION + package):
            module = importlib.import_module(path)
            value = vars(module).get(name, ABSENT)
            if value is not ABSENT and defined_in(value, module) and not is_kernel(value):
                return value
    return ABSENT


def is_kernel(value: object) -> bool:
    """Whether an object is the kernel of an op. It takes arrays, so that it is never TensorFlow's Python function of the same name."""
    return inspect.isroutine(value) and any(value is spec.kernel for spec in op_spec.registered())


@functools.cache
def paths_below(path: str) -> tuple[str, ...]:
    """Returns the path of a module and, sorted, those of all modules below it; () if there is no such module."""
    # `walk_packages` imports packages, not their modules. `internal` imports these one by one until a name is defined.
    spec = importlib.util.find_spec(path)
    if spec is None:
        return ()
    return (
        path,
        *sorted(entry.name for entry in pkgutil.walk_packages(spec.submodule_search_locations or (), path + ".")),
    )


def defined_in(value: object, module: types.ModuleType) -> bool:
    """Whether a module defines a value that it has: false for modules, and for classes and functions of other modules."""
    if isinstance(value, types.ModuleType):
        return False
    if inspect.isclass(value) or inspect.isroutine(value):
        return value.__module__ == module.__name__
    return True
