"""`tf.test.Benchmark`: which classes are known, what is run, and the files of results."""

import json

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.proto import messages
from tfcompat._src.testing import benchmark


@pytest.fixture
def kinds(monkeypatch):
    """A benchmark class, and the names of its methods that ran."""
    monkeypatch.setattr(benchmark, "GLOBAL_BENCHMARK_REGISTRY", set())
    ran = []

    class Some(tf.test.Benchmark):
        def benchmark1(self):
            ran.append("benchmark1")

        def benchmark2(self):
            ran.append("benchmark2")
            self.report_benchmark(iters=2, name="given", extras={"number": 3, "text": "x"}, metrics=[dict(name="m", value=1.5, max_value=2)])

        def helper(self):
            ran.append("helper")

    return Some, ran


def test_only_subclasses_are_known(kinds):
    assert {kinds[0]} == benchmark.GLOBAL_BENCHMARK_REGISTRY
    assert benchmark.Benchmark.is_abstract() and tf.test.Benchmark.is_abstract() and not kinds[0].is_abstract()


@pytest.mark.parametrize(
    "pattern, wanted", [("unrelated", []), ("Some", ["benchmark1", "benchmark2"]), ("Some.*1$", ["benchmark1"]), ("all", ["benchmark1", "benchmark2"])]
)
def test_pattern(kinds, pattern, wanted):
    argv = ["program", f"--benchmarks={pattern}"]
    benchmark.benchmarks_main(lambda: pytest.fail("the tests ran"), argv)
    assert (sorted(kinds[1]), argv) == (wanted, ["program"])


def test_no_pattern_runs_the_tests(kinds):
    assert benchmark.benchmarks_main(lambda: "tests", ["program"]) == "tests" and not kinds[1]


def test_report_file(kinds, monkeypatch, tmp_path):
    monkeypatch.setenv("TEST_REPORT_FILE_PREFIX", f"{tmp_path}/r_")
    kinds[0]().benchmark2()
    found = messages.BenchmarkEntries.FromString((tmp_path / "r_Some.given").read_bytes()).entry
    assert len(found) == 1 and (found[0].name, found[0].iters) == ("Some.given", 2)
    assert (found[0].extras["number"].double_value, found[0].extras["text"].string_value) == (3, "x")
    assert (found[0].metrics[0].name, found[0].metrics[0].value, found[0].metrics[0].max_value.value) == ("m", 1.5, 2)
    with pytest.raises(OSError, match="File already exists"):
        kinds[0]().benchmark2()


@pytest.mark.parametrize(
    "arguments, text", [(dict(extras=[1]), "extras must be a dict"), (dict(metrics={"a": 1}), "metrics must be a list"), (dict(metrics=[{"value": 1}]), "'name' field")]
)
def test_wrong_report(kinds, arguments, text):
    class Wrong(tf.test.Benchmark):
        def benchmark(self):
            self.report_benchmark(**arguments)

    with pytest.raises(TypeError, match=text):
        Wrong().benchmark()


def test_report_needs_a_benchmark_on_the_stack(capsys):
    with pytest.raises(ValueError, match="calling Benchmark class"):
        benchmark.Benchmark._get_name(None)


def test_run_op_benchmark(kinds, capsys):
    class Timed(tf.test.Benchmark):
        def benchmark_sum(self):
            with tf.Graph().as_default(), tf.Session(config=tf.test.benchmark_config()) as session:
                x = tf.placeholder(tf.float32, [5])
                return self.run_op_benchmark(session, x + x, {x: np.arange(5)}, min_iters=3, store_trace=True, mbs=2)

    found = Timed().benchmark_sum()
    assert "Timed.benchmark_sum" in capsys.readouterr().out
    assert found["iters"] == 3 and found["wall_time"] > 0 and found["throughput"] == pytest.approx(2 / found["wall_time"])
    assert "traceEvents" in json.loads(found["extras"]["full_trace_chrome_format"])
    assert any(name.startswith("allocator_maximum_num_bytes_") for name in found["extras"])
