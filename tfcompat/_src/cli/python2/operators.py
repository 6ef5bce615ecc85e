"""Division, order and equality of Python 2: the functions that rewritten programs call."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.cli.python2.text import as_text

_INTS = (int, bool)
_NUMBERS = (int, float, np.number, np.bool_)
_PLAIN = (int, float, str, bytes, list, tuple, dict, set, type(None), type, np.number)
"""Types that have no order of their own with others: Python 2 ordered them by the names of their types."""

# Division


def divided(x: Any, y: Any) -> Any:
    """`x / y` without `from __future__ import division`."""
    if type(x) in _INTS and type(y) in _INTS:
        return x // y
    if type(x) is float or type(y) is float:
        return _by_method(x, y, operator.truediv)
    if isinstance(x, (np.ndarray, np.generic)) or isinstance(y, (np.ndarray, np.generic)):
        return _divided_arrays(x, y)
    if isinstance(x, int) and isinstance(y, int):
        return x // y
    if isinstance(x, datetime.timedelta) and isinstance(y, int):
        return x // y
    return _by_method(x, y, operator.truediv)


def _by_method(x: Any, y: Any, otherwise: Callable[[Any, Any], Any]) -> Any:
    """Divides by `__div__` or `__rdiv__` where a type has them."""
    for value, other, name in ((x, y, "__div__"), (y, x, "__rdiv__")):
        if (result := _asked(value, name, other)) is not NotImplemented:
            return result
    return otherwise(x, y)


def _asked(value: Any, name: str, other: Any) -> Any:
    """Returns the result of a special method of a value's type; NotImplemented if the type has none."""
    method = getattr(type(value), name, None)
    return NotImplemented if method is None else method(value, other)


def _divided_arrays(x: Any, y: Any) -> Any:
    is_other = [not isinstance(each, (np.ndarray, np.generic, int, float, complex, list, tuple)) for each in (x, y)]
    if any(is_other):
        return _by_method(x, y, operator.truediv)
    kinds = {np.asarray(each).dtype.kind for each in (x, y)}
    if kinds <= set("iub"):
        x, y = (each.astype(np.int8) if getattr(each, "dtype", None) == np.bool_ else each for each in (x, y))
        return operator.floordiv(x, y)
    if "O" in kinds:
        return np.frompyfunc(divided, 2, 1)(x, y)
    if kinds <= set("miub") and np.asarray(y).dtype.kind in "iub":
        return operator.floordiv(x, y)
    return operator.truediv(x, y)


def divided_in_place(x: Any, y: Any) -> Any:
    """The value of x after `x /= y`."""
    if isinstance(x, np.ndarray):
        if x.dtype.kind in "iu" and np.asarray(y).dtype.kind in "iub":
            return operator.ifloordiv(x, y)
        return operator.itruediv(x, y) if x.dtype.kind != "O" else divided(x, y)
    result = _asked(x, "__idiv__", y)
    return divided(x, y) if result is NotImplemented else result


# Order


def compare(x: Any, y: Any) -> int:
    """`cmp(x, y)`."""
    if (result := _asked(x, "__cmp__", y)) is not NotImplemented:
        return result
    if isinstance(x, bytes) != isinstance(y, bytes):
        x, y = (as_text(each) if isinstance(each, bytes) else each for each in (x, y))
    try:
        if x == y:
            return 0
        return -1 if x < y else 1
    except TypeError:
        return _compare_unlike(x, y)


def _compare_unlike(x: Any, y: Any) -> int:
    if type(x) is type(y) and isinstance(x, (list, tuple)):
        for one, other in zip(x, y):
            if (result := compare(one, other)) != 0:
                return result
        return (len(x) > len(y)) - (len(x) < len(y))
    if type(x) is type(y) and isinstance(x, dict):
        return compare((len(x), sorted(x.items())), (len(y), sorted(y.items())))
    left, right = _rank(x), _rank(y)
    return (left > right) - (left < right)


def _rank(value: object) -> tuple[str, int]:
    """None is first, then come numbers, then all else by the name of its type."""
    if value is None:
        return ("", -1)
    if isinstance(value, _NUMBERS):
        return ("", 0)
    name = type(value).__name__
    return (name, 0) if isinstance(value, _PLAIN) else (name, id(value))


def _order(function: Callable[[Any, Any], Any], holds: Callable[[int, int], bool]) -> Callable[[Any, Any], Any]:
    def ordered(x: Any, y: Any) -> Any:
        try:
            return function(x, y)
        except TypeError:
            if not (isinstance(x, _PLAIN) and isinstance(y, _PLAIN)):
                raise
            return holds(compare(x, y), 0)

    return ordered


less, less_equal = _order(operator.lt, operator.lt), _order(operator.le, operator.le)
greater, greater_equal = _order(operator.gt, operator.gt), _order(operator.ge, operator.ge)


def equal(x: Any, y: Any) -> Any:
    """`x == y`, one of which is text in the source: bytes are compared as text."""
    if isinstance(x, bytes) and isinstance(y, str):
        return as_text(x) == y
    if isinstance(y, bytes) and isinstance(x, str):
        return x == as_text(y)
    return x == y
