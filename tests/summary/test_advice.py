"""tf.profiler.advise, ProfileProtos and ProfileContext; what is expected was printed by TensorFlow 1.15.5."""

import pytest

import tfcompat as tf
from tfcompat._src.contrib.tfprof import profile_context
from tfcompat._src.profiler.advice import ALL_ADVICE
from tfcompat._src.proto.messages import tfprof

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
STREAMS = "/device:GPU:0/stream:all"
PROGRAM = """
def layer(x, name):
    with tf.name_scope(name):
        a = tf.matmul(x, x, name="product")
        return tf.nn.relu(a, name="relu")
x = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="x")
h = layer(x, "first")
h = layer(h, "second")
with tf.name_scope("BatchNorm"):
    y = tf.add(h, x, name="sum")
im = tf.reshape(y, [1, 2, 2, 1], name="image")
z = tf.nn.conv2d(im, tf.ones([1, 1, 1, 1], name="filter"), strides=[1, 1, 1, 1], padding="SAME", name="conv")
"""
EXPENSIVE = [
    "top 1 operation type: MatMul, cpu: 6.00ms, accelerator: 0us, total: 6.00ms (66.74%)\n"
    "top 2 operation type: Conv2D, cpu: 900us, accelerator: 700us, total: 1.60ms (17.80%)\n"
    "top 3 operation type: Relu, cpu: 1.24ms, accelerator: 0us, total: 1.24ms (13.79%)",
    "top 1 graph node: first, cpu: 0us, accelerator: 0us, total: 0us\n"
    "top 2 graph node: second, cpu: 0us, accelerator: 0us, total: 0us\n"
    "top 3 graph node: conv, cpu: 900us, accelerator: 700us, total: 1.60ms",
    "program.py:7:<module>, cpu: 3.70ms, accelerator: 0us, total: 3.70ms\n"
    "  program.py:4:layer, cpu: 2.50ms, accelerator: 0us, total: 2.50ms\n"
    "  program.py:5:layer, cpu: 1.20ms, accelerator: 0us, total: 1.20ms\n"
    "program.py:8:<module>, cpu: 3.54ms, accelerator: 0us, total: 3.54ms\n"
    "  program.py:4:layer, cpu: 3.50ms, accelerator: 0us, total: 3.50ms\n"
    "program.py:12:<module>, cpu: 900us, accelerator: 700us, total: 1.60ms",
]
NORMALIZED = "Maybe use faster FusedBatchNorm instead of BatchNorm"
CHANNELS_LAST = "Found operation using NHWC data_format on GPU. Maybe NCHW is faster."


def metadata(**devices):
    """A RunMetadata of (node, start, microseconds) by device."""
    found = tf.RunMetadata()
    for device, rows in devices.items():
        recorded = found.step_stats.dev_stats.add(device={"cpu": CPU, "gpu": GPU, "streams": STREAMS}[device])
        for name, start, micros in rows:
            recorded.node_stats.add(node_name=name, all_start_micros=start, op_end_rel_micros=micros, all_end_rel_micros=micros)
    return found


RUN = metadata(
    cpu=[("first/product", 1000, 2500), ("first/relu", 4000, 1200), ("second/product", 6000, 3500), ("second/relu", 10000, 40),
         ("BatchNorm/sum", 11000, 50)],
    gpu=[("conv", 12000, 900)],
    streams=[("conv:Conv2D", 12100, 700), ("image:Reshape", 16000, 100)],
)  # fmt: skip


@pytest.fixture
def graph():
    with tf.Graph().as_default() as found:
        exec(compile(PROGRAM, "/folder/program.py", "exec"), {"tf": tf})
    return found


def reports(found):
    return {name: list(checker.reports) for name, checker in found.checkers.items()}


def test_all_advice_is_tensorflows(graph, capsys):
    expected = {
        "AcceleratorUtilizationChecker": [f"device: {GPU.lower()} utilization: 0.78"],
        "ExpensiveOperationChecker": EXPENSIVE,
        "OperationChecker": [NORMALIZED, CHANNELS_LAST],
    }
    assert reports(tf.profiler.advise(graph, RUN)) == expected
    printed = "".join(f"\n{name}:\n" + "".join(f"{r}\n" for r in texts) for name, texts in expected.items())
    assert capsys.readouterr().out == printed
    profiler = tf.profiler.Profiler(graph)
    profiler.add_step(3, RUN)
    assert profiler.coverage() == pytest.approx(0.7)
    assert reports(profiler.advise(ALL_ADVICE)) == expected


