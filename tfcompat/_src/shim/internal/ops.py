"""`tensorflow.python.framework.ops`: what of it has no other place."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tfcompat._src.framework.default_stack import GRAPHS, SESSIONS
from tfcompat._src.framework.scopes import get_default_graph

_UIDS = itertools.count(1)
_default_session_stack = SESSIONS
_default_graph_stack = GRAPHS


def uid() -> int:
    """A number that no other call in this process gives."""
    return next(_UIDS)


def get_name_scope() -> str:
    """The open name scope of the default graph, without a slash at the end."""
    return get_default_graph().get_name_scope()


class RegisterShape:
    """Marks a shape function, which TensorFlow 1.15 takes from the op's own registration instead."""

    def __init__(self, op_type: str) -> None:
        self._op_type = op_type

    def __call__(self, f: Callable) -> Any:
        return f


def _set_call_cpp_shape_fn(call_cpp_shape_fn: Callable) -> None:
    """Does nothing, as in 1.15 where a shape function is set already: each op has its own."""
