"""Whether summaries that nodes write are written in this thread, by which writer, and at which step."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.scopes import device, executing_eagerly
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.math.compare import logical_and
from tfcompat._src.variables.training_util import get_or_create_global_step

CPU = "cpu:0"


class _ThreadState(threading.local):
    """The writer, the condition and the step of the present thread."""

    writer: Any = None
    recording: Any = None
    step: Any = None


STATE = _ThreadState()


def is_recording(default: bool) -> Tensor:
    """A bool scalar, whether summaries are written, of replicas by the first alone; `default` where no condition is set."""
    condition = STATE.recording() if callable(STATE.recording) else STATE.recording
    mode = distribution_context.current()
    replica = None if mode is None else mode.replica_context
    is_first = True if replica is None else raw.Equal(replica.replica_id_in_sync_group, 0)
    return logical_and(is_first, default if condition is None else condition)


@export("contrib.summary.should_record_summaries", "contrib.summary.summary.should_record_summaries")
def should_record_summaries() -> Tensor:
    """A bool scalar, whether summaries are written; false where no condition is set."""
    return is_recording(False)


@export("compat.v2.summary.record_if")
@contextlib.contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """A block in which summaries are written where `condition`, a bool, bool Tensor or function giving one, is true."""
    before, STATE.recording = STATE.recording, condition
    try:
        yield
    finally:
        STATE.recording = before


@export("contrib.summary.always_record_summaries", "contrib.summary.summary.always_record_summaries")
def always_record_summaries() -> contextlib.AbstractContextManager[None]:
    """A block in which all summaries are written."""
    return record_if(True)


@export("contrib.summary.never_record_summaries", "contrib.summary.summary.never_record_summaries")
def never_record_summaries() -> contextlib.AbstractContextManager[None]:
    """A block in which no summaries are written."""
    return record_if(False)


@export("contrib.summary.record_summaries_every_n_global_steps", "contrib.summary.summary.record_summaries_every_n_global_steps")
def record_summaries_every_n_global_steps(n: int, global_step: Any = None) -> contextlib.AbstractContextManager[None]:
    """A block in which summaries are written at each `n`-th step of `global_step`, by default that of the graph."""
    if global_step is None:
        global_step = get_or_create_global_step()

    def is_due() -> Tensor:
        with device(CPU):
            return raw.Equal(global_step % n, 0)

    return record_if(is_due if executing_eagerly() else is_due())


@export("compat.v2.summary.experimental.get_step")
def get_step() -> Any:
    """The step of this thread's summaries that are given none; None where it was not set."""
    return STATE.step


@export("compat.v2.summary.experimental.set_step")
def set_step(step: Any) -> None:
    """Sets the step of this thread's summaries that are given none: an integer, int64 tensor or variable, or None."""
    STATE.step = step
