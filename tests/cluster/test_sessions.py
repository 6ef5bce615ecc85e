"""Sessions over gRPC at a server: another name of this machine makes the server of this process one of another."""

import socket
import threading

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.cluster import channel
from tfcompat._src.cluster.session_table import SessionTable


@pytest.fixture
def server():
    return tf.train.Server.create_local_server()


@pytest.fixture
def target(server):
    return server.target.replace("localhost", "127.0.0.1")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_variables_belong_to_the_server(target, server):
    v = tf.Variable([1.0, 2.0], name="v")
    with tf.Session(target) as first:
        first.run(v.initializer)
        assert first.run(v.assign_add([1.0, 1.0])).tolist() == [2.0, 3.0]
    with tf.Session(target) as second, tf.Session(server.target) as here:
        assert second.run(v).tolist() == here.run(v).tolist() == [2.0, 3.0]
    with tf.Session(target, config=tf.ConfigProto(isolate_session_state=True)) as alone:
        with pytest.raises(tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value v"):
            alone.run(v)


def test_a_graph_grows_between_runs(target):
    session = tf.Session(target)
    a = tf.placeholder(tf.float32, [2], name="a")
    for number in range(1, 4):
        a = tf.add(a, 1.0, name=f"sum{number}")
        assert session.run([a, {"again": (a, "sum1:0")}], {"a:0": [0.0, 1.0]})[1]["again"][0].tolist() == [number, number + 1.0]


def test_values_of_all_kinds_come_back(target):
    values = [np.array([b"a", b"\xff"], object), True, np.float16(1.5), np.zeros((0, 2), np.int8), np.complex64(1j)]
    session = tf.Session(target)
    found = session.run([tf.constant(v) for v in values])
    assert [np.asarray(f).dtype for f in found] == [np.asarray(v).dtype for v in values]
    assert [np.asarray(f).tolist() for f in found] == [np.asarray(v).tolist() for v in values]
    found[3].setflags(write=True)


def test_errors_have_their_class_node_and_task(target):
    session = tf.Session(target)
    x = tf.placeholder(tf.float32, [], name="x")
    bad = tf.check_numerics(tf.log(x), "bad", name="check")
    with pytest.raises(tf.errors.InvalidArgumentError) as e:
        session.run(bad, {x: -1.0})
    assert e.value.op is bad.op
    assert e.value.message.startswith("From /job:local/replica:0/task:0:\nbad : Tensor had NaN values\n\t [[node check (defined at ")
    assert "test_sessions.py" in e.value.message
    with tf.device("/job:nowhere"):
        lost = tf.constant(1.0, name="lost")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device for operation lost"):
        session.run(lost)


def test_a_deadline_ends_the_wait_here_and_there(target):
    session = tf.Session(target)
    queue = tf.FIFOQueue(1, tf.float32, shapes=[()])
    taken = queue.dequeue()
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(taken, options=tf.RunOptions(timeout_in_ms=50))
    session.run(queue.enqueue(3.0))  # the wait that was given up does not take it
    assert session.run(taken) == 3.0


def test_no_server_is_waited_for_as_long_as_the_config_says():
    config = tf.ConfigProto(operation_timeout_in_ms=100)
    with pytest.raises(tf.errors.DeadlineExceededError):
        tf.Session("grpc://127.0.0.1:1", config=config).run(tf.constant(1))


def test_closing_cancels_what_runs(target):
    session = tf.Session(target)
    begun = tf.FIFOQueue(1, tf.float32, name="begun")
    with tf.control_dependencies([begun.enqueue(1.0)]):
        waiting = tf.FIFOQueue(1, tf.float32, name="waiting").dequeue()
    has_begun = begun.dequeue()
    one = tf.constant(1.0)
    session.run(one)
    errors = []

    def wait():
        try:
            session.run(waiting)
        except tf.errors.CancelledError as e:
            errors.append(e.message)

    thread = threading.Thread(target=wait)
    thread.start()
    session.run(has_begun)
    session.close()
    thread.join(30)
    assert errors == ["Step was cancelled by an explicit call to `Session::Close()`."]
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(one)


def test_a_reset_ends_sessions_and_variables(target):
    v = tf.Variable(1.0, name="v")
    session = tf.Session(target)
    session.run(v.initializer)
    tf.Session.reset(target)
    with pytest.raises(tf.errors.AbortedError, match="is not found"):
        session.run(v)
    assert not tf.Session(target).run(tf.is_variable_initialized(v))


def test_partial_runs_callables_devices_and_metadata(target):
    session = tf.Session(target)
    a, b = (tf.placeholder(tf.float32, []) for _ in range(2))
    c = a + 1.0
    d = c * b
    handle = session.partial_run_setup([c, d], [a, b])
    assert (session.partial_run(handle, c, {a: 2.0}), session.partial_run(handle, d, {b: 10.0})) == (3.0, 30.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="PartialRunSetup"):
        session.partial_run("nothing", c, {a: 2.0})
    assert session.make_callable(c, [a])(4.0) == 5.0
    assert [d.name for d in session.list_devices()] == ["/job:local/replica:0/task:0/device:CPU:0"]
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    session.run(d, {a: 1.0, b: 2.0}, options, metadata)
    assert metadata.step_stats.dev_stats and len(metadata.partition_graphs) == 1
    with pytest.raises(NotImplementedError, match="127.0.0.1"):
        session.plan(d, {a: 1.0, b: 2.0})


def test_the_service_answers_what_the_real_one_answers(target):
    service = channel.RemoteService(target.removeprefix("grpc://"), channel.MASTER)
    graph_def = tf.get_default_graph().as_graph_def()
    graph_def.node.add(name="a", op="NoOp")
    handle = service.call("CreateSession", graph_def=graph_def).session_handle
    extend = dict(session_handle=handle, graph_def=graph_def)
    with pytest.raises(tf.errors.AbortedError, match="Current version is 0 but caller expected 9."):
        service.call("ExtendSession", **extend, current_graph_version=9)
    with pytest.raises(tf.errors.InvalidArgumentError, match="GraphDef argument to Extend includes node 'a'"):
        service.call("ExtendSession", **extend, current_graph_version=0)
    run = dict(session_handle=handle, target=["a"], request_id=5)
    assert service.call("RunStep", **run).status_code == 0
    with pytest.raises(tf.errors.AbortedError, match="The same RunStep .Master. request was received twice."):
        service.call("RunStep", **run)
    reply = service.call("RunStep", session_handle="none", store_errors_in_response_body=True)
    assert (reply.status_code, reply.status_error_message) == (10, "Session none is not found.")
    with pytest.raises(tf.errors.AbortedError, match="Possibly, this master has restarted."):
        service.call("CloseSession", session_handle="none")
    number = service.call("MakeCallable", session_handle=handle).handle
    service.call("ReleaseCallable", session_handle=handle, handle=number)
    with pytest.raises(tf.errors.InvalidArgumentError):
        service.call("RunCallable", session_handle=handle, handle=number)
    service.call("CloseSession", session_handle=handle)


def test_a_server_listens_to_this_machine_only(server):
    port = int(server.target.rpartition(":")[2])
    socket.create_connection(("127.0.0.1", port)).close()
    with pytest.raises(ConnectionRefusedError):  # an address of this machine too, but no name that the server was given
        socket.create_connection(("127.0.0.2", port))


def test_a_taken_port_is_refused(server):
    with pytest.raises(tf.errors.UnknownError, match="Could not start gRPC server"):
        tf.train.Server({"local": [server.target.removeprefix("grpc://")]})


def test_a_reset_waits_as_long_as_its_configuration_says():
    with socket.create_server(("localhost", 0)) as silent:  # takes connections and answers nothing
        target = f"grpc://localhost:{silent.getsockname()[1]}"
        with pytest.raises(tf.errors.DeadlineExceededError):
            tf.Session.reset(target, ["some"], tf.ConfigProto(operation_timeout_in_ms=50))


def test_sessions_that_nobody_uses_make_room_for_others():
    class Session:
        is_closed = False

        def close(self):
            self.is_closed = True

    table = SessionTable(most=2)
    sessions = {name: Session() for name in "abc"}
    table.add("a", sessions["a"]), table.add("b", sessions["b"])
    assert table.get("a") is sessions["a"]
    table.add("c", sessions["c"])
    assert [sessions[name].is_closed for name in "abc"] == [False, True, False]
    assert table.get("b") is None and table.pop("a") is sessions["a"] and table.pop_all() == [sessions["c"]]
