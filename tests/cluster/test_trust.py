"""What graphs of other processes may do on a server that more than this machine reaches, and what else comes to its port."""

import os
import socket
import subprocess

import numpy as np
import pytest
from cluster import processes

import tfcompat as tf
from tfcompat._src.cluster import channel, trust, wire
from tfcompat._src.cluster.masters import RemoteMaster
from tfcompat._src.cluster.remote_session import RemoteSession
from tfcompat._src.proto import messages


@pytest.fixture
def serve(monkeypatch):
    """Starts a server with settings in the environment; the function that makes sessions there as another process does."""
    monkeypatch.setattr(channel, "_channels", {})

    def start(**settings):
        for name, value in settings.items():
            monkeypatch.setenv(name, str(value))
        (address,) = processes.free_addresses(1)
        server = tf.train.Server({"local": [address]})
        port = server.target.rpartition(":")[2]

        def session(graph, config=None):
            found = RemoteSession(RemoteMaster(f"localhost:{port}"), graph, config)
            found.server = server
            return found

        session.port = int(port)
        return session

    return start


BEYOND = {"TFCOMPAT_LISTEN_HOST": "0.0.0.0"}


def run(session, build):
    with tf.Graph().as_default() as graph:
        return session(graph).run(build(), None, None, None)


def writing(path):
    return lambda: tf.write_file(str(path), "text")


