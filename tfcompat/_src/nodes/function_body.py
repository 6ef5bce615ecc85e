"""Functions inside a graph: their bodies, the nodes that call them, and how a run sees through a call.

A node that calls a function has the function's signature in the graph. A run sees an identity of the function's results,
which hang on a copy of the body with the call's arguments put in: calls are inlined, so all that holds for nodes of the
graph (order, state, random counters, devices, gradients) holds inside functions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from tfcompat._src.base import dtypes, errors, recorders
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.recent import Recent
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import attr_values, op_spec, shape_inference
from tfcompat._src.graph.eager_tensor import eager_value
from tfcompat._src.graph.function_def import definition_of
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import ControlFlowContext, CreationStack, Operation, output_dtypes
from tfcompat._src.graph.ordering import BACK_EDGE
from tfcompat._src.graph.signature import Arg, Signature
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.proto import messages

_LARGEST_INLINED = 128


class FuncGraph(Graph):
    """The graph of a function's body; tensors of the outer graph that its nodes use become further inputs.

    Args:
      outer_graph: the graph around it.
      copied_ops: where given, nodes of the outer graph are copied into the body and not passed in, if this says so of them.

    Attributes:
      keeps_effects: whether nodes that act run also where no result hangs on them.
    """

    building_function = True
    keeps_effects = True

    def __init__(self, outer_graph: Graph, copied_ops: Callable[[Operation], bool] | None = None) -> None:
        super().__init__()
        self._copied_ops = copied_ops
        self.outer_graph = self._outer_graph = outer_graph
        self._graph_def_versions.CopyFrom(outer_graph.graph_def_versions)
        self._functions = {} if outer_graph.executes else dict(outer_graph._functions)
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.captures: dict[Tensor, Tensor] = {}
        self.extra_vars: list[Any] = []
        self._copies: dict[Operation, Operation] = {}
        self._constants: dict[Tensor, Tensor] = {}
        self.saving_errors: list[str] = []

    def mark_as_unsaveable(self, error_message: str) -> None:
        """Has tf.saved_model.save refuse the function, for this reason."""
        self.saving_errors.append(error_message)

    @property
    def saveable(self) -> bool:
        """Whether nothing has marked the function as one that cannot be saved."""
        return not self.saving_errors

    @property
    def external_captures(self) -> list[Tensor]:
        """The tensors from outside that the function takes."""
        return list(self.captures)

    @property
    def internal_captures(self) -> list[Tensor]:
        """The inputs that stand for them."""
        return list(self.captures.values())

    @property
    def extra_inputs(self) -> list[Tensor]:
        """The captured tensors of the outer graph."""
        return list(self.captures)

    @property
    def extra_args(self) -> list[Tensor]:
        """The placeholders that stand for them inside."""
        return list(self.captures.values())

    def add_input(self, dtype: dtypes.DType, sizes: tuple[Any, ...] | None, name: str) -> Tensor:
        """A new placeholder as the next argument."""
        attrs = {"dtype": dtype.base_dtype, "shape": TensorShape.of(sizes)}
        with self.control_dependencies(None):
            node = super().make_op(op_spec.get("Placeholder"), self._final_name(name), (), attrs)
        self.inputs.append(node.outputs[0])
        return node.outputs[0]

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """What stands inside for a tensor of the outer graph."""
        if self._copied_ops is not None:
            return self._copied(tensor.op).outputs[tensor.value_index]
        found = self.captures.get(tensor)
        if found is None:
            if self._encloses(tensor.graph):
                raise errors.InaccessibleTensorError(
                    f"The tensor '{tensor}' cannot be accessed here: it is defined in another function or code block. Use return values, "
                    f"explicit Python locals or TensorFlow collections to access it. Defined in: {tensor.graph}; accessed from: {self}."
                )
            value = None if getattr(tensor, "stays_captured", False) else eager_value(tensor)
            outer = self.outer_graph
            if value is not None and value.size <= _LARGEST_INLINED and not recorders.order([tensor]):
                is_differentiable = tensor.dtype.is_floating or tensor.dtype.is_complex
                return self.capture(outer.capture(tensor)) if isinstance(outer, FuncGraph) and is_differentiable else self._inlined(tensor, value)
            if tensor.graph is not outer and isinstance(outer, FuncGraph) and not outer._encloses(tensor.graph):
                outer.capture(tensor)
            found = self.captures[tensor] = self.add_input(tensor.dtype, tensor._sizes, name or "Placeholder")
            found._handle_data = tensor._handle_data
            self.captured_from[found] = tensor
        return found

    def _encloses(self, graph: object) -> bool:
        """Whether a graph is the body of a function inside of this one."""
        while isinstance(graph, FuncGraph):
            graph = graph.outer_graph
            if graph is self:
                return True
        return False

    def _inlined(self, tensor: Tensor, value: NDArray) -> Tensor:
        """A small tensor that has a value, as a constant."""
        found = self._constants.get(tensor)
        if found is None:
            with self.control_dependencies(None):
                attrs = {"value": value, "dtype": tensor.dtype}
                found = super().make_op(op_spec.get("Const"), self.unique_name("Const"), (), attrs, [tensor.dtype]).outputs[0]
            self._constants[tensor] = found
            self.captured_from[found] = tensor
        return found

    def _copied(self, op: Operation) -> Operation:
        """A copy of a node of the outer graph, and of what it takes."""
        if op.graph is self:
            return op
        if op not in self._copies:
            if op.type in ("Placeholder", "PlaceholderV2"):
                raise ValueError(f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value.")
            if is_stateful(op) and (self._copied_ops is None or not self._copied_ops(op)):
                raise ValueError(f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value.")
            inputs = [self._copied(t.op).outputs[t.value_index] for t in op.inputs]
            kinds = [t.dtype for t in op.outputs]
            self._copies[op] = super().make_op(spec_of(op), self.unique_name(op.name), inputs, dict(op.attrs), kinds)
        return self._copies[op]

    def make_op(self, spec: op_spec.OpSpec, name: str, inputs: Iterable[Tensor], *args: Any, **kwargs: Any) -> Operation:
        inputs = [t if t.graph is self else self.capture(t) for t in inputs]
        kwargs["skip_frames"] = kwargs.get("skip_frames", 2) + 1
        return super().make_op(spec, name, inputs, *args, **kwargs)


class GraphFunction:
    """A function: name, body, and signature.

    Args:
      name: under which a graph holds it, and the op type of its calls.
      body: the graph with its nodes; `body.inputs` and `body.outputs` are arguments and results.
      arg_names: of the arguments. out_names: of the results.
      attrs: attributes of the function, inside values.

    `acts_in_order` says that other programs shall run what acts in it in the order of its nodes.
    `extra_outputs` are tensors of the body that it gives after the body's outputs; `programs` is where operations that run at once
    keep what they compile of it.
    """

    extra_outputs: tuple[Tensor, ...] = ()
    acts_in_order = False
    grad_func_name: str | None = None
    python_grad_func: Callable[..., Any] | None = None
    description = ""
    has_run = False
    of_elements: object = None
    """The StructuredFunctionWrapper of a function that a dataset calls."""

    def __init__(
        self, name: str, body: FuncGraph, arg_names: Sequence[str], out_names: Sequence[str], attrs: dict[str, Any]
    ) -> None:
        self.name, self.body, self.attrs = name, body, attrs
        self.arg_names, self.out_names = list(arg_names), list(out_names)
        self.programs: Recent[Hashable, Any] = Recent()

    @property
    def outputs(self) -> list[Tensor]:
        """The results, as tensors of the body."""
        return [*self.body.outputs, *self.extra_outputs]

    @property
    def graph(self) -> FuncGraph:
        return self.body

    @property
    def held(self) -> dict[str, GraphFunction]:
        """The functions that it may call, by name."""
        return self.body._functions

    @property
    def is_stateful(self) -> bool:
        """Whether a call acts, or what it gives hangs on variables."""
        return any(is_stateful(op) or bool(spec_of(op).effects.reads) for op in self.body.get_operations())

    @property
    def definition(self) -> messages.FunctionDef:
        """The function as a FunctionDef message."""
        return definition_of(self)

    @property
    def spec(self) -> op_spec.OpSpec:
        """The record of the nodes that call the function."""
        inputs = tuple(_arg(n, t) for n, t in zip(self.arg_names, self.body.inputs))
        outputs = tuple(_arg(n, t) for n, t in zip(self.out_names, self.outputs))
        return call_spec(self.name, inputs, outputs, op_spec.Effects(external=self.is_stateful))


def _arg(name: str, tensor: Tensor) -> Arg:
    return Arg(name, dtype=tensor.dtype.base_dtype, is_ref=tensor.dtype._is_ref_dtype)


def is_stateful(op: Operation) -> bool:
    """Whether running the node matters beside its outputs: it acts, or checks."""
    spec = spec_of(op)
    acts = spec.effects.is_stateful or bool(spec.effects.writes) or not spec.signature.outputs
    return acts and op.type not in ("NoOp", "ControlTrigger")


def call_spec(name: str, inputs: tuple[Arg, ...], outputs: tuple[Arg, ...], effects: op_spec.Effects) -> op_spec.OpSpec:
    """The record of the calls of one function, with a signature that is given and not parsed."""
    spec = op_spec.OpSpec(
        name, f"call of {name}", _unknown_shapes, _never_called, _call_gradient, effects=effects, node_class=CallOperation
    )
    index = {a.name: i for i, a in enumerate(inputs)}
    vars(spec)["signature"] = Signature(inputs, outputs, {}, frozenset(), (), index)
    return spec


def _unknown_shapes(c: shape_inference.InferenceContext) -> list[Any]:
    return [None] * len(c.op.outputs)


def _never_called(*arguments: object) -> NoReturn:
    raise RuntimeError("a call of a function is inlined before it runs")


def _call_gradient(op: Operation, *grads: Tensor) -> list[Tensor]:
    """The gradient of a call: what the function says, or the gradient of its body."""
    function = op.graph._get_function(op.type)
    if function is not None and function.python_grad_func is not None:
        found = function.python_grad_func(op, *grads)
        return list(found) if isinstance(found, (list, tuple)) else [found]
    kinds = [t.dtype.base_dtype for t in op.inputs]
    found = raw.SymbolicGradient([*op.inputs, *grads], kinds, attr_values.FunctionRef(op.type, dict(op.attrs)))
    return found if isinstance(found, list) else [found]


# ---- calls ----


def results_spec(gradient: Callable[..., Any]) -> op_spec.OpSpec:
    """The record of a call as a run sees it: an identity of the results of the inlined body."""
    return op_spec.OpSpec(
        "results of a function", "(input: T, *, T: list(type)) -> (output: T)", shape_inference.unknown,
        lambda values: tuple(values), gradient, fold=True,
    )  # fmt: skip


class _ArgumentContext(shape_inference.InferenceContext):
    """A call as its shape function sees it: with the arguments of the graph."""

    def __init__(self, op: CallOperation) -> None:
        self.op = op
        self.inputs = [t._sizes for t in op.inputs]
        self.asked = set()


@dataclass(frozen=True)
class Site:
    """Where copies of the nodes of a body are to stand.

    Attributes:
      graph, order, stack: those of the node for whose sake they are made. name: what their names begin with.
      device: of those whose body gives them none. context: the control flow context that they are in.
      waits_for: what all of them wait for. sources: what those wait for that take nothing and wait for nothing in the body.
      inside_others: arguments made in branches and loops of other calls: the body runs whether they have values or not.
      callers: the functions in whose bodies they are.
    """

    graph: Graph
    name: str
    order: tuple[int, ...]
    stack: CreationStack
    device: str
    context: ControlFlowContext | None = None
    waits_for: tuple[Operation, ...] = ()
    sources: tuple[Operation, ...] = ()
    inside_others: frozenset[Tensor] = frozenset()
    callers: tuple[GraphFunction, ...] = ()


class Inlined(NamedTuple):
    """A copy of a function's body behind the arguments of a call: what it gives, and what must have run."""

    results: tuple[Tensor, ...]
    acting: list[Operation]


