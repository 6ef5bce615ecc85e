"""Whether operations run when they are called, or are added to a graph."""

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
    """The one EagerGraph of the process, made when it is first wanted."""

    graph: EagerGraph | None = None
    lock = threading.Lock()


def eager_graph(config: object = None) -> EagerGraph:
    """The graph whose operations run when they are made; where it is made now, on the devices of a ConfigProto."""
    with _Mode.lock:
        if _Mode.graph is None:
            _Mode.graph = EagerGraph(EagerState(config))
        return _Mode.graph


def eager_mode() -> contextlib.AbstractContextManager[Any]:
    """A block in which operations run when they are called; where they do not do that around it, with scopes of its own."""
    if scopes.executing_eagerly():
        return contextlib.nullcontext()
    return GRAPHS.entered(EagerGraph(eager_graph().state))


@contextlib.contextmanager
def graph_mode() -> Iterator[None]:
    """A block in which operations are added to the default graph."""
    with GRAPHS.entered(_plain_graph()) if scopes.executing_eagerly() else contextlib.nullcontext():
        yield


def _plain_graph() -> Graph:
    """The innermost default graph to which nodes are added."""
    return next((g for g in reversed(GRAPHS.stack) if not g.executes), None) or scopes.global_graph()


@export("enable_eager_execution", "contrib.eager.enable_eager_execution")
def enable_eager_execution(config: object = None, device_policy: object = None, execution_mode: object = None) -> None:
    """Lets operations run when they are called, in the whole process from now on.

    Args:
      config: a ConfigProto for the devices.
      device_policy: what to do with inputs on other devices: they are copied, with all policies but EXPLICIT.
      execution_mode: SYNC or ASYNC; JAX computes asynchronously in both.

    Raises:
      TypeError: `config` is no ConfigProto. NotImplementedError: the policy EXPLICIT, which refuses to copy.
      ValueError: a graph has been used already, operations have run eagerly on other devices, or the modes are unknown.
    """
    if config is not None and type(config).__name__ != "ConfigProto":
        raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
    if device_policy not in (None, 0, 1, 2, 3):
        raise ValueError("device_policy must be one of None, tf.contrib.eager.DEVICE_PLACEMENT_*")
    if device_policy == 0:
        raise NotImplementedError("tfcompat has no DEVICE_PLACEMENT_EXPLICIT: inputs on other devices are copied.")
    if execution_mode not in (None, 0, 1):
        raise ValueError("execution_mode must be one of None, tf.contrib.eager.SYNC, tf.contrib.eager.ASYNC")
    if scopes.executing_eagerly():
        return
    if scopes.global_graph().get_operations():
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    graph = eager_graph(config)
    if config is not None and graph.state.config is not config:
        raise ValueError("Trying to change the actual config of an active eager execution.")
    scopes.set_global_default(graph)


@export("disable_eager_execution")
def disable_eager_execution() -> None:
    """Lets operations be added to graphs again, as they are unless eager execution was enabled."""
    scopes.set_global_default(None)


EAGER_GRAPHS.append(eager_graph)
