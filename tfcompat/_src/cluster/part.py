"""A part of a graph that a master has registered at a worker, and its runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.cluster import session_graph, transfer_ops
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.computation import StepRun
from tfcompat._src.cluster.cut_loops import CutLoop, cut_loops
from tfcompat._src.cluster.fused_nodes import taken_apart
from tfcompat._src.cluster.level import Level
from tfcompat._src.cluster.local_steps import asks_for_metadata
from tfcompat._src.cluster.part_order import STAGE, ordered
from tfcompat._src.cluster.phases import is_transfer
from tfcompat._src.cluster.placement import Conditions, frames_of, loops, needed
from tfcompat._src.cluster.receipts import add_receipts
from tfcompat._src.cluster.rendezvous import Arrived, Iteration, StepRendezvous
from tfcompat._src.cluster.server_session import PartSession
from tfcompat._src.cluster.step_arrays import OF_STEP_ARRAYS
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_origin import FORWARDS_FLOW, array_op
from tfcompat._src.proto import messages


class Part:
    """A registered graph. Nodes that exchange tensors with the client are the feeds and fetches of the master.

    Args:
      graph_def: the part as a GraphDef message.
      make_session: creates the PartSession of a graph.

    Attributes: `received`: the keys of tensors that are received in every run, by device and stage.

    Raises:
      errors.OpError: the message is malformed, or contains something that tfcompat does not have.
    """

    def __init__(self, graph_def: Any, make_session: Callable[[Graph], PartSession]) -> None:
        part = ordered(taken_apart(graph_def))
        self._graph = graph = Graph()
        session_graph.extend(graph, part)
        outside, loops = cut_loops(_with_step_arrays(graph, part), graph_def.library)
        self._level = Level(outside, graph_def.library, loops, make_session)
        self.received: dict[tuple[Any, ...], list[str]] = {}
        for op in outside.get_operations():
            if is_transfer(op, transfer_ops.RECV, False) and not op.control_inputs:
                key = transfer_ops.key_of(op)
                together = (op.attrs["send_device"], op.attrs.get(STAGE, key))
                self.received.setdefault(together, []).append(key)
        if not self._level.is_cut:
            _check_control_flow(outside, loops)

    def require_partial(self) -> None:
        """Raises NotImplementedError if the part cannot run while a client feeds and fetches step by step."""
        if not self._level.is_cut and (self._level.sent or self._level.awaited):
            raise NotImplementedError(
                "tfcompat's worker cannot take part in this partial_run, whose master is TensorFlow 1.15's: a queue of its part of the graph "
                "would hold up what others wait for. Use run, or a session of a tfcompat server."
            )

    def run(
        self, step: StepRendezvous, sent: dict[str, object], options: messages.RunOptions, cancellation: Cancellation
    ) -> tuple[dict[str, Arrived], messages.RunMetadata | None]:
        """Runs the part.

        Args:
          step: where tensors are exchanged with other parts.
          sent: the fed values, by key.
          options: RunOptions. cancellation: ends the run.

        Returns:
          the fetched tensors, by key, and a RunMetadata message, or None if `options` request none.

        Raises:
          errors.OpError: the error of a node or of another task.
        """
        level = self._level
        missing = [key for key in level.feeds if key not in sent]
        if missing:
            raise errors.InvalidArgumentError(None, None, f"The part of the graph needs the feed {missing[0]}")
        is_recorded = asks_for_metadata(options)
        values = {tensor: sent[key] for key, tensor in level.feeds.items()}
        if is_recorded and step.receipts is None:
            step.receipts = []
        cancellation.on_cancel(step.wake)
        run = StepRun(step, messages.RunOptions(trace_level=options.trace_level), cancellation, is_recorded)
        metadata = level.run(run, Iteration(step), values, set())
        if metadata is not None:
            if options.output_partition_graphs:
                metadata.partition_graphs.add().CopyFrom(self._graph.as_graph_def())
            add_receipts(metadata, step, level.awaited)
        for key, tensor in level.fetches.items():
            if tensor not in values:
                raise errors.InvalidArgumentError(None, None, f"The tensor returned for {key} was not valid.")
        return {key: Arrived(values[t], t.dtype) for key, t in level.fetches.items()}, metadata

    def close(self) -> None:
        """Closes the sessions, which ends their waits."""
        self._level.close()


def _with_step_arrays(graph: Graph, graph_def: messages.GraphDef) -> Graph:
    """Returns a graph in which TensorArrays of loops over several tasks are StepArrays; the graph itself if there are none.

    Args:
      graph: the imported part. graph_def: the part, whose nodes are changed.
    """
    ops = graph.get_operations()
    uses = {op: op if op.type == "TensorArrayV3" else array_op(op.inputs[0]) for op in ops if op.type in OF_STEP_ARRAYS}
    if not uses:
        return graph
    # The outermost frame of each loop that sends or receives: such a loop is cut, and its flow is fed to each iteration.
    frames = frames_of(ops)
    over_tasks = {frames[op][0] for op in ops if frames[op] and is_transfer(op, (*transfer_ops.SEND, *transfer_ops.RECV), False)}
    shared = {array for op, array in uses.items() if over_tasks.intersection(frames[op][:1]) or _takes_flow_of_others(op)}
    if not shared:
        return graph
    changed = {op.name for op, array in uses.items() if array in shared}
    for node in graph_def.node:
        if node.name in changed:
            node.op = OF_STEP_ARRAYS[node.op]
    with_arrays = Graph()
    session_graph.extend(with_arrays, graph_def)
    return with_arrays


def _takes_flow_of_others(op: Operation) -> bool:
    """Whether the flow that an operation on a TensorArray takes may come from another task."""
    pending = [t for t, arg in zip(op.inputs, op.spec.signature.inputs) if arg.name == "flow_in"]
    seen = set[Tensor]()
    while pending:
        tensor = pending.pop()
        if is_transfer(tensor.op, transfer_ops.RECV, False):
            return True
        if tensor not in seen and tensor.op.type in FORWARDS_FLOW:
            pending += tensor.op.inputs[:1] if tensor.op.type == "Switch" else tensor.op.inputs
        seen.add(tensor)
    return False


def _check_control_flow(graph: Graph, cut: list[CutLoop]) -> None:
    """Raises NotImplementedError if a TensorFlow master's part would have to send dead tensors, or per iteration, while it runs."""
    ops = graph.get_operations()
    crossing = [op for op in ops if op.type in (*transfer_ops.SEND, *transfer_ops.RECV) and not op.attrs["client_terminated"]]
    if any(STAGE in op.attrs for op in crossing):
        return
    receives = {op for op in crossing if op.type in transfer_ops.RECV}
    looped = {op for members in loops(ops) for op in members}
    conditions = Conditions(ops, set())
    for op in crossing:
        goes_on = op not in receives and receives.issubset(needed((), [op], set()))
        if cut or op in looped or (conditions.of(op) and op not in receives and not goes_on):
            raise NotImplementedError(
                "tfcompat's worker cannot take part in a loop or conditional over several tasks where the master of the step is "
                f"TensorFlow 1.15's, as {op.name!r} is. Place it on one task, or use a session of a tfcompat server."
            )
