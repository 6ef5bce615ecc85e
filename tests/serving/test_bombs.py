"""Requests that are made to break a server: each gets an error with a text, and the server goes on."""

import http.client
import json
import threading

import grpc
import numpy as np
import pytest
from interfaces import Slow
from serving_clients import Client, spec, status_of
from serving_golden import X

from tfcompat._src.graph import tensor_proto
from tfcompat._src.proto import messages
from tfcompat._src.serving import grpc_server
from tfcompat._src.serving.http_server import HttpServer

PREDICT = "/v1/models/half:predict"


def post(port, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request("POST", path, body)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


@pytest.fixture
def goes_on(server):
    yield
    assert post(server.http.port, PREDICT, json.dumps({"instances": X}))[0] == 200


def nested(depth, inner="1.0"):
    return "[" * depth + inner + "]" * depth


@pytest.mark.parametrize("body", [
    '{"instances": ' + nested(10**5) + "}", '{"instances": ' + nested(500) + "}", '{"instances": ' + nested(65) + "}",
    '{"inputs": ' + nested(10**5) + "}", '{"inputs": ' + nested(65) + "}", '{"a":' * 10**5, "[" * 10**5,
    '{"instances": [' + "9" * 10**5 + "]}", '{"instances": [1e999999999, "x"]}', '{"instances": [[1], [NaN, NaN]]}',
    '{"instances": [1, 2], "signature_name": "' + "s" * 10**5 + '"}', '{"instances": [{"b64": "' + "=" * 10**5 + '"}]}', "\ufeff{}", "\x00" * 10**5,
], ids=lambda body: body[:12] + str(len(body)))  # fmt: skip
@pytest.mark.usefixtures("goes_on")
def test_bodies(server, body):
    status, reply = post(server.http.port, PREDICT, body.encode())
    assert 400 <= status < 500 and 0 < len(reply["error"]) < len(body) + 4096, reply


@pytest.fixture(scope="module")
def prediction(server):
    client = Client(server.grpc.port, grpc_server.PREDICTION)
    yield client
    client.close()


def shaped(*sizes, **fields):
    proto = messages.TensorProto(dtype=1, **fields)
    for size in sizes:
        proto.tensor_shape.dim.add(size=size)
    return proto


@pytest.mark.parametrize("proto, text", [
    (shaped(*[2] * 10**6, float_val=[1.0]), "has 1000000 dimensions"), (shaped(*[1] * 10**6), "has 1000000 dimensions"),
    (shaped(2**62, 2**62, float_val=[1.0]), "this server takes 67108864 at most"), (shaped(2**40, float_val=[1.0]), "this server takes 67108864 at most"),
    (shaped(10**8, float_val=[1.0]), "have 100000000 elements; this server takes 67108864 at most"),
    (shaped(-1, float_val=[1.0]), ""), (shaped(-(2**63), -1, float_val=[1.0]), ""), (shaped(3, tensor_content=b"12345"), ""),
    (messages.TensorProto(dtype=99), ""), (messages.TensorProto(dtype=1, tensor_shape={"unknown_rank": True}), ""),
    (messages.TensorProto(dtype=21), ""), (messages.TensorProto(), ""),
], ids=lambda proto: getattr(proto, "DESCRIPTOR", None) and str(proto)[:20].replace("\n", " "))  # fmt: skip
@pytest.mark.usefixtures("goes_on")
def test_tensors(prediction, proto, text):
    code, found = status_of(prediction.Predict, model_spec=spec(), inputs={"x": proto})
    assert code == "INVALID_ARGUMENT" and found and text in found


@pytest.mark.usefixtures("goes_on")
def test_100_mb(prediction):
    """An array that fits no input gets an error, and one that does its result."""
    big = tensor_proto.make_tensor_proto(np.zeros(25 * 10**6, np.float32))
    assert status_of(prediction.Predict, model_spec=spec(), inputs={"z": big})[0] == "INVALID_ARGUMENT"
    assert len(prediction.Predict(model_spec=spec(version=2), inputs={"x": big}).outputs["y"].float_val) == 25 * 10**6


def test_http_requests_that_are_too_many():
    slow = Slow()
    server = HttpServer(("127.0.0.1", 0), slow, threads=1, waiting=0)
    server.start()
    found = []
    first = threading.Thread(target=lambda: found.append(post(server.port, "/v1/x", "{}")))
    first.start()
    slow.begun.acquire()
    assert post(server.port, "/v1/x", "{}") == (503, {"error": "Too many requests are waiting"})
    slow.go_on.set()
    first.join()
    assert found == [(200, {})] and post(server.port, "/v1/x", "{}") == (200, {})
    server.stop()


def test_grpc_requests_that_are_too_many():
    slow = Slow()
    server = grpc_server.GrpcServer({grpc_server.HEALTH: slow}, ["127.0.0.1:0"], threads=1, waiting=0)
    server.start()
    client = Client(server.port, grpc_server.HEALTH)
    found = []
    first = threading.Thread(target=lambda: found.append(client.Check(service="")))
    first.start()
    slow.begun.acquire()
    with pytest.raises(grpc.RpcError) as e:
        client.Check(service="")
    assert e.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    slow.go_on.set()
    first.join()
    assert len(found) == 1
    client.close()
    server.stop()
