"""Defun, the function decorator of early TensorFlow 1: Python functions of tensors become functions of the graph.

Names contain a digest of the body, so that equal functions of a program have equal names from run to run.
"""

from __future__ import annotations

import base64
import hashlib
import inspect
from collections.abc import Callable
from typing import Any

import tfcompat._src.function.symbolic_gradient  # noqa: F401  (gives functions their gradients)
from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.recent import Recent
from tfcompat._src.graph.function_def import argument_names
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.function_body import FuncGraph, GraphFunction, is_stateful, make_call
from tfcompat._src.nodes.graph_import import ImportedFunction
from tfcompat._src.variables.resource_variable import is_resource_variable
from tfcompat._src.variables.scope import get_variable_store, variable_scope, with_variable_store

_CALL_ATTRIBUTES = {
    "noinline": "_noinline",
    "compiled": "_XlaCompile",
    "separate_compiled_gradients": "_XlaSeparateCompiledGradients",
}


class Defun:
    """Decorator that turns a Python function of tensors into a function of the graph, called by one node.

    Args:
      *input_types: DTypes of the arguments; if left out, there is one function for each list of dtypes that it is called with.
      func_name: name in the graph; by default that of the Python function and a digest of the body.
      grad_func: a Defun for the gradient: (arguments, gradients of results) -> gradients of arguments.
      python_grad_func: `f(op, *grads)` for the gradient instead.
      out_names: names of the results.
      shape_func: `f(op)` that returns the shapes of the results of a call.
      capture_by_value: whether nodes of the outer graph are copied into the body instead of captured.
      whitelisted_stateful_ops: stateful operations that may be copied.
      capture_resource_var_by_value: if False, resource variables are captured by handle instead of by value.
      noinline: kept as an attribute of the function.
      **kwargs: further attributes of the function.
    """

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        self._input_types = input_types
        self._options = {
            name: kwargs.pop(name, None)
            for name in (
                "func_name", "grad_func", "python_grad_func", "out_names", "shape_func", "capture_by_value",
                "whitelisted_stateful_ops",
            )
        }
        self._options["capture_resource_var_by_value"] = kwargs.pop("capture_resource_var_by_value", True)
        self._attrs = kwargs

    def __call__(self, func: Callable) -> DefinedFunction | OverloadedFunction:
        if not callable(func):
            raise ValueError(f"function {func} must be callable")
        # 1.15's checks and messages.
        spec = inspect.getfullargspec(func)
        if spec.defaults or spec.varkw:
            raise ValueError(
                "function with argument defaults or keywords arguments are not supported. "
                f"{func} has defaults {spec.defaults} and keywords {spec.varkw}."
            )
        # The declared types must cover the positional parameters; more are allowed with *args only.
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

    The Python function is called on first use of the name, body or a call, as in 1.15. Arguments are those of Defun.
    """

    def __init__(
        self, func: Callable, names: list[str], input_types: Any, attrs: dict[str, Any], func_name: str | None = None,
        grad_func: Any = None, python_grad_func: Callable | None = None, out_names: Any = None, shape_func: Any = None,
        capture_by_value: bool | None = None, whitelisted_stateful_ops: Any = None, capture_resource_var_by_value: bool = True,
    ) -> None:  # fmt: skip
        allowed = whitelisted_stateful_ops or ()
        self._takes_handles = not capture_resource_var_by_value
        self._copied_ops = (lambda op: op in allowed) if capture_by_value else None
        self.description = inspect.getdoc(func) or ""
        self._func, self._names = func, names
        self._input_types = tuple(dtypes.as_dtype(t) for t in input_types)
        self._func_name, self._grad_func, self.python_grad_func = func_name, grad_func, python_grad_func
        self._given_out_names, self._shape_func = out_names, shape_func
        self.attrs = {_CALL_ATTRIBUTES.get(k, k): _attribute(v) for k, v in attrs.items()}
        self.attrs["_disable_call_shape_inference"] = True
        self.programs = Recent()
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
        """The captured tensors of the outer graph."""
        return self.body.extra_inputs

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """Names and types of the stateful nodes of the body."""
        return [(op.name, op.type) for op in self.body.get_operations() if is_stateful(op)]

    @property
    def grad_func_name(self) -> str | None:  # type: ignore[override]
        return None if self._grad_func is None else self._grad_func.name

    def set_grad_func(self, grad_func: DefinedFunction) -> None:
        """Sets the function that computes the gradient."""
        self._grad_func = grad_func

    def _make_body(self) -> None:
        """Calls the Python function in a new body, once."""
        if self._body is not None:
            return
        body = FuncGraph(get_default_graph(), self._copied_ops)
        # Variables made inside belong to the outer graph, under its variable store; the body captures them.
        store, getter = get_variable_store(), _outside_variables(body, self._takes_handles)
        with body.as_default(), with_variable_store(store), variable_scope("", custom_getter=getter):
            arguments = [
                body.add_input(kind, None, self._names[i] if i < len(self._names) else f"arg{i}")
                for i, kind in enumerate(self._input_types)
            ]
            body.outputs = self._results(self._func(*arguments), body)
        self._body = body
        self._set_names(body)
        if self._grad_func is not None:
            self._grad_func.add_to_graph(body.outer_graph)

    def _results(self, result: object, body: FuncGraph) -> list[Tensor]:
        """Returns the results of the Python function as tensors of the body."""
        if result is None or isinstance(result, Operation):
            return []
        listed = list(result) if isinstance(result, (list, tuple)) else [result]
        if any(each is None for each in listed):
            raise ValueError(f"Function {self._func.__name__} can not return None.")
        # A result from outside, such as a captured argument returned as it is, becomes an input of the body.
        tensors = [convert_to_tensor(each) for each in listed]
        return [t if t.graph is body else body.capture(t) for t in tensors]

    def _set_names(self, body: FuncGraph) -> None:
        """Sets the names of arguments and results, then that of the function, whose digest depends on them."""
        self.arg_names = argument_names(body.inputs)
        wanted = self._given_out_names
        if wanted is not None and len(wanted) != len(body.outputs):
            raise errors.InvalidArgumentError(
                None, None, "output names must be either empty or equal in size to outputs. "
                f"output names size = {len(wanted)} outputs size = {len(body.outputs)}",
            )  # fmt: skip
        self.out_names = list(wanted) if wanted is not None else argument_names([*body.inputs, *body.outputs])[len(body.inputs) :]
        name = getattr(self._func, "__name__", type(self._func).__name__)
        # The gradient is part of the digest: functions with equal bodies and different gradients are different.
        gradient = self._grad_func.name if self._grad_func is not None else repr(self.python_grad_func)
        self._name = self._func_name or f"{name}_{_digest(body, gradient)}"

    def add_to_graph(self, graph: Graph) -> None:
        """Adds the function, the functions that it calls, and its gradient to a graph's library.

        Raises:
          ValueError: the graph has another function of this name.
        """
        self._make_body()
        # Functions of equal definition may share a name: they are the same function, defined twice.
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
        """Adds a call to the default graph.

        Args:
          *args: one value for each argument.
          name: of the node.
          noinline: kept as an attribute of the node.

        Returns:
          the result, a tuple of the results, or the Operation if there are none.

        Raises:
          ValueError: wrong number or dtypes of arguments, or an unknown keyword.
        """
        return call(self, args, self._shape_func, **kwargs)


def call(function: Any, args: Any, shape_func: Callable | None, name: str | None = None, **kwargs: object) -> Any:
    """Adds a call of a function to the default graph; arguments and result are those of `DefinedFunction.__call__`.

    Raises:
      AttributeError: in eager mode, with 1.15's message: a Defun is called in graphs only. ValueError: an unknown keyword.
    """
    graph = get_default_graph()
    if graph.executes:
        raise AttributeError("Tensor.op is meaningless when eager execution is enabled.")
    function.add_to_graph(graph)
    tensors = [convert_to_tensor(a) for a in args] + function.captured_inputs
    attrs: dict[str, Any] = {"_disable_call_shape_inference": True}
    # Keywords that 1.15 turns into attributes of the call node.
    attrs.update({_CALL_ATTRIBUTES[k]: bool(kwargs.pop(k)) for k in list(kwargs) if k in _CALL_ATTRIBUTES})
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {kwargs.keys()}")
    op = make_call(graph, function, tensors, graph._final_name(name or function.name), attrs)
    if shape_func is not None:
        for tensor, shape in zip(op.outputs, shape_func(op)):
            tensor.set_shape(shape)
    if len(op.outputs) == 1:
        return op.outputs[0]
    return tuple(op.outputs) or op


class OverloadedFunction:
    """A Defun without declared types: one function of the graph for each list of argument dtypes."""

    def __init__(self, func: Callable, attrs: dict[str, Any], options: dict[str, Any]) -> None:
        self._func, self._attrs, self._options = func, attrs, options
        self._made: dict[tuple[dtypes.DType, ...], DefinedFunction] = {}

    def instantiate(self, input_types: Any) -> DefinedFunction:
        """Returns the function for these argument dtypes."""
        kinds = tuple(dtypes.as_dtype(t).base_dtype for t in input_types)
        function = self._made.get(kinds)
        if function is None:
            function = self._made[kinds] = self._instance(kinds)
        return function

    def _instance(self, kinds: tuple[dtypes.DType, ...]) -> DefinedFunction:
        """Makes the function for these argument dtypes, with a gradient function for the same dtypes."""
        names = [n for n in inspect.getfullargspec(self._func).args if n != "self"]
        options = dict(self._options)
        if options["func_name"] is not None:
            options["func_name"] = "_".join([options["func_name"], *(_short(k) for k in kinds)])
        grad_func = options["grad_func"]
        if isinstance(grad_func, OverloadedFunction):
            options["grad_func"] = None
        function = DefinedFunction(self._func, names, kinds, self._attrs, **options)
        if isinstance(grad_func, OverloadedFunction):
            function.set_grad_func(grad_func.instantiate([*kinds, *(t.dtype for t in function.body.outputs)]))
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function of the arguments' dtypes; see DefinedFunction."""
        tensors = []
        for each in args:
            each = convert_to_tensor(each)
            if not isinstance(each, Tensor):
                raise ValueError(f"Expect a Tensor but got {each}")
            tensors.append(each)
        return self.instantiate([t.dtype for t in tensors])(*tensors, **kwargs)


