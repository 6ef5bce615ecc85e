"""Which operations lie between ys and xs, and in which order the gradients come to them: that of TensorFlow 1.15."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from tfcompat._src.base import dtypes
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.function_body import CallOperation, is_listed
from tfcompat._src.ops.control.backward_loop import BackwardLoops
from tfcompat._src.ops.control.control_flow_util import IsLoopSwitch
from tfcompat._src.ops.control.loop_ops import ENTER, EXIT

_TRAINABLE = frozenset((
    dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.complex64, dtypes.complex128, dtypes.resource, dtypes.variant,
))  # fmt: skip


def is_trainable(tensor: Tensor) -> bool:
    return tensor.dtype.base_dtype in _TRAINABLE


def origin(tensor: Tensor) -> Tensor:
    """The tensor of a graph around that stands behind one that a function has captured; else the tensor."""
    while tensor in tensor.graph.captured_from:
        tensor = tensor.graph.captured_from[tensor]
    return tensor


def differentiates_inlined(op: Operation) -> bool:
    """Whether gradients go through the nodes in the place of a call."""
    return isinstance(op, CallOperation) and op.differentiates_inlined


def sources_of(op: Operation) -> Sequence[Tensor]:
    """The tensors that gradients of an operation flow to: for one that runs functions, the results of the nodes in its place."""
    return op.inlined.results if isinstance(op, CallOperation) and op.differentiates_inlined else op.inputs


def behind(ends: Iterable[Operation], sources: Callable[[Operation], Iterable[Operation]]) -> set[Operation]:
    """`ends` and all operations that they hang on, where `sources(op)` gives those that an operation hangs on."""
    found: set[Operation] = set()
    pending = list(ends)
    while pending:
        op = pending.pop()
        if op not in found:
            found.add(op)
            pending.extend(sources(op))
    return found


def is_plain(ends: Iterable[Operation]) -> bool:
    """Whether all behind `ends` are nodes of one graph that no function has made, and loops have their contexts."""
    return all(map(_is_plain, behind(ends, lambda op: [origin(t).op for t in sources_of(op)])))


def _is_plain(op: Operation) -> bool:
    if op.graph.outer_graph is not None or differentiates_inlined(op):
        return False
    if op.type not in EXIT and op.type not in ENTER:
        return True
    context = op._control_flow_context
    return is_listed(op) and context is not None and context.IsWhileContext()


class Gradients(Protocol):
    """The gradients that have come to tensors so far."""

    def has(self, tensor: Tensor) -> bool: ...

    def add(self, tensor: Tensor, grad: Tensor | None) -> None: ...


class Visits:
    """The operations between ys and xs, each when all that use it have been visited.

    A loop is entered when its last result has been come to. The Switch of a loop variable comes twice: behind its Exit and behind the body.

    Args:
      ends: those of ys. xs, stops: tensors that gradients end at.
      gradients: what has come to tensors. colocated: the scope for the gradients of an operation.

    Attributes:
      loops: the backward loops, which are begun when this is made.
    """

    def __init__(
        self, ends: list[Operation], xs: list[Tensor], stops: set[Tensor], gradients: Gradients,
        colocated: Callable[[Operation], AbstractContextManager[None]],
    ) -> None:  # fmt: skip
        self._gradients = gradients
        self.loops = BackwardLoops()
        starts = {x.op for x in xs}
        reached = _reached(starts, behind(ends, _behind_one))
        self._between = dict.fromkeys(_breadth_first([op for op in ends if op in reached], reached))
        self._begin_loops(colocated)
        self._uses = dict.fromkeys(self._between, 0)
        for op in self._between:
            for source in self._sources(op):
                self._uses[source] += 1
        self._queue = [op for op in dict.fromkeys(ends) if op in reached and not self._uses[op]]
        self._leave_unused_results()
        self._halting = {op for op in starts & self._between.keys() if not any(self._uses[s] for s in self._sources(op))} | {t.op for t in stops}

    def __iter__(self) -> Iterator[Operation]:
        for op in self._queue:
            yield op
            for source in self._sources(op):
                self._uses[source] -= 1
                if self._uses[source] == 0 or (self._uses[source] > 0 and IsLoopSwitch(source)):
                    self._come_to(source)

    def ends_at(self, op: Operation) -> bool:
        """Whether no gradient goes on through an operation."""
        return op in self._halting

    def _sources(self, op: Operation) -> list[Operation]:
        return [source for t in op.inputs if (source := origin(t).op) in self._uses]

    # ---- loops ----

    def _begin_loops(self, colocated: Callable[[Operation], AbstractContextManager[None]]) -> None:
        """A backward loop for each loop on the way; all results of a loop are on the way then."""
        on_the_way = list(self._between)
        for op in on_the_way:
            if op.type in EXIT:
                with colocated(op):
                    loop = self.loops.add(op)
                for exit in loop.exits if loop is not None else ():
                    if exit.op not in self._between:
                        self._between[exit.op] = None
                        on_the_way.append(exit.op)

    def _leave_unused_results(self) -> None:
        """Enters the loops of which no result is used by an operation on the way."""
        given = set(self._queue)
        for loop in self.loops:
            for exit in loop.exits:
                if not self._uses[exit.op]:
                    loop.waiting -= 1
                    if exit.op not in given:
                        loop.unused.append(exit)
                    if not loop.waiting:
                        self._enter_with_zeros(loop.unused)
            for enter in loop.forward.loop_enters:
                if not self._uses.get(enter.op):  # also where nothing leads to it from an x
                    self._uses[enter.op] = 1

    def _come_to(self, op: Operation) -> None:
        """Queues an operation whose users have been visited; the results of a loop all together."""
        if op.type not in EXIT:
            self._queue.append(op)
            return
        loop = self.loops.left_by(op)
        loop.reached.append(op.outputs[0])
        loop.waiting -= 1
        if loop.waiting:
            return
        used = [exit for exit in loop.reached if self._gradients.has(exit)]
        loop.unused += [exit for exit in loop.reached if not self._gradients.has(exit)]
        self._queue += [exit.op for exit in used]
        if used:
            self._enter_with_zeros(loop.unused, every=True)
        else:
            self._queue += [exit.op for exit in loop.unused]

    def _enter_with_zeros(self, exits: list[Tensor], *, every: bool = False) -> None:
        for exit in exits:
            if is_trainable(exit):
                self._gradients.add(exit, self.loops.zeros_of_exit(exit))
            if every or is_trainable(exit):
                self._queue.append(exit.op)


def _behind_one(op: Operation) -> list[Operation]:
    return [origin(t).op for t in op.inputs]


def _reached(starts: set[Operation], ops: set[Operation]) -> set[Operation]:
    """Those of `ops` that values which carry gradients lead to from `starts`."""
    users: dict[Operation, list[Operation]] = {}
    for op in ops:
        for t in op.inputs:
            if is_trainable(origin(t)):
                users.setdefault(origin(t).op, []).append(op)
    return behind(starts & ops, lambda op: users.get(op, ()))


def _breadth_first(ends: list[Operation], reached: set[Operation]) -> list[Operation]:
    """The operations of `reached` that `ends` hang on, nearest first."""
    found = dict.fromkeys(ends)
    queue = list(found)
    for op in queue:
        for source in _behind_one(op):
            if source in reached and source not in found:
                found[source] = None
                queue.append(source)
    return queue
