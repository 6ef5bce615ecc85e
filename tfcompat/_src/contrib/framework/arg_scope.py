"""tf.contrib.framework.arg_scope: default arguments for functions that are called inside a block."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.base.export import export

_stack: list[dict[str, dict[str, Any]]] = [{}]
_arguments: dict[str, tuple[str, ...]] = {}


@export("contrib.framework.current_arg_scope", "contrib.slim.current_arg_scope")
def current_arg_scope() -> dict[str, dict[str, Any]]:
    """The defaults in force, by the key of the function."""
    return _stack[-1]


@export("contrib.slim.arg_scope_func_key")
def arg_scope_func_key(op: object) -> str:
    """The key under which a function's defaults are kept."""
    return getattr(op, "_key_op", str(op))


@export("contrib.framework.arg_scope", "contrib.slim.arg_scope")
@contextlib.contextmanager
def arg_scope(list_ops_or_scope: object, **kwargs: object) -> Iterator[dict[str, dict[str, Any]]]:
    """Inside, the listed functions take `kwargs` as defaults.

    Args:
      list_ops_or_scope: a list of functions decorated with `add_arg_scope`, or the scope that another `arg_scope` gave.
      kwargs: arguments and their defaults; none where a scope is given.

    Raises:
      TypeError: the first argument is neither. ValueError: a function is not decorated, or `kwargs` come with a scope.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling adictionary, kwargs must be empty.")
        scope = list_ops_or_scope.copy()
    elif isinstance(list_ops_or_scope, (list, tuple)):
        scope = current_arg_scope().copy()
        for op in list_ops_or_scope:
            if not has_arg_scope(op):
                raise ValueError("%s is not decorated with @add_arg_scope", (op.__module__, op.__name__))
            key = arg_scope_func_key(op)
            scope[key] = {**scope.get(key, {}), **kwargs}
    else:
        raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
    _stack.append(scope)
    try:
        yield scope
    finally:
        _stack.pop()


@export("contrib.framework.add_arg_scope", "contrib.slim.add_arg_scope")
def add_arg_scope(func: Callable) -> Callable:
    """Lets `arg_scope` set defaults of `func`; returns the function that takes them."""
    key = arg_scope_func_key(func)

    @functools.wraps(func)
    def with_defaults(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**current_arg_scope().get(key, {}), **kwargs})

    parameters = inspect.signature(func).parameters.values()
    _arguments[key] = tuple(p.name for p in parameters if p.default is not p.empty)
    with_defaults._key_op = key
    return with_defaults


@export("contrib.framework.has_arg_scope", "contrib.slim.has_arg_scope")
def has_arg_scope(func: object) -> bool:
    """Whether `func` was decorated with `add_arg_scope`."""
    return arg_scope_func_key(func) in _arguments


@export("contrib.framework.arg_scoped_arguments", "contrib.slim.arg_scoped_arguments")
def arg_scoped_arguments(func: object) -> tuple[str, ...]:
    """The arguments of `func` that have a default; AssertionError where it is not decorated."""
    if not has_arg_scope(func):
        raise AssertionError(f"{func} is not decorated with @add_arg_scope")
    return _arguments[arg_scope_func_key(func)]
