"""Import of graphs with op types that TensorFlow does not have: they become custom operators of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tfcompat._src.base import dtypes, errors
from tfcompat._src.graph import attr_values, op_spec
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.shape_inference import InferenceContext
from tfcompat._src.graph.signature import Arg, Signature
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.graph_import import _Importer
from tfcompat._src.proto import messages

_UNKNOWN = "an op type that TensorFlow does not have"
SHAPES: dict[str, Callable[[InferenceContext], list[Any]]] = {}
"""How the outputs of some of them are shaped, by op type; filled by the rules that lower them."""


class _AnyOps(_Importer):
    """An import in which nodes of unknown op types have the inputs that they name, and the outputs that `_output_types` lists, or that others
    take."""

    def __init__(self, graph: Graph, graph_def: messages.GraphDef, input_map: dict[str, Any]) -> None:
        super().__init__(graph, graph_def, "", input_map, None)
        self._counts: dict[str, int] = {}
        for source in (source for node in graph_def.node for source in node.input if not source.startswith("^")):
            name, _, index = source.partition(":")
            self._counts[name] = max(self._counts.get(name, 1), int(index or 0) + 1)

    def _spec(self, node: messages.NodeDef) -> op_spec.OpSpec:
        try:
            return super()._spec(node)
        except errors.NotFoundError:
            return _unknown(node, self._inputs(node), self._counts.get(node.name, 1))

    def _attrs(self, spec: op_spec.OpSpec, node: messages.NodeDef) -> dict[str, Any]:
        if spec.text != _UNKNOWN:
            return super()._attrs(spec, node)
        return {name: attr_values.from_proto(value) for name, value in node.attr.items()}


def _unknown(node: messages.NodeDef, inputs: list[Tensor], count: int) -> op_spec.OpSpec:
    listed = node.attr["_output_types"].list.type if "_output_types" in node.attr else ()
    kinds = [dtypes.as_dtype(number) for number in listed] or [inputs[0].dtype.base_dtype if inputs else dtypes.float32] * count
    spec = op_spec.OpSpec(node.op, _UNKNOWN, SHAPES.get(node.op, _unknown_shapes), _never_run, None, effects=op_spec.Effects(external=True))
    taken = tuple(Arg(f"input_{i}", dtype=t.dtype.base_dtype) for i, t in enumerate(inputs))
    given = tuple(Arg(f"output_{i}", dtype=kind) for i, kind in enumerate(kinds))
    vars(spec)["signature"] = Signature(taken, given, {}, frozenset(), (), {arg.name: i for i, arg in enumerate(taken)})
    return spec


def _unknown_shapes(c: InferenceContext) -> list[Any]:
    return [None] * len(c.op.outputs)


def _never_run(*arguments: object) -> NoReturn:
    raise RuntimeError("an op that TensorFlow does not have is converted, and never run")


def import_any_ops(graph_def: messages.GraphDef, input_map: dict[str, Tensor]) -> None:
    """Imports a GraphDef into the default graph under the names that its nodes have, whatever their op types are.

    Args:
      graph_def: a GraphDef message. input_map: by the names of tensors in it, what takes their place.

    Raises:
      ValueError: the graph is malformed.
    """
    importer = _AnyOps(get_default_graph(), graph_def, dict(input_map))
    importer.adopt_versions(graph_def.versions)
    importer.run()
