"""Steps of a master session whose tasks are in several processes: the graph is partitioned by task, and all parts run at the same time.

The partition is registered with the workers once for each set of feeds, fetches and targets. A step is then one RunGraph call per task; workers
exchange tensors among themselves.
"""

from __future__ import annotations

import functools
import itertools
import queue
import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.cluster import wire
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.channel import Call
from tfcompat._src.cluster.graph_partition import GraphPartition, TaskPart
from tfcompat._src.cluster.local_steps import asks_for_metadata, renamed
from tfcompat._src.cluster.members import Member
from tfcompat._src.cluster.placement import needed
from tfcompat._src.cluster.remote_worker import RemoteWorker, run_request, run_result, step_number
from tfcompat._src.cluster.rendezvous import Arrived
from tfcompat._src.cluster.stream_calls import StreamCall
from tfcompat._src.cluster.tensor_streams import pushing_tasks
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices.devices import Device
from tfcompat._src.runtime.devices.placer import Placer
from tfcompat._src.runtime.passes.derivatives import noted_in
from tfcompat._src.runtime.session.partial_run import PartialRun

_PATIENCE_SECONDS = 10.0
"""A master that waits for a task logs that after so many seconds, and again."""


@dataclass
class _Registered:
    """A part that is registered with a worker: the worker (ours or a RemoteWorker), and the handle that it returned."""

    task: str
    worker: Any
    handle: str
    part: TaskPart


class _Outcomes:
    """Collects the results of a step's parts.

    An original failure cancels the other parts. A derived one (`[_Derived_]`) does not: the part that failed first will report its own
    error, which cancelling could replace by CancelledError.
    """

    def __init__(self, stop: Cancellation) -> None:
        self._stop, self._queue = stop, queue.SimpleQueue[tuple[Any, ...]]()

    def add(self, task: str, run: Any) -> None:
        """Calls `run` and records its result or error as that of a task."""
        try:
            self._queue.put((task, run(), None))
        except wire.FAILURES as e:
            failure = _from_task(task, e)
            self._queue.put((task, None, failure))
            if wire.DERIVED not in failure[1]:
                self._stop.cancel()

    def all(self, count: int) -> list[tuple[dict[str, Any], Any]]:
        """Waits for `count` tasks and returns their results.

        Raises:
          errors.OpError: a task failed. The text has the original errors, without derived ones.
        """
        found = [self._queue.get() for _ in range(count)]
        failures = [failure for _, _, failure in found if failure is not None]
        if failures:
            raise wire.error_of(*wire.joined(failures))
        return [result for _, result, _ in found]


def _from_task(task: str, error: Exception) -> tuple[int, str]:
    """Returns the code and the text of an error, prefixed with its task as in TensorFlow."""
    code, text = wire.status_of(error)
    return code, f"From {task}:\n{text}"


