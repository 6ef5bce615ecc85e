"""`tensorflow.python.eager.monitoring`: counters, gauges and histograms of this process, by name and labels."""

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
    """A named measurement with one cell for each combination of label values.

    Args:
      name: of the metric.
      description: a sentence.
      *labels: names of its labels.

    Raises:
      errors.AlreadyExistsError: another metric of this class and name is alive.
    """

    _cell: type

    def __init__(self, name: str, description: str, *labels: str) -> None:
        self.name, self.description, self.labels = name, description, labels
        self._cells: dict[tuple[str, ...], Any] = {}
        with _lock:
            # The registry holds metrics weakly: a name is free again when its metric is gone.
            if _known.setdefault((type(self).__name__, name), self) is not self:
                raise errors.AlreadyExistsError(None, None, f"Another metric with the same name already exists: {name}")

    def get_cell(self, *labels: str) -> Any:
        """Returns the cell for the values of all labels; raises ValueError if their number is wrong."""
        if len(labels) != len(self.labels):
            raise ValueError(f"The {type(self).__name__} expects taking {len(self.labels)} labels")
        with _lock:
            if labels not in self._cells:
                self._cells[labels] = self._make_cell()
            return self._cells[labels]

    def _make_cell(self) -> Any:
        return self._cell()


class CounterCell:
    """A number that only grows."""

    def __init__(self) -> None:
        self._value = 0
        self._lock = threading.Lock()

    def increase_by(self, value: int) -> None:
        """Adds to the number."""
        with self._lock:
            self._value += value

    def value(self) -> int:
        """Returns the number."""
        return self._value


class Counter(Metric):
    """A metric whose cells are numbers that only grow."""

    _cell = CounterCell


class _GaugeCell:
    """A value that can be replaced."""

    _kind: type = object

    def __init__(self) -> None:
        self._value: Any = self._kind()

    def set(self, value: object) -> None:
        """Replaces the value; raises TypeError for one of another type."""
        if not isinstance(value, self._kind):
            raise TypeError(f"A {type(self).__name__} holds a value of type {self._kind.__name__}, but got {value!r}.")
        self._value = value

    def value(self) -> Any:
        """Returns the value."""
        return self._value


class IntGaugeCell(_GaugeCell):
    """An integer that can be replaced."""

    _kind = int


class StringGaugeCell(_GaugeCell):
    """A string that can be replaced."""

    _kind = str


class BoolGaugeCell(_GaugeCell):
    """A bool that can be replaced."""

    _kind = bool


class IntGauge(Metric):
    """A metric whose cells are integers that can be replaced."""

    _cell = IntGaugeCell


class StringGauge(Metric):
    """A metric whose cells are strings that can be replaced."""

    _cell = StringGaugeCell


class BoolGauge(Metric):
    """A metric whose cells are bools that can be replaced."""

    _cell = BoolGaugeCell


class Buckets:
    """Upper bounds of a histogram's intervals, in increasing order."""

    def __init__(self, limits: list[float]) -> None:
        self.limits = limits


class ExponentialBuckets(Buckets):
    """`bucket_count` intervals that end at `scale * growth_factor**i`, and one for all larger values."""

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
        """Returns a HistogramProto: count, sum, sum of squares, minimum and maximum of the numbers, and the count in each interval."""
        with self._lock:
            samples = list(self._samples)
        counts = [0.0] * len(self._limits)
        for sample in samples:
            counts[bisect.bisect_right(self._limits, sample)] += 1
        # As in 1.15, an empty histogram has the largest float as its minimum and the lowest as its maximum.
        most = sys.float_info.max
        histogram = messages.HistogramProto(
            num=len(samples), sum=sum(samples), sum_squares=sum(x * x for x in samples), min=min(samples, default=most),
            max=max(samples, default=-most)
        )  # fmt: skip
        histogram.bucket_limit.extend(self._limits)
        histogram.bucket.extend(counts)
        return histogram


class Sampler(Metric):
    """A metric whose cells are histograms with the same intervals."""

    def __init__(self, name: str, buckets: Buckets, description: str, *labels: str) -> None:
        super().__init__(name, description, *labels)
        self._buckets = buckets

    def _make_cell(self) -> SamplerCell:
        return SamplerCell(self._buckets)
