"""Contexts of loops, and of the branches in them, told from their nodes: as if the loops had been built here."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.cond import CondContext
from tfcompat._src.ops.control.context import ControlFlowContext, entered
from tfcompat._src.ops.control.guards import SWITCH, Guard
from tfcompat._src.ops.control.loop_topology import Loop
from tfcompat._src.ops.control.while_context import WhileContext


def give_contexts(loop: Loop, own: Container[Operation], guards: Mapping[Any, Guard]) -> WhileContext:
    """Gives the nodes of a loop of the default graph, and of those in it, their contexts.

    Args:
      own: the nodes of the loops but those that tf.gradients has added.
      guards: of nodes and outputs, without those of loops.

    Returns:
      the context of the loop; its results are those of the loop variables.

    Raises:
      ValueError: the loop has no condition, or its nodes are not those of branches.
    """
    variables, condition = [v for v in loop.variables() if v.enter in own], loop.condition
    if condition is None or not variables:
        raise ValueError("a loop without a condition")
    first = variables[0].enter
    context = WhileContext(None, first.attrs["parallel_iterations"], name="found")
    context._name = first.attrs["frame_name"].decode()
    context._pivot, context._pivot_for_pred = condition.outputs[0], variables[0].merge.outputs[0]
    following = variables[0].switch
    context._pivot_for_body = None if following is None else following.outputs[1]
    context._loop_enters = [v.enter.outputs[0] for v in variables]
    context._loop_exits = [v.exit.outputs[0] for v in variables if v.exit is not None and v.exit in own]
    branches = _branches(loop, context, guards)
    for op in loop.members:
        inside = branches.get(_guard_of(op, guards), context)
        op._control_flow_context = inside
        _hold(inside, op)
    for enter in loop.enters:
        if enter.attrs["is_constant"]:
            _bring_in(context, enter.inputs[0], enter.outputs[0])
    for child in loop.children:
        outer = branches.get(guards[child.enters[0]], context)
        with entered(outer):
            inner = give_contexts(child, own, guards)
        for name in inner._values:
            outer.AddName(name)
    return context


def _branches(loop: Loop, context: WhileContext, guards: Mapping[Any, Guard]) -> dict[Guard, ControlFlowContext]:
    """A context for each side of each conditional of a loop, by its guard, outer ones first."""
    found: dict[Guard, ControlFlowContext] = {}
    pivots = [op for op in loop.members if op.type == "Identity" and _is_pivot(op.inputs[0])]
    for op in sorted(pivots, key=lambda op: len(guards[op])):
        switch = op.inputs[0].op
        with entered(found.get(guards[switch], context)):
            found.setdefault(guards[op], CondContext(switch.inputs[1], op.outputs[0], op.inputs[0].value_index))
    return found


def _is_pivot(tensor: Tensor) -> bool:
    return tensor.op.type in SWITCH and tensor.op.inputs[0] is tensor.op.inputs[1]


def _guard_of(op: Operation, guards: Mapping[Any, Guard]) -> Guard:
    """The guard of what a node gives: a Switch through which a value comes into a branch is one of its nodes."""
    if op.type not in SWITCH or op.inputs[1].op.type == "LoopCond" or op.inputs[0] is op.inputs[1]:
        return guards[op]
    used = [t for t in op.outputs if t.consumers()]
    return guards[used[0]] if len(used) == 1 else guards[op]


def _hold(context: ControlFlowContext, op: Operation) -> None:
    """Makes what a node gives values of its context and of those around it."""
    if isinstance(context, CondContext) and op.type in SWITCH and op.inputs[0] is not op.inputs[1]:
        for output in op.outputs:
            if output.consumers():
                _bring_in(context, op.inputs[0], output)
    inside: ControlFlowContext | None = context
    while inside is not None:
        for tensor in op.outputs:
            inside.AddName(tensor.name)
        inside = inside.outer_context


def _bring_in(context: ControlFlowContext, source: Tensor, inner: Tensor) -> None:
    """Has a tensor stand for one from outside."""
    context.AddName(source.name)
    context._external_values[source.name] = inner
