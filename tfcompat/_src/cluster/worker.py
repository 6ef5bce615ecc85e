"""The worker of a server: registers and runs parts of graphs on its task, and serves the tensors that they send to other tasks."""

from __future__ import annotations

import functools
import secrets
import threading
from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base import errors, run_limits
from tfcompat._src.cluster import rendezvous, wire
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.part import Part
from tfcompat._src.cluster.partial_steps import PartialSteps
from tfcompat._src.cluster.remote_calls import RemoteCalls, mark_remote_calls
from tfcompat._src.cluster.remote_worker import RemoteWorker, worker_at
from tfcompat._src.cluster.rendezvous import Arrived, Steps, parse_key
from tfcompat._src.cluster.server_session import NamedRandomState, PartSession, TaskState
from tfcompat._src.cluster.session_table import SessionTable
from tfcompat._src.cluster.tensor_streams import PUSHES, Outgoing, TensorStreams, device_of, pushing_tasks, task_of
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.devices import describe, session_devices
from tfcompat._src.runtime.devices.local_servers import task_name
from tfcompat._src.runtime.state.variable_state import VariableState


class WorkerSession:
    """A master's session at a worker, with the parts that the master registered.

    Args:
      worker: the Worker. handle: the session's name. task: the name of its task in the session. addresses: of the cluster's tasks, by name.
      isolated: whether the session has variables of its own. pushing: the tasks that push tensors, and accept pushed ones.
    """

    def __init__(
        self, worker: Worker, handle: str, task: str, addresses: dict[str, str], isolated: bool, pushing: frozenset[str]
    ) -> None:  # fmt: skip
        server = worker.server
        self._worker, self.task, self.addresses, self.pushing = worker, task, addresses, pushing - {task}
        self._state = TaskState(VariableState(), {}) if isolated else TaskState(server.variable_state, server.resources)
        self._random_state = NamedRandomState()
        self._remote_calls = RemoteCalls(handle, task, addresses, self._state.life)
        self._parts: dict[str, Part] = {}

    def pushed_to(self, task: str) -> str | None:
        """Returns the address of a task to which tensors are pushed; None if that task requests them."""
        return self.addresses.get(task) if task in self.pushing else None

    def register(self, graph_def: Any, graph_options: Any) -> str:
        """Registers a part of a graph; returns its handle."""
        mark_remote_calls(graph_def, self.task)
        # The part runs with the server's settings, and the master's graph options.
        server = self._worker.server
        config = messages.ConfigProto()
        config.CopyFrom(server.config)
        config.graph_options.MergeFrom(graph_options)
        shared = self._state, self._random_state, self._remote_calls
        part = Part(graph_def, lambda graph: PartSession(server, self.task, graph, config, *shared))
        handle = secrets.token_hex(8)
        self._parts[handle] = part
        return handle

    def part(self, handle: str) -> Part:
        """Returns a registered part.

        Raises:
          errors.AbortedError: the handle is unknown, as after a restart of this server. MonitoredSession recovers from it.
        """
        if handle not in self._parts:
            raise errors.AbortedError(
                None, None, f'Graph handle is not found: {handle}. Possibly, this worker ("{self._worker.server.task_name}") just restarted.'
            )
        return self._parts[handle]

    def deregister(self, handle: str) -> None:
        """Removes a part; errors.AbortedError if the handle is unknown."""
        self.part(handle)
        self._parts.pop(handle).close()

    def close(self) -> None:
        """Removes all parts, and the resources that belong to the session."""
        for handle in list(self._parts):
            self._parts.pop(handle).close()
        self._state.close()


