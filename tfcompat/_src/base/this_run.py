"""Storage that operations share within one run of a thread, discarded when the run ends."""

from __future__ import annotations

import threading
from typing import Any


class _Current(threading.local):
    notes: dict[Any, Any] | None = None


_current = _Current()


def begin() -> dict[Any, Any] | None:
    """Begins a run, possibly inside another one; returns the storage of the outer run, for `end`."""
    outer, _current.notes = _current.notes, {}
    return outer


def end(outer: dict[Any, Any] | None) -> None:
    """Ends the innermost run of this thread."""
    _current.notes = outer


def notes() -> dict[Any, Any]:
    """Returns the storage of this run, a dict that is empty when the run begins; raises RuntimeError outside a run."""
    if _current.notes is None:
        raise RuntimeError("this_run.notes() needs a run, but this thread is in none; call it from a host kernel.")
    return _current.notes
