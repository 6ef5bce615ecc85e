"""Functions inside a graph: bodies, the nodes that call them, and their inlining.

In the graph, a call is one node with the function's signature. For a run it is an identity of the results of a copy of the body, with
the call's inputs in place of the body's arguments. Because calls are inlined, whatever holds for nodes of a graph (order, state, random
counters, devices, gradients) also holds inside functions.
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
"""Eager tensors of up to this many elements are captured as constants, so that they take part in constant folding."""


class FuncGraph(Graph):
    """The graph of a function's body. Tensors of the outer graph that its nodes use are captured: they become further inputs.

    Args:
      outer_graph: the enclosing graph.
      copied_ops: if given, nodes of the outer graph are copied into the body instead of captured; it decides for stateful ones.

    Attributes:
      keeps_effects: whether nodes with side effects run although no result depends on them.
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
        """Makes tf.saved_model.save refuse the function, with this message."""
        self.saving_errors.append(error_message)

    @property
    def saveable(self) -> bool:
        """Whether nothing has marked the function as unsaveable."""
        return not self.saving_errors

    @property
    def external_captures(self) -> list[Tensor]:
        """The captured tensors of the outer graph."""
        return list(self.captures)

    @property
    def internal_captures(self) -> list[Tensor]:
        """The placeholders of captured tensors, in the order of `external_captures`."""
        return list(self.captures.values())

    @property
    def extra_inputs(self) -> list[Tensor]:
        """The captured tensors of the outer graph."""
        return list(self.captures)

    @property
    def extra_args(self) -> list[Tensor]:
        """The placeholders of captured tensors inside the body."""
        return list(self.captures.values())

    def add_input(self, dtype: dtypes.DType, sizes: tuple[Any, ...] | None, name: str) -> Tensor:
        """Adds a placeholder as the next argument and returns its tensor."""
        attrs = {"dtype": dtype.base_dtype, "shape": TensorShape.of(sizes)}
        with self.control_dependencies(None):
            node = super().make_op(op_spec.get("Placeholder"), self._final_name(name), (), attrs)
        self.inputs.append(node.outputs[0])
        return node.outputs[0]

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Returns the tensor that represents a tensor of the outer graph in this body: a placeholder, a constant, or a copy.

        Raises:
          errors.InaccessibleTensorError: the tensor belongs to a function inside this one.
        """
        if self._copied_ops is not None:
            return self._copied(tensor.op).outputs[tensor.value_index]
        inner = self.captures.get(tensor)
        if inner is None:
            if self._encloses(tensor.graph):
                raise errors.InaccessibleTensorError(
                    f"The tensor '{tensor}' cannot be accessed here: it is defined in another function or code block. Use return values, "
                    f"explicit Python locals or TensorFlow collections to access it. Defined in: {tensor.graph}; accessed from: {self}."
                )
            # A small eager tensor becomes a constant, unless a tape follows it. Of a floating-point one in nested functions the outermost
            # function holds the constant, and the inner ones capture that.
            value = None if getattr(tensor, "stays_captured", False) else eager_value(tensor)
            outer = self.outer_graph
            if value is not None and value.size <= _LARGEST_INLINED and not recorders.order([tensor]):
                is_differentiable = tensor.dtype.is_floating or tensor.dtype.is_complex
                return self.capture(outer.capture(tensor)) if isinstance(outer, FuncGraph) and is_differentiable else self._inlined(tensor, value)
            # A tensor from further out is captured by every function in between.
            if tensor.graph is not outer and isinstance(outer, FuncGraph) and not outer._encloses(tensor.graph):
                outer.capture(tensor)
            inner = self.captures[tensor] = self.add_input(tensor.dtype, tensor._sizes, name or "Placeholder")
            inner._handle_data = tensor._handle_data
            self.captured_from[inner] = tensor
        return inner

    def _encloses(self, graph: object) -> bool:
        """Returns whether a graph is the body of a function nested in this one."""
        while isinstance(graph, FuncGraph):
            graph = graph.outer_graph
            if graph is self:
                return True
        return False

    def _inlined(self, tensor: Tensor, value: NDArray) -> Tensor:
        """Returns a constant node with the value of a small eager tensor, one for each tensor."""
        const = self._constants.get(tensor)
        if const is None:
            with self.control_dependencies(None):
                attrs = {"value": value, "dtype": tensor.dtype}
                const = super().make_op(op_spec.get("Const"), self.unique_name("Const"), (), attrs, [tensor.dtype]).outputs[0]
            self._constants[tensor] = const
            self.captured_from[const] = tensor
        return const

    def _copied(self, op: Operation) -> Operation:
        """Returns the copy of a node of the outer graph, made with copies of all nodes that it depends on.

        Raises:
          ValueError: it is a placeholder, or a stateful node that may not be copied.
        """
        if op.graph is self:
            return op
        if op not in self._copies:
            # The body has no value for a placeholder of the outer graph.
            if op.type in ("Placeholder", "PlaceholderV2"):
                raise ValueError(f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value.")
            if is_stateful(op) and (self._copied_ops is None or not self._copied_ops(op)):
                raise ValueError(f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value.")
            inputs = [self._copied(t.op).outputs[t.value_index] for t in op.inputs]
            kinds = [t.dtype for t in op.outputs]
            self._copies[op] = super().make_op(spec_of(op), self.unique_name(op.name), inputs, dict(op.attrs), kinds)
        return self._copies[op]

    def make_op(self, spec: op_spec.OpSpec, name: str, inputs: Iterable[Tensor], *args: Any, **kwargs: Any) -> Operation:
        given = list(inputs)
        inputs = [t if t.graph is self else self.capture(t) for t in given]
        # The ref of a variable outside is captured as its value, which nothing in the body can assign.
        if any(t.dtype._is_ref_dtype for t in given):
            spec.signature.require_refs(name, [t.dtype for t in inputs])
        kwargs["skip_frames"] = kwargs.get("skip_frames", 2) + 1
        return super().make_op(spec, name, inputs, *args, **kwargs)


class GraphFunction:
    """A function of a graph: name, body and signature.

    Args:
      name: its name in a graph's library, and the op type of its calls.
      body: the graph of its nodes; `body.inputs` and `body.outputs` are its arguments and results.
      arg_names: names of the arguments.
      out_names: names of the results.
      attrs: attributes of the function, in internal form.

    Attributes:
      extra_outputs: tensors of the body that are returned after the body's outputs.
      acts_in_order: whether other programs must run its side effects in the order of its nodes.
      programs: where eager execution caches the programs compiled for it.
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
        """The functions that its nodes may call, by name."""
        return self.body._functions

    @property
    def is_stateful(self) -> bool:
        """Whether a call has side effects, or its results depend on variables."""
        return any(is_stateful(op) or bool(spec_of(op).effects.reads) for op in self.body.get_operations())

    @property
    def definition(self) -> messages.FunctionDef:
        """The function as a FunctionDef message."""
        return definition_of(self)

    @property
    def spec(self) -> op_spec.OpSpec:
        """The op spec of the nodes that call the function."""
        inputs = tuple(_arg(n, t) for n, t in zip(self.arg_names, self.body.inputs))
        outputs = tuple(_arg(n, t) for n, t in zip(self.out_names, self.outputs))
        return call_spec(self.name, inputs, outputs, op_spec.Effects(external=self.is_stateful))


