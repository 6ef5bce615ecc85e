"""tf.contrib.graph_editor.edit: views are cut out of their graph, connected and bypassed; the graph is changed in place."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.graph_editor.reroute import (
    remove_control_inputs,
    reroute_inputs,
    reroute_ts,
    swap_inputs,
    swap_outputs,
)
from tfcompat._src.contrib.graph_editor.select import check_cios
from tfcompat._src.contrib.graph_editor.subgraph import SubGraphView, make_view
from tfcompat._src.contrib.graph_editor.util import ControlOutputs, make_placeholder_from_tensor, placeholder_name
from tfcompat._src.graph.op_selector import check_graphs
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import placeholder


@export("contrib.graph_editor.detach_control_inputs", "contrib.graph_editor.edit.detach_control_inputs")
def detach_control_inputs(sgv: object) -> None:
    """Removes the control inputs of a view (or what `make_view` takes) that come from outside."""
    view = make_view(sgv)
    members = frozenset(view.ops)
    for op in view.ops:
        remove_control_inputs(op, [c for c in op.control_inputs if c not in members])


@export("contrib.graph_editor.detach_control_outputs", "contrib.graph_editor.edit.detach_control_outputs")
def detach_control_outputs(sgv: object, control_outputs: ControlOutputs) -> None:
    """Removes the control inputs outside a view that come from it.

    Args:
      sgv: a view, or what `make_view` takes.
      control_outputs: the control outputs of the graph; TypeError where they are none.
    """
    if not isinstance(control_outputs, ControlOutputs):
        raise TypeError(f"Expected a util.ControlOutputs, got: {type(control_outputs)}")
    control_outputs.update()
    view = make_view(sgv)
    members = frozenset(view.ops)
    for op in view.ops:
        for waiting in control_outputs.get(op):
            if waiting not in members:
                remove_control_inputs(waiting, op)


@export("contrib.graph_editor.detach_inputs", "contrib.graph_editor.edit.detach_inputs")
def detach_inputs(sgv: object, control_inputs: bool = False) -> tuple[SubGraphView, list[Tensor]]:
    """Puts placeholders, of any shape, in place of the inputs of a view.

    Args:
      sgv: a view (changed in place), or what `make_view` takes.
      control_inputs: removes the control inputs from outside too.

    Returns:
      The view, and the placeholders.
    """
    view = make_view(sgv)
    with view.graph.as_default():
        placeholders = [placeholder(t.dtype, name=placeholder_name(t)) for t in view.inputs]
    swap_inputs(view, placeholders)
    if control_inputs:
        detach_control_inputs(view)
    return view, placeholders


@export("contrib.graph_editor.detach_outputs", "contrib.graph_editor.edit.detach_outputs")
def detach_outputs(sgv: object, control_outputs: ControlOutputs | None = None) -> tuple[SubGraphView, list[Tensor]]:
    """Gives the consumers of a view's outputs placeholders in place of them.

    Args:
      sgv: a view, or what `make_view` takes.
      control_outputs: the control outputs of the graph, which are cut too; None: they stay.

    Returns:
      A view of the outputs that have consumers, and the placeholders.
    """
    view = make_view(sgv)
    view = view.remap_outputs([i for i, t in enumerate(view.outputs) if t.consumers()])
    consumers = SubGraphView(view.consumers())
    consumers = consumers.remap_inputs([i for i, t in enumerate(consumers.inputs) if t in set(view.outputs)])
    with view.graph.as_default():
        placeholders = [make_placeholder_from_tensor(t) for t in consumers.inputs]
    swap_outputs(view, placeholders)
    if control_outputs is not None:
        detach_control_outputs(view, control_outputs)
    return view, placeholders


@export("contrib.graph_editor.detach", "contrib.graph_editor.edit.detach")
def detach(
    sgv: Any, control_inputs: bool = False, control_outputs: ControlOutputs | None = None,
    control_ios: ControlOutputs | None = None,
) -> tuple[SubGraphView, list[Tensor], list[Tensor]]:  # fmt: skip
    """`detach_inputs` and `detach_outputs`; gives the view and both lists of placeholders.

    Args:
      sgv: a view (changed in place), or what `make_view` takes.
      control_inputs, control_outputs, control_ios: the control edges that are cut; see `check_cios`.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    _, inputs = detach_inputs(sgv, control_inputs)
    _, outputs = detach_outputs(sgv, control_outputs)
    return sgv, inputs, outputs


@export("contrib.graph_editor.connect", "contrib.graph_editor.edit.connect")
def connect(sgv0: object, sgv1: object, disconnect_first: bool = False) -> tuple[SubGraphView, SubGraphView]:
    """The outputs of one view become the inputs of another.

    Args:
      sgv0, sgv1: views (changed in place), or what `make_view` takes.
      disconnect_first: cuts the outputs of `sgv0` off what takes them now.

    Returns:
      The two views.

    Raises:
      ValueError: views of different graphs, or tensors whose number, dtypes or shapes do not fit.
    """
    view0, view1 = make_view(sgv0), make_view(sgv1)
    check_graphs(view0, view1)
    if disconnect_first:
        detach_outputs(view0)
    reroute_inputs(SubGraphView(passthrough_ts=view0.outputs), view1)
    return view0, view1


@export("contrib.graph_editor.bypass", "contrib.graph_editor.edit.bypass")
def bypass(sgv: object) -> tuple[SubGraphView, list[Tensor]]:
    """What takes the outputs of a view takes its inputs instead; the view gets placeholders.

    Args:
      sgv: a view (changed in place) with as many inputs as outputs, or what `make_view` takes.

    Returns:
      The view, and the placeholders.
    """
    view = make_view(sgv)
    inputs = list(view.inputs)
    view, placeholders = detach_inputs(view)
    reroute_ts(inputs, view.outputs)
    return view, placeholders
