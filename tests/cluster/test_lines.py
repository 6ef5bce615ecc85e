"""Lines between processes: what is sent arrives over sockets and over calls, strangers are not let in, and a broken line says so."""

import errno
import socket
import struct
import threading

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.cluster import lines
from tfcompat._src.cluster.peers import GROUP, Outbox
from tfcompat._src.cluster.rendezvous import Arrived
from tfcompat._src.cluster.tensor_streams import SENDER, TENSORS, _packed
from tfcompat._src.runtime.devices import local_servers

TASK = "/job:worker/replica:0/task:7"


@pytest.fixture
def server():
    kept = tf.train.Server.create_local_server()
    yield local_servers.find(kept.target)


@pytest.fixture(params=["socket", "call"])
def by(request, monkeypatch):
    if request.param == "call":
        monkeypatch.setattr(lines, "_connected", lambda address, metadata, cancellation: None)
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


def test_strangers_who_say_nothing_keep_nobody_out(monkeypatch):
    monkeypatch.setattr(lines, "_MOST_UNKNOWN", 2)
    let_in = threading.Event()
    door = lines.Door("localhost", lambda purpose, source: let_in.set())
    port, secret = door.expect({})
    strangers = [socket.create_connection(("localhost", port)) for _ in range(5)]
    assert [stranger.recv(1) for stranger in strangers[:3]] == [b""] * 3  # those who have waited longest
    with socket.create_connection(("localhost", port)) as known:
        known.sendall(secret)
        assert let_in.wait(60)
    for stranger in strangers:
        stranger.close()
    door.close()


def test_the_door_stays_open_when_the_process_has_no_descriptor_left(monkeypatch):
    monkeypatch.setattr(lines, "_REFUSED_SECONDS", 0.0)
    failures = [OSError(errno.EMFILE, "Too many open files"), OSError(errno.ECONNABORTED, "It has gone")]
    ours, theirs = socket.socketpair()
    received = []

    class Listening:
        def accept(self):
            if failures:
                raise failures.pop()
            if received:
                raise OSError(errno.EBADF, "Closed")
            return ours, None

    class Door:
        receive = received.append

    door = Door()
    with ours, theirs:
        lines._accept(Listening(), lambda: door)
        assert received == [ours]


@pytest.fixture
def pair():
    ours, theirs = socket.create_server(("localhost", 0)), None
    theirs = socket.create_connection(ours.getsockname())
    accepted, _ = ours.accept()
    ours.close()
    with accepted, theirs:
        yield accepted, theirs


def test_an_interrupt_breaks_a_line_whose_end_takes_nothing(pair, monkeypatch):
    monkeypatch.setattr(lines, "INTERRUPTED_SECONDS", 0.0)
    reasons = []
    line = lines._SocketLine(pair[0], reasons.append)
    line.interrupt()  # nothing is sent: it stays
    sender = threading.Thread(target=line.send, args=([bytes(1 << 26)],), daemon=True)
    sender.start()
    while sender.is_alive() or not reasons:
        line.interrupt()
        sender.join(0.01)
    assert reasons == ["its other end takes nothing, and a step that waits for that was cancelled"]


def test_what_stops_in_the_midst_of_an_array_ends_and_an_idle_line_stays(pair, monkeypatch):
    ours, theirs = pair
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 1000))
    source = lines.SocketSource(ours)
    waits = []
    monkeypatch.setattr(source, "_receive", lambda rooms, receive=source._receive: (waits.append(None), len(waits) != 4 or theirs.sendall(b"abc"), receive(rooms))[-1])
    assert source.read_into([memoryview(bytearray(3))]) == 3
    assert len(waits) == 4
    with pytest.raises(TimeoutError, match="nothing more of an array"):
        source.read_into([memoryview(bytearray(3))], has_begun=True)
    theirs.sendall(b"ab")
    with pytest.raises(TimeoutError, match="nothing more of an array"):
        source.read_into([memoryview(bytearray(3))])


def test_what_was_sent_in_parts_fills_rooms_of_any_sizes(pair):
    ours, theirs = pair
    sent = np.random.RandomState(0).randint(0, 256, 300_000).astype(np.uint8)
    sizes = [3, 0, 100, 70_000, 1, 120_000, *[9] * 700]
    parts = [sent[i : i + 77].data for i in range(0, 110_000, 77)]
    sender = threading.Thread(target=lambda: (lines._SocketLine(theirs, lambda why: None).send([*parts, sent[110_033:].data]), theirs.shutdown(socket.SHUT_WR)))
    sender.start()
    source = lines.SocketSource(ours)
    found = [np.empty(size, np.uint8) for size in sizes]
    assert source.read_into([a.data for a in found[:2]]) == 3
    assert source.read_into([a.data for a in found[2:]], has_begun=True) == sum(sizes) - 3
    rest = np.empty(200_000, np.uint8)
    count = source.read_into([rest.data])
    sender.join()
    np.testing.assert_array_equal(np.concatenate([*found, rest[:count]]), sent)


def test_reads_and_sends_of_a_line_have_a_limit(pair):
    lines._probe(pair[0])
    for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        assert struct.unpack("ll", pair[0].getsockopt(socket.SOL_SOCKET, option, 16)) == (lines._STALLED_SECONDS, 0)
    assert pair[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 1000 * lines._STALLED_SECONDS
