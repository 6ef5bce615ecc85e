"""The AutoGraph conversion status of each thread: whether the Python function that is being traced was converted."""

from __future__ import annotations

import enum
import threading


class Status(enum.Enum):
    """The status of a block: not stated, converted by AutoGraph, or not converted."""

    UNSPECIFIED = 0
    ENABLED = 1
    DISABLED = 2


class ControlStatusCtx:
    """A context in which functions are traced with a status.

    Args:
      status: a Status.
      options: the options of the conversion, or None.
    """

    def __init__(self, status: Status, options: object = None) -> None:
        self.status, self.options = status, options

    def __enter__(self) -> ControlStatusCtx:
        _THREAD.stack.append(self)
        return self

    def __exit__(self, *unused: object) -> None:
        _THREAD.stack.pop()

    def __repr__(self) -> str:
        return f"{type(self).__name__}[status={self.status}, options={self.options}]"


class _Thread(threading.local):
    def __init__(self) -> None:
        self.stack = [ControlStatusCtx(Status.UNSPECIFIED)]


_THREAD = _Thread()
_ADVICE = {
    Status.UNSPECIFIED: "not allowed in Graph execution. Use Eager execution or decorate this function with @tf.function.",
    Status.ENABLED: "not allowed: AutoGraph did not convert this function. Try decorating it directly with @tf.function.",
    Status.DISABLED: "not allowed: AutoGraph is disabled in this function. Try decorating it directly with @tf.function.",
}


def control_status_ctx() -> ControlStatusCtx:
    """Returns the innermost open context of this thread."""
    return _THREAD.stack[-1]


def advice() -> str:
    """Returns 1.15's advice, for error messages about Python control flow on a symbolic tensor."""
    return _ADVICE[control_status_ctx().status]