class CallOperation(Operation):
    """A node that calls a function. To a run it is an identity of the results of its `inlined` body, as `takes` and `waits_for` say.

    `_inside_others` are arguments made in branches and loops of other such nodes: the body runs whether they have values or not.
    """

    differentiates_inlined = False
    results_spec = results_spec(_call_gradient)
    shown_as = "IdentityN"
    _inlined: Inlined | None = None
    _arguments: tuple[Tensor, ...]
    _controls: list[Operation]
    _inside_others: frozenset[Tensor] = frozenset()
    _callers: tuple[GraphFunction, ...] = ()

    def __init__(self, graph: Graph, spec: op_spec.OpSpec, *args: Any) -> None:
        super().__init__(graph, spec, *args)
        self.call_spec = spec
        self.spec = self.results_spec
        for tensor, sizes in zip(self.outputs, spec.shape(_ArgumentContext(self))):
            tensor._sizes = sizes

    @property
    def function(self) -> GraphFunction:
        """What this node calls."""
        return FUNCTION_OF.get(self.type, _function_of_type)(self)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self._arguments

    @property
    def control_inputs(self) -> list[Operation]:
        return list(self._controls)

    @property
    def _input_types(self) -> list[dtypes.DType]:
        return [t.dtype for t in self.inputs]

    @property
    def op_def(self) -> messages.OpDef:
        return attr_values.op_def(self.call_spec)

    def arg_length(self, arg: Arg) -> int:
        return len(self.outputs)

    @property
    def inlined(self) -> Inlined:
        """A copy of the body behind the arguments, made where it is first asked for: once, whichever threads ask.

        Raises:
          errors.UnimplementedError: the function calls itself.
        """
        if self._inlined is None:
            with self._graph._lock:
                if self._inlined is None:
                    function = self.function
                    if function in self._callers:
                        raise calls_itself(function.name)
                    self._inlined = body_at(function, self.inputs, self._site(function))
        return self._inlined

    @property
    def takes(self) -> tuple[Tensor, ...]:
        return self.inlined.results

    @takes.setter
    def takes(self, arguments: tuple[Tensor, ...]) -> None:
        self._arguments, self._inlined = arguments, None

    @property
    def waits_for(self) -> list[Operation]:
        return self.inlined.acting

    @waits_for.setter
    def waits_for(self, controls: list[Operation]) -> None:
        self._controls, self._inlined = controls, None

    def _site(self, function: GraphFunction) -> Site:
        captured = self._inside_others.union(t for t in self.inputs if is_listed(self) and not is_listed(t.op))
        sources = dict.fromkeys(t.op for t in self.inputs if t not in captured)
        return Site(
            self._graph, self._name, self.order, self._stack, self._device, self._control_flow_context, tuple(self._controls), tuple(sources),
            captured, (*self._callers, function),
        )  # fmt: skip


