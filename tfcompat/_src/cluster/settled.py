"""A part of a graph of which some things are settled: which side conditionals take, and which received tensors are not there.

TensorFlow's masters cut a conditional by device, and its workers tell each other of tensors that are not there. When a phase begins, it
is known which of those that it receives are, and what predicates are that earlier phases have computed. What cannot run is left out
then, a Switch hands on its input, and a Merge the one input that is left.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tfcompat._src.cluster import session_graph
from tfcompat._src.cluster.placement import Conditions
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import BACK_EDGE
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import CONTROL_TRIGGER, MERGE, SWITCH
from tfcompat._src.proto import messages


class SettledGraph:
    """What is left of a graph, as a graph of its own.

    Args:
      whole: an imported graph. library: its functions, as a FunctionDefLibrary message.
      absent: the nodes whose tensors have been received as ones that are not there. decided: the values of predicates.

    Attributes: `graph`.
    """

    def __init__(self, whole: Graph, library: messages.FunctionDefLibrary, absent: Collection[Operation], decided: Mapping[Tensor, bool]) -> None:
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
            is_left_out = op in absent or len(present) < len(op.inputs) or not self._left_out.isdisjoint(op.control_inputs)
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


def _chosen_name(tensor: Tensor) -> str:
    return f"_settled_{tensor.op.name}"
