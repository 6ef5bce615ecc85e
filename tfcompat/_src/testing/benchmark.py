"""`tf.test.Benchmark`: methods named benchmark*, run by `tf.test.main` with --benchmarks=PATTERN."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.framework.export import export
from tfcompat._src.proto import messages

CLASSES: list[type[Benchmark]] = []


@export("test.Benchmark")
class Benchmark:
    """Base class of benchmarks; a subclass is known from its definition on."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        CLASSES.append(cls)

    @classmethod
    def is_abstract(cls) -> bool:
        """Whether the class itself is no benchmark."""
        return cls is Benchmark

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
        metrics: Any = None,
    ) -> None:
        """Prints a result: runs, seconds of one run (processor, wall), MB/s and further values."""
        fields = dict(
            iters=iters, cpu_time=cpu_time, wall_time=wall_time, throughput=throughput, extras=extras, metrics=metrics
        )
        given = ", ".join(f"{key}: {value}" for key, value in fields.items() if value is not None)
        print(f"{name or f'{type(self).__name__}.{sys._getframe(1).f_code.co_name}'}: {given}")

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
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
          op_or_tensor: what to run; its value is not fetched.
          feed_dict: as in `Session.run`.
          burn_iters: runs before timing starts.
          min_iters: timed runs.
          store_trace: not there yet.
          store_memory_usage: nothing is stored unless a trace is.
          name: of the result.
          extras: further values of the result.
          mbs: megabytes that one run handles.

        Raises:
          NotImplementedError: `store_trace` is true.
        """
        if store_trace:
            raise NotImplementedError("tf.test.Benchmark.run_op_benchmark(store_trace=True)")
        operations = [
            getattr(each, "op", each) for each in (op_or_tensor if isinstance(op_or_tensor, list) else [op_or_tensor])
        ]
        seconds = []
        for _ in range(burn_iters + min_iters):
            start = time.perf_counter()
            sess.run(operations, feed_dict=feed_dict)
            seconds.append(time.perf_counter() - start)
        timed = seconds[burn_iters:] or [0.0]
        median = float(np.median(timed))
        spread = dict(wall_time_mean=float(np.mean(timed)), wall_time_stdev=float(np.std(timed)))
        result = dict(
            iters=min_iters, wall_time=median, throughput=mbs / median if median else 0.0,
            extras={**spread, **(extras or {})},
            name=name or f"{type(self).__name__}.{sys._getframe(1).f_code.co_name}",
        )  # fmt: skip
        self.report_benchmark(**result)  # type: ignore[arg-type]
        return result


TensorFlowBenchmark = Benchmark


@export("test.benchmark_config")
def benchmark_config() -> Any:
    """A ConfigProto for benchmarks: the graph is not rewritten by a dependency optimizer."""
    config = messages.ConfigProto()
    config.graph_options.rewrite_options.dependency_optimization = 2
    return config


def benchmarks_main(true_main: Callable[[], Any], argv: list[str]) -> Any:
    """Runs the benchmarks that --benchmarks=PATTERN names ("all" or "." for all), else `true_main`."""
    wanted = [argument.partition("=")[2] for argument in argv if re.match(r"--?benchmarks=", argument)]
    if not wanted:
        return true_main()
    pattern = re.compile(".*" if wanted[0] == "all" else wanted[0])
    for cls in CLASSES:
        for name in sorted(dir(cls)):
            if name.startswith("benchmark") and pattern.search(f"{cls.__module__}.{cls.__name__}.{name}"):
                getattr(cls(), name)()
    return None
