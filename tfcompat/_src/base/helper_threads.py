"""Helper threads for work that signal handlers must not interrupt, while the main thread waits for it.

Python runs signal handlers only in the main thread, between two bytecodes. So a handler that raises (Ctrl-C) never interrupts a helper
thread, and it ends the main thread's wait at once, even if the helper is in a long call into C.
"""

from __future__ import annotations

import _thread
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import confinement, jax_threads

_idle: list[_Helper] = []
os.register_at_fork(after_in_child=_idle.clear)


_LONGEST_SLEEP = 1.0
"""Seconds between two looks at `is_over`: a handler that raises after a waiting thread has acquired the lock leaves it locked."""


class Work:
    """A function that a helper thread calls once, started by `begin` or the first `wait`.

    Attributes:
      is_over: whether the function has returned.
      result: its result.
      error: the exception that it raised, or None.
    """

    def __init__(self, function: Callable[[], Any]) -> None:
        self._functions = [confinement.bound(function)]  # list.pop is atomic, so only one helper gets it
        self._was_handed_over = self.is_over = False
        # Locked while the function runs: whoever waits acquires it, and releases it for others that wait.
        self._running = _thread.allocate_lock()
        self._running.acquire()
        self.result: Any = None
        self.error: BaseException | None = None

    def _hand_over(self) -> None:
        """Passes this work to an idle or new helper.

        A signal handler may raise before the last line; then the next call passes the work again, and the second helper finds it taken.
        """
        helper: _Helper | None
        try:
            helper = _idle.pop()
        except IndexError:
            helper = _Helper.started()
        # No thread can start, so the work is done here.
        if helper is None:
            self.run(lambda: None)
        else:
            helper.queue.put(self)
        self._was_handed_over = True

    def run(self, leave: Callable[[], None]) -> None:
        """Calls the function, unless another helper has taken it, then `leave`, and then wakes the waiting threads."""
        try:
            function = self._functions.pop()
        except IndexError:
            leave()
            return
        try:
            self.result = function()
        except BaseException as e:  # noqa: BLE001  (`wait` raises it)
            self.error = e
        del function  # frees what it captures before the helper waits for its next work
        # `leave` makes the helper idle first, so that a woken thread finds it for its next work.
        self.is_over = True
        leave()
        self._running.release()

    def begin(self) -> None:
        """Starts the call in a helper thread, unless it has started."""
        if not self._was_handed_over:
            self._hand_over()

    def wait(self) -> Any:
        """Waits for the function and returns its result; raises its exception, or at once that of a signal handler."""
        self.join()
        # The exception is handed over: kept here, it would keep its frames alive.
        error, self.error = self.error, None
        if error is None:
            return self.result
        try:
            raise error
        finally:
            del error  # its traceback refers to this frame: a reference cycle

    def join(self) -> None:
        """Waits until the function has returned."""
        while not self.is_over_within(_LONGEST_SLEEP):
            pass

    def is_over_within(self, seconds: float) -> bool:
        """Waits at most `seconds` until the function has returned; returns whether it has."""
        self.begin()
        if not self.is_over and self._running.acquire(timeout=seconds):
            self._running.release()
        return self.is_over


class _Helper:
    """A thread that performs one piece of work after another and is idle in between."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[Work] = queue.SimpleQueue()

    @classmethod
    def started(cls) -> _Helper | None:
        """Returns a new helper, or None if no thread can start, as from Python 3.12 on while the interpreter exits."""
        helper = cls()
        try:
            threading.Thread(target=helper._serve, name="tfcompat_helper", daemon=True).start()
        except RuntimeError:
            return None
        return helper

    def _serve(self) -> None:
        while True:
            self.queue.get().run(self._rest)

    def _rest(self) -> None:
        _idle.append(self)


def is_interruptible() -> bool:
    """Returns whether signal handlers may interrupt this thread: the main thread, unless the process is exiting."""
    return threading.current_thread() is threading.main_thread() and not jax_threads.is_exiting()
