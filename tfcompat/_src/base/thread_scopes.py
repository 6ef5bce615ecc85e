"""Graph scopes that each thread has for itself: devices, colocation, control dependencies, names."""

from __future__ import annotations

import copy
import threading
from typing import Any

_SHARED_AT_FIRST = ("_devices", "_colocations", "_control_dependencies_stack")


class _Scopes(threading.local):
    """The scopes of one thread: at first those that all threads had, and no name scope but in the thread that was in one."""

    def __init__(self, start: dict[str, list[Any]], maker: int, names: str) -> None:
        self.values: dict[str, Any] = {name: copy.copy(stack) for name, stack in start.items()}
        self.values["_name_stack"] = names if threading.get_ident() == maker else ""


def _of_thread(name: str) -> property:
    def get(graph: Any) -> Any:
        return graph._thread_scopes.values[name]

    def set_(graph: Any, value: Any) -> None:
        graph._thread_scopes.values[name] = value

    return property(get, set_)


class _HasThreadScopes:
    """What is added to the class of a graph whose scopes are of threads: others pay nothing for it."""

    _devices, _colocations, _control_dependencies_stack = map(_of_thread, _SHARED_AT_FIRST)
    _name_stack = _of_thread("_name_stack")


def separate(graph: Any) -> None:
    """Makes the scopes of a graph scopes of each thread."""
    if isinstance(graph, _HasThreadScopes):
        return
    graph._thread_scopes = _Scopes({name: getattr(graph, name) for name in _SHARED_AT_FIRST}, graph._maker, graph._name_stack)
    kind = type(graph)
    graph.__class__ = type(kind.__name__, (_HasThreadScopes, kind), {})
