"""tf.experimental.function_executor_type: the executor that calls of functions name in an attribute."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from tfcompat._src.base.export import export


class _Current(threading.local):
    executor_type = ""


_current = _Current()


def current() -> str:
    """Returns the executor type for calls made now."""
    return _current.executor_type


@export("experimental.function_executor_type")
@contextlib.contextmanager
def function_executor_type(executor_type: str) -> Iterator[None]:
    """A block whose calls of tf.functions name an executor. The results are the same with each.

    Args:
      executor_type: its name.
    """
    before, _current.executor_type = _current.executor_type, executor_type
    try:
        yield
    finally:
        _current.executor_type = before