def _arg(name: str, tensor: Tensor) -> Arg:
    return Arg(name, dtype=tensor.dtype.base_dtype, is_ref=tensor.dtype._is_ref_dtype)


def is_stateful(op: Operation) -> bool:
    """Returns whether a node matters beyond its outputs: it has side effects, writes variables, or checks something."""
    spec = spec_of(op)
    # NoOp and ControlTrigger have no outputs, but only order other nodes.
    acts = spec.effects.is_stateful or bool(spec.effects.writes) or not spec.signature.outputs
    return acts and op.type not in ("NoOp", "ControlTrigger")


def call_spec(name: str, inputs: tuple[Arg, ...], outputs: tuple[Arg, ...], effects: op_spec.Effects) -> op_spec.OpSpec:
    """Returns the op spec of a function's calls, from a signature that is given instead of parsed."""
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
    """Returns the gradients of a call's inputs: by the function's Python gradient, or by a SymbolicGradient node of its body."""
    function = op.graph._get_function(op.type)
    if function is not None and function.python_grad_func is not None:
        gradients = function.python_grad_func(op, *grads)
        return list(gradients) if isinstance(gradients, (list, tuple)) else [gradients]
    kinds = [t.dtype.base_dtype for t in op.inputs]
    gradients = raw.SymbolicGradient([*op.inputs, *grads], kinds, attr_values.FunctionRef(op.type, dict(op.attrs)))
    return gradients if isinstance(gradients, list) else [gradients]


