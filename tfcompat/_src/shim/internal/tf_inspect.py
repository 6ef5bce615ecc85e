"""`tensorflow.python.util.tf_inspect`: `inspect`, seeing through TensorFlow's decorators."""

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
    """The function of `inspect`, of what an object decorates."""
    function = getattr(inspect, name)

    @functools.wraps(function)
    def of_target(object: object, *args: Any) -> Any:
        return function(unwrap(object)[1], *args)

    return of_target


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
    """The text of an object, the decorator's own where it has one."""
    return inspect.getdoc(object)


def getmembers(object: object, predicate: Callable[[Any], bool] | None = None) -> list[tuple[str, Any]]:
    """The members of an object by name."""
    return inspect.getmembers(object, predicate)


def getmro(cls: type) -> tuple[type, ...]:
    """The classes that a class takes members from."""
    return inspect.getmro(cls)


def getcallargs(*func_and_positional: object, **named: object) -> dict[str, Any]:
    """The values that a call would give to the arguments of a function, or of its decorator where that says them."""
    func, *positional = func_and_positional
    spec = getfullargspec(func)
    found = dict(zip(spec.args, _with_self(func, positional)))
    found.update(named)
    for name, value in zip(reversed(spec.args), reversed(spec.defaults or ())):
        found.setdefault(name, value)
    return found


def _with_self(func: object, positional: list[Any]) -> list[Any]:
    owner = getattr(func, "__self__", None)
    return positional if owner is None else [owner, *positional]


def getfullargspec(obj: object) -> inspect.FullArgSpec:
    """The arguments of a function or class; those that the outermost decorator states, where one does.

    Functions of tfcompat have no annotations here, as those of TensorFlow have none.
    """
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
    if isinstance(spec, inspect.FullArgSpec):
        return spec
    return inspect.FullArgSpec(spec.args, spec.varargs, spec.keywords, spec.defaults, [], None, {})


def getargspec(obj: object) -> Any:
    """The positional arguments of a function, class, partial or callable object, in Python 2's form.

    Raises:
      ValueError: a partial leaves an argument without a value behind one with a value.
    """
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
    """The arguments that a partial leaves open, and defaults behind them."""
    args, varargs, keywords, defaults = getargspec(obj.func)
    defaults, given = list(defaults or ()), dict(obj.keywords or {})
    args = list(args)[len(obj.args) :]
    none = object()
    values = dict.fromkeys(args, none)
    values.update({n: v for n, v in zip(reversed(args), reversed(defaults))})
    values.update({n: v for n, v in given.items() if n in values})
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
