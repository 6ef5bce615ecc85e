"""`tensorflow.python.util.function_utils`: argument names, name and code object of functions, methods, partials and callable objects."""

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
    """Returns the method `__call__` of a callable object; functions are returned unchanged."""
    return fn.__call__ if callable(fn) and inspect.ismethod(fn.__call__) else fn


def fn_args(fn: object) -> tuple[str, ...]:
    """Returns the names of the arguments that a caller of a function, method, partial or callable object can pass, without `self`."""
    # A partial passes its positional arguments first; the function's signature is that below all partials.
    if isinstance(fn, functools.partial):
        return tuple(name for name in fn_args(fn.func)[len(fn.args) :] if name not in fn.keywords)
    fn = _call_of(fn)
    names = getfullargspec(fn).args
    return tuple(names[1:] if inspect.ismethod(unwrap(fn)[1]) else names)


def has_kwargs(fn: object) -> bool:
    """Whether a function, method, partial or callable object has a `**kwargs` argument.

    Raises:
      TypeError: `fn` is not callable.
    """
    if not callable(fn):
        raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    fn = fn.func if isinstance(fn, functools.partial) else _call_of(fn)
    return getfullargspec(fn).varkw is not None


def _target(func: object) -> Callable[..., Any]:
    """Returns the innermost function behind TensorFlow's decorators; raises ValueError if it is not callable."""
    target: object = unwrap(func)[1]
    if not callable(target):
        raise ValueError("Argument must be callable")
    return target


def get_func_name(func: object) -> str:
    """Returns the name of a function, `Class.name` of a bound method, or the type of another callable object as a string.

    Raises:
      ValueError: `func` is not callable.
    """
    target = _target(func)
    if inspect.ismethod(target):
        return f"{type(target.__self__).__name__}.{target.__func__.__name__}"
    return target.__name__ if inspect.isfunction(target) else str(type(target))


def get_func_code(func: object) -> types.CodeType | None:
    """Returns the code object of a function, method or callable object; None if it is not written in Python.

    Raises:
      ValueError: `func` is not callable.
    """
    target: Any = _target(func)
    if not (inspect.isfunction(target) or inspect.ismethod(target)):
        target = target.__call__
    return getattr(target, "__code__", None)


@functools.cache
def get_disabled_rewriter_config() -> bytes:
    """Returns a serialized ConfigProto that disables the graph optimizer."""
    config = pool.message("tensorflow.ConfigProto")()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    serialized: bytes = config.SerializeToString()
    return serialized
