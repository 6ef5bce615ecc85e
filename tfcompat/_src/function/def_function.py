"""tf.function: traces Python functions of tensors into functions of the graph, once for each kind of arguments."""

from __future__ import annotations

import collections
import functools
import inspect
import types
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.autograph.api import traced_as
from tfcompat._src.base import nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.export import export
from tfcompat._src.base.recent import Recent
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.function import eager_call, executor_type
from tfcompat._src.function.tracing import Traced
from tfcompat._src.function.variable_lifting import LiftingCreator
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.function_body import FuncGraph, GraphFunction
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.variables.resource_variable import is_resource_variable
from tfcompat._src.variables.variable import creator_stack

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class ConcreteFunction:
    """A traced function: one body, for one kind of arguments.

    Args:
      name: of the function, without prefix and number.
      python_function: the function, whose parameters name the inputs.
      args, kwargs: its arguments: Tensors or TensorSpecs become inputs, anything else is a constant of the trace.
      creators: functions that make variables in it.
      keeps_effects: whether side effects in it happen although no result depends on them.
      traced: called in place of `python_function`, for example its conversion by AutoGraph.
      programs: caches of compiled programs, by role, shared with other traces of the function.

    Attributes:
      graph: the FuncGraph.
      inputs, outputs: its tensors.
      captured_inputs: tensors of the outer graph that it captures.
      structured_outputs: outputs in the structure that the Python function returned.
      structured_input_signature: args and kwargs with TensorSpecs in place of tensors.
      variables: variables that it reads or writes.
    """

    def __init__(
        self, name: str, python_function: Callable, args: tuple, kwargs: dict, creators: list, keeps_effects: bool = True,
        traced: Callable | None = None, programs: Mapping[str, Recent] | None = None,
    ) -> None:  # fmt: skip
        self._arguments = nest.flatten((args, kwargs), expand_composites=True)
        given = [t for t in self._arguments if isinstance(t, (Tensor, TensorSpec))]
        names = _input_names(python_function, args, kwargs)
        kinds = [(t.dtype, TensorShape(t.shape).sizes) for t in given]
        self.structured_input_signature = nest.map_structure(as_spec, (args, kwargs))

        def call(inputs: list[Tensor]) -> Any:
            # Arguments that are not tensors are constants of this trace; placeholders take the place of tensors.
            fed = iter(inputs)
            leaves = [next(fed) if isinstance(v, (Tensor, TensorSpec)) else v for v in self._arguments]
            inner_args, inner_kwargs = nest.pack_sequence_as((args, kwargs), leaves, expand_composites=True)
            return (traced or python_function)(*inner_args, **inner_kwargs)

        self._traced = Traced(f"__inference_{name}", kinds, call, names, creators, keeps_effects)
        self._traced.programs = programs
        self.graph: FuncGraph = self._traced.body
        self.graph.structured_outputs = self._traced.result

    @property
    def name(self) -> str:
        return self._traced.name

    @property
    def inputs(self) -> list[Tensor]:
        return self.graph.inputs

    @property
    def outputs(self) -> list[Tensor]:
        return self.graph.outputs

    @property
    def captured_inputs(self) -> list[Tensor]:
        return list(self.graph.captures)

    @property
    def structured_outputs(self) -> Any:
        return self._traced.result

    @property
    def output_dtypes(self) -> Any:
        return nest.map_structure(lambda t: None if t is None else t.dtype, self._traced.result)

    @property
    def output_shapes(self) -> Any:
        return nest.map_structure(lambda t: None if t is None else t.shape, self._traced.result)

    @property
    def variables(self) -> list[Any]:
        """The variables that the body reads or writes."""
        # Variables are known from collections in graphs, and from their handles in eager mode.
        handles = set(self.graph.captures)
        owned = [handle.variable() for handle in handles if getattr(handle, "variable", None) is not None]
        known = [*self.graph.outer_graph.get_collection("variables"), *[v for v in owned if v is not None]]
        return [v for v in known if getattr(v, "handle", None) in handles]

    @property
    def trainable_variables(self) -> list[Any]:
        return [v for v in self.variables if v.trainable]

    @property
    def function_def(self) -> Any:
        """The function as a FunctionDef message."""
        return self._traced.function().definition

    def add_to_graph(self, graph: Any = None) -> GraphFunction:
        """Adds the function to a graph's library and returns it."""
        return self._traced.add_to(graph or get_default_graph())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function with tensors of the traced kinds, in order or by name.

        In a graph this adds a node; in eager mode it runs the function.

        Raises:
          TypeError: too few or too many arguments, or an unknown name.
        """
        # Resource variables are captured by the trace, not passed.
        leaves = [v for v in nest.flatten(args, expand_composites=True) if not is_resource_variable(v)]
        names = [t.op.name for t in self.inputs[: len(self.inputs) - len(self.graph.captures)]]
        if kwargs.keys() <= set(names):
            missing = [name for name in names[len(leaves) :] if name not in kwargs]
            if missing or len(leaves) + len(kwargs) != len(names):
                raise TypeError(f"{self.name} takes the tensors {names}, but got {len(leaves)} by position and {sorted(kwargs)} by name.")
            leaves += [kwargs[name] for name in names[len(leaves) :]]
        # By keywords of the Python function, whose values may be nests of tensors.
        elif self.structured_input_signature[1].keys() == kwargs.keys():
            leaves += [v for v in nest.flatten(kwargs, expand_composites=True) if not is_resource_variable(v)]
        else:
            raise TypeError(f"{self.name} takes the tensors {names}, but got {sorted(kwargs)} by name.")
        return self._call([convert_to_tensor(v) for v in leaves])

    def _call(self, tensors: list[Tensor]) -> Any:
        """Calls the function with tensors for all inputs that are not captured; returns results in the traced structure."""
        expected = len(self.inputs) - len(self.graph.captures)
        if len(tensors) != expected:
            raise TypeError(f"{self.name} takes {expected} tensors, but got {len(tensors)}.")
        graph = get_default_graph()
        if graph.executes:
            result = eager_call.call(self._traced, [*tensors, *self.captured_inputs])
            return None if self.structured_outputs is None else self._traced.packed(result)
        function = self._traced.add_to(graph)
        make = raw.StatefulPartitionedCall if function.is_stateful else raw.PartitionedCall
        name = None if self.outputs else "PartitionedFunctionCall"
        inputs, executor = [*tensors, *self.captured_inputs], executor_type.current()
        result = make(inputs, self._traced.kinds, FunctionRef(function.name), executor_type=executor, name=name)
        if self.structured_outputs is None:
            return result or graph.get_operations()[-1]  # a call without effects and outputs gives an empty list
        outputs = [] if isinstance(result, Operation) else list(result) if isinstance(result, (list, tuple)) else [result]
        # Call nodes infer no shapes: those of the trace are more precise than nothing.
        for tensor, inner in zip(outputs, self.outputs):
            tensor.set_shape(inner.shape)
            tensor._handle_data = inner._handle_data
        return self._traced.packed(outputs)


def _input_names(python_function: Callable, args: tuple, kwargs: dict) -> list[str]:
    """Returns a name for each tensor among the arguments: that of its TensorSpec, else that of the parameter."""
    try:
        parameters = list(inspect.signature(python_function).parameters.values())
    except ValueError:
        parameters = []
    # Surplus positional arguments are named after the *args parameter, with a number.
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), "args")
    named += [f"{rest}_{i}" for i in range(len(args) - len(named))]
    by_position = list(zip(named, args))
    names = []
    for name, value in (*by_position, *sorted(kwargs.items())):
        for leaf in nest.flatten(value, expand_composites=True):
            if isinstance(leaf, (Tensor, TensorSpec)):
                names.append((isinstance(leaf, TensorSpec) and leaf.name) or name)
    return names


def as_spec(value: object) -> Any:
    """Returns the TypeSpec of a tensor or composite tensor; other values are returned unchanged."""
    if isinstance(value, CompositeTensor):
        return value._type_spec
    return TensorSpec(value.shape, value.dtype) if isinstance(value, Tensor) else value


class Function:
    """The result of tf.function. A call looks up or makes the trace for the kind of its arguments, and calls that.

    Args:
      python_function: the function.
      name: of its traces.
      input_signature: TensorSpecs of the arguments, or None.
      lifts_variables: whether variables are made in the first call only, and lifted out of it, as in tf.function.
      autograph: whether AutoGraph converts it.
      features: optional features of AutoGraph.
    """

    def __init__(
        self, python_function: Callable, name: str, input_signature: Any = None, lifts_variables: bool = True, autograph: bool = True,
        features: Any = None,
    ) -> None:  # fmt: skip
        self.python_function = python_function
        self._autograph = autograph, features
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self._name, self._lifts_variables = name, lifts_variables
        self._traces: dict[Any, ConcreteFunction] = {}
        self._has_variables = False
        # Caches of compiled programs, by role, which all traces of the function share.
        self._programs: Mapping[str, Recent] = collections.defaultdict(Recent)
        self._bound: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        functools.update_wrapper(self, python_function)

    def __get__(self, instance: Any, owner: Any) -> Any:
        """Returns the function bound to an instance, with traces of its own that live as long as the instance."""
        if instance is None:
            return self
        if instance not in self._bound:
            method = types.MethodType(self.python_function, instance)
            self._bound[instance] = Function(method, self._name, self.input_signature, self._lifts_variables, *self._autograph)
        return self._bound[instance]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the trace for these arguments: adds a node to a graph, or runs it in eager mode.

        Raises:
          TypeError: there are more arguments than the input signature has.
          ValueError: the arguments do not fit the input signature, or variables are made in a call that is not the first.
        """
        if _Settings.runs_eagerly and executing_eagerly():
            return self.python_function(*args, **kwargs)
        try:
            args, kwargs = self._canonical(args, kwargs)
        except (TypeError, ValueError):
            if self.input_signature is not None:  # 1.15 traces before it looks at the arguments
                self.get_concrete_function()
            raise
        concrete = self._concrete(args, kwargs)
        return concrete._call([t for t in nest.flatten((args, kwargs), expand_composites=True) if isinstance(t, Tensor)])

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Returns the trace for this kind of arguments; a TensorSpec can take the place of a tensor."""
        if self.input_signature is not None and not args and not kwargs:
            args = self.input_signature
        return self._concrete(*self._canonical(args, kwargs))

    def concrete_functions(self) -> list[ConcreteFunction]:
        """Returns the traces made in the default graph; with an input signature there is always one."""
        if self.input_signature is not None:
            self.get_concrete_function()
        graph = get_default_graph()
        return [concrete for (made_in, _), concrete in self._traces.items() if made_in is graph]

    def _list_all_concrete_functions_for_serialization(self) -> list[ConcreteFunction]:
        return self.concrete_functions()

    def _canonical(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Returns positional arguments with defaults filled in, arrays converted to tensors, and with a signature all values."""
        signature = self.input_signature
        if signature is not None and len(args) > len(signature):
            raise TypeError(f"When input_signature is provided, only pass arguments covered by it. Received {len(args)} argument(s).")
        try:
            # Defaults are arguments like any other: they are part of the trace's key.
            parameters = inspect.signature(self.python_function)
            bound = (parameters.bind if signature is None else parameters.bind_partial)(*args, **kwargs)
        except ValueError:
            bound = None
        if bound is not None:
            given_kwargs = bound.kwargs
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
            if isinstance(self.python_function, functools.partial):  # its keywords are its own, not inputs of the traces
                kwargs = {name: value for name, value in kwargs.items() if name in given_kwargs}
        # Without a signature, arrays become tensors and Python values stay constants; with one, every argument is converted to its spec.
        if signature is None:
            return nest.map_structure(_with_tensors, (args, kwargs), expand_composites=True)
        if kwargs or len(args) != len(signature):
            raise ValueError(f"Structure of Python function inputs does not match input_signature:\n{_beside(args, signature)}")
        try:
            return tuple(nest.map_structure_up_to(spec, _fitting, spec, arg) for spec, arg in zip(signature, args)), {}
        except (TypeError, ValueError) as e:
            raise ValueError(f"Python inputs incompatible with input_signature:\n{_beside(args, signature)}") from e

    def _concrete(self, args: tuple, kwargs: dict) -> ConcreteFunction:
        """Returns the trace for this kind of arguments, made if needed.

        As in 1.15, a function whose first trace makes variables is traced a second time with them, and only that trace is kept.
        """
        # The graph is part of the key: a trace captures tensors of the graph in which it was made.
        key = (get_default_graph(), _structure_key((args, kwargs), self.input_signature is not None))
        concrete = self._traces.get(key)
        if concrete is None and not self._lifts_variables:
            concrete = self._traces[key] = self._trace(args, kwargs)
        elif concrete is None:
            # In the first trace variables may be made; initial values are lifted out of it. Later traces refuse to make any.
            creator = LiftingCreator([t for t in nest.flatten((args, kwargs), expand_composites=True) if isinstance(t, Tensor)])
            concrete = self._trace(args, kwargs, _refused if self._has_variables else creator)
            # Variables may be made in the very first trace only. It is repeated, so that the trace that is kept makes none.
            if creator.has_made:
                self._has_variables, is_first = True, not self._traces
                self._traces.clear()
                if not is_first:
                    raise ValueError("Creating variables on a non-first call to a function decorated with tf.function.")
                concrete = self._trace(args, kwargs, _refused)
            self._traces[key] = concrete
        return concrete

    def _trace(self, args: tuple, kwargs: dict, *creators: Callable) -> ConcreteFunction:
        """Makes a trace in which these creators make variables, after those of the outer graph that do not belong to a tf.function."""
        # A function that is called in another one's trace makes its variables by its own rules.
        outer_creators = [c for c in creator_stack(get_default_graph()) if c is not _refused and not isinstance(c, LiftingCreator)]
        traced = traced_as(self.python_function, *self._autograph)
        return ConcreteFunction(
            self._name, self.python_function, args if self.input_signature is None else self.input_signature, kwargs, [*outer_creators, *creators],
            traced=traced, programs=self._programs,
        )  # fmt: skip

    def _get_tracing_count(self) -> int:
        return len(self._traces)

    experimental_get_tracing_count = _get_tracing_count


