"""One level of a part: a graph that is run in phases, and the loops that were cut out of it, which are run iteration by iteration.

Each loop runs in a thread of its own, because other tasks may wait for tensors that the level around it sends meanwhile. As TensorFlow's
workers do, a loop sends dead tensors in the iteration in which its condition is false, and in its only iteration if it is in a branch of
a conditional that is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TypeVar

from tfcompat._src.cluster import transfer_ops, wire
from tfcompat._src.cluster.computation import Computation, StepRun
from tfcompat._src.cluster.cut_loops import CutLoop
from tfcompat._src.cluster.phases import Phase, is_transfer, phases_of, predicates_of
from tfcompat._src.cluster.rendezvous import Arrived, Iteration, entered
from tfcompat._src.cluster.server_session import PartSession
from tfcompat._src.cluster.settled import SettledGraphs
from tfcompat._src.cluster.threads import THREADS
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages

_T = TypeVar("_T")


class Level:
    """A graph that is run in phases, with the loops that were cut out of it.

    Args:
      graph: the graph. library: its functions. loops: the loops. make_session: creates the PartSession of a graph.

    Attributes:
      feeds, fetches: tensors that are fed and fetched, by key. sent: key and dtype of tensors for other tasks and for its loops.
      awaited: keys of tensors that it receives from these. phases: see `phases_of`. is_cut: whether phases, not nodes, send and receive.
    """

    def __init__(
        self, graph: Graph, library: messages.FunctionDefLibrary, loops: Iterable[CutLoop], make_session: Callable[[Graph], PartSession]
    ) -> None:
        ops = graph.get_operations()
        self.graph = graph
        self.feeds = {transfer_ops.key_of(op): op.outputs[0] for op in ops if is_transfer(op, transfer_ops.RECV, True)}
        self.fetches = {transfer_ops.key_of(op): op.inputs[0] for op in ops if is_transfer(op, transfer_ops.SEND, True)}
        self.sent = [(transfer_ops.key_of(op), op.attrs["T"]) for op in ops if is_transfer(op, transfer_ops.SEND, False)]
        self.awaited = {transfer_ops.key_of(op) for op in ops if is_transfer(op, transfer_ops.RECV, False)}
        self._predicates = predicates_of(ops)
        waits = {op: [*op.control_inputs] for op in ops}
        self.phases = phases_of(graph)
        self.is_cut = any(phase.received or phase.sent for phase in self.phases)
        self._loops = [_Loop(loop, library, make_session) for loop in loops]
        self._session = make_session(graph)
        self._whole = {phase: Computation(phase, self._session, _itself, _itself) for phase in self.phases}
        self._settled = SettledGraphs(graph, library, waits, make_session)

    def run(self, run: StepRun, iteration: Iteration, values: dict[Tensor, object], absent: set[Operation]) -> messages.RunMetadata | None:
        """Runs all phases once, and the loops beside them.

        Args:
          run: the run of the part. iteration: where tensors are exchanged.
          values: the fed values; computed and received ones are added. absent: the receiving nodes of dead tensors; more are added.

        Returns:
          a RunMetadata message, or None if none is requested.

        Raises:
          errors.OpError: the error of a node, of another task, or of a loop.
        """
        metadata = messages.RunMetadata() if run.is_recorded else None
        inner = [THREADS.submit(loop.run, run, iteration) for loop in self._loops]
        with entered(run.step), self._session.cancelled_by(run.cancellation):
            left = dict(enumerate(self.phases))
            while left:
                possible = [number for number, phase in left.items() if phase.after.isdisjoint(left)]
                if len(possible) > 1:
                    with self._session.within_limits():
                        possible = [possible[iteration.first_of([left[number].received for number in possible])]]
                self._run_phase(left.pop(possible[0]), run, iteration, values, absent, metadata)
        for found in map(Future.result, inner):
            if metadata is not None and found is not None:
                metadata.MergeFrom(found)
        # Nodes that send while they run, in branches that were not taken, have sent nothing. A phase sends all it has to.
        if not self.is_cut:
            iteration.put_all({key: Arrived(None, dtype, is_dead=True) for key, dtype in self.sent if not iteration.has_put(key)})
        return metadata

    def _run_phase(
        self, phase: Phase, run: StepRun, iteration: Iteration, values: dict[Tensor, object], absent: set[Operation],
        metadata: messages.RunMetadata | None,
    ) -> None:  # fmt: skip
        """Runs a phase; adds its received tensors and results to `values`, and the receiving nodes of dead tensors to `absent`."""
        if phase.received:
            with self._session.within_limits():
                found = iteration.take_all(phase.received)
            for key, tensor in phase.received.items():
                if found[key].is_dead:
                    absent.add(tensor.op)
                else:
                    values[tensor] = found[key].value
        decided = {predicate: bool(values[predicate]) for predicate in self._predicates if predicate in values}
        if not absent and not decided:
            self._whole[phase].run(run, iteration, values, metadata)
            return
        with self._settled.lent(absent, decided) as settled, settled.session.cancelled_by(run.cancellation):
            settled.computation(phase).run(run, iteration, values, metadata)

    def close(self) -> None:
        """Closes the sessions, which ends their waits."""
        self._session.close()
        self._settled.close()
        for loop in self._loops:
            loop.close()


class _Loop:
    """A loop that was cut out; for the arguments see `Level`."""

    def __init__(self, loop: CutLoop, library: messages.FunctionDefLibrary, make_session: Callable[[Graph], PartSession]) -> None:
        self._loop = loop
        self._level = Level(loop.iteration, library, loop.loops, make_session)
        if not self._level.is_cut:
            raise NotImplementedError(
                f"tfcompat's worker cannot take part in the loop {loop.frame_name!r}, which TensorFlow 1.15's master divides over several tasks: an "
                "iteration would have to send and receive while it runs. Place the loop on one task, or use a session of a tfcompat server."
            )
        self._session = make_session(Graph())

    def run(self, run: StepRun, around: Iteration) -> messages.RunMetadata | None:
        """Runs all iterations; a failure ends the step. For the arguments and the result see `Level.run`."""
        try:
            return self._run(run, around)
        except wire.FAILURES as e:
            run.step.abort(wire.error_of(*wire.status_of(e)))
            raise

    def _run(self, run: StepRun, around: Iteration) -> messages.RunMetadata | None:
        metadata = messages.RunMetadata() if run.is_recorded else None
        with self._session.cancelled_by(run.cancellation), self._session.within_limits():
            found = around.take_all(set(self._loop.entered.values()))
        fed = {key: found[source] for key, source in self._loop.entered.items()}
        constants = {key: fed[key] for key in self._loop.constants}
        number = 0
        # As in TensorFlow, the condition's last, false value is computed in an iteration of its own, in which everything else is dead.
        while True:
            values: dict[Tensor, object] = {self._level.feeds[key]: one.value for key, one in fed.items() if not one.is_dead}
            absent = {self._level.feeds[key].op for key, one in fed.items() if one.is_dead}
            iteration = around.inside(self._loop.frame_name, number)
            recorded = self._level.run(run, iteration, values, absent)
            if metadata is not None and recorded is not None:
                metadata.MergeFrom(recorded)
            sent = iteration.take_all([*self._loop.carried.values(), *self._loop.left])
            carried = {key: sent[source] for key, source in self._loop.carried.items()}
            if all(one.is_dead for one in carried.values()):
                # The Exit nodes of this iteration alone have sent values.
                break
            fed = {**constants, **carried}
            number += 1
        around.put_all({key: sent[key] for key in self._loop.left})
        return metadata

    def close(self) -> None:
        """Closes the sessions, which ends their waits."""
        self._level.close()
        self._session.close()


def _itself(element: _T) -> _T:
    return element
