"""trace_on, trace_export, and the metadata and profiles of eager execution; what is expected was seen in TensorFlow 1.15.5."""

import pytest

import tfcompat as tf
from tfcompat._src.eager import profiler, profiler_client
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.proto import messages
from tfcompat._src.shim.internal import context

summary = tf.compat.v2.summary


@pytest.fixture(autouse=True)
def eager():
    with eager_mode():
        yield
        summary.trace_off()


def functions():
    @tf.function
    def inner(x):
        return tf.matmul(x, x) + 1.0

    @tf.function
    def outer(x):
        return tf.reduce_sum(inner(x))

    return inner, outer


def names(graph, skipped=("IdentityN",)):
    """The nodes but those that TensorFlow and tfcompat name differently: identities and what follows the results' names."""
    return [(n.name, n.op) for n in graph.node if n.op not in (*skipped, "Identity", "_Retval")]


def written(folder):
    (path,) = folder.glob("events*")
    events = [e for e in tf.train.summary_iterator(str(path)) if e.HasField("summary")]
    return [(e.step, v) for e in events for v in e.summary.value]


def test_graphs_of_functions_are_written_as_a_summary(tmp_path):
    inner, outer = functions()
    inner(tf.ones([2, 2]))
    writer = summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        summary.trace_on(graph=True, profiler=False)
        outer(tf.ones([2, 2]))
        outer(tf.ones([2, 2]))
        inner(tf.ones([2, 2]))
        summary.trace_export("name", step=3)
        with pytest.raises(ValueError, match="Must enable trace before export"):
            summary.trace_export("name", step=3)
    writer.close()
    ((step, value),) = written(tmp_path)
    assert (step, value.tag) == (3, "name")
    assert value.metadata.plugin_data.plugin_name == "graph_run_metadata_graph"
    assert value.metadata.plugin_data.content == b"1"
    metadata = messages.RunMetadata.FromString(value.tensor.string_val[0])
    (function,) = metadata.function_graphs
    assert names(function.pre_optimization_graph) == [("x", "_Arg"), ("PartitionedCall", "PartitionedCall"), ("Const", "Const"), ("Sum", "Sum")]
    assert [f.signature.name.rpartition("_")[0] for f in function.pre_optimization_graph.library.function] == ["__inference_inner"]
    inlined = {
        ("x", "_Arg"), ("Const", "Const"), ("PartitionedCall/add/y", "Const"), ("PartitionedCall/MatMul", "MatMul"),
        ("PartitionedCall/add", "AddV2"), ("Sum", "Sum"),
    }  # fmt: skip
    assert set(names(function.post_optimization_graph)) == inlined
    assert list(function.partition_graphs) == list(metadata.partition_graphs)
    assert [set(names(graph)) for graph in metadata.partition_graphs] == [inlined]
    assert {n.device for n in metadata.partition_graphs[0].node} == {"/job:localhost/replica:0/task:0/device:CPU:0"}
    last = function.post_optimization_graph.node[-1]
    assert (last.op, list(last.input)) == ("_Retval", ["Sum"])


def test_functions_count_when_they_run_first():
    inner, outer = functions()
    count = lambda: len(context.export_run_metadata().function_graphs)  # noqa: E731
    assert count() == 0
    context.enable_run_metadata()
    tf.matmul(tf.ones([3, 3]), tf.ones([3, 3]))
    outer(tf.ones([2, 2]))
    metadata = context.context().export_run_metadata()
    assert len(metadata.function_graphs) == 1
    assert not metadata.HasField("step_stats")
    outer(tf.ones([2, 2]))
    assert count() == 0
    inner(tf.ones([2, 2]))
    inner(tf.ones([3, 3]))
    assert count() == 2
    context.disable_run_metadata()
    outer(tf.ones([4, 4]))
    assert count() == 0
    context.enable_graph_collection()
    outer(tf.ones([5, 5]))
    assert count() == 1
    context.disable_graph_collection()
    outer(tf.ones([6, 6]))
    assert count() == 0