class _Settings:
    """Settings of all functions."""

    runs_eagerly = False


@export("config.experimental_run_functions_eagerly")
def run_functions_eagerly(run_eagerly: bool) -> None:
    """Sets whether tf.functions called in eager mode run as plain Python, operation by operation.

    Args:
      run_eagerly: whether they do.
    """
    _Settings.runs_eagerly = bool(run_eagerly)


def _refused(next_creator: Callable, **kwargs: Any) -> Any:
    """A variable creator that raises ValueError."""
    raise ValueError("tf.function-decorated function tried to create variables on non-first call.")


def _with_tensors(value: TensorLike) -> Any:
    """Converts NumPy values to tensors: their contents are not part of the trace."""
    return convert_to_tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


def _beside(inputs: tuple, signature: tuple) -> str:
    """Returns arguments and the specs of a signature as text, one per line."""
    rows = (",\n    ".join(map(str, each)) for each in (inputs, signature))
    return "  inputs: (\n    {})\n  input_signature: (\n    {})".format(*rows)


def _fitting(spec: Any, value: TensorLike) -> Any:
    """Returns an argument as a value of its spec; raises ValueError if it does not fit."""
    if isinstance(value, type(spec)):
        return value
    tensor = convert_to_tensor(value, spec.dtype) if isinstance(spec, TensorSpec) else value
    if not spec.is_compatible_with(tensor):
        raise ValueError(f"{value!r} does not fit {spec!r}")
    return tensor