def calls_itself(name: str) -> errors.UnimplementedError:
    """What a function that calls itself raises."""
    return errors.UnimplementedError(None, None, f"Function {name} calls itself: tfcompat inlines functions and does not run recursive ones.")


def with_held(functions: Iterable[GraphFunction]) -> dict[str, GraphFunction]:
    """Functions, those that they may call, and so on, by name."""
    found: dict[str, GraphFunction] = {}
    pending = list(functions)
    while pending:
        function = pending.pop()
        if function.name not in found:
            found[function.name] = function
            pending.extend(function.held.values())
    return found


def operations_within(op: Operation, callers: tuple[GraphFunction, ...] = ()) -> Iterator[Operation]:
    """A node, and the nodes of the functions that it calls."""
    yield op
    if isinstance(op, CallOperation):
        if op.function in callers:
            raise calls_itself(op.function.name)
        for inner in op.function.body.get_operations():
            yield from operations_within(inner, (*callers, op.function))


def _function_of_type(op: Operation) -> GraphFunction:
    found: GraphFunction = op._graph._get_function(op.type)
    return found


FUNCTION_OF: dict[str, Callable[[CallOperation], GraphFunction]] = {}
"""Op types that call the function an attribute names -> which one."""


def body_at(function: GraphFunction, arguments: Sequence[Tensor], site: Site) -> Inlined:
    """Copies of the nodes of a function's body, which the graph does not list."""
    nodes = body_nodes(function.body)
    *outer, place = site.order

    def copy(op: Operation, attrs: dict[str, Any], inputs: list[Tensor], controls: list[Operation]) -> Operation:
        found = type(op)(
            site.graph, spec_of(op), f"{site.name}/{op._name}", inputs, [t.dtype for t in op.outputs], attrs,
            [*site.waits_for, *(controls if inputs or controls else site.sources)], site.order[0], op._stack,
        )  # fmt: skip
        found.order = (*outer, place - 1, nodes[op])  # after all that was made before the call
        found._device = op._device or site.device
        found._control_flow_context = site.context
        if isinstance(found, CallOperation):
            found._inside_others = site.inside_others.intersection(inputs)
            found._callers = site.callers
        else:
            try:
                shape_inference.infer(found)
            except ValueError as e:
                raise errors.InvalidArgumentError(found.node_def, found, str(e)) from e
        return found

    made, values = copied(function.body, arguments, copy)
    acting = [made[op] for op in acting_nodes(nodes)]
    return Inlined(tuple(values[t] for t in function.outputs), [*site.waits_for, *acting])


