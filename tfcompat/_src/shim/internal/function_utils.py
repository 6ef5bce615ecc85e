"""`tensorflow.python.util.function_utils`: arguments, name and code of functions and of what acts as one."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from tfcompat._src.proto import pool
from tfcompat._src.shim.internal.tf_decorator import unwrap
from tfcompat._src.shim.internal.tf_inspect import getfullargspec


def _call_of(fn: object) -> Any:
    """The method that calling an object calls, of an object that is no function itself."""
    return fn.__call__ if callable(fn) and inspect.ismethod(fn.__call__) else fn


def fn_args(fn: object) -> tuple[str, ...]:
    """The names of the arguments that a function, method, partial or callable object leaves to its caller."""
    if isinstance(fn, functools.partial):
        return tuple(name for name in fn_args(fn.func)[len(fn.args) :] if name not in fn.keywords)
    fn = _call_of(fn)
    names = getfullargspec(fn).args
    return tuple(names[1:] if inspect.ismethod(unwrap(fn)[1]) else names)


def has_kwargs(fn: object) -> bool:
    """Whether a function, method, partial or callable object takes any named argument.

    Raises:
      TypeError: `fn` cannot be called.
    """
    if not callable(fn):
        raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    fn = fn.func if isinstance(fn, functools.partial) else _call_of(fn)
    return getfullargspec(fn).varkw is not None


def _target(func: object) -> Callable[..., Any]:
    target: object = unwrap(func)[1]
    if not callable(target):
        raise ValueError("Argument must be callable")
    return target


def get_func_name(func: object) -> str:
    """The name of a function, `Class.name` of a bound method, and the type of another callable object.

    Raises:
      ValueError: `func` cannot be called.
    """
    target = _target(func)
    if inspect.ismethod(target):
        return f"{type(target.__self__).__name__}.{target.__func__.__name__}"
    return target.__name__ if inspect.isfunction(target) else str(type(target))


def get_func_code(func: object) -> types.CodeType | None:
    """The code of a function, method or callable object, or None where that is not in Python.

    Raises:
      ValueError: `func` cannot be called.
    """
    target: Any = _target(func)
    if not (inspect.isfunction(target) or inspect.ismethod(target)):
        target = target.__call__
    return getattr(target, "__code__", None)


@functools.cache
def get_disabled_rewriter_config() -> bytes:
    """A serialized ConfigProto that switches the graph optimizer off."""
    config = pool.message("tensorflow.ConfigProto")()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    found: bytes = config.SerializeToString()
    return found
