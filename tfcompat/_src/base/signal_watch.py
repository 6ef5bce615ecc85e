"""A thread that is told of signals while the main thread is inside a compiled call.

Python runs signal handlers in the main thread, between two bytecodes, so not during a call into C. But its C signal handler writes the
signal's number at once to the file descriptor of `signal.set_wakeup_fd`. This thread reads it and stops the compiled loops; then the call
returns, and the Python handler runs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable

from tfcompat._src.base.helper_threads import is_interruptible


class _Watch:
    """The socket pair to which signals are written, and the thread that reads it.

    Attributes:
      fd: the descriptor for `signal.set_wakeup_fd`.
      outer: the descriptor that the program had set before; -1 for none.
      action: the function to call when a signal arrives, or None.
    """

    def __init__(self) -> None:
        self._receiving, self._sending = socket.socketpair()
        # set_wakeup_fd requires a non-blocking descriptor: the C handler must not wait.
        self._sending.setblocking(False)
        self.fd = self._sending.fileno()
        self.outer = -1
        self.action: Callable[[], None] | None = None
        threading.Thread(target=self._serve, name="tfcompat_signals", daemon=True).start()

    def _serve(self) -> None:
        while numbers := self._receiving.recv(64):
            action, outer = self.action, self.outer
            if action is not None:
                action()
            # Blocks nest, so the outer descriptor may be this watch's own.
            if outer not in (-1, self.fd):
                with contextlib.suppress(OSError):  # full or closed: Python ignores that too, and this thread must go on
                    os.write(outer, numbers)


class watching:
    """A context of the main thread in which a signal makes another thread call `action` at once; it does nothing in other threads.

    Signals are forwarded to a wakeup descriptor that was set before, for instance by an event loop.
    """

    __slots__ = ("_action", "_before")
    _watch: _Watch | None = None

    def __init__(self, action: Callable[[], None]) -> None:
        self._action = action
        self._before: tuple[int, Callable[[], None] | None] | None = None

    def __enter__(self) -> None:
        if not is_interruptible():
            return
        watch = watching._watch
        if watch is None:
            watch = watching._watch = _Watch()
        before = watch.action
        watch.action = self._action
        # The order matters: a signal may arrive between any two lines, and finds an action as soon as the descriptor is set.
        watch.outer = signal.set_wakeup_fd(watch.fd, warn_on_full_buffer=False)
        self._before = watch.outer, before

    def __exit__(self, *exception: object) -> None:
        watch = watching._watch
        if self._before is not None and watch is not None:
            outer, watch.action = self._before
            try:
                signal.set_wakeup_fd(outer, warn_on_full_buffer=outer not in (-1, watch.fd))
            except OSError:  # the program has closed its descriptor meanwhile
                signal.set_wakeup_fd(-1)
            if outer != watch.fd:
                watch.outer = -1


def _forget() -> None:
    watching._watch = None  # a forked process lacks the thread


os.register_at_fork(after_in_child=_forget)
