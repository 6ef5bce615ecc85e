"""The order in which tf.gradients visits the operations between ys and xs: that of TensorFlow 1.15.

An operation is queued when all of its consumers between ys and xs have been visited (Kahn's algorithm on the reversed graph). The order decides
the names and order of the new nodes, which programs and saved graphs depend on.
"""

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
    """Whether tensors of this dtype carry gradients."""
    return tensor.dtype.base_dtype in _TRAINABLE


def origin(tensor: Tensor) -> Tensor:
    """Returns the tensor of an outer graph that a captured tensor is the copy of; other tensors are returned unchanged."""
    while tensor in tensor.graph.captured_from:
        tensor = tensor.graph.captured_from[tensor]
    return tensor


def differentiates_inlined(op: Operation) -> bool:
    """Whether gradients of a function call pass through its inlined nodes instead of a rule of the call."""
    return isinstance(op, CallOperation) and op.differentiates_inlined


def sources_of(op: Operation) -> Sequence[Tensor]:
    """Returns the tensors that receive the gradients of an operation: its inputs, or for an inlined call the inlined results."""
    return op.inlined.results if isinstance(op, CallOperation) and op.differentiates_inlined else op.inputs


def behind(ends: Iterable[Operation], sources: Callable[[Operation], Iterable[Operation]]) -> set[Operation]:
    """Returns the transitive closure of `ends` under `sources`, which returns the operations that one depends on."""
    closure: set[Operation] = set()
    pending = list(ends)
    while pending:
        op = pending.pop()
        if op not in closure:
            closure.add(op)
            pending.extend(sources(op))
    return closure


def is_plain(ends: Iterable[Operation]) -> bool:
    """Whether all ancestors of `ends` are outside of functions, and every loop among them has its while context."""
    return all(map(_is_plain, behind(ends, lambda op: [origin(t).op for t in sources_of(op)])))


def _is_plain(op: Operation) -> bool:
    if op.graph.outer_graph is not None or differentiates_inlined(op):
        return False
    if op.type not in EXIT and op.type not in ENTER:
        return True
    context = op._control_flow_context
    return is_listed(op) and context is not None and context.IsWhileContext()


class Gradients(Protocol):
    """The cotangents that have arrived at tensors so far, as `Visits` needs them."""

    def has(self, tensor: Tensor) -> bool: ...

    def add(self, tensor: Tensor, grad: Tensor | None) -> None: ...