class Worker:
    """The worker of a LocalServer: sessions of masters, steps that run here, and lines to other workers."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.steps = Steps()
        self._partial = PartialSteps()
        self.streams = TensorStreams(server.task_name, self.steps)
        self._sessions = SessionTable[WorkerSession]()
        self._lock = threading.Lock()
        self._own = {task_name(*task): address for task, address in server.addresses.items()}

    @functools.cached_property
    def _devices(self) -> list[Any]:
        # A random incarnation tells this server from one that runs at the same address later. The description tells workers of
        # tfcompat that this one pushes tensors.
        found = describe(session_devices(self.server.config, self.server.task_name))
        return [
            messages.DeviceAttributes(
                name=d.name, device_type=d.device_type, memory_limit=d.memory_limit_bytes, incarnation=secrets.randbits(63) + 1,
                physical_device_desc=PUSHES,
            )
            for d in found
        ]  # fmt: skip

    def devices(self) -> list[Any]:
        """Returns the DeviceAttributes messages of the task, with incarnations that no other server has."""
        with self._lock:
            return self._devices

    # ---- sessions and parts ----

    def create_session(
        self, handle: str, named: tuple[str, dict[str, str]] | None, isolated: bool, devices: Iterable[messages.DeviceAttributes]
    ) -> None:  # fmt: skip
        """Creates a session.

        Args:
          handle: its name.
          named: this task's name and the addresses of all tasks in a cluster that the session defines; None for the server's own cluster.
          isolated: whether the session has variables of its own.
          devices: DeviceAttributes messages of the whole cluster, as far as the master knows them.
        """
        task, addresses = named or (self.server.task_name, self._own)
        # Lines identify servers by the names that they were started with: not used where the session renames tasks.
        pushing = frozenset[str]() if named else pushing_tasks(devices)
        self._sessions.add(handle, WorkerSession(self, handle, task, addresses, isolated, pushing))

    def session(self, handle: str) -> WorkerSession:
        """Returns a session; errors.AbortedError if the handle is unknown."""
        found = self._sessions.get(handle)
        if found is None:
            raise errors.AbortedError(
                None, None, f'Session handle is not found: {handle}. Possibly this worker ("{self.server.task_name}") just restarted.'
            )
        return found

    def delete_session(self, handle: str) -> None:
        """Deletes a session, if it exists."""
        found = self._sessions.pop(handle)
        if found is not None:
            found.close()

    def register(self, session: str, graph_def: Any, graph_options: Any) -> str:
        """Registers a part of a graph for a session; returns its handle."""
        return self.session(session).register(graph_def, graph_options)

    def deregister(self, session: str, handle: str) -> None:
        """Removes a part."""
        self.session(session).deregister(handle)

    # ---- steps ----

    def run_graph(
        self, session: str, handle: str, number: int, sent: dict[str, Any], options: Any, cancellation: Cancellation
    ) -> tuple[dict[str, Arrived], Any]:  # fmt: skip
        """Runs a part in the step of this number; other arguments and results are those of Part.run."""
        members = self.session(session)
        part = members.part(handle)
        step = self.steps.step(number)
        # A cancelled step may be blocked in a send.
        cancellation.on_cancel(self.streams.interrupt)
        incoming = _Incoming(self, members, number, step)
        step.fetch, step.push = incoming.fetch, Outgoing(self.streams, members, number).push
        # Tensors are requested before the part runs: one request for those of each task and stage.
        for keys in part.received.values():
            incoming.fetch_together(keys)
        try:
            return part.run(step, sent, options, cancellation)
        except wire.FAILURES as e:
            step.abort(wire.error_of(*wire.status_of(e)))
            raise
        finally:
            incoming.cancel()

    def run_partly(
        self, session: str, handle: str, number: int, is_last: bool, options: messages.RunOptions, cancellation: Cancellation
    ) -> tuple[dict[str, Arrived], messages.RunMetadata | None]:  # fmt: skip
        """Continues a part in a partial run of a TensorFlow master; arguments as of `run_graph`.

        Raises:
          NotImplementedError: the part cannot be split into phases, so it cannot send tensors before all its feeds have come.
        """
        self.session(session).part(handle).require_partial()
        return self._partial.call(number, lambda whole: self.run_graph(session, handle, number, {}, options, whole), is_last, cancellation)

    def recv_tensor(self, number: int, text: str, cancellation: Cancellation) -> Arrived:
        """Waits for a tensor that a part here sends, and takes it. Serves RecvTensor.

        Raises:
          errors.InvalidArgumentError: this task has no such device.
          errors.AbortedError: the incarnation differs, as after a restart of this server; or the step has ended.
          errors.OpError: the step has failed here.
        """
        key = parse_key(text)
        device = next((d for d in self.devices() if device_of(d.name) == device_of(key.send_device)), None)
        # Devices are compared without their task, which a session may name otherwise.
        if device is None:
            raise errors.InvalidArgumentError(None, None, f"The task {self.server.task_name} has no device {key.send_device}")
        if device.incarnation != key.incarnation:
            raise errors.AbortedError(
                None, None, f"RecvTensor expects a different device incarnation: {key.incarnation} vs. {device.incarnation}. Your worker "
                f'job ("{self.server.task_name}") was probably restarted. Check your worker job for the reason why it was restarted.'
            )  # fmt: skip
        # The request may come before the part runs: the step begins with whatever comes first.
        step = self.steps.step(number)
        cancellation.on_cancel(step.wake)
        with run_limits.within(0, lambda: cancellation.is_cancelled):
            try:
                return step.take(text)
            except errors.OpError as e:
                # Marked as derived, as the part that has failed here reports the error itself: masters report original errors only.
                code, message = wire.status_of(e)
                raise wire.error_of(code, wire.DERIVED + message.replace(wire.DERIVED, "")) from None

    def cleanup(self, number: int) -> None:
        """Ends a step: drops its tensors and fails its waits."""
        self._partial.end(number)
        self.steps.end(number)

    def cleanup_all(self, containers: Iterable[str]) -> None:
        """Clears containers: their variables and resources. By default the job's own."""
        self.server.reset(containers)


