"""The default graph of each thread, and free functions that open its scopes or use its collections.

The default graph is, in this order: the innermost `as_default()` block of the thread; the eager graph, if eager execution is enabled;
the thread's global graph.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from tfcompat._src.base.default_stack import GRAPHS
from tfcompat._src.base.export import export
from tfcompat._src.graph.device_scope import devices_of
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor


class _GlobalDefault(threading.local):
    """The global graph of each thread. To build in the graph of another thread, a program enters it with `as_default()`."""

    graph: Graph | None = None


_global_default = _GlobalDefault()
_instead_of_global: list[Graph] = []
"""At most one graph, which replaces the global graphs of all threads: the eager graph."""


@export("get_default_graph")
def get_default_graph() -> Graph:
    """Returns the graph to which this thread adds nodes."""
    stack = GRAPHS.stack
    if stack:
        top: Graph = stack[-1]
        return top
    return _instead_of_global[0] if _instead_of_global else global_graph()


def global_graph() -> Graph:
    """Returns the global graph of this thread, which is the default in graph mode outside `as_default()` blocks."""
    if _global_default.graph is None:
        _global_default.graph = Graph()
    return _global_default.graph


@export("reset_default_graph")
def reset_default_graph() -> None:
    """Replaces the global default graph of this thread with a new one; raises AssertionError inside a `with graph.as_default()` block."""
    if any(not graph.executes for graph in GRAPHS.stack):
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs. "
                             "If you need a cleared graph, exit the nesting and create a new graph.")  # fmt: skip
    _global_default.graph = None


def graph_element_of(value: object) -> Tensor | Operation | None:
    """Returns `value` as a Tensor or Operation if it is one or converts to one (as a variable does), else None."""
    if isinstance(value, (Tensor, Operation)):
        return value
    as_element: Callable[[], Tensor | Operation | None] | None = getattr(value, "_as_graph_element", None)
    return as_element() if callable(as_element) else None


def graph_from_inputs(values: Iterable[Any], graph: Graph | None = None) -> Graph:
    """Returns the graph to which all tensors and operations in `values` belong, or the default graph if there are none.

    Raises:
      ValueError: two of them belong to different graphs, or one does not belong to `graph`.
    """
    # A function body captures tensors of outer graphs, and eager execution takes any: both are the answer whatever the values are.
    default = get_default_graph()
    if graph is None and (default.building_function or default.executes):
        return default
    # Eager tensors belong to no graph that nodes can be added to, so they do not decide.
    first = None
    for value in values:
        element = graph_element_of(value)
        if element is None or element.graph.executes:
            continue
        if graph is None:
            graph, first = element.graph, value
        elif element.graph is not graph:
            if first is not None:
                raise ValueError(f"{value} must be from the same graph as {first}.")
            raise ValueError(f"{value} is not from the passed-in graph.")
    return graph or default


_get_graph_from_inputs = graph_from_inputs


# ---- scopes ----


@export("name_scope", "keras.backend.name_scope")
class name_scope:
    """Prefixes the names of the operations made inside; `with name_scope(...) as scope` yields "outer/name/".

    Args:
      name: the scope, or None.
      default_name: the scope if `name` is None.
      values: tensors whose graph is used instead of the default graph.

    Raises:
      ValueError: `name` and `default_name` are None but `values` are given.
    """

    def __init__(self, name: str | None, default_name: str | None = None, values: Iterable[Any] | None = None) -> None:
        if name is not None and not isinstance(name, (str, bytes)):
            raise TypeError(f"The name of a name_scope must be a string or None, got {name!r} of type {type(name).__name__}.")
        self._name = default_name if name is None else name
        self._given_name, self._values = name, values

    @property
    def name(self) -> str | None:
        return self._name

    def __enter__(self) -> str:
        if self._name is None and self._values is not None:
            raise ValueError(
                f"At least one of name ({self._given_name}) and default_name (None) must be provided."
            )
        default = get_default_graph()
        # A graph that is not the default one becomes it inside the scope.
        graph = _graph_of_scope(self._values, default) if self._values else default
        self._scope = graph.name_scope(self._name) if graph is default else _scope_in(graph, self._name)
        return self._scope.__enter__()

    def __exit__(self, *exc_info: object) -> None:
        self._scope.__exit__(None, None, None)


def _graph_of_scope(values: Iterable[object], default: Graph) -> Graph:
    """Returns the graph of the values. In eager mode that is the default graph, unless a value is of the graph of Keras' models."""
    if not default.executes:
        return graph_from_inputs(values)
    return keras_graph_of(map(graph_element_of, values)) or default


