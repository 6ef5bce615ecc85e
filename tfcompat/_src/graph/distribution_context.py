"""Which tf.distribute strategy a thread builds a graph under, and for which replica or device of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph


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


def current() -> Mode | None:
    """The innermost mode that was entered in this thread for the default graph."""
    if not _STACK.modes:
        return None
    graph = get_default_graph().outermost()
    return next((mode for mode in reversed(_STACK.modes) if mode.graph is graph), None)


def push(strategy: object, replica_context: object = None) -> None:
    """Enters a mode for the default graph."""
    _STACK.modes.append(Mode(get_default_graph().outermost(), strategy, replica_context))


def pop() -> None:
    """Leaves the mode entered last."""
    _STACK.modes.pop()


def strategy_in_use() -> Any:
    """The strategy of the mode; None where there is none, or the one that changes nothing."""
    mode = current()
    return None if mode is None or mode.strategy.extended._is_default else mode.strategy


def is_for_all_replicas() -> bool:
    """Whether code runs under a strategy for all replicas together."""
    return strategy_in_use() is not None and current().replica_context is None  # type: ignore[union-attr]  # a strategy is in use


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


_SUMS = ("weighted_sum", "none")


def loss_is_mean() -> bool:
    """Whether the loss of all replicas is the mean of theirs: in an Estimator, unless the last loss of the graph is a sum."""
    mode = current()
    if mode is None or not mode.strategy._scale_loss_for_estimator:
        return False
    return getattr(get_default_graph(), "_last_loss_reduction", None) not in _SUMS


def scaled_loss(loss: Any) -> Any:
    """A replica's loss as optimizers take its gradient: divided by the number of replicas, where the mean is wanted."""
    mode = current()
    count = mode.strategy.num_replicas_in_sync if mode is not None and loss_is_mean() else 1
    get_default_graph()._is_loss_scaled_by_optimizer = count > 1
    return loss * (1.0 / count) if count > 1 else loss