def is_listed(op: Operation) -> bool:
    """Whether the graph lists a node: those that take the place of a call it does not."""
    return op._graph._nodes_by_name.get(op._name) is op


_LEVELS = {"Switch": 1, "RefSwitch": 1, "Enter": 1, "RefEnter": 1, "Exit": -2, "RefExit": -2}
_MERGE = ("Merge", "RefMerge")
_ENTER = ("Enter", "RefEnter")
_COPIES = itertools.count()


def acting_nodes(nodes: Iterable[Operation]) -> list[Operation]:
    """The nodes that must have run when a function ends; for those in a branch or loop, where these come together again."""
    levels: dict[Operation, int] = {}
    for op in nodes:
        sources = [*(t.op for t in op.inputs), *op.control_inputs]
        level = max((levels.get(s, 0) for s in sources), default=0)
        if op.type in _MERGE and not any(t.op.type in _ENTER for t in op.inputs):
            level -= 1
        levels[op] = level + _LEVELS.get(op.type, 0)
    acting = [op for op in levels if is_stateful(op)]
    ends = [op for op in levels if op.type in (*_MERGE, "Exit", "RefExit") and levels[op] == 0]
    return [op for op in acting if levels[op] <= 0] + (ends if any(levels[op] > 0 for op in acting) else [])


