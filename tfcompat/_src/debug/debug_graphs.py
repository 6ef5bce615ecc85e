"""Graphs as the debugger sees them: names of the nodes that it inserts, and the graph without them.

A watched tensor goes through a node `__copy_NODE_SLOT`, and each debug op that looks at it is a node `__dbg_NODE:SLOT_INDEX_OP`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tfcompat._src.platform import logging
from tfcompat._src.proto import messages

COPY_PREFIX = "__copy_"
DEBUG_PREFIX = "__dbg_"
_DEBUG_NODE = re.compile(r"(?P<tensor>.*)_(?P<index>\d+)_(?P<op>[^_]*)")
_RECEIVES_COPIES = ("_Send", "_Retval")


def parse_node_or_tensor_name(name: str) -> tuple[str, int | None]:
    """Splits the name of a node or tensor into the node's name and the output slot, which is None in the name of a node."""
    node, colon, slot = name.rpartition(":")
    return (node, int(slot)) if colon and slot else (name, None)


def get_node_name(element_name: str) -> str:
    """Returns the node of a node's or tensor's name."""
    return parse_node_or_tensor_name(element_name)[0]


def get_output_slot(element_name: str) -> int:
    """Returns the output slot in a tensor's name; 0 for the name of a node."""
    return parse_node_or_tensor_name(element_name)[1] or 0


def is_copy_node(node_name: str) -> bool:
    """Whether a node copies a watched tensor for the debugger."""
    return node_name.startswith(COPY_PREFIX)


def is_debug_node(node_name: str) -> bool:
    """Whether a node is a debug op that looks at a watched tensor."""
    return node_name.startswith(DEBUG_PREFIX)


def parse_debug_node_name(node_name: str) -> tuple[str, int, int, str]:
    """Splits the name of a debug node.

    Returns:
      the watched node, its output slot, the index of the debug op among those of the tensor, the type of the debug op.

    Raises:
      ValueError: the name is not that of a debug node.
    """
    if not is_debug_node(node_name):
        raise ValueError(f"Invalid prefix in debug node name: '{node_name}'")
    found = _DEBUG_NODE.fullmatch(node_name.removeprefix(DEBUG_PREFIX))
    if found is None:
        raise ValueError(f"Invalid debug node name: '{node_name}'")
    if found["tensor"].count(":") != 1:
        raise ValueError(f"Invalid tensor name in debug node name: '{node_name}'")
    node, _, slot = found["tensor"].partition(":")
    return node, int(slot), int(found["index"]), found["op"]


def trace_back(
    node_name: str, input_maps: Sequence[Mapping[str, Iterable[str]]], skipped: Collection[str], until: str | None = None
) -> Iterator[list[str]]:
    """Goes from a node back to its inputs, depth first, and yields the way to each input when it is met.

    Args:
      node_name: the node, or one of its tensors. input_maps: the inputs of nodes, each map of another kind.
      skipped: nodes whose inputs are not followed. until: the node that ends the search.

    Yields:
      the names of nodes or tensors from `node_name` to an input; the last way ends at `until` if that was reached. The list is
      changed after the next step.
    """
    way = [node_name]
    if get_node_name(node_name) == until:
        yield way
        return
    visited: set[str] = set()
    pending = [_inputs(get_node_name(node_name), input_maps, skipped, visited)]
    while pending:
        name = next(pending[-1], None)
        if name is None:
            pending.pop()
            way.pop()
            continue
        way.append(name)
        yield way
        if get_node_name(name) == until:
            return
        pending.append(_inputs(get_node_name(name), input_maps, skipped, visited))


def _inputs(node: str, input_maps: Sequence[Mapping[str, Iterable[str]]], skipped: Collection[str], visited: set[str]) -> Iterator[str]:
    """Yields the inputs of a node that have not been visited when their turn comes."""
    if node in skipped or node in visited:
        return
    visited.add(node)
    for inputs in input_maps:
        for name in inputs.get(node, ()):
            if get_node_name(name) not in visited:
                yield name


