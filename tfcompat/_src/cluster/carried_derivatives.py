"""Serializes LoopDerivatives as node attributes, so that a server and its workers know which loop is the gradient of which.

The attributes are on the Exit of the forward loop's iteration counter, from which the backward loop starts: the gradients that enter the backward
loop with the forward results that they belong to, the gradients that leave it, and the nodes of both loops. Processes that do not know the
attributes run the loops as nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from tfcompat._src.graph import attr_values
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.loop_derivative import EntryGradient, ExitGradient, LoopDerivative, edges_of
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.loop_ops import ENTER

KEPT = "_kept_for_gradients"
"""The attribute of nodes that a part contains only so that a derivative is complete."""


class Carried(NamedTuple):
    """The decoded attributes of one node: a LoopDerivative with names in place of nodes and tensors.

    Attributes:
      counter: the node. exits: per gradient that enters, its Enter and the forward tensor that it is the gradient of.
      entries: per value that has a gradient, its Enter and the tensors of the gradient. made, forward: see LoopDerivative.
    """

    counter: str
    exits: list[list[str]]
    entries: list[list[str]]
    made: list[list[str]]
    forward: list[list[str]]


_ATTRS = ("_gradients_of_exits", "_gradients_of_entries", "_backward_nodes", "_forward_nodes")


def write(graph_def: Any, noted: Iterable[LoopDerivative]) -> None:
    """Adds the attributes of derivatives to the nodes of a GraphDef message; derivatives whose nodes were changed are left out."""
    # Without derivatives the nodes, maybe thousands, are not looked through.
    by_counter = {d.counter.name: d for d in noted if d.is_intact}
    for node in graph_def.node if by_counter else ():
        if node.name in by_counter:
            for key, lines in zip(_ATTRS, _lines(by_counter[node.name])):
                attr_values.fill(node.attr[key], [line.encode() for line in lines])


def _lines(derivative: LoopDerivative) -> list[list[str]]:
    """Returns the values of the attributes `_ATTRS`; names in a line are separated by spaces, which names do not contain."""
    return [
        [f"{e.enter.name} {e.exit.name}" for e in derivative.exits],
        [" ".join([e.enter.name, *(t.name for t in e.parts)]) for e in derivative.entries],
        [op.name for op in derivative.made], [op.name for op in derivative.forward],
    ]  # fmt: skip


def taken(graph_def: Any) -> list[Carried]:
    """Decodes the attributes of a GraphDef message's nodes, and removes them."""
    found = []
    for node in graph_def.node:
        if all(key in node.attr for key in _ATTRS):
            found.append(Carried(node.name, *([text.decode().split(" ") for text in node.attr[key].list.s] for key in _ATTRS)))
        for key in _ATTRS:
            node.attr.pop(key, None)
    return found


def noted(graph: Graph, carried: Carried) -> LoopDerivative | None:
    """Returns a derivative restricted to the nodes of a graph; None if a node is missing that the rest depends on."""
    nodes = graph._nodes_by_name
    # A part may lack whole exits and entries, which were pruned, but must have all of the others.
    exits = [(_enter(graph, enter), _tensor(graph, exit)) for enter, exit in carried.exits if enter in nodes]
    entries = [
        (_enter(graph, enter), [_tensor(graph, part) for part in parts])
        for enter, *parts in carried.entries if any(part.partition(":")[0] in nodes for part in parts)
    ]  # fmt: skip
    whole_exits = [ExitGradient(exit, enter.inputs[0], enter) for enter, exit in exits if enter is not None and exit is not None]
    whole_entries = [EntryGradient(enter, found) for enter, parts in entries if enter is not None and len(found := _all(parts)) == len(parts)]
    if not exits or not entries or len(whole_exits) < len(exits) or len(whole_entries) < len(entries):
        return None
    # Edges are taken from this graph, so that `is_intact` compares later changes with the graph as it was received.
    made, forward = (frozenset(nodes[name] for (name,) in names if name in nodes) for names in (carried.made, carried.forward))
    return LoopDerivative(tuple(whole_exits), tuple(whole_entries), nodes[carried.counter], made, forward, edges_of([*forward, *made]))


def _all(tensors: Iterable[Tensor | None]) -> tuple[Tensor, ...]:
    return tuple(t for t in tensors if t is not None)


def _enter(graph: Graph, name: str) -> Operation | None:
    """Returns the Enter node of a name; None if there is none."""
    op = graph._nodes_by_name.get(name)
    return op if op is not None and op.type in ENTER else None


def _tensor(graph: Graph, name: str) -> Tensor | None:
    """Returns the tensor of a name; None if there is none. Attributes come from other processes, and may name anything."""
    node, _, index = name.partition(":")
    outputs = graph._nodes_by_name[node].outputs if node in graph._nodes_by_name else ()
    return outputs[int(index)] if index.isdigit() and int(index) < len(outputs) else None


def served(derivatives: Iterable[LoopDerivative], ops: Collection[Operation], fed: Iterable[Tensor]) -> list[LoopDerivative]:
    """Returns derivatives restricted to some operations, without those of which the client feeds a node."""
    # Only gradients that the step computes; a derivative without any is no loop of this step.
    given = {t.op for t in fed}
    found = [d.among(ops) for d in derivatives]
    return [d for d in found if d.exits and d.entries and given.isdisjoint(d.made) and given.isdisjoint(e.exit.op for e in d.exits)]


def ends(derivatives: Iterable[LoopDerivative]) -> list[Operation]:
    """Returns the producers of the forward results and of the gradients, without which a derivative cannot replace its backward loop."""
    return [op for d in derivatives for op in (*(e.exit.op for e in d.exits), *(t.op for e in d.entries for t in e.parts))]
