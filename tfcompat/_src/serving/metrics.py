"""Counters and histograms under TensorFlow Serving's names, and their text for Prometheus.

Format: Prometheus' text exposition format 0.0.4; slashes of TensorFlow's metric names become colons.
"""

from __future__ import annotations

import bisect
import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

from tfcompat._src.cluster import wire
from tfcompat._src.proto import messages

BOUNDS = [10 * 1.8**exponent for exponent in range(33)]
"""Microseconds that separate the buckets of a histogram."""


class Counter:
    """A number that grows, for each value of its labels.

    Args:
      name: of the metric. labels: names of its labels.
    """

    kind = "counter"

    def __init__(self, name: str, *labels: str) -> None:
        self.name, self._labels = name, labels
        self._lock = threading.Lock()
        self._values: dict[tuple[str, ...], Any] = {}
        ALL.append(self)

    def add(self, *values: str, amount: float = 1) -> None:
        """Adds to the number with these values of the labels."""
        with self._lock:
            self._values[values] = self._values.get(values, 0) + amount

    def values(self) -> dict[tuple[str, ...], Any]:
        """The number for each value of the labels."""
        with self._lock:
            return dict(self._values)

    def lines(self) -> list[str]:
        """The lines that say how the metric stands."""
        with self._lock:
            return [f"{self.name}{self._braces(values)} {number:g}" for values, number in sorted(self._values.items())]

    def _braces(self, values: tuple[str, ...], **more: str) -> str:
        pairs = [*zip(self._labels, values, strict=True), *more.items()]
        return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in pairs) + "}" if pairs else ""


class Histogram(Counter):
    """How often a time, in microseconds, fell between two of BOUNDS, for each value of its labels."""

    kind = "histogram"

    def add(self, *values: str, amount: float = 1) -> None:
        """Counts a time, `amount`."""
        with self._lock:
            counts, total = self._values.get(values) or ([0] * (len(BOUNDS) + 1), 0.0)
            counts[bisect.bisect_left(BOUNDS, amount)] += 1
            self._values[values] = counts, total + amount

    def values(self) -> dict[tuple[str, ...], Any]:
        """How many times fell below each of BOUNDS and above the one before, and then above all, and their sum, for each value of the labels."""
        with self._lock:
            return {values: (list(counts), total) for values, (counts, total) in self._values.items()}

    def lines(self) -> list[str]:
        found = []
        with self._lock:
            for values, (counts, total) in sorted(self._values.items()):
                below = 0
                for bound, count in zip([*map("{:g}".format, BOUNDS), "+Inf"], counts, strict=True):
                    below += count
                    found.append(f"{self.name}_bucket{self._braces(values, le=bound)} {below}")
                found.append(f"{self.name}_sum{self._braces(values)} {total:.17g}")
                found.append(f"{self.name}_count{self._braces(values)} {below}")
        return found


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


ALL: list[Counter] = []
REQUEST_COUNT = Counter(":tensorflow:serving:request_count", "model_name", "status")
REQUEST_LATENCY = Histogram(":tensorflow:serving:request_latency", "model_name", "API", "entrypoint")
EXAMPLE_COUNT = Counter(":tensorflow:serving:request_example_count_total", "model")
QUEUING_LATENCY = Histogram(":tensorflow:serving:batching_session:queuing_latency", "thread_pool_name")
WARMUP_LATENCY = Histogram(":tensorflow:serving:model_warmup_latency", "model_path", "status")
REQUEST_LOG_COUNT = Counter(":tensorflow:serving:request_log_count", "model_name", "status_code")
GRAPH_RUNS = Counter(":tensorflow:core:graph_runs")


def text() -> str:
    """All metrics that have a value, as Prometheus reads them."""
    found = []
    for metric in ALL:
        if lines := metric.lines():
            found += [f"# TYPE {metric.name} {metric.kind}", *lines]
    return "\n".join([*found, ""])


@contextlib.contextmanager
def counted(model: str, method: str, entry: str) -> Iterator[None]:
    """A block that answers a request: it counts with its status, and where it succeeds, its time does.

    Args:
      model: the name that the request gives. method: such as "Predict". entry: "GRPC" or "REST".
    """
    began = time.monotonic()
    try:
        yield
    except wire.FAILURES as e:
        REQUEST_COUNT.add(model, messages.error.Code.Name(wire.status_of(e)[0]))
        raise
    REQUEST_COUNT.add(model, "OK")
    REQUEST_LATENCY.add(model, method, entry, amount=(time.monotonic() - began) * 1e6)
