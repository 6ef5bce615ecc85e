"""Copies what tensors are computed of into another graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from tfcompat._src.function.variable_lifting import UnliftableError
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.variables.resource_variable import ResourceVariable

__all__ = ["UnliftableError", "lift_to_graph"]


def lift_to_graph(
    tensors: Iterable[Any], graph: Graph, sources: Iterable[Tensor] | None = None, disallowed_placeholders: Collection[Operation] | None = None,
    add_sources: bool = False, handle_captures: bool = False, base_graph: Graph | None = None, op_map: dict[Any, Any] | None = None,
) -> dict[Any, Any]:  # fmt: skip
    """Copies tensors, and all that they are computed of, into another graph.

    Args:
      tensors: tensors and operations of one graph; a ResourceVariable among them stands for itself.
      graph: where the copies go.
      sources: tensors at which the copy ends: they become placeholders.
      disallowed_placeholders: operations that may not be copied; by default no placeholder may that is not in `sources`.
      add_sources: whether other placeholders become placeholders too.
      handle_captures: whether a source that a function captures is captured in `graph`, in place of a placeholder.
      base_graph: the graph of `tensors`.
      op_map: copies that are there already; the new ones are added.

    Returns:
      the copies: tensor or operation of the one graph -> that of the other.

    Raises:
      UnliftableError: something is computed of what may not be copied.
    """
    given = list(tensors)
    wanted = [t for t in given if not isinstance(t, ResourceVariable)]
    base = base_graph or wanted[0].graph
    lift = _Lift(graph, base, op_map or {}, disallowed_placeholders, add_sources, handle_captures)
    lift.copies.update((t, t) for t in given if isinstance(t, ResourceVariable))
    with graph.as_default():
        for source in sources or ():
            lift.source(source)
        for each in wanted:
            lift.operation(each.op if isinstance(each, Tensor) else each)
        lift.close_loops()
    return lift.copies


class _Lift:
    """The copies that are made so far, and the inputs of merges that come from later iterations."""

    def __init__(
        self, graph: Graph, base: Graph, copies: dict[Any, Any], disallowed: Collection[Operation] | None, add_sources: bool, capture: bool
    ) -> None:
        self._graph, self.copies = graph, copies
        self._disallowed, self._add_sources = disallowed, add_sources
        inner = getattr(base, "captures", {}) if capture and hasattr(graph, "capture") else {}
        self._captured = {inside: outside for outside, inside in inner.items()}
        self._open: list[tuple[Operation, int, Tensor]] = []

    def source(self, tensor: Tensor) -> None:
        """Puts a placeholder, or a captured tensor, where a tensor was."""
        name = tensor.op.name
        if tensor in self._captured:
            copied = self._graph.capture(self._captured[tensor])  # type: ignore[attr-defined]  # of FuncGraph
        elif tensor.op.type == "PlaceholderWithDefault":
            default = tensor.op.inputs[0]
            self.operation(default.op)
            with device(tensor.op.device):
                copied = raw.PlaceholderWithDefault(self.copies[default], tensor.shape, name=name)
        else:
            with device(tensor.op.device):
                copied = raw.Placeholder(dtype=tensor.dtype, shape=tensor.shape, name=name)
        copied._handle_data = tensor._handle_data
        self.copies[tensor], self.copies[tensor.op] = copied, copied.op

    def operation(self, wanted: Operation) -> None:
        """Copies an operation, after those that it needs."""
        pending = [wanted]
        while pending:
            op = pending[-1]
            if op in self.copies:
                pending.pop()
                continue
            needed = [each for each in self._needed(op) if each not in self.copies]
            if needed:
                pending += needed
            else:
                pending.pop()
                self._copy(op)

    def _needed(self, op: Operation) -> list[Operation]:
        """What is copied before an operation: not the inputs of a merge that the loop gives later."""
        if op.type == "Placeholder" and not self._add_sources and self._disallowed is None or op in (self._disallowed or ()):
            raise UnliftableError(f"Unable to lift because of the placeholder {op.name!r}, which has no value in the other graph")
        first = [t.op for t in op.inputs if t.op.type not in ("NextIteration", "RefNextIteration")]
        return first + [c for c in op.control_inputs if c.type not in ("NextIteration", "RefNextIteration")]

    def _copy(self, op: Operation) -> None:
        later = [(i, t) for i, t in enumerate(op.inputs) if t not in self.copies]
        stand_in = next((self.copies[t] for t in op.inputs if t in self.copies), None)
        inputs = [self.copies.get(t, stand_in) for t in op.inputs]
        controls = [self.copies[c] for c in op.control_inputs if c in self.copies]
        with self._graph.control_dependencies(None), self._graph.control_dependencies(controls), device(op.device):
            kinds = [t.dtype for t in op.outputs]
            made = self._graph.make_op(op.spec, self._graph.unique_name(op.name), inputs, dict(op.attrs), kinds)
        self._open += [(made, i, t) for i, t in later]
        self.copies[op] = made
        self.copies.update(zip(op.outputs, made.outputs))

    def close_loops(self) -> None:
        """Gives merges their inputs from later iterations."""
        while self._open:
            merge, index, tensor = self._open.pop()
            self.operation(tensor.op)
            merge._update_input(index, self.copies[tensor])
