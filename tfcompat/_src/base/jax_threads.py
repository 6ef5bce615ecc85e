"""Records which threads use JAX, and keeps them from crashing the process when the interpreter exits.

When Python finalizes, a daemon thread that acquires the GIL again is ended. In JAX's C++ code that aborts the process by SIGABRT (from
Python 3.14 on, such threads hang instead). So from the start of the exit, every other thread that enters or leaves JAX blocks for ever,
and the exit waits a limited time for the threads that are inside.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

LONGEST_WAIT, LONGEST_SAFE_WAIT = 0.8, 20.0
"""Seconds that an exit waits for threads inside JAX: if the exit status is known, so that the process can then end without finalizing,
and if it is not."""

_NOT_FLUSHED = 120  # Python's exit status if standard output cannot be flushed

# Thread id -> nesting depth of its `Using` blocks. Single dict operations are atomic, so no lock is needed, which a signal handler that
# raises could leave locked.
_depths: dict[int, int] = {}
AT_CLOSE: list[Callable[[], None]] = []
"""Functions that end the work of other threads; called first when the interpreter exits."""

_left = threading.Semaphore(0)  # released by each thread that leaves JAX during the exit
_never = threading.Lock()  # never released: threads that must stop block on it
_never.acquire()


class _Process:
    """The state of the process.

    Attributes:
      is_open: whether threads may enter and leave JAX freely.
      exiting: the id of the thread that exits, or None.
      status: the exit status, if it is known.
    """

    is_open = True
    exiting: int | None = None
    status: int | None = None


class Using:
    """A context in which this thread uses JAX; its end restores the depth at its beginning, even if a signal handler raised in between."""

    __slots__ = ("_depth",)

    def __enter__(self) -> None:
        thread = threading.get_ident()
        # Set, not incremented: an increment that a signal handler interrupts would be wrong for ever.
        self._depth = depth = _depths.get(thread, 0)
        _depths[thread] = depth + 1
        # A nested block may go on: its thread is inside already, and the exit waits for it.
        if not (_Process.is_open or depth):
            _stay(thread)

    def __exit__(self, *raised: object) -> None:
        thread = threading.get_ident()
        if self._depth:
            _depths[thread] = self._depth
        else:
            _depths.pop(thread, None)
            if not _Process.is_open:
                _stay(thread)


class Waiting:
    """A context inside `Using` in which this thread does not use JAX: it waits, or runs Python code of the program."""

    __slots__ = ("_depth",)

    def __enter__(self) -> None:
        self._depth = _depths.pop(threading.get_ident(), 0)
        if not _Process.is_open:
            _left.release()

    def __exit__(self, *raised: object) -> None:
        if self._depth:
            thread = threading.get_ident()
            _depths[thread] = self._depth
            if not _Process.is_open:
                _stay(thread)


def _stay(thread: int) -> None:
    """Blocks this thread for ever, unless it is the one that exits.

    Raises:
      RuntimeError: the process was forked from one in which JAX ran.
    """
    if _Process.exiting is None:
        _depths.pop(thread, None)
        raise RuntimeError(
            "This process was forked from one that had run operations. It lacks JAX's threads, so operations would wait for ever. "
            "Start processes before the first run, or with multiprocessing.get_context('spawn')."
        )
    if thread != _Process.exiting:
        _depths.pop(thread, None)
        _left.release()
        _never.acquire()


def is_exiting() -> bool:
    """Returns whether this thread exits the process, so that helper threads cannot use JAX for it."""
    return _Process.exiting == threading.get_ident()


def know_status(status: int) -> None:
    """Records the exit status of this process; a negative number is a signal by which it ends."""
    _Process.status = status


@atexit.register
def _close() -> None:
    """Waits for the threads inside JAX. If one stays inside and the exit status is known, ends the process without finalizing."""
    _Process.exiting, _Process.is_open = threading.get_ident(), False
    for hook in AT_CLOSE:
        hook()
    # Each thread that leaves JAX releases the semaphore, so the list is looked at again.
    deadline = time.monotonic() + (LONGEST_SAFE_WAIT if _Process.status is None else LONGEST_WAIT)
    while others := [t for t in list(_depths) if t != _Process.exiting]:
        if not _left.acquire(timeout=max(deadline - time.monotonic(), 0)):
            break
    # A thread is still inside and would abort the process during finalization, so what Python's exit does is done here.
    if others and _Process.status is not None:
        logging.shutdown()
        status = _Process.status if _flushed() else _NOT_FLUSHED
        if status < 0:
            signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        os._exit(status)


def _flushed() -> bool:
    """Flushes standard output and error; returns whether that succeeded."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return False
    return True


def forget_others(may_run: bool) -> None:
    """Records that this process was forked: only the forking thread exists, and it may use JAX only if `may_run`."""
    thread = threading.get_ident()
    # Threads of the parent do not exist here; a parent that was about to exit does not make this process exit.
    for other in [t for t in _depths if t != thread]:
        del _depths[other]
    _Process.is_open, _Process.exiting, _Process.status = may_run, None, None
