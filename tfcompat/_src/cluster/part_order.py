"""The node order of a part, which avoids deadlock between parts: a part sends what it can before it waits for others.

The runtime runs nodes with side effects, among them _Send and _Recv, in creation order. tfcompat's master has ordered the nodes by stage
(stages.py), and marks transfers with the attribute `_stage`; nodes of a stage depend on no later stage, so parts never wait for each other in a
cycle. Parts of TensorFlow's masters are ordered here: a tensor is sent before the part waits for tensors on which it does not depend.
"""

from __future__ import annotations

from typing import Any

from tfcompat._src.cluster.transfer_ops import RECV, SEND
from tfcompat._src.proto import messages

STAGE = "_stage"
"""The attribute of _Send and _Recv nodes that is their stage."""


def ordered(graph_def: Any) -> Any:
    """Returns a part, a GraphDef message, with its nodes in an order in which they can run."""
    # Only parts of tfcompat's master have stages; they are in order.
    if any(STAGE in node.attr for node in graph_def.node):
        return graph_def
    stages = _stages(graph_def)
    found = messages.GraphDef(versions=graph_def.versions, library=graph_def.library)
    found.node.extend(sorted(graph_def.node, key=lambda node: (stages[node.name], kind_order(node.op))))
    return found


def kind_order(op_type: str) -> int:
    """Sort key within a stage: _Recv nodes first, _Send nodes last."""
    return 0 if op_type in RECV else 2 if op_type in SEND else 1


def _stages(graph_def: Any) -> dict[str, int]:
    """Assigns a stage to each node: that of the first _Send that depends on it. Nodes on which no _Send depends are in the last stage.

    A _Send that depends on fewer received tensors comes earlier; consecutive ones that depend on the same tensors share a stage.
    """
    # Which received tensors each _Send depends on, through data and control inputs.
    sources = {node.name: [_node_name(text) for text in node.input] for node in graph_def.node}
    sends = [node.name for node in graph_def.node if node.op in SEND]
    receives = {node.name for node in graph_def.node if node.op in RECV}
    needs = {name: _ancestors(name, sources) for name in sends}
    # If one needs a subset of what another needs, it is sent first: the number of needed tensors orders them topologically.
    sends.sort(key=lambda name: len(needs[name] & receives))
    # A node keeps its first stage, which is the lowest one.
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
    """Returns the nodes on which a node depends, and the node."""
    found, pending = set(), [name]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending.extend(sources.get(one, ()))
    return found


def _node_name(text: str) -> str:
    """Returns the node of a NodeDef input."""
    return text.lstrip("^").partition(":")[0]
