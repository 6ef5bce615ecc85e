"""`tensorflow.python.eager.executor`: where operations of a thread run that are called eagerly."""

from __future__ import annotations


class Executor:
    """Runs operations as they are called; JAX computes in the background whatever an executor is told.

    Args:
      enable_async: what `is_async` says.
    """

    def __init__(self, enable_async: bool) -> None:
        self._is_async = bool(enable_async)

    def is_async(self) -> bool:
        """Whether it was made to run operations in the background."""
        return self._is_async

    def wait(self) -> None:
        """Returns at once: what a value needs is waited for when it is read."""

    def clear_error(self) -> None:
        """Returns at once: errors are raised where they come up, and none is kept."""


def new_executor(enable_async: bool) -> Executor:
    """An executor, which runs operations in the background or not."""
    return Executor(enable_async)