_DefinedFunction = DefinedFunction
_OverloadedFunction = OverloadedFunction
_FuncGraph = FuncGraph
_LETTERS = {"float": "f", "double": "f", "int": "i", "uint": "u", "bool": "b", "complex": "c", "string": "s"}


def _short(dtype: dtypes.DType) -> str:
    """Returns a dtype as the name of an overload shows it: f32, i64, b."""
    name = dtype.name
    kind = name.rstrip("0123456789")
    return _LETTERS.get(kind, kind) + name[len(kind) :]


def _attribute(value: object) -> Any:
    """Returns an attribute's value in internal form."""
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, (bool, int, float, bytes)):
        raise ValueError(f"Unsupported attribute type {type(value)}")
    return value


def _digest(body: FuncGraph, gradient: str) -> str:
    """Returns eleven characters of a digest that differs between functions with different nodes or gradients."""
    text = gradient + repr([(op.name, op.type, [t.name for t in op.inputs], str(op.node_def)) for op in body.get_operations()])
    text += repr([t.name for t in (*body.inputs, *body.outputs)] + [t.graph is body for t in body.extra_inputs])
    # Not the text that 1.15 digests: names are as stable as 1.15's, but not the same.
    digest = hashlib.sha1(text.encode()).digest()
    return base64.b64encode(digest, b"ab").decode()[:11]


