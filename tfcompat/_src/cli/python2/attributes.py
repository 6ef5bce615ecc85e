"""Attributes and methods that values had in Python 2, exceptions, and what a class statement made."""

from __future__ import annotations

import collections.abc
import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tfcompat._src.cli.python2 import operators, text
from tfcompat._src.cli.python2.meaning import OF_TEXT

_VIEWS = (collections.abc.KeysView, collections.abc.ValuesView, collections.abc.ItemsView)


def listed(values: Any) -> Any:
    """What `keys()`, `values()` and `items()` gave: a list in place of a view."""
    return list(values) if isinstance(values, _VIEWS) else values


def sort(values: list[Any], cmp: Callable[[Any, Any], int] | None = None, key: Any = None, reverse: bool = False) -> None:
    """`list.sort` with a function that compares, and of unlike types."""
    values[:] = sorted_list(values, cmp, key, reverse)


def sorted_list(values: Any, cmp: Callable[[Any, Any], int] | None = None, key: Any = None, reverse: bool = False) -> list[Any]:
    """`sorted`."""
    values = list(values)
    if cmp is None:
        try:
            return sorted(values, key=key, reverse=bool(reverse))
        except TypeError:
            cmp = operators.compare
    order = functools.cmp_to_key(cmp)
    return sorted(values, key=order if key is None else lambda each: order(key(each)), reverse=bool(reverse))


def _translate(value: str, table: Any = None, deleted: str = "") -> str:
    if isinstance(table, str) and len(table) == 256:
        table = {number: char for number, char in enumerate(table) if ord(char) != number}
    value = value.translate({ord(char): None for char in deleted}) if deleted else value
    return value if table is None else value.translate(table)


def _join(separator: str, values: Any) -> str:
    return separator.join(text.as_text(each) if isinstance(each, bytes) else each for each in values)


def _format(pattern: str, *arguments: Any, **named: Any) -> str:
    return pattern.format(*map(text.shown, arguments), **{name: text.shown(value) for name, value in named.items()})


_OF_STR: dict[str, Callable[..., Any]] = {"decode": text.decode, "encode": text.encode, "format": _format, "join": _join, "translate": _translate}
_LOST: dict[str, Callable[[Any], Any]] = {
    "iteritems": lambda d: lambda: iter(d.items()), "iterkeys": lambda d: lambda: iter(d.keys()), "itervalues": lambda d: lambda: iter(d.values()),
    "viewitems": lambda d: d.items, "viewkeys": lambda d: d.keys, "viewvalues": lambda d: d.values, "has_key": lambda d: d.__contains__,
    "next": lambda i: i.__next__, "im_func": lambda m: m.__func__, "im_self": lambda m: m.__self__, "im_class": lambda m: type(m.__self__),
    "func_code": lambda f: f.__code__, "func_defaults": lambda f: f.__defaults__, "func_dict": lambda f: f.__dict__,
    "func_globals": lambda f: f.__globals__, "func_name": lambda f: f.__name__, "func_doc": lambda f: f.__doc__,
}  # fmt: skip
"""Attribute -> what a value that lacks it has in its place."""


def attribute(value: Any, name: str) -> Any:
    """`value.name`."""
    if type(value) is str or isinstance(value, bytes):
        if name in OF_TEXT:
            if type(value) is not str:
                value = text.as_text(value)
            return functools.partial(_OF_STR[name], value) if name in _OF_STR else getattr(value, name)
    elif name == "sort" and isinstance(value, list) and type(value).sort is list.sort:
        return functools.partial(sort, value)
    elif value is str and name in _OF_STR:
        return _OF_STR[name]
    try:
        return getattr(value, name)
    except AttributeError:
        if name == "message" and isinstance(value, BaseException):
            return value.args[0] if len(value.args) == 1 else ""
        if name not in _LOST:
            raise
        try:
            return _LOST[name](value)
        except AttributeError:
            pass
        raise


def raised(kind: Any, value: Any = None, trace: TracebackType | None = None) -> BaseException:
    """The exception of `raise kind, value, trace`."""
    while isinstance(kind, tuple):
        kind = kind[0]
    if isinstance(kind, BaseException):
        error = kind
    elif isinstance(value, kind):
        error = value
    else:
        error = kind(*(value if isinstance(value, tuple) else () if value is None else (value,)))
    return error if trace is None else error.with_traceback(trace)


# Classes

_METHODS = {
    "next": "__next__", "__nonzero__": "__bool__", "__div__": "__truediv__", "__rdiv__": "__rtruediv__", "__idiv__": "__itruediv__",
    "__unicode__": "__str__",
}  # fmt: skip
"""Methods of a class in Python 2, and their names in Python 3."""
_ORDERS: dict[str, Callable[[int], bool]] = {
    "__eq__": lambda c: c == 0, "__ne__": lambda c: c != 0, "__lt__": lambda c: c < 0, "__le__": lambda c: c <= 0,
    "__gt__": lambda c: c > 0, "__ge__": lambda c: c >= 0,
}  # fmt: skip


def _by_cmp(holds: Callable[[int], bool]) -> Callable[[Any, Any], bool]:
    def method(self: Any, other: Any) -> bool:
        return holds(self.__cmp__(other))

    return method


def _not_equal(self: Any, other: Any) -> bool:
    return self is not other


def _get_item(self: Any, index: Any) -> Any:
    """`self[a:b]` by `__getslice__`."""
    if isinstance(index, slice) and index.step is None:
        stop = 2**63 - 1 if index.stop is None else index.stop
        return self.__getslice__(index.start or 0, stop)
    raise TypeError(f"{type(self).__name__} has __getslice__, which takes no index such as {index!r}; give it __getitem__")


def adapted(cls: Any) -> Any:
    """Gives a class the methods that Python 3 calls, under the names that it calls them by."""
    own = vars(cls)
    for old, new in _METHODS.items():
        if old in own and new not in own and not (old == "next" and not hasattr(cls, "__iter__")):
            setattr(cls, new, own[old])
    if "__cmp__" in own:
        for name, holds in _ORDERS.items():
            if name not in own:
                setattr(cls, name, _by_cmp(holds))
    elif "__eq__" in own and cls.__ne__ is object.__ne__:
        cls.__ne__ = _not_equal
    if own.get("__hash__", cls) is None:
        del cls.__hash__
    if "__getslice__" in own and "__getitem__" not in own:
        cls.__getitem__ = _get_item
    return cls
