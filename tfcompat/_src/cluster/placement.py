"""Placement by task: pruning of a step's graph, the task of each operation, and the branch conditions under which it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable

from tfcompat._src.cluster.step_arrays import MAKES_STEP_ARRAY
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import MERGE, SWITCH, Guard, root_predicate, same_reads
from tfcompat._src.ops.control.loop_ops import ENTER
from tfcompat._src.ops.flow.array_origin import FORWARDS_FLOW, array_of_flow

EXIT = frozenset(("Exit", "RefExit"))
_BACK_EDGE = frozenset(("NextIteration", "RefNextIteration"))
OF_A_STEP = frozenset(("TensorArrayV3", "TensorArrayGradV3", "StackV2")) | MAKES_STEP_ARRAY
"""Op types whose resources live as long as a step."""


def needed(
    fetched: Iterable[Tensor], targets: Iterable[Operation], fed: Container[Tensor], ran: Container[Operation] = ()
) -> list[Operation]:
    """Returns the operations that a step needs, in creation order, which is a topological order of imported graphs except for back edges.

    A function call is one operation. Control edges from operations that have `ran` are not followed.
    """
    # A walk backwards; fed tensors cut it.
    pending = [t.op for t in fetched if t not in fed] + list(targets)
    found: set[Operation] = set()
    while pending:
        op = pending.pop()
        if op not in found:
            found.add(op)
            pending.extend(t.op for t in op.inputs if t not in fed)
            pending.extend(c for c in op.control_inputs if c not in ran)
    return sorted(found, key=lambda op: op._id)


def tasks_of(ops: list[Operation], device_of: Callable[[Operation], str]) -> dict[Operation, str]:
    """Returns the task of each operation: that of its resource and ref inputs, else that of its device.

    A loop is on one task, together with the TensorArrays and stacks that it uses and all operations on them.

    Args:
      ops: in topological order. device_of: returns the name of an operation's device.

    Raises:
      NotImplementedError: a loop uses state of several tasks.
    """
    found: dict[Operation, str] = {}
    # First each operation by itself; inputs come before their users.
    for op in ops:
        beside = next((t.op for t in _bound_inputs(op) if t.op in found), None)
        found[op] = found[beside] if beside else device_of(op).partition("/device:")[0]
    of_step = _of_step(ops)
    # Then the groups that must be together: on the task of their state, else on that of most members.
    for members in _together(ops, of_step):
        found.update(dict.fromkeys(members, _task_of_group(members, found, of_step)))
    return found


def _of_step(ops: list[Operation]) -> set[Operation]:
    """Returns the operations that create or use TensorArrays and stacks, or forward a TensorArray's flow."""
    # One forward pass suffices, as sources come first.
    found: set[Operation] = set()
    for op in ops:
        if op.type in OF_A_STEP or any(source in found for source in _state_of_step(op)):
            found.add(op)
    return found


def _state_of_step(op: Operation) -> list[Operation]:
    """Returns the producers of an operation's resource inputs, and the creator of the TensorArray whose flow it forwards."""
    array = array_of_flow(op.outputs[0]) if op.type in FORWARDS_FLOW else None
    return [t.op for t in _bound_inputs(op)] + ([] if array is None else [array])


def _together(ops: list[Operation], of_step: set[Operation]) -> list[list[Operation]]:
    """Returns the groups of operations that must be on one task. Loops that use the same TensorArrays or stacks are one group."""
    # Disjoint sets: each operation's entry is the shared list of its group; merging appends one list to the other.
    groups = {op: [op] for op in ops}
    uses = [[op, *(source for source in _state_of_step(op) if source in of_step)] for op in ops if op in of_step]
    for members in (*loops(ops), *uses):
        joined = groups[members[0]]
        for other in members[1:]:
            if groups[other] is not joined:
                joined += (added := groups[other])
                groups.update(dict.fromkeys(added, joined))
    return [group for op, group in groups.items() if len(group) > 1 and group[0] is op]


