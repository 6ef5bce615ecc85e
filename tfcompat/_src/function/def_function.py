"""tf.function: Python functions of tensors, traced into functions of the graph, one for each kind of arguments."""

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
    """A traced function: one body, for arguments of one kind.

    Attributes: `graph` (the FuncGraph), `inputs` and `outputs` (its tensors), `captured_inputs`, `structured_outputs`,
    `structured_input_signature`, `variables`.
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
        """Lets a graph hold the function, which is returned."""
        return self._traced.add_to(graph or get_default_graph())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a call to the default graph; the arguments are tensors of the traced kinds, in order or by name.

        Raises:
          TypeError: too few or too many arguments, or an unknown name.
        """
        leaves = [v for v in nest.flatten(args, expand_composites=True) if not is_resource_variable(v)]
        names = [t.op.name for t in self.inputs[: len(self.inputs) - len(self.graph.captures)]]
        if kwargs.keys() <= set(names):
            lacking = [name for name in names[len(leaves) :] if name not in kwargs]
            if lacking or len(leaves) + len(kwargs) != len(names):
                raise TypeError(f"{self.name} takes the tensors {names}, but got {len(leaves)} in order and {sorted(kwargs)} by name")
            leaves += [kwargs[name] for name in names[len(leaves) :]]
        elif self.structured_input_signature[1].keys() == kwargs.keys():
            leaves += [v for v in nest.flatten(kwargs, expand_composites=True) if not is_resource_variable(v)]
        else:
            raise TypeError(f"{self.name} takes the tensors {names}, but got {sorted(kwargs)} by name")
        return self._call([convert_to_tensor(v) for v in leaves])

    def _call(self, tensors: list[Tensor]) -> Any:
        wanted = len(self.inputs) - len(self.graph.captures)
        if len(tensors) != wanted:
            raise TypeError(f"{self.name} takes {wanted} tensors, but got {len(tensors)}")
        graph = get_default_graph()
        if graph.executes:
            found = eager_call.call(self._traced, [*tensors, *self.captured_inputs])
            return None if self.structured_outputs is None else self._traced.packed(found)
        function = self._traced.add_to(graph)
        make = raw.StatefulPartitionedCall if function.is_stateful else raw.PartitionedCall
        name = None if self.outputs else "PartitionedFunctionCall"
        inputs, executor = [*tensors, *self.captured_inputs], executor_type.current()
        found = make(inputs, self._traced.kinds, FunctionRef(function.name), executor_type=executor, name=name)
        if self.structured_outputs is None:
            return found or graph.get_operations()[-1]  # a call without effects and outputs gives an empty list
        outputs = [] if isinstance(found, Operation) else list(found) if isinstance(found, (list, tuple)) else [found]
        for tensor, inner in zip(outputs, self.outputs):
            tensor.set_shape(inner.shape)
            tensor._handle_data = inner._handle_data
        return self._traced.packed(outputs)


def _input_names(python_function: Callable, args: tuple, kwargs: dict) -> list[str]:
    """Names of the tensors among the arguments: those of their specs, else of the parameters."""
    try:
        parameters = list(inspect.signature(python_function).parameters.values())
    except ValueError:
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), "args")
    named += [f"{rest}_{i}" for i in range(len(args) - len(named))]
    places = list(zip(named, args))
    found = []
    for name, value in (*places, *sorted(kwargs.items())):
        for leaf in nest.flatten(value, expand_composites=True):
            if isinstance(leaf, (Tensor, TensorSpec)):
                found.append((isinstance(leaf, TensorSpec) and leaf.name) or name)
    return found


def as_spec(value: object) -> Any:
    """What says of which kind a tensor, or a value of tensors, is; anything else as it is."""
    if isinstance(value, CompositeTensor):
        return value._type_spec
    return TensorSpec(value.shape, value.dtype) if isinstance(value, Tensor) else value


