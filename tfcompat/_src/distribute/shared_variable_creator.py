"""Variables that a function makes once and that its later calls, one for each replica, find again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


def make_fn(shared_variable_store: dict[str, list], device_id: int) -> Callable:
    """A variable creator with which a replica finds the variables that the first replica made, by name and order.

    Args:
      shared_variable_store: what the replicas share. device_id: the replica's number.
    """
    found: dict[str, int] = {}

    def create(next_creator: Callable, *args: Any, **kwargs: Any) -> Any:
        name = _canonicalize_variable_name(kwargs.get("name"))
        position = found[name] = found.get(name, -1) + 1
        if device_id == 0:
            made = next_creator(*args, **kwargs)
            shared_variable_store.setdefault(name, []).append(made)
            return made
        if len(shared_variable_store.get(name, ())) <= position:
            raise RuntimeError(f"Tried to create variable {name} with mismatching name on device {device_id}")
        return shared_variable_store[name][position]

    return create


def _canonicalize_variable_name(name: str | None) -> str:
    """A variable's name without the numbers that made it or its scopes unique."""
    return "Variable" if name is None else re.sub(r"_\d+(?=/|$)", "", name)
