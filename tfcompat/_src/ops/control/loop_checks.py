"""Frames of graphs that no builder has checked: what is no loop, and what takes values of two frames, is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfcompat._src.base import errors
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.loop_ops import ENTER, EXIT
from tfcompat._src.ops.control.loop_topology import MERGE, Loop

_NEXT = frozenset(("NextIteration", "RefNextIteration"))


def check_loops(outermost: Iterable[Loop], loop_of: dict[Operation, Loop]) -> None:
    """Raises InvalidArgumentError for a node that takes values of different frames, and for a frame that is no loop."""
    for op, loop in loop_of.items():
        if op.type in ENTER:
            if not op.attrs["frame_name"]:
                raise _invalid(op, f"The Enter node {op.name} must have a frame name.")
        else:
            _require_one_frame(op, loop, loop_of)
    for loop in _all_loops(outermost):
        _check_variables(loop)


def _all_loops(loops: Iterable[Loop]) -> Iterator[Loop]:
    for loop in loops:
        yield loop
        yield from _all_loops(loop.children)


def _require_one_frame(op: Operation, loop: Loop, loop_of: dict[Operation, Loop]) -> None:
    frames = [(t.op.name, _frame_of(t, loop_of)) for t in op.takes if op.type not in MERGE or t.op.type not in _NEXT]
    for name, frame in frames:
        if frame is not loop:
            inside = next((n for n, f in frames if f is loop), "of a control dependency")
            raise _invalid(
                op, f"{op.name} has inputs from different frames. The input {name} is in frame {_name_of(frame)!r}. "
                f"The input {inside} is in frame {_name_of(loop)!r}.",
            )  # fmt: skip


def _check_variables(loop: Loop) -> None:
    """A loop variable comes back by a NextIteration of what the loop goes on with; what leaves it has a condition."""
    handed_on = loop.handed_on()
    for variable in loop.variables():
        merge = variable.merge
        if len(merge.takes) != 2 or merge.takes[1].op.type not in _NEXT:
            raise _invalid(merge, f"The loop variable {merge.name} has no NextIteration in frame {_name_of(loop)!r}.")
        if variable.switch is None:
            continue
        for op in loop.members:
            if op.type not in EXIT and op not in handed_on and variable.switch.outputs[0] in op.takes:
                raise _invalid(op, f"{op.name} takes the value with which the loop of frame {_name_of(loop)!r} ends, and is inside it.")
    back = [op for op in loop.members if op.type in _NEXT]
    if back and loop.condition is None:
        raise _invalid(back[0], f"The loop of frame {_name_of(loop)!r} has no LoopCond.")


def _frame_of(tensor: Tensor, loop_of: dict[Operation, Loop]) -> Loop | None:
    loop = loop_of.get(tensor.op)
    return loop.parent if loop is not None and tensor.op.type in EXIT else loop


def _name_of(loop: Loop | None) -> str:
    return "" if loop is None else loop.enters[0].attrs["frame_name"].decode("utf-8", "replace")


def _invalid(op: Operation, text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(op.node_def, op, text)