def test_variables_and_loops_of_collected_functions():
    v = tf.Variable(2.0)

    @tf.function
    def scaled(x, n):
        for _ in tf.range(n):
            x = x * v + tf.reduce_sum(x)
        return x

    context.enable_run_metadata()
    scaled(tf.ones([3]), 2)
    (function,) = context.export_run_metadata().function_graphs
    assert len(function.pre_optimization_graph.library.function) == 2
    assert "While" in {n.op for n in function.pre_optimization_graph.node}
    (graph,) = function.partition_graphs
    assert {"Enter", "Merge", "LoopCond", "Switch", "Exit", "Mul", "ReadVariableOp"} <= {n.op for n in graph.node}
    known = {n.name for n in graph.node}
    assert {i.lstrip("^").partition(":")[0] for n in graph.node for i in n.input} <= known


def test_without_graphs_the_metadata_is_written(tmp_path):
    writer = summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        summary.trace_on(graph=False, profiler=False)
        functions()[1](tf.ones([2, 2]))
        summary.trace_export("a", step=1)
    writer.close()
    ((_, value),) = written(tmp_path)
    assert value.metadata.plugin_data.plugin_name == "graph_run_metadata"
    assert value.tensor.string_val[0] == b""


def test_graphs_and_functions_have_no_traces(caplog):
    with tf.Graph().as_default():
        summary.trace_on()
        summary.trace_export("q")
    assert "Must enable trace in eager mode." in caplog.text
    assert "Can only export trace while executing eagerly." in caplog.text

    @tf.function
    def traces():
        summary.trace_on()
        summary.trace_export("q")
        return tf.constant(1)

    traces()
    assert "Cannot enable trace inside a tf.function." in caplog.text
    assert "Cannot export trace inside a tf.function." in caplog.text
    summary.trace_on()
    summary.trace_on()
    assert "Trace already enabled" in caplog.text


# ---- profiles ----


def test_profiles_are_files_of_tensorboard(tmp_path):
    writer = summary.create_file_writer(str(tmp_path / "summaries"))
    with writer.as_default():
        summary.trace_on(profiler=True)
        functions()[0](tf.ones([2, 2]))
        with pytest.raises(ValueError, match="Required profiler_outdir is not specified"):
            summary.trace_export("b", step=1)
        summary.trace_export("b", step=1, profiler_outdir=str(tmp_path))
    writer.close()
    ((_, value),) = written(tmp_path / "summaries")
    assert value.metadata.plugin_data.plugin_name == "graph_run_metadata"
    assert len(messages.RunMetadata.FromString(value.tensor.string_val[0]).function_graphs) == 1
    assert len(list(tmp_path.glob("events.out.tfevents.*.profile-empty"))) == 1
    (path,) = tmp_path.glob("plugins/profile/*/local.trace")
    trace = messages.profiler.Trace.FromString(path.read_bytes())
    assert trace.trace_events
    assert {e.device_id for e in trace.trace_events} <= set(trace.devices)
    assert all(trace.devices[e.device_id].resources[e.resource_id].name for e in trace.trace_events)
    profiler.maybe_create_event_file(str(tmp_path))
    assert len(list(tmp_path.glob("events.out.tfevents.*.profile-empty"))) == 1


def test_one_profile_at_a_time(tmp_path):
    with pytest.raises(profiler.ProfilerNotRunningError, match="Cannot stop profiling. No profiler is running."):
        profiler.stop()
    with profiler.Profiler(str(tmp_path)), pytest.raises(profiler.ProfilerAlreadyRunningError, match="Another profiler is running."):
        profiler.start()
    assert len(list(tmp_path.glob("plugins/profile/*/local.trace"))) == 1


def test_profiles_over_a_network_are_refused(tmp_path):
    with pytest.raises(NotImplementedError, match="start_profiler_server"):
        profiler.start_profiler_server(1)
    with pytest.raises(NotImplementedError, match="start_tracing"):
        profiler_client.start_tracing("localhost:1", str(tmp_path), 1)
    with pytest.raises(NotImplementedError, match="monitor"):
        profiler_client.monitor("localhost:1", 1)