# ---- calls ----


def results_spec(gradient: Callable[..., Any]) -> op_spec.OpSpec:
    """Returns the op spec under which a run sees a call: an identity of the inlined body's results."""
    return op_spec.OpSpec(
        "results of a function", "(input: T, *, T: list(type)) -> (output: T)", shape_inference.unknown,
        lambda values: tuple(values), gradient, fold=True,
    )  # fmt: skip


class _ArgumentContext(shape_inference.InferenceContext):
    """Inference context of a call with the shapes of its arguments, which `InferenceContext` would read from the inlined body."""

    def __init__(self, op: CallOperation) -> None:
        self.op = op
        self.inputs = [t._sizes for t in op.inputs]
        self.asked = set()


@dataclass(frozen=True)
class Site:
    """Where the copied nodes of a body go in a graph.

    Attributes:
      graph, order, stack: those of the node that the copies replace.
      name: prefix of their names.
      device: of copies whose original has none.
      context: the control flow context that they belong to.
      waits_for: control inputs of all copies.
      sources: control inputs of copies that have no inputs or control inputs in the body.
      inside_others: arguments that were made in branches and loops of other calls: the body runs whether or not they have values.
      callers: the functions in whose bodies the copies are, outermost first.
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
    """The copy of a function's body at a call: its results, and the nodes that must have run when the call is done."""

    results: tuple[Tensor, ...]
    acting: list[Operation]


class CallOperation(Operation):
    """A node that calls a function. For a run, `takes` and `waits_for` are the results and side effects of its `inlined` body.

    `_inside_others` are arguments that were made in branches and loops of other calls: the body runs whether or not they have values.
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
        """The function that this node calls."""
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
        """The copy of the body with this call's inputs as arguments. It is made on first use, once even if several threads ask.

        Raises:
          errors.UnimplementedError: the function calls itself.
        """
        if self._inlined is None:
            # Checked again under the lock: another thread may have inlined it meanwhile.
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
        # Inputs made by nodes of other inlined bodies may be dead (in a branch not taken); the call does not wait for their producers.
        captured = self._inside_others.union(t for t in self.inputs if is_listed(self) and not is_listed(t.op))
        sources = dict.fromkeys(t.op for t in self.inputs if t not in captured)
        return Site(
            self._graph, self._name, self.order, self._stack, self._device, self._control_flow_context, tuple(self._controls), tuple(sources),
            captured, (*self._callers, function),
        )  # fmt: skip


def calls_itself(name: str) -> errors.UnimplementedError:
    """Returns the error for a function that calls itself."""
    return errors.UnimplementedError(
        None, None, f"Function {name} calls itself: tfcompat inlines functions and does not run recursive ones. Use tf.while_loop instead."
    )


def with_held(functions: Iterable[GraphFunction]) -> dict[str, GraphFunction]:
    """Returns functions by name, with all functions that they may call, directly or not."""
    functions_by_name: dict[str, GraphFunction] = {}
    pending = list(functions)
    while pending:
        function = pending.pop()
        if function.name not in functions_by_name:
            functions_by_name[function.name] = function
            pending.extend(function.held.values())
    return functions_by_name


def operations_within(op: Operation, callers: tuple[GraphFunction, ...] = ()) -> Iterator[Operation]:
    """Yields a node and, recursively, the nodes of the functions that it calls."""
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
"""How to find the called function, by op type, for ops that name it in an attribute. For other calls the op type is the function's name."""


