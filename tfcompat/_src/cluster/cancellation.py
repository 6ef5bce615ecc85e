"""How a step that runs in this process is told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Cancellation:
    """Whether something is to stop, and what is called then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hooks: list[Callable[[], None]] = []
        self.is_cancelled = False

    def cancel(self) -> None:
        """Says that it is to stop."""
        with self._lock:
            hooks, self._hooks, self.is_cancelled = self._hooks, [], True
        for hook in hooks:
            hook()

    def on_cancel(self, hook: Callable[[], None]) -> None:
        """Calls `hook` when it is to stop, at once where that has been said."""
        with self._lock:
            if not self.is_cancelled:
                self._hooks.append(hook)
                return
        hook()

    def over(self) -> None:
        """Forgets what was to be called: what it was for has ended."""
        with self._lock:
            self._hooks = []