class Function:
    """What tf.function gives: calling it adds a call of the traced function for the kind of the arguments.

    Args:
      python_function: the function. name: of the traced functions. input_signature: TensorSpecs of the arguments, or None.
      autograph: whether it is converted. features: the optional features of that.
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
        self._programs: Mapping[str, Recent] = collections.defaultdict(Recent)
        self._bound: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        functools.update_wrapper(self, python_function)

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        if instance not in self._bound:
            method = types.MethodType(self.python_function, instance)
            self._bound[instance] = Function(method, self._name, self.input_signature, self._lifts_variables, *self._autograph)
        return self._bound[instance]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a call to the default graph.

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
        """The traced function for arguments of this kind; a TensorSpec may stand for a tensor."""
        if self.input_signature is not None and not args and not kwargs:
            args = self.input_signature
        return self._concrete(*self._canonical(args, kwargs))

    def concrete_functions(self) -> list[ConcreteFunction]:
        """The traced functions of the default graph; where an input signature says the arguments, there is one."""
        if self.input_signature is not None:
            self.get_concrete_function()
        graph = get_default_graph()
        return [concrete for (made_in, _), concrete in self._traces.items() if made_in is graph]

    def _list_all_concrete_functions_for_serialization(self) -> list[ConcreteFunction]:
        return self.concrete_functions()

    def _canonical(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Positional arguments with defaults filled in, where arrays and, under a signature, all values are tensors."""
        signature = self.input_signature
        if signature is not None and len(args) > len(signature):
            raise TypeError(f"When input_signature is provided, only pass arguments covered by it. Received {len(args)} argument(s).")
        try:
            parameters = inspect.signature(self.python_function)
            bound = (parameters.bind if signature is None else parameters.bind_partial)(*args, **kwargs)
        except ValueError:
            bound = None
        if bound is not None:
            given = bound.kwargs
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
            if isinstance(self.python_function, functools.partial):  # its keywords are its own, not inputs of the traces
                kwargs = {name: value for name, value in kwargs.items() if name in given}
        if signature is None:
            return nest.map_structure(_with_tensors, (args, kwargs), expand_composites=True)
        if kwargs or len(args) != len(signature):
            raise ValueError(f"Structure of Python function inputs does not match input_signature:\n{_beside(args, signature)}")
        try:
            return tuple(nest.map_structure_up_to(spec, _fitting, spec, arg) for spec, arg in zip(signature, args)), {}
        except (TypeError, ValueError) as e:
            raise ValueError(f"Python inputs incompatible with input_signature:\n{_beside(args, signature)}") from e

    def _concrete(self, args: tuple, kwargs: dict) -> ConcreteFunction:
        """The trace for arguments of this kind.

        As in 1.15 a function whose first trace makes variables is traced again with them, and has no other traces.
        """
        key = (get_default_graph(), _structure_key((args, kwargs), self.input_signature is not None))
        found = self._traces.get(key)
        if found is None and not self._lifts_variables:
            found = self._traces[key] = self._trace(args, kwargs)
        elif found is None:
            creator = LiftingCreator([t for t in nest.flatten((args, kwargs), expand_composites=True) if isinstance(t, Tensor)])
            found = self._trace(args, kwargs, _refused if self._has_variables else creator)
            if creator.has_made:
                self._has_variables, is_first = True, not self._traces
                self._traces.clear()
                if not is_first:
                    raise ValueError("Creating variables on a non-first call to a function decorated with tf.function.")
                found = self._trace(args, kwargs, _refused)
            self._traces[key] = found
        return found

    def _trace(self, args: tuple, kwargs: dict, *creators: Callable) -> ConcreteFunction:
        """A new trace, in which the creators make variables, and not those of the functions around."""
        around = [c for c in creator_stack(get_default_graph()) if c is not _refused and not isinstance(c, LiftingCreator)]
        traced = traced_as(self.python_function, *self._autograph)
        return ConcreteFunction(
            self._name, self.python_function, args if self.input_signature is None else self.input_signature, kwargs, [*around, *creators],
            traced=traced, programs=self._programs,
        )  # fmt: skip

    def _get_tracing_count(self) -> int:
        return len(self._traces)

    experimental_get_tracing_count = _get_tracing_count


