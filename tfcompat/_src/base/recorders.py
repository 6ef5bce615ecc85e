"""What is told of each operation that runs at once: the gradient tapes of a thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Protocol


class Recorder(Protocol):
    """What a tape does with operations that run."""

    def record(self, op: Any) -> bool:
        """Takes an operation that has run; whether it keeps it."""

    def follows(self, tensors: Any) -> int:
        """How many times a derivative through one of the tensors may be taken."""


class _Active(threading.local):
    def __init__(self) -> None:
        self.recorders: list[Recorder] = []


ACTIVE = _Active()


def record(op: Any) -> None:
    """Tells the tapes of an operation; its outputs lead back to it while one keeps it."""
    kept = [recorder.record(op) for recorder in ACTIVE.recorders]
    if any(kept):
        for index, tensor in enumerate(op.outputs):
            tensor.recorded_as(op, index)


def order(tensors: Any) -> int:
    """How many times a derivative through one of these tensors may be taken."""
    return sum(recorder.follows(tensors) for recorder in ACTIVE.recorders)


def stopped() -> contextlib.AbstractContextManager[None]:
    """A block in which no tape records."""
    return only()


@contextlib.contextmanager
def only(*recorders: Recorder) -> Iterator[None]:
    """A block in which no others record."""
    before, ACTIVE.recorders = ACTIVE.recorders, list(recorders)
    try:
        yield
    finally:
        ACTIVE.recorders = before
