"""Cuts loops over several tasks out of a part of a TensorFlow master: each becomes the graph of one iteration.

In the graph of an iteration, loop variables and loop constants are fed like a client's feeds, and NextIteration and Exit nodes send. In the
graph around the loop, its Enter nodes send to the loop and its Exit nodes receive from it, all under keys of this task. A Switch on the
loop's condition becomes that of a conditional, whose predicate an earlier phase computes or receives.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from tfcompat._src.cluster import session_graph, transfer_ops
from tfcompat._src.cluster.part_order import STAGE, ordered
from tfcompat._src.cluster.placement import EXIT, frames_of
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import BACK_EDGE
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import MERGE
from tfcompat._src.ops.control.loop_ops import ENTER
from tfcompat._src.proto import messages

_Frame = tuple[str, ...]


@dataclass
class CutLoop:
    """A loop that has been cut out of a graph. Keys are those of the graph around it and of the graph of an iteration.

    Attributes:
      frame_name: that of its Enter nodes. iteration: the graph of an iteration. loops: the inner loops cut out of that graph.
      entered: the key that the graph around the loop sends each input under, by the key that feeds it to an iteration (constants to
        every iteration, initial values to the first).
      constants: the keys that feed constants. carried: the key that an iteration sends each loop variable under, by the key that feeds it to the next.
      left: the keys of the results, which the graph around the loop receives.
    """

    frame_name: str
    iteration: Graph = field(default_factory=Graph)
    loops: list[CutLoop] = field(default_factory=list)
    entered: dict[str, str] = field(default_factory=dict)
    constants: set[str] = field(default_factory=set)
    carried: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


def cut_loops(graph: Graph, library: messages.FunctionDefLibrary) -> tuple[Graph, list[CutLoop]]:
    """Returns the graph without the loops that send to or receive from other tasks, and those loops; the graph itself if there are none.

    Args:
      graph: an imported part. library: its functions.

    Raises:
      NotImplementedError: a loop does not have the form in which tf.while_loop builds it.
    """
    ops = graph.get_operations()
    frames = frames_of(ops)
    crossing = [op for op in ops if op.type in (*transfer_ops.SEND, *transfer_ops.RECV) and not op.attrs["client_terminated"] and frames[op]]
    if not crossing or any(STAGE in op.attrs for op in crossing):
        return graph, []
    cut = _Cutter(graph, library, frames, crossing)
    return cut.graph_of(()), cut.loops_in(())


class _Cutter:
    def __init__(self, graph: Graph, library: messages.FunctionDefLibrary, frames: dict[Operation, _Frame], crossing: Collection[Operation]) -> None:
        self._graph, self._library, self._ops = graph, library, graph.get_operations()
        self._device = next(op.attrs["send_device" if op.type in transfer_ops.SEND else "recv_device"] for op in crossing)
        cut = {frames[op][:depth] for op in crossing for depth in range(1, len(frames[op]) + 1)}
        self._frames = {op: next(f for depth in range(len(inside), -1, -1) if not (f := inside[:depth]) or f in cut) for op, inside in frames.items()}
        self._loops = {frame: CutLoop(frame[-1]) for frame in sorted(cut, key=lambda frame: (len(frame), frame))}
        for frame, loop in self._loops.items():
            loop.iteration, loop.loops = self.graph_of(frame), self.loops_in(frame)

    def loops_in(self, frame: _Frame) -> list[CutLoop]:
        """Returns the loops that were cut out of a frame."""
        return [loop for inner, loop in self._loops.items() if inner[:-1] == frame]

    def graph_of(self, frame: _Frame) -> Graph:
        """Returns the graph of an iteration of a frame; the frame () is the graph outside of all loops."""
        found = messages.GraphDef(versions=self._graph.graph_def_versions, library=self._library)
        for op in self._ops:
            inside = self._frames[op]
            if inside == frame:
                found.node.extend(self._inside(op, self._loops.get(frame)))
            elif inside and inside[:-1] == frame:
                found.node.extend(self._around(op, self._loops[inside]))
        # Handles of variables and resources are copied into each graph that uses them.
        known: set[str] = set()
        for node in list(found.node):
            for text in node.input:
                name = text.lstrip("^").partition(":")[0]
                source = self._graph.get_operation_by_name(name)
                if name not in known and _is_handle(source) and self._frames[source] != frame:
                    found.node.add().CopyFrom(source.node_def)
                known.add(name)
        graph = Graph()
        session_graph.extend(graph, ordered(found))
        return graph

    def _inside(self, op: Operation, loop: CutLoop | None) -> list[messages.NodeDef]:
        """Returns the nodes that replace a node in the graph of its own frame."""
        if loop is not None:
            enter = self._enter_of(op)
            if op.type in ENTER:
                return [self._receive(op, op.outputs[0], True)] if op.attrs["is_constant"] and not _is_handle(_root(op.outputs[0]).op) else []
            if op.type in BACK_EDGE or op.type in EXIT:
                return [self._send(op)]
            if enter is not None:
                back = next(t.op for t in op.inputs if t.op.type in BACK_EDGE)
                loop.carried[self._key(op)] = self._key(back)
                return [self._receive(op, op.outputs[0], True)]
        node = messages.NodeDef()
        node.CopyFrom(op.node_def)
        if loop is not None and op.type == "LoopCond":
            node.op = "Identity"
            node.attr["T"].type = op.outputs[0].dtype.as_datatype_enum
        del node.input[:]
        waits = op.control_inputs
        if op.type in transfer_ops.RECV:
            waits = [c for c in waits if self._enter_of(c) is None]
        node.input.extend([*(_name(t) for t in op.inputs), *(f"^{_control(c)}" for c in waits)])
        return [node]

    def _around(self, op: Operation, loop: CutLoop) -> list[messages.NodeDef]:
        """Returns the nodes that replace a node of a loop in the graph around the loop."""
        if op.type in EXIT:
            loop.left.append(self._key(op))
            return [self._receive(op, op.outputs[0], False)]
        if op.type not in ENTER or _is_handle(_root(op.outputs[0]).op):
            return []
        if op.attrs["is_constant"]:
            loop.constants.add(self._key(op))
            loop.entered[self._key(op)] = self._key(op)
        else:
            loop.entered.update({self._key(merge): self._key(op) for merge in self._ops if self._enter_of(merge) is op})
        return [self._send(op)]

    def _enter_of(self, op: Operation) -> Operation | None:
        """Returns the Enter of a loop variable if the node is its Merge, in a loop that is cut; else None."""
        if op.type not in MERGE or self._frames[op] not in self._loops:
            return None
        entering = [t.op for t in op.inputs if t.op.type not in BACK_EDGE]
        if len(entering) == len(op.inputs):
            return None
        is_used = any(op.outputs[1] in other.inputs for other in self._ops)
        if is_used or len(entering) != 1 or len(op.inputs) != 2 or entering[0].type not in ENTER:
            raise NotImplementedError(
                f"tfcompat's worker takes part in a loop that TensorFlow 1.15's master divides over several tasks only if tf.while_loop has built it: "
                f"{op.name!r} does not merge one Enter and one NextIteration. Place the loop on one task, or use a session of a tfcompat server."
            )
        return entering[0]

    # ---- nodes that send and receive on this task ----

    def _key(self, op: Operation) -> str:
        return transfer_ops.key_on(self._device, op.name)

    def _receive(self, op: Operation, tensor: Tensor, is_fed: bool) -> messages.NodeDef:
        node = self._transfer(op, "_Recv", is_fed)
        node.attr["tensor_type"].type = tensor.dtype.base_dtype.as_datatype_enum
        return node

    def _send(self, op: Operation) -> messages.NodeDef:
        node = self._transfer(op, "_Send", False)
        node.attr["T"].type = op.inputs[0].dtype.base_dtype.as_datatype_enum
        node.input.extend([_name(op.inputs[0]), *(f"^{_control(c)}" for c in op.control_inputs)])
        return node

    def _transfer(self, op: Operation, kind: str, of_client: bool) -> messages.NodeDef:
        node = messages.NodeDef(name=op.name, op=kind, device=op._device)
        node.attr["tensor_name"].s = op.name.encode()
        node.attr["send_device"].s = node.attr["recv_device"].s = self._device
        node.attr["send_device_incarnation"].i = 0
        node.attr["client_terminated"].b = of_client
        return node


def _root(tensor: Tensor) -> Tensor:
    """Returns the tensor outside of all loops behind a loop constant; another tensor itself."""
    while tensor.op.type in ENTER and tensor.op.attrs["is_constant"]:
        tensor = tensor.op.inputs[0]
    return tensor


def _is_handle(op: Operation) -> bool:
    """Whether a node makes a ref or the handle of a resource, and is copied into each graph that uses it."""
    return not op.inputs and not op.control_inputs and any(t.dtype._is_ref_dtype or t.dtype.name == "resource" for t in op.outputs)


def _name(tensor: Tensor) -> str:
    root = _root(tensor)
    return (root if _is_handle(root.op) else tensor)._as_node_def_input()


def _control(op: Operation) -> str:
    return _root(op.outputs[0]).op.name if op.type in ENTER and _is_handle(_root(op.outputs[0]).op) else op.name
