"""`tensorflow.python.eager.executor`: objects that in 1.15 choose whether a thread's eager operations run asynchronously."""

from __future__ import annotations


class Executor:
    """Has 1.15's interface only. Operations run when they are called, and JAX computes asynchronously in any case.

    Args:
      enable_async: what `is_async` returns.
    """

    def __init__(self, enable_async: bool) -> None:
        self._is_async = bool(enable_async)

    def is_async(self) -> bool:
        """Returns whether it was made with `enable_async`."""
        return self._is_async

    def wait(self) -> None:
        """Returns at once: reading a value waits for its computation."""

    def clear_error(self) -> None:
        """Returns at once: errors are raised by the operation that fails, and none is stored."""


def new_executor(enable_async: bool) -> Executor:
    """Returns an executor."""
    return Executor(enable_async)
