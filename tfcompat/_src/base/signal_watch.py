"""A thread that learns of signals while the main thread is inside a compiled call.

Python runs the handlers of signals in the main thread, between two bytecodes: not while that thread waits in a call into C. But its C code
notes a signal at once in the file descriptor of `signal.set_wakeup_fd`, where this thread reads it and has what runs end early. The handler
runs when the call has come back.
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
    """The pair of sockets between signals and the thread that reads them."""

    def __init__(self) -> None:
        self._receiving, self._sending = socket.socketpair()
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
            if outer not in (-1, self.fd):
                with contextlib.suppress(OSError):  # full or closed: Python goes on there too, and this thread is needed again
                    os.write(outer, numbers)


class watching:
    """A block of the main thread in which a signal has another thread call `action` at once; in other threads the block does nothing.

    A file descriptor that was set before, as by an event loop, is told of those signals too.
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
        watch.outer = signal.set_wakeup_fd(watch.fd, warn_on_full_buffer=False)
        self._before = watch.outer, before

    def __exit__(self, *exception: object) -> None:
        watch = watching._watch
        if self._before is not None and watch is not None:
            outer, watch.action = self._before
            try:
                signal.set_wakeup_fd(outer, warn_on_full_buffer=outer not in (-1, watch.fd))
            except OSError:  # the program has closed it meanwhile
                signal.set_wakeup_fd(-1)
            if outer != watch.fd:
                watch.outer = -1


def _forget() -> None:
    watching._watch = None  # a child of a fork has no such thread


os.register_at_fork(after_in_child=_forget)
