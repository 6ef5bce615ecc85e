"""`@export("reduce_sum", "math.reduce_sum")` states, at a definition, every public name it has below `tf`.

The namespace files of `tfcompat/` are generated from these marks (`_src/namespaces.py` reads them with `ast`). At run time
a mark gives dispatch support to the functions that `base/dispatch.py` lists, and does nothing else. A value is marked
by wrapping it: `float32 = export("float32")(DType(...))`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tfcompat._src.base import dispatch

T = TypeVar("T")


def export(*names: str) -> Callable[[T], T]:
    """Marks a class, function or value as public under `names`, dotted paths below `tf`."""

    def mark(value: T) -> T:
        return dispatch.supported(value, names)

    return mark
