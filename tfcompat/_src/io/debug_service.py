"""The service of TensorFlow's debugger: EventListener, to which debugged runs send tensors, graphs and tracebacks. Loads gRPC."""

from __future__ import annotations

from typing import Any

from tfcompat._src.proto import grpc_modules

_made = grpc_modules.module("tensorflow.core.debug.debug_service_pb2_grpc")
EventListenerStub: Any = _made.EventListenerStub
EventListenerServicer: Any = _made.EventListenerServicer
add_EventListenerServicer_to_server: Any = _made.add_EventListenerServicer_to_server  # noqa: N816  # the name that gRPC's compiler gives
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
"""Of channels and servers of this service: messages may have any size."""
