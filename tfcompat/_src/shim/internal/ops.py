"""`tensorflow.python.framework.ops`: what of it has no other place."""

from __future__ import annotations

from typing import Any, Callable


class RegisterShape:
    """Marks a shape function, which TensorFlow 1.15 takes from the op's own registration instead."""

    def __init__(self, op_type: str) -> None:
        self._op_type = op_type

    def __call__(self, f: Callable) -> Any:
        return f
