"""The tf.distribute strategy, replica and update device under which each thread builds a graph."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph


class Mode(NamedTuple):
    """An entered strategy scope; `replica_context` is None in cross-replica context."""

    graph: Graph
    strategy: Any
    replica_context: Any


class _Stack(threading.local):
    def __init__(self) -> None:
        self.modes: list[Mode] = []
        self.update_device: str | None = None


_STACK = _Stack()


def current() -> Mode | None:
    """Returns the innermost mode that this thread entered for the default graph, or None."""
    if not _STACK.modes:
        return None
    # A mode counts only for the graph in which it was entered, so that a graph made inside a scope is built without the strategy.
    graph = get_default_graph().outermost()
    return next((mode for mode in reversed(_STACK.modes) if mode.graph is graph), None)


def push(strategy: object, replica_context: object = None) -> None:
    """Enters a mode for the default graph."""
    _STACK.modes.append(Mode(get_default_graph().outermost(), strategy, replica_context))


def pop() -> None:
    """Leaves the mode that this thread entered last."""
    _STACK.modes.pop()


def strategy_in_use() -> Any:
    """Returns the strategy of the current mode; None if there is none or if it is the default strategy."""
    mode = current()
    return None if mode is None or mode.strategy.extended._is_default else mode.strategy


def is_for_all_replicas() -> bool:
    """Returns whether this thread is in cross-replica context of a strategy other than the default one."""
    return strategy_in_use() is not None and current().replica_context is None  # type: ignore[union-attr]  # a strategy is in use


@contextlib.contextmanager
def updating(device: str) -> Iterator[None]:
    """Makes distributed variables stand for their component on `device` inside the block."""
    outer, _STACK.update_device = _STACK.update_device, device
    try:
        yield
    finally:
        _STACK.update_device = outer


def update_device() -> str | None:
    """Returns the device of the innermost open `updating` block, or None."""
    return _STACK.update_device


_SUMS = ("weighted_sum", "sum")
"""The reductions, of tf.losses and of tf.keras.losses, for which 1.15's Estimator sums the replicas' losses."""


def loss_is_mean() -> bool:
    """Returns whether the loss of a step is the mean of the replicas' losses: in an Estimator, unless the graph's last loss is a sum."""
    mode = current()
    if mode is None or not mode.strategy._scale_loss_for_estimator:
        return False
    return getattr(get_default_graph(), "_last_loss_reduction", None) not in _SUMS


def scaled_loss(loss: Any) -> Any:
    """Returns the loss that an optimizer differentiates on this replica: divided by the number of replicas for a mean loss."""
    mode = current()
    # The graph records whether losses were divided; an Estimator then chooses how it reduces the losses of the replicas.
    count = mode.strategy.num_replicas_in_sync if mode is not None and loss_is_mean() else 1
    get_default_graph()._is_loss_scaled_by_optimizer = count > 1
    return loss * (1.0 / count) if count > 1 else loss
