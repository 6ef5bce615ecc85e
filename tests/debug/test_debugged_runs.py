"""Debugged runs: they dump what the real program dumps of the same program, with its values."""

import os

import debugged_programs
import numpy as np
import pytest
from oracle import golden

import tfcompat as tf
from tfcompat._src.debug.debug_utils import watch_graph
from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.debug.dump_files import InconvertibleTensorProto
from tfcompat._src.shim import modules

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "golden", "debug")


def debugged(program, folder):
    """The fetched values and the dump of a program's run, and what 1.15.5 recorded of it."""
    record = golden.unpack(golden.read(os.path.join(GOLDEN, program.__name__ + ".json.gz")))
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        fetches, feeds, initializer = program(tf)
        options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
        watch_graph(options, graph, debug_urls=f"file://{folder}")
        with tf.Session() as sess:
            sess.run(initializer)
            fetched = sess.run(fetches, feeds, options=options, run_metadata=metadata)
    return fetched, DebugDumpDir(str(folder)), record


def gradient_of_a_loop():
    x = tf.Variable([1.0, 2.0])
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])
    return [y, tf.gradients(y, x)[0]]


def loops_in_loops():
    def body(i, a):
        _, b = tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b + tf.cast(j, tf.float32)), [0, a])
        return i + 1, tf.cond(b > 2, lambda: b - 1, lambda: b + 1)

    return tf.while_loop(lambda i, a: i < 4, body, [0, 0.0])


def functional():
    tf.enable_control_flow_v2()
    try:
        x = tf.Variable(2.0)
        _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])
        return [y, tf.cond(y > 3, lambda: y + 1, lambda: y - 1), tf.gradients(y, x)[0]]
    finally:
        tf.disable_control_flow_v2()


def on_the_host():
    entry = tf.compat.v1.data.make_one_shot_iterator(tf.data.Dataset.range(10).batch(3)).get_next()
    return [entry, tf.py_func(lambda a: a + 1, [tf.constant([1.0, 2.0])], tf.float32)]


@pytest.mark.parametrize("build", [gradient_of_a_loop, loops_in_loops, functional, on_the_host], ids=lambda f: f.__name__)
def test_watching_changes_no_results(build, tmp_path):
    found = []
    for folder in (None, tmp_path):
        with tf.Graph().as_default() as graph, tf.Session() as sess:
            fetches = build()
            options = tf.RunOptions()
            if folder:
                watch_graph(options, graph, debug_urls=f"file://{folder}")
            sess.run(tf.global_variables_initializer())
            found.append(tf.nest.flatten(sess.run(fetches, options=options)))
    for plain, watched in zip(*found, strict=True):
        np.testing.assert_allclose(watched, plain, rtol=1e-6)
    dump = DebugDumpDir(str(tmp_path))
    assert {datum.node_name for datum in dump.dumped_tensor_data} <= set(dump.nodes())


def test_a_trace_beside_the_dump(tmp_path):
    """RunMetadata has the times of nodes too where the options ask for both, as in 1.15.5."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        total = tf.add(tf.placeholder_with_default(1.0, [], name="x"), tf.constant(2.0, name="two"), name="total")
        options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
        watch_graph(options, graph, debug_urls=f"file://{tmp_path}")
        assert sess.run(total, options=options, run_metadata=metadata) == 3
    device = next(each for each in metadata.step_stats.dev_stats if each.device == "/job:localhost/replica:0/task:0/device:CPU:0")
    assert sorted(stats.node_name for stats in device.node_stats) == ["_SOURCE", "total", "two", "x", "x/input"]


def test_other_processes_are_not_watched():
    """A session of another process refuses before it asks for anything."""
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="c")
        options = tf.RunOptions()
        watch_graph(options, graph, debug_urls="file:///nowhere")
        with tf.Session("grpc://localhost:1") as sess, pytest.raises(tf.errors.UnimplementedError, match="grpc://localhost:1"):
            sess.run("c:0", options=options)


@pytest.mark.parametrize(
    "name, home",
    [
        ("DebugDumpDir", "dump_dir"), ("DebugTensorDatum", "dump_files"), ("DumpingDebugHook", "hooks"), ("WatchOptions", "framework"),
        ("DumpingDebugWrapperSession", "dumping_wrapper"), ("add_debug_tensor_watch", "debug_utils"), ("watch_graph", "debug_utils"),
        ("watch_graph_with_blacklists", "debug_utils"), ("has_inf_or_nan", "dump_files"), ("load_tensor_from_event", "dump_files"),
        ("load_tensor_from_event_file", "dump_files"), ("reconstruct_non_debug_graph_def", "debug_graphs"),
    ],
)  # fmt: skip
def test_names_of_tensorflow_python_debug(name, home):
    found = getattr(modules.find("tensorflow.python.debug"), name)
    assert (found.__module__, found.__name__) == (f"tfcompat._src.debug.{home}", name)


def close(found, value):
    if isinstance(value, str):
        assert isinstance(found, InconvertibleTensorProto)
        assert found.initialized == (value == "initialized")
    elif value.array.dtype == object:
        assert found.tolist() == value.array.tolist()
    else:
        assert found.dtype == value.array.dtype
        np.testing.assert_allclose(found, value.array, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("program", debugged_programs.PROGRAMS, ids=lambda p: p.__name__)
def test_it_dumps_what_the_real_program_dumps(program, tmp_path):
    _, dump, record = debugged(program, tmp_path)
    expected = {}
    for key, _, _, value in record["answers"]["data"]:
        expected.setdefault(key, []).append(value)
    found = {}
    for datum in dump.dumped_tensor_data:
        found.setdefault(datum.watch_key, []).append(datum.get_tensor())
    assert {k: len(v) for k, v in found.items()} == {k: len(v) for k, v in expected.items()}
    for key, values in expected.items():
        for mine, value in zip(found[key], values, strict=True):
            close(mine, value)


@pytest.mark.parametrize("program", debugged_programs.PROGRAMS, ids=lambda p: p.__name__)
def test_its_graph_is_that_of_the_real_program(program, tmp_path):
    _, dump, record = debugged(program, tmp_path)
    said = record["answers"]
    nodes = sorted(dump.nodes())
    assert nodes == said["nodes"]
    assert [dump.node_op_type(n) for n in nodes] == said["op_types"]
    assert [dump.node_inputs(n) for n in nodes] == said["inputs"]
    assert [sorted(dump.node_inputs(n, is_control=True)) for n in nodes] == said["control_inputs"]
    assert dump.core_metadata[3:] == tuple(said["metadata"][3:])
