"""Ports with TLS, and clients with certificates, by an SSLConfig."""

import http.client
import json
import socket
import ssl

import grpc
import pytest
from conftest import GOLDEN

from tfcompat._src.base import errors
from tfcompat._src.proto import messages
from tfcompat._src.serving import tls
from tfcompat._src.serving.server import ModelServer, Settings

PEM = GOLDEN.parent / "tls"


def written(path, **fields):
    path.write_text("\n".join(f"{name}: {json.dumps(value)}" for name, value in fields.items()))
    return str(path)


def texts(*names):
    fields = {"server_key": "server.key", "server_cert": "server.crt", "custom_ca": "ca.crt"}
    return {name: (PEM / fields[name]).read_text() for name in names}


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """A server whose ports both ask for certificates of clients."""
    config = written(tmp_path_factory.mktemp("tls") / "ssl", **texts("server_key", "server_cert", "custom_ca"), client_verify=True)
    server = ModelServer(Settings(
        host="127.0.0.1", port=0, rest_api_port=0, model_name="half", model_base_path=str(GOLDEN / "half_plus"), max_num_load_retries=0,
        ssl_config_file=config, rest_api_ssl_config_file=config,
    ))  # fmt: skip
    server.start()
    yield server
    server.stop()


def client_context(with_certificate=True):
    context = ssl.create_default_context(cafile=str(PEM / "ca.crt"))
    if with_certificate:
        context.load_cert_chain(PEM / "client.crt", PEM / "client.key")
    return context


def status_over_http(port, context):
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
    try:
        connection.request("GET", "/v1/models/half")
        return json.loads(connection.getresponse().read())["model_version_status"][0]["state"]
    finally:
        connection.close()


def test_http_answers_a_client_with_a_certificate(secure):
    assert status_over_http(secure.http.port, client_context()) == "AVAILABLE"


def test_http_refuses_a_client_without(secure):
    with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
        status_over_http(secure.http.port, client_context(with_certificate=False))
    with pytest.raises((ConnectionError, http.client.BadStatusLine)):
        connection = http.client.HTTPConnection("127.0.0.1", secure.http.port)
        connection.request("GET", "/v1/models/half")
        connection.getresponse()


def test_a_client_that_does_not_shake_hands_holds_up_nobody(secure):
    with socket.create_connection(("127.0.0.1", secure.http.port)):
        assert status_over_http(secure.http.port, client_context()) == "AVAILABLE"


def status_over_grpc(port, *client):
    credentials = grpc.ssl_channel_credentials((PEM / "ca.crt").read_bytes(), *client)
    request = messages.serving.GetModelStatusRequest()
    request.model_spec.name = "half"
    with grpc.secure_channel(f"127.0.0.1:{port}", credentials) as channel:
        call = channel.unary_unary("/tensorflow.serving.ModelService/GetModelStatus")
        return messages.serving.GetModelStatusResponse.FromString(call(request.SerializeToString(), timeout=600)).model_version_status[0].state


def test_grpc_asks_for_the_same(secure):
    client = (PEM / "client.key").read_bytes(), (PEM / "client.crt").read_bytes()
    assert status_over_grpc(secure.grpc.port, *client) == 30
    with pytest.raises(grpc.RpcError) as e:
        status_over_grpc(secure.grpc.port)
    assert e.value.code() == grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("fields, text", [
    ({"server_cert": "x"}, "has no server_key"), ({"server_key": "x"}, "has no server_cert"),
    ({**texts("server_key", "server_cert"), "client_verify": True}, "has no custom_ca, whose certificate proves"),
])  # fmt: skip
def test_configurations_that_are_refused(tmp_path, fields, text):
    config = written(tmp_path / "ssl", **fields)
    for made in (tls.grpc_credentials, tls.http_context):
        with pytest.raises(errors.InvalidArgumentError, match=text):
            made(config)


def test_a_key_that_cannot_be_used(tmp_path):
    with pytest.raises(errors.InvalidArgumentError, match="has a key or certificate that cannot be used"):
        tls.http_context(written(tmp_path / "ssl", server_key="x", server_cert="y"))
