"""Thread-local graph scopes: devices, colocation, control dependencies, names.

The scopes of a graph are plain fields until another thread enters it; then the graph's class is replaced by a subclass whose fields
are properties of thread-local values. So graphs of one thread, nearly all of them, pay nothing.
"""

from __future__ import annotations

import copy
import threading
from typing import Any

_SHARED_AT_FIRST = ("_devices", "_colocations", "_control_dependencies_stack")


class _Scopes(threading.local):
    """The scopes of each thread. They start as copies of the shared ones; only the thread that made the graph keeps its name scope."""

    def __init__(self, start: dict[str, list[Any]], maker: int, names: str) -> None:
        # threading.local calls __init__ in each thread that reads the scopes, with the same arguments.
        self.values: dict[str, Any] = {name: copy.copy(stack) for name, stack in start.items()}
        self.values["_name_stack"] = names if threading.get_ident() == maker else ""


def _of_thread(name: str) -> property:
    """Returns a property that reads and writes a thread-local scope."""

    def get(graph: Any) -> Any:
        return graph._thread_scopes.values[name]

    def set_(graph: Any, value: Any) -> None:
        graph._thread_scopes.values[name] = value

    return property(get, set_)


class _HasThreadScopes:
    """A mixin that replaces a graph's scope fields by thread-local properties."""

    _devices, _colocations, _control_dependencies_stack = map(_of_thread, _SHARED_AT_FIRST)
    _name_stack = _of_thread("_name_stack")


def separate(graph: Any) -> None:
    """Makes the scopes of a graph thread-local; does nothing if they are."""
    if isinstance(graph, _HasThreadScopes):
        return
    graph._thread_scopes = _Scopes({name: getattr(graph, name) for name in _SHARED_AT_FIRST}, graph._maker, graph._name_stack)
    # A subclass of the graph's own class, made on demand, with the mixin in front so that its properties win.
    kind = type(graph)
    graph.__class__ = type(kind.__name__, (_HasThreadScopes, kind), {})
