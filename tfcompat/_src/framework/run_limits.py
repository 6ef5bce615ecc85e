"""How long the run of this thread may wait: RunOptions.timeout_in_ms, or ConfigProto.operation_timeout_in_ms."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator


class _Limits(threading.local):
    deadline: float | None = None


_limits = _Limits()
_UNLIMITED = contextlib.nullcontext()


def within(milliseconds: int) -> contextlib.AbstractContextManager[None]:
    """A context in which host steps wait no longer than `milliseconds` from now; without a limit where it is not positive."""
    return _limited(milliseconds) if milliseconds > 0 else _UNLIMITED


@contextlib.contextmanager
def _limited(milliseconds: int) -> Iterator[None]:
    outer, _limits.deadline = _limits.deadline, time.monotonic() + milliseconds / 1000
    try:
        yield
    finally:
        _limits.deadline = outer


def seconds_left() -> float | None:
    """Seconds until the limit of this thread's run, None without one."""
    return None if _limits.deadline is None else _limits.deadline - time.monotonic()
