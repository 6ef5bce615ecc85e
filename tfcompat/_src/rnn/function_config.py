"""A function in the configuration of a layer: by its name, or a Python function by its code."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

from tfcompat._src.platform import function_code


def function_config(function: object, key: str, module_key: str | None = None) -> dict[str, Any]:
    """The entries `key`, `key`_type and `key`_module (or `module_key`) for a function.

    Raises:
      ValueError: `function` is not callable.
    """
    if isinstance(function, types.FunctionType):
        closure = tuple(cell.cell_contents for cell in function.__closure__ or ()) or None
        dumped, kind = (function_code.dumps(function.__code__), function.__defaults__, closure), "lambda"
    elif callable(function):
        dumped, kind = function.__name__, "function"
    else:
        raise ValueError(f"Unrecognized function type for input: {type(function)}")
    return {key: dumped, f"{key}_type": kind, module_key or f"{key}_module": function.__module__}


def function_from_config(
    config: dict[str, Any], key: str, custom_objects: dict[str, Any] | None, module_key: str | None = None
) -> Callable:
    """Takes out of `config` what `function_config` put there, and gives the function; a custom object `key` comes first.

    Raises:
      ValueError: no object has the name, or another version of Python wrote the code. TypeError: the kind of function is unknown.
    """
    module = sys.modules.get(config.pop(module_key or f"{key}_module", None))
    known = {**(vars(module) if module else {}), **(custom_objects or {})}
    dumped, kind = config.pop(key), config.pop(f"{key}_type")
    if kind == "function":
        if dumped not in known:
            raise ValueError(f"Unknown function in wrapper:{dumped}")
        return known[dumped]
    if kind != "lambda":
        raise TypeError("Unknown function type:", kind)
    if custom_objects and key in custom_objects:
        return custom_objects[key]
    code, defaults, closure = dumped
    cells = tuple(types.CellType(value) for value in closure) if closure else None
    loaded = function_code.loads(code, f"the cell's {key}", key)
    return types.FunctionType(loaded, known, argdefs=None if defaults is None else tuple(defaults), closure=cells)
