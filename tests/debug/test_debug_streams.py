"""Debugged runs that send what is watched over gRPC: a server in this process gets what 1.15.5 sends of the same programs."""

import json
import os
import signal
import threading

import debugged_programs
import numpy as np
import pytest
from oracle import golden

import tfcompat as tf
from tfcompat._src.base import errors
from tfcompat._src.debug import grpc_hooks, source_remote
from tfcompat._src.debug.debug_utils import add_debug_tensor_watch, watch_graph
from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.debug.dump_files import InconvertibleTensorProto
from tfcompat._src.debug.framework import WatchOptions
from tfcompat._src.debug.grpc_wrapper import GrpcDebugWrapperSession, TensorBoardDebugWrapperSession
from tfcompat._src.io import debug_streams
from tfcompat._src.proto import messages
from tfcompat._src.testing.grpc_debug_test_server import EventListenerTestServicer, start_server_on_separate_thread

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "golden", "debug")
X = "wx:0:DebugIdentity"


@pytest.fixture
def serve():
    """Starts servers: a function of `start_server_on_separate_thread`'s arguments that gives the URL, the folder and the server."""
    started = []

    def start(**options):
        _, url, folder, thread, server = start_server_on_separate_thread(poll_server=True, **options)
        started.append((server, thread))
        return url, folder, server

    yield start
    for server, thread in started:
        server.stop_server().wait()
        thread.join()


@pytest.fixture
def memory(serve):
    url, _, server = serve(dump_to_filesystem=False)
    return url, server


@pytest.fixture
def line():
    """y = 2 * x + 1 in a graph of its own: the placeholder, the result, a session."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], "x")
        w = tf.Variable(2.0, name="w")
        y = tf.add(tf.multiply(w, x, name="wx"), 1.0, name="y")
        sess.run(w.initializer)
        yield x, y, sess


@pytest.fixture
def streams(monkeypatch):
    """The kinds of messages of each stream that servers get."""
    found = []
    whole = EventListenerTestServicer.SendEvents

    def record(self, events, context):
        kinds = []
        found.append(kinds)

        def passed():
            for event in events:
                kinds.append(event.WhichOneof("what"))
                yield event

        return whole(self, passed(), context)

    monkeypatch.setattr(EventListenerTestServicer, "SendEvents", record)
    return found


@pytest.fixture
def interrupts():
    """Restores what an interrupt does."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("program", [debugged_programs.mlp, debugged_programs.recurrent, debugged_programs.resources], ids=lambda p: p.__name__)
def test_it_sends_what_the_real_program_sends(program, memory):
    record = golden.unpack(golden.read(os.path.join(GOLDEN, program.__name__ + ".json.gz")))
    url, server = memory
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(1)
        fetches, feeds, initializer = program(tf)
        sess.run(initializer)
        GrpcDebugWrapperSession(sess, url).run(fetches, feeds)
    expected = {}
    for key, _, _, value in record["answers"]["data"]:
        expected.setdefault(key, []).append(value)
    assert {k: len(v) for k, v in server.debug_tensor_values.items()} == {k: len(v) for k, v in expected.items()}
    for key, values in expected.items():
        for mine, value in zip(server.debug_tensor_values[key], values, strict=True):
            if isinstance(value, str):
                assert isinstance(mine, InconvertibleTensorProto)
            elif value.array.dtype == object:
                assert mine.tolist() == value.array.tolist()
            else:
                np.testing.assert_allclose(mine, value.array, rtol=2e-6, atol=1e-7)


def test_the_order_of_messages_is_that_of_the_real_program(streams, memory):
    """1.15.5, three runs: the graph goes before the first one alone; each run has a stream, which begins with what is known of it."""
    url, server = memory
    with tf.Graph().as_default(), tf.Session() as sess:
        fetches, feeds, initializer = debugged_programs.mlp(tf)
        sess.run(initializer)
        wrapped = GrpcDebugWrapperSession(sess, [url])
        for _ in range(3):
            wrapped.run(fetches, feeds)
    run = ["log_message", *["summary"] * 86]
    assert streams == [["graph_def", *run], run, run]
    known = [json.loads(text) for text in server.core_metadata_json_strings]
    assert [each["executor_step_index"] for each in known] == [0, 1, 2]
    assert known[0]["session_run_index"] + 2 == known[2]["session_run_index"]
    del known[0]["session_run_index"]
    assert known[0] == {
        "global_step": -1, "executor_step_index": 0, "input_names": ["x:0", "y:0"], "output_names": ["loss:0"], "target_nodes": ["train"],
        "grpc_path": "",
    }  # fmt: skip


