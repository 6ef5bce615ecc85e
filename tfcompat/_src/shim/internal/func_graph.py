"""`tensorflow.python.framework.func_graph`: bodies of functions by their names, and of Python functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.autograph.api import traced_as
from tfcompat._src.function.def_function import ConcreteFunction
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.nodes import function_body
from tfcompat._src.variables.variable import creator_stack


class _OfName(type):
    """Every body of a function is an instance of the class that names them."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, function_body.FuncGraph)


class FuncGraph(function_body.FuncGraph, metaclass=_OfName):
    """An empty body of a function, inside of the default graph.

    Args:
      name: of the function.
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
    """The body of a Python function.

    Args:
      name: of the function.
      python_func: what is called in the body.
      args, kwargs: its arguments: nests, where a tensor or TensorSpec becomes a placeholder.
      signature: the TensorSpecs of the arguments, in place of `args` and `kwargs`.
      autograph, autograph_options: whether, and with which features, it is converted.
      add_control_dependencies: whether what acts in it runs though no result hangs on it.

    Returns:
      The FuncGraph, with `inputs`, `outputs`, `structured_outputs` and `structured_input_signature`.

    Raises:
      NotImplementedError: another argument is given.
    """
    others = dict(func_graph=func_graph, arg_names=arg_names, op_return_value=op_return_value, collections=collections,
                  capture_by_value=capture_by_value, override_flat_arg_shapes=override_flat_arg_shapes)  # fmt: skip
    refused = [key for key, value in others.items() if value is not None]
    if refused:
        raise NotImplementedError(f"tfcompat has no func_graph_from_py_func with {', '.join(refused)}.")
    args, kwargs = (tuple(args or ()), dict(kwargs or {})) if signature is None else (tuple(signature), {})
    creators = list(creator_stack(get_default_graph()))
    traced = traced_as(python_func, autograph, autograph_options)
    concrete = ConcreteFunction(name, python_func, args, kwargs, creators, add_control_dependencies, traced)
    concrete.graph.name = name  # type: ignore[attr-defined]  # of 1.15's
    concrete.graph.structured_input_signature = concrete.structured_input_signature  # type: ignore[attr-defined]  # of 1.15's
    return concrete.graph
