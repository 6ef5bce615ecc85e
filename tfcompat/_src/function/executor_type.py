"""tf.experimental.function_executor_type: what calls of functions say about who is to run them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from tfcompat._src.base.export import export


class _Current(threading.local):
    executor_type = ""


_current = _Current()


def current() -> str:
    """The executor that calls of functions name now."""
    return _current.executor_type


@export("experimental.function_executor_type")
@contextlib.contextmanager
def function_executor_type(executor_type: str) -> Iterator[None]:
    """A block in which the nodes that call a tf.function name an executor; the results are the same with each.

    Args:
      executor_type: its name.
    """
    before, _current.executor_type = _current.executor_type, executor_type
    try:
        yield
    finally:
        _current.executor_type = before
