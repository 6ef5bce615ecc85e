"""The body of a tf.while_loop while it is built: outer tensors come in through Enter nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor, to_tensor
from tfcompat._src.ops.control import loop_ops
from tfcompat._src.ops.control.branch_ops import merge, switch_ref_or_tensor
from tfcompat._src.ops.control.context import ControlFlowContext, in_loop, output_context
from tfcompat._src.ops.control.control_flow_util import IsInXLAContext
from tfcompat._src.ops.flow.tensor_array import TensorArray, with_flow

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_MADE_WHERE_THE_VALUE_IS = frozenset(("Shape", "Size", "Rank"))
"""Of these op types a backward loop needs what they give, and not the value: they stand in the forward loop, but for XLA."""


class WhileContext(ControlFlowContext):
    """A loop.

    Args:
      maximum_iterations: upper bound of the number of iterations, or None.
      parallel_iterations, back_prop, swap_memory: see `while_loop`.
      name: prefix of the frame's name.
      grad_state: the BackwardLoop whose context this is; None for a forward loop.
    """

    def __init__(
        self, maximum_iterations: object = None, parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
        name: str = "while_context", grad_state: object = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if not isinstance(parallel_iterations, int) or parallel_iterations <= 0:
            raise ValueError(f"`parallel_iterations` must be a positive integer: {parallel_iterations}")
        self._name = get_default_graph().unique_name(name)
        self._maximum_iterations, self._parallel_iterations = maximum_iterations, parallel_iterations
        self._back_prop, self._swap_memory = back_prop, swap_memory
        self._grad_state = grad_state
        self._pivot_for_pred: Tensor | None = None
        self._pivot_for_body: Tensor | None = None
        self._pivot: Tensor | None = None
        self._loop_enters: list[Tensor] = []
        self._loop_exits: list[Tensor] = []

    @property
    def maximum_iterations(self) -> Any:
        return self._maximum_iterations

    @property
    def parallel_iterations(self) -> int:
        return self._parallel_iterations

    @property
    def back_prop(self) -> bool:
        return self._back_prop

    @property
    def swap_memory(self) -> bool:
        return self._swap_memory

    @property
    def pivot(self) -> Tensor | None:
        return self._pivot

    @property
    def loop_enters(self) -> list[Tensor]:
        return self._loop_enters

    @property
    def loop_exits(self) -> list[Tensor]:
        return self._loop_exits

    @property
    def grad_state(self) -> Any:
        """What builds this loop, where tf.gradients makes it to go back over another."""
        return self._grad_state

    def IsWhileContext(self) -> bool:
        return True

    def GetWhileContext(self) -> WhileContext:
        return self

    def GetControlPivot(self) -> Operation | None:
        pivot = self._pivot_for_pred if self._pivot_for_body is None else self._pivot_for_body
        return None if pivot is None else pivot.op

    # ---- values and operations that come in ----

    def AddValue(self, tensor: Tensor) -> Tensor:
        if tensor.name in self._values or in_loop(tensor.op, self):
            return self._external_values.get(tensor.name, tensor)
        self._values.add(tensor.name)
        backward = self._backward_loop_over(output_context(tensor.op))
        if backward is not None:
            remembered: Tensor = backward.value_of(tensor)
            self._external_values[tensor.name] = remembered
            return remembered
        outer = tensor if self._outer_context is None else self._outer_context.AddValue(tensor)
        with tensor.graph.control_dependencies(None):
            inner = loop_ops.enter(outer, self._name, True, self._parallel_iterations)
            inner.graph.prevent_feeding(inner)
        self._adopt_enters([inner])
        self._values.add(inner.name)
        self._external_values[tensor.name] = inner
        return inner

    @staticmethod
    def _backward_loop_over(context: ControlFlowContext | None) -> Any:
        """The backward loop that nodes are being made in, if it goes back over the loop of `context`."""
        current = get_default_graph()._control_flow_context
        loop = current.GetWhileContext() if current is not None and context is not None else None
        state = loop.grad_state if loop is not None else None
        return state if state is not None and context.GetWhileContext() is state.forward else None

    def AddOp(self, op: Operation) -> None:
        made_in = op.inputs[0].op._control_flow_context if op.type in _MADE_WHERE_THE_VALUE_IS and not IsInXLAContext(op) else None
        if self._backward_loop_over(made_in) is not None:
            op._set_control_flow_context(made_in)
            made_in.add_op(op)
        else:
            self.add_op(op)

    def add_op(self, op: Operation) -> None:
        """Adds a node to this very context."""
        if not op.inputs:
            inside, outside = self._remove_external_controls(op)
            if not inside:
                op._add_control_input(self.GetControlPivot())
        else:
            for index, tensor in enumerate(op.inputs):
                inner = self.AddValue(tensor)
                if inner is not tensor:
                    op._update_input(index, inner)
            _, outside = self._remove_external_controls(op)
            if self._needs_pivot(op):
                op._add_control_input(self.GetControlPivot())
        self._values.update(t.name for t in op.outputs)
        if outside:
            op._add_control_inputs(self._controls_as_data(outside))
        self._mark_made(op)
        for tensor in op.outputs:
            if not op.graph.is_fetchable(op):
                op.graph.prevent_feeding(tensor)

    @staticmethod
    def _needs_pivot(op: Operation) -> bool:
        """Whether nothing but loop constants holds a node back from running before the condition is known."""
        if op.control_inputs:
            return False
        if op.graph._is_function(op.type) or op.type == "SymbolicGradient":
            return True
        return all(t.op.type in loop_ops.ENTER and t.op.attrs["is_constant"] for t in op.inputs)

    def _controls_as_data(self, outside: list[Operation]) -> list[Operation]:
        """Identity nodes that wait inside the loop for nodes outside of it."""
        with get_default_graph().control_dependencies(None):
            self.Enter()
            found = [raw.Identity(op.outputs[0]).op for op in outside if op.outputs]
            self.Exit()
        return found

    def _adopt_enters(self, enters: list[Tensor]) -> None:
        """Gives Enter nodes this context and those control inputs that lie around the loop."""
        graph = get_default_graph()
        for tensor in enters:
            controls = graph._control_inputs_for(tensor.op.inputs)
            tensor.op._control_flow_context = self
            tensor.op._add_control_inputs(c for c in controls if self._is_around(c))
            graph._record_op_seen_by_control_dependencies(tensor.op)

    def _is_around(self, op: Operation) -> bool:
        """Whether a node lies in a context around this one, inside the same outer loop."""
        context, wanted = self._outer_context, output_context(op)
        loop = context.GetWhileContext() if context is not None else None
        while context is not wanted:
            if context is None or context is loop:
                return False
            context = context._outer_context
        return True

    # ---- building ----

    def BuildLoop(self, pred: Callable, body: Callable, loop_vars: object, shape_invariants: object, return_same_structure: bool) -> Any:
        """Adds condition and body to the graph; the loop variables after the loop, in the body's structure."""
        flat = [flow_of(v) for v in nest.flatten(loop_vars, expand_composites=False)]
        flat = [v if isinstance(v, CompositeTensor) else convert_to_tensor(v) for v in flat]
        if shape_invariants is None:
            shape_invariants = [shape_invariant(v) for v in flat]
        tensors = nest.flatten(flat, expand_composites=True)
        self.Enter()
        try:
            result, exits = self._build(pred, body, loop_vars, tensors, nest.flatten(shape_invariants))
        finally:
            self.Exit()
        flat_result = nest.flatten(result, expand_composites=True)
        packed = nest.pack_sequence_as(result, with_flows(flat_result, exits), expand_composites=True)
        return packed[0] if len(exits) == 1 and not return_same_structure else packed

    def _build(self, pred: Callable, body: Callable, original: object, tensors: list[Tensor], shapes: list[TensorShape]) -> tuple:
        flat = nest.flatten(original, expand_composites=True)
        merges = self._loop_variables(tensors, shapes)
        packed = nest.pack_sequence_as(original, with_flows(flat, merges), expand_composites=True)
        self._pivot = raw.LoopCond(convert_to_tensor(pred(*packed)), name="LoopCond")
        switches = [switch_ref_or_tensor(m, self._pivot) for m in merges]
        inside = [loop_ops.identity(s[1]) for s in switches]
        self._pivot_for_body = inside[0]
        packed = nest.pack_sequence_as(original, with_flows(flat, inside), expand_composites=True)
        result = self._call_body(body, packed)
        nest.assert_same_structure(list(packed), list(result), expand_composites=True)
        values = [flow_of(v) for v in nest.flatten(result, expand_composites=True)]
        values = [v if isinstance(v, CompositeTensor) else convert_to_tensor(v) for v in values]
        if len(merges) != len(values):
            raise ValueError(f"Number of inputs and outputs of body must match loop_vars: {len(merges)}, {len(values)}")
        for variable, value in zip(merges, values):
            _close_loop(variable, value)
        exits = [loop_ops.exit(s[0]) for s in switches]
        self._loop_exits = exits
        self.ExitResult(exits)
        return result, exits

    def _loop_variables(self, tensors: list[Tensor], shapes: list[TensorShape]) -> list[Tensor]:
        """Enter and Merge nodes of the loop variables; the Merge outputs."""
        self._values = {t.name for t in tensors}
        if self._outer_context is not None:
            tensors = [self._outer_context.AddValue(t) for t in tensors]
        with get_default_graph().control_dependencies(None):
            enters = [loop_ops.enter(t, self._name, False, self._parallel_iterations, False) for t in tensors]
            for tensor in enters:
                tensor.graph.prevent_feeding(tensor)
        pivot = self._outer_pivot()
        for tensor in enters if pivot is not None else ():
            source = tensor.op.inputs[0].op
            if source.type in loop_ops.ENTER and source.attrs["is_constant"]:
                tensor.op._add_control_input(pivot)
        _set_shape_invariants(tensors, enters, shapes)
        self._adopt_enters(enters)
        self._values = {t.name for t in enters}
        self._loop_enters = enters
        merges = [merge([t, t])[0] for t in enters]
        self._pivot_for_pred = merges[0]
        return merges

    def _outer_pivot(self) -> Operation | None:
        context = self._outer_context
        while context is not None:
            pivot = context.GetControlPivot()
            if pivot is not None:
                return pivot
            context = context._outer_context
        return None

    def _call_body(self, body: Callable, packed: Any) -> Any:
        """The body's result; it waits for the summaries that the body made."""
        graph = get_default_graph()
        before = graph.get_collection(GraphKeys._SUMMARY_COLLECTION)
        result = body(*packed)
        if not nest.is_sequence_or_composite(result):
            result = [result]
        added = graph.get_collection(GraphKeys._SUMMARY_COLLECTION)[len(before) :]
        if added:
            graph.get_collection_ref(GraphKeys._SUMMARY_COLLECTION)[:] = before
            with graph.control_dependencies(added):
                result = nest.map_structure(lambda x: x if isinstance(x, TensorArray) else raw.Identity(x), result, expand_composites=True)
        return result


