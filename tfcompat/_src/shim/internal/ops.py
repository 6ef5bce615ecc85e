"""`tensorflow.python.framework.ops`: what of it has no other place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.framework.default_stack import GRAPHS, SESSIONS

_default_session_stack = SESSIONS
_default_graph_stack = GRAPHS


class RegisterShape:
    """Marks a shape function, which TensorFlow 1.15 takes from the op's own registration instead."""

    def __init__(self, op_type: str) -> None:
        self._op_type = op_type

    def __call__(self, f: Callable) -> Any:
        return f
