"""What all of Keras shares: custom objects, objects as configurations, functions as text, and slices of lists of arrays."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tfcompat._src.base import nest
from tfcompat._src.base.dtypes import DType
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import Dimension, TensorShape
from tfcompat._src.platform import function_code

_custom_objects: dict[str, Any] = {}


@export("keras.utils.CustomObjectScope")
class CustomObjectScope:
    """A block in which names in configurations may mean the objects given.

    Args:
      *args: dicts from names to classes or functions.
    """

    def __init__(self, *args: Mapping[str, Any]) -> None:
        self.custom_objects = args
        self.backup: dict[str, Any] | None = None

    def __enter__(self) -> CustomObjectScope:
        self.backup = dict(_custom_objects)
        for objects in self.custom_objects:
            _custom_objects.update(objects)
        return self

    def __exit__(self, *args: Any) -> None:
        _custom_objects.clear()
        _custom_objects.update(self.backup or {})


@export("keras.utils.custom_object_scope")
def custom_object_scope(*args: Mapping[str, Any]) -> CustomObjectScope:
    """A `CustomObjectScope` of the dicts given."""
    return CustomObjectScope(*args)


@export("keras.utils.get_custom_objects")
def get_custom_objects() -> dict[str, Any]:
    """The dict of all custom objects, to be changed in place."""
    return _custom_objects


def serialize_keras_class_and_config(cls_name: str, cls_config: object) -> dict[str, Any]:
    """The configuration of an object: the name of its class and what the class is made with."""
    return {"class_name": cls_name, "config": cls_config}


@export("keras.utils.serialize_keras_object")
def serialize_keras_object(instance: object) -> Any:
    """The configuration of an object with `get_config`, or the name of a function; ValueError for anything else."""
    instance = inspect.unwrap(instance) if callable(instance) else instance
    if instance is None:
        return None
    if hasattr(instance, "get_config"):
        return serialize_keras_class_and_config(type(instance).__name__, instance.get_config())
    if hasattr(instance, "__name__"):
        return instance.__name__
    raise ValueError("Cannot serialize", instance)


def _find(name: str, module_objects: Mapping[str, Any] | None, custom_objects: Mapping[str, Any] | None) -> Any:
    """What a name means: among the custom objects, then among those of a module; None where it is unknown."""
    for objects in (custom_objects, _custom_objects):
        if objects and name in objects:
            return objects[name]
    return (module_objects or {}).get(name)


def class_and_config_for_serialized_keras_object(
    config: object, module_objects: Mapping[str, Any] | None = None, custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> tuple[Any, Any]:  # fmt: skip
    """The class that a configuration names, and what to make it with.

    Raises:
      ValueError: `config` is no configuration, or the class is unknown.
    """
    if not isinstance(config, dict) or "class_name" not in config or "config" not in config:
        raise ValueError(f"Improper config format: {config}")
    cls = _find(config["class_name"], module_objects, custom_objects)
    if cls is None:
        raise ValueError(f"Unknown {printable_module_name}: {config['class_name']}")
    return cls, config["config"]


@export("keras.utils.deserialize_keras_object")
def deserialize_keras_object(
    identifier: object, module_objects: Mapping[str, Any] | None = None, custom_objects: Mapping[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:  # fmt: skip
    """The object of a configuration, or the function or a new object of the class with a name.

    Args:
      identifier: a dict with "class_name" and "config", a name, or None.
      module_objects: what names mean; `custom_objects` come first.
      custom_objects: dict from names to classes and functions.
      printable_module_name: what such objects are called in messages.

    Raises:
      ValueError: the name is unknown, or `identifier` is something else.
    """
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        cls, config = class_and_config_for_serialized_keras_object(
            identifier, module_objects, custom_objects, printable_module_name
        )
        if not hasattr(cls, "from_config"):
            with CustomObjectScope(custom_objects or {}):
                return cls(**config)
        if has_arg(cls.from_config, "custom_objects"):
            return cls.from_config(config, custom_objects={**_custom_objects, **(custom_objects or {})})
        with CustomObjectScope(custom_objects or {}):
            return cls.from_config(config)
    if isinstance(identifier, str):
        found = _find(identifier, module_objects, custom_objects)
        if found is None:
            raise ValueError(f"Unknown {printable_module_name}:{identifier}")
        return found() if inspect.isclass(found) else found
    raise ValueError(f"Could not interpret serialized {printable_module_name}: {identifier}")


def get_json_type(obj: Any) -> Any:
    """The JSON form of an object with `get_config`, a NumPy value, function, type, shape, DType or mapping.

    Raises:
      TypeError: the object is none of these.
    """
    if hasattr(obj, "get_config"):
        return serialize_keras_class_and_config(type(obj).__name__, obj.get_config())
    if type(obj).__module__ == np.__name__:
        return obj.tolist() if isinstance(obj, np.ndarray) else obj.item()
    if callable(obj):
        return obj.__name__
    if isinstance(obj, Dimension):
        return obj.value
    if isinstance(obj, TensorShape):
        return obj.as_list()
    if isinstance(obj, DType):
        return obj.name
    if isinstance(obj, Mapping):
        return dict(obj)
    raise TypeError("Not JSON Serializable:", obj)


def func_dump(func: Callable) -> tuple[str, Any, Any]:
    """A function as (its byte code as text, defaults, values of its closure)."""
    closure = tuple(cell.cell_contents for cell in func.__closure__) if func.__closure__ else None
    return function_code.dumps(func.__code__), func.__defaults__, closure


class _Loading(threading.local):
    runs_code = True


_loading = _Loading()
SAFE_LOADING = "TFCOMPAT_SAFE_LOADING"
"""The variable of the environment that has all models loaded without the Python code in their files, where it is set and not 0."""


@contextlib.contextmanager
def loading(safe: bool) -> Iterator[None]:
    """A block that reads a model from a file; if `safe`, or if the environment asks for it, Python code in the file is refused."""
    outer, _loading.runs_code = _loading.runs_code, _loading.runs_code and not safe and os.environ.get(SAFE_LOADING, "0") in ("", "0")
    try:
        yield
    finally:
        _loading.runs_code = outer


def func_load(
    code: Any, defaults: Any = None, closure: Any = None, globs: Any = None, owner: str = "a layer", key: str = "name"
) -> Callable:
    """The function that `func_dump` took apart.

    Args:
      code: text of the byte code, or all that `func_dump` returned.
      defaults, closure: values.
      globs: the globals of the function.
      owner, key: for messages: whose function it is, and which entry of `custom_objects` stands in for it.

    Raises:
      ValueError: another version of Python wrote the code, or models are loaded without code, see `loading`.
    """
    if not _loading.runs_code:
        raise ValueError(
            f"The file has Python code for {owner}, and is loaded without (safe=True or {SAFE_LOADING}): give the function as "
            f"custom_objects={{{key!r}: function}}, or load the file without these if you trust whoever wrote it."
        )
    if isinstance(code, (tuple, list)):
        code, defaults, closure = code
        defaults = tuple(defaults) if isinstance(defaults, list) else defaults
    if closure is not None:
        closure = tuple(v if isinstance(v, types.CellType) else types.CellType(v) for v in closure)
    loaded = function_code.loads(code, owner, key)
    return types.FunctionType(
        loaded, globals() if globs is None else globs, name=loaded.co_name, argdefs=defaults, closure=closure
    )


def has_arg(fn: Callable, name: str, accept_all: bool = False) -> bool:
    """Whether a function has an argument of that name, or with `accept_all` takes any keyword."""
    arguments = inspect.getfullargspec(fn)
    return name in arguments.args or name in arguments.kwonlyargs or (accept_all and arguments.varkw is not None)


def make_batches(size: int, batch_size: int) -> list[tuple[int, int]]:
    """(start, end) of the batches of `size` samples."""
    return [(start, min(size, start + batch_size)) for start in range(0, size, batch_size)]


def slice_arrays(arrays: Any, start: Any = None, stop: Any = None) -> Any:
    """The same samples of an array or of each array of a list.

    Args:
      arrays: an array, a list of arrays and None, or None.
      start: first sample, or a list of indices.
      stop: end, only without a list of indices.

    Raises:
      ValueError: `start` is a list and `stop` is given.
    """
    if arrays is None:
        return [None]
    if isinstance(start, list) and stop is not None:
        raise ValueError("The stop argument has to be None if the value of start is a list.")
    picks = hasattr(start, "__len__")
    chosen = (start.tolist() if hasattr(start, "shape") else start) if picks else slice(start, stop)
    if isinstance(arrays, list):
        return [x[chosen] if x is not None and hasattr(x, "__getitem__") else None for x in arrays]
    return arrays[chosen] if picks or hasattr(start, "__getitem__") else [None]


def to_list(x: object) -> list[Any]:
    """A list itself, anything else as the only element of one."""
    return x if isinstance(x, list) else [x]


def object_list_uid(object_list: object) -> str:
    """A key for the identities of objects."""
    return ", ".join(str(abs(id(x))) for x in nest.flatten(object_list))


def to_snake_case(name: str) -> str:
    """`BatchNormalization` as `batch_normalization`."""
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    name = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
    return f"private{name}" if name.startswith("_") else name


def is_all_none(structure: object) -> bool:
    """Whether a nest holds nothing but None."""
    return all(element is None for element in nest.flatten(structure))


def check_for_unexpected_keys(name: str, input_dict: Mapping[str, Any], expected_values: Iterable[str]) -> None:
    """Raises ValueError where a dict has keys that are not expected."""
    unknown = set(input_dict).difference(expected_values)
    if unknown:
        raise ValueError(
            f"Unknown entries in {name} dictionary: {list(unknown)}. Only expected following keys: {expected_values}"
        )


def validate_kwargs(
    kwargs: Iterable[str], allowed_kwargs: Iterable[str], error_message: str = "Keyword argument not understood:"
) -> None:
    """Raises TypeError where a keyword is not allowed."""
    for keyword in kwargs:
        if keyword not in allowed_kwargs:
            raise TypeError(error_message, keyword)
