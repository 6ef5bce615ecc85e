"""`@export("reduce_sum", "math.reduce_sum")` declares, at a definition, all its public names below `tf`.

`_src/namespaces.py` reads these marks with `ast` and generates the namespace files of `tfcompat/` from them. At run time a mark
only adds dispatch support to the functions that `base/dispatch.py` lists. A value is marked by wrapping it:
`float32 = export("float32")(DType(...))`.
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
