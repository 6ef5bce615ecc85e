"""What tf.gradients notes of the loops that it makes: which loop goes back over which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor


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
      exits: results of the forward loop. grads: the gradients of these, as they enter the backward loop.
      entries: what the backward loop gives. counter: the Exit of the forward loop that tells how often it ran.
      made: the nodes of the backward loop, and those in the forward loop that serve it (a counter, stacks).
      forward: the other nodes of the forward loop.
    """

    exits: tuple[Tensor, ...]
    grads: tuple[Tensor, ...]
    entries: tuple[EntryGradient, ...]
    counter: Operation
    made: frozenset[Operation]
    forward: frozenset[Operation]
    edges: tuple[tuple[Operation, tuple[Tensor, ...], list[Operation]], ...]

    @property
    def is_intact(self) -> bool:
        """Whether the nodes of both loops take and wait for what they did when the note was made."""
        return all(op.inputs == inputs and op.control_inputs == controls for op, inputs, controls in self.edges)


def edges_of(ops: Iterable[Operation]) -> tuple[tuple[Operation, tuple[Tensor, ...], list[Operation]], ...]:
    """What each of some nodes takes and waits for."""
    return tuple((op, op.inputs, op.control_inputs) for op in ops)
