"""The graph of layers between inputs and outputs: which calls are in it, and in which order."""

from __future__ import annotations

import collections
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.keras.engine.node import Node
from tfcompat._src.keras.engine.op_layer import create_keras_history


def node_key(layer_name: str, node_index: int) -> str:
    """What a call is called in `network_nodes`."""
    return f"{layer_name}_ib-{node_index}"


def key_of(node: Node) -> str:
    """The key of a call."""
    layer = node.outbound_layer
    return node_key(layer.name, next(i for i, n in enumerate(layer._inbound_nodes) if n is node))


class _Walk:
    """A walk from outputs back to inputs.

    Attributes:
      finished: the calls, each after those that it depends on.
      layers: layer -> its place in the order of discovery.
    """

    def __init__(self) -> None:
        self.finished: list[Node] = []
        self.layers: dict[Any, int] = {}
        self._done: set[int] = set()
        self._open: set[int] = set()

    def _enter(self, stack: list, tensor: Any, layer: Any, index: int) -> None:
        node = layer._inbound_nodes[index]
        if id(node) in self._open:
            raise ValueError(f'The tensor {tensor} at layer "{layer.name}" is part of a cycle.')
        if id(node) not in self._done:
            self.layers.setdefault(layer, len(self.layers))
            self._open.add(id(node))
            stack.append((node, iter(node.iterate_inbound(include_arguments=True))))

    def visit(self, output: Any) -> None:
        """Walks all that `output` comes from; ValueError where it comes from itself."""
        history = output._keras_history
        stack: list[tuple[Node, Any]] = []
        self._enter(stack, output, history.layer, history.node_index)
        while stack:
            node, inbound = stack[-1]
            for layer, index, _, tensor in inbound:
                self._enter(stack, tensor, layer, index)
                if stack[-1][0] is not node:
                    break
            else:
                stack.pop()
                self._open.discard(id(node))
                self._done.add(id(node))
                self.finished.append(node)


def _by_depth(depths: dict[Any, int]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = collections.defaultdict(list)
    for item, depth in depths.items():
        found[depth].append(item)
    return found


def map_graph_network(inputs: list[Any], outputs: list[Any]) -> tuple[set[str], dict[int, list[Node]], list[Any], dict]:
    """The calls and layers between inputs and outputs; the depth of a call is its distance from the outputs.

    Returns:
      keys of the calls, depth -> calls, the layers from inputs to outputs, depth -> layers.

    Raises:
      ValueError: an output depends on itself, or on a tensor that no input gives; two layers have one name.
    """
    walk = _Walk()
    for output in outputs:
        walk.visit(output)
    node_depths: dict[Node, int] = {}
    layer_depths: dict[Any, int] = {}
    for node in reversed(walk.finished):
        layer = node.outbound_layer
        depth = max(node_depths.get(node, 0), layer_depths.get(layer, 0))
        node_depths[node] = layer_depths[layer] = depth
        for needed in node._get_all_node_dependencies():
            node_depths[needed] = max(depth + 1, node_depths.get(needed, 0))
    order = dict(walk.layers)
    for tensor in inputs:
        layer = tensor._keras_history.layer
        if layer not in layer_depths:
            layer_depths[layer], order[layer] = 0, -1
            node_depths[layer._inbound_nodes[0]] = 0
    nodes_by_depth, layers_by_depth = _by_depth(node_depths), _by_depth(layer_depths)
    layers: list[Any] = []
    for depth in sorted(layers_by_depth, reverse=True):
        layers_by_depth[depth].sort(key=order.__getitem__)
        layers += layers_by_depth[depth]
    _check_connected(inputs, nodes_by_depth)
    _check_names(layers)
    return {key_of(node) for node in node_depths}, nodes_by_depth, layers, layers_by_depth


def _check_connected(inputs: list[Any], nodes_by_depth: dict[int, list[Node]]) -> None:
    known = {id(x) for x in inputs}
    passed: list[str] = []
    for depth in sorted(nodes_by_depth, reverse=True):
        for node in nodes_by_depth[depth]:
            for x in nest.flatten(node.input_tensors):
                if id(x) not in known:
                    raise ValueError(
                        f'Graph disconnected: cannot obtain value for tensor {x} at layer "{node.outbound_layer.name}". '
                        f"The following previous layers were accessed without issue: {passed}"
                    )
            known.update(id(x) for x in nest.flatten(node.output_tensors))
            passed.append(node.outbound_layer.name)


def _check_names(layers: list[Any]) -> None:
    counts = collections.Counter(layer.name for layer in layers)
    for name, count in counts.items():
        if count > 1:
            raise ValueError(
                f'The name "{name}" is used {count} times in the model. All layer names should be unique.'
            )


def map_subgraph_network(inputs: list[Any], outputs: list[Any]) -> tuple[list[Node], list[Any]]:
    """The calls and layers between inputs and outputs, where operations between layers become layers."""
    create_keras_history(outputs)
    _, nodes_by_depth, layers, _ = map_graph_network(inputs, outputs)
    return [node for nodes in nodes_by_depth.values() for node in nodes], layers
