"""Internal names of `tensorflow.python.framework.graph_util_impl`: reachability in a GraphDef, which TensorFlow's tests call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.graph.graph_util import _node_name

if TYPE_CHECKING:
    from tfcompat._src.proto import messages


def _extract_graph_summary(graph_def: messages.GraphDef) -> tuple[dict[str, list[str]], dict[str, Any], dict[str, int]]:
    """Indexes a GraphDef by node name.

    Returns:
      three dicts: the inputs of each node and the nodes that it is colocated with; the NodeDefs; the positions of the nodes.
    """
    # Colocation counts as an input: a subgraph needs the node whose device it shares.
    inputs: dict[str, list[str]] = {}
    for node in graph_def.node:
        groups = [s.decode() for s in node.attr["_class"].list.s] if "_class" in node.attr else []
        colocated = [group.removeprefix("loc:@") for group in groups if group.startswith("loc:@")]
        inputs[_node_name(node.name)] = [_node_name(source) for source in node.input] + colocated
    nodes = {_node_name(node.name): node for node in graph_def.node}
    return inputs, nodes, {name: position for position, name in enumerate(nodes)}


def _bfs_for_reachable_nodes(target_nodes: list[str], name_to_input_name: dict[str, list[str]]) -> set[str]:
    """Returns the names of the nodes that `target_nodes` depend on, including themselves."""
    reached: set[str] = set()
    pending = list(target_nodes)
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending.extend(name_to_input_name.get(name, ()))
    return reached
