"""`tensorflow.python.framework.func_graph`: graphs of function bodies, empty or traced from a Python function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.autograph.api import traced_as
from tfcompat._src.function.def_function import ConcreteFunction
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.nodes import function_body
from tfcompat._src.variables.variable import creator_stack


class _OfName(type):
    """The metaclass of FuncGraph: `isinstance` is true for every function body of tfcompat, also those of the base class."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, function_body.FuncGraph)


class FuncGraph(function_body.FuncGraph, metaclass=_OfName):
    """An empty function body, whose outer graph is the default graph.

    Args:
      name: the function's name.
      collections: its collections; by default those of the default graph.
    """

    def __init__(self, name: str, collections: dict[Any, list[Any]] | None = None) -> None:
        outer = get_default_graph()
        super().__init__(outer)
        self.name = name
        self._collections.update(outer._collections if collections is None else collections)


def func_graph_from_py_func(
    name: str, python_func: Callable[..., Any], args: Any, kwargs: Any, signature: Any = None, func_graph: object = None, autograph: bool = False,
    autograph_options: object = None, add_control_dependencies: bool = True, arg_names: object = None, op_return_value: object = None,
    collections: object = None, capture_by_value: object = None, override_flat_arg_shapes: object = None,
) -> Any:  # fmt: skip
    """Traces a Python function to a graph.

    Args:
      name: the function's name.
      python_func: the function that is traced.
      args, kwargs: its arguments, as nested structures; tensors and TensorSpecs in them become placeholders.
      signature: the TensorSpecs of the arguments, in place of `args` and `kwargs`.
      autograph, autograph_options: whether AutoGraph converts the function, and with which features.
      add_control_dependencies: whether operations with side effects run even if no output depends on them.

    Returns:
      The FuncGraph, with `inputs`, `outputs`, `structured_outputs` and `structured_input_signature`.

    Raises:
      NotImplementedError: another argument is given.
    """
    # The arguments that tfcompat does not support.
    others = dict(func_graph=func_graph, arg_names=arg_names, op_return_value=op_return_value, collections=collections,
                  capture_by_value=capture_by_value, override_flat_arg_shapes=override_flat_arg_shapes)  # fmt: skip
    refused = [key for key, value in others.items() if value is not None]
    if refused:
        raise NotImplementedError(f"tfcompat does not support these arguments of func_graph_from_py_func: {', '.join(refused)}. Leave them out.")
    # Variable creators of the outer graph act on variables that the function makes.
    args, kwargs = (tuple(args or ()), dict(kwargs or {})) if signature is None else (tuple(signature), {})
    creators = list(creator_stack(get_default_graph()))
    traced = traced_as(python_func, autograph, autograph_options)
    concrete = ConcreteFunction(name, python_func, args, kwargs, creators, add_control_dependencies, traced)
    concrete.graph.name = name  # type: ignore[attr-defined]  # of 1.15's
    concrete.graph.structured_input_signature = concrete.structured_input_signature  # type: ignore[attr-defined]  # of 1.15's
    return concrete.graph
