"""A part of a graph that a master has registered at a worker, and its runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.cluster import session_graph, transfer_ops
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.local_steps import asks_for_metadata
from tfcompat._src.cluster.part_order import STAGE, ordered
from tfcompat._src.cluster.phases import Phase, is_transfer, phases_of
from tfcompat._src.cluster.placement import Conditions, loops, needed
from tfcompat._src.cluster.receipts import add_receipts
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
        graph = Graph()
        session_graph.extend(graph, ordered(graph_def))
        ops = graph.get_operations()
        self._feeds = {transfer_ops.key_of(op): op.outputs[0] for op in ops if is_transfer(op, transfer_ops.RECV, True)}
        self._fetches = {transfer_ops.key_of(op): op.inputs[0] for op in ops if is_transfer(op, transfer_ops.SEND, True)}
        self._sent = [(transfer_ops.key_of(op), op.attrs["T"]) for op in ops if is_transfer(op, transfer_ops.SEND, False)]
        self._awaited = {transfer_ops.key_of(op) for op in ops if is_transfer(op, transfer_ops.RECV, False)}
        self.received: dict[tuple[Any, ...], list[str]] = {}
        for op in ops:
            if is_transfer(op, transfer_ops.RECV, False) and not op.control_inputs:
                key = transfer_ops.key_of(op)
                together = (op.attrs["send_device"], op.attrs.get(STAGE, key))
                self.received.setdefault(together, []).append(key)
        _check_control_flow(graph)
        self._phases = phases_of(graph)
        self.session = make_session(graph)

    def run(
        self, step: StepRendezvous, sent: dict[str, object], options: messages.RunOptions, cancellation: Cancellation
    ) -> tuple[dict[str, Arrived], messages.RunMetadata | None]:
        """Runs all of it.

        Args:
          step: where it meets other parts.
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
        values = {tensor: sent[key] for key, tensor in self._feeds.items()}
        if metadata is not None and step.receipts is None:
            step.receipts = []
        cancellation.on_cancel(step.wake)
        with entered(step), self.session.cancelled_by(cancellation):
            left = dict(enumerate(self._phases))
            while left:
                possible = [number for number, phase in left.items() if phase.after.isdisjoint(left)]
                if len(possible) > 1:
                    with self.session.within_limits():
                        possible = [possible[step.first_of([left[number].received for number in possible])]]
                self._run_phase(left.pop(possible[0]), step, values, options, metadata)
        if metadata is not None:
            add_receipts(metadata, step, self._awaited)
        for key, dtype in self._sent:
            if not step.has_put(key):
                step.put(key, Arrived(None, dtype, is_dead=True))
        return {key: Arrived(values[t], t.dtype) for key, t in self._fetches.items()}, metadata

    def _run_phase(
        self, phase: Phase, step: StepRendezvous, values: dict[Tensor, object], options: messages.RunOptions,
        metadata: messages.RunMetadata | None,
    ) -> None:  # fmt: skip
        """Runs a phase, which adds what it receives and gives to `values`."""
        if phase.received:
            with self.session.within_limits():
                found = step.take_all(phase.received)
            for key, tensor in phase.received.items():
                values[tensor] = transfer_ops.received(key, found[key])
        if phase.given or phase.targets:
            recorded = messages.RunMetadata() if metadata is not None else None
            given = self.session.run([*phase.given, *phase.targets], {t: values[t] for t in phase.fed}, options, recorded)
            values.update(zip(phase.given, given))
            if metadata is not None and recorded is not None:
                metadata.MergeFrom(recorded)
        step.put_all({key: Arrived(values[tensor], tensor.dtype) for key, tensor in phase.sent.items()})


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
