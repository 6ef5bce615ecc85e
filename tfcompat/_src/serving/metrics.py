"""Counters and histograms under TensorFlow Serving's names, and their text for Prometheus.

Format: Prometheus' text exposition format 0.0.4; slashes of TensorFlow's metric names become colons.
"""

from __future__ import annotations

import bisect
import contextlib
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from tfcompat._src.cluster import wire
from tfcompat._src.proto import messages

Totals = dict[str, dict[tuple[str, ...], Any]]
"""By metric and values of its labels: a number or, of histograms, counts and a sum."""
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

    def summed(self, one: Any, other: Any) -> Any:
        """The sum of the numbers of two processes."""
        return one + other

    def lines(self, values: dict[tuple[str, ...], Any]) -> list[str]:
        """The lines that say how the metric stands where these are its values."""
        return [f"{self.name}{self._braces(labels)} {number:g}" for labels, number in sorted(values.items())]

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
        """How many times fell between two of BOUNDS each, before the first and behind the last, and their sum, for each value of the labels."""
        with self._lock:
            return {labels: (list(counts), total) for labels, (counts, total) in self._values.items()}

    def summed(self, one: Any, other: Any) -> Any:
        return [a + b for a, b in zip(one[0], other[0], strict=True)], one[1] + other[1]

    def lines(self, values: dict[tuple[str, ...], Any]) -> list[str]:
        found = []
        for labels, (counts, total) in sorted(values.items()):
            below = 0
            for bound, count in zip([*map("{:g}".format, BOUNDS), "+Inf"], counts, strict=True):
                below += count
                found.append(f"{self.name}_bucket{self._braces(labels, le=bound)} {below}")
            found.append(f"{self.name}_sum{self._braces(labels)} {total:.17g}")
            found.append(f"{self.name}_count{self._braces(labels)} {below}")
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


def totals(others: Iterable[Totals] = ()) -> Totals:
    """The values of all metrics in this process, and in others whose totals these are."""
    found = {metric.name: metric.values() for metric in ALL}
    for other in others:
        for metric in ALL:
            values = found[metric.name]
            for labels, value in other[metric.name].items():
                values[labels] = metric.summed(values[labels], value) if labels in values else value
    return found


def text(values: Totals) -> str:
    """All metrics that have a value among these, as Prometheus reads them."""
    found = []
    for metric in ALL:
        if lines := metric.lines(values[metric.name]):
            found += [f"# TYPE {metric.name} {metric.kind}", *lines]
    return "\n".join([*found, ""])


UNKNOWN = ""


@contextlib.contextmanager
def counted(model: str, method: str, entry: str) -> Iterator[None]:
    """A block that answers a request: it counts with its status, and where it succeeds, its time does.

    Args:
      model: the name of the model; UNKNOWN for one that the server does not have, so that requests make no labels. method: such as "Predict". entry: "GRPC" or "REST".
    """
    began = time.monotonic()
    try:
        yield
    except wire.FAILURES as e:
        REQUEST_COUNT.add(model, messages.error.Code.Name(wire.status_of(e)[0]))
        raise
    REQUEST_COUNT.add(model, "OK")
    REQUEST_LATENCY.add(model, method, entry, amount=(time.monotonic() - began) * 1e6)
