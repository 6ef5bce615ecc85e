"""Copies tensors, with everything that they depend on, into another graph."""

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
    """Copies tensors, with everything that they depend on, into another graph.

    Args:
      tensors: tensors and operations of one graph; a ResourceVariable among them is its own copy.
      graph: the graph of the copies.
      sources: tensors at which copying stops: they become placeholders.
      disallowed_placeholders: operations that must not be copied; by default placeholders that are not in `sources`.
      add_sources: whether other placeholders are copied as placeholders.
      handle_captures: whether a source that a function captures is captured in `graph` instead of becoming a placeholder.
      base_graph: the graph of `tensors`.
      op_map: copies made before; new ones are added.

    Returns:
      a dict from tensors and operations to their copies.

    Raises:
      UnliftableError: a tensor depends on an operation that must not be copied.
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
    """The copies made so far, and the back edges of loops, which are set last."""

    def __init__(
        self, graph: Graph, base: Graph, copies: dict[Any, Any], disallowed: Collection[Operation] | None, add_sources: bool, capture: bool
    ) -> None:
        self._graph, self.copies = graph, copies
        self._disallowed, self._add_sources = disallowed, add_sources
        # Placeholders of captured tensors, with the tensors that they were captured from.
        inner = getattr(base, "captures", {}) if capture and hasattr(graph, "capture") else {}
        self._captured = {inside: outside for outside, inside in inner.items()}
        self._open: list[tuple[Operation, int, Tensor]] = []

    def source(self, tensor: Tensor) -> None:
        """Replaces a tensor by a placeholder or a captured tensor."""
        name = tensor.op.name
        if tensor in self._captured:
            # The target captures what the source graph has captured.
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
        """Copies an operation after those that it depends on: a depth-first search without recursion."""
        # An explicit stack: graphs may be deeper than Python's recursion limit.
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
        """Returns the operations to copy before an operation; those behind a loop's back edge are copied later.

        Raises:
          UnliftableError: it is a placeholder without a value in the other graph.
        """
        if op.type == "Placeholder" and not self._add_sources and self._disallowed is None or op in (self._disallowed or ()):
            raise UnliftableError(f"Unable to lift: placeholder {op.name!r} has no value in the other graph. Pass its tensor in `sources`.")
        first = [t.op for t in op.inputs if t.op.type not in ("NextIteration", "RefNextIteration")]
        return first + [c for c in op.control_inputs if c.type not in ("NextIteration", "RefNextIteration")]

    def _copy(self, op: Operation) -> None:
        """Copies one operation, whose other inputs are copied; an open input has another one in its place until `close_loops`."""
        later = [(i, t) for i, t in enumerate(op.inputs) if t not in self.copies]
        # A Merge needs an input now: the back edge is set by `close_loops`.
        stand_in = next((self.copies[t] for t in op.inputs if t in self.copies), None)
        inputs = [self.copies.get(t, stand_in) for t in op.inputs]
        controls = [self.copies[c] for c in op.control_inputs if c in self.copies]
        # The control inputs of scopes around the call do not apply to copies.
        with self._graph.control_dependencies(None), self._graph.control_dependencies(controls), device(op.device):
            kinds = [t.dtype for t in op.outputs]
            made = self._graph.make_op(op.spec, self._graph.unique_name(op.name), inputs, dict(op.attrs), kinds)
        self._open += [(made, i, t) for i, t in later]
        self.copies[op] = made
        self.copies.update(zip(op.outputs, made.outputs))

    def close_loops(self) -> None:
        """Sets the inputs of Merge nodes that come from later iterations."""
        while self._open:
            merge, index, tensor = self._open.pop()
            self.operation(tensor.op)
            merge._update_input(index, self.copies[tensor])
