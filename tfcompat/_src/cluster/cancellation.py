"""Cancellation of work by another thread: a flag, and hooks that end the work's waits."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Cancellation:
    """Whether some work was cancelled, and the hooks to call when it is.

    Attributes: `is_cancelled`: stays true once it is.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hooks: list[Callable[[], None]] = []
        self.is_cancelled = False

    def cancel(self) -> None:
        """Cancels the work: sets the flag and calls each hook once, in this thread."""
        with self._lock:
            hooks, self._hooks, self.is_cancelled = self._hooks, [], True
        for hook in hooks:
            hook()

    def on_cancel(self, hook: Callable[[], None]) -> None:
        """Registers a hook for `cancel`; calls it at once if the work is cancelled already."""
        with self._lock:
            if not self.is_cancelled:
                self._hooks.append(hook)
                return
        hook()

    def over(self) -> None:
        """Drops the hooks, as the work has ended."""
        with self._lock:
            self._hooks = []