def flow_of(value: object) -> Any:
    """The tensor that stands for a value in a loop: the flow of a TensorArray."""
    return value.flow if isinstance(value, TensorArray) else value


def as_leaf(original: object, tensor: Tensor) -> Any:
    """A tensor in place of `original`: as the flow of an array where that is a TensorArray."""
    return with_flow(original, tensor) if isinstance(original, TensorArray) else tensor


def with_flows(originals: list[Any], tensors: list[Tensor]) -> list[Any]:
    """`tensors`, as TensorArrays where `originals` are."""
    if len(originals) != len(tensors):
        raise ValueError(f"Lengths of original Tensor list and new list do not match: {len(originals)} vs. {len(tensors)}")
    return [as_leaf(o, t) for o, t in zip(originals, tensors)]


def shape_invariant(value: Any, shape: Any = None) -> Any:
    """The shape that a loop variable keeps: the given one (TensorShape or TypeSpec), else that of `value`; a list for composites."""
    if isinstance(value, CompositeTensor):
        spec = value._type_spec if shape is None else _composite_invariant(value, shape)
        return [s.shape for s in nest.flatten(spec, expand_composites=True)]
    if shape is None:
        return value.shape
    if hasattr(shape, "is_compatible_with") and hasattr(shape, "dtype"):
        if value.dtype != shape.dtype:
            raise TypeError(f"TensorSpec {shape!r} is not compatible with {value!r}")
        return shape.shape
    if hasattr(shape, "value_type"):
        raise TypeError(f"TypeSpec {shape!r} is not compatible with {value!r}")
    return shape


