"""tf.contrib.framework on graphs: a part of a GraphDef as one node, and the placeholders of a graph."""

from __future__ import annotations

import collections
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.graph_util import _node_name
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages


@export("contrib.framework.fuse_op")
def fuse_op(
    graph_def: object, input_nodes: list[str], output_nodes: list[str], output_dtypes: list[int], output_quantized: bool, op_name: str,
    op_type: str,
) -> Any:  # fmt: skip
    """A GraphDef with one node in place of those between some nodes and others.

    Args:
      graph_def: a GraphDef message.
      input_nodes: names of the nodes that the new node takes. output_nodes: names of nodes with one input, which take its outputs.
      output_dtypes: DataType numbers of the outputs. output_quantized: whether they are quantized.
      op_name: the name of the node. op_type: its type.

    Raises:
      TypeError: an argument is of the wrong type, or a node between takes one that is not in `input_nodes`.
      AssertionError: there is no node of such a name.
    """
    if not isinstance(graph_def, messages.GraphDef):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    if isinstance(input_nodes, str):
        raise TypeError("input_nodes must be a list.")
    if isinstance(output_nodes, str):
        raise TypeError("output_nodes must be a list.")
    nodes = {_node_name(node.name): node for node in graph_def.node}
    for name in (*input_nodes, *output_nodes):
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    before = _reachable(input_nodes, nodes)
    needed = _reachable(output_nodes, nodes)
    between = needed - before - set(output_nodes)
    for name in between:
        outside = (_reachable([name], nodes, stop=set(input_nodes)) & before) - set(input_nodes)
        if outside:
            raise TypeError(f"Node {name} uses input {sorted(outside)[0]} not in input_nodes.")
    fused = messages.NodeDef(name=op_name, op=op_type, input=input_nodes)
    fused.attr["_output_types"].list.type.extend(output_dtypes)
    fused.attr["_output_quantized"].b = output_quantized
    found = messages.GraphDef(library=graph_def.library, versions=graph_def.versions)
    found.node.extend(node for node in graph_def.node if _node_name(node.name) in before)
    found.node.append(fused)
    for index, name in enumerate(output_nodes):
        if len(nodes[name].input) != 1:
            raise AssertionError(f"output node {name} has {len(nodes[name].input)} inputs, not one")
        output = found.node.add()
        output.CopyFrom(nodes[name])
        output.input[0] = f"{op_name}:{index}" if index else op_name
    found.node.extend(node for node in graph_def.node if _node_name(node.name) not in before | needed)
    return found


def _reachable(targets: list[str], nodes: dict[str, Any], stop: Any = ()) -> set[str]:
    """The nodes that some nodes need, themselves included; what those in `stop` need does not count."""
    found: set[str] = set()
    pending = collections.deque(targets)
    while pending:
        name = pending.popleft()
        if name not in found:
            found.add(name)
            if name not in stop:
                pending.extend(_node_name(source) for source in nodes[name].input)
    return found


@export("contrib.framework.get_placeholders")
def get_placeholders(graph: Graph) -> list[Tensor]:
    """The outputs of all Placeholder nodes; TypeError where `graph` is none."""
    if not isinstance(graph, Graph):
        raise TypeError(f"Input graph needs to be a Graph: {graph}")
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
