"""A part of a graph that a master has registered at a worker, and its runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.cluster import session_graph, transfer_ops
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.carried_derivatives import KEPT
from tfcompat._src.cluster.local_steps import asks_for_metadata
from tfcompat._src.cluster.part_order import STAGE, ordered
from tfcompat._src.cluster.placement import Conditions, loops, needed
from tfcompat._src.cluster.rendezvous import Arrived, StepRendezvous, entered
from tfcompat._src.cluster.server_session import PartSession
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages


class Part:
    """A registered graph. What its master feeds and fetches, nodes that send to and receive from the client, are feeds and fetches.

    Args:
      graph_def: the part as a GraphDef message.
      make_session: makes the PartSession of a graph.

    Attributes: `received` are the keys of what comes from other tasks whatever the part does, by device and stage.

    Raises:
      errors.OpError: the message is malformed, or has what tfcompat does not have.
    """

    def __init__(self, graph_def: Any, make_session: Callable[[Graph], PartSession]) -> None:
        self._graph = graph = Graph()
        session_graph.extend(graph, ordered(graph_def))
        self._feeds: dict[str, Tensor] = {}
        self._fetches: dict[str, Tensor] = {}
        self._sent: list[tuple[str, Any]] = []
        self.received: dict[tuple[Any, ...], list[str]] = {}
        ends = []
        consumed = {source for op in graph.get_operations() for source in (*(t.op for t in op.inputs), *op.control_inputs)}
        for op in graph.get_operations():
            is_clients = op.type in (*transfer_ops.SEND, *transfer_ops.RECV) and op.attrs["client_terminated"]
            if is_clients and op.type in transfer_ops.RECV:
                self._feeds[transfer_ops.key_of(op)] = op.outputs[0]
            elif is_clients:
                self._fetches[transfer_ops.key_of(op)] = op.inputs[0]
            elif op not in consumed and not op.attrs.get(KEPT):
                ends.append(op)
            if not is_clients and op.type in transfer_ops.SEND:
                self._sent.append((transfer_ops.key_of(op), op.attrs["T"]))
            if not is_clients and op.type in transfer_ops.RECV and not op.control_inputs:
                key = transfer_ops.key_of(op)
                together = (op.attrs["send_device"], op.attrs.get(STAGE, key))
                self.received.setdefault(together, []).append(key)
        self._wanted = [*self._fetches.values(), *ends]
        _check_control_flow(graph)
        self.session = make_session(graph)

    def run(self, step: StepRendezvous, sent: dict[str, Any], options: Any, cancellation: Cancellation) -> tuple[dict[str, Arrived], Any]:
        """Runs all of it.

        Args:
          step: where its nodes meet those of other parts.
          sent: what the client feeds, by key.
          options: RunOptions. cancellation: tells it to stop.

        Returns:
          what the client fetches, by key, and a RunMetadata message, or None where `options` ask for none.

        Raises:
          errors.OpError: what went wrong.
        """
        missing = [key for key in self._feeds if key not in sent]
        if missing:
            raise errors.InvalidArgumentError(None, None, f"The part of the graph needs the feed {missing[0]}")
        metadata = messages.RunMetadata() if asks_for_metadata(options) else None
        feeds = {tensor: sent[key] for key, tensor in self._feeds.items()}
        cancellation.on_cancel(step.wake)
        with entered(step), self.session.cancelled_by(cancellation):
            values = self.session.run(self._wanted, feeds, options, metadata)
        for key, dtype in self._sent:
            if not step.has_put(key):
                step.put(key, Arrived(None, dtype, is_dead=True))
        return {key: Arrived(value, t.dtype) for (key, t), value in zip(self._fetches.items(), values)}, metadata


def _check_control_flow(graph: Graph) -> None:
    """NotImplementedError where a part of another master may have to tell other tasks of branches and iterations while it runs."""
    ops = graph.get_operations()
    crossing = [op for op in ops if op.type in (*transfer_ops.SEND, *transfer_ops.RECV) and not op.attrs["client_terminated"]]
    if any(STAGE in op.attrs for op in crossing):
        return
    receives = {op for op in crossing if op.type in transfer_ops.RECV}
    looped = {op for members in loops(ops) for op in members}
    conditions = Conditions(ops, set())
    for op in crossing:
        goes_on = op not in receives and receives.issubset(needed((), [op], set()))
        if op in looped or (conditions.of(op) and op not in receives and not goes_on):
            raise NotImplementedError(
                "tfcompat's worker cannot take part in a loop or conditional over several tasks where the master of the step is "
                f"TensorFlow 1.15's, as {op.name!r} is. Place it on one task, or use a session of a tfcompat server."
            )
