"""Which tf.distribute strategy a thread builds a graph under, and for which replica or device of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from tfcompat._src.framework.graph import Graph
from tfcompat._src.framework.scopes import get_default_graph


class Mode(NamedTuple):
    """A strategy in use; `replica_context` is None where the code runs for all replicas together."""

    graph: Graph
    strategy: Any
    replica_context: Any


class _Stack(threading.local):
    def __init__(self) -> None:
        self.modes: list[Mode] = []
        self.update_device: str | None = None


_STACK = _Stack()


def _outermost(graph: Graph) -> Graph:
    while graph.building_function:
        graph = graph.outer_graph
    return graph


def current() -> Mode | None:
    """The innermost mode that was entered in this thread for the default graph."""
    if not _STACK.modes:
        return None
    graph = _outermost(get_default_graph())
    return next((mode for mode in reversed(_STACK.modes) if mode.graph is graph), None)


def push(strategy: Any, replica_context: Any = None) -> None:
    """Enters a mode for the default graph."""
    _STACK.modes.append(Mode(_outermost(get_default_graph()), strategy, replica_context))


def pop() -> None:
    """Leaves the mode entered last."""
    _STACK.modes.pop()


def strategy_in_use() -> Any:
    """The strategy of the mode; None where there is none, or the one that changes nothing."""
    mode = current()
    return None if mode is None or mode.strategy.extended._is_default else mode.strategy


@contextlib.contextmanager
def updating(device: str) -> Iterator[None]:
    """Inside, a distributed variable means its component on `device`."""
    outer, _STACK.update_device = _STACK.update_device, device
    try:
        yield
    finally:
        _STACK.update_device = outer


def update_device() -> str | None:
    """The device of the open `updating` block, or None."""
    return _STACK.update_device
