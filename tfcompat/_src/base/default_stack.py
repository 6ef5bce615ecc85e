"""The thread-local stacks of default graphs and default sessions.

They are here, below `graph/` and `runtime/`, so that tensors can find the default session and the eager graph.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from tfcompat._src.base.session_like import SessionLike

T = TypeVar("T")


class DefaultStack(threading.local, Generic[T]):
    """A stack whose top is the default object of the current thread."""

    def __init__(self) -> None:
        self.stack: list[T] = []

    def top(self) -> T | None:
        return self.stack[-1] if self.stack else None

    get_default = top

    def reset(self) -> None:
        self.stack.clear()

    @contextlib.contextmanager
    def entered(self, value: T) -> Iterator[T]:
        """Makes `value` the default inside the block; raises AssertionError if blocks are not left in reverse order."""
        self.stack.append(value)
        try:
            yield value
        finally:
            if self.stack:
                if self.stack[-1] is not value:
                    raise AssertionError(f"Nesting violated for default stack of {type(value)} objects")
                self.stack.pop()


SESSIONS: DefaultStack[SessionLike] = DefaultStack()
GRAPHS: DefaultStack[Any] = DefaultStack()  # of tf.Graph, a class of a higher layer


EAGER_GRAPHS: list[Callable[[], Any]] = []
"""A slot for the function that returns the eager graph; the runtime fills it."""


def get_eager_graph() -> Any:
    """Returns the eager graph: the default graph if it executes eagerly, else the global eager graph."""
    top = GRAPHS.top()
    return top if top is not None and top.executes else EAGER_GRAPHS[0]()
