"""`@export("reduce_sum", "math.reduce_sum")` states, at a definition, every public name it has below `tf`.

The namespace files of `tfcompat/` are generated from these marks (`tools/namespaces.py` reads them with `ast`), so the
mark itself does nothing at run time. A value is marked by wrapping it: `float32 = export("float32")(DType(...))`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def export(*names: str) -> Callable[[T], T]:
    """Marks a class, function or value as public under `names`, dotted paths below `tf`."""

    def mark(value: T) -> T:
        return value

    return mark