def test_advice_without_runs(graph, capsys):
    found = reports(tf.profiler.advise(graph))
    assert found == {"AcceleratorUtilizationChecker": [], "ExpensiveOperationChecker": [], "OperationChecker": [NORMALIZED]}
    assert "Missing run_meta for ExpensiveOperationChecker\n" in capsys.readouterr().err


def test_checkers_by_name(graph):
    assert reports(tf.profiler.advise(graph, RUN, {"OperationChecker": {}})) == {"OperationChecker": [NORMALIZED, CHANNELS_LAST]}
    for options in (None, {}, {"JobChecker": {}}, {"Unknown": {}}):
        assert reports(tf.profiler.advise(graph, RUN, options)) == {}
    with pytest.raises(TypeError, match="OperationChecker .* has no options"):
        tf.profiler.advise(graph, RUN, {"OperationChecker": {"a": "b"}})


@pytest.mark.parametrize(
    ("busy", "text"), [(0, "low utilization: 0.01"), (20, "low utilization: 0.20"), (49, "low utilization: 0.49"), (50, "utilization: 0.50")]
)
def test_utilization_is_of_the_last_step(busy, text):
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="a"), tf.constant(1.0, name="b")
    profiler = tf.profiler.Profiler(graph)
    profiler.add_step(2, metadata(gpu=[("a", 100, 1), ("b", 199, 1)], streams=[("a:Const", 100, busy)]))
    profiler.add_step(1, metadata(gpu=[("a", 500, 1), ("b", 599, 1)], streams=[("a:Const", 500, 99)]))
    found = profiler.advise({"AcceleratorUtilizationChecker": {}})
    assert reports(found) == {"AcceleratorUtilizationChecker": [f"device: {GPU.lower()} {text}"]}


def test_fused_batch_norm_needs_no_advice():
    with tf.Graph().as_default() as graph, tf.name_scope("BatchNorm"):
        tf.raw_ops.FusedBatchNorm(x=tf.ones([1, 2, 2, 3]), scale=tf.ones([3]), offset=tf.ones([3]), mean=[], variance=[])
    assert reports(tf.profiler.advise(graph, options={"OperationChecker": {}})) == {"OperationChecker": []}


def recorded_memory():
    run = metadata(cpu=[("product", 1000, 30)])
    (node,) = run.step_stats.dev_stats[0].node_stats
    description = node.output.add(slot=0).tensor_description
    for size in (5, 8):
        description.shape.dim.add(size=size)
    allocated = description.allocation_description
    allocated.requested_bytes, allocated.allocated_bytes, allocated.ptr = 160, 192, 77
    node.memory.add(allocator_name="cpu", total_bytes=192, peak_bytes=192, live_bytes=192, allocator_bytes_in_use=500)
    node.memory_stats.temp_memory_size, node.memory_stats.persistent_memory_size = 11, 12
    return run


def test_profile_protos_have_nodes_and_steps():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [5, 4], name="x")
        tf.matmul(x, tf.get_variable("w", [4, 8], use_resource=False), name="product")
    profiler = tf.profiler.Profiler(graph)
    for step in (1, 1, 5):
        profiler.add_step(step, recorded_memory())
    found = tfprof.ProfileProto.FromString(profiler.serialize_to_string())
    assert found.has_trace
    assert not found.miss_accelerator_stream
    assert list(found.steps) == [1, 5]
    names = {node.name: node for node in found.nodes.values()}
    product, variable = names["product"], names["w"]
    assert product.trace.traces
    assert list(variable.op_types) == ["VariableV2", "_trainable_variables"]
    assert list(variable.shape) == [4, 8]
    assert dict(product.inputs) == {0: names["x"].id, 1: names["w/read"].id}
    assert list(product.output_shapes[0].int64_values) == [5, 8]
    assert list(product.op_types) == [CPU.lower(), "MatMul"]
    assert product.canonical_device == product.host_device == CPU.lower()
    assert product.float_ops == 2 * 5 * 4 * 8
    first = product.execs[1]
    assert (first.run_count, first.all_start_micros, first.latest_end_micros) == (2, 1000, 1030)
    assert [list(t.int64_values) for t in first.cpu_execs[CPU.lower()].times] == [[1000, 30]] * 2
    assert first.memory_execs[0] == tfprof.ExecMemory(
        memory_micros=1030, host_temp_bytes=11, host_persistent_bytes=12, requested_bytes=215, peak_bytes=215, residual_bytes=204,
        output_bytes=192, output_memory={0: tfprof.Memory(bytes=192, ptr=77)},
    )  # fmt: skip


