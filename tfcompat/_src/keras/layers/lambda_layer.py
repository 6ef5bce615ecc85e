"""A layer that calls a function."""

from __future__ import annotations

import inspect
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.graph import Graph
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.backend.session import track_variable
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.utils.generic_utils import deserialize_keras_object, func_dump, func_load
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.variables.variable import variable_creator_scope


@export("keras.layers.Lambda")
class Lambda(Layer):
    """`function(inputs)`.

    Args:
      function: takes the inputs, and `mask` and `training` where it has such arguments.
      output_shape: the shape of an element of the batch of outputs, or a function of the inputs' shape that gives
        the whole shape; by default found by building the function.
      mask: the mask of the outputs, or a function of inputs and mask.
      arguments: dict of further arguments of the function.
    """

    def __init__(self, function, output_shape=None, mask=None, arguments=None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.function, self.arguments = function, arguments or {}
        self.mask, self._output_shape = mask, output_shape
        self.supports_masking = mask is not None
        self._variable_dict: dict[str, Any] = {}
        taken = inspect.getfullargspec(function).args
        self._fn_expects_training_arg, self._fn_expects_mask_arg = "training" in taken, "mask" in taken

    def compute_output_shape(self, input_shape: Any) -> Any:
        if self._output_shape is None:
            return self._built_shape(input_shape)
        if callable(self._output_shape):
            return _as_shapes(self._output_shape(_as_tuples(input_shape)))
        batch = _first_size(input_shape)
        return _map_shapes(lambda s: TensorShape([batch, *TensorShape(s).as_list()]), self._output_shape)

    def _built_shape(self, input_shape: object) -> Any:
        with Graph().as_default():
            dtype = dtypes.as_dtype(self.dtype or floatx())
            inputs = _map_shapes(lambda s: placeholder(dtype, shape=TensorShape(s)), input_shape)
            return nest.map_structure(lambda x: x.shape, self.call(inputs))

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        if self._fn_expects_mask_arg:
            self.arguments["mask"] = mask
        if self._fn_expects_training_arg:
            self.arguments["training"] = training
        with variable_creator_scope(self._variable_creator):
            return self.function(inputs, **self.arguments)

    def _variable_creator(self, next_creator: Callable, **kwargs: Any) -> Any:
        """Makes each variable of the function once, as a weight of the layer."""
        name = kwargs["name"]
        if name not in self._variable_dict:
            variable = self._variable_dict[name] = next_creator(**kwargs)
            (self._trainable_weights if variable.trainable else self._non_trainable_weights).append(variable)
            track_variable(variable)
        return self._variable_dict[name]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    # ---- configuration ----

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        for name, value in (("function", self.function), ("output_shape", self._output_shape), ("mask", self.mask)):
            if name != "mask" or value is not None:
                module = "module" if name == "function" else f"{name}_module"
                config[name], config[f"{name}_type"], config[module] = _serialized(value, name == "output_shape")
        return {**config, "arguments": self.arguments}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Lambda:
        """A layer from what `get_config` gave.

        Args:
          config: a Python function in it is stored as bytecode, which only the version of Python that wrote it can run.
          custom_objects: dict from names to objects. What has the layer's name is called instead of the stored function,
            and what is called "<name>/output_shape" or "<name>/mask" instead of those.

        Raises:
          ValueError: another version of Python wrote the bytecode of a function, and no custom object stands in for it.
        """
        config, layer = dict(config), config.get("name") or "Lambda"
        for name in ("function", "output_shape", "mask"):
            module = config.pop("module" if name == "function" else f"{name}_module", None)
            kind = config.pop(f"{name}_type", None)
            key = layer if name == "function" else f"{layer}/{name}"
            config[name] = _deserialized(config[name], kind, module, custom_objects, key) if name in config else None
        arguments = config.get("arguments") or {}
        config["arguments"] = {
            key: np.array(value["value"]) if isinstance(value, dict) and value.get("type") == "ndarray" else value
            for key, value in arguments.items()
        }
        return cls(**config)


def _serialized(value: object, raw_allowed: bool) -> tuple[Any, str, str | None]:
    """A function as bytecode or by name, with its kind and module; ValueError for anything else, unless raw."""
    if isinstance(value, types.FunctionType):
        return func_dump(value), "lambda", value.__module__
    if callable(value):
        return value.__name__, "function", value.__module__
    if raw_allowed:
        return value, "raw", None
    raise ValueError(f"Invalid input for serialization, type: {type(value)} ")


def _deserialized(value: object, kind: str, module: str | None, custom_objects: dict[str, Any] | None, key: str) -> Any:
    if kind == "lambda" and custom_objects and key in custom_objects:
        return custom_objects[key]
    names = {**globals(), **(custom_objects or {})}
    if module in sys.modules:
        names = {**globals(), **vars(sys.modules[module]), **(custom_objects or {})}
    elif module is not None:
        warnings.warn(f"{module} is not loaded, but a Lambda layer uses it. It may cause errors.", UserWarning, stacklevel=3)
    if kind == "function":
        return deserialize_keras_object(
            value, custom_objects=custom_objects, printable_module_name="function in Lambda layer"
        )
    if kind == "lambda":
        return func_load(value, globs=names, owner=f"the Lambda layer {key!r}", key=key)
    if kind == "raw":
        return value
    raise TypeError("Unknown function type:", kind)


# ---- nests of shapes ----


def _is_shape(value: object) -> bool:
    """Whether a value is one shape and not a nest of shapes."""
    if isinstance(value, TensorShape):
        return True
    return isinstance(value, (list, tuple)) and all(size is None or isinstance(size, (int, np.integer)) for size in value)


def _map_shapes(function: Callable, shapes: Any) -> Any:
    if _is_shape(shapes):
        return function(shapes)
    if isinstance(shapes, dict):
        return {key: _map_shapes(function, value) for key, value in shapes.items()}
    return type(shapes)(_map_shapes(function, shape) for shape in shapes)


def _as_shapes(shapes: object) -> Any:
    return _map_shapes(TensorShape, shapes)


def _as_tuples(shapes: object) -> Any:
    return _map_shapes(lambda shape: tuple(TensorShape(shape).as_list()), shapes)


def _first_size(shapes: Any) -> int | None:
    """The first size of the first shape."""
    while not _is_shape(shapes):
        shapes = next(iter(shapes.values() if isinstance(shapes, dict) else shapes))
    sizes = TensorShape(shapes).as_list()
    return sizes[0] if sizes else None
