"""Questions about the control flow that an operation is part of, under TensorFlow's internal names."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import tf2
from tfcompat._src.graph.operation import Operation
from tfcompat._src.ops.control.context import contains, output_context
from tfcompat._src.ops.control.loop_ops import ENTER, EXIT
from tfcompat._src.ops.control.loop_topology import MERGE, SWITCH

ENABLE_CONTROL_FLOW_V2 = os.getenv("TF_ENABLE_CONTROL_FLOW_V2", "1" if tf2.enabled() else "0") != "0"
BUILDERS: dict[str, Callable] = {}
"""What makes branches and loops as nodes that run functions: "cond" and "while_loop"."""


def EnableControlFlowV2(graph: Any) -> bool:
    """Whether branches and loops become nodes that run functions; a graph may say so for itself."""
    return ENABLE_CONTROL_FLOW_V2 if graph.functional_control_flow is None else graph.functional_control_flow


def GetContainingXLAContext(context: Any, stop_ctxt: Any = None) -> Any:
    """The innermost XLA context of a context, or None; that of `stop_ctxt` counts as none."""
    while context is not None and not context.IsXLAContext():
        context = None if context is stop_ctxt else context.outer_context
    return context


def IsInXLAContext(op: Operation) -> bool:
    """Whether a node was made for XLA alone."""
    return bool(op.attrs.get("_XlaCompile")) or GetContainingXLAContext(op._get_control_flow_context()) is not None


def GraphOrParentsInXlaContext(graph: Any) -> bool:
    """Whether nodes that are made in a graph now, or in one around it, are made for XLA alone."""
    while graph is not None:
        if GetContainingXLAContext(graph._control_flow_context) is not None:
            return True
        graph = getattr(graph, "outer_graph", None)
    return False


def IsInWhileLoop(op: Operation) -> bool:
    return GetWhileContext(op) is not None


def IsInCond(op: Operation) -> bool:
    context = op._get_control_flow_context()
    return context is not None and GetContainingCondContext(context) is not None


def IsSwitch(op: Operation) -> bool:
    return op.type in SWITCH


def IsMerge(op: Operation) -> bool:
    return op.type in MERGE


def IsLoopEnter(op: Operation) -> bool:
    return op.type in ENTER


def IsLoopExit(op: Operation) -> bool:
    return op.type in EXIT


def IsLoopSwitch(op: Operation) -> bool:
    context = op._get_control_flow_context()
    return IsSwitch(op) and context is not None and context.IsWhileContext() and not IsCondSwitch(op)


def IsCondSwitch(op: Operation) -> bool:
    """Whether a Switch belongs to a cond: all that use it stand in one, or enter a loop in one."""
    if not IsSwitch(op) or not op.outputs:
        return False
    for tensor in op.outputs:
        for consumer in tensor.consumers():
            context = consumer._get_control_flow_context()
            context = context.outer_context if IsLoopEnter(consumer) and context is not None else context
            if context is None or not context.IsCondContext():
                return False
    return True


def IsLoopMerge(op: Operation) -> bool:
    return IsMerge(op) and any(t.op.type in ("NextIteration", "RefNextIteration") for t in op.inputs)


def IsCondMerge(op: Operation) -> bool:
    if not IsMerge(op) or not op.inputs:
        return False
    contexts = [output_context(t.op) for t in op.inputs]
    return all(c is not None and c.IsCondContext() for c in contexts)


def IsLoopConstantEnter(op: Operation) -> bool:
    return IsLoopEnter(op) and op.get_attr("is_constant")


def GetLoopConstantEnter(value: Any) -> Operation | None:
    """The Enter node through which an invariant comes into its loop, or None."""
    op = value.op
    while op.type in ("Switch", "RefSwitch", "Identity", "RefIdentity"):
        op = op.inputs[0].op
    return op if IsLoopConstantEnter(op) else None


def GetOutputContext(op: Operation) -> Any:
    return output_context(op)


def GetContainingWhileContext(ctxt: Any, stop_ctxt: Any = None) -> Any:
    """The innermost loop around a context, `stop_ctxt` where that comes first, or None."""
    while ctxt is not None:
        if ctxt.IsWhileContext() or ctxt is stop_ctxt:
            return ctxt
        ctxt = ctxt.outer_context
    return None


def GetContainingCondContext(ctxt: Any) -> Any:
    """The innermost cond around a context, or None."""
    while ctxt is not None:
        if ctxt.IsCondContext():
            return ctxt
        ctxt = ctxt.outer_context
    return None


def IsContainingContext(ctxt: Any, maybe_containing_ctxt: object) -> bool:
    """Whether `maybe_containing_ctxt` is `ctxt` or lies around it."""
    while ctxt is not maybe_containing_ctxt:
        if ctxt is None:
            return False
        ctxt = ctxt.outer_context
    return True


def OpInContext(op: Operation, ctxt: Any) -> bool:
    return contains(ctxt, op)


def TensorInContext(tensor: Any, ctxt: Any) -> bool:
    return OpInContext(tensor.op, ctxt)


def GetWhileContext(op: Operation) -> Any:
    """The loop that a node is in, or None."""
    context = op._get_control_flow_context()
    return context.GetWhileContext() if context is not None else None
