"""tf.contrib.graph_editor.subgraph: a part of a graph seen as a function of tensors."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.graph_editor.select import (
    compute_boundary_ts,
    get_name_scope_ops,
    get_walks_union_ops,
    select_ops_and_ts,
)
from tfcompat._src.contrib.graph_editor.util import ListView, concatenate_unique, make_list_of_op
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.op_selector import get_unique_graph, make_list_of_t
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor


def _chosen(indices: Iterable[Any], tensors: list[Tensor], repeated: bool) -> list[Tensor]:
    """The tensors of a list at some places, which are numbers or the tensors themselves."""
    places = [i if isinstance(i, int) else tensors.index(i) for i in indices]
    for i in places:
        if not 0 <= i < len(tensors):
            raise ValueError(f"Out of [0, {len(tensors)}[ range: {i}")
    if not repeated and len(set(places)) != len(places):
        raise ValueError(f"Found repetition in mapping: {places}")
    return [tensors[i] for i in places]


@export("contrib.graph_editor.SubGraphView", "contrib.graph_editor.subgraph.SubGraphView")
class SubGraphView:
    """Operations of a graph with the tensors that go in and come out; the graph stays as it is.

    Inputs and outputs can be left out, put in another order, and (outputs) repeated: `remap*` give new views.

    Args:
      inside_ops: the operations: one, an iterable of them, or a graph.
      passthrough_ts: tensors that are input and output at once; those that the operations take or make are left out.

    Raises:
      TypeError: an argument of another type. ValueError: the elements are of several graphs.
    """

    def __init__(self, inside_ops: object = (), passthrough_ts: object = ()) -> None:
        self._ops: list[Operation] = list(make_list_of_op(inside_ops))
        passing = make_list_of_t(passthrough_ts)
        self._graph = get_unique_graph([*self._ops, *passing], none_if_empty=True)
        inputs, outputs, inside = compute_boundary_ts(self._ops)
        connected = {*inputs, *outputs, *inside}
        self._passthrough_ts = [t for t in passing if t not in connected]
        self._input_ts = inputs + self._passthrough_ts
        self._output_ts = outputs + self._passthrough_ts

    def __copy__(self) -> SubGraphView:
        found = SubGraphView.__new__(type(self))
        found._assign_from(self)
        return found

    def _assign_from(self, other: SubGraphView) -> None:
        """Becomes the same view as another."""
        if not isinstance(other, SubGraphView):
            raise TypeError(f"Expected SubGraphView, got: {type(other)}")
        self._graph = other._graph
        self._ops = list(other._ops)
        self._passthrough_ts = list(other._passthrough_ts)
        self._input_ts = list(other._input_ts)
        self._output_ts = list(other._output_ts)

    def copy(self) -> SubGraphView:
        """A second view of the same."""
        return copy.copy(self)

    # ---- views with other inputs, outputs or operations ----

    def remap_default(self, remove_input_map: bool = True, remove_output_map: bool = True) -> SubGraphView:
        """A view with all inputs and, or, all outputs that the operations have, in their order."""
        found = self.copy()
        inputs, outputs, _ = compute_boundary_ts(self._ops)
        if remove_input_map:
            found._input_ts = inputs + self._passthrough_ts
        if remove_output_map:
            found._output_ts = outputs + self._passthrough_ts
        return found

    def remap(self, new_input_indices: Any = None, new_output_indices: Any = None) -> SubGraphView:
        """A view with some of the inputs and outputs, in a new order.

        Args:
          new_input_indices: positions in `inputs`, or tensors of it, each at most once; None: all as they are.
          new_output_indices: positions in `outputs`, or tensors of it; None: all as they are.

        Raises:
          ValueError: a position or tensor is not there, or an input is named twice.
        """
        found = self.copy()
        if new_input_indices is not None:
            found._input_ts = _chosen(new_input_indices, self._input_ts, repeated=False)
        if new_output_indices is not None:
            found._output_ts = _chosen(new_output_indices, self._output_ts, repeated=True)
        return found

    def remap_inputs(self, new_input_indices: object) -> SubGraphView:
        """`remap` of the inputs alone."""
        return self.remap(new_input_indices=new_input_indices)

    def remap_outputs(self, new_output_indices: object) -> SubGraphView:
        """`remap` of the outputs alone."""
        return self.remap(new_output_indices=new_output_indices)

    def remap_outputs_make_unique(self) -> SubGraphView:
        """A view with each output once."""
        found = self.copy()
        found._output_ts = list(dict.fromkeys(self._output_ts))
        return found

    def remap_outputs_to_consumers(self) -> SubGraphView:
        """A view with each output as often as it has consumers."""
        found = self.copy()
        found._output_ts = [t for t in dict.fromkeys(self._output_ts) for _ in t.consumers()]
        return found

    def remove_unused_ops(self, control_inputs: bool = True) -> SubGraphView:
        """A view without the operations that neither depend on an input nor count for an output.

        Args:
          control_inputs: whether control inputs count as dependencies.
        """
        found = self.copy()
        used = get_walks_union_ops(
            self.connected_inputs, self.connected_outputs, within_ops=self._ops, control_inputs=control_inputs
        )
        found._ops = [op for op in self._ops if op in set(used)]
        return found

    # ---- what it holds ----

    @property
    def graph(self) -> Graph | None:
        """The graph; None where the view is empty."""
        return self._graph

    @property
    def ops(self) -> list[Operation]:
        """The operations."""
        return self._ops

    @property
    def inputs(self) -> ListView:
        """The tensors that go in."""
        return ListView(self._input_ts)

    @property
    def outputs(self) -> ListView:
        """The tensors that come out."""
        return ListView(self._output_ts)

    @property
    def passthroughs(self) -> ListView:
        """The tensors that go through."""
        return ListView(self._passthrough_ts)

    @property
    def connected_inputs(self) -> list[Tensor]:
        """The tensors that an operation takes."""
        return [t for t in self._input_ts if t not in self._passthrough_ts]

    @property
    def connected_outputs(self) -> list[Tensor]:
        """The tensors that an operation makes."""
        return [t for t in self._output_ts if t not in self._passthrough_ts]

    def op(self, op_id: int) -> Operation:
        """The operation at a position."""
        return self._ops[op_id]

    def find_op_by_name(self, op_name: str) -> Operation:
        """The operation of a name; ValueError where there is none."""
        for op in self._ops:
            if op.name == op_name:
                return op
        raise ValueError(f"{op_name} not in subgraph.")

    def is_passthrough(self, t: Tensor) -> bool:
        """Whether a tensor goes through."""
        return t in self._passthrough_ts

    def input_index(self, t: Tensor) -> int:
        """The position of an input; ValueError where it is none."""
        if t not in self._input_ts:
            raise ValueError(f"Can't find {t.name} in inputs of subgraph.")
        return self._input_ts.index(t)

    def output_index(self, t: Tensor) -> int:
        """The position of an output; ValueError where it is none."""
        if t not in self._output_ts:
            raise ValueError(f"Can't find {t.name} in outputs of subgraph.")
        return self._output_ts.index(t)

    def consumers(self) -> list[Operation]:
        """The operations outside that take an output."""
        members, found = frozenset(self._ops), []
        for output in self._output_ts:
            concatenate_unique(found, (op for op in output.consumers() if op not in members))
        return found

    def __bool__(self) -> bool:
        return self._graph is not None

    def __enter__(self) -> SubGraphView:
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        pass

    def __str__(self) -> str:
        if not self:
            return "SubGraphView: empty"
        passing = set(self._passthrough_ts)
        lines = [f"SubGraphView (graphid={id(self._graph)}):"]
        for title, elements in (("ops", self._ops), ("inputs", self._input_ts), ("outputs", self._output_ts)):
            lines.append(f"** {title}[{len(elements)}]:" if elements else f"** {title}: empty")
            lines += [f"  {e.name} *" if e in passing else f"  {e.name}" for e in elements]
        return "\n".join(lines) + "\n"


@export("contrib.graph_editor.make_view", "contrib.graph_editor.sgv", "contrib.graph_editor.subgraph.make_view")
def make_view(*args: object, **kwargs: object) -> SubGraphView:
    """A view of operations, with tensors that go through.

    Args:
      *args: a view, which is returned; or operations, tensors, iterables of them and regular expressions: see
        `select_ops_and_ts`.
      **kwargs: `graph`: the graph in which to look for names, and to which all must belong.

    Raises:
      TypeError: an argument of another type. ValueError: an unknown keyword, or elements of another graph.
    """
    graph = kwargs.get("graph")
    view = args[0] if len(args) == 1 and isinstance(args[0], SubGraphView) else SubGraphView(*select_ops_and_ts(*args, **kwargs))
    if graph is not None and view:
        if not isinstance(graph, Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
        if view.graph is not graph:
            raise ValueError("Graph mismatch.")
    return view


@export(
    "contrib.graph_editor.make_view_from_scope", "contrib.graph_editor.sgv_scope",
    "contrib.graph_editor.subgraph.make_view_from_scope",
)  # fmt: skip
def make_view_from_scope(scope: str, graph: Graph) -> SubGraphView:
    """A view of the operations of a graph in a name scope."""
    return SubGraphView(get_name_scope_ops(graph, scope))
