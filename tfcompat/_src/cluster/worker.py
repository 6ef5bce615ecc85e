"""The worker of a server: it runs parts of graphs on its task, and hands out what they send."""

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
from tfcompat._src.cluster.remote_worker import RemoteWorker, worker_at
from tfcompat._src.cluster.rendezvous import Arrived, Steps, parse_key
from tfcompat._src.cluster.server_session import NamedRandomState, PartSession, TaskState
from tfcompat._src.cluster.session_table import SessionTable
from tfcompat._src.cluster.tensor_streams import PUSHES, Outgoing, TensorStreams, device_of, pushing_tasks, task_of
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices import describe, session_devices
from tfcompat._src.runtime.local_servers import task_name
from tfcompat._src.runtime.variable_state import VariableState


class WorkerSession:
    """What a worker keeps for one session of a master: the parts that it registered.

    Args:
      worker: the Worker. task: the name of its task in the session. addresses: of the cluster's tasks, by their name.
      isolated: whether its variables are its own. pushing: the tasks that push tensors, and take pushed ones.
    """

    def __init__(self, worker: Worker, task: str, addresses: dict[str, str], isolated: bool, pushing: frozenset[str]) -> None:
        server = worker.server
        self._worker, self.task, self.addresses, self.pushing = worker, task, addresses, pushing - {task}
        self._state = TaskState(VariableState(), {}) if isolated else TaskState(server.variable_state, server.resources)
        self._random_state = NamedRandomState()
        self._parts: dict[str, Part] = {}

    def pushed_to(self, task: str) -> str | None:
        """The address of a task that tensors are pushed to, None where it asks for them."""
        return self.addresses.get(task) if task in self.pushing else None

    def register(self, graph_def: Any, graph_options: Any) -> str:
        """Keeps a part of a graph; its handle."""
        server = self._worker.server
        config = messages.ConfigProto()
        config.CopyFrom(server.config)
        config.graph_options.MergeFrom(graph_options)
        part = Part(graph_def, lambda graph: PartSession(server, self.task, graph, config, self._state, self._random_state))
        handle = secrets.token_hex(8)
        self._parts[handle] = part
        return handle

    def part(self, handle: str) -> Part:
        """The part of a handle; errors.AbortedError where there is none."""
        if handle not in self._parts:
            raise errors.AbortedError(
                None, None, f'Graph handle is not found: {handle}. Possibly, this worker ("{self._worker.server.task_name}") just restarted.'
            )
        return self._parts[handle]

    def deregister(self, handle: str) -> None:
        """Forgets a part."""
        self.part(handle)
        self._parts.pop(handle).close()

    def close(self) -> None:
        """Forgets all parts."""
        for handle in list(self._parts):
            self._parts.pop(handle).close()


