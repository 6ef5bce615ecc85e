"""`tensorflow.python.eager.core`: the exceptions of eager operations, and their conversion to the classes of `tf.errors`."""

from __future__ import annotations

from collections.abc import Callable

from tfcompat._src.base import errors


class _NotOkStatusException(Exception):
    """The error of an operation with its code, as TensorFlow's C layer raises it. Operations here raise the classes of tf.errors directly."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message, code)
        self.message, self.code = message, code

    def __str__(self) -> str:
        error = _status_to_exception(self.code, self.message)
        return f"{type(error).__name__}: {error}"


class _FallbackException(Exception):
    """Raised by the fast path of an eager operation if an input must be converted; the caller then takes the slow path."""


class _SymbolicException(Exception):
    """Raised if an eager operation gets a symbolic tensor of a Keras graph."""


def _status_to_exception(code: int, message: str) -> Exception:
    """Returns the exception of tf.errors for an error code."""
    kind: Callable[..., Exception] = errors.exception_type_from_error_code(code)
    return kind(None, None, message)
