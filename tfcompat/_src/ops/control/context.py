"""Control-flow contexts: which branch or loop a node belongs to while the graph is built."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor

LOOP_EXITS = frozenset(("Exit", "RefExit"))
_ROUTES_INWARDS = frozenset(("Enter", "RefEnter", "Switch", "RefSwitch"))


class ControlFlowContext:
    """A branch of a cond or the body of a loop; nodes made while it is entered belong to it."""

    to_proto: Callable
    """The message of the context; set, like `from_proto`, by context_protos.py."""
    from_proto: Callable

    def __init__(self) -> None:
        self._outer_context: ControlFlowContext | None = get_default_graph()._control_flow_context
        self._entered: list[ControlFlowContext | None] = []
        self._values: set[str] = set()
        self._external_values: dict[str, Tensor] = {}
        self._name = ""

    @property
    def name(self) -> str:
        return self._name

    @property
    def outer_context(self) -> ControlFlowContext | None:
        return self._outer_context

    @property
    def grad_state(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no gradient state")

    @property
    def back_prop(self) -> bool:
        raise NotImplementedError(f"{type(self).__name__} has no back_prop")

    def Enter(self) -> None:
        """Makes this the context of new nodes."""
        graph = get_default_graph()
        self._entered.append(graph._control_flow_context)
        graph._control_flow_context = self

    def Exit(self) -> None:
        """Goes back to the context before Enter."""
        get_default_graph()._control_flow_context = self._entered.pop()

    def EnterGradientColocation(self, op: Operation, gradient_uid: Any) -> None:
        """Nothing to do: gradients are placed by their own devices."""

    def ExitGradientColocation(self, op: Operation, gradient_uid: Any) -> None:
        """Nothing to do: gradients are placed by their own devices."""

    def ExitResult(self, result: list[Any]) -> None:
        """Tells the outer context that it knows these tensors."""
        if self._outer_context is not None:
            for tensor in result:
                if isinstance(tensor, Tensor):
                    self._outer_context._values.add(tensor.name)

    def GetWhileContext(self) -> Any:
        return self._outer_context.GetWhileContext() if self._outer_context is not None else None

    def GetControlPivot(self) -> Operation | None:
        return None

    def IsCondContext(self) -> bool:
        return False

    def IsWhileContext(self) -> bool:
        return False

    def IsXLAContext(self) -> bool:
        return False

    def AddOp(self, op: Operation) -> None:
        """Adds a node made inside."""
        raise NotImplementedError

    def AddValue(self, tensor: Tensor) -> Tensor:
        """The tensor that stands for `tensor` inside."""
        raise NotImplementedError

    @staticmethod
    def require_visible(source: Operation, user: Operation, context: Any) -> None:
        """Raises ValueError where a node made in `context` takes a value of a loop that this is not in, other than to route it."""
        made_in, used_in = (c and c.GetWhileContext() for c in (output_context(source), context))
        if made_in is None or lies_in(used_in, made_in) or (used_in is not None and _goes_back_over(used_in, made_in)):
            return
        if user.type not in _ROUTES_INWARDS:
            why = "they are in different while loops" if used_in is not None else f"{source.name!r} is in a while loop"
            raise ValueError(f"Cannot use {source.name!r} as input to {user.name!r} because {why}. See info log for more details.")

    def AddName(self, name: str) -> None:
        self._values.add(name)

    def _remove_external_controls(self, op: Operation) -> tuple[list[Operation], list[Operation]]:
        """Drops control inputs from outside the loop that this is in; gives those that stay and those dropped."""
        loop = self.GetWhileContext()
        if loop is None:
            return op.control_inputs, []
        inside = [c for c in op.control_inputs if in_loop(c, loop)]
        outside = [c for c in op.control_inputs if c not in inside]
        if outside:
            op._set_control_inputs(inside)
        return inside, outside

    def _mark_made(self, op: Operation) -> None:
        """Records the outputs of a node made inside; inner nodes can be neither fetched nor, in loops, fed."""
        context: ControlFlowContext | None = self
        while context is not None:
            context._values.update(t.name for t in op.outputs)
            context = context._outer_context
        if self._outer_context is not None or op.type not in LOOP_EXITS:
            op.graph.prevent_fetching(op)


class XLAControlFlowContext(ControlFlowContext):
    """Marks nodes as compiled together, which all nodes are."""

    def __init__(self) -> None:
        super().__init__()
        self._name = "XLAControlFlowContext"

    def IsXLAContext(self) -> bool:
        return True

    def AddOp(self, op: Operation) -> None:
        """Nothing to do: the node is as it would be outside."""

    def AddValue(self, tensor: Tensor) -> Tensor:
        return tensor


def lies_in(context: ControlFlowContext | None, outer: ControlFlowContext | None) -> bool:
    """Whether a context is `outer` or inside of it."""
    while context is not None and context is not outer:
        context = context._outer_context
    return context is outer


def _goes_back_over(loop: Any, forward: ControlFlowContext) -> bool:
    """Whether `loop` goes back over `forward`, a loop in it or one next to it: what it takes from there is taken from stacks."""
    state = loop.grad_state
    return state is not None and (lies_in(state.forward, forward) or state.forward is forward._outer_context)


@contextlib.contextmanager
def entered(context: ControlFlowContext | None) -> Iterator[None]:
    """Makes `context`, where there is one, that of new nodes."""
    if context is None:
        yield
        return
    context.Enter()
    try:
        yield
    finally:
        context.Exit()


@contextlib.contextmanager
def left(context: ControlFlowContext) -> Iterator[None]:
    """Goes back to what was before `context` was entered, for a while."""
    context.Exit()
    try:
        yield
    finally:
        context.Enter()


def in_loop(op: Operation, loop: object) -> bool:
    """Whether a node's outputs are values of the loop context `loop` itself."""
    context = output_context(op)
    return context is not None and context.GetWhileContext() is loop


def contains(context: ControlFlowContext, op: Operation) -> bool:
    """Whether a node was made in `context` or in one nested in it."""
    inner = output_context(op)
    while inner is not None:
        if inner is context:
            return True
        inner = inner._outer_context
    return False


def output_context(op: Operation) -> ControlFlowContext | None:
    """The context of a node's outputs: an Exit leaves its loop."""
    context = op._control_flow_context
    return context._outer_context if op.type in LOOP_EXITS and context is not None else context
