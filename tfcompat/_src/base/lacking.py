"""What a public namespace gives for a name that nothing exports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

finders: list[Callable[[str, str], Any]] = []
"""Called with a namespace ("tfcompat.contrib.slim") and a name; each gives an object or raises AttributeError."""


def lacking(namespace: str, name: str) -> Any:
    """The object that a finder has for the name; AttributeError where none has."""
    for find in finders:
        try:
            return find(namespace, name)
        except AttributeError:
            continue
    space = namespace.replace("tfcompat", "tf", 1)
    raise AttributeError(f"tfcompat has no {space}.{name}: TensorFlow 1.15 does not have it or it is not built yet.")
