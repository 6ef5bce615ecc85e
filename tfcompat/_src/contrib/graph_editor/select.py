"""tf.contrib.graph_editor.select: operations and tensors chosen by name, by what they are connected to, or by a walk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.graph_editor.util import ControlOutputs, concatenate_unique, make_list_of_op
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.op_selector import get_backward_walk_ops, get_consuming_ops, is_iterable, make_list_of_t
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor

_OPS_ONLY, _TS_ONLY = "(?#ops)", "(?#ts)"


@export("contrib.graph_editor.can_be_regex", "contrib.graph_editor.select.can_be_regex")
def can_be_regex(obj: object) -> bool:
    """Whether an object is a string or a compiled regular expression."""
    return isinstance(obj, (str, re.Pattern))


@export("contrib.graph_editor.make_regex", "contrib.graph_editor.select.make_regex")
def make_regex(obj: Any) -> re.Pattern:
    """The compiled regular expression; ValueError where `obj` is none and no string."""
    if not can_be_regex(obj):
        raise ValueError(f"Expected a string or a regex, got: {type(obj)}")
    return re.compile(obj)


@export("contrib.graph_editor.filter_ts", "contrib.graph_editor.select.filter_ts")
def filter_ts(ops: Any, positive_filter: Any) -> list[Tensor]:
    """The tensors that go into or come out of operations.

    Args:
      ops: an operation, an iterable of them, or a graph.
      positive_filter: says of a tensor whether it stays; True: all do.

    Raises:
      TypeError: `ops` are no operations.
    """
    ops = make_list_of_op(ops)
    found = dict.fromkeys([*(t for op in ops for t in op.inputs), *(t for op in ops for t in op.outputs)])
    return [t for t in found if positive_filter is True or positive_filter(t)]


@export("contrib.graph_editor.filter_ts_from_regex", "contrib.graph_editor.select.filter_ts_from_regex")
def filter_ts_from_regex(ops: object, regex: object) -> list[Tensor]:
    """The tensors of `ops` whose name a regular expression is found in; see `filter_ts`."""
    pattern = make_regex(regex)
    return filter_ts(ops, lambda t: pattern.search(t.name))


@export("contrib.graph_editor.filter_ops", "contrib.graph_editor.select.filter_ops")
def filter_ops(ops: Any, positive_filter: Any) -> list[Operation]:
    """The operations that a function accepts.

    Args:
      ops: an operation, an iterable of them, or a graph.
      positive_filter: says of an operation whether it stays; True: all do.

    Raises:
      TypeError: `ops` are no operations.
    """
    return [op for op in make_list_of_op(ops) if positive_filter is True or positive_filter(op)]


@export("contrib.graph_editor.filter_ops_from_regex", "contrib.graph_editor.select.filter_ops_from_regex")
def filter_ops_from_regex(ops: object, regex: object) -> list[Operation]:
    """The operations of `ops` whose name a regular expression is found in; see `filter_ops`."""
    pattern = make_regex(regex)
    return filter_ops(ops, lambda op: pattern.search(op.name))


@export("contrib.graph_editor.get_name_scope_ops", "contrib.graph_editor.select.get_name_scope_ops")
def get_name_scope_ops(ops: object, scope: str) -> list[Operation]:
    """The operations of `ops` in a name scope, and the one of that name; "" means none with a "/" in front."""
    return filter_ops_from_regex(ops, f"^{scope.removesuffix('/')}(/.*)?$")


@export("contrib.graph_editor.check_cios", "contrib.graph_editor.select.check_cios")
def check_cios(
    control_inputs: bool = False, control_outputs: ControlOutputs | None = None, control_ios: ControlOutputs | None = None
) -> tuple[bool, ControlOutputs | None]:
    """Whether to follow control inputs, and the up-to-date control outputs to follow.

    Args:
      control_inputs: follows control inputs.
      control_outputs: the control outputs to follow, or None.
      control_ios: both: the same as True and these control outputs.

    Raises:
      TypeError: an argument is no ControlOutputs. ValueError: `control_ios` and `control_outputs` are both given.
    """
    for given in (control_ios, control_outputs):
        if given is not None and not isinstance(given, ControlOutputs):
            raise TypeError(f"Expected a util.ControlOutputs, got: {type(given)}")
    if control_ios is not None:
        if control_outputs is not None:
            raise ValueError("control_outputs should be None when using control_ios.")
        control_inputs, control_outputs = True, control_ios
    return control_inputs, None if control_outputs is None else control_outputs.update()


@export("contrib.graph_editor.get_ops_ios", "contrib.graph_editor.select.get_ops_ios")
def get_ops_ios(
    ops: object, control_inputs: bool = False, control_outputs: ControlOutputs | None = None,
    control_ios: ControlOutputs | None = None,
) -> list[Operation]:  # fmt: skip
    """The operations next to any of `ops`; the other arguments: see `check_cios`."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    found: list[Operation] = []
    for op in make_list_of_op(ops):
        found += [t.op for t in op.inputs]
        found += [consumer for t in op.outputs for consumer in t.consumers()]
        found += () if control_outputs is None else control_outputs.get(op)
        found += op.control_inputs if control_inputs else ()
    return list(dict.fromkeys(found))