def _outside_variables(body: FuncGraph, takes_handles: bool) -> Callable:
    """Returns a custom getter for variable scopes: it makes variables outside of all functions and returns their values (or handles)."""

    def get(getter: Callable, name: str, *args: Any, **kwargs: Any) -> Any:
        # Climbs to the graph outside of all functions, where variables live.
        graph: Any = body
        users = []
        while isinstance(graph, FuncGraph):
            users.append(graph)
            graph = graph.outer_graph
        with graph.as_default():
            initializer = kwargs.get("initializer")
            if initializer is not None and not callable(initializer):
                convert_to_tensor(initializer)  # 1.15 makes a constant to find the dtype: node names depend on it
            variable = getter(name, *args, **kwargs)
            value = variable if takes_handles and is_resource_variable(variable) else variable.value()
        # Every enclosing function records the variable, for `get_extra_vars`.
        for user in users:
            user.extra_vars.append(variable)
        return value

    return get


def get_extra_vars() -> list[Any]:
    """Returns the variables that the function being defined uses; an empty list outside of functions."""
    graph = get_default_graph()
    return graph.extra_vars if isinstance(graph, FuncGraph) else []


def get_extra_inputs() -> list[Tensor]:
    """Returns the outer tensors that the function being defined captures; an empty list outside of functions."""
    graph = get_default_graph()
    return graph.extra_inputs if isinstance(graph, FuncGraph) else []


