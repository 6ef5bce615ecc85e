"""What belongs to the run that this thread is in, and ends with it."""

from __future__ import annotations

import threading
from typing import Any


class _Current(threading.local):
    notes: dict[Any, Any] | None = None


_current = _Current()


def begin() -> dict[Any, Any] | None:
    """Begins a run, maybe within another one; returns what `end` needs."""
    outer, _current.notes = _current.notes, {}
    return outer


def end(outer: dict[Any, Any] | None) -> None:
    """Ends the run of this thread."""
    _current.notes = outer


def notes() -> dict[Any, Any]:
    """What operations keep for each other in this run; empty when it begins."""
    if _current.notes is None:
        raise RuntimeError("there is no run in this thread")
    return _current.notes
