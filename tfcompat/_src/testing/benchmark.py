"""`tf.test.Benchmark`: methods named benchmark*, run by `tf.test.main` with --benchmarks=PATTERN."""

from __future__ import annotations

import inspect
import numbers
import os
import re
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.platform import file_io, logging
from tfcompat._src.profiler.timeline import Timeline
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import get_default_session

GLOBAL_BENCHMARK_REGISTRY: set[type[Benchmark]] = set()
TEST_REPORTER_TEST_ENV = "TEST_REPORT_FILE_PREFIX"
"""The environment variable with the prefix of the files that results are written to."""
OVERRIDE_GLOBAL_THREADPOOL = "TF_OVERRIDE_GLOBAL_THREADPOOL"


class Benchmark:
    """Base class of benchmarks; a subclass is known from its definition on."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not cls.is_abstract():
            GLOBAL_BENCHMARK_REGISTRY.add(cls)

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether the class itself is no benchmark."""
        return len(cls.mro()) <= 2

    def _get_name(self, overwrite_name: str | None = None) -> str:
        """Class and name of the result: the name given, or the outermost method of a benchmark that is running."""
        for frame in reversed(inspect.stack(context=0)):
            caller = frame.frame.f_locals.get("self")
            if isinstance(caller, Benchmark):
                return f"{type(caller).__name__}.{overwrite_name or frame.function}"
        raise ValueError("Unable to determine calling Benchmark class.")

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
        metrics: list[dict[str, Any]] | None = None,
    ) -> None:
        """Reports a result: in a file where TEST_REPORT_FILE_PREFIX is set, else printed.

        Args:
          iters: number of runs.
          cpu_time, wall_time: seconds of one run.
          throughput: MB/s.
          extras: further values, numbers or strings, by name.
          name: of the result; the method's where None.
          metrics: dicts with "name", "value", and if wanted "min_value" and "max_value".

        Raises:
          TypeError: `extras` is no dict, or `metrics` no list of such dicts.
          IOError: the file exists.
        """
        fields = dict(iters=iters, cpu_time=cpu_time, wall_time=wall_time, throughput=throughput)
        _report(self._get_name(name), fields, extras, metrics)


@export("test.Benchmark")
class TensorFlowBenchmark(Benchmark):
    """Base class of benchmarks that time what a Session runs."""

    def __init__(self) -> None:
        os.environ[OVERRIDE_GLOBAL_THREADPOOL] = "1"
        super().__init__()

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether the class itself is no benchmark."""
        return len(cls.mro()) <= 3

    def run_op_benchmark(
        self,
        sess: SessionLike,
        op_or_tensor: object,
        feed_dict: dict[Any, Any] | None = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Times `sess.run(op_or_tensor)`, reports the median and returns what is reported.

        Args:
          sess: a Session.
          op_or_tensor: what to run.
          feed_dict: as in `Session.run`.
          burn_iters: runs before timing starts.
          min_iters: timed runs.
          store_trace: whether the extras returned have the Chrome trace of a run as "full_trace_chrome_format".
          store_memory_usage: whether the extras have the most bytes that each allocator held.
          name: of the result.
          extras: further values of the result.
          mbs: megabytes that one run handles.
        """
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict=feed_dict)
        seconds = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(op_or_tensor, feed_dict=feed_dict)
            seconds.append(time.perf_counter() - start)
        extras, trace = dict(extras or {}), {}
        if store_trace or store_memory_usage:
            metadata = messages.RunMetadata()
            options = messages.RunOptions(trace_level=messages.RunOptions.FULL_TRACE)
            sess.run(op_or_tensor, feed_dict=feed_dict, options=options, run_metadata=metadata)
            timeline = Timeline(metadata.step_stats)
            if store_trace:
                trace["full_trace_chrome_format"] = timeline.generate_chrome_trace_format()
            if store_memory_usage:
                for allocator, most in timeline.analyze_step_stats(show_memory=True).allocator_maximums.items():
                    extras[f"allocator_maximum_num_bytes_{allocator}"] = most.num_bytes
        median = statistics.median(seconds) if seconds else -1
        result = dict(iters=min_iters, wall_time=median, extras=extras, name=name, throughput=mbs / median)
        self.report_benchmark(**result)  # type: ignore[arg-type]
        extras.update(trace)
        return result

    def evaluate(self, tensors: object) -> Any:
        """NumPy values of tensors in the default session."""
        return (get_default_session() or self.cached_session()).run(tensors)  # type: ignore[attr-defined]


def _report(
    name: str, fields: dict[str, Any], extras: dict[str, Any] | None, metrics: list[dict[str, Any]] | None
) -> None:
    """Writes or prints a BenchmarkEntries message."""
    shown = {key: -1 if value is None else value for key, value in fields.items()}
    logging.info(
        "Benchmark [%s] iters: %d, wall_time: %g, cpu_time: %g,throughput: %g, extras: %s, metrics: %s", name,
        shown["iters"], shown["wall_time"], shown["cpu_time"], shown["throughput"], extras, metrics,
    )  # fmt: skip
    entries = messages.BenchmarkEntries()
    entry = entries.entry.add(name=name, **{key: value for key, value in fields.items() if value is not None})
    if not isinstance(extras or {}, dict):
        raise TypeError("extras must be a dict")
    for key, value in (extras or {}).items():
        kind, kept = ("double_value", value) if isinstance(value, numbers.Number) else ("string_value", str(value))
        setattr(entry.extras[key], kind, kept)
    if not isinstance(metrics or [], list):
        raise TypeError("metrics must be a list")
    for metric in metrics or []:
        for wanted in ("name", "value"):
            if wanted not in metric:
                raise TypeError(f"metric must has a '{wanted}' field")
        added = entry.metrics.add(name=metric["name"], value=metric["value"])
        for bound in {"min_value", "max_value"} & metric.keys():
            getattr(added, bound).value = metric[bound]
    prefix = os.environ.get(TEST_REPORTER_TEST_ENV)
    if prefix is None:
        print(entries)
        return
    path = prefix + name.replace("/", "__")
    if file_io.exists(path):
        raise OSError(f"File already exists: {path}")
    file_io.write_string_to_file(path, entries.SerializeToString())


@export("test.benchmark_config")
def benchmark_config() -> Any:
    """A ConfigProto for benchmarks: the graph is not rewritten by a dependency optimizer."""
    config = messages.ConfigProto()
    config.graph_options.rewrite_options.dependency_optimization = 2
    return config


def _run_benchmarks(regex: str) -> None:
    """Runs the methods whose `module.Class.method` the pattern finds; "all" means every one."""
    pattern = re.compile("" if regex == "all" else regex)
    for cls in list(GLOBAL_BENCHMARK_REGISTRY):
        found = [
            name for name in dir(cls)
            if name.startswith("benchmark") and callable(getattr(cls, name))
            and pattern.search(f"{cls.__module__}.{cls.__name__}.{name}")
        ]  # fmt: skip
        benchmark = cls() if found else None
        for name in found:
            getattr(benchmark, name)()


def benchmarks_main(true_main: Callable[[], Any], argv: list[str] | None = None) -> Any:
    """Runs the benchmarks that --benchmarks=PATTERN names ("all" for all), else `true_main`."""
    argv = sys.argv if argv is None else argv
    wanted = [argument for argument in argv if re.match(r"--?benchmarks=", argument)]
    if not wanted:
        return true_main()
    argv.remove(wanted[0])
    return _run_benchmarks(wanted[0].partition("=")[2])
