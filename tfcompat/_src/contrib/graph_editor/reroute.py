"""tf.contrib.graph_editor.reroute: consumers of tensors are given others; the graph is changed in place."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.contrib.graph_editor.subgraph import SubGraphView, make_view
from tfcompat._src.contrib.graph_editor.util import make_list_of_op
from tfcompat._src.graph.op_selector import check_graphs, get_consuming_ops, make_list_of_t
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor


def _check_compatible(ts0: list[Tensor], ts1: list[Tensor]) -> None:
    """ValueError where two lists differ in length, or tensors in dtype or shape."""
    if len(ts0) != len(ts1):
        raise ValueError(f"ts0 and ts1 have different sizes: {len(ts0)} != {len(ts1)}")
    for t0, t1 in zip(ts0, ts1):
        if not t0.dtype.is_compatible_with(t1.dtype):
            raise ValueError(f"Dtypes {t0.dtype} and {t1.dtype} are not compatible.")
        if not t0.shape.is_compatible_with(t1.shape):
            raise ValueError(f"Shapes {t0.shape} and {t1.shape} are not compatible.")


def _reroute_ts(ts0: object, ts1: object, swap: bool, can_modify: object = None, cannot_modify: object = None) -> int:
    """Gives the consumers of `ts1` the tensors `ts0` and, to swap, those of `ts0` the tensors `ts1`; how many inputs changed."""
    ts0, ts1 = make_list_of_t(ts0), make_list_of_t(ts1)
    _check_compatible(ts0, ts1)
    allowed = None if can_modify is None else frozenset(make_list_of_op(can_modify))
    forbidden = frozenset(() if cannot_modify is None else make_list_of_op(cannot_modify))

    def uses(t: Tensor) -> list[tuple[Operation, int]]:
        free = [op for op in t.consumers() if op not in forbidden and (allowed is None or op in allowed)]
        return [(op, i) for op in free for i, source in enumerate(op.inputs) if source is t]

    pairs = [(t0, t1) for t0, t1 in zip(ts0, ts1) if t0 is not t1]
    changes = [(t0, uses(t1)) for t0, t1 in pairs]
    changes += [(t1, uses(t0)) for t0, t1 in pairs] if swap else []
    for t, places in changes:
        for op, i in places:
            op._update_input(i, t)
    return sum(len(places) for _, places in changes)


@export("contrib.graph_editor.swap_ts", "contrib.graph_editor.reroute.swap_ts")
def swap_ts(ts0: object, ts1: object, can_modify: object = None, cannot_modify: object = None) -> int:
    """Swaps the consumers of each pair of tensors.

    Args:
      ts0, ts1: tensors, or iterables of as many.
      can_modify: the operations that may be changed; None: all.
      cannot_modify: operations that may not be changed.

    Returns:
      How many inputs of operations changed.

    Raises:
      TypeError: an argument of another type. ValueError: tensors whose dtypes or shapes do not fit.
    """
    return _reroute_ts(ts0, ts1, True, can_modify, cannot_modify)


@export("contrib.graph_editor.reroute_ts", "contrib.graph_editor.reroute.reroute_ts")
def reroute_ts(ts0: object, ts1: object, can_modify: object = None, cannot_modify: object = None) -> int:
    """Gives the consumers of each tensor of `ts1` the one of `ts0`; arguments and result are those of `swap_ts`."""
    return _reroute_ts(ts0, ts1, False, can_modify, cannot_modify)


def _follow_passing(source: SubGraphView, view: SubGraphView) -> None:
    """The outputs of `view` that went through `source` are what `view` has in place of these inputs."""
    for i, t in enumerate(view._output_ts):
        if t in source._passthrough_ts:
            view._output_ts[i] = view._input_ts[source._input_ts.index(t)]


def _reroute_inputs(sgv0: object, sgv1: object, swap: bool) -> tuple[SubGraphView, SubGraphView]:
    view0, view1 = make_view(sgv0), make_view(sgv1)
    check_graphs(view0, view1)
    passing = [*view0.passthroughs, *view1.passthroughs]
    _reroute_ts(view0.inputs, view1.inputs, swap, can_modify=[*view0.ops, *view1.ops, *get_consuming_ops(passing)])
    inputs0, passing0 = list(view0._input_ts), list(view0._passthrough_ts)
    if swap:
        view0._input_ts, view0._passthrough_ts = list(view1._input_ts), list(view1._passthrough_ts)
    view1._input_ts, view1._passthrough_ts = inputs0, passing0
    _follow_passing(view0, view1)
    if swap:
        _follow_passing(view1, view0)
    return view0, view1


def _reroute_outputs(sgv0: object, sgv1: object, swap: bool) -> tuple[SubGraphView, SubGraphView]:
    view0, view1 = make_view(sgv0), make_view(sgv1)
    check_graphs(view0, view1)
    _reroute_ts(view0.outputs, view1.outputs, swap, cannot_modify=[*view0.ops, *view1.ops])
    return view0, view1


@export("contrib.graph_editor.swap_inputs", "contrib.graph_editor.reroute.swap_inputs")
def swap_inputs(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Swaps the inputs of two views; arguments and result are those of `reroute_inputs`."""
    return _reroute_inputs(sgv0, sgv1, True)


