"""How long, and whether, operations of this thread may wait for others: RunOptions.timeout_in_ms, or ConfigProto.operation_timeout_in_ms;
and what ends loops that run."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import errors, jax_compat, jax_threads


class MustWait(Exception):
    """A host operation has to wait for another thread, and was asked not to; it has changed nothing."""


class StopFlag:
    """Whether the loops of a run are to end. Compiled ones look at it in each iteration, in memory that they share with it."""

    def __init__(self) -> None:
        self._memory = jax_compat.aligned_zeros(2, np.int32)
        self._arrays: dict[Any, Any] = {}
        self.is_set = self.was_set_by_signal = False
        self.deadline: float | None = None

    def array_on(self, device: object) -> Any:
        """The memory as an array on a CPU device of JAX, None for the default one."""
        if device not in self._arrays:
            self._arrays[device] = jax_compat.shared_array(self._memory, device)
        return self._arrays[device]

    def set(self) -> None:
        self._memory[:] = 1
        self.is_set = True

    def set_by_signal(self) -> None:
        """Ends the loops so that the handler of a signal can run."""
        self.was_set_by_signal = True
        self.set()


_stoppable: dict[StopFlag, object] = {}
"""The flags of the loops that run, and the session of each."""


def is_running(session: object) -> bool:
    """Whether a loop runs in a session."""
    return any(owner is session for owner in list(_stoppable.values()))


def stop(session: object | None = None) -> None:
    """Ends the loops that run in a session, or in all of them: their runs raise CancelledError and change no variable."""
    for flag, owner in list(_stoppable.items()):
        if session is None or owner is session:
            flag.set()


jax_threads.AT_CLOSE.append(stop)


class _Deadlines:
    """Sets the flags of loops whose runs have no time left, in a thread that sleeps until the next deadline."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._next = math.inf
        self._thread: threading.Thread | None = None

    def watch(self, deadline: float) -> None:
        """Watches a flag with this deadline, which is in `_stoppable`."""
        with self._changed:
            if self._thread is None or not self._thread.is_alive():  # as in a forked process
                self._thread = threading.Thread(target=self._watch, name="tfcompat-deadlines", daemon=True)
                self._thread.start()
            if deadline < self._next:
                self._next = deadline
                self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while True:
                left = self._next - time.monotonic()
                if left > 0:
                    self._changed.wait(min(left, threading.TIMEOUT_MAX))
                    continue
                limited = [(flag.deadline, flag) for flag in list(_stoppable) if flag.deadline is not None and not flag.is_set]
                now = time.monotonic()
                for deadline, flag in limited:
                    if deadline <= now:
                        flag.set()
                self._next = min((deadline for deadline, flag in limited if not flag.is_set), default=math.inf)


_deadlines = _Deadlines()


@contextlib.contextmanager
def stoppable(session: object) -> Iterator[StopFlag]:
    """A block in which a loop of a session runs: `stop`, an exception in the block, and the end of the run's time set the flag."""
    if _limits.flag is None or _limits.flag.is_set or _limits.flag in _stoppable:
        _limits.flag = StopFlag()
    flag = _limits.flag
    flag.deadline = _limits.deadline
    try:
        _stoppable[flag] = session
        if flag.deadline is not None:
            _deadlines.watch(flag.deadline)
        yield flag
    except BaseException:
        flag.set()
        raise
    finally:
        _stoppable.pop(flag, None)


class _Limits(threading.local):
    flag: StopFlag | None = None
    deadline: float | None = None
    may_wait: bool = True
    is_cancelled: Callable[[], bool] | None = None


_limits = _Limits()
_UNLIMITED = contextlib.nullcontext()


def within(
    milliseconds: int, is_cancelled: Callable[[], bool] | None = None
) -> contextlib.AbstractContextManager[None]:
    """A context in which host steps wait no longer than `milliseconds` from now; without a limit where it is not positive.

    `is_cancelled` says whether they are to wait no more at all.
    """
    return _limited(milliseconds, is_cancelled) if milliseconds > 0 or is_cancelled is not None else _UNLIMITED


@contextlib.contextmanager
def _limited(milliseconds: int, is_cancelled: Callable[[], bool] | None) -> Iterator[None]:
    outer = _limits.deadline, _limits.is_cancelled
    if milliseconds > 0:
        _limits.deadline = time.monotonic() + milliseconds / 1000
    _limits.is_cancelled = is_cancelled
    try:
        yield
    finally:
        _limits.deadline, _limits.is_cancelled = outer


def is_cancelled() -> bool:
    """Whether operations of this thread's run are to wait no more."""
    return _limits.is_cancelled is not None and _limits.is_cancelled()


class without_waiting:
    """A context in which an operation that would have to wait raises MustWait."""

    __slots__ = ()

    def __enter__(self) -> None:
        _limits.may_wait = False

    def __exit__(self, *raised: object) -> None:
        _limits.may_wait = True


def may_wait() -> bool:
    """Whether operations of this thread may wait now."""
    return _limits.may_wait


def seconds_left() -> float | None:
    """Seconds until the limit of this thread's run, None without one."""
    return None if _limits.deadline is None else _limits.deadline - time.monotonic()


def require_time() -> None:
    """Raises DeadlineExceededError where the limit of this thread's run has passed."""
    left = seconds_left()
    if left is not None and left < 0:
        raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")
