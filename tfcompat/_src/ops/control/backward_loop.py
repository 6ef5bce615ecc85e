"""The loops that tf.gradients makes: beside each forward loop one that goes back, with the nodes of TensorFlow 1.15.

The forward loop gets a counter and, for each value that the way back needs, a stack that it pushes onto; the backward loop counts
down and pops. Gradients come in through `b_exit` Enters, one per Exit; those of invariants are added up in `b_acc` variables.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.loop_derivative import EntryGradient, ExitGradient
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.fill import zeros, zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import shape_internal
from tfcompat._src.ops.control import loop_ops
from tfcompat._src.ops.control.branch_ops import merge, switch, switch_ref_or_tensor, zeros_of_output
from tfcompat._src.ops.control.context import ControlFlowContext, entered, left, lies_in, output_context
from tfcompat._src.ops.control.control_flow_util import (
    GetContainingWhileContext,
    GetLoopConstantEnter,
    GetWhileContext,
    IsContainingContext,
    IsInXLAContext,
    IsLoopSwitch,
    IsSwitch,
)
from tfcompat._src.ops.control.while_context import WhileContext


class ValueOutsideLoop(TypeError):
    """The gradient of a loop needs a value that is neither in the loop nor in a conditional of it."""


class BackwardLoop:
    """The loop that goes back over one forward loop, while it is built.

    Args:
      forward: context of the loop. outer: what goes back over the loop around it, where gradients go through that too.

    Attributes:
      context: the backward loop's context.
      exits: the forward loop's results. waiting: how many of them the walk has not come to.
      reached, unused: those that it has come to; those without a gradient.
      histories: what stands in the backward loop for values of the forward loop, by name.
      merges: the Merge that goes back for each Switch of a loop variable.
      given: the gradients that have come in, which may be slices (`takes_slices`). zeros: those of them that stand for none. entries: what has gone out.
    """

    def __init__(self, forward: WhileContext, outer: BackwardLoop | None) -> None:
        self.forward, self.outer = forward, outer
        self.exits: list[Tensor] = list(forward.loop_exits)
        self.waiting = len(self.exits)
        self.reached: list[Tensor] = []
        self.unused: list[Tensor] = []
        self.histories: dict[str, Tensor] = {}
        self.merges: dict[Operation, Tensor] = {}
        self.given: list[ExitGradient] = []
        self.takes_slices = False
        self.zeros: set[Tensor] = set()
        self.entries: list[EntryGradient] = []
        self._syncs: dict[str, Operation] = {}
        self._around = forward.outer_context if outer is None else outer.forward
        with entered(self._around):
            self.count = count = self._count_forward()
        if outer is None:
            with entered(self._around):
                self.context = self._new_context()
                self._count_backward(count)
        else:
            outer.forward.AddName(count.op.name)
            history = outer.push(count)
            with entered(outer.context):
                self.context = self._new_context()
                self._count_backward(outer.pop(history, count))

    def holds(self, op: Operation) -> bool:
        """Whether a node, an Exit included, is one of the forward or of the backward loop."""
        context = op._control_flow_context
        return lies_in(context, self.forward) or lies_in(context, self.context)

    def _new_context(self) -> WhileContext:
        like = self.forward
        return WhileContext(like.maximum_iterations, like.parallel_iterations, like.back_prop, like.swap_memory, like.name, grad_state=self)

    # ---- counters ----

    def _count_forward(self) -> Tensor:
        """Adds a counter of iterations to the forward loop; its last value."""
        context = self.forward
        start = constant(0, name="f_count")
        if self.outer is not None:  # pushes of one run of an inner loop come before those of the next
            start.op._add_control_input(self.outer.index.op.inputs[0].op)
        with entered(context):
            context.AddName(start.name)
            merged = self._variable(context, start, "f_count")
            off, on = switch(merged, context.pivot)
            self.index = loop_ops.next_iteration(raw.Add(on, 1))
            merged.op._update_input(1, self.index)
            return _leave(context, off, "f_count")

    def _count_backward(self, count: Tensor) -> None:
        """Begins the backward loop with its counter, which ends it."""
        context = self.context
        one = constant(1, name="b_count")
        with entered(context):
            context.AddName(count.name)
            merged = self._variable(context, count, "b_count")
            context._pivot_for_pred = merged
            context._pivot = raw.LoopCond(raw.GreaterEqual(merged, one), name="b_count")
            off, on = switch(merged, context.pivot)
            following = raw.Sub(on, one)
            context._pivot_for_body = following
            self.back_index = loop_ops.next_iteration(following)
            merged.op._update_input(1, self.back_index)
            last = _leave(context, off, "b_count")
            if self.outer is not None:  # pops of one run of an inner loop come before those of the next
                self.outer.back_sync._add_control_input(last.op)

    @staticmethod
    def _variable(context: WhileContext, start: Tensor, name: str, merge_name: str | None = None, *, fixed_shape: bool = True) -> Tensor:
        """The Merge of a new loop variable, whose second input is still to be set."""
        first = loop_ops.enter(start, context.name, False, context.parallel_iterations, fixed_shape, name=name)
        context.loop_enters.append(first)
        merged: Tensor = merge([first, first], name=merge_name)[0]
        return merged

    @property
    def sync(self) -> Operation:
        """What pushes in branches of the forward loop come before, and the counter waits for."""
        return self._sync("f_sync", self.forward, self.index)

    @property
    def back_sync(self) -> Operation:
        """What all pops come before, and the backward counter waits for."""
        return self._sync("b_sync", self.context, self.back_index)

    def _sync(self, name: str, context: WhileContext, index: Tensor) -> Operation:
        if name not in self._syncs:
            with get_default_graph().control_dependencies(None):
                made: Operation = raw.ControlTrigger(name=name)
            made._set_control_flow_context(context)
            index.op._add_control_input(made)
            self._syncs[name] = made
        return self._syncs[name]

    # ---- what the way back needs of the way there ----

    def push(self, value: Tensor, on_dead_side: bool = False) -> Tensor:
        """A stack that the forward loop pushes a value of it onto in each iteration.

        Args:
          on_dead_side: whether the value has the shape of what comes out of the untaken side of a conditional.
        """
        current = get_default_graph()._control_flow_context
        with get_default_graph().control_dependencies(None):
            with entered(current), colocate_with(value):
                stack: Tensor = raw.StackV2(self._most_pushed(value), elem_type=value.dtype.base_dtype, name="f_acc")
            handle = self.forward.AddValue(stack)
            swap = self.forward.swap_memory
            place = output_context(value.op)
            if place is self.forward:
                with entered(place):
                    pushed = raw.StackPushV2(handle, value, swap_memory=swap)
                self.index.op._add_control_input(pushed.op)
            else:
                if place is None or not place.IsCondContext():
                    raise ValueOutsideLoop(f"the gradient of a loop needs {value.name}, which is not a value of it: {place}")
                with entered(place.outer_context if on_dead_side else place):
                    pushed = raw.StackPushV2(handle, value, swap_memory=swap)
                if on_dead_side:
                    pushed.op._set_control_flow_context(place)
                self.sync._add_control_input(pushed.op)
            pushed.op._add_control_input(self.index.op.inputs[0].op)
        return stack

    def _most_pushed(self, value: Tensor) -> Tensor:
        """The size of a stack: not limited, or for XLA the product of the `maximum_iterations` of the loops that are around a value.

        Raises:
          ValueError: a loop has none, or it is made inside of the loops and no constant.
        """
        if not IsInXLAContext(value.op):
            return constant(-1, dtypes.int32)
        current: Any = get_default_graph()._control_flow_context
        size, loop = constant(1), self.forward
        while loop is not None and loop is not current:
            most = loop.maximum_iterations
            refused = f"Cannot create a gradient accumulator for tensor '{value.name}' inside XLA while_loop"
            if most is None:
                raise ValueError(f"{refused} because maximum_iterations was not passed to the tf.while_loop call ('{loop.name}').")
            made_in = most.op._control_flow_context
            if not IsContainingContext(current, made_in):
                most = constant_value(most)
                if most is None:
                    raise ValueError(
                        f"{refused}. maximum_iterations tensor '{loop.maximum_iterations.name}' for while_loop context '{loop.name}' must be "
                        "statically known (e.g. a constant value or known shape dimension), or be defined at or outside the while loop context "
                        f"'{current.name if current is not None else ''}' (currently defined in '{made_in.name}')."
                    )
            size = size * most
            loop = GetContainingWhileContext(loop.outer_context, current)
        return size

    def pop(self, stack: Tensor, value: Tensor, on_dead_side: bool = False) -> Tensor:
        """What stands in the backward loop for a value that `push` has put onto `stack`."""
        branch = self._branch_of(value, stack.op._control_flow_context)
        with get_default_graph().control_dependencies(None), entered(self.context):
            if branch is not None:
                side = 1 - branch.branch if on_dead_side else branch.branch
                stack = switch_ref_or_tensor(stack, self._predicate(branch))[side]
            popped: Tensor = raw.StackPopV2(stack, elem_type=value.dtype.base_dtype)
            popped.set_shape(value.shape)
        if self.context.parallel_iterations > 1:
            self.back_sync._add_control_input(popped.op)
        return popped

    @staticmethod
    def _branch_of(value: Tensor, around: ControlFlowContext | None) -> Any:
        """The innermost conditional around a value, inside of the context `around`; None where there is none."""
        context: Any = value.op._control_flow_context
        while context is not None and context is not around:
            if context.IsCondContext():
                return context
            context = context.outer_context
        return None

    def _predicate(self, branch: Any) -> Tensor:
        """What stands in the backward loop for the predicate of a conditional."""
        loop: BackwardLoop | None = self
        while loop is not None:
            if branch.pred.name in loop.histories:
                return loop.histories[branch.pred.name]
            loop = loop.outer
        predicate: Tensor = branch.pred
        return predicate

    def value_of(self, value: Tensor) -> Tensor:
        """What stands in the backward loop for a value of the forward loop: what enters both, a constant, or what was pushed."""
        found = self.histories.get(value.name)
        if found is None:
            found = self.histories[value.name] = self._remembered(value)
        return found

    def _remembered(self, value: Tensor) -> Tensor:
        loop: BackwardLoop | None = self
        source = value
        while (enter := GetLoopConstantEnter(source)) is not None and loop is not None:
            source, loop = enter.inputs[0], loop.outer
        if loop is None:
            return self.context.AddValue(source)
        if source.op.type == "Const":
            return constant(constant_value(source), dtype=source.dtype)
        with left(self.context):
            stack = loop.push(source)
        popped = loop.pop(stack, source)
        return popped if loop is self else self.context.AddValue(popped)

    def predicate_of(self, predicate: Tensor) -> Tensor:
        """What stands in the backward loop for the predicate of a conditional of the forward loop."""
        found = self.histories.get(predicate.name)
        if found is None:
            with left(self.context):
                stack = self.push(predicate)
            found = self.histories[predicate.name] = self.pop(stack, predicate)
        return found

    # ---- gradients that come in and go out ----

    def enter(self, op: Operation, grad: Any) -> IndexedSlices | Tensor:
        """The gradient of the Exit `op`, as the last iteration takes it."""
        context = self.context
        parts = _parts(grad)
        for part in parts:
            context.AddName(part.name)
        with entered(context):
            found = [loop_ops.enter(p, context.name, False, context.parallel_iterations, name="b_exit") for p in parts]
        context.loop_enters.extend(found)
        if isinstance(grad, IndexedSlices):
            self.takes_slices = True
            return IndexedSlices(*found)
        self.given.append(ExitGradient(op.outputs[0], grad, found[0].op))
        return found[0]

    def leave(self, op: Operation, grad: Any) -> IndexedSlices | Tensor:
        """The gradient of what enters the forward loop by `op`: for an invariant, the sum over all iterations."""
        if isinstance(grad, IndexedSlices):
            slices = self._slices_total(op, grad)
            self.entries.append(EntryGradient(op, (slices.values, slices.indices, *_shape_of(slices))))
            return slices
        result = self._dense_total(op, grad) if op.attrs["is_constant"] else _leave(self.context, grad)
        self.entries.append(EntryGradient(op, (result,)))
        return result

    def _dense_total(self, op: Operation, grad: Tensor) -> Tensor:
        context = self.context
        with left(context):
            start = self._zeros_like_invariant(op, grad)
        context.AddName(start.name)
        merged = self._variable(context, start, "b_acc", "b_acc")
        off, on = switch(merged, context.pivot)
        merged.op._update_input(1, loop_ops.next_iteration(raw.Add(on, grad)))
        return _leave(context, off, "b_acc")

    def _zeros_like_invariant(self, op: Operation, grad: Tensor) -> Tensor:
        around = self.context.outer_context
        if grad.shape.is_fully_defined():
            with entered(around):
                return constant(0, grad.dtype, shape=grad.shape, name="b_acc")
        value = op.inputs[0]
        if self.outer is None or around is not self.outer.context:
            with entered(around):
                return zeros(shape_internal(value, optimize=False), grad.dtype)
        with entered(self.forward.outer_context):
            sizes = shape_internal(value, optimize=False)
        stack = self.outer.push(sizes)
        with entered(around):
            return zeros(self.outer.pop(stack, sizes), grad.dtype)

    def _slices_total(self, op: Operation, grad: IndexedSlices) -> IndexedSlices:
        """The slices of all iterations, behind one slice of zeros."""
        context = self.context
        with left(context), entered(context.outer_context):
            starts = self._zero_slices(op, grad)
        for start in starts:
            context.AddName(start.name)
        firsts = [loop_ops.enter(s, context.name, False, context.parallel_iterations, False, name="b_acc") for s in starts]
        firsts[0].set_shape([None])
        if starts[1].shape.dims is not None:
            firsts[1].set_shape([None, *starts[1].shape.as_list()[1:]])
        context.loop_enters.extend(firsts)
        merges = [merge([first, first], name="b_acc")[0] for first in firsts]
        sides = [switch(merged, context.pivot) for merged in merges]
        after = [concat([on, part], 0) for (_, on), part in zip(sides, (grad.indices, grad.values))]
        if grad.dense_shape is not None:
            after.append(raw.Maximum(grad.dense_shape, sides[2][1]))
        following = [loop_ops.next_iteration(value) for value in after]
        for merged, value in zip(merges, following):
            merged.op._update_input(1, value)
        indices, values, *sizes = [_leave(context, off, "b_acc") for off, _ in sides]
        return IndexedSlices(values, indices, *sizes)

    @staticmethod
    def _zero_slices(op: Operation, grad: IndexedSlices) -> list[Tensor]:
        """Index, values and, where the slices have one, shape that the sum of slices starts with."""
        if grad.values.shape.is_fully_defined():
            values = constant(0, grad.values.dtype, shape=TensorShape([1, *grad.values.shape.as_list()[1:]]), name="b_acc")
        else:
            values = zeros(concat([[1], _sizes_of(op.inputs[0])[1:]], 0), grad.values.dtype)
        found = [constant([0], grad.indices.dtype), values]
        whole = grad.dense_shape
        if whole is not None and whole.shape.is_fully_defined():
            found.append(constant(0, whole.dtype, shape=whole.shape))
        elif whole is not None:
            found.append(zeros_like(shape_internal(op.inputs[0], optimize=False, out_type=whole.dtype), optimize=False))
        return found


class BackwardLoops:
    """The backward loops of one call of tf.gradients."""

    def __init__(self) -> None:
        self._by_forward: dict[WhileContext, BackwardLoop] = {}

    def __iter__(self) -> Iterator[BackwardLoop]:
        return iter(self._by_forward.values())

    def add(self, exit: Operation) -> BackwardLoop | None:
        """A backward loop for the loop that an Exit leaves; None where there is one."""
        forward = GetWhileContext(exit)
        if forward in self._by_forward:
            return None
        made = self._by_forward[forward] = BackwardLoop(forward, self._of(forward.outer_context))
        return made

    def _of(self, context: ControlFlowContext | None) -> BackwardLoop | None:
        loop = context.GetWhileContext() if context is not None else None
        return self._by_forward.get(loop) if loop is not None else None

    def left_by(self, exit: Operation) -> BackwardLoop:
        """What goes back over the loop that an Exit leaves."""
        return self._by_forward[GetWhileContext(exit)]

    @contextlib.contextmanager
    def around(self, op: Operation, *, outside: bool = False) -> Iterator[None]:
        """The context in which gradients of a node are; `outside`: in which those of what it gives are, which differs for an Exit."""
        loop = self._of(output_context(op) if outside else op._control_flow_context)
        with entered(loop.context if loop is not None else None):
            yield

    def zeros_of_exit(self, value: Tensor) -> Tensor:
        """The gradient of a loop's result that is not used."""
        made = self._zeros_of_exit(value)
        self.left_by(value.op).zeros.add(made)
        return made

    def _zeros_of_exit(self, value: Tensor) -> Tensor:
        forward = value.op._control_flow_context
        outer = self._of(forward.outer_context)
        if outer is None:
            return zeros(value.shape, value.dtype) if value.shape.is_fully_defined() else zeros_like(value, optimize=False)
        if value.shape.is_fully_defined():
            with entered(outer.context):
                return zeros(value.shape, value.dtype)
        with entered(forward.outer_context):
            sizes = shape_internal(value, optimize=False)
        stack = outer.push(sizes)
        with entered(outer.context):
            return zeros(outer.pop(stack, sizes), value.dtype)

    def zeros_of_output(self, op: Operation, index: int) -> Tensor | None:
        """The gradient of an output that none has come to; None for the variable of a loop, which is visited twice."""
        if IsLoopSwitch(op):
            return None
        loop = self._of(op._control_flow_context)
        if loop is None:
            found: Tensor = zeros_of_output(op, index)
            return found
        value = op.outputs[index]
        if value.shape.is_fully_defined():
            made = constant(0, shape=value.shape, dtype=value.dtype)
            if not IsSwitch(op):
                return made
            branch = op._control_flow_context
            guarded: Tensor = switch_ref_or_tensor(made, loop.histories[branch.pred.name])[1 - branch.branch]
            return guarded
        with_sizes = self._sizes_of_side(op) if IsSwitch(op) else self._sizes_of(op, value)
        with left(loop.context):
            stack = loop.push(with_sizes, IsSwitch(op))
        return zeros(loop.pop(stack, with_sizes, IsSwitch(op)), value.dtype)

    @staticmethod
    def _sizes_of(op: Operation, value: Tensor) -> Tensor:
        with entered(op._control_flow_context):
            sizes: Tensor = shape_internal(value, optimize=False)
        return sizes

    @staticmethod
    def _sizes_of_side(switch_op: Operation) -> Tensor:
        """The shape of what goes through a conditional's Switch, where the side is taken that its context is not of."""
        branch = switch_op._control_flow_context
        with entered(branch.outer_context):
            value = switch_ref_or_tensor(switch_op.inputs[0], branch.pred)[1 - branch.branch]
            sizes: Tensor = shape_internal(value, optimize=False)
        for tensor in (value, sizes):
            tensor.op._set_control_flow_context(branch)
        return sizes

    def close(self) -> None:
        """Gives the variables zeros for further iterations whose values do not hang on those before."""
        for loop in self:
            for merged in loop.merges.values():
                if merged.op.inputs[0] is merged.op.inputs[1]:
                    merged.op._update_input(1, self._no_gradient(loop, merged.op.inputs[0]))

    @staticmethod
    def _no_gradient(loop: BackwardLoop, first: Tensor) -> Tensor:
        context = loop.context
        if first.shape.is_fully_defined():
            with entered(context):
                return loop_ops.next_iteration(constant(0, dtype=first.dtype, shape=first.shape))
        with entered(context.outer_context):
            grad = zeros(shape_internal(first.op.inputs[0], optimize=False))
        with entered(context):
            return loop_ops.next_iteration(grad)


def _parts(grad: Any) -> list[Tensor]:
    if not isinstance(grad, IndexedSlices):
        return [grad]
    return [grad.values, grad.indices, *_shape_of(grad)]


def _shape_of(grad: IndexedSlices) -> tuple[Tensor, ...]:
    return () if grad.dense_shape is None else (grad.dense_shape,)


def _sizes_of(value: Tensor) -> Any:
    """The shape of what enters a loop: of the variable, where that is a handle."""
    if value.dtype != dtypes.resource:
        return shape_internal(value, optimize=False)
    while value.op.inputs:
        value = value.op.inputs[0]
    return value.op.attrs["shape"].as_list()


def _leave(context: WhileContext, value: Tensor, name: str | None = None) -> Tensor:
    result: Tensor = loop_ops.exit(value, name=name)
    context.loop_exits.append(result)
    context.ExitResult([result])
    return result