def body_at(function: GraphFunction, arguments: Sequence[Tensor], site: Site) -> Inlined:
    """Copies the nodes of a function's body to a site. The graph does not list the copies: only runs and gradients reach them."""
    nodes = body_nodes(function.body)
    *outer, position = site.order

    def copy(op: Operation, attrs: dict[str, Any], inputs: list[Tensor], controls: list[Operation]) -> Operation:
        new = type(op)(
            site.graph, spec_of(op), f"{site.name}/{op._name}", inputs, [t.dtype for t in op.outputs], attrs,
            [*site.waits_for, *(controls if inputs or controls else site.sources)], site.order[0], op._stack,
        )  # fmt: skip
        new.order = (*outer, position - 1, nodes[op])  # after all nodes made before the call, and before the call itself
        new._device = op._device or site.device
        new._control_flow_context = site.context
        if isinstance(new, CallOperation):
            new._inside_others = site.inside_others.intersection(inputs)
            new._callers = site.callers
        else:
            # Arguments may have more precise shapes than the body's placeholders: shapes are inferred again.
            try:
                shape_inference.infer(new)
            except ValueError as e:
                raise errors.InvalidArgumentError(new.node_def, new, str(e)) from e
        return new

    # Only now are the copies complete: edges that close loops are set at the end of `copied`.
    made, values = copied(function.body, arguments, copy)
    acting = [made[op] for op in acting_nodes(nodes)]
    return Inlined(tuple(values[t] for t in function.outputs), [*site.waits_for, *acting])


def is_listed(op: Operation) -> bool:
    """Returns whether the graph lists a node; copies of a body's nodes are not listed."""
    return op._graph._nodes_by_name.get(op._name) is op


_LEVELS = {"Switch": 1, "RefSwitch": 1, "Enter": 1, "RefEnter": 1, "Exit": -2, "RefExit": -2}
"""Change of the nesting depth of branches and loops at a node. A loop's values pass one Enter and one Switch; its Exit undoes both."""
_MERGE = ("Merge", "RefMerge")
_ENTER = ("Enter", "RefEnter")
_COPIES = itertools.count()


def acting_nodes(nodes: Iterable[Operation]) -> list[Operation]:
    """Returns the nodes that must have run when a function ends: those with side effects outside of branches and loops.

    For side effects inside of them these are the nodes where branches and loops end: the nodes themselves may be dead or run many times.
    """
    levels: dict[Operation, int] = {}
    for op in nodes:
        sources = [*(t.op for t in op.inputs), *op.control_inputs]
        level = max((levels.get(s, 0) for s in sources), default=0)
        # The Merge of a conditional ends it; one with an Enter is the head of a loop.
        if op.type in _MERGE and not any(t.op.type in _ENTER for t in op.inputs):
            level -= 1
        levels[op] = level + _LEVELS.get(op.type, 0)
    # A Merge or Exit at depth 0 runs in any case, and after everything in its branch or loop that ran.
    acting = [op for op in levels if is_stateful(op)]
    ends = [op for op in levels if op.type in (*_MERGE, "Exit", "RefExit") and levels[op] == 0]
    return [op for op in acting if levels[op] <= 0] + (ends if any(levels[op] > 0 for op in acting) else [])


def body_nodes(body: FuncGraph) -> dict[Operation, int]:
    """Returns the nodes of a body that run, without its arguments, in topological order, numbered from 1.

    Where a call is already inlined, its copied nodes are included.
    """
    arguments = {t.op for t in body.inputs}
    numbers: dict[Operation, int] = {}
    roots = body.get_operations() if body.keeps_effects else [t.op for t in body.outputs]
    # Depth-first search without recursion. Back edges of loops are not followed; their sources are roots of the next round.
    while roots:
        pending, roots = list(reversed(roots)), []
        while pending:
            op = pending.pop()
            if op in numbers or op in arguments:
                continue
            inputs, controls = _taken(op)
            sources = {*(t.op for t in inputs), *controls} - arguments - numbers.keys()
            closing = {s for s in sources if s.type in BACK_EDGE}
            roots.extend(closing)
            if sources - closing:
                pending.extend([op, *sorted(sources - closing, key=_created, reverse=True)])
            else:
                numbers[op] = len(numbers) + 1
        roots = sorted(set(roots) - numbers.keys(), key=_created)
    return numbers


def _created(op: Operation) -> tuple[int, ...]:
    """Sort key: the order in which nodes were made."""
    return op.order


def _taken(op: Operation) -> tuple[Sequence[Tensor], Sequence[Operation]]:
    """Returns the tensors and nodes that a node depends on; for an inlined call, the results and side effects of the copied body."""
    if isinstance(op, CallOperation) and op._inlined is not None:
        return op._inlined
    return op.inputs, op.control_inputs


def spec_of(op: Operation) -> op_spec.OpSpec:
    """Returns the op spec that a node was made with; that of a call is the function's signature."""
    return op.call_spec if isinstance(op, CallOperation) else op.spec


