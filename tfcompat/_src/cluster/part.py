"""A part of a graph that a master has registered at a worker, and its runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from tfcompat._src.base import errors
from tfcompat._src.cluster import session_graph, transfer_ops
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.local_steps import asks_for_metadata
from tfcompat._src.cluster.part_order import STAGE, ordered
from tfcompat._src.cluster.phases import Phase, is_transfer, phases_of, predicates_of
from tfcompat._src.cluster.placement import Conditions, loops, needed
from tfcompat._src.cluster.receipts import add_receipts
from tfcompat._src.cluster.rendezvous import Arrived, StepRendezvous, entered
from tfcompat._src.cluster.server_session import PartSession
from tfcompat._src.cluster.settled import SettledGraph
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages

_T = TypeVar("_T")


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
        self._make_session, self._library = make_session, graph_def.library
        self._graph = graph = Graph()
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
        self._predicates = predicates_of(ops)
        self._phases = phases_of(graph)
        self._is_cut = any(phase.received or phase.sent for phase in self._phases)
        if not self._is_cut:
            _check_control_flow(graph)
        self._session = make_session(graph)
        self._lock = threading.Lock()
        self._settled: dict[tuple[object, ...], tuple[SettledGraph, PartSession]] = {}

    def require_partial(self) -> None:
        """NotImplementedError where it cannot run while a client feeds and fetches one by one."""
        if not self._is_cut and (self._sent or self._awaited):
            raise NotImplementedError(
                "tfcompat's worker cannot take part in this partial_run, whose master is TensorFlow 1.15's: what its part of the graph sends "
                "needs some, but not all, of the same tensors of other tasks. Use run, or a session of a tfcompat server."
            )

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
        if metadata is not None and options.output_partition_graphs:
            metadata.partition_graphs.add().CopyFrom(self._graph.as_graph_def())
        options = messages.RunOptions(trace_level=options.trace_level)
        values = {tensor: sent[key] for key, tensor in self._feeds.items()}
        if metadata is not None and step.receipts is None:
            step.receipts = []
        cancellation.on_cancel(step.wake)
        absent: set[Operation] = set()
        with entered(step), self._session.cancelled_by(cancellation):
            left = dict(enumerate(self._phases))
            while left:
                possible = [number for number, phase in left.items() if phase.after.isdisjoint(left)]
                if len(possible) > 1:
                    with self._session.within_limits():
                        possible = [possible[step.first_of([left[number].received for number in possible])]]
                self._run_phase(left.pop(possible[0]), step, values, absent, options, metadata, cancellation)
        if metadata is not None:
            add_receipts(metadata, step, self._awaited)
        for key, dtype in self._sent:
            if not step.has_put(key):
                step.put(key, Arrived(None, dtype, is_dead=True))
        for key, tensor in self._fetches.items():
            if tensor not in values:
                raise errors.InvalidArgumentError(None, None, f"The tensor returned for {key} was not valid.")
        return {key: Arrived(values[t], t.dtype) for key, t in self._fetches.items()}, metadata

    def _run_phase(
        self, phase: Phase, step: StepRendezvous, values: dict[Tensor, object], absent: set[Operation], options: messages.RunOptions,
        metadata: messages.RunMetadata | None, cancellation: Cancellation,
    ) -> None:  # fmt: skip
        """Runs a phase, which adds what it receives and gives to `values`, and to `absent` the nodes that receive what is not there."""
        if phase.received:
            with self._session.within_limits():
                found = step.take_all(phase.received)
            for key, tensor in phase.received.items():
                if found[key].is_dead:
                    absent.add(tensor.op)
                else:
                    values[tensor] = found[key].value
        decided = {predicate: bool(values[predicate]) for predicate in self._predicates if predicate in values}
        session = self._session
        tensor_of: Callable[[Tensor], Tensor | None] = _itself
        operation_of: Callable[[Operation], Operation | None] = _itself
        if absent or decided:
            settled, session = self._settle(absent, decided)
            tensor_of, operation_of = settled.tensor, settled.operation
        given = [(t, there) for t in phase.given if (there := tensor_of(t)) is not None]
        targets = [op for op in map(operation_of, phase.targets) if op is not None]
        if given or targets:
            fed = {there: values[t] for t in phase.fed if (there := tensor_of(t)) is not None}
            recorded = messages.RunMetadata() if metadata is not None else None
            with session.cancelled_by(cancellation):
                results = session.run([*(there for _, there in given), *targets], fed, options, recorded)
            values.update(zip((t for t, _ in given), results))
            if metadata is not None and recorded is not None:
                metadata.MergeFrom(recorded)
        for_others = {key: (op.inputs[0], operation_of(op) is None) for key, op in phase.sent.items()}
        step.put_all({key: Arrived(None if is_dead else values[t], t.dtype, is_dead) for key, (t, is_dead) in for_others.items()})

    def _settle(self, absent: set[Operation], decided: dict[Tensor, bool]) -> tuple[SettledGraph, PartSession]:
        """The graph where some received tensors are not there and predicates have values, with a session that runs it."""
        key = (frozenset(absent), *decided.items())
        with self._lock:
            if key not in self._settled:
                settled = SettledGraph(self._graph, self._library, absent, decided)
                self._settled[key] = settled, self._make_session(settled.graph)
            return self._settled[key]

    def close(self) -> None:
        """Lets go of what waits."""
        with self._lock:
            sessions = [self._session, *(session for _, session in self._settled.values())]
        for session in sessions:
            session.close()


def _itself(element: _T) -> _T:
    return element


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