def test_a_path_in_the_url_is_a_folder_of_the_dump(line, serve):
    x, y, sess = line
    url, folder, _ = serve()
    GrpcDebugWrapperSession(sess, url.removeprefix("grpc://") + "/a/b").run(y, {x: [3.0]})
    dump = DebugDumpDir(os.path.join(folder, "a", "b"))
    np.testing.assert_array_equal(dump.get_tensors("wx", 0, "DebugIdentity"), [[6]])
    assert dump.node_inputs("y") == ["wx", "y/y"]
    assert dump.core_metadata.input_names == ["x:0"]


def test_two_servers_get_the_same(line, serve):
    x, y, sess = line
    servers = [serve(dump_to_filesystem=False) for _ in range(2)]
    GrpcDebugWrapperSession(sess, [url for url, _, _ in servers]).run(y, {x: [3.0]})
    assert [server.debug_tensor_values[X][0].tolist() for _, _, server in servers] == [[6], [6]]


def test_large_tensors_come_in_parts(streams, memory):
    """4,096,000 bytes are the most of one message."""
    url, server = memory
    numbers, texts = np.arange(2_100_000, dtype=np.float32), [b"a" * 2_000_000, b"b" * 2_000_000, b"c" * 2_000_000]
    with tf.Graph().as_default(), tf.Session() as sess:
        fetches = [tf.placeholder_with_default(numbers, [None], "numbers"), tf.placeholder_with_default(texts, [3], "texts")]
        GrpcDebugWrapperSession(sess, url, lambda f, d: WatchOptions(node_name_regex_whitelist="(numbers|texts)$")).run(fetches)
    np.testing.assert_array_equal(server.debug_tensor_values["numbers:0:DebugIdentity"], [numbers])
    assert server.debug_tensor_values["texts:0:DebugIdentity"][0].tolist() == texts
    assert streams[0].count("summary") == 3 + 2
    assert {node.name for node in server.partition_graph_defs[0].node} >= {"numbers", "__dbg_texts:0_0_DebugIdentity"}


def test_a_string_larger_than_a_message_is_an_error(memory):
    url, _ = memory
    with tf.Graph().as_default(), tf.Session() as sess:
        fetch = tf.placeholder_with_default([b"", b"a" * 4_096_001], [2], "texts")
        found = GrpcDebugWrapperSession(sess, url, lambda f, d: WatchOptions(node_name_regex_whitelist="texts$")).run(fetch)
    assert isinstance(found, errors.FailedPreconditionError)
    assert "string value at index 1 from debug node texts:0:DebugIdentity does not fit gRPC message size limit (4096000)" in found.message


def test_gated_tensors_are_sent_when_the_server_asks(line, memory, interrupts):
    x, y, sess = line
    url, server = memory
    wrapped = TensorBoardDebugWrapperSession(sess, url, send_traceback_and_source_code=False)

    def run():
        server.clear_data()
        wrapped.run(y, {x: [1.0]})
        return sorted(server.debug_tensor_values)

    assert run() == []
    assert ("wx", 0, "DebugIdentity") in server.gated_grpc_debug_watches()
    server.request_watch("wx", 0, "DebugIdentity")
    assert run() == [X]
    server.request_watch("y", 0, "DebugIdentity")
    server.request_unwatch("wx", 0, "DebugIdentity")
    assert run() == ["y:0:DebugIdentity"]


def test_a_run_waits_at_a_breakpoint(line, memory, interrupts, monkeypatch):
    x, y, sess = line
    url, server = memory
    reached, goes_on = threading.Event(), threading.Event()
    reply = messages.EventReply

    def slow(**fields):
        if server.debug_tensor_values.get(X):
            reached.set()
            goes_on.wait()
        return reply(**fields)

    server.request_watch("wx", 0, "DebugIdentity", breakpoint=True)
    wrapped = TensorBoardDebugWrapperSession(sess, url, send_traceback_and_source_code=False)
    found = []
    monkeypatch.setattr(messages, "EventReply", slow, raising=False)
    runner = threading.Thread(target=lambda: found.append(wrapped.run(y, {x: [1.0]})))
    runner.start()
    reached.wait()
    assert server.breakpoints == {("wx", 0, "DebugIdentity")}
    assert found == [] and runner.is_alive()
    goes_on.set()
    runner.join()
    np.testing.assert_array_equal(found, [[3]])
    server.request_unwatch("wx", 0, "DebugIdentity")
    wrapped.run(y, {x: [1.0]})
    assert server.breakpoints == set()