class Worker:
    """The worker of a LocalServer."""

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
        found = describe(session_devices(self.server.config, self.server.task_name))
        return [
            messages.DeviceAttributes(
                name=d.name, device_type=d.device_type, memory_limit=d.memory_limit_bytes, incarnation=secrets.randbits(63) + 1,
                physical_device_desc=PUSHES,
            )
            for d in found
        ]  # fmt: skip

    def devices(self) -> list[Any]:
        """DeviceAttributes messages of the task; the incarnations are those of this server alone."""
        with self._lock:
            return self._devices

    # ---- sessions and parts ----

    def create_session(
        self, handle: str, named: tuple[str, dict[str, str]] | None, isolated: bool, devices: Iterable[messages.DeviceAttributes]
    ) -> None:  # fmt: skip
        """Begins a session.

        Args:
          handle: its name.
          named: the names that the session has for this task, and for the addresses of all; None where they are those of the servers.
          isolated: whether its variables are its own.
          devices: DeviceAttributes messages of the whole cluster, as far as the master knows them.
        """
        task, addresses = named or (self.server.task_name, self._own)
        pushing = frozenset[str]() if named else pushing_tasks(devices)  # streams know servers by their own names
        self._sessions.add(handle, WorkerSession(self, task, addresses, isolated, pushing))

    def session(self, handle: str) -> WorkerSession:
        """The session of a handle; errors.AbortedError where there is none."""
        found = self._sessions.get(handle)
        if found is None:
            raise errors.AbortedError(
                None, None, f'Session handle is not found: {handle}. Possibly this worker ("{self.server.task_name}") just restarted.'
            )
        return found

    def delete_session(self, handle: str) -> None:
        """Ends a session."""
        found = self._sessions.pop(handle)
        if found is not None:
            found.close()

    def register(self, session: str, graph_def: Any, graph_options: Any) -> str:
        """Keeps a part of a graph for a session; its handle."""
        return self.session(session).register(graph_def, graph_options)

    def deregister(self, session: str, handle: str) -> None:
        """Forgets a part."""
        self.session(session).deregister(handle)

    # ---- steps ----

    def run_graph(
        self, session: str, handle: str, number: int, sent: dict[str, Any], options: Any, cancellation: Cancellation
    ) -> tuple[dict[str, Arrived], Any]:  # fmt: skip
        """Runs a part in a step; arguments and results as of Part.run, the step by its number."""
        members = self.session(session)
        part = members.part(handle)
        step = self.steps.step(number)
        cancellation.on_cancel(self.streams.interrupt)
        incoming = _Incoming(self, members, number, step)
        step.fetch, step.push = incoming.fetch, Outgoing(self.streams, members, number).push
        for keys in part.received.values():
            incoming.fetch_together(keys)
        try:
            return part.run(step, sent, options, cancellation)
        except wire.FAILURES as e:
            code, text = wire.status_of(e)
            step.abort(wire.error_of(code, wire.DERIVED + text.replace(wire.DERIVED, "")))
            raise
        finally:
            incoming.cancel()

    def run_partly(
        self, session: str, handle: str, number: int, is_last: bool, options: messages.RunOptions, cancellation: Cancellation
    ) -> tuple[dict[str, Arrived], messages.RunMetadata | None]:  # fmt: skip
        """Goes on with a part in a step that its master makes in several calls; arguments as of `run_graph`.

        Raises:
          NotImplementedError: the part cannot send some tensors while it waits for others.
        """
        self.session(session).part(handle).require_partial()
        return self._partial.call(number, lambda whole: self.run_graph(session, handle, number, {}, options, whole), is_last, cancellation)

    def recv_tensor(self, number: int, text: str, cancellation: Cancellation) -> Arrived:
        """Waits for a tensor of a step that a part here sends, and takes it.

        Raises:
          errors.AbortedError: the key is of another server than this, which may have started again; or the step has ended.
        """
        key = parse_key(text)
        device = next((d for d in self.devices() if device_of(d.name) == device_of(key.send_device)), None)
        if device is None:
            raise errors.InvalidArgumentError(None, None, f"The task {self.server.task_name} has no device {key.send_device}")
        if device.incarnation != key.incarnation:
            raise errors.AbortedError(
                None, None, f"RecvTensor expects a different device incarnation: {key.incarnation} vs. {device.incarnation}. Your worker "
                f'job ("{self.server.task_name}") was probably restarted. Check your worker job for the reason why it was restarted.'
            )  # fmt: skip
        step = self.steps.step(number)
        cancellation.on_cancel(step.wake)
        with run_limits.within(0, lambda: cancellation.is_cancelled):
            return step.take(text)

    def cleanup(self, number: int) -> None:
        """Ends a step."""
        self._partial.end(number)
        self.steps.end(number)

    def cleanup_all(self, containers: Iterable[str]) -> None:
        """Forgets the variables of containers, by default of all."""
        self.server.reset(containers)


class _Incoming:
    """The tensors of a step that come from other tasks to this one."""

    def __init__(self, worker: Worker, session: WorkerSession, number: int, step: rendezvous.StepRendezvous) -> None:
        self._worker, self._session, self._number, self._step = worker, session, number, step
        self._calls: list[Any] = []
        self._is_over = False

    def fetch(self, key: str) -> None:
        """Begins to get a tensor that another task sends."""
        self.fetch_together([key])

    def fetch_together(self, keys: list[str]) -> None:
        """Begins to get tensors that a task sends, if it is another one; they must need no other than each other's stages before."""
        task = task_of(parse_key(keys[0]).send_device)
        if task in self._session.pushing:
            self._step.senders.add(task)
            return
        if task == self._session.task or not self._step.ask(keys):
            return
        if task not in self._session.addresses:
            self._step.abort(errors.NotFoundError(None, None, f"The cluster has no task {task}"))
            return
        self._begin(worker_at(self._session.addresses[task]), keys)

    def _begin(self, worker: RemoteWorker, keys: list[str]) -> None:
        for part in [keys] if worker.sends_together else [[key] for key in keys]:
            self._calls.append(worker.begin_recv(self._number, part, functools.partial(self._arrive, worker, part)))

    def _arrive(self, worker: RemoteWorker, keys: list[str], reply: Callable[[], list[Arrived]]) -> None:
        try:
            for key, arrived in zip(keys, reply(), strict=True):
                self._step.put(key, arrived)
        except errors.UnimplementedError as e:
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
        """Lets go of those that have not come."""
        self._is_over = True
        for call in self._calls:
            call.cancel()