class ClusterSteps:
    """Runs steps on tasks of several processes.

    Args:
      own: the Worker of the master's server. members: the tasks, in the order in which nodes without a device prefer them.
      graph: a tf.Graph. config: a ConfigProto. handle: the session's name.
      cancellation: cancels the wait for tasks that do not answer.

    Raises:
      errors.OpError: a task does not create the session.
    """

    def __init__(
        self, own: Any, members: list[Member], graph: Graph, config: Any, handle: str, cancellation: Cancellation
    ) -> None:  # fmt: skip
        self._own, self._graph, self._config, self._handle = own, graph, config, handle
        self._address = next(member.address for member in members if member.server is own.server)
        self._workers = {member.task: member.worker(own) for member in members}
        self._devices = devices_of(self._workers, cancellation)
        # Lines identify servers by the names that they were started with: not used where the session renames tasks.
        self._pushing = frozenset[str]() if config.cluster_def.job else pushing_tasks(self._devices)
        # Part of rendezvous keys: a worker refuses keys of a server that has restarted since.
        self._incarnations = {
            task: next(d.incarnation for d in self._devices if d.name == f"{task}/device:CPU:0") for task in self._workers
        }
        self._placer = Placer([Device(d.name, d.device_type, None) for d in self._devices if _is_placed(d)], config)
        self._lock = threading.Lock()
        self._numbers, self._partial = itertools.count(1), dict[str, PartialRun]()
        self._registered: dict[tuple[Any, ...], list[_Registered]] = {}
        self._begin_sessions(members, cancellation)

    def _begin_sessions(self, members: list[Member], cancellation: Cancellation) -> None:
        """Creates the worker session of each task, with the names and addresses of the session's own cluster if it has one."""
        config = self._config
        named = bool(config.cluster_def.job)
        # As in TensorFlow 1.15: a session that names a cluster has variables of its own, unless it asks to share.
        isolated = config.isolate_session_state or (named and not config.experimental.share_session_state_in_clusterspec_propagation)
        addresses = {member.task: member.address for member in members} if named else {}
        for member in members:
            worker = self._workers[member.task]
            server_def = None
            if named:
                job, index = member.task.removeprefix("/job:").split("/replica:0/task:")
                server_def = messages.ServerDef(cluster=config.cluster_def, job_name=job, task_index=int(index), protocol="grpc")
            if worker is self._own:
                worker.create_session(self._handle, (member.task, addresses) if named else None, isolated, self._devices)
            else:
                worker.create_session(self._handle, isolated, server_def, self._devices, cancellation)

    # ---- steps ----

    def run(
        self, feeds: dict[Tensor, Any], fetches: Sequence[Tensor], targets: Sequence[Operation], options: Any, cancellation: Cancellation
    ) -> tuple[list[Any], Any]:  # fmt: skip
        """Returns the values of `fetches` and a RunMetadata message, or None; see MasterSession.run."""
        return self._computed(feeds, fetches, targets, options, cancellation)

    def _computed(
        self, feeds: dict[Tensor, object], fetches: Sequence[Tensor], targets: Sequence[Operation], options: messages.RunOptions,
        cancellation: Cancellation, ran: Collection[Operation] = (),
    ) -> tuple[list[object], messages.RunMetadata | None]:  # fmt: skip
        """Runs a step; operations in `ran` were run by earlier calls of a partial run."""
        parts = self._parts_for(list(feeds), list(fetches), list(targets), ran, cancellation)
        results = self._run_parts(parts, feeds, options, cancellation) if parts else []
        metadata = None
        if asks_for_metadata(options):
            metadata = messages.RunMetadata()
            for _, recorded in results:
                metadata.MergeFrom(recorded or messages.RunMetadata())
        # Fed tensors are no part's fetch: they are returned as they came.
        by_key = {key: value for values, _ in results for key, value in values.items()}
        keys = {t: key for registered in parts for t, key in registered.part.fetches.items()}
        return [by_key[keys[t]] if t in keys else feeds[t] for t in fetches], metadata

    def _parts_for(
        self, feeds: list[Tensor], fetches: list[Tensor], targets: list[Operation], ran: Collection[Operation], cancellation: Cancellation
    ) -> list[_Registered]:
        """Returns the registered parts of a step; registers them if the step is new."""
        # The lock is held while parts are registered: a second run of the same step waits, instead of registering them again.
        key = (frozenset(feeds), frozenset(fetches), frozenset(targets), frozenset(ran))
        with self._lock:
            if key not in self._registered:
                self._registered[key] = self._register(feeds, fetches, targets, ran, cancellation)
            return self._registered[key]

    def _register(
        self, feeds: list[Tensor], fetches: list[Tensor], targets: list[Operation], ran: Collection[Operation], cancellation: Cancellation
    ) -> list[_Registered]:
        """Places and partitions the graph, and registers each part with its worker."""
        self._placer.place(self._graph, targets)
        # With the derivatives, workers can compile a loop and its gradient as one differentiated loop.
        noted = noted_in(self._graph, self._graph.get_operations())
        partition = GraphPartition(feeds, fetches, targets, lambda op: self._placer.device_of(op).name, self._incarnations, noted, ran)
        found = []
        for task, part in partition.parts.items():
            worker = self._workers[task]
            try:
                graph_def = part.graph_def(self._graph)
                if worker is self._own:
                    handle = worker.register(self._handle, graph_def, self._config.graph_options)
                else:
                    handle = worker.register(self._handle, graph_def, self._config.graph_options, cancellation)
            except wire.FAILURES as e:
                raise wire.error_of(*_from_task(task, e)) from None
            found.append(_Registered(task, worker, handle, part))
        return found

    def _run_parts(
        self, parts: list[_Registered], feeds: dict[Tensor, Any], options: Any, cancellation: Cancellation
    ) -> list[tuple[dict[str, Any], Any]]:
        """Runs the parts of a step; returns for each the fetched values by key, and a RunMetadata message."""
        number = step_number()
        # `stop` ends this step only: it is cancelled with the caller's cancellation, or by the first part that fails.
        stop = Cancellation()
        cancellation.on_cancel(stop.cancel)
        stop.on_cancel(self._own.streams.interrupt)
        outcomes = _Outcomes(stop)
        own = None
        # Between tasks that push all their tensors, a task ends the step by itself after its part: a message less for each.
        pushes_all, has_ended = all(registered.task in self._pushing for registered in parts), False
        try:
            # Remote parts start first; the own part then runs in this thread.
            for registered in parts:
                if registered.worker is self._own:
                    own = registered
                    continue
                sent = {key: Arrived(feeds[t], t.dtype) for t, key in registered.part.feeds.items()}
                wanted = list(registered.part.fetches.values())
                request = run_request(self._handle, registered.handle, number, sent, wanted, options)
                if stop.is_cancelled:
                    raise errors.CancelledError(None, None, "Step was cancelled")
                call = self._begin_run(registered, request, pushes_all)
                stop.on_cancel(call.cancel)
                call.when_done(functools.partial(_finish, outcomes, registered.task))
            if own is not None:
                outcomes.add(own.task, lambda: self._run_own(own, number, feeds, options, stop))
            found = outcomes.all(len(parts))
            has_ended = pushes_all
            return found
        # Also after a failure: workers keep the tensors of a step until they are told that it has ended.
        finally:
            stop.over()
            for registered in parts:
                if registered.worker is self._own or not has_ended:
                    self._clean_up(registered, number)

    def _begin_run(self, registered: _Registered, request: messages.RunGraphRequest, is_last: bool) -> Call | StreamCall:
        """Asks a task to run its part, the last thing that the step needs of it or not: over its line of tensors if it has one, else by RunGraph."""
        worker, calls = registered.worker, self._own.streams.calls
        pushes = registered.task in self._pushing
        call: Call | StreamCall = calls.begin(worker.address, self._address, request, is_last) if pushes else worker.begin_run(request)
        return call

    def _clean_up(self, registered: _Registered, number: int) -> None:
        """Tells a task that a step has ended. Does not wait for an answer."""
        if registered.worker is self._own:
            self._own.cleanup(number)
        elif registered.task in self._pushing:
            self._own.streams.end(registered.worker.address, number)
        else:
            registered.worker.begin_cleanup(number)

    def _run_own(
        self, own: _Registered, number: int, feeds: dict[Tensor, Any], options: Any, stop: Cancellation
    ) -> tuple[dict[str, Any], Any]:
        """Runs the part of the master's own task, without an RPC."""
        # Feeds and fetches are handed over as they are, without TensorProtos.
        sent = {key: feeds[t] for t, key in own.part.feeds.items()}
        recorded = messages.RunOptions(trace_level=options.trace_level, output_partition_graphs=options.output_partition_graphs)
        found, metadata = self._own.run_graph(self._handle, own.handle, number, sent, recorded, stop)
        return {key: arrived.value for key, arrived in found.items()}, metadata

    def set_up(self, feeds: list[Tensor], fetches: list[Tensor], targets: list[Operation]) -> str:
        """Prepares a partial run, a step of several `go_on` calls; returns its name.

        The master fetches the tensors that later calls need, and feeds them again.
        """
        # Each call is a step of its own, with what earlier calls computed as feeds, so workers know nothing of partial runs.
        name = f"{next(self._numbers)}"
        self._partial[name] = PartialRun(fetches, targets, feeds, _needed)
        return name

    def go_on(
        self, name: str, feeds: dict[Tensor, Any], fetches: Sequence[Tensor], targets: Sequence[Operation], cancellation: Cancellation
    ) -> list[Any]:  # fmt: skip
        """Continues a partial run; returns the values of `fetches`."""
        if name not in self._partial:
            raise errors.InvalidArgumentError(None, None, "Must run PartialRunSetup before performing partial runs")
        options = messages.RunOptions()
        found = self._partial[name].go_on(
            list(fetches), list(targets), feeds,
            lambda wanted, more, given, ran: self._computed(given, wanted, more, options, cancellation, ran)[0],
        )  # fmt: skip
        return [found[t] for t in fetches]

    def devices(self) -> list[Any]:
        """Returns the DeviceAttributes messages of all tasks."""
        return self._devices

    def close(self) -> None:
        """Deletes the worker sessions of all tasks. Does not wait for the answers."""
        for worker in self._workers.values():
            if worker is self._own:
                worker.delete_session(self._handle)
            else:
                worker.begin_delete_session(self._handle)


