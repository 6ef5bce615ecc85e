"""`tensorflow.python.eager.core`: the exceptions of operations that run at once."""

from __future__ import annotations

from collections.abc import Callable

from tfcompat._src.base import errors


class _NotOkStatusException(Exception):
    """What TensorFlow raises below Python; here the classes of tf.errors are raised at once."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message, code)
        self.message, self.code = message, code

    def __str__(self) -> str:
        error = _status_to_exception(self.code, self.message)
        return f"{type(error).__name__}: {error}"


class _FallbackException(Exception):
    """What TensorFlow raises where its fast path cannot take a call."""


class _SymbolicException(Exception):
    """An operation that runs at once was given a tensor of a Keras graph."""


def _status_to_exception(code: int, message: str) -> Exception:
    """The exception of tf.errors for an error code."""
    kind: Callable[..., Exception] = errors.exception_type_from_error_code(code)
    return kind(None, None, message)