def keras_graph_of(elements: Iterable[Tensor | Operation | None]) -> Graph | None:
    """Returns the graph in which Keras builds models in eager mode ("keras_graph") if an element belongs to it, else None."""
    return next((e.graph for e in elements if e is not None and getattr(e.graph, "name", None) == "keras_graph"), None)


@contextlib.contextmanager
def _scope_in(graph: Graph, name: str | None) -> Iterator[str]:
    with graph.as_default(), graph.name_scope(name) as scope:
        yield scope


@export("op_scope")
def op_scope(values: Iterable[Any], name: str | None, default_name: str | None = None) -> name_scope:
    """Returns `name_scope(name, default_name, values)`; a deprecated form of it."""
    return name_scope(name, default_name=default_name, values=values)


@export("device")
def device(device_name_or_function: object) -> contextlib.AbstractContextManager[None]:
    """Places the operations made inside on a device.

    Args:
      device_name_or_function: a string ("/gpu:0"), a DeviceSpec, a function of the operation that returns one of these, or None
        to ignore the devices of outer blocks.

    Returns:
      a context manager.
    """
    return get_default_graph().device(device_name_or_function)


@export("control_dependencies")
def control_dependencies(control_inputs: Iterable[Any] | None) -> contextlib.AbstractContextManager[None]:
    """Makes the operations made inside run after `control_inputs`.

    Args:
      control_inputs: operations and tensors; None clears the dependencies of outer blocks. In eager mode it may be a function, which
        is called.

    Returns:
      a context manager.
    """
    graph = get_default_graph()
    if graph.executes and callable(control_inputs):
        control_inputs()
    return graph.control_dependencies(control_inputs)


@export("colocate_with")
def colocate_with(op: object, ignore_existing: bool = False) -> contextlib.AbstractContextManager[None]:
    """Places the operations made inside on the device of `op`."""
    return get_default_graph().colocate_with(op, ignore_existing)


@export("container")
def container(container_name: str) -> contextlib.AbstractContextManager[str]:
    """Puts the resources made inside into the named resource container."""
    return get_default_graph().container(container_name)


@export("init_scope")
@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Lifts operations out of control flow, control dependencies and function bodies, to where variables are initialized.

    They are placed as by the device blocks of the innermost function body that has any.
    """
    inner = get_default_graph()
    # The name scope is kept although the graph changes, so that variables get the names of where they are made.
    scope = inner.get_name_scope()
    graph = inner.outermost()
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope(scope + "/" if scope else None), devices_of(inner, graph):
        yield


# ---- collections ----


@export("add_to_collection")
def add_to_collection(name: object, value: object) -> None:
    """Appends `value` to a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


@export("add_to_collections")
def add_to_collections(names: str | Iterable[Hashable], value: object) -> None:
    """Appends `value` to each of several collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


@export("get_collection")
def get_collection(key: object, scope: str | None = None) -> list[Any]:
    """Returns a copy of a collection of the default graph.

    Args:
      key: the collection, for instance one of `tf.GraphKeys`.
      scope: a regular expression; keeps only items whose name matches it at the beginning.

    Returns:
      a list, empty if there is no such collection.
    """
    return get_default_graph().get_collection(key, scope)


@export("get_collection_ref")
def get_collection_ref(key: object) -> list[Any]:
    """Returns a collection of the default graph itself, not a copy: changes to the list change the collection."""
    return get_default_graph().get_collection_ref(key)


def get_all_collection_keys() -> list[Any]:
    return get_default_graph().get_all_collection_keys()


# ---- eager execution ----


@export("executing_eagerly", "contrib.eager.executing_eagerly", "contrib.eager.in_eager_mode")
def executing_eagerly() -> bool:
    """Returns whether operations run when they are called, instead of being added to a graph."""
    return get_default_graph().executes


def present_graph() -> Graph | None:
    """Returns the default graph, or None in eager mode."""
    graph = get_default_graph()
    return None if graph.executes else graph


def executing_eagerly_outside_functions() -> bool:
    """Returns whether operations run when they are called, outside all functions that are being traced."""
    return get_default_graph().outermost().executes


def set_global_default(graph: Graph | None) -> None:
    """Makes `graph` the default of all threads outside `as_default()` blocks; None restores the threads' global graphs."""
    _instead_of_global[:] = [] if graph is None else [graph]


def has_default_graph() -> bool:
    """Returns whether this thread has a default graph already, which `get_default_graph` would otherwise make."""
    return bool(GRAPHS.stack) or _global_default.graph is not None