def _needed(
    fetched: Iterable[Tensor], targets: Iterable[Operation], fed: Iterable[Tensor], ran: Collection[Operation]
) -> list[Operation]:
    """Returns the operations that fetches and targets need; a function call is one operation."""
    return needed(fetched, targets, set(fed), ran)


def _finish(outcomes: _Outcomes, task: str, call: Call | StreamCall) -> None:
    outcomes.add(task, lambda: run_result(call.result()))


def _is_placed(device: Any) -> bool:
    """Whether the placer may use a device. TensorFlow's workers list XLA devices too, which it skips."""
    return not device.device_type.startswith("XLA_")


def devices_of(workers: dict[str, Any], cancellation: Cancellation) -> list[Any]:
    """Returns the DeviceAttributes messages of tasks; waits until all have answered."""
    # All tasks are asked at once, then waited for one by one.
    calls = {task: worker.begin_status() for task, worker in workers.items() if isinstance(worker, RemoteWorker)}
    found = []
    for task, worker in workers.items():
        if task not in calls:
            found += [renamed(d, task) for d in worker.devices()]
            continue
        # As TensorFlow 1.15 does: waits for ever, and says for whom.
        cancellation.on_cancel(calls[task].cancel)
        reply = None
        while reply is None:
            try:
                reply = calls[task].result(_PATIENCE_SECONDS)
            except TimeoutError:
                logging.info("CreateSession still waiting for response from worker: %s", task)
        found += [renamed(d, task) for d in reply.device_attributes]
    return found
