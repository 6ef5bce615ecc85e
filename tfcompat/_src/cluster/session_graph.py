"""Growth of a session's graph by GraphDef messages of a client or a master, each with new nodes, and look-ups by name."""

from __future__ import annotations

import re
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.cluster import carried_derivatives
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.graph_import import _Importer, check_versions


class _Extension(_Importer):
    """An import that keeps names and devices, and whose nodes may have inputs that are in the graph already.

    Names may begin with "_", unlike those that users give: masters name _Send and _Recv nodes so.
    """

    _name_pattern = re.compile(r"[A-Za-z0-9._][A-Za-z0-9_.\-/]*", re.ASCII)
    _input_pattern = re.compile(r"\^?[A-Za-z0-9._][A-Za-z0-9_.\-/]*(:\d+)?", re.ASCII)

    def __init__(self, graph: Graph, graph_def: Any) -> None:
        super().__init__(graph, graph_def, "", {}, None)

    def _mapped(self, source: str) -> Any:
        """Returns the tensor or operation of the graph that an input names; None if it is in this message, or nowhere."""
        name, _, index = source.lstrip("^").partition(":")
        if name in self._nodes:
            return None
        op = self._graph._nodes_by_name.get(name)
        if op is None or source.startswith("^"):
            return op
        outputs = op.outputs
        return outputs[int(index or 0)] if int(index or 0) < len(outputs) else None

    def _unique(self, name: str) -> str:
        return name

    def _rename_colocation(self, op: Operation, name_in_graph_def: str) -> list[str]:
        return []

    def _merged_device(self, op: Operation, device: str) -> str:
        return device


def extend(graph: Graph, graph_def: Any) -> None:
    """Adds the nodes of a GraphDef message to a graph, and the LoopDerivatives in their attributes.

    Raises:
      errors.InvalidArgumentError: the message is malformed, or has a node that is in the graph already.
      errors.NotFoundError: tfcompat does not have an op type.
    """
    known = next((node.name for node in graph_def.node if node.name in graph._nodes_by_name), None)
    if known is not None:
        raise errors.InvalidArgumentError(
            None, None, f"GraphDef argument to Extend includes node '{known}', which was created by a previous call to Create or "
            "Extend in this session."
        )  # fmt: skip
    try:
        check_versions(graph_def.versions)
        # Removed before the import, so that the nodes are those of the client's graph.
        carried = carried_derivatives.taken(graph_def)
        with graph.as_default():
            importer = _Extension(graph, graph_def)
            importer.adopt_versions(graph_def.versions)
            importer.run()
        found = [carried_derivatives.noted(graph, one) for one in carried]
        graph.loop_derivatives.extend(derivative for derivative in found if derivative is not None)
    except (ValueError, TypeError) as e:
        raise errors.InvalidArgumentError(None, None, str(e)) from None


def tensor(graph: Graph, name: str) -> Tensor:
    """Returns the tensor of a name; "x" means "x:0". Raises errors.NotFoundError if there is none."""
    op_name, _, index = name.partition(":")
    op = graph._nodes_by_name.get(op_name)
    if op is None or not (index or "0").isdigit() or int(index or 0) >= len(op.outputs):
        raise errors.NotFoundError(None, None, f"The session's graph has no tensor {name}.")
    return op.outputs[int(index or 0)]


def operation(graph: Graph, name: str) -> Operation:
    """Returns the operation of a name. Raises errors.NotFoundError if there is none."""
    op = graph._nodes_by_name.get(name.partition(":")[0])
    if op is None:
        raise errors.NotFoundError(None, None, f"The session's graph has no node {name}.")
    return op