class Visits:
    """Iterates over the operations between ys and xs, each after all of its consumers.

    The Exits of a loop are queued together, when the consumers of all of them have been visited. The Switch of a loop variable is yielded twice:
    after its Exit and after the loop body.

    Args:
      ends: the operations of ys. xs, stops: tensors at which the gradients end.
      gradients: the cotangents so far. colocated: returns the scope for the gradient nodes of an operation.

    Attributes:
      loops: the backward loops; the constructor adds their first nodes.
    """

    def __init__(
        self, ends: list[Operation], xs: list[Tensor], stops: set[Tensor], gradients: Gradients,
        colocated: Callable[[Operation], AbstractContextManager[None]],
    ) -> None:  # fmt: skip
        self._gradients = gradients
        self.loops = BackwardLoops()
        # Operations between: descendants of xs among the ancestors of ys, in breadth-first order from ys. Loops are begun in that order.
        starts = {x.op for x in xs}
        reached = _reached(starts, behind(ends, _behind_one))
        self._between = dict.fromkeys(_breadth_first([op for op in ends if op in reached], reached))
        self._begin_loops(colocated)
        # Number of unvisited uses of each operation. An operation without any is one of ys that no other y depends on.
        self._uses = dict.fromkeys(self._between, 0)
        for op in self._between:
            for source in self._sources(op):
                self._uses[source] += 1
        self._queue = [op for op in dict.fromkeys(ends) if op in reached and not self._uses[op]]
        self._leave_unused_results()
        # The walk ends at stops, and at each x that depends on no other x. An x that depends on another is passed.
        self._halting = {op for op in starts & self._between.keys() if not any(self._uses[s] for s in self._sources(op))} | {t.op for t in stops}

    def __iter__(self) -> Iterator[Operation]:
        for op in self._queue:
            yield op
            for source in self._sources(op):
                self._uses[source] -= 1
                # The Switch of a loop variable is visited after its first use too, which starts the backward loop; the second use
                # closes the cycle over the loop's NextIteration.
                if self._uses[source] == 0 or (self._uses[source] > 0 and IsLoopSwitch(source)):
                    self._come_to(source)

    def ends_at(self, op: Operation) -> bool:
        """Whether the walk stops at an operation, whose inputs then get no gradients through it."""
        return op in self._halting

    def _sources(self, op: Operation) -> list[Operation]:
        """Returns the operations between ys and xs that `op` takes inputs from, one entry per input."""
        return [source for t in op.inputs if (source := origin(t).op) in self._uses]

    # ---- loops ----

    def _begin_loops(self, colocated: Callable[[Operation], AbstractContextManager[None]]) -> None:
        """Begins a backward loop for each loop between ys and xs, and adds all Exits of such a loop to the operations between."""
        path = list(self._between)
        for op in path:
            if op.type in EXIT:
                with colocated(op):
                    loop = self.loops.add(op)
                for exit in loop.exits if loop is not None else ():
                    if exit.op not in self._between:
                        self._between[exit.op] = None
                        path.append(exit.op)  # the Exit may belong to an outer loop, whose own Exits follow

    def _leave_unused_results(self) -> None:
        """Counts the Exits that nothing between uses as visited; a loop with no other Exits is entered with zero cotangents."""
        # `given`: operations that are ys themselves, whose cotangents the caller has added.
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
        """Queues an operation whose consumers have been visited; an Exit waits for the other Exits of its loop."""
        if op.type not in EXIT:
            self._queue.append(op)
            return
        loop = self.loops.left_by(op)
        loop.reached.append(op.outputs[0])
        loop.waiting -= 1
        if loop.waiting:
            return
        # Exits with cotangents come first, then the others with zeros. A loop without any cotangent passes none on.
        used = [exit for exit in loop.reached if self._gradients.has(exit)]
        loop.unused += [exit for exit in loop.reached if not self._gradients.has(exit)]
        self._queue += [exit.op for exit in used]
        if used:
            self._enter_with_zeros(loop.unused, every=True)
        else:
            self._queue += [exit.op for exit in loop.unused]

    def _enter_with_zeros(self, exits: list[Tensor], *, every: bool = False) -> None:
        """Queues Exits with zero cotangents; those of dtypes without gradients only if `every`."""
        for exit in exits:
            if is_trainable(exit):
                self._gradients.add(exit, self.loops.zeros_of_exit(exit))
            if every or is_trainable(exit):
                self._queue.append(exit.op)


def _behind_one(op: Operation) -> list[Operation]:
    return [origin(t).op for t in op.inputs]


def _reached(starts: set[Operation], ops: set[Operation]) -> set[Operation]:
    """Returns those of `ops` that depend on `starts` through tensors that carry gradients."""
    users: dict[Operation, list[Operation]] = {}
    for op in ops:
        for t in op.inputs:
            if is_trainable(origin(t)):
                users.setdefault(origin(t).op, []).append(op)
    return behind(starts & ops, lambda op: users.get(op, ()))


def _breadth_first(ends: list[Operation], reached: set[Operation]) -> list[Operation]:
    """Returns `ends` and their ancestors in `reached`, in breadth-first order."""
    seen = dict.fromkeys(ends)
    queue = list(seen)
    for op in queue:
        for source in _behind_one(op):
            if source in reached and source not in seen:
                seen[source] = None
                queue.append(source)
    return queue
