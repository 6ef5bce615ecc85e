"""Loops found from the topology of a graph: the nodes between Enter and Exit, with or without a WhileContext."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.loop_ops import ENTER, EXIT

MERGE = frozenset(("Merge", "RefMerge"))
SWITCH = frozenset(("Switch", "RefSwitch"))


@dataclass(eq=False)
class Variable:
    """A loop variable: Enter -> Merge <- NextIteration, and the Switch behind the Merge that goes on or out."""

    enter: Operation
    merge: Operation
    switch: Operation | None = None
    exit: Operation | None = None

    @property
    def following(self) -> Tensor:
        """The value for the next iteration."""
        return self.merge.takes[1].op.takes[0]


@dataclass(eq=False)
class Loop:
    """The nodes of one frame, in order, and the loops inside it."""

    parent: Loop | None
    depth: int
    members: list[Operation] = field(default_factory=list)
    children: list[Loop] = field(default_factory=list)

    def all_members(self) -> list[Operation]:
        return [*self.members, *(op for c in self.children for op in c.all_members())]

    def without(self, ops: Container[Operation]) -> Loop:
        """The loop without some nodes, which no other node of it takes anything from."""
        members = [op for op in self.members if op not in ops]
        return Loop(self.parent, self.depth, members, [child.without(ops) for child in self.children])

    @property
    def exits(self) -> list[Operation]:
        return [op for op in self.members if op.type in EXIT]

    @property
    def enters(self) -> list[Operation]:
        return [op for op in self.members if op.type in ENTER]

    @property
    def condition(self) -> Operation | None:
        return next((op for op in self.members if op.type == "LoopCond"), None)

    def variables(self) -> list[Variable]:
        """The loop variables, in order; those whose value is not used have no Switch or Exit."""
        found: dict[Tensor, Variable] = {}
        condition = self.condition
        for op in self.members:
            if op.type in MERGE and op.takes[0].op.type in ENTER:
                found[op.outputs[0]] = Variable(op.takes[0].op, op)
            elif op.type in SWITCH and op.takes[0] in found and op.takes[1].op is condition:
                found[op.takes[0]].switch = op
        by_switch = {v.switch: v for v in found.values() if v.switch is not None}
        for op in self.exits:
            source = leaving(op)[-1]
            if source in by_switch:
                by_switch[source].exit = op
        return list(found.values())

    def handed_on(self) -> set[Operation]:
        """The Identity nodes between the Switches of loop variables and their Exits."""
        return {op for exit in self.exits for op in leaving(exit)[:-1]}


def leaving(exit: Operation) -> list[Operation]:
    """What an Exit takes, back to the Switch of its variable: where gradients wait for each other, Identity nodes stand between.

    An Exit of a frame that is no loop takes what it takes: that alone.
    """
    chain = [exit.takes[0].op]
    while chain[-1].type == "Identity":
        chain.append(chain[-1].takes[0].op)
    return chain if chain[-1].type in SWITCH and chain[-1].takes[1].op.type == "LoopCond" else chain[:1]


def find_loops(ops: Iterable[Operation]) -> tuple[list[Loop], dict[Operation, Loop]]:
    """The outermost loops of `ops` (sources first), and the innermost loop of each operation that is in one.

    Raises:
      errors.InternalError: the Enter nodes of one frame stand in different frames. errors.InvalidArgumentError: a loop variable is
      given a value of another dtype.
    """
    frames: dict[tuple, Loop] = {}
    loop_of: dict[Operation, Loop] = {}
    outermost: list[Loop] = []
    for op in ops:
        if not op.takes and not op.waits_for:
            continue
        outer = _deepest(op, loop_of)
        if op.type in ENTER:
            key = (outer, op.attrs["frame_name"])
            loop = frames.get(key)
            if loop is None:
                _require_new_frame(op, outer, frames)
                loop = frames[key] = Loop(outer, 1 if outer is None else outer.depth + 1)
                (outermost if outer is None else outer.children).append(loop)
        else:
            loop = outer
        if loop is not None:
            loop_of[op] = loop
            loop.members.append(op)
            _require_one_dtype(op)
    return outermost, loop_of


def _require_new_frame(op: Operation, outer: Loop | None, frames: Iterable[tuple]) -> None:
    other = next((parent for parent, name in frames if name == op.attrs["frame_name"]), outer)
    if other is not outer:
        raise errors.InternalError(
            op.node_def, op, f'Invalid loop structure: Mismatched parent frames for "{op.attrs["frame_name"].decode()}": '
            f'"{_frame_name(outer)}" vs "{_frame_name(other)}". The node giving this error: {op.name}.',
        )  # fmt: skip


def _require_one_dtype(op: Operation) -> None:
    """Raises InvalidArgumentError for a Merge whose back edge brings another dtype."""
    wanted = op.outputs[0].dtype.base_dtype if op.type in MERGE else None
    for i, t in enumerate(op.takes) if wanted is not None else ():
        if t.dtype.base_dtype != wanted:
            raise errors.InvalidArgumentError(
                op.node_def, op, f"Input {i} of node {op.name} was passed {dtypes.cpp_name(t.dtype.base_dtype.name)} from {t.name} incompatible "
                f"with expected {dtypes.cpp_name(wanted.name)}.",
            )  # fmt: skip


def left_loops(loops: Iterable[Loop]) -> list[Loop]:
    """The outermost of `loops` that are left through an Exit; one that is not is a loop that all of this happens in."""
    return [found for loop in loops for found in ([loop] if loop.exits else left_loops(loop.children))]


def _frame_name(loop: Loop | None) -> str:
    return "" if loop is None else loop.enters[0].attrs["frame_name"].decode()


def _deepest(op: Operation, loop_of: dict[Operation, Loop]) -> Loop | None:
    """The frame that a node's inputs are in."""
    found: Loop | None = None
    sources: Iterable[Any] = [t.op for t in op.takes] if op.type in ENTER else [*[t.op for t in op.takes], *op.waits_for]
    for source in sources:
        loop = loop_of.get(source)
        if loop is not None and source.type in EXIT:
            loop = loop.parent
        if loop is not None and (found is None or loop.depth > found.depth):
            found = loop
    return found
