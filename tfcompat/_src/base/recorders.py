"""The gradient tapes of each thread, to which eager operations report."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Protocol


class Recorder(Protocol):
    """A gradient tape, as operations see it."""

    def record(self, op: Any) -> bool:
        """Offers an operation that has run; returns whether the tape keeps it."""

    def follows(self, tensors: Any) -> int:
        """Returns the order of derivatives that the tape may take through one of the tensors, 0 if it follows none."""


class _Active(threading.local):
    def __init__(self) -> None:
        self.recorders: list[Recorder] = []


ACTIVE = _Active()


def record(op: Any) -> None:
    """Offers an operation to the open tapes; while one keeps it, its outputs refer to it (weakly)."""
    # Every tape is asked, even after one has kept the operation.
    kept = [recorder.record(op) for recorder in ACTIVE.recorders]
    if any(kept):
        for index, tensor in enumerate(op.outputs):
            tensor.recorded_as(op, index)


def order(tensors: Any) -> int:
    """Returns the order of derivatives that the open tapes together may take through one of these tensors."""
    return sum(recorder.follows(tensors) for recorder in ACTIVE.recorders)


def stopped() -> contextlib.AbstractContextManager[None]:
    """Returns a context in which no tape records."""
    return only()


@contextlib.contextmanager
def only(*recorders: Recorder) -> Iterator[None]:
    """Makes the given tapes the only ones that record inside the block."""
    before, ACTIVE.recorders = ACTIVE.recorders, list(recorders)
    try:
        yield
    finally:
        ACTIVE.recorders = before
