"""Arguments that 1.15 accepts under an old and a new name."""

from __future__ import annotations

from typing import Any


def deprecated_argument_lookup(new_name: str, new_value: object, old_name: str, old_value: object) -> Any:
    """Returns the value passed under either name; raises ValueError if both are passed."""
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value
