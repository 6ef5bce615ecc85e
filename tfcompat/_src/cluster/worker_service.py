"""WorkerService of TensorFlow, and tfcompat's TransferService: decode requests, call the Worker, encode replies."""

from __future__ import annotations

import time
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.cluster import wire
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.collective_groups import CollectiveGroups
from tfcompat._src.cluster.lines import Door
from tfcompat._src.cluster.request_ids import RequestIds
from tfcompat._src.cluster.worker import Worker
from tfcompat._src.proto import messages, pool
from tfcompat._src.runtime.devices.local_servers import task_name

_FULL_TRACE = 3


class WorkerService:
    """Serves requests to a Worker. Each method takes a request and a Cancellation, which is cancelled when the caller gives up.

    Methods are named as in worker_service.proto, RecvTensors and Open as in tfcompat's own transfer service.
    """

    def __init__(self, worker: Worker, collectives: CollectiveGroups, door: Door) -> None:
        self._worker, self._collectives, self._door = worker, collectives, door
        self._requests = RequestIds("RunGraph (Worker)")
        self._receipts = RequestIds("RecvTensor (Worker)")

    def GetStatus(self, request: Any, cancellation: Cancellation) -> Any:
        return messages.GetStatusResponse(device_attributes=self._worker.devices())

    def CreateWorkerSession(self, request: Any, cancellation: Cancellation) -> Any:
        server_def = request.server_def
        addresses = {task_name(job.name, index): address for job in server_def.cluster.job for index, address in job.tasks.items()}
        # A ServerDef without a cluster means the cluster that this server was started with.
        named = (task_name(server_def.job_name, server_def.task_index), addresses) if addresses else None
        self._worker.create_session(request.session_handle, named, request.isolate_session_state, request.cluster_device_attributes)
        return messages.CreateWorkerSessionResponse()

    def DeleteWorkerSession(self, request: Any, cancellation: Cancellation) -> Any:
        self._worker.delete_session(request.session_handle)
        return messages.DeleteWorkerSessionResponse()

    def RegisterGraph(self, request: Any, cancellation: Cancellation) -> Any:
        handle = self._worker.register(request.session_handle, request.graph_def, request.graph_options)
        return messages.RegisterGraphResponse(graph_handle=handle)

    def DeregisterGraph(self, request: Any, cancellation: Cancellation) -> Any:
        self._worker.deregister(request.session_handle, request.graph_handle)
        return messages.DeregisterGraphResponse()

    def RunGraph(self, request: messages.RunGraphRequest, cancellation: Cancellation) -> messages.RunGraphResponse:
        reply = messages.RunGraphResponse()
        try:
            # A repeated request must not run the part again.
            self._requests.require_new(request.request_id)
            sent = {named.name: wire.from_proto(named.tensor) for named in request.send}
            options = messages.RunOptions(
                trace_level=_FULL_TRACE if request.exec_opts.record_timeline else 0,
                output_partition_graphs=request.exec_opts.record_partition_graphs,
            )
            part = request.session_handle, request.graph_handle, request.step_id
            if request.is_partial:
                found, metadata = self._worker.run_partly(*part, request.is_last_partial_run, options, cancellation)
            else:
                found, metadata = self._worker.run_graph(*part, sent, options, cancellation)
            for key in request.recv_key:
                if key not in found:
                    raise errors.InvalidArgumentError(None, None, f"The registered part of the graph does not send {key}, which RunGraph fetches.")
                reply.recv.add(name=key, tensor=wire.to_proto(found[key].value, found[key].dtype))
            if metadata is not None:
                reply.step_stats.CopyFrom(metadata.step_stats)
                reply.partition_graph.extend(metadata.partition_graphs)
        except wire.FAILURES as e:
            # The body holds an error of any length; a status is truncated.
            if not request.store_errors_in_response_body:
                raise
            reply.status_code, reply.status_error_message = wire.status_of(e)
        return reply

    def CleanupGraph(self, request: Any, cancellation: Cancellation) -> Any:
        self._worker.cleanup(request.step_id)
        return messages.CleanupGraphResponse()

    def CleanupAll(self, request: Any, cancellation: Cancellation) -> Any:
        self._worker.cleanup_all(request.container)
        return messages.CleanupAllResponse()

    def RecvTensor(self, request: Any, cancellation: Cancellation) -> Any:
        self._receipts.require_new(request.request_id)
        return self._tensor(request.step_id, request.rendezvous_key, cancellation)

    def RecvTensors(self, request: Any, cancellation: Cancellation) -> Any:
        self._receipts.require_new(request.request_id)
        found = [self._tensor(request.step_id, key, cancellation) for key in request.rendezvous_key]
        return pool.message("tfcompat.RecvTensorsResponse")(tensor=found)

    def Open(self, request: Any, cancellation: Cancellation) -> Any:
        port, secret = self._door.expect(dict(request.purpose))
        return pool.message("tfcompat.OpenResponse")(port=port, secret=secret)

    def _tensor(self, number: int, key: str, cancellation: Cancellation) -> Any:
        found = self._worker.recv_tensor(number, key, cancellation)
        tensor = messages.TensorProto(dtype=found.dtype.as_datatype_enum) if found.is_dead else wire.to_proto(found.value, found.dtype)
        return messages.RecvTensorResponse(tensor=tensor, is_dead=found.is_dead, send_start_micros=time.time_ns() // 1000)

    def CompleteGroup(self, request: messages.CompleteGroupRequest, cancellation: Cancellation) -> messages.CompleteGroupResponse:
        members = self._collectives.complete(request.group_key, request.group_size, request.device_name[0], cancellation)
        return messages.CompleteGroupResponse(
            group_key=request.group_key, group_size=request.group_size, device_type=request.device_type, num_tasks=len(members.tasks),
            device_name=members.devices, task_name=[d.partition("/device:")[0] for d in members.devices], communicator_key=members.name.encode(),
        )  # fmt: skip

    def MarkRecvFinished(self, request: Any, cancellation: Cancellation) -> Any:
        return messages.MarkRecvFinishedResponse()

    def Logging(self, request: Any, cancellation: Cancellation) -> Any:
        """Accepts the request and logs nothing. RunGraph with record_timeline returns the times of a step."""
        return messages.LoggingResponse()

    def Tracing(self, request: Any, cancellation: Cancellation) -> Any:
        raise NotImplementedError("tfcompat's workers have no Tracing; a RunMetadata message has the times of a step.")