@export("contrib.graph_editor.compute_boundary_ts", "contrib.graph_editor.select.compute_boundary_ts")
def compute_boundary_ts(ops: object) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """The tensors that come into a set of operations, that leave it, and that stay inside.

    A tensor with consumers inside and outside leaves the set and is inside too; one without consumers leaves it.
    """
    ops = make_list_of_op(ops)
    inputs = list(dict.fromkeys(t for op in ops for t in op.inputs))
    outputs = [t for op in ops for t in op.outputs]
    made, members = frozenset(outputs), frozenset(ops)
    inside = [t for t in inputs if t in made]
    hidden = {t for t in inside if members.issuperset(t.consumers())}
    return [t for t in inputs if t not in made], [t for t in outputs if t not in hidden], inside


@export("contrib.graph_editor.get_within_boundary_ops", "contrib.graph_editor.select.get_within_boundary_ops")
def get_within_boundary_ops(
    ops: object, seed_ops: object, boundary_ops: object = (), inclusive: bool = True, control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None, control_ios: ControlOutputs | None = None,
) -> list[Operation]:  # fmt: skip
    """The operations that are reached from seeds, in both directions, without crossing a boundary.

    Args:
      ops: the operations among which to look.
      seed_ops: where to begin.
      boundary_ops: the operations at which to stop.
      inclusive: whether those of the boundary that are reached are part of the result.
      control_inputs, control_outputs, control_ios: see `check_cios`.

    Raises:
      TypeError: an argument is no operations. ValueError: a seed is on the boundary.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    boundary = set(make_list_of_op(boundary_ops))
    found = set(make_list_of_op(seed_ops, allow_graph=False))
    if boundary & found:
        raise ValueError("Boundary is intersecting with the seeds.")
    wave = found
    while wave:
        reached = set(get_ops_ios(wave, control_inputs, control_outputs)) - found
        wave = reached - boundary
        found = found | (reached if inclusive else wave)
    return [op for op in make_list_of_op(ops) if op in found]


@export("contrib.graph_editor.get_forward_walk_ops", "contrib.graph_editor.select.get_forward_walk_ops")
def get_forward_walk_ops(
    seed_ops: object, inclusive: bool = True, within_ops: object = None, within_ops_fn: Callable | None = None,
    stop_at_ts: object = (), control_outputs: ControlOutputs | None = None,
) -> list[Operation]:  # fmt: skip
    """The operations that depend on others.

    Args:
      seed_ops: operations, or tensors whose consumers are meant.
      inclusive: whether the seeds are part of the result.
      within_ops: the operations that may be visited; None: all.
      within_ops_fn: says of an operation whether it may be visited.
      stop_at_ts: tensors that are not followed.
      control_outputs: the control outputs to follow too, or None.

    Raises:
      TypeError: a value that is no operation and no tensor.
    """
    _, control_outputs = check_cios(False, control_outputs)
    seeds = list(seed_ops) if is_iterable(seed_ops) else [seed_ops]
    if not seeds:
        return []
    seeds = get_consuming_ops(seeds) if isinstance(seeds[0], Tensor) else make_list_of_op(seeds, allow_graph=False)
    within = set(make_list_of_op(within_ops, allow_graph=False)) if within_ops else None
    seeds = [op for op in seeds if within is None or op in within]
    stops = set(make_list_of_t(stop_at_ts))
    found = dict.fromkeys(seeds)
    pending = list(found)
    for op in pending:
        reached = [consumer for t in op.outputs if t not in stops for consumer in t.consumers()]
        reached += () if control_outputs is None else control_outputs.get(op)
        for each in reached:
            allowed = (within is None or each in within) and (within_ops_fn is None or within_ops_fn(each))
            if allowed and each not in found:
                found[each] = None
                pending.append(each)
    return list(found) if inclusive else [op for op in found if op not in set(seeds)]


def _walks(
    forward_seed_ops: object, backward_seed_ops: object, forward_inclusive: bool, backward_inclusive: bool, within_ops: object,
    within_ops_fn: Callable | None, control_inputs: bool, control_outputs: Any, control_ios: Any,
) -> tuple[list[Operation], list[Operation]]:  # fmt: skip
    """What a forward and a backward walk visit."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    return (
        get_forward_walk_ops(forward_seed_ops, forward_inclusive, within_ops, within_ops_fn, (), control_outputs),
        get_backward_walk_ops(backward_seed_ops, backward_inclusive, within_ops, within_ops_fn, (), control_inputs),
    )