@export("contrib.graph_editor.reroute_inputs", "contrib.graph_editor.reroute.reroute_inputs")
def reroute_inputs(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """The second view takes the inputs of the first.

    Args:
      sgv0, sgv1: views (changed in place), or what `make_view` takes.

    Returns:
      The two views.

    Raises:
      ValueError: views of different graphs, or tensors whose number, dtypes or shapes do not fit.
    """
    return _reroute_inputs(sgv0, sgv1, False)


@export("contrib.graph_editor.swap_outputs", "contrib.graph_editor.reroute.swap_outputs")
def swap_outputs(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """Swaps what consumes the outputs of two views; arguments and result are those of `reroute_inputs`."""
    return _reroute_outputs(sgv0, sgv1, True)


@export("contrib.graph_editor.reroute_outputs", "contrib.graph_editor.reroute.reroute_outputs")
def reroute_outputs(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """What takes the outputs of the second view takes those of the first; arguments and result: see `reroute_inputs`."""
    return _reroute_outputs(sgv0, sgv1, False)


@export("contrib.graph_editor.swap_ios", "contrib.graph_editor.reroute.swap_ios")
def swap_ios(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """`swap_outputs`, then `swap_inputs`."""
    return _reroute_inputs(*_reroute_outputs(sgv0, sgv1, True), True)


@export("contrib.graph_editor.reroute_ios", "contrib.graph_editor.reroute.reroute_ios")
def reroute_ios(sgv0: object, sgv1: object) -> tuple[SubGraphView, SubGraphView]:
    """`reroute_outputs`, then `reroute_inputs`."""
    return _reroute_inputs(*_reroute_outputs(sgv0, sgv1, False), False)


def _control_operations(op: Operation, cops: object) -> list[Operation]:
    if not isinstance(op, Operation):
        raise TypeError(f"Expected a tf.Operation, got: {type(op)}")
    return make_list_of_op(cops, allow_graph=False)


@export("contrib.graph_editor.remove_control_inputs", "contrib.graph_editor.reroute.remove_control_inputs")
def remove_control_inputs(op: Operation, cops: object) -> None:
    """Removes control inputs of an operation.

    Args:
      op: the operation.
      cops: one of its control inputs, or an iterable of them.

    Raises:
      TypeError: an argument is no operation. ValueError: one of `cops` is no control input of `op`.
    """
    removed = _control_operations(op, cops)
    for each in removed:
        if each not in op.control_inputs:
            raise ValueError(f"{each.name} is not a control_input of {op.name}")
    kept = [c for c in op.control_inputs if c not in removed]
    op._remove_all_control_inputs()
    op._add_control_inputs(kept)


@export("contrib.graph_editor.add_control_inputs", "contrib.graph_editor.reroute.add_control_inputs")
def add_control_inputs(op: Operation, cops: object) -> None:
    """Adds control inputs to an operation.

    Args:
      op: the operation.
      cops: an operation, or an iterable of them.

    Raises:
      TypeError: an argument is no operation. ValueError: one of `cops` is a control input of `op` already.
    """
    added = _control_operations(op, cops)
    for each in added:
        if each in op.control_inputs:
            raise ValueError(f"{each.name} is already a control_input of {op.name}")
    op._add_control_inputs(added)
