"""`__getattr__` of the public namespaces: finds names that nothing exports, or raises an error with a hint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import missing

finders: list[Callable[[str, str], Any]] = []
"""Functions of a namespace ("tfcompat.contrib.slim") and a name that return an object or raise AttributeError."""


def lacking(namespace: str, name: str) -> Any:
    """Returns the object that the first finder has for the name; raises AttributeError, with the reason, if none has."""
    # The first finder that has the name wins; an AttributeError only says that this one lacks it.
    for find in finders:
        try:
            return find(namespace, name)
        except AttributeError:
            continue
    path = f"{namespace}.{name}".partition(".")[2]
    why = missing.reason(path)
    text = f"tfcompat has no tf.{path}" + (f": {why}" if why else "")
    raise AttributeError(text if text.endswith("?") else text + ".", name=name)  # without obj, from which Python would propose other names
