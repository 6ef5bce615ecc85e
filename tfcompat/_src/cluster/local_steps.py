"""Steps of a master session whose tasks are all in this process: each is one run of the runtime, without a partition by task."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.cluster import wire
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.server_session import ServerSession
from tfcompat._src.cluster.tensor_streams import device_of
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages


def asks_for_metadata(options: Any) -> bool:
    """Whether RunOptions request something that RunMetadata holds."""
    return bool(options.trace_level or options.output_partition_graphs)


def renamed(device: messages.DeviceAttributes, task: str) -> messages.DeviceAttributes:
    """Returns a copy of DeviceAttributes with the task's name in a session, which may differ from the server's own."""
    found = messages.DeviceAttributes()
    found.CopyFrom(device)
    found.name = f"{task}/device:{device_of(device.name)}"
    return found


class LocalSteps:
    """Runs steps on servers of this process.

    Args:
      servers: by the name of their task. graph: a tf.Graph. config: a ConfigProto.
    """

    def __init__(self, servers: dict[str, Any], graph: Graph, config: Any) -> None:
        self._servers, self._graph = servers, graph
        self._session = ServerSession(servers, graph, config)
        self._partial: dict[str, Any] = {}
        self._numbers = itertools.count(1)

    def run(
        self, feeds: dict[Tensor, Any], fetches: Sequence[Tensor], targets: Sequence[Operation], options: Any, cancellation: Cancellation
    ) -> tuple[list[Any], Any]:  # fmt: skip
        """Returns the values of `fetches` and a RunMetadata message, or None; see MasterSession.run."""
        metadata = messages.RunMetadata() if asks_for_metadata(options) else None
        # Places nodes that were added since the last run, so that errors can name tasks.
        self._session.context.placer.place(self._graph, [])
        with self._session.cancelled_by(cancellation):
            try:
                values = self._session.run([*fetches, *targets], feeds, options, metadata)
            except errors.OpError as e:
                raise self._from_task(e) from None
        return values[: len(fetches)], metadata

    def set_up(self, feeds: list[Tensor], fetches: list[Tensor], targets: list[Operation]) -> str:
        """Prepares a partial run; returns its name for `go_on`."""
        name = f"{next(self._numbers)}"
        self._partial[name] = self._session.partial_run_setup([*fetches, *targets], feeds)
        return name

    def go_on(
        self, name: str, feeds: dict[Tensor, Any], fetches: Sequence[Tensor], targets: Sequence[Operation], cancellation: Cancellation
    ) -> list[Any]:  # fmt: skip
        """Continues a partial run; returns the values of `fetches`."""
        if name not in self._partial:
            raise errors.InvalidArgumentError(None, None, "Must run PartialRunSetup before performing partial runs")
        with self._session.cancelled_by(cancellation):
            try:
                values = self._session.partial_run(self._partial[name], [*fetches, *targets], feeds)
            except errors.OpError as e:
                raise self._from_task(e) from None
        found: list[Any] = values[: len(fetches)]
        return found

    def _from_task(self, error: errors.OpError) -> errors.OpError:
        """Returns an error as a TensorFlow master reports it: prefixed with the task of its node; a timeout has no node."""
        if isinstance(error, errors.DeadlineExceededError):
            return errors.DeadlineExceededError(None, None, "Deadline Exceeded")
        if not isinstance(error.op, Operation) or error.op.graph is not self._graph:
            return error
        code, text = wire.status_of(error)
        return wire.error_of(code, f"From {self._session.context.placer.task_of(error.op)}:\n{text}")

    def devices(self) -> list[Any]:
        """Returns the DeviceAttributes messages of all tasks."""
        return [renamed(d, task) for task, server in self._servers.items() for d in server.services.worker.devices()]

    def close(self) -> None:
        """Closes the session, which ends the waits of its runs."""
        self._session.close()
