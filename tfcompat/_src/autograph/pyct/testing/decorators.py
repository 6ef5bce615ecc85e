"""`tensorflow.python.autograph.pyct.testing.decorators`: decorators of three forms, which call the function as it is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def wrapping_decorator(f: Callable) -> Callable:
    """A function that says which one it wraps."""

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return wrapper


def standalone_decorator(f: Callable) -> Callable:
    """A function that does not say which one it wraps."""

    def standalone_wrapper(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return standalone_wrapper


def functional_decorator() -> Callable[[Callable], Callable]:
    """A decorator that a call gives."""

    def decorator(f: Callable) -> Callable:
        def functional_wrapper(*args: Any, **kwargs: Any) -> Any:
            return f(*args, **kwargs)

        return functional_wrapper

    return decorator