def _composite_invariant(value: CompositeTensor, shape: Any) -> Any:
    if hasattr(shape, "value_type"):
        if not shape.is_compatible_with(value):
            raise TypeError(f"TypeSpec {shape!r} is not compatible with {value!r}")
        return shape
    if not isinstance(shape, TensorShape):
        raise TypeError(f"Expected shape to be a TypeSpec or TensorShape, got {shape!r}")
    try:
        return value._shape_invariant_to_type_spec(shape)
    except NotImplementedError:
        kind, spec = type(value).__name__, type(value._type_spec).__name__
        raise TypeError(f"To describe or constrain a {kind}, use a {spec} instead of a TensorShape.") from None


def _fits(shape: TensorShape, invariant: TensorShape) -> bool:
    """Whether `shape` is at least as specific as `invariant`."""
    if invariant.sizes is None:
        return True
    if shape.sizes is None or len(shape.sizes) != len(invariant.sizes):
        return False
    return all(wanted is None or have == wanted for have, wanted in zip(shape.sizes, invariant.sizes))


def _set_shape_invariants(tensors: list[Tensor], enters: list[Tensor], shapes: list[TensorShape]) -> None:
    if not all(isinstance(s, TensorShape) for s in shapes):
        raise ValueError("`shapes` must be a (possibly nested) list of shapes.")
    for source, inner, shape in zip(tensors, enters, shapes):
        if not _fits(source.shape, shape):
            raise ValueError(
                f"The shape invariant specified for {source.name} is not compatible with the initial shape of the loop variable. "
                f"It enters the loop with shape {source.shape}, but the specified shape invariant is {shape}."
            )
        inner.set_shape(shape)


def _close_loop(variable: Tensor, value: TensorLike) -> None:
    """Adds the NextIteration node of a loop variable and makes it the second input of its Merge."""
    following = loop_ops.next_iteration(to_tensor(value))
    if not _fits(following.shape, variable.shape):
        source = variable.op.inputs[0].op.inputs[0]
        raise ValueError(
            f"Input tensor '{source.name}' enters the loop with shape {source.shape}, but has shape {following.shape} after one "
            "iteration. To allow the shape to vary across iterations, use the `shape_invariants` argument of tf.while_loop to "
            "specify a less-specific shape."
        )
    variable.op._update_input(1, following)
