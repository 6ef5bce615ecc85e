"""tensorflow.python.framework.graph_util_impl: which nodes of a GraphDef lead to others. Tests of TensorFlow ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.graph.graph_util import _node_name

if TYPE_CHECKING:
    from tfcompat._src.proto import messages


def _extract_graph_summary(graph_def: messages.GraphDef) -> tuple[dict[str, list[str]], dict[str, Any], dict[str, int]]:
    """Names of the inputs of each node and of the nodes that it is colocated with, the nodes by name, and their positions."""
    inputs: dict[str, list[str]] = {}
    for node in graph_def.node:
        places = [s.decode() for s in node.attr["_class"].list.s] if "_class" in node.attr else []
        colocated = [place.removeprefix("loc:@") for place in places if place.startswith("loc:@")]
        inputs[_node_name(node.name)] = [_node_name(source) for source in node.input] + colocated
    nodes = {_node_name(node.name): node for node in graph_def.node}
    return inputs, nodes, {name: position for position, name in enumerate(nodes)}


def _bfs_for_reachable_nodes(target_nodes: list[str], name_to_input_name: dict[str, list[str]]) -> set[str]:
    """The names of nodes that some nodes need, themselves included."""
    found: set[str] = set()
    pending = list(target_nodes)
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending.extend(name_to_input_name.get(name, ()))
    return found
