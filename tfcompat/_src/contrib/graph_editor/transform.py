"""tf.contrib.graph_editor.transform: copies of a part of a graph, in the same graph or another one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.graph_editor import util
from tfcompat._src.contrib.graph_editor.reroute import add_control_inputs
from tfcompat._src.contrib.graph_editor.select import get_walks_intersection_ops
from tfcompat._src.contrib.graph_editor.subgraph import SubGraphView, make_view
from tfcompat._src.graph import attr_values
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.op_selector import get_unique_graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.function_body import spec_of
from tfcompat._src.ops.control.loop_ops import ENTER


@export(
    "contrib.graph_editor.replace_t_with_placeholder_handler",
    "contrib.graph_editor.transform.replace_t_with_placeholder_handler",
)
def replace_t_with_placeholder_handler(info: Any, t: Tensor) -> Tensor:
    """A placeholder for `t` in the new graph and scope of `info`."""
    with info.graph_.as_default():
        return util.make_placeholder_from_tensor(t, scope=info.scope_)


@export(
    "contrib.graph_editor.keep_t_if_possible_handler", "contrib.graph_editor.transform.keep_t_if_possible_handler"
)
def keep_t_if_possible_handler(info: Any, t: Tensor) -> Tensor:
    """`t` itself within one graph, a placeholder for it in another."""
    return t if info.graph is info.graph_ else replace_t_with_placeholder_handler(info, t)


@export(
    "contrib.graph_editor.assign_renamed_collections_handler",
    "contrib.graph_editor.transform.assign_renamed_collections_handler",
)
def assign_renamed_collections_handler(info: Any, elem: object, elem_: Any) -> None:
    """Adds the copy `elem_` to the collections of `elem`; those that tf.GraphKeys does not name are moved to the new scope."""
    for name, collection in info.collections.items():
        if any(elem is member for member in collection):
            known = name in util.get_predefined_collection_names()
            info.graph_.add_to_collection(name if known else info.new_name(name), elem_)


@export(
    "contrib.graph_editor.transform_op_if_inside_handler",
    "contrib.graph_editor.transform.transform_op_if_inside_handler",
)
def transform_op_if_inside_handler(info: Any, op: Operation, keep_if_possible: bool = True) -> Operation | None:
    """The copy of an operation; of one that is not copied itself within one graph, else None.

    Args:
      info: what is copied.
      op: the operation.
      keep_if_possible: False: None for every operation that is not copied.
    """
    if op in info.ops:
        return info.transformed_ops[op]
    return op if keep_if_possible and info.graph is info.graph_ else None


@export("contrib.graph_editor.copy_op_handler", "contrib.graph_editor.transform.copy_op_handler")
def copy_op_handler(
    info: Any, op: Operation, new_inputs: Any, copy_shape: bool = False, nodedef_fn: Callable | None = None
) -> tuple[Operation, list[Tensor]]:
    """A copy of an operation with other inputs.

    Args:
      info: what is copied.
      op: the operation.
      new_inputs: the inputs of the copy.
      copy_shape: the outputs of the copy have the shapes of the original.
      nodedef_fn: changes the NodeDef of the copy, and returns it.

    Returns:
      The copy, and its outputs.

    Raises:
      TypeError: `new_inputs` is a bool.
    """
    if isinstance(new_inputs, bool):
        raise TypeError("the `new_inputs` argument must be an iterable.")
    name, attrs, device = info.graph_.unique_name(info.new_name(op.name)), dict(op.attrs), op.device
    if nodedef_fn is not None:
        node = op.node_def
        node.name = name
        node = nodedef_fn(node)
        name, device = node.name, node.device
        attrs = {key: attr_values.from_proto(value) for key, value in node.attr.items()}
    copied = info.graph_.make_op(spec_of(op), name, list(new_inputs), attrs, [t.dtype for t in op.outputs])
    copied._device = device
    if copy_shape:
        for t, t_ in zip(op.outputs, copied.outputs):
            t_.set_shape(t.shape)
    return copied, copied.outputs


class Copying:
    """What handlers are told of a copy that is being made: originals, and (names with "_" at the end) copies.

    Attributes: `sgv` the view, `ops` its operations, `graph` and `graph_`, `scope` and `scope_`, `transformed_ops` and
    `transformed_ts` from originals to copies, `collections` of the graph, `control_outputs` of it.
    """

    def __init__(self, sgv: SubGraphView, dst_graph: Graph, dst_scope: str, src_scope: str) -> None:
        self.sgv, self.graph, self.graph_ = sgv, sgv.graph, dst_graph
        self.scope, self.scope_ = src_scope, dst_scope
        self.sgv_inputs_set, self.ops = frozenset(sgv.inputs), frozenset(sgv.ops)
        self.control_outputs = util.ControlOutputs(self.graph)
        self.transformed_ops: dict[Operation, Operation] = {}
        self.transformed_ts: dict[Tensor, Tensor] = {}
        self.collections = {key: self.graph.get_collection(key) for key in self.graph.get_all_collection_keys()}
        self.open_edges: list[tuple[Operation, int]] = []
        """Inputs of originals whose copies have another tensor until the right one is made."""

    def new_name(self, name: str) -> str:
        """The name of a copy; ValueError where the original is not in the source scope."""
        if not name.startswith(self.scope):
            raise ValueError(f"{name} does not belong to source scope: {self.scope}.")
        return self.scope_ + name[len(self.scope) :]


@export("contrib.graph_editor.TransformerInfo", "contrib.graph_editor.transform.TransformerInfo")
class TransformerInfo:
    """Which copy belongs to which original.

    Args:
      info: what handlers are told while a copy is made.
    """

    def __init__(self, info: Copying) -> None:
        self._graph, self._graph_ = info.graph, info.graph_
        self._scope, self._scope_ = info.scope, info.scope_
        self._transformed_ops, self._transformed_ts = info.transformed_ops, info.transformed_ts

    def _pairs(self, element: object) -> dict:
        if isinstance(element, Operation):
            return self._transformed_ops
        if isinstance(element, Tensor):
            return self._transformed_ts
        raise TypeError(f"Expected a tf.Tensor or a tf.Operation, got a {type(element)}")

    def _transformed_elem(self, original_top: object, missing_fn: Callable | None = None) -> Any:
        pairs = self._pairs(original_top)
        if original_top in pairs:
            return pairs[original_top]
        return None if missing_fn is None else missing_fn(original_top)

    def _original_elem(self, transformed_top: object, missing_fn: Callable | None = None) -> Any:
        for original, copied in self._pairs(transformed_top).items():
            if copied is transformed_top:
                return original
        return None if missing_fn is None else missing_fn(transformed_top)

    def transformed(self, original: object, missing_fn: Callable | None = None) -> Any:
        """The copies of nested operations and tensors.

        Args:
          original: an operation, a tensor, or nested iterables of them.
          missing_fn: gives what stands for an element that was not copied; by default None does.

        Raises:
          TypeError: an element of another type.
        """
        return util.transform_tree(original, partial(self._transformed_elem, missing_fn=missing_fn))

    def original(self, transformed: object, missing_fn: Callable | None = None) -> Any:
        """The originals of nested copies; arguments as those of `transformed`."""
        return util.transform_tree(transformed, partial(self._original_elem, missing_fn=missing_fn))

    def __str__(self) -> str:
        here, there = id(self._graph), id(self._graph_)
        lines = ["Transform result info:"]
        if here == there:
            lines.append(f"  Within graph[{here}]{'' if self._scope_ else ' IN-PLACE'}")
        else:
            lines.append(f"  graph[{here}] => graph[{there}]")
        lines += [f"  Relative to source scope: {self._scope}"] if self._scope else []
        lines += [f"  Scope destination: {self._scope_}"] if self._scope_ else []
        lines.append("Operations mapping:")
        lines += [f"  {op.name} => {op_.name}" for op, op_ in self._transformed_ops.items()]
        return "\n".join(lines) + "\n"


@export("contrib.graph_editor.Transformer", "contrib.graph_editor.transform.Transformer")
class Transformer:
    """Copies views; what becomes of each part is said by handlers, which can be replaced.

    Attributes:
      transform_op_handler: `(info, op, new_inputs) -> (copy, outputs of it)`; by default `copy_op_handler`.
      assign_collections_handler: `(info, element, copy)` adds a copy to collections.
      transform_control_input_handler: `(info, op)` gives the control input of a copy, or None.
      transform_external_input_handler: `(info, tensor)` gives what stands for an input; by default a placeholder.
      transform_external_hidden_input_handler: the same for inputs that the view leaves out; by default the tensor itself
        within one graph.
      transform_original_op_handler: `(info, op)` gives the operation that a copy was made for, or None.
    """

    def __init__(self) -> None:
        self.transform_op_handler = copy_op_handler
        self.transform_control_input_handler = transform_op_if_inside_handler
        self.assign_collections_handler = assign_renamed_collections_handler
        self.transform_external_input_handler = replace_t_with_placeholder_handler
        self.transform_external_hidden_input_handler = keep_t_if_possible_handler
        self.transform_original_op_handler = transform_op_if_inside_handler

    def __call__(
        self, sgv: object, dst_graph: Graph, dst_scope: str, src_scope: str = "", reuse_dst_scope: bool = False
    ) -> tuple[SubGraphView, TransformerInfo]:
        """Copies a view.

        Args:
          sgv: a view, or what `make_view` takes.
          dst_graph: the graph of the copy.
          dst_scope: the scope of the copy.
          src_scope: the scope of the originals that `dst_scope` stands for.
          reuse_dst_scope: the scope may be in use; by default it then gets a number.

        Returns:
          A view of the copy, and which copy belongs to which original.

        Raises:
          TypeError: `dst_graph` is no graph. ValueError: an operation is not in `src_scope`.
        """
        view = make_view(sgv)
        if not isinstance(dst_graph, Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(dst_graph)}")
        dst_scope = util.scope_finalize(dst_scope)
        if dst_scope and not reuse_dst_scope:
            dst_scope = util.scope_finalize(dst_graph.unique_name(dst_scope[:-1]))
        info = Copying(view, dst_graph, dst_scope, util.scope_finalize(src_scope))
        for op in sorted(view.ops, key=lambda each: each._id):
            self._copy(info, op)
        for op, index in info.open_edges:
            info.transformed_ops[op]._update_input(index, info.transformed_ts[op.inputs[index]])
        for op in view.ops:
            self._connect(info, op)
        return self._view_of_copy(info), TransformerInfo(info)

    def _copy(self, info: Copying, op: Operation) -> None:
        inputs = [self._transformed_t(info, t, op, i) for i, t in enumerate(op.inputs)]
        copied, outputs = self.transform_op_handler(info, op, inputs)
        if copied is op:
            raise ValueError("In-place transformation not allowed.")
        info.transformed_ops[op] = copied
        self.assign_collections_handler(info, op, copied)
        for t, t_ in zip(op.outputs, outputs):
            info.transformed_ts[t] = t_
            self.assign_collections_handler(info, t, t_)

    def _connect(self, info: Copying, op: Operation) -> None:
        """Gives a copy its control inputs, and the operation it was made for."""
        copied = info.transformed_ops[op]
        if op._original_op is not None:
            copied._original_op = self.transform_original_op_handler(info, op._original_op) or op._original_op
        controls = [self.transform_control_input_handler(info, c) for c in op.control_inputs]
        add_control_inputs(copied, [c for c in controls if c is not None and c not in copied.control_inputs])

    def _transformed_t(self, info: Copying, t: Tensor, consumer: Operation, index: int) -> Tensor:
        """What stands for the input of a consumer in its copy; for what closes a loop, another tensor at first."""
        if t in info.transformed_ts:
            return info.transformed_ts[t]
        if t in info.sgv_inputs_set:
            return self.transform_external_input_handler(info, t)
        if t.op not in info.ops:
            return self.transform_external_hidden_input_handler(info, t)
        info.open_edges.append((consumer, index))
        if consumer.type == "Merge":
            return self._transformed_t(info, consumer.inputs[0], consumer, 0)
        if t.op.type in ENTER:
            return self._transformed_t(info, t.op.inputs[0], consumer, index)
        with info.graph_.as_default():
            return util.make_placeholder_from_tensor(t, scope=info.scope_, prefix="geph_tmp")

    @staticmethod
    def _view_of_copy(info: Copying) -> SubGraphView:
        """The view of the copies, with inputs and outputs in the order of the originals."""
        view = SubGraphView(list(info.transformed_ops.values()))
        inputs = [info.transformed_ts.get(t) for t in info.sgv.inputs]
        outputs = [info.transformed_ts.get(t) for t in info.sgv.outputs]
        return view.remap([t for t in inputs if t in set(view.inputs)], [t for t in outputs if t in set(view.outputs)])


@export("contrib.graph_editor.copy", "contrib.graph_editor.transform.copy")
def copy(
    sgv: object, dst_graph: Graph | None = None, dst_scope: str = "", src_scope: str = "", reuse_dst_scope: bool = False
) -> tuple[SubGraphView, TransformerInfo]:
    """Copies a view, with placeholders for its inputs.

    Args:
      sgv: a view, or what `make_view` takes.
      dst_graph: the graph of the copy; None: the same.
      dst_scope, src_scope, reuse_dst_scope: the names of the copies; see `Transformer.__call__`.

    Returns:
      A view of the copy, and which copy belongs to which original.

    Raises:
      TypeError: `dst_graph` is no graph.
    """
    view = make_view(sgv)
    return Transformer()(view, view.graph if dst_graph is None else dst_graph, dst_scope, src_scope, reuse_dst_scope)


@export(
    "contrib.graph_editor.copy_with_input_replacements", "contrib.graph_editor.transform.copy_with_input_replacements"
)
def copy_with_input_replacements(
    sgv: object, replacement_ts: dict[Tensor, Tensor], dst_graph: Graph | None = None, dst_scope: str = "",
    src_scope: str = "", reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:  # fmt: skip
    """Copies a view, with other tensors for some inputs.

    Args:
      sgv: a view, or what `make_view` takes.
      replacement_ts: what stands for inputs of the view; the others stay, or become placeholders in another graph.
      dst_graph, dst_scope, src_scope, reuse_dst_scope: see `copy`.

    Returns:
      A view of the copy, and which copy belongs to which original.

    Raises:
      TypeError: `dst_graph` is no graph.
    """
    view = make_view(sgv)
    copier = Transformer()
    copier.transform_external_input_handler = lambda info, t: (
        replacement_ts[t] if t in replacement_ts else keep_t_if_possible_handler(info, t)
    )
    return copier(view, view.graph if dst_graph is None else dst_graph, dst_scope, src_scope, reuse_dst_scope)


def _with_whole_loops(ops: list[Operation], control_ios: util.ControlOutputs) -> list[Operation]:
    """The operations, and the rest of each loop that one of them is in."""
    contexts = dict.fromkeys(op._control_flow_context for op in ops)
    loops = [c for c in contexts if c is not None and c.IsWhileContext()]
    found = dict.fromkeys(ops)
    for loop in loops:
        entering, leaving = [t.op for t in loop.loop_enters], [t.op for t in loop.loop_exits]
        found.update(dict.fromkeys(get_walks_intersection_ops(entering, leaving, control_ios=control_ios)))
    return list(found)


@export("contrib.graph_editor.graph_replace", "contrib.graph_editor.transform.graph_replace")
def graph_replace(
    target_ts: object, replacement_ts: dict[Tensor, Tensor], dst_scope: str = "", src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:  # fmt: skip
    """Tensors computed anew from others: what depends on a replaced tensor is copied.

    Args:
      target_ts: a tensor, or nested iterables of tensors.
      replacement_ts: what stands for tensors that the targets depend on.
      dst_scope, src_scope, reuse_dst_scope: the names of the copies; see `copy`.

    Returns:
      For each target its copy, or the target itself where it depends on no replaced tensor.

    Raises:
      ValueError: no target depends on a replaced tensor.
    """
    targets = util.flatten_tree(target_ts)
    control_ios = util.ControlOutputs(get_unique_graph(targets, check_types=Tensor))
    ops = get_walks_intersection_ops(list(replacement_ts), targets, control_ios=control_ios)
    if not ops:
        raise ValueError("Targets and replacements are not connected!")
    ops = _with_whole_loops(ops, control_ios)
    _, info = copy_with_input_replacements(ops, replacement_ts, None, dst_scope, src_scope, reuse_dst_scope)
    return info.transformed(target_ts, missing_fn=lambda t: t)