class _Incoming:
    """The requests of a step for tensors that other tasks send to this one."""

    def __init__(self, worker: Worker, session: WorkerSession, number: int, step: rendezvous.StepRendezvous) -> None:
        self._worker, self._session, self._number, self._step = worker, session, number, step
        self._calls: list[Any] = []
        self._is_over = False

    def fetch(self, key: str) -> None:
        """Requests a tensor that another task sends; see `fetch_together`."""
        self.fetch_together([key])

    def fetch_together(self, keys: list[str]) -> None:
        """Requests tensors that one other task sends in one stage; does nothing for tensors of this task.

        The reply comes when all of them are there, so none may depend on what this task does after it has received another of them.
        """
        task = task_of(parse_key(keys[0]).send_device)
        # Pushed tensors come without a request. `senders` has the step fail if the task's line ends.
        is_new = self._step.ask(keys)
        if task in self._session.pushing:
            self._step.senders.add(task)
            return
        if task == self._session.task or not is_new:
            return
        if task not in self._session.addresses:
            self._step.abort(errors.NotFoundError(None, None, f"The cluster has no task {task}"))
            return
        self._begin(worker_at(self._session.addresses[task]), keys)

    def _begin(self, worker: RemoteWorker, keys: list[str]) -> None:
        """Sends one RecvTensors request, or a RecvTensor request for each key if the worker does not know RecvTensors."""
        for part in [keys] if worker.sends_together else [[key] for key in keys]:
            self._calls.append(worker.begin_recv(self._number, part, functools.partial(self._arrive, worker, part)))

    def _arrive(self, worker: RemoteWorker, keys: list[str], reply: Callable[[], list[Arrived]]) -> None:
        try:
            for key, arrived in zip(keys, reply(), strict=True):
                self._step.put(key, arrived)
        except errors.UnimplementedError as e:
            # TensorFlow's workers have no RecvTensors: the keys are requested one by one, now and later.
            if len(keys) == 1:
                self._fail(e)
                return
            worker.sends_together = False
            self._begin(worker, keys)
        except errors.OpError as e:
            self._fail(e)

    def _fail(self, error: errors.OpError) -> None:
        if not self._is_over:
            self._step.abort(error)

    def cancel(self) -> None:
        """Cancels the requests that have no reply yet."""
        self._is_over = True
        for call in self._calls:
            call.cancel()