def copied(body: FuncGraph, arguments: Sequence[Tensor], copy: Callable[..., Any]) -> tuple[dict[Any, Any], dict[Tensor, Tensor]]:
    """Copies the nodes of a body.

    Args:
      body: the body.
      arguments: tensors in place of its inputs.
      copy: makes a copy from a node and the attributes, inputs and control inputs of the copy.

    Returns:
      a dict from nodes to copies, and one from tensors to tensors of copies.
    """
    # Each copy of a loop is a frame of its own: frames are told apart by name.
    frame = f"/{next(_COPIES)}".encode()
    made: dict[Operation, Operation] = {}
    values: dict[Tensor, Tensor] = dict(zip(body.inputs, arguments))
    open_inputs: list[tuple[Operation, int]] = []
    for op in body_nodes(body):
        # The input of a Merge that closes a loop is not copied yet; its other input takes the place until the end.
        known = [t for t in op.inputs if t in values]
        inputs = [values[t] if t in values else values[known[0]] for t in op.inputs]
        open_inputs += [(op, i) for i, t in enumerate(op.inputs) if t not in values]
        attrs = {**op.attrs, "frame_name": op.attrs["frame_name"] + frame} if op.type in _ENTER else dict(op.attrs)
        made[op] = copy(op, attrs, inputs, [made[c] for c in op.control_inputs if c in made])
        values.update(zip(op.outputs, made[op].outputs))
    for op, index in open_inputs:
        node = made[op]  # a new Merge: no plan holds it, so nothing has to be told that it changes
        node.takes = (*node.takes[:index], values[op.inputs[index]], *node.takes[index + 1 :])
    # A call that is inlined in the body stays inlined in the copy, at the copies of its nodes.
    for op, copy_of_call in made.items():
        if isinstance(op, CallOperation) and op._inlined is not None and isinstance(copy_of_call, CallOperation):
            results, controls = op._inlined
            copy_of_call._inlined = Inlined(tuple(values[t] for t in results), [made[c] for c in controls if c in made])
    return made, values


def make_call(graph: Graph, function: GraphFunction, inputs: Sequence[Tensor], name: str, attrs: dict[str, Any]) -> Operation:
    """Adds a node that calls a function of the graph.

    Raises:
      ValueError: the number or dtypes of the inputs are wrong.
    """
    spec = function.spec
    check_inputs(spec.signature, inputs, function.name, name)
    return graph.make_op(spec, name, inputs, attrs, output_dtypes(spec.signature, {}), infer_shapes=False)


def check_inputs(signature: Signature, inputs: Sequence[Tensor], function: str, name: str) -> None:
    """Checks the number and dtypes of a call's inputs; ValueError in 1.15's words if they are wrong."""
    if len(inputs) != len(signature.inputs):
        raise ValueError(f"Expected number of arguments: {len(signature.inputs)}, received: {len(inputs)}")
    for arg, tensor in zip(signature.inputs, inputs):
        if arg.dtype is not None and tensor.dtype.base_dtype is not arg.dtype:
            raise ValueError(
                f"Input '{arg.name}' passed {short_name(tensor.dtype)} expected {short_name(arg.dtype)} while building "
                f"NodeDef '{name}' using Op<name={function}>"
            )


def short_name(dtype: dtypes.DType) -> str:
    """Returns a dtype's name as signatures show it, for example float_ref."""
    name = dtype.base_dtype.name
    return dtypes.cpp_name(name) + ("_ref" if dtype._is_ref_dtype else "")


def copier_into(graph: Graph) -> Callable[..., Any]:
    """Returns a `copy` for `copied` that adds the copies to a graph, on the originals' devices or else those of the graph's scopes."""

    def copy(op: Operation, attrs: dict[str, Any], inputs: list[Tensor], controls: list[Operation]) -> Operation:
        with graph.control_dependencies(controls):
            new = graph.make_op(spec_of(op), graph.unique_name(op.name), inputs, attrs, [t.dtype for t in op.outputs])
        new._device = op._device or new._device
        return new

    return copy


def copy_into(graph: FuncGraph, body: FuncGraph, arguments: Sequence[Tensor]) -> list[Tensor]:
    """Adds copies of a body's nodes to `graph`, with `arguments` in place of the body's inputs, and returns the results."""
    values = copied(body, arguments, copier_into(graph))[1]
    return [values[t] for t in body.outputs]