class _Settings:
    """What holds for all functions."""

    runs_eagerly = False


@export("config.experimental_run_functions_eagerly")
def run_functions_eagerly(run_eagerly: bool) -> None:
    """Sets whether tf.functions that are called in eager mode run as plain Python, operation by operation."""
    _Settings.runs_eagerly = bool(run_eagerly)


def _refused(next_creator: Callable, **kwargs: Any) -> Any:
    raise ValueError("tf.function-decorated function tried to create variables on non-first call.")


def _with_tensors(value: TensorLike) -> Any:
    return convert_to_tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


def _beside(inputs: tuple, signature: tuple) -> str:
    """Arguments and the specs of a signature, one a line."""
    rows = (",\n    ".join(map(str, each)) for each in (inputs, signature))
    return "  inputs: (\n    {})\n  input_signature: (\n    {})".format(*rows)


def _fitting(spec: Any, value: TensorLike) -> Any:
    if isinstance(value, type(spec)):
        return value
    tensor = convert_to_tensor(value, spec.dtype) if isinstance(spec, TensorSpec) else value
    if not spec.is_compatible_with(tensor):
        raise ValueError(f"{value!r} does not fit {spec!r}")
    return tensor


def _structure_key(structure: object, has_signature: bool) -> Any:
    if has_signature:
        return "signature"
    leaves = nest.flatten(structure, expand_composites=True)
    return _skeleton(structure), tuple(map(_leaf_key, leaves))


def _skeleton(structure: object) -> Any:
    """The structure without its leaves, as a part of a key. A list or dict that an object tracks equals a plain one."""
    if isinstance(structure, (list, tuple)):
        return list if isinstance(structure, list) else type(structure), tuple(map(_skeleton, structure))
    if isinstance(structure, Mapping):
        return dict, tuple((key, _skeleton(structure[key])) for key in sorted(structure))
    if nest.is_sequence_or_composite(structure):
        return repr(nest.map_structure(lambda _: 0, structure, expand_composites=True))
    return None


def _leaf_key(value: object) -> Any:
    if isinstance(value, (Tensor, TensorSpec)):
        return "tensor", value.dtype.base_dtype, TensorShape(value.shape).sizes
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


@export("function", "contrib.eager.function")
def function(
    func: Callable | None = None, input_signature: object = None, autograph: bool = True, experimental_autograph_options: object = None,
    experimental_relax_shapes: bool = False, experimental_compile: object = None, experimental_implements: object = None,
) -> Any:  # fmt: skip
    """Makes a Python function of tensors a function of the graph: one node calls it.

    Args:
      func: the function; without it, a decorator is returned.
      input_signature: TensorSpecs of the arguments: one trace serves all.
      autograph: whether Python's control flow over tensors becomes that of the graph (tf.autograph).
      experimental_autograph_options: optional features of that: None, a tf.autograph.experimental.Feature, or several.
      experimental_implements, experimental_compile: hints that change no result.
      experimental_relax_shapes: whether traces are shared between shapes; here each has its own.

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
    """`function` whose traces may make variables in every call; arguments are as there."""

    def decorated(inner: Callable) -> Function:
        return Function(inner, getattr(inner, "__name__", "function"), input_signature, False, autograph, experimental_autograph_options)

    return decorated if func is None else decorated(func)


def defun_with_attributes(
    func: Callable | None = None, input_signature: object = None, attributes: object = None, autograph: bool = True,
    experimental_autograph_options: object = None, experimental_relax_shapes: bool = False,
) -> Any:  # fmt: skip
    """`defun`; `attributes` must be empty, since nothing here reads them."""
    if attributes:
        raise NotImplementedError(f"tfcompat does not keep attributes of functions: {attributes}.")
    return defun(func, input_signature, autograph, experimental_autograph_options)


def register(func: Function, *args: object, **kwargs: object) -> ConcreteFunction:
    """Adds the traced function for these arguments to the default graph."""
    found = func.get_concrete_function(*args, **kwargs)
    found.add_to_graph()
    return found
