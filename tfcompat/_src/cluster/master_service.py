"""MasterService of TensorFlow: decodes requests of clients, calls the Master, encodes replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.cluster import session_graph, wire
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.master import Master, MasterSession
from tfcompat._src.cluster.request_ids import RequestIds
from tfcompat._src.proto import messages


class MasterService:
    """Serves requests to a Master. Each method, named as in master_service.proto, takes a request and a Cancellation.

    The Cancellation is cancelled when the client gives up.
    """

    def __init__(self, master: Master) -> None:
        self._master = master
        self._requests = RequestIds("RunStep (Master)")

    def CreateSession(self, request: Any, cancellation: Cancellation) -> Any:
        session = self._master.create(request.graph_def, request.config, cancellation)
        return messages.CreateSessionResponse(session_handle=session.handle, graph_version=session.version)

    def ExtendSession(self, request: Any, cancellation: Cancellation) -> Any:
        session = self._master.session(request.session_handle)
        version = session.extend(request.graph_def, request.current_graph_version)
        return messages.ExtendSessionResponse(new_graph_version=version)

    def RunStep(self, request: Any, cancellation: Cancellation) -> Any:
        reply = messages.RunStepResponse()
        try:
            # A repeated request must not run the step again.
            self._requests.require_new(request.request_id)
            session = self._master.session(request.session_handle)
            feeds = {feed.name: wire.from_proto(feed.tensor) for feed in request.feed}
            values, metadata = session.run(feeds, request.fetch, request.target, request.options, cancellation, request.partial_run_handle)
            for name, proto in zip(request.fetch, _protos(session, request.fetch, values)):
                reply.tensor.add(name=name, tensor=proto)
            if metadata is not None:
                reply.metadata.CopyFrom(metadata)
        except wire.FAILURES as e:
            # The body holds an error of any length; a status is truncated.
            if not request.store_errors_in_response_body:
                raise
            reply.status_code, reply.status_error_message = wire.status_of(e)
        return reply

    def PartialRunSetup(self, request: Any, cancellation: Cancellation) -> Any:
        session = self._master.session(request.session_handle)
        handle = session.set_up(request.feed, request.fetch, request.target)
        return messages.PartialRunSetupResponse(partial_run_handle=handle)

    def CloseSession(self, request: Any, cancellation: Cancellation) -> Any:
        self._master.close(request.session_handle)
        return messages.CloseSessionResponse()

    def ListDevices(self, request: Any, cancellation: Cancellation) -> Any:
        if not request.session_handle:
            return messages.ListDevicesResponse(local_device=self._master.devices(cancellation))
        return messages.ListDevicesResponse(local_device=self._master.session(request.session_handle).devices())

    def Reset(self, request: Any, cancellation: Cancellation) -> Any:
        self._master.reset(request.container, request.device_filters, cancellation)
        return messages.ResetResponse()

    def MakeCallable(self, request: Any, cancellation: Cancellation) -> Any:
        number = self._master.session(request.session_handle).make_callable(request.options)
        return messages.MakeCallableResponse(handle=number)

    def RunCallable(self, request: Any, cancellation: Cancellation) -> Any:
        self._requests.require_new(request.request_id)
        session = self._master.session(request.session_handle)
        options = session.callable_options(request.handle)
        if len(options.feed) != len(request.feed):
            raise errors.InvalidArgumentError(None, None, f"Expected {len(options.feed)} feed values, got {len(request.feed)}")
        feeds = dict(zip(options.feed, map(wire.from_proto, request.feed)))
        values, metadata = session.run(feeds, options.fetch, options.target, options.run_options, cancellation)
        return messages.RunCallableResponse(fetch=_protos(session, options.fetch, values), metadata=metadata)

    def ReleaseCallable(self, request: Any, cancellation: Cancellation) -> Any:
        self._master.session(request.session_handle).release_callable(request.handle)
        return messages.ReleaseCallableResponse()


def _protos(session: MasterSession, names: Sequence[str], values: list[Any]) -> list[Any]:
    """Encodes fetched values with the dtypes of the tensors that `names` name."""
    return [wire.to_proto(value, session_graph.tensor(session.graph, name).dtype) for name, value in zip(names, values)]
