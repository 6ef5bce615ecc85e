"""Records which while loop is the gradient of which, so that the runtime can compile both as one differentiated loop.

`tf.gradients` records a LoopDerivative for each backward loop that it builds; for graphs from files, a recognizer rebuilds the records.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor

RECOGNIZERS: list[Callable[..., None]] = []
"""Functions of a graph that record the backward loops in a graph from a file; the gradients package registers one."""


class CannotBeRebuilt(Exception):
    """The gradient of a loop from a file cannot be rebuilt for comparison, so a loop that computes it runs as ordinary nodes."""


class ExitGradient(NamedTuple):
    """The cotangent `grad` of a forward loop's result `exit`; it enters the backward loop at the Enter node `enter`."""

    exit: Tensor
    grad: Tensor
    enter: Operation


class EntryGradient(NamedTuple):
    """The cotangent of the value that enters the forward loop at the Enter node `enter`.

    `parts` holds the tensor that leaves the backward loop, or for IndexedSlices the values, the indices and perhaps the shape.
    """

    enter: Operation
    parts: tuple[Tensor, ...]


@dataclass(frozen=True, eq=False)
class LoopDerivative:
    """A backward loop, its forward loop, and the nodes that exist only for the gradient.

    Attributes:
      exits: cotangents of the forward loop's results, the inputs of the backward loop.
      entries: cotangents of the forward loop's inputs, the results of the backward loop.
      counter: the Exit node of the forward loop's iteration counter.
      made: the nodes of the backward loop, and those in the forward loop that serve it (the counter, stacks).
      forward: the other nodes of the forward loop.
      edges: inputs and control inputs of the nodes when the record was made, see `is_intact`.
    """

    exits: tuple[ExitGradient, ...]
    entries: tuple[EntryGradient, ...]
    counter: Operation
    made: frozenset[Operation]
    forward: frozenset[Operation]
    edges: tuple[tuple[Operation, tuple[Tensor, ...], list[Operation]], ...]

    def among(self, ops: Container[Operation]) -> LoopDerivative:
        """Returns the record restricted to the cotangents that are among `ops`."""
        # A fetch may need only some of the gradients; then the others are not part of the loop that is run.
        exits = tuple(e for e in self.exits if e.enter in ops)
        return replace(self, exits=exits, entries=tuple(e for e in self.entries if any(t.op in ops for t in e.parts)))

    @property
    def is_intact(self) -> bool:
        """Whether the nodes of both loops still have the inputs and control inputs that they had when the record was made."""
        return all(_are(op.inputs, inputs) and _are(op.control_inputs, controls) for op, inputs, controls in self.edges)


def _are(have: Sequence[object], noted: Sequence[object]) -> bool:
    """Whether two sequences hold the same objects, compared by identity."""
    return len(have) == len(noted) and all(map(operator.is_, have, noted))


def edges_of(ops: Iterable[Operation]) -> tuple[tuple[Operation, tuple[Tensor, ...], list[Operation]], ...]:
    """Returns (node, inputs, control inputs) for each node."""
    return tuple((op, op.inputs, op.control_inputs) for op in ops)