def _structure_key(structure: object, has_signature: bool) -> Any:
    """Returns the part of a trace's cache key that depends on arguments. With an input signature, all arguments share one trace."""
    if has_signature:
        return "signature"
    leaves = nest.flatten(structure, expand_composites=True)
    return _skeleton(structure), tuple(map(_leaf_key, leaves))


def _skeleton(structure: object) -> Any:
    """Returns a structure without its leaves, as a part of a key; lists and dicts tracked by an object equal plain ones."""
    if isinstance(structure, (list, tuple)):
        return list if isinstance(structure, list) else type(structure), tuple(map(_skeleton, structure))
    if isinstance(structure, Mapping):
        return dict, tuple((key, _skeleton(structure[key])) for key in sorted(structure))
    if nest.is_sequence_or_composite(structure):
        return repr(nest.map_structure(lambda _: 0, structure, expand_composites=True))
    return None


def _leaf_key(value: object) -> Any:
    """Returns the key of one argument: dtype and shape of a tensor, the value of a hashable object, the identity of any other."""
    if isinstance(value, (Tensor, TensorSpec)):
        return "tensor", value.dtype.base_dtype, TensorShape(value.shape).sizes
    try:
        # An unhashable object is told apart by identity; the trace's arguments keep it alive.
        hash(value)
    except TypeError:
        return id(value)
    return value