def test_profile_protos_have_nodes_that_only_a_run_names():
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="y")
    profiler = tf.profiler.Profiler(graph)
    profiler.add_step(1, metadata(gpu=[("none:Add", 1060, 7)]))
    found = tfprof.ProfileProto.FromString(profiler.serialize_to_string())
    assert found.miss_accelerator_stream
    assert (found.nodes[1].name, found.nodes[1].op) == ("none", "none")
    assert found.nodes[1].host_device == CPU.lower()
    assert profiler.coverage() == 0


# ---- ProfileContext ----


def run_steps(context, fetches, x, count):
    with context, tf.Session() as session:
        for step in range(count):
            session.run(fetches[step >= 20], {x: [[1.0, 2.0], [3.0, 4.0]]})


@pytest.fixture
def product_and_sum():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 2], name="x")
        y = tf.matmul(x, x, name="y")
        yield x, [y, tf.add(y, 1.0, name="z")]


def test_steps_are_traced_profiled_and_written(product_and_sum, tmp_path):
    x, fetches = product_and_sum
    options = tf.profiler.ProfileOptionBuilder(tf.profiler.ProfileOptionBuilder.time_and_memory(0, 0)).with_empty_output().build()
    context = tf.contrib.tfprof.ProfileContext(str(tmp_path / "new"), trace_steps=[2, 3], dump_steps=[5], debug=True)
    context.add_auto_profiling("op", options, [4, 6])
    context.add_auto_profiling("scope", options, [7])
    run_steps(context, fetches, x, 9)
    assert sorted(context.get_profiles("op")) == [4, 6]
    assert "y" in [node.name for node in context.get_profiles("scope")[7].children]
    with pytest.raises(ValueError, match="No autoprofiler for command: graph, was run"):
        context.get_profiles("graph")
    found = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert found == ["profile_5", *(f"run_meta_{step}" for step in (2, 3, 4, 6, 7))]
    assert list(tfprof.ProfileProto.FromString((tmp_path / "new" / "profile_5").read_bytes()).steps) == [2, 3, 4]


def test_new_fetches_are_traced_after_ten_steps(product_and_sum, tmp_path, capsys):
    x, fetches = product_and_sum
    run_steps(tf.contrib.tfprof.ProfileContext(str(tmp_path), debug=True), fetches, x, 22)
    said = capsys.readouterr().err.splitlines()
    assert {"debug: trace fetches: y:0", "debug: tracing step: 11", "debug: trace fetches: z:0", "debug: tracing step: 20"} <= set(said)
    assert "debug: tracing step: 10" not in said


def test_the_next_step_is_traced_and_written(product_and_sum, tmp_path):
    x, fetches = product_and_sum
    feed = {x: [[1.0, 2.0], [3.0, 4.0]]}
    with tf.contrib.tfprof.ProfileContext(str(tmp_path), trace_steps=[], dump_steps=[]) as context, tf.Session() as session:
        with pytest.raises(tf.errors.InternalError, match="Already in context"), tf.contrib.tfprof.ProfileContext(str(tmp_path)):
            pass
        session.run(fetches[0], feed)
        context.trace_next_step()
        context.dump_next_step()
        session.run(fetches[1], feed)
        session.run(fetches[1], feed)
    assert [path.name for path in tmp_path.iterdir()] == ["profile_1"]
    with tf.Session() as session:
        session.run(fetches[0], feed)
    assert len(list(tmp_path.iterdir())) == 1


def test_wrong_contexts_and_those_that_do_nothing(tmp_path):
    with pytest.raises(ValueError, match="Must have a directory for profile"):
        profile_context.ProfileContext("")
    with pytest.raises(ValueError, match="Only support tracing up to 100 steps"):
        profile_context.ProfileContext(str(tmp_path), range(101))
    with profile_context.ProfileContext("", enabled=False) as context:
        context.trace_next_step()
        assert context.profiler is None
