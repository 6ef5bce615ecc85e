"""`tensorflow.python.ops.op_selector`: conversion to lists of operations or tensors, and walks through a graph from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeGuard, TypeVar

from tfcompat._src.base.export import export
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.op_spec import NotDifferentiable
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor

T = TypeVar("T")


@export("contrib.graph_editor.util.is_iterable")
def is_iterable(obj: object) -> TypeGuard[Iterable[Any]]:
    """Returns whether an object is iterable and not a tensor."""
    return not isinstance(obj, Tensor) and isinstance(obj, Iterable)


@export("contrib.graph_editor.get_tensors", "contrib.graph_editor.util.get_tensors")
def get_tensors(graph: Graph) -> list[Tensor]:
    """Returns all tensors of a graph; raises TypeError if `graph` is no graph."""
    if not isinstance(graph, Graph):
        raise TypeError(f"Expected a graph, got: {type(graph)}")
    return [t for op in graph.get_operations() for t in op.outputs]


@export("contrib.graph_editor.util.get_unique_graph")
def get_unique_graph(tops: object, check_types: object = None, none_if_empty: bool = False) -> Graph | None:
    """Returns the graph to which all elements belong; a function body counts as part of the graph around it.

    Args:
      tops: a graph, or an iterable of operations and tensors.
      check_types: the allowed types; by default operations and tensors.
      none_if_empty: whether to return None, instead of raising, if there are no elements.

    Raises:
      TypeError: an element is of another type. ValueError: there are several graphs, or no elements.
    """
    if isinstance(tops, Graph):
        return tops
    if not is_iterable(tops):
        raise TypeError(f"{type(tops)} is not iterable")
    # `check_types` may be one type or several.
    kinds = (Operation, Tensor) if check_types is None else tuple(check_types) if is_iterable(check_types) else (check_types,)
    graph = None
    for element in tops:
        if not isinstance(element, kinds):
            raise TypeError(f"Expected a type in ({', '.join(map(str, kinds))}), got: {type(element)}")
        if graph is None:
            graph = element.graph
        elif _outermost(graph) is not _outermost(element.graph):
            raise ValueError(f"Operation {element} does not belong to given graph")
    if graph is None and not none_if_empty:
        raise ValueError("Can't find the unique graph of an empty list")
    return graph


def _outermost(graph: Graph) -> Graph:
    while graph.outer_graph is not None:
        graph = graph.outer_graph
    return graph


@export("contrib.graph_editor.util.check_graphs")
def check_graphs(*args: Any) -> None:
    """Checks that all arguments have the same `graph`, ignoring those whose `graph` is None; raises ValueError otherwise."""
    graphs = [(i, a.graph) for i, a in enumerate(args) if a.graph is not None]
    for i, graph in graphs:
        if graph is not graphs[0][1]:
            raise ValueError(f"Argument[{i}]: Wrong graph!")


@export("contrib.graph_editor.make_list_of_t", "contrib.graph_editor.util.make_list_of_t")
def make_list_of_t(ts: object, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False) -> list[Tensor]:
    """Returns a list of tensors.

    Args:
      ts: a graph (all its tensors are listed), an iterable of tensors, or one tensor.
      check_graph: whether to check that all elements are tensors of one graph.
      allow_graph: whether `ts` may be a graph.
      ignore_ops: whether to skip operations, instead of raising.

    Raises:
      TypeError: an element is of another type, or `ts` is a graph and may not be one. ValueError: there are several graphs.
    """
    return _listed(ts, Tensor, get_tensors, check_graph, allow_graph, ignore_ops)


def make_list_of_op(tops: object, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False) -> list[Operation]:
    """Returns a list of operations; the arguments are those of `make_list_of_t`, with the two kinds exchanged."""
    return _listed(tops, Operation, Graph.get_operations, check_graph, allow_graph, ignore_ts)


def _listed(
    value: object, kind: type[T], of_graph: Callable[[Graph], list[T]], check_graph: bool, allow_graph: bool, ignore_others: bool
) -> list[T]:
    if isinstance(value, Graph):
        if not allow_graph:
            raise TypeError("allow_graph is False: cannot convert a tf.Graph.")
        return of_graph(value)
    elements = list(value) if is_iterable(value) else [value]
    # The check of the graph checks the types too; without it, elements of other types are dropped silently, as in 1.15.
    if elements and check_graph:
        get_unique_graph(elements, check_types=None if ignore_others else kind)
    return [e for e in elements if isinstance(e, kind)]


@export("contrib.graph_editor.get_generating_ops", "contrib.graph_editor.util.get_generating_ops")
def get_generating_ops(ts: object) -> list[Operation]:
    """Returns the operation that computes each tensor, one per tensor."""
    return [t.op for t in make_list_of_t(ts, allow_graph=False)]


@export("contrib.graph_editor.get_consuming_ops", "contrib.graph_editor.util.get_consuming_ops")
def get_consuming_ops(ts: object) -> list[Operation]:
    """Returns the operations that take any of the tensors, without duplicates."""
    return list(dict.fromkeys(op for t in make_list_of_t(ts, allow_graph=False) for op in t.consumers()))


@export("contrib.graph_editor.get_backward_walk_ops", "contrib.graph_editor.select.get_backward_walk_ops")
def get_backward_walk_ops(
    seed_ops: Any, inclusive: bool = True, within_ops: Any = None, within_ops_fn: Callable[[Operation], bool] | None = None,
    stop_at_ts: Iterable[Tensor] = (), control_inputs: bool = False, only_differentiable: bool = False,
) -> list[Operation]:  # fmt: skip
    """Returns the operations on which others depend, found by a breadth-first walk along inputs.

    Args:
      seed_ops: the operations to start from, or tensors, whose operations are used.
      inclusive: whether the seeds are part of the result.
      within_ops: the operations that may be visited; None for all.
      within_ops_fn: a function of an operation that returns whether it may be visited.
      stop_at_ts: tensors at which the walk stops.
      control_inputs: whether to follow control inputs too.
      only_differentiable: whether to follow only the inputs of operations with a gradient, and no control inputs.

    Raises:
      TypeError: a seed is neither an operation nor a tensor.
    """
    seeds = list(seed_ops) if is_iterable(seed_ops) else [seed_ops]
    if not seeds:
        return []
    seeds = get_generating_ops(seeds) if isinstance(seeds[0], Tensor) else make_list_of_op(seeds, allow_graph=False)
    within = set(make_list_of_op(within_ops, allow_graph=False)) if within_ops else None
    if within is not None:
        seeds = [op for op in seeds if op in within]
    # The walk keeps visiting order (a dict as an ordered set), which the result has too.
    stops = set(make_list_of_t(stop_at_ts))
    visited = dict.fromkeys(seeds)
    pending = list(visited)
    while pending:
        op = pending.pop(0)
        follow = not only_differentiable or is_differentiable(op)
        # An operation without a gradient is visited, but its inputs are not.
        sources = [t.op for t in op.inputs if t not in stops] if follow else []
        if control_inputs and not only_differentiable:
            sources += op.control_inputs
        for source in sources:
            allowed = (within is None or source in within) and (within_ops_fn is None or within_ops_fn(source))
            if allowed and source not in visited:
                visited[source] = None
                pending.append(source)
    return [op for op in visited if inclusive or op not in set(seeds)]


def is_differentiable(op: Operation) -> bool:
    """Returns whether an operation has a gradient."""
    return op._gradient_function is not None or not isinstance(op.spec.gradient, NotDifferentiable)
