"""Sessions and hooks of the debugger."""

import threading

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base import errors
from tfcompat._src.debug.debug_utils import add_debug_tensor_watch, watch_graph, watch_graph_with_blacklists
from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.debug.dumping_wrapper import DumpingDebugWrapperSession
from tfcompat._src.debug.framework import WatchOptions
from tfcompat._src.debug.gradient_values import gradient_values_from_dump
from tfcompat._src.debug.hooks import DumpingDebugHook
from tfcompat._src.ops.control.gradients_debugger import GradientsDebugger


@pytest.fixture
def line():
    """y = 2 * x + 1 in a graph of its own: the placeholder, the result, a session."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], "x")
        w = tf.Variable(2.0, name="w")
        y = tf.add(tf.multiply(w, x, name="wx"), 1.0, name="y")
        sess.run(w.initializer)
        yield x, y, sess


def folders(root):
    return sorted(root.iterdir(), key=lambda path: int(path.name.rpartition("_")[2]))


def test_each_run_has_a_folder(line, tmp_path):
    x, y, sess = line
    wrapped = DumpingDebugWrapperSession(sess, str(tmp_path / "root"))
    for i in range(2):
        np.testing.assert_array_equal(wrapped.run(y, {x: [i]}), [2 * i + 1])
    runs = folders(tmp_path / "root")
    assert len(runs) == wrapped.run_call_count == 2
    for i, run in enumerate(runs):
        dump = DebugDumpDir(str(run))
        np.testing.assert_array_equal(dump.get_tensors("wx", 0, "DebugIdentity"), [[2 * i]])
        assert dump.run_fetches_info == repr(y)
        assert "Placeholder" not in dump.run_feed_keys_info and "x:0" in dump.run_feed_keys_info


def test_make_callable_is_watched(line, tmp_path):
    x, y, sess = line
    call = DumpingDebugWrapperSession(sess, str(tmp_path)).make_callable(y, [x])
    np.testing.assert_array_equal(call([3.0]), [7])
    (run,) = folders(tmp_path)
    np.testing.assert_array_equal(DebugDumpDir(str(run)).get_tensors("y", 0, "DebugIdentity"), [[7]])


def test_watch_fn_chooses(line, tmp_path):
    x, y, sess = line
    wrapped = DumpingDebugWrapperSession(sess, str(tmp_path), watch_fn=lambda fetches, feeds: WatchOptions("DebugNanCount", "wx|y$"))
    wrapped.run(y, {x: [np.nan, 1.0, np.nan]})
    (run,) = folders(tmp_path)
    dump = DebugDumpDir(str(run))
    assert [d.watch_key for d in dump.dumped_tensor_data] == ["wx:0:DebugNanCount", "y:0:DebugNanCount"]
    assert [d.get_tensor().tolist() for d in dump.dumped_tensor_data] == [[2], [2]]


def test_errors_are_results_or_raised(line, tmp_path):
    x, y, sess = line
    uninitialized = tf.Variable(1.0, name="u")
    found = DumpingDebugWrapperSession(sess, str(tmp_path / "a")).run(uninitialized + y, {x: [1.0]})
    assert isinstance(found, errors.FailedPreconditionError)
    (run,) = folders(tmp_path / "a")
    assert DebugDumpDir(str(run)).get_tensors("y", 0, "DebugIdentity")[0].tolist() == [3]
    with pytest.raises(errors.FailedPreconditionError):
        DumpingDebugWrapperSession(sess, str(tmp_path / "b"), pass_through_operrors=True).run(uninitialized + 0)


def test_other_threads_and_empty_fetches_pass_through(line, tmp_path):
    x, y, sess = line
    wrapped = DumpingDebugWrapperSession(sess, str(tmp_path), thread_name_filter="Watched")
    assert wrapped.run([]) == []
    assert wrapped.run(y, {x: [1.0]}).tolist() == [3]
    assert folders(tmp_path) == []
    thread = threading.Thread(target=wrapped.run, args=(y, {x: [1.0]}), name="Watched1")
    thread.start()
    thread.join()
    assert len(folders(tmp_path)) == 1


def test_roots_must_be_empty(line, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="points to a file"):
        DumpingDebugWrapperSession(line[2], str(tmp_path / "file"))
    with pytest.raises(ValueError, match="points to a non-empty directory"):
        DumpingDebugWrapperSession(line[2], str(tmp_path))


def test_partial_runs_are_refused(line, tmp_path):
    with pytest.raises(NotImplementedError, match="partial_run_setup"):
        DumpingDebugWrapperSession(line[2], str(tmp_path)).partial_run_setup([line[1]])


def test_hook(tmp_path):
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        grown = tf.assign_add(step, 1)
        with tf.train.MonitoredSession(hooks=[DumpingDebugHook(str(tmp_path / "root"))]) as sess:
            assert [sess.run(grown) for _ in range(2)] == [1, 2]
    runs = folders(tmp_path / "root")
    assert [DebugDumpDir(str(r)).get_tensors(grown.op.name, 0, "DebugIdentity")[0] for r in runs] == [1, 2]


def test_hook_of_an_estimator(tmp_path):
    def model(features, labels, mode):
        prediction = tf.layers.dense(features["x"], 1, kernel_initializer="ones", name="d")
        loss = tf.reduce_mean(tf.square(prediction - labels), name="loss")
        train = tf.train.GradientDescentOptimizer(0.0).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    def data():
        return tf.data.Dataset.from_tensors(({"x": [[1.0, 2.0]]}, [[5.0]])).repeat(2)

    estimator = tf.estimator.Estimator(model, str(tmp_path / "model"))
    estimator.train(data, hooks=[DumpingDebugHook(str(tmp_path / "root"), watch_fn=lambda *_: WatchOptions(node_name_regex_whitelist="loss$|d/"))])
    runs = folders(tmp_path / "root")
    losses = [DebugDumpDir(str(r)).watch_key_to_data("loss:0:DebugIdentity") for r in runs]
    assert [[datum.get_tensor() for datum in each] for each in losses] == [[4.0], [4.0], []], "the third run finds the end of the data"


def test_values_of_gradients(tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.constant(3.0, name="x")
        debugger = GradientsDebugger()
        y = tf.square(debugger.identify_gradient(x))
        options = tf.RunOptions()
        grad = tf.gradients(y, x)
        watch_graph(options, graph, debug_urls=f"file://{tmp_path}")
        sess.run(grad, options=options)
        assert gradient_values_from_dump(debugger, x, DebugDumpDir(str(tmp_path))) == [6.0]


@pytest.mark.parametrize(
    "watch, error",
    [
        (("x", -1, "DebugIdentity", "file:///nowhere"), "A negative output_slot in DebugTensorWatch is valid only for the wildcard"),
        (("*", 0, "DebugIdentity", "file:///nowhere"), 'output_slot is expected to be -1 for wildcard node name ("*"), but got 0'),
        (("y", 0, "DebugNothing", "file:///nowhere"), "Failed to create node definition for debug op DebugNothing on watched tensor y:0"),
        (("y", 0, "DebugNumericSummary(foo=1)", "file:///nowhere"), "1 attribute key(s) were not valid for debug node __dbg_y:0_0_DebugNumericSummary: foo"),
        (("y", 0, "DebugNumericSummary(lower_bound=a)", "file:///nowhere"), "Invalid value string for float-type attribute lower_bound"),
        (("y", 0, "DebugIdentity(", "file:///nowhere"), 'Malformed debug op name "DebugIdentity("'),
        (("y", 0, "DebugIdentity(a=1;a=2)", "file:///nowhere"), 'Duplicate attribute name "a"'),
        (("y", 0, "DebugIdentity", "http://x"), "Invalid debug target URL: http://x"),
    ],
)
def test_watches_that_cannot_be(line, watch, error):
    x, y, sess = line
    options = tf.RunOptions()
    add_debug_tensor_watch(options, *watch)
    with pytest.raises(errors.OpError) as caught:
        sess.run(y, {x: [1.0]}, options=options)
    assert error in caught.value.message


def test_a_folder_that_cannot_be_written(line, tmp_path):
    x, y, sess = line
    (tmp_path / "file").write_text("")
    options = tf.RunOptions()
    add_debug_tensor_watch(options, "y", debug_urls=f"file://{tmp_path}/file/dump")
    with pytest.raises(errors.InternalError, match=r"Publishing to the debug target URL file://.*/file/dump failed: .*Not a directory"):
        sess.run(y, {x: [1.0]}, options=options)
    assert sess.run(y, {x: [1.0]}).tolist() == [3]


def test_disk_limit(line, tmp_path, monkeypatch):
    """8 bytes fit into 10, 12 do not; the session goes on, and the count may start again."""
    x, y, sess = line
    monkeypatch.setenv("TFDBG_DISK_BYTES_LIMIT", "10")
    options = tf.RunOptions()
    add_debug_tensor_watch(options, "y", debug_urls=f"file://{tmp_path}")
    options.debug_options.reset_disk_byte_usage = True
    sess.run(y, {x: [1.0, 2.0]}, options=options)
    options.debug_options.reset_disk_byte_usage = False
    with pytest.raises(errors.ResourceExhaustedError, match=r"allowance \(10\), therefore it cannot dump an additional 4 byte\(s\).*tensor y:0"):
        sess.run(y, {x: [1.0]}, options=options)
    options.debug_options.reset_disk_byte_usage = True
    assert sess.run(y, {x: [1.0]}, options=options).tolist() == [3]


def test_blacklists(line):
    options = tf.RunOptions()
    watch_graph_with_blacklists(
        options, line[2].graph, debug_urls="file:///nowhere", node_name_regex_blacklist="w", op_type_regex_blacklist="Placeholder"
    )
    assert {w.node_name for w in options.debug_options.debug_tensor_watch_opts} == {"y", "y/y"}
