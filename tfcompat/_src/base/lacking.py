"""What a public namespace gives for a name that nothing exports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import missing

finders: list[Callable[[str, str], Any]] = []
"""Called with a namespace ("tfcompat.contrib.slim") and a name; each gives an object or raises AttributeError."""


def lacking(namespace: str, name: str) -> Any:
    """The object that a finder has for the name; AttributeError where none has."""
    for find in finders:
        try:
            return find(namespace, name)
        except AttributeError:
            continue
    path = f"{namespace}.{name}".partition(".")[2]
    why = missing.reason(path)
    text = f"tfcompat has no tf.{path}" + (f": {why}" if why else "")
    raise AttributeError(text if text.endswith("?") else text + ".", name=name)  # with obj Python would propose other names
