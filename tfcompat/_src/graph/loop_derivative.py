"""What tf.gradients notes of the loops that it makes: which loop goes back over which."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor

RECOGNIZERS: list[Callable[..., None]] = []
"""What notes the loops of a graph from a file that are derivatives, set by the gradients; takes the graph."""


class CannotBeRebuilt(Exception):
    """The gradients of a loop of a file cannot be made again, so that nothing tells whether another loop computes them: its nodes run."""


class ExitGradient(NamedTuple):
    """The gradient `grad` of a result of the forward loop, which enters the backward loop by the Enter node `enter`."""

    exit: Tensor
    grad: Tensor
    enter: Operation


class EntryGradient(NamedTuple):
    """The gradient of what enters the forward loop by the Enter node `enter`.

    `parts` is the tensor that leaves the backward loop, or values, indices and perhaps shape of slices.
    """

    enter: Operation
    parts: tuple[Tensor, ...]


@dataclass(frozen=True, eq=False)
class LoopDerivative:
    """A loop that is the derivative of another, with all that exists for it alone.

    Attributes:
      exits: what enters the backward loop. entries: what it gives. counter: the Exit of the forward loop that tells how often it ran.
      made: the nodes of the backward loop, and those in the forward loop that serve it (a counter, stacks).
      forward: the other nodes of the forward loop.
    """

    exits: tuple[ExitGradient, ...]
    entries: tuple[EntryGradient, ...]
    counter: Operation
    made: frozenset[Operation]
    forward: frozenset[Operation]
    edges: tuple[tuple[Operation, tuple[Tensor, ...], list[Operation]], ...]

    def among(self, ops: Container[Operation]) -> LoopDerivative:
        """As much of it as some operations need."""
        exits = tuple(e for e in self.exits if e.enter in ops)
        return replace(self, exits=exits, entries=tuple(e for e in self.entries if any(t.op in ops for t in e.parts)))

    @property
    def is_intact(self) -> bool:
        """Whether the nodes of both loops take and wait for what they did when the note was made."""
        return all(_are(op.inputs, inputs) and _are(op.control_inputs, controls) for op, inputs, controls in self.edges)


def _are(have: Sequence[object], noted: Sequence[object]) -> bool:
    return len(have) == len(noted) and all(map(operator.is_, have, noted))


def edges_of(ops: Iterable[Operation]) -> tuple[tuple[Operation, tuple[Tensor, ...], list[Operation]], ...]:
    """What each of some nodes takes and waits for."""
    return tuple((op, op.inputs, op.control_inputs) for op in ops)
