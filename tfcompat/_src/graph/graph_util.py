"""tf.graph_util: subgraphs of GraphDefs, freezing of variables, and removal of training nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import tensor_proto
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages

VARIABLE_OPS = frozenset((
    "Assign", "AssignAdd", "AssignSub", "Queue", "ScatterAdd", "ScatterSub", "ScatterUpdate", "TruncatedNormal",
    "Variable", "VariableV2",
))  # fmt: skip
# Op type -> (the attribute that holds the dtype, the dtypes with a kernel only for the CPU in 1.15).
_ON_CPU = {
    "Const": ("dtype", (dtypes.string, dtypes.int32)),
    "DynamicStitch": ("T", (dtypes.int32,)),
    "ParallelDynamicStitch": ("T", (dtypes.int32,)),
    "Cast": ("SrcT", (dtypes.int32,)),
}
FORWARDS_HANDLE = frozenset(("Identity", "Switch", "Enter", "RefIdentity", "RefSwitch", "RefEnter", "Merge"))
"""Op types that forward a variable's handle or ref to their outputs."""


def _node_name(source: str) -> str:
    """Returns the node name in a NodeDef input ("^control", "node" or "node:1")."""
    return source.lstrip("^").partition(":")[0]


@export("graph_util.must_run_on_cpu")
def must_run_on_cpu(node: messages.NodeDef, pin_variables_on_cpu: bool = False) -> bool:
    """Returns whether 1.15 runs a node only on the CPU: constants of strings or int32, casts from and stitches of int32.

    Args:
      node: an Operation or a NodeDef message.
      pin_variables_on_cpu: whether variables and the ops that update them count too.

    Raises:
      AssertionError: `node` is neither.
    """
    if not isinstance(node, (Operation, messages.NodeDef)):
        raise AssertionError(f"node must be an Operation or a NodeDef, not {type(node)}")
    node = node.node_def if isinstance(node, Operation) else node
    if pin_variables_on_cpu and node.op in VARIABLE_OPS:
        return True
    key, kinds = _ON_CPU.get(node.op, ("", ()))
    return bool(key) and dtypes.as_dtype(node.attr[key].type) in kinds


@export("graph_util.tensor_shape_from_node_def_name")
def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> TensorShape:
    """Returns the static shape of a tensor by its name in a GraphDef, where ":0" may be omitted."""
    name = input_name if ":" in input_name else input_name + ":0"
    return graph.get_tensor_by_name(name).get_shape()


@export("graph_util.extract_sub_graph")
def extract_sub_graph(graph_def: messages.GraphDef, dest_nodes: list[str]) -> messages.GraphDef:
    """Returns the part of a GraphDef on which some nodes depend, these nodes included, in the original order.

    Args:
      graph_def: a GraphDef message.
      dest_nodes: names of the nodes.

    Raises:
      TypeError: an argument is of the wrong type. AssertionError: the graph has no node of such a name.
    """
    if not isinstance(graph_def, messages.GraphDef):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    nodes = {_node_name(n.name): n for n in graph_def.node}
    for name in dest_nodes:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    # Depth-first walk along data and control inputs.
    needed: set[str] = set()
    pending = [_node_name(n) for n in dest_nodes]
    while pending:
        name = pending.pop()
        if name not in needed:
            needed.add(name)
            pending.extend(_node_name(i) for i in nodes[name].input)
    subgraph = messages.GraphDef(versions=graph_def.versions, library=graph_def.library)
    subgraph.node.extend(n for n in graph_def.node if n.name in needed)
    return subgraph


@export("graph_util.convert_variables_to_constants")
def convert_variables_to_constants(
    sess: SessionLike, input_graph_def: messages.GraphDef, output_node_names: list[str],
    variable_names_whitelist: Iterable[str] | None = None, variable_names_blacklist: Iterable[str] | None = None,
) -> messages.GraphDef:  # fmt: skip
    """Returns the part of a GraphDef on which some nodes depend, with its variables replaced by constants.

    Args:
      sess: the session that holds the variables' values.
      input_graph_def: a GraphDef message.
      output_node_names: names of the nodes.
      variable_names_whitelist: names of the variables to replace; by default all.
      variable_names_blacklist: names of variables not to replace.

    Raises:
      errors.FailedPreconditionError: a variable has no value.
    """
    inference = extract_sub_graph(input_graph_def, output_node_names)
    nodes = {n.name: n for n in inference.node}
    # A resource variable is read through the read node that tf.Variable makes beside its handle.
    allowed = None if variable_names_whitelist is None else set(variable_names_whitelist)
    kept = set(variable_names_blacklist or ())
    reads = {}
    for node in inference.node:
        if node.op in ("Variable", "VariableV2", "VarHandleOp") and node.name not in kept:
            if allowed is None or node.name in allowed:
                reads[node.name] = node.name + (":0" if node.op != "VarHandleOp" else "/Read/ReadVariableOp:0")
    values = dict(zip(reads, sess.run(list(reads.values())))) if reads else {}
    logging.info("Froze %d variables.", len(values))
    found = messages.GraphDef(library=inference.library)
    for node in inference.node:
        add_frozen(found, node, nodes, values)
    logging.info("Converted %d variables to const ops.", len(values))
    return found


