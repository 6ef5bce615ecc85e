"""Lines between processes: what is sent arrives over sockets and over calls, strangers are not let in, and a broken line says so."""

import socket
import threading

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.cluster import lines
from tfcompat._src.cluster.peers import GROUP, Outbox
from tfcompat._src.cluster.rendezvous import Arrived
from tfcompat._src.cluster.tensor_streams import SENDER, TENSORS, _packed
from tfcompat._src.runtime import local_servers

TASK = "/job:worker/replica:0/task:7"


@pytest.fixture
def server():
    kept = tf.train.Server.create_local_server()
    yield local_servers.find(kept.target)


@pytest.fixture(params=["socket", "call"])
def by(request, monkeypatch):
    if request.param == "call":
        monkeypatch.setattr(lines, "_connected", lambda address, metadata: None)
    return request.param


def test_tensors_arrive_in_order_and_whole(server, by):
    outbox = Outbox(server.target.removeprefix("grpc://"), ((GROUP, TENSORS), (SENDER, TASK)), lambda why: None)
    large = np.random.RandomState(0).randint(0, 100, 3_000_001).astype(np.int8)
    for number, value in ((1, np.float32(2.5)), (2, large), (3, np.zeros((0, 2), np.float32))):
        outbox.send((f"{number} key", *_packed(Arrived(value, tf.as_dtype(value.dtype)))))
    for number, value in ((3, np.zeros((0, 2), np.float32)), (2, large), (1, np.float32(2.5))):
        found = server.services.worker.steps.step(number).take("key").value
        np.testing.assert_array_equal(found, value)
        assert found.shape == value.shape
    outbox.begin_close()
    outbox.wait_closed()


def test_a_line_whose_end_closes_it_says_so_once():
    taken, told, reasons = threading.Event(), threading.Event(), []

    def take(purpose, source):
        taken.set()

    door = lines.Door("localhost", take)
    port, secret = door.expect({})
    connection = socket.create_connection(("localhost", port))
    connection.sendall(secret)
    line = lines._SocketLine(connection, lambda why: (reasons.append(why), told.set()))
    assert taken.wait(60) and told.wait(60)
    line.send([b"nobody takes this"])
    assert reasons == ["its other end has closed it"]
    door.close()


@pytest.mark.parametrize("what", [b"GET / HTTP/1.1\r\n\r\n", bytes(16), bytes(range(256)) * 100, b"short"])
def test_who_does_not_know_the_secret_is_let_go(what):
    let_in = []
    door = lines.Door("localhost", lambda purpose, source: let_in.append(purpose))
    port, secret = door.expect({"known": "yes"})
    with socket.create_connection(("localhost", port)) as stranger:
        stranger.sendall(what)
        stranger.shutdown(socket.SHUT_WR)
        try:
            assert stranger.recv(1) == b""
        except ConnectionResetError:
            pass  # as it is where bytes are left that nobody has read
    assert let_in == []
    door.close()


def test_a_secret_lets_in_once():
    let_in, seen = [], threading.Semaphore(0)

    def take(purpose, source):
        let_in.append(purpose)
        seen.release()

    door = lines.Door("localhost", take)
    port, secret = door.expect({"for": "one"})
    for _ in range(2):
        with socket.create_connection(("localhost", port)) as connection:
            connection.sendall(secret)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""
    assert seen.acquire(timeout=60)
    assert let_in == [{"for": "one"}]
    door.close()
