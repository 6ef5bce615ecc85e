"""Switches between eager execution and graph construction, for the process or for a block."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base.default_stack import EAGER_GRAPHS, GRAPHS
from tfcompat._src.base.export import export
from tfcompat._src.eager.graph import EagerGraph
from tfcompat._src.eager.state import EagerState
from tfcompat._src.graph import scopes
from tfcompat._src.graph.graph import Graph


class _Mode:
    """Holds the one EagerGraph of the process, made on first use."""

    graph: EagerGraph | None = None
    lock = threading.Lock()


def eager_graph(config: object = None) -> EagerGraph:
    """Returns the process's EagerGraph. If it is made now, its devices are those of `config`, a ConfigProto."""
    with _Mode.lock:
        if _Mode.graph is None:
            _Mode.graph = EagerGraph(EagerState(config))
        return _Mode.graph


def eager_mode() -> contextlib.AbstractContextManager[Any]:
    """A block with eager execution. If it was off, the block has a graph of its own, with new scopes and the process's state."""
    if scopes.executing_eagerly():
        return contextlib.nullcontext()
    return GRAPHS.entered(EagerGraph(eager_graph().state))


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """A block in which operations are added to the default graph."""
    with GRAPHS.entered(_plain_graph()) if scopes.executing_eagerly() else contextlib.nullcontext():
        yield


def _plain_graph() -> Graph:
    """Returns the innermost default graph that does not execute."""
    return next((g for g in reversed(GRAPHS.stack) if not g.executes), None) or scopes.global_graph()


@export("enable_eager_execution", "contrib.eager.enable_eager_execution")
def enable_eager_execution(config: object = None, device_policy: object = None, execution_mode: object = None) -> None:
    """Enables eager execution for the process: operations run when they are called.

    Args:
      config: a ConfigProto for the devices.
      device_policy: what to do with inputs on other devices; all policies but EXPLICIT copy them.
      execution_mode: SYNC or ASYNC; JAX computes asynchronously in both.

    Raises:
      TypeError: `config` is not a ConfigProto. NotImplementedError: `device_policy` is EXPLICIT, which refuses to copy.
      ValueError: the default graph has nodes already, operations have run eagerly with another config, or a mode is unknown.
    """
    if config is not None and type(config).__name__ != "ConfigProto":
        raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
    if device_policy not in (None, 0, 1, 2, 3):
        raise ValueError("device_policy must be one of None, tf.contrib.eager.DEVICE_PLACEMENT_*")
    if device_policy == 0:
        raise NotImplementedError("tfcompat has no DEVICE_PLACEMENT_EXPLICIT: inputs on other devices are copied. Use DEVICE_PLACEMENT_SILENT.")
    if execution_mode not in (None, 0, 1):
        raise ValueError("execution_mode must be one of None, tf.contrib.eager.SYNC, tf.contrib.eager.ASYNC")
    if scopes.executing_eagerly():
        return
    # As in 1.15, only before the default graph has nodes.
    if scopes.global_graph().get_operations():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    graph = eager_graph(config)
    if config is not None and graph.state.config is not config:
        raise ValueError("Trying to change the actual config of an active eager execution.")
    scopes.set_global_default(graph)


@export("disable_eager_execution")
def disable_eager_execution() -> None:
    """Disables eager execution for the process: operations are added to graphs, as by default."""
    scopes.set_global_default(None)


EAGER_GRAPHS.append(eager_graph)