def body_nodes(body: FuncGraph) -> dict[Operation, int]:
    """The nodes of a body that run, but for its arguments, sources first, numbered from 1; with those that already take the place of
    calls.
    """
    arguments = {t.op for t in body.inputs}
    found: dict[Operation, int] = {}
    roots = body.get_operations() if body.keeps_effects else [t.op for t in body.outputs]
    while roots:
        pending, roots = list(reversed(roots)), []
        while pending:
            op = pending.pop()
            if op in found or op in arguments:
                continue
            inputs, controls = _taken(op)
            sources = {*(t.op for t in inputs), *controls} - arguments - found.keys()
            closing = {s for s in sources if s.type in BACK_EDGE}
            roots.extend(closing)
            if sources - closing:
                pending.extend([op, *sorted(sources - closing, key=_created, reverse=True)])
            else:
                found[op] = len(found) + 1
        roots = sorted(set(roots) - found.keys(), key=_created)
    return found


def _created(op: Operation) -> tuple[int, ...]:
    return op.order


def _taken(op: Operation) -> tuple[Sequence[Tensor], Sequence[Operation]]:
    """What a node of a body takes: for a call that nodes already take the place of, their results."""
    if isinstance(op, CallOperation) and op._inlined is not None:
        return op._inlined
    return op.inputs, op.control_inputs


