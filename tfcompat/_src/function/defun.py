"""Defun: Python functions of tensors as functions of the graph."""

from __future__ import annotations

import hashlib
import inspect
import base64
from collections.abc import Callable
from typing import Any

import tfcompat._src.function.symbolic_gradient  # noqa: F401  (gives functions their gradients)
from tfcompat._src.framework import dtypes
from tfcompat._src.framework.convert import convert_to_tensor
from tfcompat._src.framework.function_body import FuncGraph, GraphFunction, is_stateful, make_call
from tfcompat._src.framework.function_def import argument_names
from tfcompat._src.framework.graph import Graph
from tfcompat._src.framework.graph_import import ImportedFunction
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.scopes import get_default_graph, name_scope
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.variables.resource_variable import is_resource_variable
from tfcompat._src.variables.scope import variable_scope

_INSTANTIATION_ATTRIBUTES = {"noinline": "_noinline", "compiled": "_XlaCompile", "separate_compiled_gradients": "_XlaSeparateCompiledGradients"}


class Defun:
    """Decorator that makes a Python function of tensors a function of the graph, called by one node.

    Args:
      *input_types: DTypes of the arguments; left out, the dtypes of the first call's tensors decide.
      func_name: name in the graph; by default that of the Python function and a digest of the body.
      grad_func: a Defun for the gradient: (arguments, gradients of results) -> gradients of arguments.
      python_grad_func: `f(op, *grads)` for the gradient, instead.
      out_names: names of the results.
      shape_func: `f(op) -> list of shapes` of the results of a call.
      capture_by_value: copy what is taken from outside into the body; raises NotImplementedError when set.
      noinline: kept as an attribute of the function.
      **kwargs: further attributes of the function.
    """

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        self._input_types = input_types
        self._options = {
            name: kwargs.pop(name, None)
            for name in ("func_name", "grad_func", "python_grad_func", "out_names", "shape_func", "capture_by_value")
        }
        self._attrs = kwargs
        if self._options.pop("capture_by_value"):
            raise NotImplementedError("tfcompat does not have Defun(capture_by_value=True)")

    def __call__(self, func: Callable) -> DefinedFunction | OverloadedFunction:
        if not callable(func):
            raise ValueError(f"function {func} must be callable")
        spec = inspect.getfullargspec(func)
        if spec.defaults or spec.varkw:
            raise ValueError(
                "function with argument defaults or keywords arguments are not supported. "
                f"{func} has defaults {spec.defaults} and keywords {spec.varkw}."
            )
        least = len(spec.args) - (1 if inspect.ismethod(func) else 0)
        names = spec.args[1:] if inspect.ismethod(func) else spec.args
        if not self._input_types and (least or spec.varargs):
            return OverloadedFunction(func, self._attrs, self._options)
        given = len(self._input_types)
        if given < least:
            raise ValueError("The function has fewer arguments than the number of specified input types.")
        if given > least and not spec.varargs:
            raise ValueError("The function has more arguments than the number of specified input types.")
        return DefinedFunction(func, names, self._input_types, self._attrs, **self._options)


class DefinedFunction(GraphFunction):
    """A function of the graph made from a Python function; calling it adds a node to the default graph.

    Its body is made when it is first called or asked for its name. Arguments are those of Defun.
    """

    def __init__(
        self, func: Callable, names: list[str], input_types: Any, attrs: dict[str, Any], func_name: str | None = None,
        grad_func: Any = None, python_grad_func: Callable | None = None, out_names: Any = None, shape_func: Any = None,
    ) -> None:  # fmt: skip
        self._func, self._names = func, names
        self._input_types = tuple(dtypes.as_dtype(t) for t in input_types)
        self._func_name, self._grad_func, self.python_grad_func = func_name, grad_func, python_grad_func
        self._given_out_names, self._shape_func = out_names, shape_func
        self.attrs = {_INSTANTIATION_ATTRIBUTES.get(k, k): _attribute(v) for k, v in attrs.items()}
        self._body: FuncGraph | None = None
        self._name = ""

    @property
    def body(self) -> FuncGraph:  # type: ignore[override]
        self._make_body()
        return self._body  # type: ignore[return-value]

    @property
    def name(self) -> str:  # type: ignore[override]
        self._make_body()
        return self._name

    @property
    def declared_input_types(self) -> tuple[dtypes.DType, ...]:
        return self._input_types

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors from outside that the body uses."""
        return self.body.extra_inputs

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """Name and type of the stateful nodes of the body."""
        return [(op.name, op.type) for op in self.body.get_operations() if is_stateful(op)]

    @property
    def grad_func_name(self) -> str | None:  # type: ignore[override]
        return None if self._grad_func is None else self._grad_func.name

    def set_grad_func(self, grad_func: DefinedFunction) -> None:
        """Says which function is the gradient."""
        self._grad_func = grad_func

    def _make_body(self) -> None:
        if self._body is not None:
            return
        body = FuncGraph(get_default_graph())
        with body.as_default(), variable_scope("", custom_getter=_outside_variables(body)):
            arguments = [
                body.add_input(kind, None, self._names[i] if i < len(self._names) else f"arg{i}")
                for i, kind in enumerate(self._input_types)
            ]
            body.outputs = self._results(self._func(*arguments), body)
        self._body = body
        self._set_names(body)
        if self._grad_func is not None:
            self._grad_func.add_to_graph(body.outer_graph)

    def _results(self, found: Any, body: FuncGraph) -> list[Tensor]:
        if found is None or isinstance(found, Operation):
            return []
        listed = list(found) if isinstance(found, (list, tuple)) else [found]
        if any(each is None for each in listed):
            raise ValueError(f"Function {self._func.__name__} can not return None.")
        tensors = [convert_to_tensor(each) for each in listed]
        return [t if t.graph is body else body.capture(t) for t in tensors]

    def _set_names(self, body: FuncGraph) -> None:
        self.arg_names = argument_names(body.inputs)
        wanted = self._given_out_names
        if wanted is not None and len(wanted) != len(body.outputs):
            raise ValueError(
                f"Length of out_names ({len(wanted)}) does not match number of outputs ({len(body.outputs)}): "
                f"{[t.name for t in body.outputs]}"
            )
        self.out_names = list(wanted) if wanted is not None else argument_names([*body.inputs, *body.outputs])[len(body.inputs) :]
        self._name = self._func_name or f"{getattr(self._func, '__name__', type(self._func).__name__)}_{_digest(body)}"

    def add_to_graph(self, graph: Graph) -> None:
        """Lets a graph hold the function, those that it calls, and its gradient."""
        self._make_body()
        held = graph._get_function(self._name)
        if held is self:
            return
        if held is not None and held.definition != self.definition:
            raise ValueError(f"Another function is already defined with that name: {self._name}")
        graph._add_function(self)
        for inner in self.body._functions.values():
            if not graph._is_function(inner.name):
                graph._add_function(inner)
        if self._grad_func is not None:
            self._grad_func.add_to_graph(graph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        graph = get_default_graph()
        self.add_to_graph(graph)
        with name_scope(kwargs.pop("name", None) or self.name) as scope:
            tensors = [convert_to_tensor(a) for a in args] + self.captured_inputs if False else None
        return tensors
