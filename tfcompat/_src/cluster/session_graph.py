"""The graph of a session that another process builds: GraphDef messages, each with nodes on top of those before."""

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
    """An import of nodes whose inputs may be in the graph already, under their own names and where they say they are.

    Names may begin with "_": masters give such ones to nodes that send and receive.
    """

    _name_pattern = re.compile(r"[A-Za-z0-9._][A-Za-z0-9_.\-/]*", re.ASCII)
    _input_pattern = re.compile(r"\^?[A-Za-z0-9._][A-Za-z0-9_.\-/]*(:\d+)?", re.ASCII)

    def __init__(self, graph: Graph, graph_def: Any) -> None:
        super().__init__(graph, graph_def, "", {}, None)

    def _mapped(self, source: str) -> Any:
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
    """Adds the nodes of a GraphDef to a graph, with what they say of loops that are derivatives.

    Raises:
      errors.InvalidArgumentError: the message is malformed, or has a node that the graph has.
      errors.NotFoundError: an op type that tfcompat does not have.
    """
    known = next((node.name for node in graph_def.node if node.name in graph._nodes_by_name), None)
    if known is not None:
        raise errors.InvalidArgumentError(
            None, None, f"GraphDef argument to Extend includes node '{known}', which was created by a previous call to Create or "
            "Extend in this session."
        )  # fmt: skip
    try:
        check_versions(graph_def.versions)
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
    """The tensor of a name, "x" for "x:0"; errors.NotFoundError where there is none."""
    op_name, _, index = name.partition(":")
    op = graph._nodes_by_name.get(op_name)
    if op is None or not (index or "0").isdigit() or int(index or 0) >= len(op.outputs):
        raise errors.NotFoundError(None, None, f"The session's graph has no tensor {name}")
    return op.outputs[int(index or 0)]


def operation(graph: Graph, name: str) -> Operation:
    """The operation of a name; errors.NotFoundError where there is none."""
    op = graph._nodes_by_name.get(name.partition(":")[0])
    if op is None:
        raise errors.NotFoundError(None, None, f"The session's graph has no node {name}")
    return op