def test_files_are_used_in_named_folders_only(serve, tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir(), outside.mkdir()
    (inside / "link").symlink_to(outside)
    (inside / "a").write_text("words")
    session = serve(**BEYOND, TFCOMPAT_SERVER_FILES=inside)
    run(session, writing(inside / "b"))
    assert (inside / "b").read_text() == "text"
    assert run(session, lambda: tf.read_file(str(inside / "a"))) == b"words"
    assert list(run(session, lambda: tf.matching_files(str(inside / "?")))) == [os.fsencode(inside / name) for name in "ab"]
    refused = [
        writing(outside / "c"), writing(inside / ".." / "c"), writing(inside / "link" / "c"), writing(f"file://{outside}/c"),
        writing(str(tmp_path / "index")), lambda: tf.read_file("/etc/passwd"), lambda: tf.matching_files("/etc/*"),
        lambda: tf.matching_files(f"{inside}/*/../../out/*"), lambda: tf.matching_files(str(inside / "link" / "*")), lambda: tf.print("x", output_stream=f"file://{outside}/c"),
        lambda: tf.raw_ops.SaveV2(
            prefix=str(outside / "c"), tensor_names=["x"], shape_and_slices=[""], tensors=[tf.constant(1.0)]
        ),
        lambda: tf.data.make_one_shot_iterator(tf.data.TextLineDataset("/etc/passwd")).get_next(),
    ]  # fmt: skip
    for build in refused:
        with pytest.raises(tf.errors.PermissionDeniedError, match="TFCOMPAT_SERVER_FILES"):
            run(session, build)
    assert not list(outside.iterdir()) and sorted(path.name for path in inside.iterdir()) == ["a", "b", "link"]


def test_without_a_folder_no_file_is_used(serve, tmp_path):
    session = serve(**BEYOND)
    with pytest.raises(tf.errors.PermissionDeniedError, match="refuses the file"):
        run(session, writing(tmp_path / "a"))
    assert not list(tmp_path.iterdir())


def test_no_python_function_is_called(serve):
    called = []
    session = serve(**BEYOND)
    with pytest.raises(tf.errors.PermissionDeniedError, match="PyFunc"):
        run(session, lambda: tf.py_func(lambda: called.append(1), [], tf.int64))
    assert not called


def test_sessions_of_the_process_and_servers_of_this_machine_are_not_asked(serve, tmp_path):
    session = serve(**BEYOND)
    with tf.Graph().as_default():
        with tf.Session(session(tf.get_default_graph()).server.target) as own:
            own.run(writing(tmp_path / "a")())
    os.environ.pop("TFCOMPAT_LISTEN_HOST")
    run(serve(), writing(tmp_path / "b"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("host, alone", [("localhost", True), ("127.0.0.1", True), ("[::1]", True), ("0.0.0.0", False), ("a.example", False)])
def test_loopback(host, alone):
    assert trust.is_loopback(host) is alone


def test_what_is_no_request_leaves_the_server_as_it_is(serve):
    session = serve()
    random = np.random.RandomState(0)
    for noise in (b"GET / HTTP/1.1\r\n\r\n", random.bytes(5000), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 4000, b""):
        with socket.create_connection(("localhost", session.port)) as connection:
            try:
                connection.sendall(noise)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
            except ConnectionError:
                continue
    with channel.trust.channel(f"localhost:{session.port}", ()) as found:
        for service, method in (("MasterService", "CreateSession"), ("WorkerService", "RunGraph"), ("MasterService", "Absent")):
            with pytest.raises(Exception, match="StatusCode"):
                found.unary_unary(f"/tensorflow.{service}/{method}")(random.bytes(300))
    assert run(session, lambda: tf.constant(7) + 1) == 8


def test_a_message_may_be_so_long(serve):
    session = serve(TFCOMPAT_SERVER_MAX_MESSAGE=100_000)
    assert run(session, lambda: tf.size(tf.constant(np.zeros(1000)))) == 1000
    with pytest.raises(tf.errors.ResourceExhaustedError):
        run(session, lambda: tf.size(tf.constant(np.zeros(100_000))))


@pytest.mark.parametrize("named, is_beyond, largest", [(None, False, 2**31 - 1), (None, True, 2**28), ("5", True, 5), (str(2**40), False, 2**31 - 1)])
def test_the_largest_message(monkeypatch, named, is_beyond, largest):
    monkeypatch.delenv("TFCOMPAT_SERVER_MAX_MESSAGE", raising=False)
    if named is not None:
        monkeypatch.setenv("TFCOMPAT_SERVER_MAX_MESSAGE", named)
    assert trust.largest_message(is_beyond) == largest


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Files of an authority, a certificate that it has signed for localhost, and the key of that."""
    folder = tmp_path_factory.mktemp("pem")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    try:
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-days", "2")
    except FileNotFoundError:
        pytest.skip("there is no openssl to make certificates")
    (folder / "names").write_text("subjectAltName=DNS:localhost")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "request", "-subj", "/CN=localhost")
    openssl("x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "cert.pem", "-days", "2",
            "-extfile", "names")  # fmt: skip
    return {"TFCOMPAT_TLS_CERT": folder / "cert.pem", "TFCOMPAT_TLS_KEY": folder / "key.pem", "TFCOMPAT_TLS_CA": folder / "ca.pem"}


def test_certificates_are_required_where_they_are_named(serve, certificates, monkeypatch):
    session = serve(**certificates)
    assert run(session, lambda: tf.constant(7) + 1) == 8
    for name in certificates:
        monkeypatch.delenv(name)
    monkeypatch.setattr(channel, "_channels", {})
    with pytest.raises(tf.errors.DeadlineExceededError):
        with tf.Graph().as_default() as graph:
            session(graph, tf.ConfigProto(operation_timeout_in_ms=300)).run(tf.constant(7) + 1, None, None, None)


def test_certificates_come_in_threes(serve, certificates):
    with pytest.raises(ValueError, match="TFCOMPAT_TLS_KEY is not set"):
        serve(TFCOMPAT_TLS_CERT=certificates["TFCOMPAT_TLS_CERT"])


# ---- what clients try ----


@pytest.mark.parametrize("settings", [BEYOND, {}])
def test_no_feed_takes_the_place_of_a_check(serve, tmp_path, settings):
    """A client names nodes as it likes, also those that a server may have added."""
    session = serve(**settings, TFCOMPAT_SERVER_FILES=tmp_path / "in")
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder_with_default(str(tmp_path / "in" / "a"), [])
        read, write = tf.read_file(fed, name="R"), tf.write_file(fed, "text", name="W")
        asked = session(graph)
        for target in (read, write):
            with pytest.raises(tf.errors.PermissionDeniedError, match="refuses the file '/etc/passwd'"):
                asked.run(target, {fed: "/etc/passwd"}, None, None)
    master = channel.RemoteService(f"localhost:{session.port}", channel.MASTER)
    handle = master.call("CreateSession", graph_def=graph.as_graph_def(), config=tf.ConfigProto()).session_handle
    for name in ("R_allowed_path_0:0", "W_allowed_path_0:0"):
        feed = [messages.NamedTensorProto(name=name, tensor=wire.to_proto(np.array(b"/etc/passwd", object), tf.string))]
        with pytest.raises(tf.errors.OpError):
            master.call("RunStep", session_handle=handle, feed=feed, fetch=["R:0"], target=["W"], request_id=hash(name) & 0xFFFF)


def test_readers_of_queues_are_restricted_on_this_machine_too(serve, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("words\n")
    (tmp_path / "b").write_text("secret\n")
    session = serve(TFCOMPAT_SERVER_FILES=tmp_path / "in")

    def reads(reader, path):
        with tf.Graph().as_default() as graph:
            queue = tf.FIFOQueue(1, tf.string)
            fill, (_, value) = queue.enqueue(str(path)), reader().read(queue)
            asked = session(graph)
            asked.run(fill, None, None, None)
            return asked.run(value, None, None, None)

    for reader in (tf.WholeFileReader, tf.TextLineReader):
        assert reads(reader, tmp_path / "in" / "a").startswith(b"words")
        with pytest.raises(tf.errors.PermissionDeniedError, match="refuses the file"):
            reads(reader, tmp_path / "b")


def test_a_token_calls_no_python_on_this_machine_either(serve, tmp_path):
    called = []
    session = serve(TFCOMPAT_SERVER_FILES=tmp_path)
    for make in (tf.py_func, tf.py_function):
        with pytest.raises(tf.errors.PermissionDeniedError, match="refuses Python functions"):
            run(session, lambda make=make: make(lambda: called.append(1), [], tf.int64))
    assert not called


def test_constants_of_files_are_refused(serve):
    session = serve(**BEYOND)
    with pytest.raises(tf.errors.PermissionDeniedError, match="refuses the file"):
        run(session, lambda: tf.raw_ops.ImmutableConst(dtype=tf.uint8, shape=[4], memory_region_name="/etc/passwd"))


def test_threads_of_datasets_keep_the_limits_of_their_graph(serve, tmp_path):
    (tmp_path / "a").write_text("secret\n")
    session = serve(**BEYOND)

    def build():
        names = tf.data.Dataset.from_tensors(str(tmp_path / "a")).map(tf.identity, num_parallel_calls=2).prefetch(1)
        return tf.data.make_one_shot_iterator(names.map(tf.read_file, num_parallel_calls=2).prefetch(1)).get_next()

    with pytest.raises(tf.errors.PermissionDeniedError, match="refuses the file"):
        run(session, build)
