"""Clients of a server's gRPC port."""

import grpc
import pytest

from tfcompat._src.proto import messages, pool

serving = messages.serving


class Client:
    """Calls of one service."""

    def __init__(self, port, service):
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.max_receive_message_length", -1)])
        self._methods = pool.service(service)

    def __getattr__(self, name):
        method = self._methods[name]
        call = self._channel.unary_unary(
            method.path, request_serializer=method.request.SerializeToString, response_deserializer=method.reply.FromString
        )
        return lambda **fields: call(method.request(**fields), timeout=600)

    def close(self):
        self._channel.close()


def spec(name="half", signature="", version=None, label=None):
    found = serving.ModelSpec(name=name, signature_name=signature)
    if version is not None:
        found.version.value = version
    if label is not None:
        found.version_label = label
    return found


def status_of(call, **fields):
    with pytest.raises(grpc.RpcError) as e:
        call(**fields)
    return e.value.code().name, e.value.details()