def test_summaries_and_debug_ops_of_the_program_are_sent(line, memory):
    x, y, sess = line
    url, server = memory
    options = tf.RunOptions()
    add_debug_tensor_watch(options, "wx", 0, ["DebugNanCount", "DebugNumericSummary(mute_if_healthy=true)"], url)
    sess.run(y, {x: [np.nan, 1.0]}, options=options)
    assert [v.tolist() for v in server.debug_tensor_values["wx:0:DebugNanCount"]] == [[1]]
    assert server.debug_tensor_values["wx:0:DebugNumericSummary"][0][:3].tolist() == [1, 2, 1]
    seen = tf.raw_ops.DebugIdentity(input=y, tensor_name="y:0", debug_urls=[url])
    sess.run(seen, {x: [2.0]})
    debug_streams.close(url)
    np.testing.assert_array_equal(server.debug_tensor_values["y:0:DebugIdentity"], [[5]])


def test_tracebacks_and_sources_are_sent_with_new_nodes(line, memory, interrupts):
    x, y, sess = line
    url, server = memory
    wrapped = TensorBoardDebugWrapperSession(sess, url)
    for _ in range(2):
        wrapped.run(y, {x: [1.0]})
    assert server.query_call_types() == [messages.CallTraceback.GRAPH_EXECUTION]
    assert server.query_call_keys() == ['[["1.0"], ["y:0"]]']
    assert server.query_graph_versions() == [sess.graph.version]
    file, row, function = next(frame for frame in server.query_op_traceback("wx") if frame[0] == __file__)
    assert function == "line"
    assert server.query_source_file_line(file, row).strip() == 'y = tf.add(tf.multiply(w, x, name="wx"), 1.0, name="y")'
    assert any(frame[0] == __file__ for frame in server.query_origin_stack()[0])
    with pytest.raises(ValueError, match="has not been received"):
        server.query_source_file_line(source_remote.__file__, 1)
    tf.negative(y)
    wrapped.run(y, {x: [1.0]})
    assert len(server.query_graph_versions()) == 2


@pytest.mark.parametrize(
    "hook", [lambda url: grpc_hooks.GrpcDebugHook(url), lambda url: grpc_hooks.TensorBoardDebugHook(url)], ids=["grpc", "tensorboard"]
)
def test_hooks(hook, memory, interrupts):
    url, server = memory
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        grown = tf.assign_add(step, 1, name="grown")
        server.request_watch("grown", 0, "DebugIdentity")
        with tf.train.MonitoredSession(hooks=[hook(url)]) as sess:
            for _ in range(2):
                sess.run(grown)
    assert [int(v) for v in server.debug_tensor_values["grown:0:DebugIdentity"]] == [1, 2]


def test_no_server(line, monkeypatch):
    """1.15.5 waits 900 s for a server."""
    x, y, sess = line
    monkeypatch.setattr(debug_streams, "CONNECTION_SECONDS", 0.4)
    found = GrpcDebugWrapperSession(sess, "localhost:1").run(y, {x: [1.0]})
    assert isinstance(found, errors.FailedPreconditionError)
    assert found.message == "Failed to connect to gRPC channel at localhost:1 within a timeout of 0.4 s."


def test_the_time_limit_of_a_run_holds_for_the_connection(line):
    x, y, sess = line
    options = tf.RunOptions(timeout_in_ms=100)
    watch_graph(options, sess.graph, debug_urls="grpc://localhost:1")
    with pytest.raises(errors.DeadlineExceededError):
        sess.run(y, {x: [1.0]}, options=options)


def test_a_server_that_ends_the_stream(line, memory, monkeypatch):
    """The run fails, and the next one has a stream of its own."""
    x, y, sess = line
    url, server = memory
    monkeypatch.setattr(server, "toggle_watch", lambda: 1 / 0)
    wrapped = GrpcDebugWrapperSession(sess, url)
    found = wrapped.run(y, {x: [1.0]})
    assert isinstance(found, errors.InternalError)
    assert found.message.startswith(f"Publishing to the debug target URL {url} failed: Write event to stream URL {url} failed: UNKNOWN")
    monkeypatch.undo()
    np.testing.assert_array_equal(wrapped.run(y, {x: [1.0]}), [3])


def test_addresses(line):
    _, _, sess = line
    with pytest.raises(TypeError, match="Expected type str or list in grpc_debug_server_addresses"):
        GrpcDebugWrapperSession(sess, 7000)
    with pytest.raises(TypeError, match="Expected type str in list grpc_debug_server_addresses"):
        GrpcDebugWrapperSession(sess, ["localhost:1", 7000])
    assert GrpcDebugWrapperSession(sess, ["a:1", "grpc://b:2"]).prepare_run_debug_urls(None, None) == ["grpc://a:1", "grpc://b:2"]


def test_servers_start_and_stop_once():
    server = EventListenerTestServicer(0, None)
    with pytest.raises(ValueError, match="has not started"):
        server.stop_server()
    server.run_server(blocking=False)
    with pytest.raises(ValueError, match="already started"):
        server.run_server()
    server.stop_server().wait()
    for again in (server.run_server, server.stop_server):
        with pytest.raises(ValueError, match="already stopped"):
            again()