def spec_of(op: Operation) -> op_spec.OpSpec:
    """The record that a node was made with."""
    return op.call_spec if isinstance(op, CallOperation) else op.spec


def copied(body: FuncGraph, arguments: Sequence[Tensor], copy: Callable[..., Any]) -> tuple[dict[Any, Any], dict[Tensor, Tensor]]:
    """Copies of a body's nodes by node, and what stands for each tensor of it; edges that close loops are set last.

    `copy` gets a node and the attributes, inputs and control inputs of its copy; each copy of a loop is a frame of its own.
    """
    frame = f"/{next(_COPIES)}".encode()
    made: dict[Operation, Operation] = {}
    values: dict[Tensor, Tensor] = dict(zip(body.inputs, arguments))
    open_inputs: list[tuple[Operation, int]] = []
    for op in body_nodes(body):
        known = [t for t in op.inputs if t in values]
        inputs = [values[t] if t in values else values[known[0]] for t in op.inputs]
        open_inputs += [(op, i) for i, t in enumerate(op.inputs) if t not in values]
        attrs = {**op.attrs, "frame_name": op.attrs["frame_name"] + frame} if op.type in _ENTER else dict(op.attrs)
        made[op] = copy(op, attrs, inputs, [made[c] for c in op.control_inputs if c in made])
        values.update(zip(op.outputs, made[op].outputs))
    for op, index in open_inputs:
        node = made[op]  # a new Merge: no plan holds it, so nothing has to be told that it changes
        node.takes = (*node.takes[:index], values[op.inputs[index]], *node.takes[index + 1 :])
    for op, copy_of_call in made.items():
        if isinstance(op, CallOperation) and op._inlined is not None and isinstance(copy_of_call, CallOperation):
            results, controls = op._inlined
            copy_of_call._inlined = Inlined(tuple(values[t] for t in results), [made[c] for c in controls if c in made])
    return made, values


def make_call(graph: Graph, function: GraphFunction, inputs: Sequence[Tensor], name: str, attrs: dict[str, Any]) -> Operation:
    """Adds a node that calls a function of the graph.

    Raises:
      ValueError: number or dtypes of the inputs are wrong.
    """
    spec = function.spec
    check_inputs(spec.signature, inputs, function.name, name)
    return graph.make_op(spec, name, inputs, attrs, output_dtypes(spec.signature, {}), infer_shapes=False)


def check_inputs(signature: Signature, inputs: Sequence[Tensor], function: str, name: str) -> None:
    if len(inputs) != len(signature.inputs):
        raise ValueError(f"Expected number of arguments: {len(signature.inputs)}, received: {len(inputs)}")
    for arg, tensor in zip(signature.inputs, inputs):
        if arg.dtype is not None and tensor.dtype.base_dtype is not arg.dtype:
            raise ValueError(
                f"Input '{arg.name}' passed {short_name(tensor.dtype)} expected {short_name(arg.dtype)} while building "
                f"NodeDef '{name}' using Op<name={function}>"
            )


def short_name(dtype: dtypes.DType) -> str:
    """A dtype as signatures show it."""
    name = dtype.base_dtype.name
    return dtypes.cpp_name(name) + ("_ref" if dtype._is_ref_dtype else "")


def copier_into(graph: Graph) -> Callable[..., Any]:
    """What `copied` takes to add the copies to a graph, on the devices of the nodes or else those of the graph's scopes."""

    def copy(op: Operation, attrs: dict[str, Any], inputs: list[Tensor], controls: list[Operation]) -> Operation:
        with graph.control_dependencies(controls):
            found = graph.make_op(spec_of(op), graph.unique_name(op.name), inputs, attrs, [t.dtype for t in op.outputs])
        found._device = op._device or found._device
        return found

    return copy


def copy_into(graph: FuncGraph, body: FuncGraph, arguments: Sequence[Tensor]) -> list[Tensor]:
    """Adds copies of a body's nodes to `graph` with `arguments` in place of its inputs; its results there."""
    values = copied(body, arguments, copier_into(graph))[1]
    return [values[t] for t in body.outputs]
