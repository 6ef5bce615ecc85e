"""Calls of functions on other tasks, by RemoteCall nodes that a part runs itself: those in functions of datasets, whose nodes no master places.

As in TensorFlow 1.15 (ClusterFunctionLibraryRuntime), the calling worker registers the function at the other task as a part of the master's
session, whose feeds are the arguments and whose fetches are the results; each call is a step of that part.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from tfcompat._src.base import errors, run_limits
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.cluster import wire
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.channel import Call
from tfcompat._src.cluster.graph_partition import clients_transfer
from tfcompat._src.cluster.remote_worker import RemoteWorker, run_request, run_result, step_number, worker_at
from tfcompat._src.cluster.rendezvous import Arrived, Key
from tfcompat._src.cluster.tensor_streams import task_of
from tfcompat._src.graph import attr_values, tensor_proto
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, WAITING, NotDifferentiable, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.proto import messages
from tfcompat._src.runtime.state.run_context import SessionLife, context_of

_HERE, _ELSEWHERE = "RemoteCall", "_RemoteTaskCall"
_POLL_SECONDS = 0.2
"""How often a waiting call looks whether its run was cancelled; a reply ends the wait at once."""


def device_name(target: str, task: str) -> str:
    """Returns the full name of the device that RemoteCall's `target` names; what it leaves out is that of the first CPU of `task`."""
    here = DeviceSpec.from_string(f"{task}/device:CPU:0")
    return str(here.make_merged_spec(DeviceSpec.from_string(target)).to_string())


def mark_remote_calls(graph_def: messages.GraphDef, task: str) -> None:
    """Changes the RemoteCall nodes of a part, and of its functions, that call another task than `task` into _RemoteTaskCall nodes.

    Other ones run here, as inlined functions, except those whose target is computed in the run: they become RemoteCallAtRun nodes.
    """
    for nodes in (graph_def.node, *(function.node_def for function in graph_def.library.function)):
        calls = [node for node in nodes if node.op == _HERE]
        constants = {node.name: node for node in nodes if node.op == "Const"} if calls else {}
        for node in calls:
            target = constants.get(node.input[0].partition(":")[0])
            if target is not None and task_of(device_name(_text(target), task)) != task:
                node.op = _ELSEWHERE


def _text(constant: messages.NodeDef) -> str:
    return str(tensor_proto.parse(constant.attr["value"].tensor).item().decode())


@dataclass
class _Function:
    """A function that is registered at another task: its worker, the part's handle, and the keys of arguments and results."""

    worker: RemoteWorker
    handle: str
    feeds: list[str]
    fetches: list[str]


class RemoteCalls:
    """The calls of a worker's session to functions on other tasks.

    Args:
      session: its name, by which the other tasks know it. task: the name of the calling task. addresses: of all tasks, by name.
      life: of the session; its end ends waiting calls.
    """

    def __init__(self, session: str, task: str, addresses: dict[str, str], life: SessionLife) -> None:
        self._session, self._task, self._addresses, self._life = session, task, addresses, life
        self._lock = threading.Lock()
        self._functions: dict[tuple[object, ...], _Function] = {}
        self._over = Cancellation()
        life.on_close(self._over.cancel)

    def call(self, node: Operation, target: str, arguments: Sequence[object]) -> list[NDArray]:
        """Calls the function of a _RemoteTaskCall or RemoteCallAtRun node on the device `target`; returns the results.

        Raises:
          errors.InvalidArgumentError: the session has no such task, or an argument or result is a resource or variant.
          errors.OpError: the function's error, or that of the connection. errors.CancelledError: the run or the session is over.
        """
        function = self._registered(node, device_name(target, self._task))
        sent = {key: Arrived(wire.on_host(value), dtype) for key, value, dtype in zip(function.feeds, arguments, node.attrs["Tin"], strict=True)}
        number = step_number()
        call = function.worker.begin_run(run_request(self._session, function.handle, number, sent, function.fetches, messages.RunOptions()))
        try:
            values, _ = run_result(self._reply(call))
        except BaseException:
            call.cancel()
            raise
        finally:
            function.worker.begin_cleanup(number)
        return [values[key] for key in function.fetches]

    def _reply(self, call: Call) -> messages.RunGraphResponse:
        # The threads of datasets have no limits of their own: the session's end reaches them by its life.
        while not (run_limits.is_cancelled() or self._life.is_over):
            run_limits.require_time()
            try:
                reply: messages.RunGraphResponse = call.result(_POLL_SECONDS)
                return reply
            except TimeoutError:
                continue
        raise errors.CancelledError(None, None, "RemoteCall was cancelled, as its run or its session is over.")

    def _registered(self, node: Operation, device: str) -> _Function:
        """Returns the function that a node calls, registered at the task of a device; registers it at the first call."""
        key = node.graph, node.attrs["f"], device
        with self._lock:
            if key not in self._functions:
                self._functions[key] = self._register(node, device)
            return self._functions[key]

    def _register(self, node: Operation, device: str) -> _Function:
        address = self._addresses.get(task_of(device))
        if address is None:
            raise errors.InvalidArgumentError(
                node.node_def, node, f"RemoteCall calls a function on {device}, but the session has the tasks {', '.join(sorted(self._addresses))}."
            )
        graph_def, feeds, fetches = _part(node, device)
        worker = worker_at(address)
        handle = worker.register(self._session, graph_def, messages.GraphOptions(), self._over)
        return _Function(worker, handle, feeds, fetches)


def _part(node: Operation, device: str) -> tuple[messages.GraphDef, list[str], list[str]]:
    """Returns the GraphDef of a part that calls a node's function on a device, and the rendezvous keys of its arguments and its results."""
    graph, ref = node.graph, node.attrs["f"]
    part = messages.GraphDef(versions=graph.graph_def_versions)
    for function in graph._functions.values():
        part.library.function.add().CopyFrom(function.definition)
    # Which calls leave their task is for the other worker to decide.
    for inner in (n for f in part.library.function for n in f.node_def if n.op == _ELSEWHERE):
        inner.op = _HERE
    call = messages.NodeDef(name="call", op=ref.name, device=device)
    for name, value in ref.attrs.items():
        attr_values.fill(call.attr[name], value)
    feeds, fetches = [], []
    for i, dtype in enumerate(node.attrs["Tin"]):
        key = Key(device, 1, device, f"arg_{i}")
        part.node.append(clients_transfer(f"arg_{i}", key, dtype, None))
        call.input.append(f"arg_{i}")
        feeds.append(str(key))
    part.node.append(call)
    for i, dtype in enumerate(node.attrs["Tout"]):
        key = Key(device, 1, device, f"ret_{i}")
        part.node.append(clients_transfer(f"ret_{i}", key, dtype, f"call:{i}"))
        fetches.append(str(key))
    return part, feeds, fetches


def _called(context: HostContext, target: NDArray, args: Sequence[object]) -> list[NDArray]:
    calls = context_of(context).remote_calls
    if calls is None:
        raise errors.UnimplementedError(None, None, "A function can be called on another task only in a session of a server.")
    return calls.call(context.op, target.item().decode(), args)


op(
    _ELSEWHERE, "(target: string, args: Tin, *, Tin: list(type) >= 1, Tout: list(type) >= 1, f: func) -> (output: Tout)",
    shape=si.unknown, gradient=NotDifferentiable("the function runs on another task"), kernel=_called, side=HOST, effects=WAITING, context=True,
)  # fmt: skip
