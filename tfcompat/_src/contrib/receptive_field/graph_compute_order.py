"""The order in which the nodes of a GraphDef are computed, and the sizes of feature maps on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base.export import export
from tfcompat._src.contrib.receptive_field.parse_layer_parameters import Window, windows

if TYPE_CHECKING:
    from tfcompat._src.proto import messages


class NodeInfo(NamedTuple):
    """How many nodes are before a node on the longest way to it, its NodeDef, and (height, width) of its input and output."""

    order: int
    node: Any
    input_size: list[int | None] | None
    output_size: list[int | None] | None


def parse_graph_nodes(graph_def: messages.GraphDef) -> dict[str, Any]:
    """The NodeDefs of a GraphDef by name."""
    return {node.name: node for node in graph_def.node}


def data_inputs(node: Any) -> list[str]:
    """The names of the nodes whose tensors a node takes."""
    return [name.partition(":")[0] for name in node.input if not name.startswith("^")]


def _size_after(size: int | None, window: Window) -> int | None:
    if size is None or None in (window.kernel, window.stride, window.total_padding):
        return None
    return -((window.kernel - 1 - size - window.total_padding) // window.stride)


def _info(node: object, nodes: Mapping[str, Any], found: Mapping[str, NodeInfo]) -> NodeInfo:
    sources = [found[name] for name in data_inputs(node)]
    order = max((s.order + 1 for s in sources), default=0)
    size = sources[0].output_size if sources else None
    if size is None:
        return NodeInfo(order, node, None, None)
    y, x = windows(node, nodes, size, force=True)
    # As in 1.15, the window along x is applied to the first size, the height.
    return NodeInfo(order, node, size, [_size_after(s, w) for s, w in zip(size, (x, y))])


@export("contrib.receptive_field.receptive_field_api.get_compute_order")
def get_compute_order(
    graph_def: messages.GraphDef, input_node_name: str = "", input_node_size: Sequence[int] | None = None
) -> tuple[dict[str, NodeInfo], dict[str, Any]]:
    """The order of the nodes of a graph without loops.

    Args:
      graph_def: a GraphDef.
      input_node_name: the node of the image, the first of all.
      input_node_size: its (height, width).

    Returns:
      (NodeInfo by name, NodeDef by name). Sizes are None behind nodes of unknown types, and where the image's is not given.
    """
    nodes = parse_graph_nodes(graph_def)
    found: dict[str, NodeInfo] = {}
    if input_node_name in nodes:
        size = None if input_node_size is None else list(input_node_size)
        found[input_node_name] = NodeInfo(0, nodes[input_node_name], None, size)
    waiting = [node.name for node in reversed(graph_def.node)]
    while waiting:
        node = nodes[waiting[-1]]
        missing = [] if node.name in found else [name for name in data_inputs(node) if name not in found]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        if node.name not in found:
            found[node.name] = _info(node, nodes, found)
    return found, nodes
