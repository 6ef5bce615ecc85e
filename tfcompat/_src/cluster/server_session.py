"""Sessions in which servers run steps for clients: ServerSession on servers of this process, PartSession for one part of a graph on one task."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tfcompat._src.base import jax_compat, run_limits
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.remote_calls import RemoteCalls
from tfcompat._src.cluster.step_arrays import StepArray
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_value import ArrayHandle, DeviceArray, HostArray
from tfcompat._src.ops.flow.stack import Stack
from tfcompat._src.ops.queues.resource import SharedResource
from tfcompat._src.proto import messages
from tfcompat._src.runtime.host.fetched_value import fetched_value
from tfcompat._src.runtime.ir.plan import Plan
from tfcompat._src.runtime.session import run_metadata as trace
from tfcompat._src.runtime.session.fetches import Fetches, convert_feed
from tfcompat._src.runtime.session.session import BaseSession, PreparedRun
from tfcompat._src.runtime.state.random_state import RandomState
from tfcompat._src.runtime.state.run_context import RunContext, SessionLife
from tfcompat._src.runtime.state.variable_state import VariableState


class TaskState:
    """The state that the parts of a master's session share on a task: variables by key, resources by name.

    Attributes:
      own: the resources that belong to the session and end with it.
      life: the lifetime of the session.
    """

    def __init__(self, variables: VariableState, resources: dict[str, Any]) -> None:
        self.variables, self.resources = variables, resources
        self.own: dict[str, object] = {}
        self.life = SessionLife()

    def close(self) -> None:
        """Ends the resources that belong to the session."""
        self.life.end()
        self.own.clear()


class NamedRandomState(RandomState):
    """Random state in which operations of one name share a counter, even in different graphs.

    Each set of fetches registers a graph of its own, and a random operation must not begin its sequence again in the next one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, Operation] = {}

    def _counted(self, op: Operation) -> Operation:
        return self._first.setdefault(op.name, op)


class _Running(threading.local):
    cancellation: Cancellation | None = None


class ServerSession(BaseSession):
    """A session that runs on given servers of this process.

    Args:
      servers: by the name of their task. graph: a tf.Graph. config: a ConfigProto.
    """

    def __init__(self, servers: dict[str, Any], graph: Graph, config: Any) -> None:
        self._running = _Running()
        self._on_servers = servers
        super().__init__("", graph, config)

    def _remote_session(self, config: Any) -> None:
        return None

    def _find_server(self) -> Any:
        return next(iter(self._on_servers.values()))

    def _servers_of(self, config: Any) -> dict[str, Any]:
        return self._on_servers

    def _stops_waiting(self) -> bool:
        running = self._running.cancellation
        return self.context.life.is_over or (running is not None and running.is_cancelled)

    @contextlib.contextmanager
    def cancelled_by(self, cancellation: Cancellation) -> Iterator[None]:
        """Returns a context in which the runs of this thread stop when `cancellation` is cancelled."""
        # Per thread: one session runs steps for several callers at a time.
        outer, self._running.cancellation = self._running.cancellation, cancellation
        cancellation.on_cancel(self._wake)
        try:
            yield
        finally:
            self._running.cancellation = outer

    def within_limits(self) -> contextlib.AbstractContextManager[None]:
        """Returns a context in which waits of this thread end when the session closes or the step is cancelled; without a deadline."""
        return run_limits.within(0, self._stops_waiting)

    def _resources(self) -> list[dict[str, Any]]:
        """Returns the tables of the resources on which runs may wait."""
        return [self.context.resources, *(server.resources for server in self._on_servers.values())]

    def _wake(self) -> None:
        """Has the threads that wait on queues and other resources check whether their run was cancelled."""
        # A copy: other threads add resources meanwhile.
        for resources in self._resources():
            for found in list(resources.values()):
                if isinstance(found, SharedResource):
                    found.wake()


class PartSession(ServerSession):
    """A session that runs one part of a graph on a task; parts of a master's session share variables, resources and random state."""

    def __init__(
        self, server: Any, task: str, graph: Graph, config: Any, state: TaskState, random_state: RandomState, remote_calls: RemoteCalls
    ) -> None:  # fmt: skip
        self._task, self._state, self._random_state, self._remote_calls = task, state, random_state, remote_calls
        super().__init__({task: server}, graph, config)

    def _make_context(self) -> RunContext:
        # Replaces what the session would share with all sessions of the server by what this master's session shares.
        by_task = {self._task: self._state.resources}
        return dataclasses.replace(
            super()._make_context(), variable_state=self._state.variables, random_state=self._random_state, resources=self._state.own,
            resources_life=self._state.life, task_resources=by_task, shares_state=True, remote_calls=self._remote_calls,
        )  # fmt: skip

    def prepared(self, fetches: list[Tensor | Operation], feeds: list[Tensor]) -> PreparedRun:
        """Prepares a run that fetches and feeds these, for `run_prepared`."""
        return PreparedRun(Fetches(self._graph, fetches), feeds, self._graph._changes)

    def run_prepared(
        self, prepared: PreparedRun, feeds: list[object], options: messages.RunOptions, run_metadata: messages.RunMetadata | None
    ) -> list[object]:
        """Runs as `run` does; elements of TensorArrays and stacks stay what they are, and may be fed to other runs.

        Args:
          feeds: the values of prepared.feeds. options, run_metadata: as of `run`.

        Returns:
          the values of the fetched tensors.
        """
        self._check_open()
        fed = [value if _is_of_a_step(value) else convert_feed(t, value) for t, value in zip(prepared.feeds, feeds)]
        limits = run_limits.within(self._config.operation_timeout_in_ms, self._stops_waiting)
        with jax_compat.x64(), limits, trace.recording(options, run_metadata) as recorder:
            plan, values = self._computed(prepared, fed)
        if run_metadata is not None:
            self._describe(run_metadata, options, prepared, plan, recorder)
        return values

    def compute(
        self, prepared: PreparedRun, feeds: Sequence[object], context: RunContext, result: Callable[..., object] = fetched_value, lent: bool = True
    ) -> tuple[Plan, list[object]]:  # fmt: skip
        def kept(tensor: Tensor, values: dict[Tensor, Any], context: RunContext) -> object:
            value = values.get(tensor)
            return value if _is_of_a_step(value) else result(tensor, values, context)

        return super().compute(prepared, feeds, context, kept, lent)

    def _resources(self) -> list[dict[str, Any]]:
        return [self._state.own, self._state.resources]


def _is_of_a_step(value: object) -> bool:
    return isinstance(value, (ArrayHandle, DeviceArray, HostArray, Stack, StepArray))