@export("contrib.graph_editor.get_walks_intersection_ops", "contrib.graph_editor.select.get_walks_intersection_ops")
def get_walks_intersection_ops(
    forward_seed_ops: object, backward_seed_ops: object, forward_inclusive: bool = True, backward_inclusive: bool = True,
    within_ops: object = None, within_ops_fn: Callable | None = None, control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None, control_ios: ControlOutputs | None = None,
) -> list[Operation]:  # fmt: skip
    """The operations that depend on some and that others depend on.

    Args:
      forward_seed_ops, forward_inclusive: see `get_forward_walk_ops`.
      backward_seed_ops, backward_inclusive: the same against the edges: tensors mean the operations that make them.
      within_ops, within_ops_fn: the operations that may be visited.
      control_inputs, control_outputs, control_ios: see `check_cios`.

    Raises:
      TypeError: a value that is no operation and no tensor.
    """
    forward, backward = _walks(
        forward_seed_ops, backward_seed_ops, forward_inclusive, backward_inclusive, within_ops, within_ops_fn,
        control_inputs, control_outputs, control_ios,
    )  # fmt: skip
    behind = set(backward)
    return [op for op in forward if op in behind]


@export("contrib.graph_editor.get_walks_union_ops", "contrib.graph_editor.select.get_walks_union_ops")
def get_walks_union_ops(
    forward_seed_ops: object, backward_seed_ops: object, forward_inclusive: bool = True, backward_inclusive: bool = True,
    within_ops: object = None, within_ops_fn: Callable | None = None, control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None, control_ios: ControlOutputs | None = None,
) -> list[Operation]:  # fmt: skip
    """The operations that depend on some, and those that others depend on; arguments of `get_walks_intersection_ops`."""
    forward, backward = _walks(
        forward_seed_ops, backward_seed_ops, forward_inclusive, backward_inclusive, within_ops, within_ops_fn,
        control_inputs, control_outputs, control_ios,
    )  # fmt: skip
    return concatenate_unique(forward, backward)


def _selected(
    args: Iterable[Any], kind: tuple[str, str], listed: Callable, filtered: Callable, graph: object = None,
    positive_filter: Callable | None = None, restricted: bool = False, **unknown: object,
) -> list[Any]:  # fmt: skip
    """What the arguments of `select_ops` or `select_ts` mean; `kind`: the marks of patterns for these and for the others."""
    if unknown:
        raise ValueError(f"Wrong keywords argument: {next(iter(unknown))}.")
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
    own, others = kind
    found: dict[Any, None] = {}
    for arg in args:
        if not can_be_regex(arg):
            elements = listed(arg)
        elif graph is None:
            raise ValueError("Use the keyword argument 'graph' to use regex.")
        else:
            pattern = make_regex(arg)
            skipped = pattern.pattern.startswith(others) or (restricted and not pattern.pattern.startswith(own))
            elements = () if skipped else filtered(graph, pattern)
        found.update((e, None) for e in elements if positive_filter is None or positive_filter(e))
    return list(found)


@export("contrib.graph_editor.select_ops", "contrib.graph_editor.select.select_ops")
def select_ops(*args: object, **kwargs: Any) -> list[Operation]:
    """The operations that are given or whose name is matched.

    Args:
      *args: operations, iterables of them (tensors are passed over), or regular expressions; those that begin with
        "(?#ts)" are about tensors.
      **kwargs: `graph`: where to look for names; `positive_filter`: says of an operation whether it stays;
        `restrict_ops_regex`: only expressions that begin with "(?#ops)" count.

    Raises:
      TypeError: an argument of another type. ValueError: an unknown keyword, or a regular expression without `graph`.
    """
    kwargs.pop("restrict_ts_regex", None)
    restricted = kwargs.pop("restrict_ops_regex", False)
    return _selected(
        args, (_OPS_ONLY, _TS_ONLY), lambda arg: make_list_of_op(arg, ignore_ts=True), filter_ops_from_regex,
        restricted=restricted, **kwargs,
    )  # fmt: skip


@export("contrib.graph_editor.select_ts", "contrib.graph_editor.select.select_ts")
def select_ts(*args: object, **kwargs: Any) -> list[Tensor]:
    """The tensors that are given or whose name is matched.

    Args:
      *args: tensors, iterables of them (operations are passed over), or regular expressions; those that begin with
        "(?#ops)" are about operations.
      **kwargs: `graph`: where to look for names; `positive_filter`: says of a tensor whether it stays;
        `restrict_ts_regex`: only expressions that begin with "(?#ts)" count.

    Raises:
      TypeError: an argument of another type. ValueError: an unknown keyword, or a regular expression without `graph`.
    """
    kwargs.pop("restrict_ops_regex", None)
    restricted = kwargs.pop("restrict_ts_regex", False)
    return _selected(
        args, (_TS_ONLY, _OPS_ONLY), lambda arg: make_list_of_t(arg, ignore_ops=True), filter_ts_from_regex,
        restricted=restricted, **kwargs,
    )  # fmt: skip


@export("contrib.graph_editor.select_ops_and_ts", "contrib.graph_editor.select.select_ops_and_ts")
def select_ops_and_ts(*args: object, **kwargs: object) -> tuple[list[Operation], list[Tensor]]:
    """The operations and the tensors that are given or whose name is matched: "(?#ts)" marks expressions about tensors."""
    return select_ops(*args, restrict_ops_regex=False, **kwargs), select_ts(*args, restrict_ts_regex=True, **kwargs)