def _bound_inputs(op: Operation) -> list[Tensor]:
    """Returns the inputs whose task an operation must share: resources, and refs that it takes as refs."""
    # A function call has a signature of its own. With input lists, arguments and inputs do not match one to one: refs are not looked for.
    signature = getattr(op, "call_spec", op.spec).signature
    is_flat = not any(a.is_list for a in signature.inputs)
    refs = [a.is_ref for a in signature.inputs] if is_flat else [False] * len(op.inputs)
    return [t for t, is_ref in zip(op.inputs, refs) if is_ref or t.dtype.base_dtype.name == "resource"]


def loops(ops: list[Operation]) -> list[list[Operation]]:
    """Returns the operations of each outermost loop; `ops` are in topological order, except for back edges."""
    loops: dict[str, list[Operation]] = {}
    for op, inside in frames_of(ops).items():
        if inside:
            loops.setdefault(inside[0], []).append(op)
    return list(loops.values())


def frames_of(ops: list[Operation]) -> dict[Operation, tuple[str, ...]]:
    """Returns the frame names of the loops around each operation, outermost first; `ops` are in topological order, except for back edges."""
    # An operation is in the innermost frame of its inputs. Enter adds a frame, and the output of Exit is one frame further out.
    frames: dict[Operation, tuple[str, ...]] = {}
    for op in ops:
        sources = [t.op for t in op.inputs if t.op.type not in _BACK_EDGE] + list(op.control_inputs)
        inside = max((_frame_behind(s, frames) for s in sources), key=len, default=())
        frames[op] = (*inside, op.attrs["frame_name"].decode()) if op.type in ENTER else inside
    return frames


def _frame_behind(op: Operation, frames: dict[Operation, tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the frames of an operation's outputs, outermost first."""
    inside = frames.get(op, ())
    return inside[:-1] if op.type in EXIT else inside


def _task_of_group(members: list[Operation], found: dict[Operation, str], of_step: set[Operation]) -> str:
    """Returns the task of a group: that of the state that it uses, else the most frequent one."""
    # TensorArrays and stacks follow the loop, and do not bind it to a task.
    own = [op for op in members if op not in of_step] or members
    bound = {found[op] for op in own if _bound_inputs(op) or op.spec.effects != op_spec.PURE}
    # The loop runs whole on one task; state of other tasks cannot be reached from there.
    if len(bound) > 1:
        raise NotImplementedError(
            f"tfcompat runs a loop on one task, but the loop of {members[0].name!r} uses state of {', '.join(sorted(bound))}: place the "
            "variables and queues that it uses on one of them, or read them before the loop."
        )
    return bound.pop() if bound else Counter(found[op] for op in own).most_common(1)[0][0]


class Conditions:
    """The conditions of operations and tensors: the values of predicates under which they run. Copies of a predicate count as one.

    A forward pass over the graph: a Switch output adds its predicate to the conditions of the input, a Merge keeps those that all its inputs
    share, and any other operation has the union of its inputs' conditions.

    Args:
      ops: in topological order, except for back edges. fed: tensors that are fed, whose producers do not run.
    """

    def __init__(self, ops: list[Operation], fed: set[Tensor]) -> None:
        self._same = same_reads(ops)
        self._guards: dict[Operation | Tensor, Guard] = {}
        none: Guard = frozenset()
        for op in ops:
            sources = [self._guards.get(t, none) for t in op.inputs if t not in fed and t.op.type not in _BACK_EDGE]
            if op.type in MERGE:
                guard = frozenset.intersection(*sources) if sources else none
            else:
                guard = none.union(*sources, *(self._guards.get(c, none) for c in op.control_inputs))
            self._guards[op] = guard
            for i, t in enumerate(op.outputs):
                self._guards[t] = guard
                # The Switches of a loop do not branch: both their outputs come, one after the other.
                if op.type in SWITCH and op.inputs[1].op.type != "LoopCond":
                    self._guards[t] = guard | {(self.predicate(op.inputs[1]), bool(i))}

    def of(self, element: Operation | Tensor) -> list[tuple[Tensor, bool]]:
        """Returns the conditions of an operation or tensor as (predicate, value) pairs, sorted by name."""
        return sorted(self._guards.get(element, ()), key=lambda entry: (entry[0].name, entry[1]))

    def predicate(self, tensor: Tensor) -> Tensor:
        """Follows copies of a predicate to their source."""
        return root_predicate(tensor, self._same)
