"""tf.contrib.framework.py_func: Python functions of nested arguments and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import as_shape
from tfcompat._src.ops.control.py_func import py_func as call_python


@export("contrib.framework.py_func")
def py_func(
    func: Callable, args: tuple | list = (), kwargs: dict[str, Any] | None = None, output_types: object = None,
    output_shapes: object = None, stateful: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """`tf.py_func` with keyword arguments and nested structures.

    Args:
      func: function of NumPy arrays, structured as `args` and `kwargs`, that gives arrays structured as `output_types`.
      args: nested Tensors. kwargs: nested Tensors by name.
      output_types: nested dtypes of the results, or a function of `args` and `kwargs` that gives them.
      output_shapes: their shapes, likewise; None where they are not known.
      stateful: whether equal calls may not be shared.
      name: node name.

    Returns:
      Tensors, structured as `output_types`.

    Raises:
      TypeError: `args` is no list or tuple, or `kwargs` no dict.
    """
    named = {} if kwargs is None else kwargs
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"args must be list and not {type(args)}. args: {args}")
    if not isinstance(named, dict):
        raise TypeError(f"kwargs must be dict and not {type(named)}. args: {named}")
    types = output_types(*args, **named) if callable(output_types) else output_types
    shapes = output_shapes(*args, **named) if callable(output_shapes) else output_shapes
    given = (args, named)

    def on_arrays(*arrays: Any) -> list[Any]:
        positional, keywords = nest.pack_sequence_as(given, arrays)
        result = func(*positional, **keywords)
        nest.assert_shallow_structure(types, result)
        return nest.flatten(result)

    flat = call_python(on_arrays, nest.flatten(given), nest.flatten(types), stateful=stateful, name=name)
    if shapes is not None:
        for tensor, shape in zip(flat, nest.flatten(nest.map_structure_up_to(types, as_shape, shapes))):
            tensor.set_shape(shape)
    return nest.pack_sequence_as(types, flat)
