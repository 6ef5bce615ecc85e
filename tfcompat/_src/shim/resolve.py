"""Finds the object of tfcompat that stands for a name of a TensorFlow module."""

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
IMPLEMENTATION = "tfcompat._src."
ROOTS = ("tensorflow", "tensorflow_core", "tensorflow_estimator", "tensorflow_serving")
INTERNAL = (["python"], ["core"], ["examples"], ["tools"], ["_src"])
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
_KINDS: dict[str, Callable[[Any], bool]] = {"c": callable, "f": callable, "v": lambda found: True}


def canonical(path: str) -> str:
    """The one path of a module that TensorFlow 1.15 holds under several."""
    for alias, meant in ALIASES:
        if path == alias or path.startswith(alias + "."):
            return canonical(meant + path[len(alias) :])
    return path


def public(path: str) -> Any:
    """The object with the public path `path` ("nn.relu"), or ABSENT."""
    found: Any = importlib.import_module("tfcompat")
    for name in path.split("."):
        if isinstance(found, types.ModuleType) and not found.__name__.startswith("tfcompat"):
            return ABSENT
        if not hasattr(found, name):
            inner = importlib.util.find_spec(f"{found.__name__}.{name}") if hasattr(found, "__path__") else None
            if inner is None:
                return ABSENT
            importlib.import_module(inner.name)
        found = getattr(found, name)
    return found


@functools.cache
def public_module(path: str) -> types.ModuleType | None:
    """The public namespace with TensorFlow's path `path` ("tensorflow.nn"), or None."""
    parts = path.split(".")
    if parts[0] != "tensorflow" or parts[1:2] in INTERNAL:
        return None
    if len(parts) == 1:
        return importlib.import_module("tfcompat")
    found = public(".".join(parts[1:]))
    return found if isinstance(found, types.ModuleType) and found.__name__.startswith("tfcompat") else None


def known(path: str) -> bool:
    """Whether a module with this path is made from the table; contrib packages are tfcompat's own or lacking."""
    return path in modules() and not (path.startswith("tensorflow.contrib.") and path.count(".") == 2)


def op(op_type: str) -> Any:
    """The function of an op type."""
    return getattr(importlib.import_module(IMPLEMENTATION + "nodes.raw"), op_type, ABSENT)


def own(module: str, name: str, kind: str) -> Any:
    """What a module of TensorFlow defines without making it public: of the kind that it has there, or a plain value."""
    found = internal(places(module), name)
    if found is not ABSENT and _KINDS[kind[0]](found):
        return found
    return json.loads(kind[1:]) if kind[1:] else ABSENT


def internal(where: tuple[str, ...], name: str) -> Any:
    """The object that one of the modules `where` (below `tfcompat._src`; a package: all of it) defines as `name`."""
    for place in where:
        for path in paths_below(IMPLEMENTATION + place):
            module = importlib.import_module(path)
            found = vars(module).get(name, ABSENT)
            if found is not ABSENT and defined_in(found, module) and not is_kernel(found):
                return found
    return ABSENT


def is_kernel(value: object) -> bool:
    """Whether the object computes an op on arrays, which no name of TensorFlow's Python modules means."""
    return inspect.isroutine(value) and any(value is spec.kernel for spec in op_spec.registered())


@functools.cache
def paths_below(path: str) -> tuple[str, ...]:
    """The paths of a module and of all modules in it, sorted."""
    spec = importlib.util.find_spec(path)
    if spec is None:
        return ()
    return (
        path,
        *sorted(entry.name for entry in pkgutil.walk_packages(spec.submodule_search_locations or (), path + ".")),
    )


def defined_in(value: object, module: types.ModuleType) -> bool:
    if isinstance(value, types.ModuleType):
        return False
    if inspect.isclass(value) or inspect.isroutine(value):
        return value.__module__ == module.__name__
    return True