@export("function", "contrib.eager.function")
def function(
    func: Callable | None = None, input_signature: object = None, autograph: bool = True, experimental_autograph_options: object = None,
    experimental_relax_shapes: bool = False, experimental_compile: object = None, experimental_implements: object = None,
) -> Any:  # fmt: skip
    """Compiles a Python function of tensors into functions of the graph, each called by one node.

    Args:
      func: the function; without it, a decorator is returned.
      input_signature: TensorSpecs of the arguments, for a single trace.
      autograph: whether tf.autograph converts Python control flow that depends on tensors.
      experimental_autograph_options: optional features of AutoGraph: None, a tf.autograph.experimental.Feature, or several.
      experimental_implements, experimental_compile: hints that change no result.
      experimental_relax_shapes: a hint to share traces between shapes; here each shape has its own trace.

    Returns:
      a Function.
    """

    def decorated(inner: Callable) -> Function:
        name = getattr(inner, "__name__", "function")
        return Function(inner, name, input_signature, autograph=autograph, features=experimental_autograph_options)

    return decorated if func is None else decorated(func)


@export("contrib.eager.defun")
def defun(
    func: Callable | None = None, input_signature: object = None, autograph: bool = True, experimental_autograph_options: object = None,
    experimental_relax_shapes: bool = False,
) -> Any:  # fmt: skip
    """`function` whose traces may each make variables; the arguments are the same."""

    def decorated(inner: Callable) -> Function:
        return Function(inner, getattr(inner, "__name__", "function"), input_signature, False, autograph, experimental_autograph_options)

    return decorated if func is None else decorated(func)


def defun_with_attributes(
    func: Callable | None = None, input_signature: object = None, attributes: object = None, autograph: bool = True,
    experimental_autograph_options: object = None, experimental_relax_shapes: bool = False,
) -> Any:  # fmt: skip
    """`defun` with attributes for the function, which must be empty.

    Raises:
      NotImplementedError: `attributes` is not empty.
    """
    if attributes:
        raise NotImplementedError(f"tfcompat does not support attributes of functions, but got {attributes}. Use defun without attributes.")
    return defun(func, input_signature, autograph, experimental_autograph_options)


def register(func: Function, *args: object, **kwargs: object) -> ConcreteFunction:
    """Adds the trace for these arguments to the default graph and returns it."""
    concrete = func.get_concrete_function(*args, **kwargs)
    concrete.add_to_graph()
    return concrete
