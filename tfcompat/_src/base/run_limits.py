"""Limits of a run: deadlines, cancellation, whether operations may wait, and flags that stop running loops.

Deadlines come from RunOptions.timeout_in_ms or ConfigProto.operation_timeout_in_ms. Host operations ask for the limits of their thread
before they wait; compiled loops, which cannot ask, read a flag in shared memory in each iteration.
"""

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
    """A host operation would have to wait for another thread inside `without_waiting`; it has changed nothing."""


# ---- flags that stop loops ----


class StopFlag:
    """A flag that makes the loops of a run stop; compiled loops read it in each iteration, in memory that their program aliases."""

    def __init__(self) -> None:
        # Aligned memory, as only that is aliased by JAX; compiled loops see a change in their next iteration.
        self._memory = jax_compat.aligned_zeros(2, np.int32)
        self._arrays: dict[Any, Any] = {}
        self.is_set = self.was_set_by_signal = False
        self.deadline: float | None = None

    def array_on(self, device: object) -> Any:
        """Returns the flag's memory as an array on a CPU device of JAX; None is the default device."""
        if device not in self._arrays:
            self._arrays[device] = jax_compat.shared_array(self._memory, device)
        return self._arrays[device]

    def set(self) -> None:
        """Makes the loops stop."""
        self._memory[:] = 1
        self.is_set = True

    def set_by_signal(self) -> None:
        """Makes the loops stop so that a signal handler can run; if it raises nothing, the compiled call is repeated."""
        self.was_set_by_signal = True
        self.set()


_stoppable: dict[StopFlag, object] = {}
"""Flags of the running loops, with the session of each."""


def is_running(session: object) -> bool:
    """Returns whether a loop runs in a session."""
    return any(owner is session for owner in list(_stoppable.values()))


def stop(session: object | None = None) -> None:
    """Stops the running loops of a session, or of all sessions: their runs raise CancelledError and change no variable."""
    for flag, owner in list(_stoppable.items()):
        if session is None or owner is session:
            flag.set()


jax_threads.AT_CLOSE.append(stop)


class _Deadlines:
    """Sets the flags of loops whose runs have passed their deadline, from one thread that sleeps until the next deadline."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._next = math.inf
        self._thread: threading.Thread | None = None

    def watch(self, deadline: float) -> None:
        """Wakes the thread at this deadline, which belongs to a flag in `_stoppable`."""
        with self._changed:
            if self._thread is None or not self._thread.is_alive():  # a forked process has no threads but the forking one
                self._thread = threading.Thread(target=self._watch, name="tfcompat-deadlines", daemon=True)
                self._thread.start()
            if deadline < self._next:
                self._next = deadline
                self._changed.notify()

    def _watch(self) -> None:
        """Runs in the thread: sets expired flags, then sleeps until the next deadline or a new earlier one."""
        with self._changed:
            while True:
                left = self._next - time.monotonic()
                if left > 0:
                    self._changed.wait(min(left, threading.TIMEOUT_MAX))
                    continue
                # A snapshot, as other threads add and remove flags meanwhile.
                limited = [(flag.deadline, flag) for flag in list(_stoppable) if flag.deadline is not None and not flag.is_set]
                now = time.monotonic()
                for deadline, flag in limited:
                    if deadline <= now:
                        flag.set()
                self._next = min((deadline for deadline, flag in limited if not flag.is_set), default=math.inf)


_deadlines = _Deadlines()


@contextlib.contextmanager
def stoppable(session: object) -> Iterator[StopFlag]:
    """Yields a flag for the block in which a loop of a session runs; `stop`, an exception in the block and the run's deadline set it."""
    # The thread's flag is reused by its next loop, unless it is set or an outer loop uses it.
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


# ---- limits of a thread's run ----


class _Limits(threading.local):
    """The limits of each thread's run."""

    flag: StopFlag | None = None
    deadline: float | None = None
    may_wait: bool = True
    is_cancelled: Callable[[], bool] | None = None


_limits = _Limits()
_UNLIMITED = contextlib.nullcontext()


def within(
    milliseconds: int, is_cancelled: Callable[[], bool] | None = None
) -> contextlib.AbstractContextManager[None]:
    """Returns a context in which host steps wait until `milliseconds` from now at the longest; there is no limit if it is not positive.

    `is_cancelled` returns whether they must stop waiting at once.
    """
    return _limited(milliseconds, is_cancelled) if milliseconds > 0 or is_cancelled is not None else _UNLIMITED


@contextlib.contextmanager
def _limited(milliseconds: int, is_cancelled: Callable[[], bool] | None) -> Iterator[None]:
    # Limits nest: a run inside a host operation restores those of the outer run.
    outer = _limits.deadline, _limits.is_cancelled
    if milliseconds > 0:
        _limits.deadline = time.monotonic() + milliseconds / 1000
    _limits.is_cancelled = is_cancelled
    try:
        yield
    finally:
        _limits.deadline, _limits.is_cancelled = outer


def is_cancelled() -> bool:
    """Returns whether the run of this thread is cancelled, so that its operations must stop waiting."""
    return _limits.is_cancelled is not None and _limits.is_cancelled()


class without_waiting:
    """A context in which operations raise MustWait instead of waiting."""

    __slots__ = ()

    def __enter__(self) -> None:
        _limits.may_wait = False

    def __exit__(self, *raised: object) -> None:
        _limits.may_wait = True


def may_wait() -> bool:
    """Returns whether operations of this thread may wait now."""
    return _limits.may_wait


def seconds_left() -> float | None:
    """Returns the seconds until the deadline of this thread's run, negative after it; None if it has none."""
    return None if _limits.deadline is None else _limits.deadline - time.monotonic()


def require_time() -> None:
    """Raises DeadlineExceededError if the deadline of this thread's run has passed."""
    left = seconds_left()
    if left is not None and left < 0:
        raise errors.DeadlineExceededError(None, None, "Timed out waiting for notification")
