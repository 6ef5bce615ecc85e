"""Traces of runs, timelines, and profiles of graphs."""

import json

import numpy as np
import pytest

import tfcompat as tf
from summary import shared
from summary.recorded import RECORDED
from tfcompat._src.profiler import timeline


def traced(session, fetches, **options):
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, **options)
    return session.run(fetches, options=options, run_metadata=metadata), metadata


def test_timelines_are_tensorflows():
    """The trace of a step of TensorFlow 1.15 is the one that its own Timeline makes."""
    stats = RECORDED["step_stats"]
    metadata = tf.RunMetadata.FromString(b"\n" + shared.varint(len(stats)) + stats)
    found = shared.traces(timeline, metadata.step_stats)
    assert [json.loads(json.dumps(f)) for f in found] == [json.loads(text) for text in RECORDED["traces"]]


@pytest.mark.parametrize("name", sorted(RECORDED["profiles"]))
def test_profiles_are_tensorflows(name, tmp_path):
    assert shared.profiles(tf, str(tmp_path))[name] == RECORDED["profiles"][name]


def test_no_trace_unless_asked_for():
    with tf.Graph().as_default(), tf.Session() as session:
        metadata = tf.RunMetadata()
        session.run(tf.constant(1.0), run_metadata=metadata)
        assert not metadata.HasField("step_stats")
        traced(session, tf.constant(2.0))
        session.run(tf.constant(3.0), options=tf.RunOptions(), run_metadata=metadata)
        assert not metadata.HasField("step_stats")


def test_step_stats_name_nodes_devices_and_sizes():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder_with_default(np.ones([3, 4], np.float32), [3, 4], name="x")
        y = tf.matmul(x, tf.ones([4, 5]), name="y")
        text = tf.as_string(y, name="text")
        value, metadata = traced(session, [y, text])
    np.testing.assert_array_equal(value[0], np.full([3, 5], 4.0, np.float32))
    devices = {d.device: {n.node_name: n for n in d.node_stats} for d in metadata.step_stats.dev_stats}
    cpu = devices["/job:localhost/replica:0/task:0/device:CPU:0"]
    assert {"_SOURCE", "x", "y", "text"} <= set(cpu)
    assert cpu["y"].timeline_label == "y = MatMul(x, ones)"
    description = cpu["y"].output[0].tensor_description
    assert [d.size for d in description.shape.dim] == [3, 5]
    assert description.dtype == tf.float32.as_datatype_enum
    assert description.allocation_description.requested_bytes == 60
    assert cpu["text"].all_start_micros >= cpu["y"].all_start_micros
    (program,) = devices["/device:CPU:0/stream:all"].values()
    assert program.all_end_rel_nanos >= cpu["y"].all_end_rel_nanos > 0


def test_branches_and_loops_on_the_host_are_recorded():
    with tf.Graph().as_default(), tf.Session() as session:
        start = tf.placeholder_with_default(0, [])
        loop = tf.while_loop(
            lambda i: i < 3, lambda i: tf.reshape(i + tf.py_func(np.int32, [1], tf.int32, name="one"), []), [start]
        )
        value, metadata = traced(session, loop)
    names = [n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats]
    assert value == 3
    assert names.count("while/one") == 3


def test_profiles_of_runs():
    builder = tf.profiler.ProfileOptionBuilder
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder_with_default(np.ones([8, 16], np.float32), [8, 16])
        y = tf.matmul(x, tf.get_variable("w", [16, 4]), name="product")
        session.run(tf.global_variables_initializer())
        profiler = tf.profiler.Profiler(graph)
        for step in (1, 2):
            profiler.add_step(step, traced(session, y)[1])
        options = builder(builder.time_and_memory()).with_empty_output().build()
        found = profiler.profile_name_scope(options)
        (product,) = [c for c in found.children if c.name == "product"]
        assert product.exec_micros >= 1
        assert product.run_count == 1
        assert product.output_bytes == 8 * 4 * 4
        assert product.float_ops == 2 * 16 * 8 * 4
        types = profiler.profile_operations(dict(options, step=2))
        assert types.total_exec_micros >= types.children[0].exec_micros > 0
        with pytest.raises(NotImplementedError, match="cmd='code'"):
            profiler.profile_python(options)


def test_nodes_without_known_shapes_count_nothing(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.float32, [None, 3], name="x") * 2.0
        options = tf.profiler.ProfileOptionBuilder.float_operation()
        options["output"] = "none"
        assert tf.profiler.profile(graph, options=options).total_float_ops == 0
        tf.profiler.write_op_log(graph, str(tmp_path), add_trace=True)
    log = tf.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    assert {e.name for e in log.log_entries} == {"x", "mul", "mul/y"}
    assert all(e.code_def.traces for e in log.log_entries)
