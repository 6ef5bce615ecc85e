"""The modules that gRPC's protocol compiler writes for .proto files with services: `..._pb2_grpc`, with stubs and what servers need."""

from __future__ import annotations

import types
from typing import Any

import grpc

from tfcompat._src.proto import pool


def module(path: str) -> types.ModuleType:
    """The module `path`, which ends with _pb2_grpc: for each service X of its file XStub, XServicer and add_XServicer_to_server."""
    found = types.ModuleType(path)
    file = path.removesuffix("_pb2_grpc").replace(".", "/") + ".proto"
    for name, service in pool.module(file).DESCRIPTOR.services_by_name.items():
        methods = pool.service(service.full_name)
        servicer = {method: _unimplemented(method) for method in methods}
        vars(found).update({
            f"{name}Stub": type(f"{name}Stub", (), {"__init__": _connecting(methods), "__doc__": f"Calls of {service.full_name}."}),
            f"{name}Servicer": type(f"{name}Servicer", (), {**servicer, "__doc__": f"What answers calls of {service.full_name}."}),
            f"add_{name}Servicer_to_server": _adding(service.full_name, methods),
        })  # fmt: skip
    return found


def _kind(method: pool.Method) -> str:
    """How gRPC calls methods of this kind: "unary_unary", "stream_stream" and so on."""
    return "_".join("stream" if streams else "unary" for streams in (method.client_streaming, method.server_streaming))


def _connecting(methods: dict[str, pool.Method]) -> Any:
    def __init__(self: Any, channel: grpc.Channel) -> None:
        for name, method in methods.items():
            make = getattr(channel, _kind(method))
            call = make(method.path, request_serializer=method.request.SerializeToString, response_deserializer=method.reply.FromString)
            setattr(self, name, call)

    return __init__


def _unimplemented(name: str) -> Any:
    def method(self: Any, request: object, context: Any) -> Any:
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details("Method not implemented!")
        raise NotImplementedError("Method not implemented!")

    method.__name__ = name
    return method


def _adding(service: str, methods: dict[str, pool.Method]) -> Any:
    def add(servicer: object, server: grpc.Server) -> None:
        handlers = {}
        for name, method in methods.items():
            make = getattr(grpc, f"{_kind(method)}_rpc_method_handler")
            answer = getattr(servicer, name)
            handlers[name] = make(answer, request_deserializer=method.request.FromString, response_serializer=method.reply.SerializeToString)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))

    return add
