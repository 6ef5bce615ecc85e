"""`tensorflow.python.util.tf_decorator` and `tf_contextlib`, on `functools` and `contextlib`."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Callable


class TFDecorator:
    """A decorator's record: its name, the function it decorates, a text on it and another argument list."""

    def __init__(
        self, decorator_name: str, target: Any, decorator_doc: str = "", decorator_argspec: Any = None
    ) -> None:
        self.decorator_name = decorator_name
        self.decorated_target = target
        self.decorator_doc = decorator_doc
        self.decorator_argspec = decorator_argspec


def make_decorator(
    target: Callable[..., Any],
    decorator_func: Callable[..., Any],
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Callable[..., Any]:
    """`decorator_func` under the name, text and signature of `target`, which `unwrap` finds again."""
    record = TFDecorator(decorator_name or decorator_func.__name__, target, decorator_doc, decorator_argspec)
    functools.update_wrapper(decorator_func, target)
    decorator_func._tf_decorator = record  # type: ignore[attr-defined]
    return decorator_func


def unwrap(maybe_tf_decorator: Any) -> tuple[list[TFDecorator], Any]:
    """The records of all decorators, outermost first, and the innermost function."""
    records = []
    while hasattr(maybe_tf_decorator, "_tf_decorator"):
        records.append(maybe_tf_decorator._tf_decorator)
        maybe_tf_decorator = records[-1].decorated_target
    return records, maybe_tf_decorator


def contextmanager(target: Callable[..., Any]) -> Callable[..., Any]:
    """A context manager made of a generator function."""
    return make_decorator(target, contextlib.contextmanager(target), "contextmanager")
