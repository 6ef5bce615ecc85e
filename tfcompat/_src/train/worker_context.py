"""What the task of a cluster that trains by a strategy is told, in the thread that trains: see `distribute/distribute_coordinator.py`."""

from __future__ import annotations

import threading
from typing import Any


class _WorkerContextOfThread(threading.local):
    current: Any = None


_worker_context = _WorkerContextOfThread()


def get_current_worker_context() -> Any:
    """The context of the task that this thread trains for; None where no coordinator runs it."""
    return _worker_context.current
