"""`tensorflow.python.eager.monitoring`: counters, gauges and histograms of the process, by name and labels."""

from __future__ import annotations

import bisect
import sys
import threading
import weakref
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.proto import messages

_known: weakref.WeakValueDictionary[tuple[str, str], Metric] = weakref.WeakValueDictionary()
_lock = threading.Lock()


class Metric:
    """What is measured: a cell for each combination of labels.

    Args:
      name: of the metric. description: a sentence. *labels: the names of its labels.

    Raises:
      errors.AlreadyExistsError: another metric of this class and name is in use.
    """

    _cell: type

    def __init__(self, name: str, description: str, *labels: str) -> None:
        self.name, self.description, self.labels = name, description, labels
        self._cells: dict[tuple[str, ...], Any] = {}
        with _lock:
            if _known.setdefault((type(self).__name__, name), self) is not self:
                raise errors.AlreadyExistsError(None, None, f"Another metric with the same name already exists: {name}")

    def get_cell(self, *labels: str) -> Any:
        """The cell of the values of all labels; ValueError where there are not as many values as labels."""
        if len(labels) != len(self.labels):
            raise ValueError(f"The {type(self).__name__} expects taking {len(self.labels)} labels")
        with _lock:
            if labels not in self._cells:
                self._cells[labels] = self._make_cell()
            return self._cells[labels]

    def _make_cell(self) -> Any:
        return self._cell()


class CounterCell:
    """A number that grows."""

    def __init__(self) -> None:
        self._value = 0
        self._lock = threading.Lock()

    def increase_by(self, value: int) -> None:
        """Adds to the number."""
        with self._lock:
            self._value += value

    def value(self) -> int:
        """The number."""
        return self._value


class Counter(Metric):
    """Numbers that grow."""

    _cell = CounterCell


class _GaugeCell:
    """A value that is replaced."""

    _kind: type = object

    def __init__(self) -> None:
        self._value: Any = self._kind()

    def set(self, value: object) -> None:
        """Replaces the value; TypeError for one of another type."""
        if not isinstance(value, self._kind):
            raise TypeError(f"A {type(self).__name__} holds values of type {self._kind.__name__}, not {value!r}.")
        self._value = value

    def value(self) -> Any:
        """The value."""
        return self._value


class IntGaugeCell(_GaugeCell):
    """An integer that is replaced."""

    _kind = int


class StringGaugeCell(_GaugeCell):
    """A string that is replaced."""

    _kind = str


class BoolGaugeCell(_GaugeCell):
    """A bool that is replaced."""

    _kind = bool


class IntGauge(Metric):
    """Integers that are replaced."""

    _cell = IntGaugeCell


class StringGauge(Metric):
    """Strings that are replaced."""

    _cell = StringGaugeCell


class BoolGauge(Metric):
    """Bools that are replaced."""

    _cell = BoolGaugeCell


class Buckets:
    """The upper bounds of the intervals of a histogram, rising."""

    def __init__(self, limits: list[float]) -> None:
        self.limits = limits


class ExponentialBuckets(Buckets):
    """`bucket_count` intervals, the first up to `scale`, each next one up to `growth_factor` times as much; and one for all above."""

    def __init__(self, scale: float, growth_factor: float, bucket_count: int) -> None:
        super().__init__([scale * growth_factor**i for i in range(bucket_count)] + [sys.float_info.max])


class SamplerCell:
    """A histogram."""

    def __init__(self, buckets: Buckets) -> None:
        self._limits = buckets.limits
        self._samples: list[float] = []
        self._lock = threading.Lock()

    def add(self, value: float) -> None:
        """Adds a number."""
        with self._lock:
            self._samples.append(float(value))

    def value(self) -> messages.HistogramProto:
        """The histogram: its numbers' count, sum, sum of squares, least and greatest, and how many are in each interval."""
        with self._lock:
            samples = list(self._samples)
        counts = [0.0] * len(self._limits)
        for sample in samples:
            counts[bisect.bisect_right(self._limits, sample)] += 1
        most = sys.float_info.max
        found = messages.HistogramProto(
            num=len(samples), sum=sum(samples), sum_squares=sum(x * x for x in samples), min=min(samples, default=most),
            max=max(samples, default=-most)
        )  # fmt: skip
        found.bucket_limit.extend(self._limits)
        found.bucket.extend(counts)
        return found


class Sampler(Metric):
    """Histograms with the same intervals."""

    def __init__(self, name: str, buckets: Buckets, description: str, *labels: str) -> None:
        super().__init__(name, description, *labels)
        self._buckets = buckets

    def _make_cell(self) -> SamplerCell:
        return SamplerCell(self._buckets)