def get_extra_args() -> list[Tensor]:
    """Returns the placeholders of `get_extra_inputs` inside the function."""
    graph = get_default_graph()
    return graph.extra_args if isinstance(graph, FuncGraph) else []


def from_library(library: Any) -> list[ImportedFunction]:
    """Returns the functions of a FunctionDefLibrary message, callable in the default graph.

    Raises:
      ValueError: a function has two gradients, the library lacks a function, or gradients form a cycle.
    """
    graph = get_default_graph()
    functions = {d.signature.name: CallableImport(d, graph) for d in library.function}
    for entry in library.gradient:
        for name in (entry.gradient_func, entry.function_name):
            if name not in functions:
                raise ValueError(f"FunctionDefLibrary missing '{name}' FunctionDef")
        function = functions[entry.function_name]
        if function.grad_func_name and function.grad_func_name != entry.gradient_func:
            raise ValueError(f"FunctionDefLibrary has two gradients for '{entry.function_name}'")
        function.grad_func_name = entry.gradient_func
    for function in functions.values():
        function.library = functions
        _check_acyclic(function, functions)
    return list(functions.values())


def _check_acyclic(function: CallableImport, library: dict[str, CallableImport]) -> None:
    """Raises ValueError if following gradient functions leads back to a function."""
    seen = {function.name}
    while function.grad_func_name:
        function = library[function.grad_func_name]
        if function.name in seen:
            raise ValueError("FunctionDefLibrary contains cyclic gradient functions!")
        seen.add(function.name)


def from_definition(definition: object, grad_func: Any = None) -> CallableImport:
    """Returns the function of a FunctionDef message, with the function that computes its gradient."""
    function = CallableImport(definition, get_default_graph())
    function.library = {function.name: function}
    if grad_func is not None:
        function.grad_func_name, function.library[grad_func.name] = grad_func.name, grad_func
    return function


_from_definition = from_definition


class CallableImport(ImportedFunction):
    """An imported function that can be called like a Defun."""

    captured_inputs: list[Tensor] = []

    def add_to_graph(self, graph: Graph) -> None:
        """Adds the functions of the library to a graph."""
        for function in self.library.values():
            if not graph._is_function(function.name):
                function._graph = graph
                graph._add_function(function)

    @property
    def declared_input_types(self) -> tuple[dtypes.DType, ...]:
        return tuple(dtypes.as_dtype(a.type) for a in self._definition.signature.input_arg)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a call to the default graph; see DefinedFunction."""
        return call(self, args, None, **kwargs)
