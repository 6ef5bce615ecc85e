"""`tensorflow.python.util.tf_inspect`: Python's `inspect`, applied to the innermost function behind TensorFlow's decorators."""

from __future__ import annotations

import collections
import functools
import inspect
from collections.abc import Callable
from typing import Any

from tfcompat._src.shim.internal.tf_decorator import unwrap

ArgSpec = collections.namedtuple("ArgSpec", ["args", "varargs", "keywords", "defaults"])
_inspect = inspect
FullArgSpec = inspect.FullArgSpec
currentframe = inspect.currentframe


def _through(name: str) -> Callable[..., Any]:
    """Returns the function `name` of `inspect`, applied to the innermost function of its argument."""
    function = getattr(inspect, name)

    @functools.wraps(function)
    def of_target(object: object, *args: Any) -> Any:
        return function(unwrap(object)[1], *args)

    return of_target


# As in 1.15, the functions after `isroutine` do not look through decorators.
getfile = _through("getfile")
getsource = _through("getsource")
getsourcefile = _through("getsourcefile")
getsourcelines = _through("getsourcelines")
isbuiltin = _through("isbuiltin")
isclass = _through("isclass")
isframe = _through("isframe")
isfunction = _through("isfunction")
isgenerator = _through("isgenerator")
isgeneratorfunction = _through("isgeneratorfunction")
ismethod = _through("ismethod")
ismodule = _through("ismodule")
isroutine = _through("isroutine")
getmodule = inspect.getmodule
signature = inspect.signature
stack = inspect.stack


def getdoc(object: object) -> str | None:
    """Returns the docstring of an object, which may be the decorator's own."""
    return inspect.getdoc(object)


def getmembers(object: object, predicate: Callable[[Any], bool] | None = None) -> list[tuple[str, Any]]:
    """Returns the members of an object, sorted by name."""
    return inspect.getmembers(object, predicate)


def getmro(cls: type) -> tuple[type, ...]:
    """Returns the method resolution order of a class."""
    return inspect.getmro(cls)


def getcallargs(*func_and_positional: object, **named: object) -> dict[str, Any]:
    """Binds the arguments of a call to names, with defaults for those left out; uses a decorator's own signature if it has one."""
    # The function is positional only, as any name can be an argument of it.
    func, *positional = func_and_positional
    spec = getfullargspec(func)
    found = dict(zip(spec.args, _with_self(func, positional)))
    found.update(named)
    for name, value in zip(reversed(spec.args), reversed(spec.defaults or ())):
        found.setdefault(name, value)
    return found


def _with_self(func: object, positional: list[Any]) -> list[Any]:
    """Puts the instance of a bound method before the arguments."""
    owner = getattr(func, "__self__", None)
    return positional if owner is None else [owner, *positional]


def getfullargspec(obj: object) -> inspect.FullArgSpec:
    """Returns the signature of a function or class, or the one that the outermost decorator with a signature declares.

    Annotations of tfcompat's own functions are left out, since those of TensorFlow 1.15 have none.
    """
    # A declared signature, then that of a partial, then that of the function itself.
    records, target = unwrap(obj)
    for record in records:
        if record.decorator_argspec is not None:
            return _as_full(record.decorator_argspec)
    if isinstance(target, functools.partial):
        return _as_full(_of_partial(target))
    if getattr(target, "__module__", None) and target.__module__.startswith("tfcompat."):
        return inspect.getfullargspec(inspect.unwrap(target))._replace(annotations={})
    return inspect.getfullargspec(target)


def _as_full(spec: Any) -> inspect.FullArgSpec:
    """Converts an ArgSpec to a FullArgSpec."""
    if isinstance(spec, inspect.FullArgSpec):
        return spec
    return inspect.FullArgSpec(spec.args, spec.varargs, spec.keywords, spec.defaults, [], None, {})


def getargspec(obj: object) -> Any:
    """Returns the ArgSpec (the signature in Python 2's form) of a function, class, partial or callable object.

    Raises:
      ValueError: a partial leaves an argument without a value after one with a value.
    """
    # Of a decorated function: the signature of the outermost decorator that declares one.
    if isinstance(obj, functools.partial):
        return _of_partial(obj)
    records, target = unwrap(obj)
    for record in records:
        if record.decorator_argspec is not None:
            return record.decorator_argspec
    if isinstance(target, functools.partial):
        return _of_partial(target)
    if not (inspect.isclass(target) or inspect.isfunction(target) or inspect.ismethod(target)):
        target = type(target).__call__
    full = inspect.getfullargspec(target)
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def _of_partial(obj: functools.partial[Any]) -> Any:
    """Returns the ArgSpec of a partial: values given by keyword become defaults, as the argument can still be passed."""
    # An ArgSpec has defaults for its last arguments only. None is a valid default, so a new object marks arguments without one.
    args, varargs, keywords, defaults = getargspec(obj.func)
    defaults, given = list(defaults or ()), dict(obj.keywords or {})
    args = list(args)[len(obj.args) :]
    none = object()
    values = dict.fromkeys(args, none)
    values.update({n: v for n, v in zip(reversed(args), reversed(defaults))})
    values.update({n: v for n, v in given.items() if n in values})
    # From the first argument with a value on, all must have one.
    first = next((i for i, n in enumerate(args) if values[n] is not none), None)
    if first is None:
        return ArgSpec(args, varargs, keywords, None)
    missing = [n for n in args[first:] if values[n] is none]
    if missing:
        raise ValueError(
            f"Some arguments {missing} do not have default value, but they "
            "are positioned after those with default values. This can not be expressed with ArgSpec."
        )
    return ArgSpec(args, varargs, keywords, tuple(values[n] for n in args[first:]))
