"""A part of a graph of which some things are settled: which side conditionals take, and which received tensors are not there.

TensorFlow's masters cut a conditional by device, and its workers tell each other of tensors that are not there. When a phase begins, it
is known which of those that it receives are, and what predicates are that earlier phases have computed. What cannot run is left out
then, a Switch hands on its input, and a Merge the one input that is left.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeAlias

from tfcompat._src.cluster import session_graph
from tfcompat._src.cluster.computation import Computation
from tfcompat._src.cluster.phases import Phase
from tfcompat._src.cluster.placement import Conditions
from tfcompat._src.cluster.server_session import PartSession
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import BACK_EDGE
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import CONTROL_TRIGGER, MERGE, SWITCH
from tfcompat._src.proto import messages

Waits: TypeAlias = Mapping[Operation, Collection[Operation]]


class SettledGraph:
    """What is left of a graph, as a graph of its own.

    Args:
      whole: an imported graph. library: its functions, as a FunctionDefLibrary message.
      waits: the control inputs of each node, including those in earlier phases: if one is dead, the node is too.
      absent: the nodes whose tensors have been received as ones that are not there. decided: the values of predicates.

    Attributes: `graph`.
    """

    def __init__(
        self, whole: Graph, library: messages.FunctionDefLibrary, waits: Waits, absent: Collection[Operation], decided: Mapping[Tensor, bool]
    ) -> None:
        self._waits = waits
        self._ops = whole.get_operations()
        self._conditions = Conditions(self._ops, set())
        self._left_out: set[Operation | Tensor] = set()
        self._same: dict[Tensor, Tensor] = {}
        """The inputs that outputs of Switch and Merge nodes are."""
        self._chosen: dict[Tensor, int] = {}
        """The number of the input that a Merge takes, for its output that says so."""
        for op in self._ops:
            self._settle(op, absent, decided)
        self.graph = Graph()
        session_graph.extend(self.graph, self._graph_def(whole, library))

    def _settle(self, op: Operation, absent: Collection[Operation], decided: Mapping[Tensor, bool]) -> None:
        present = [t for t in op.inputs if t not in self._left_out]
        entering = [t for t in op.inputs if t.op.type not in BACK_EDGE]
        if op.type in MERGE:
            is_left_out = bool(entering) and self._left_out.issuperset(entering)
        elif op.type == CONTROL_TRIGGER:
            is_left_out = False
        else:
            is_left_out = op in absent or len(present) < len(op.inputs) or not self._left_out.isdisjoint(self._waits[op])
        if is_left_out:
            self._left_out.update((op, *op.outputs))
        elif op.type in SWITCH:
            side = decided.get(self._conditions.predicate(op.inputs[1]))
            if side is not None:
                self._left_out.add(op.outputs[not side])
                self._same[op.outputs[side]] = op.inputs[0]
        elif op.type in MERGE and len(entering) == len(op.inputs) and len(present) == 1:
            self._same[op.outputs[0]] = present[0]
            self._chosen[op.outputs[1]] = op.inputs.index(present[0])

    def _graph_def(self, whole: Graph, library: messages.FunctionDefLibrary) -> messages.GraphDef:
        found = messages.GraphDef(versions=whole.graph_def_versions, library=library)
        for op in self._ops:
            if op in self._left_out:
                continue
            node = found.node.add()
            node.CopyFrom(op.node_def)
            inputs = list(op.inputs)
            same = next((self._same[t] for t in op.outputs if t in self._same), None)
            if same is not None:
                node.op = "RefIdentity" if op.type.startswith("Ref") else "Identity"
                node.attr.pop("N", None)
                inputs = [same]
            waits = [c for c in op.control_inputs if c not in self._left_out]
            del node.input[:]
            node.input.extend([*map(self._name, inputs), *(f"^{c.name}" for c in waits)])
        for tensor, number in self._chosen.items():
            node = found.node.add(name=_chosen_name(tensor), op="Const", input=[f"^{tensor.op.name}"], device=tensor.op._device)
            node.attr["dtype"].type = tensor.dtype.as_datatype_enum
            node.attr["value"].tensor.dtype = tensor.dtype.as_datatype_enum
            node.attr["value"].tensor.int_val.append(number)
        return found

    def _name(self, tensor: Tensor) -> str:
        """A tensor that is left as an input of a node of `graph`."""
        if tensor in self._chosen:
            return _chosen_name(tensor)
        return tensor.op.name if tensor in self._same else tensor._as_node_def_input()

    def tensor(self, tensor: Tensor) -> Tensor | None:
        """What a tensor of the whole graph is here, None where it is not there."""
        return None if tensor in self._left_out else session_graph.tensor(self.graph, self._name(tensor))

    def operation(self, op: Operation) -> Operation | None:
        """What an operation of the whole graph is here, None where it does not run."""
        return None if op in self._left_out else session_graph.operation(self.graph, op.name)


class Settled:
    """A settled graph with its session, and the phases that have been prepared for it."""

    def __init__(self, graph: SettledGraph, session: PartSession) -> None:
        self.graph, self.session = graph, session
        self.users = 0
        self._computations: dict[Phase, Computation] = {}

    def computation(self, phase: Phase) -> Computation:
        """Returns a phase of the whole graph as it is in this one."""
        if phase not in self._computations:
            self._computations[phase] = Computation(phase, self.session, self.graph.tensor, self.graph.operation)
        return self._computations[phase]


class SettledGraphs:
    """The settled graphs of a graph with their sessions, by outcome; beyond `bound`, the least recently used one that no run uses is closed.

    A part with n conditionals may have 2^n outcomes.

    Args:
      whole, library, waits: see `SettledGraph`. make_session: creates the session of a graph. bound: the number of graphs that are kept.
    """

    def __init__(
        self, whole: Graph, library: messages.FunctionDefLibrary, waits: Waits, make_session: Callable[[Graph], PartSession], bound: int = 32
    ) -> None:
        self._whole, self._library, self._waits, self._make_session, self._bound = whole, library, waits, make_session, bound
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[object, ...], Settled] = OrderedDict()

    @contextlib.contextmanager
    def lent(self, absent: Collection[Operation], decided: Mapping[Tensor, bool]) -> Iterator[Settled]:
        """Context manager: the graph of an outcome, whose session is not closed within the block; for the arguments see `SettledGraph`."""
        key = (frozenset(absent), *decided.items())
        with self._lock:
            if key not in self._kept:
                settled = SettledGraph(self._whole, self._library, self._waits, absent, decided)
                self._kept[key] = Settled(settled, self._make_session(settled.graph))
            kept = self._kept[key]
            self._kept.move_to_end(key)
            kept.users += 1
            self._drop()
        try:
            yield kept
        finally:
            with self._lock:
                kept.users -= 1
                self._drop()

    def _drop(self) -> None:
        """Closes least recently used sessions beyond the bound, except those in use."""
        unused = [key for key, one in self._kept.items() if not one.users]
        for key in unused[: max(0, len(self._kept) - self._bound)]:
            self._kept.pop(key).session.close()

    def close(self) -> None:
        """Closes all sessions, which ends their waits."""
        with self._lock:
            sessions = [one.session for one in self._kept.values()]
        for session in sessions:
            session.close()


def _chosen_name(tensor: Tensor) -> str:
    return f"_settled_{tensor.op.name}"