class DebugGraph:
    """What a graph was before the debugger inserted its nodes.

    Args:
      debug_graph_def: the GraphDef that one device ran. device_name: that device; None takes it from the nodes.

    Attributes, each by the name of a node:
      node_attributes, node_op_types, node_devices: its attributes, its type, the set of its devices.
      node_inputs, node_ctrl_inputs: the names of its inputs, and of the nodes that it waits for.
      node_recipients, node_ctrl_recipients: the nodes that take its outputs, and that wait for it.
      node_reversed_ref_inputs: the nodes that may change what it gives.

    Raises:
      ValueError: two nodes have the same name.
    """

    def __init__(self, debug_graph_def: messages.GraphDef, device_name: str | None = None) -> None:
        self.debug_graph_def = debug_graph_def
        self.device_name = device_name or infer_device_name(debug_graph_def)
        nodes: dict[str, messages.NodeDef] = {}
        for node in debug_graph_def.node:
            if node.name in nodes:
                raise ValueError(f"Duplicate node name on device {self.device_name}: '{node.name}'")
            nodes[node.name] = node
        self._copied = {name: node.input[0] for name, node in nodes.items() if is_copy_node(name)}
        self._nodes = {name: node for name, node in nodes.items() if not (is_copy_node(name) or is_debug_node(name))}
        self.node_attributes: dict[str, Any] = {name: node.attr for name, node in self._nodes.items()}
        self.node_op_types = {name: node.op for name, node in self._nodes.items()}
        self.node_devices = {name: {node.device or self.device_name} for name, node in self._nodes.items()}
        self.node_inputs = {
            name: [self._copied.get(i, i) for i in node.input if not i.startswith("^")] for name, node in self._nodes.items()
        }
        self.node_ctrl_inputs = {
            name: [i[1:] for i in node.input if i.startswith("^") and not is_debug_node(i[1:])] for name, node in self._nodes.items()
        }
        self.node_recipients = _recipients(self.node_inputs)
        gets_copy = {n for n, node in self._nodes.items() if node.op in _RECEIVES_COPIES and any(map(is_copy_node, node.input))}
        self.node_ctrl_recipients = _recipients(self.node_ctrl_inputs, gets_copy)
        self.node_reversed_ref_inputs = {name: users for name, users in self.node_recipients.items() if users and name in self._nodes}

    @functools.cached_property
    def non_debug_graph_def(self) -> messages.GraphDef:
        """The GraphDef without the nodes of the debugger."""
        graph_def = messages.GraphDef()
        for name, node in self._nodes.items():
            copied = graph_def.node.add()
            copied.CopyFrom(node)
            copied.input[:] = [*self.node_inputs[name], *(f"^{i}" for i in self.node_ctrl_inputs[name])]
        return graph_def


def _recipients(inputs: Mapping[str, Iterable[str]], ignored: Collection[str] = ()) -> dict[str, list[str]]:
    """The nodes that take something of each node; of `ignored` ones, none is listed."""
    found: dict[str, list[str]] = {name: [] for name in inputs}
    for node, names in inputs.items():
        for name in names:
            if name not in ignored:
                found.setdefault(get_node_name(name), []).append(node)
    return found


def infer_device_name(graph_def: messages.GraphDef) -> str | None:
    """Returns the device of a graph's first node that has one; None, with a warning, where none has."""
    device = next((node.device for node in graph_def.node if node.device), None)
    if device is None:
        logging.warning("Failed to infer device name from partition GraphDef: none of the nodes of the GraphDef has a non-empty device name.")
    return device


def reconstruct_non_debug_graph_def(debug_graph_def: messages.GraphDef) -> messages.GraphDef:
    """Returns a graph without the nodes that the debugger has inserted.

    Args:
      debug_graph_def: a GraphDef as RunMetadata.partition_graphs of a debugged run has it.
    """
    return DebugGraph(debug_graph_def).non_debug_graph_def
