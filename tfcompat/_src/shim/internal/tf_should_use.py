"""`tensorflow.python.util.tf_should_use`: wraps results in proxies that log an error if they are garbage collected without having been used.

A program that drops the result of e.g. `TensorArray.write` in graph mode has a bug: the write never runs.
"""

from __future__ import annotations

import functools
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.platform import logging
from tfcompat._src.shim.internal.tf_decorator import make_decorator

# Attributes of the proxy itself; any other read counts as a use.
_OWN_ATTRIBUTES = ("_tf_should_use_helper", "_true_value")
_FRAMES_SHOWN = 5


class _TFShouldUseHelper:
    """Logs in its finalizer that an object was never used, unless `sate` was called."""

    def __init__(self, value: object, frame: types.FrameType, log: Callable[..., None]) -> None:
        # In function bodies automatic control dependencies run everything with effects, so that no result must be used. The texts are made
        # now, since the finalizer must not refer to the object.
        self._sated = get_default_graph().building_function
        self._what = f"(type {type(value)}):\n{value!r}"
        self._stack = "".join(line.rstrip() for line in traceback.format_stack(frame, limit=_FRAMES_SHOWN))
        self._log = log

    def sate(self) -> None:
        """Marks the object as used."""
        self._sated = True

    def __del__(self) -> None:
        if not self._sated:
            line = "=================================="
            self._log(
                f"{line}\nObject was never used {self._what}\nIf you want to mark it as used call its "
                f'"mark_used()" method.\nIt was originally created here:\n{self._stack}\n{line}'
            )


def _getattribute(self: Any, key: str) -> Any:
    """Marks the object as used, and reads an attribute of it."""
    own = functools.partial(object.__getattribute__, self)
    if key not in _OWN_ATTRIBUTES:
        own("_tf_should_use_helper").sate()
    return own(key) if key in (*_OWN_ATTRIBUTES, "mark_used") else getattr(own("_true_value"), key)


def _setattr(self: Any, key: str, value: object) -> None:
    setattr(self._true_value, key, value)


def _mark_used(self: Any, *args: object, **kwargs: object) -> Any:
    own = getattr(self._true_value, "mark_used", None)
    return None if own is None else own(*args, **kwargs)


def _hash(self: Any) -> int:
    return hash(self._true_value)


def _eq(self: Any, other: object) -> Any:
    return self is other or self._true_value == getattr(other, "_true_value", other)


@functools.cache
def _wrapper_class(kind: type) -> type:
    """Makes a proxy class for objects of type `kind`; it passes for `kind`, whose name, bases and methods it has."""
    # Python looks up special methods (`__add__`, `__iter__`) on the class, so that the proxy's class needs them itself.
    members = {k: v for k, v in vars(kind).items() if k not in ("__dict__", "__weakref__", "__init__")}
    members.update(__getattribute__=_getattribute, __setattr__=_setattr, __hash__=_hash, __eq__=_eq, mark_used=_mark_used)
    return type(kind.__name__, kind.__bases__, members)


def _add_should_use_warning(x: object, fatal_error: bool = False) -> Any:
    """Wraps `x` in a proxy that logs an error, or a fatal error, if it is garbage collected before an attribute was read.

    None and [] are returned unchanged.
    """
    # As in 1.15, an empty result has nothing to use.
    if x is None or (isinstance(x, list) and not x):
        return x
    log = logging.fatal if fatal_error else logging.error
    # Without `__init__`, and past the class's own `__setattr__`, which writes to the wrapped object.
    wrapper: object = object.__new__(_wrapper_class(type(x)))  # type: ignore[arg-type]  # a class has a hash
    object.__setattr__(wrapper, "_tf_should_use_helper", _TFShouldUseHelper(x, sys._getframe(1), log))
    object.__setattr__(wrapper, "_true_value", x)
    return wrapper


def _watched(fn: Callable[..., Any], name: str, note: str, fatal_error: bool) -> Callable[..., Any]:
    """Decorates a function so that it returns proxies, with a note in its docstring."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return _add_should_use_warning(fn(*args, **kwargs), fatal_error)

    doc = f'{fn.__doc__ or ""}\n\n  **NOTE** {note} To mark the output as used, call its .mark_used() method.'
    return make_decorator(fn, wrapped, name, doc)


def should_use_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the result of the function logs an error if it is never used."""
    note = "The output of this function should be used.  If it is not, a warning will be logged. "
    return _watched(fn, "should_use_result", note, fatal_error=False)


def must_use_result_or_fatal(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the result of the function logs a fatal error if it is never used."""
    note = "The output of this function must be used.  If it is not, a fatal error will be raised. "
    return _watched(fn, "must_use_result_or_fatal", note, fatal_error=True)
