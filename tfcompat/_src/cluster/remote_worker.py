"""The client of a worker in another process: the calls of masters (sessions, parts, runs) and of other workers (tensors)."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.cluster import wire
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.channel import TRANSFER, WORKER, Call, RemoteService, request_id
from tfcompat._src.cluster.rendezvous import Arrived
from tfcompat._src.proto import messages

_FAREWELL_SECONDS = 60.0
"""Deadline of calls that release something at a worker, for which nobody waits."""


class RemoteWorker:
    """The worker of the server at an address. Methods raise errors.OpError if the call or the work fails.

    Attributes: `address`; `sends_together`: whether the worker has RecvTensors, which is assumed until it says otherwise.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._service = RemoteService(address, WORKER)
        self._transfers = RemoteService(address, TRANSFER)
        self.sends_together = True

    def begin_status(self) -> Call:
        """Requests the worker's devices; the reply is a GetStatusResponse."""
        return self._service.begin("GetStatus")

    def create_session(self, handle: str, isolated: bool, server_def: Any, devices: Sequence[Any], cancellation: Cancellation) -> None:
        """Creates a worker session.

        Args:
          handle: its name. isolated: whether it has variables of its own.
          server_def: a ServerDef with the session's cluster; None for the server's own.
          devices: DeviceAttributes messages of the whole cluster. cancellation: cancels the call.
        """
        self._service.call(
            "CreateWorkerSession", session_handle=handle, isolate_session_state=isolated, server_def=server_def,
            cluster_device_attributes=devices, cancellation=cancellation,
        )  # fmt: skip

    def begin_delete_session(self, handle: str) -> Call:
        """Requests the end of a session."""
        return self._service.begin("DeleteWorkerSession", timeout=_FAREWELL_SECONDS, session_handle=handle)

    def register(self, session: str, graph_def: Any, graph_options: Any, cancellation: Cancellation) -> str:
        """Registers a part of a graph; returns its handle."""
        reply = self._service.call(
            "RegisterGraph", session_handle=session, create_worker_session_called=True, graph_def=graph_def, graph_options=graph_options,
            cancellation=cancellation,
        )  # fmt: skip
        return str(reply.graph_handle)

    def begin_deregister(self, session: str, handle: str) -> Call:
        """Requests the removal of a part."""
        return self._service.begin("DeregisterGraph", session_handle=session, create_worker_session_called=True, graph_handle=handle)

    def begin_run(self, request: messages.RunGraphRequest) -> Call:
        """Starts a run of a part; the reply is a RunGraphResponse, for `run_result`."""
        return self._service.begin_with("RunGraph", request)

    def begin_recv(self, number: int, keys: Sequence[str], arrive: Callable[[Callable[[], list[Arrived]]], None]) -> Call:
        """Requests tensors of a step.

        Args:
          number: the step. keys: of the tensors; several only if `sends_together`. A worker without RecvTensors replies UnimplementedError.
          arrive: called at the reply, with a function that returns the tensors in the order of `keys`, or raises.
        """
        if len(keys) == 1:
            call = self._service.begin("RecvTensor", step_id=number, rendezvous_key=keys[0], request_id=request_id())
            call.when_done(lambda done: arrive(lambda: [_arrived(done.result())]))
        else:
            call = self._transfers.begin("RecvTensors", step_id=number, rendezvous_key=keys, request_id=request_id())
            call.when_done(lambda done: arrive(lambda: [_arrived(reply) for reply in done.result().tensor]))
        return call

    def begin_cleanup(self, number: int) -> Call:
        """Tells the worker that a step has ended."""
        return self._service.begin("CleanupGraph", timeout=_FAREWELL_SECONDS, step_id=number)

    def cleanup_all(self, containers: Sequence[str], cancellation: Cancellation) -> None:
        """Clears containers: their variables and resources. By default the job's own."""
        self._service.call("CleanupAll", container=containers, cancellation=cancellation)


@functools.cache
def worker_at(address: str) -> RemoteWorker:
    """Returns the worker of the server at an address; one object per process and address, with what it learned of the worker."""
    return RemoteWorker(address)


def _arrived(reply: Any) -> Arrived:
    """Decodes a RecvTensorResponse."""
    dtype = dtypes.as_dtype(reply.tensor.dtype)
    return Arrived(None if reply.is_dead else wire.from_proto(reply.tensor), dtype, reply.is_dead)


def step_number() -> int:
    """Returns the number of a new step. It is random: workers know steps by number alone, and several masters number theirs."""
    return secrets.randbits(55) | 1 << 55


def run_request(
    session: str, handle: str, number: int, sent: dict[str, Arrived], wanted: Sequence[str], options: messages.RunOptions
) -> messages.RunGraphRequest:
    """Makes the request to run a part in a step.

    Args:
      session, handle: identify the part. number: of the step.
      sent: fed tensors, by key. wanted: the keys of fetched tensors.
      options: RunOptions of the step.
    """
    feeds = [messages.NamedTensorProto(name=key, tensor=wire.to_proto(f.value, f.dtype)) for key, f in sent.items()]
    recorded = messages.ExecutorOpts(
        record_timeline=bool(options.trace_level), record_partition_graphs=options.output_partition_graphs
    )
    return messages.RunGraphRequest(
        session_handle=session, create_worker_session_called=True, graph_handle=handle, step_id=number, send=feeds,
        recv_key=wanted, exec_opts=recorded, store_errors_in_response_body=True, request_id=request_id(),
    )  # fmt: skip


def run_result(reply: Any) -> tuple[dict[str, Any], Any]:
    """Decodes a RunGraphResponse: returns the fetched values by key, and a RunMetadata message; raises errors.OpError if the run failed."""
    if reply.status_code:
        raise wire.error_of(reply.status_code, reply.status_error_message)
    metadata = messages.RunMetadata(step_stats=reply.step_stats, partition_graphs=reply.partition_graph)
    return {named.name: wire.from_proto(named.tensor) for named in reply.recv}, metadata
