"""What a phase of a part computes: one prepared run of a session, with what is fed to it and what is sent of its results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.phases import Phase
from tfcompat._src.cluster.rendezvous import Arrived, Iteration, StepRendezvous
from tfcompat._src.cluster.server_session import PartSession
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_value import DeviceArray, HostArray
from tfcompat._src.proto import messages


@dataclass
class StepRun:
    """One run of a part: its step, the RunOptions, the cancellation that ends it, and whether RunMetadata are requested."""

    step: StepRendezvous
    options: messages.RunOptions
    cancellation: Cancellation
    is_recorded: bool


class Computation:
    """A phase, prepared to run in a session whose graph has the nodes of the phase, or what is left of them.

    Args:
      phase: of a part's graph. session: the session.
      tensor_of, operation_of: return the session's tensor or operation for one of the part's graph; None if it is dead.
    """

    def __init__(
        self, phase: Phase, session: PartSession, tensor_of: Callable[[Tensor], Tensor | None], operation_of: Callable[[Operation], Operation | None]
    ) -> None:
        given = [(t, there) for t in phase.given if (there := tensor_of(t)) is not None]
        targets = [op for op in map(operation_of, phase.targets) if op is not None]
        fed = [(t, there) for t in phase.fed if (there := tensor_of(t)) is not None]
        self._session = session
        self._fed, self._given = [t for t, _ in fed], [t for t, _ in given]
        self._prepared = session.prepared([*(there for _, there in given), *targets], [there for _, there in fed]) if given or targets else None
        self._sent = [(key, op, operation_of(op) is None) for key, op in phase.sent.items()]

    def run(self, run: StepRun, iteration: Iteration, values: dict[Tensor, object], metadata: messages.RunMetadata | None) -> None:
        """Computes the results and runs the targets, as far as they are not dead, and sends.

        Args:
          run: the run of the part. iteration: where tensors are exchanged.
          values: the tensors of the part's graph that are known; the results are added. metadata: receives what is recorded, if any.

        Raises:
          errors.OpError: the error of a node.
        """
        if self._prepared is not None:
            recorded = messages.RunMetadata() if metadata is not None else None
            results = self._session.run_prepared(self._prepared, [values[t] for t in self._fed], run.options, recorded)
            values.update(zip(self._given, results))
            if metadata is not None and recorded is not None:
                metadata.MergeFrom(recorded)
        if self._sent:
            iteration.put_all({key: _sent(op, values, is_dead) for key, op, is_dead in self._sent})


def _sent(op: Operation, values: dict[Tensor, object], is_dead: bool) -> Arrived:
    """Returns what a node sends. To other tasks a TensorArray's flow is only a number, which orders operations, as in TensorFlow."""
    tensor = op.inputs[0]
    value = None if is_dead else values[tensor]
    is_token = isinstance(value, (DeviceArray, HostArray)) and op.attrs["send_device"] != op.attrs["recv_device"]
    return Arrived(np.float32(0) if is_token else value, tensor.dtype, is_dead)