# ---- frozen nodes ----


def origin(name: str, nodes: dict[str, Any]) -> str:
    """Returns the name of the node that makes the handle `name`, following ops that forward handles."""
    node = nodes[_node_name(name)]
    while node.op in FORWARDS_HANDLE and node.input:
        node = nodes[_node_name(node.input[0])]
    return str(node.name)


def add_frozen(found: messages.GraphDef, node: messages.NodeDef, nodes: dict[str, Any], values: dict[str, Any]) -> None:
    """Adds the frozen form of `node` to the GraphDef `found`.

    A variable becomes a Const; ops that read a frozen variable become ops on the constant; other nodes are copied.
    """
    new = found.node.add()
    if node.name in values:
        new.name, new.op = node.name, "Const"
        new.attr["dtype"].CopyFrom(node.attr["dtype"])
        new.attr["value"].tensor.CopyFrom(tensor_proto.make_tensor_proto(values[node.name], node.attr["dtype"].type))
        return
    new.CopyFrom(node)
    source = origin(node.input[0], nodes) if node.input and not node.input[0].startswith("^") else None
    # Nodes that do not touch a frozen variable are copied unchanged.
    if source not in values:
        return
    # The input is now the variable's value, so ops that took a handle must be replaced, and those that forward it change dtype.
    kind = nodes[source].attr["dtype"]
    if node.op == "ReadVariableOp":
        new.Clear()
        new.name, new.op = node.name, "Identity"
        new.input.extend(node.input)
        new.attr["T"].CopyFrom(kind)
        if "_class" in node.attr:
            new.attr["_class"].CopyFrom(node.attr["_class"])
    elif node.op == "ResourceGather":
        _write_gather(found, new, node, kind)
    elif node.op in FORWARDS_HANDLE and node.attr["T"].type == dtypes.resource.as_datatype_enum:
        new.attr["T"].CopyFrom(kind)


def _write_gather(found: messages.GraphDef, new: messages.NodeDef, node: messages.NodeDef, kind: object) -> None:
    """Writes `new`, a Const with the axis 0, and a GatherV2 that replaces the ResourceGather `node`."""
    if "batch_dims" in node.attr and node.attr["batch_dims"].i != 0:
        raise ValueError("batch_dims != 0 is not supported by freeze_graph.")
    new.Clear()
    # GatherV2 takes its axis as an input, which ResourceGather lacks; the Const precedes it, under the name that 1.15 gives it.
    new.name, new.op = node.name + "/axis", "Const"
    new.attr["dtype"].type = dtypes.int32.as_datatype_enum
    new.attr["value"].tensor.CopyFrom(tensor_proto.make_tensor_proto(0, dtypes.int32))
    gather = found.node.add(name=node.name, op="GatherV2")
    gather.input.extend([*node.input[:2], new.name, *node.input[2:]])
    gather.attr["Tparams"].CopyFrom(kind)
    gather.attr["Tindices"].CopyFrom(node.attr["Tindices"])
    gather.attr["Taxis"].type = dtypes.int32.as_datatype_enum
    if "_class" in node.attr:
        gather.attr["_class"].CopyFrom(node.attr["_class"])


@export("graph_util.remove_training_nodes")
def remove_training_nodes(input_graph: messages.GraphDef, protected_nodes: list[str] | None = None) -> messages.GraphDef:
    """Returns a GraphDef without CheckNumerics nodes and Identity nodes; like 1.15's, it has no versions and no function library.

    An Identity with control inputs, or one that other nodes have as a control input, stays.

    Args:
      input_graph: a GraphDef message.
      protected_nodes: names of nodes to keep.
    """
    # 1.15 removes CheckNumerics together with the edges from it, and splices only Identity nodes out.
    protected = set(protected_nodes or ())
    removed = {n.name for n in input_graph.node if n.op == "CheckNumerics" and n.name not in protected}
    nodes = []
    for node in input_graph.node:
        if node.name not in removed:
            new = messages.NodeDef()
            new.CopyFrom(node)
            del new.input[:]
            new.input.extend(i for i in node.input if i.removeprefix("^") not in removed)
            nodes.append(new)
    # An Identity that is a control input cannot be spliced out: its edge would be lost.
    waited_for = {i[1:] for n in nodes for i in n.input if i.startswith("^")}
    spliced: dict[str, str] = {}
    for node in nodes:
        if node.op == "Identity" and node.name not in protected | waited_for and node.input:
            if not any(i.startswith("^") for i in node.input):
                spliced[node.name] = node.input[0]
    pruned = messages.GraphDef()
    for node in nodes:
        if node.name in spliced:
            continue
        sources = [_past(i, spliced) for i in node.input]
        del node.input[:]
        node.input.extend(sources)
        pruned.node.append(node)
    return pruned


def _past(source: str, spliced: dict[str, str]) -> str:
    """Returns the input that replaces `source` after the spliced nodes are gone."""
    while re.sub(r"^\^", "", source) in spliced:
        source = spliced[source.removeprefix("^")]
    return source
