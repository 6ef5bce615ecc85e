"""Work that no signal's handler stops: it goes on in a thread of its own, while the main thread waits.

Python runs handlers of signals in the main thread alone, between two of its bytecodes. So they never stop what a helper thread does,
and they need not wait for a call into C that takes long: waiting for a lock is ended by a handler that raises.
"""

from __future__ import annotations

import _thread
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import jax_threads

_idle: list[_Helper] = []
os.register_at_fork(after_in_child=_idle.clear)


_LONGEST_SLEEP = 1.0
"""Seconds: a handler that raises between a waiting thread's taking of a lock and its giving back leaves it taken."""


class Work:
    """A function that a helper thread calls, once, from `begin` or the first `wait` on: `result`, or the exception `error`, when it `is_over`."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._functions = [function]  # the helper that pops it calls it
        self._was_handed_over = self.is_over = False
        self._running = _thread.allocate_lock()
        self._running.acquire()
        self.result: Any = None
        self.error: BaseException | None = None

    def _hand_over(self) -> None:
        """Gives this to a helper; once more where a handler has ended that before it was noted."""
        helper: _Helper | None
        try:
            helper = _idle.pop()
        except IndexError:
            helper = _Helper.started()
        if helper is None:
            self.run(lambda: None)
        else:
            helper.queue.put(self)
        self._was_handed_over = True

    def run(self, leave: Callable[[], None]) -> None:
        """Calls the function, unless another helper does, and `leave` before those that wait go on."""
        try:
            function = self._functions.pop()
        except IndexError:
            leave()
            return
        try:
            self.result = function()
        except BaseException as e:  # noqa: BLE001  (whoever waits raises it)
            self.error = e
        del function  # and what it holds, before the next work comes
        self.is_over = True
        leave()
        self._running.release()

    def begin(self) -> None:
        """Lets a helper thread call the function."""
        if not self._was_handed_over:
            self._hand_over()

    def wait(self) -> Any:
        """The result, when it is there; raises what the function raised, or at once what a signal's handler does."""
        self.join()
        error, self.error = self.error, None
        if error is None:
            return self.result
        try:
            raise error
        finally:
            del error  # its traceback holds this frame

    def join(self) -> None:
        """Waits until the function has come back."""
        while not self.is_over_within(_LONGEST_SLEEP):
            pass

    def is_over_within(self, seconds: float) -> bool:
        """Waits until the function has come back, but no longer than so many seconds; whether it has."""
        self.begin()
        if not self.is_over and self._running.acquire(timeout=seconds):
            self._running.release()
        return self.is_over


class _Helper:
    """A thread that takes one piece of work after another."""

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[Work] = queue.SimpleQueue()

    @classmethod
    def started(cls) -> _Helper | None:
        """A new helper; None where no thread can begin: from Python 3.12 on, that is so when the interpreter ends."""
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
    """Whether handlers of signals run in this thread, so that work is to be done apart: not where the process ends."""
    return threading.current_thread() is threading.main_thread() and not jax_threads.is_exiting()
