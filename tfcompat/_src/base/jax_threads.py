"""Which threads use JAX, and the end of that when the interpreter ends.

When Python finalizes, it ends each daemon thread that asks for the interpreter again. In JAX's C++ code that ends the process, by
SIGABRT (from Python 3.14 on such threads hang). So at exit no thread but the one that exits comes back from JAX: those that
enter or leave it wait for ever, and the exit waits a moment for those that are in it.
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
"""Seconds that an exit waits for threads that use JAX: where the process can then end without finalizing, and where it cannot."""

_NOT_FLUSHED = 120  # python's status where standard output cannot be written

_depths: dict[int, int] = {}
AT_CLOSE: list[Callable[[], None]] = []
"""What ends the work of other threads, called when the interpreter exits."""

_left = threading.Semaphore(0)
_never = threading.Lock()
_never.acquire()


class _Process:
    """What this process is to heed where threads enter and leave JAX.

    Attributes:
      is_open: whether threads come and go as they like.
      exiting: the thread that exits. status: the exit status, where it is known.
    """

    is_open = True
    exiting: int | None = None
    status: int | None = None


class Using:
    """A block in which this thread uses JAX. Its end is as its beginning was, also where a signal's handler has ended what is inside."""

    __slots__ = ("_depth",)

    def __enter__(self) -> None:
        thread = threading.get_ident()
        self._depth = depth = _depths.get(thread, 0)
        _depths[thread] = depth + 1
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
    """A block inside `Using` in which this thread does not use JAX: it waits, or runs Python code of the program."""

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
    """Ends the part of a thread in the program, unless it is the one that exits.

    Raises:
      RuntimeError: the process was forked off one in which JAX ran.
    """
    if _Process.exiting is None:
        _depths.pop(thread, None)
        raise RuntimeError(
            "This process was forked off one that had run operations. Their threads are lacking here, so that operations would wait "
            "for ever: start processes before the first run, or by multiprocessing.get_context('spawn')"
        )
    if thread != _Process.exiting:
        _depths.pop(thread, None)
        _left.release()
        _never.acquire()


def is_exiting() -> bool:
    """Whether this thread ends the process: no other one may use JAX for it."""
    return _Process.exiting == threading.get_ident()


def know_status(status: int) -> None:
    """Tells what the status of this process will be, minus a signal's number for one that ends by it."""
    _Process.status = status


@atexit.register
def _close() -> None:
    """Waits for the threads that use JAX. Where one stays in it and the status is known, ends the process without finalizing."""
    _Process.exiting, _Process.is_open = threading.get_ident(), False
    for hook in AT_CLOSE:
        hook()
    deadline = time.monotonic() + (LONGEST_SAFE_WAIT if _Process.status is None else LONGEST_WAIT)
    while others := [t for t in list(_depths) if t != _Process.exiting]:
        if not _left.acquire(timeout=max(deadline - time.monotonic(), 0)):
            break
    if others and _Process.status is not None:
        logging.shutdown()
        status = _Process.status if _flushed() else _NOT_FLUSHED
        if status < 0:
            signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        os._exit(status)


def _flushed() -> bool:
    """Whether what was printed could be written."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return False
    return True


def forget_others(may_run: bool) -> None:
    """Tells that this process was forked, so that it has the thread that forked alone, and whether that may use JAX."""
    thread = threading.get_ident()
    for other in [t for t in _depths if t != thread]:
        del _depths[other]
    _Process.is_open, _Process.exiting, _Process.status = may_run, None, None
