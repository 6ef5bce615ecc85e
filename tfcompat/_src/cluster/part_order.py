"""The order of a part's nodes: what others wait for comes before waiting for others.

The runtime compiles together what it can, and runs nodes that act in creation order. Parts that tfcompat's master makes say by the
attribute `_stage` in which stage (`stages.py`) a node is; nodes of a lower stage need nothing of a higher one, so
no part waits for one that waits for it. Parts of other masters do not say; there a tensor is sent before waiting for those that
its value does not need.
"""

from __future__ import annotations

from typing import Any

from tfcompat._src.cluster.transfer_ops import RECV, SEND
from tfcompat._src.proto import messages

STAGE = "_stage"


def ordered(graph_def: Any) -> Any:
    """A part as a GraphDef message whose nodes are in an order in which they can run."""
    if any(STAGE in node.attr for node in graph_def.node):
        return graph_def
    stages = _stages(graph_def)
    found = messages.GraphDef(versions=graph_def.versions, library=graph_def.library)
    found.node.extend(sorted(graph_def.node, key=lambda node: (stages[node.name], kind_order(node.op))))
    return found


def kind_order(op_type: str) -> int:
    """In a stage, nodes that receive come first and those that send last."""
    return 0 if op_type in RECV else 2 if op_type in SEND else 1


def _stages(graph_def: Any) -> dict[str, int]:
    """A number for each node: those before the k-th node that sends have k at most; what is needed by none of these comes last."""
    sources = {node.name: [_node_name(text) for text in node.input] for node in graph_def.node}
    sends = [node.name for node in graph_def.node if node.op in SEND]
    receives = {node.name for node in graph_def.node if node.op in RECV}
    needs = {name: _ancestors(name, sources) for name in sends}
    sends.sort(key=lambda name: len(needs[name] & receives))
    stages: dict[str, int] = {}
    stage, seen = 0, None
    for name in sends:
        needed = needs[name] & receives
        stage += seen is not None and needed != seen
        seen = needed
        for source in needs[name]:
            stages.setdefault(source, stage)
    return {name: stages.get(name, stage + 1) for name in sources}


def _ancestors(name: str, sources: dict[str, list[str]]) -> set[str]:
    found, pending = set(), [name]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending.extend(sources.get(one, ()))
    return found


def _node_name(text: str) -> str:
    """The node of an input as a NodeDef writes it."""
    return text.lstrip("^").partition(":")[0]
