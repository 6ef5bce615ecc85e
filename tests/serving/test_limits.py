"""What one client may take of a server: memory, connections, time and labels; and what ends when its time is over."""

import gzip
import http.client
import json
import socket
import threading
import zlib

import pytest
from conftest import GOLDEN
from interfaces import Slow
from serving_clients import Client, spec

import tfcompat as tf
from tfcompat._src.base import errors
from tfcompat._src.proto import messages
from tfcompat._src.serving import grpc_server, metrics, server_config
from tfcompat._src.serving.http_server import HttpServer
from tfcompat._src.serving.manager import Loading, Manager
from tfcompat._src.serving.rest import Reply
from tfcompat._src.serving.server import ModelServer, Settings

PACKED = gzip.compress(b"text", mtime=0)


class Lengths:
    """An interface that answers with the length of the body."""

    def answer(self, method, path, body):
        return Reply(200, "text/plain", b"%d" % len(body))


@pytest.fixture
def listen():
    servers = []

    def start(api, **options):
        servers.append(HttpServer(("127.0.0.1", 0), api, **options))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def post(port, body, path="/v1/x", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.settimeout(60)
    return connection


# ---- bodies ----


def test_an_inflated_body_has_a_limit(listen):
    server = listen(Lengths(), largest_inflated=10**6)

    def sent(body):
        return post(server.port, body, Content_Encoding="gzip")

    assert sent(gzip.compress(bytes(10**6))) == (200, b"1000000")
    assert sent(gzip.compress(b"a") + gzip.compress(b"bc")) == (200, b"3")
    status, text = sent(gzip.compress(bytes(3 * 10**8), 9))
    assert status == 413 and b"inflated body has more than 1000000 bytes" in text


@pytest.mark.parametrize("body", [
    PACKED[:-9], PACKED[:12], b"text", zlib.compress(b"text"), PACKED[:10] + b"\xff" * 30,
    PACKED[:-8] + bytes(8), PACKED + b"more",
], ids=range(7))  # fmt: skip
def test_a_corrupt_body_is_an_error_of_the_request(listen, body):
    status, text = post(listen(Lengths()).port, body, Content_Encoding="gzip")
    assert status == 400 and b"not what gzip writes" in text


@pytest.mark.parametrize("method, document", [
    ("predict", {"instances": [10**400]}), ("predict", {"inputs": [-(10**400)]}), ("regress", {"signature_name": "regress", "examples": [{"x": [-(10**400)]}]}),
])  # fmt: skip
def test_a_number_without_a_double_is_an_error_of_the_request(server, method, document):
    status, text = post(server.http.port, json.dumps(document), f"/v1/models/half:{method}")
    assert status == 400 and b"Number too big to be stored in double" in text


def test_elements_of_a_request_have_a_limit():
    server = ModelServer(Settings(host="127.0.0.1", port=0, model_name="half", model_base_path=str(GOLDEN / "half_plus"), max_request_elements=3))
    server.start()
    client = Client(server.grpc.port, grpc_server.PREDICTION)
    three, four = (messages.TensorProto(dtype=1, tensor_shape={"dim": [{"size": size}]}, float_val=[1.0]) for size in (3, 4))
    assert len(client.Predict(model_spec=spec(), inputs={"x": three}).outputs["y"].float_val) == 3
    with pytest.raises(Exception, match="have 4 elements; this server takes 3 at most"):
        client.Predict(model_spec=spec(), inputs={"x": four})
    client.close()
    server.stop()


# ---- connections ----


def test_a_new_connection_takes_the_place_of_the_one_that_waits_longest(listen):
    server = listen(Lengths(), most_connections=3)
    silent = [connect(server.port) for _ in range(3)]
    for connection in silent:
        connection.sendall(b"POST /v1/x HTTP/1.1\r\nX: ")
    assert post(server.port, b"body") == (200, b"4")
    assert silent[0].recv(1) == b""
    for connection in silent:
        connection.close()


def test_the_head_of_a_request_has_a_time_limit(listen):
    server = listen(Lengths(), header_seconds=0.2)
    for begin in (b"", b"POST", b"POST /v1/x HTTP/1.1\r\nX: "):
        with connect(server.port) as connection:
            connection.sendall(begin)
            assert b"200" not in connection.recv(1000)
    with connect(server.port) as connection:
        connection.sendall(b"POST /v1/x HTTP/1.1\r\nContent-Length: 1\r\n\r\n1")
        assert b"200 OK" in connection.recv(1000)
        connection.sendall(b"POST /v1/x HTTP/1.1\r\nX: ")
        assert connection.recv(1000) == b""


def test_unknown_models_make_no_labels(server):
    client = Client(server.grpc.port, grpc_server.PREDICTION)
    for number in range(30):
        assert post(server.http.port, "{}", f"/v1/models/nobody{number}:predict")[0] == 404
        with pytest.raises(Exception, match="Servable not found"):
            client.Predict(model_spec=spec(f"nobody{number}"))
    client.close()
    assert "nobody" not in metrics.text(metrics.totals())


# ---- time ----


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """A folder with a model that never ends where its input is positive."""
    folder = tmp_path_factory.mktemp("endless")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        y = tf.while_loop(lambda y: tf.reduce_max(y) > 0, lambda y: y + 1.0, [x])
        tf.saved_model.simple_save(session, str(folder / "1"), {"x": x}, {"y": y})
    return folder


def test_a_deadline_ends_the_batch_that_nobody_waits_for(endless, tmp_path):
    (tmp_path / "batching").write_text("num_batch_threads { value: 1 } max_batch_size { value: 1 }")
    (tmp_path / "models").write_text("model_config_list {" + "".join(
        f'config {{ name: "{name}" base_path: "{path}" model_platform: "tensorflow" }}' for name, path in (("endless", endless), ("half", GOLDEN / "half_plus"))
    ) + "}")  # fmt: skip
    server = ModelServer(Settings(
        host="127.0.0.1", port=None, rest_api_port=0, model_config_file=str(tmp_path / "models"), enable_batching=True,
        batching_parameters_file=str(tmp_path / "batching"), rest_api_timeout_in_ms=1000,
    ))  # fmt: skip
    server.start()
    for _ in range(2):
        assert post(server.http.port, '{"instances": [1.0]}', "/v1/models/endless:predict")[0] == 504
    assert post(server.http.port, '{"instances": [2.0]}', "/v1/models/half:predict")[0] == 200
    assert server.stop()


def test_a_configuration_without_versions_returns(tmp_path):
    (tmp_path / "empty").mkdir()
    server = ModelServer(Settings(host="127.0.0.1", port=0, model_name="half", model_base_path=str(GOLDEN / "half_plus")))
    server.start()
    client = Client(server.grpc.port, grpc_server.MODEL)
    for _ in range(2):
        reply = client.HandleReloadConfigRequest(config=server_config.of_one_model("none", str(tmp_path / "empty")))
        assert reply.status.error_code == errors.NOT_FOUND and "Could not find any versions of model(s) none" in reply.status.error_message
    client.close()
    assert server.stop()


def test_a_configuration_that_loads_too_long_returns_at_its_deadline(tmp_path):
    (tmp_path / "m" / "1").mkdir(parents=True)
    over = threading.Event()

    def load(name, version, path):
        over.wait()
        raise OSError("the test is over")

    manager = Manager(Loading(load, poll_seconds=0, retries=0))
    starting = threading.Thread(target=lambda: pytest.raises(errors.UnknownError, manager.start, server_config.of_one_model("m", str(tmp_path / "m"))))
    starting.start()
    for _ in range(2):
        with pytest.raises(errors.DeadlineExceededError):
            manager.reload(server_config.of_one_model("m", str(tmp_path / "m")), 0.1)
    over.set()
    starting.join()
    manager.stop()


def test_a_folder_of_a_number_too_large_is_no_version(tmp_path):
    for name in ("1", "9223372036854775807", "9223372036854775808", "99999999999999999999", "9" * 100):
        (tmp_path / name).mkdir()
    found = server_config.versions(messages.serving.ModelConfig(base_path=str(tmp_path), model_version_policy={"all": {}}))
    assert list(found) == [2**63 - 1, 1]


def test_draining_has_a_limit():
    stuck = Slow()
    server = HttpServer(("127.0.0.1", 0), stuck)
    server.start()
    with connect(server.port) as waiting, connect(server.port) as slow:
        waiting.sendall(b"POST /v1/x HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
        slow.sendall(b"POST /v1/x HTTP/1.1\r\nContent-Length: 9\r\n\r\n1")
        stuck.begun.acquire()
        server.stop(0.2)
        assert waiting.recv(1) == b"" and b"200" not in slow.recv(1000)
    stuck.go_on.set()


def test_draining_of_grpc_has_a_limit():
    stuck = Slow()
    server = grpc_server.GrpcServer({grpc_server.HEALTH: stuck}, ["127.0.0.1:0"])
    server.start()
    client = Client(server.port, grpc_server.HEALTH)
    call = threading.Thread(target=lambda: pytest.raises(Exception, client.Check, service=""))
    call.start()
    stuck.begun.acquire()
    server.stop(0.2)
    call.join()
    stuck.go_on.set()
    client.close()
