"""The op types of pipeline statistics: sizes and latencies of elements, collected in an aggregator resource.

SetStatsAggregatorDataset makes the aggregator the `record` of an iteration's Scope; the datasets of the pipeline record their values there.
"""

from __future__ import annotations

import time
from collections import defaultdict

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.values import NO_GRADIENT, DatasetValue, Element, Next, Scope, dataset_of, dataset_op, text
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, op
from tfcompat._src.ops.queues.queue_ops import MAKES_HANDLE
from tfcompat._src.ops.queues.resource import SharedResource, shared_resource
from tfcompat._src.ops.summary.values import add_histogram
from tfcompat._src.ops.summary.writer_ops import SummaryWriterResource
from tfcompat._src.proto import messages


class StatsAggregator(SharedResource):
    """The resource that collects values by tag: histograms (`add`) and scalars (`put`)."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, list[float]] = defaultdict(list)
        self._last: dict[str, float] = {}

    def add(self, tag: str, value: float) -> None:
        """Adds a value to the histogram of a tag."""
        with self.lock:
            self._values[tag].append(value)

    def put(self, tag: str, value: float) -> None:
        """Sets the scalar of a tag."""
        with self.lock:
            self._last[tag] = value

    def summary(self) -> bytes:
        """Returns a serialized Summary with the histogram or the scalar of each tag."""
        summary = messages.Summary()
        with self.lock:
            for tag, values in self._values.items():
                add_histogram(summary, tag.encode(), np.array(values), tag)
            for tag, value in self._last.items():
                summary.value.add(tag=tag, simple_value=value)
        return bytes(summary.SerializeToString())


class WritingAggregator(StatsAggregator):
    """The aggregator of StatsAggregatorHandleV2: writes an event to a summary writer for each recorded value; its own summary is empty."""

    def __init__(self) -> None:
        super().__init__()
        self.writer: SummaryWriterResource | None = None
        self._steps: dict[str, int] = defaultdict(int)

    def add(self, tag: str, value: float) -> None:
        # Each event has the histogram of all values so far; its step is the number of the value.
        super().add(tag, value)
        if self.writer is not None:
            values = self._values[tag]
            event = messages.Event(wall_time=time.time(), step=len(values) - 1)
            add_histogram(event.summary, tag.encode(), np.array(values), tag)
            self.writer.write(event)

    def put(self, tag: str, value: float) -> None:
        super().put(tag, value)
        if self.writer is not None:
            self._steps[tag] += 1
            event = messages.Event(wall_time=time.time(), step=self._steps[tag] - 1)
            event.summary.value.add(tag=tag, simple_value=value)
            self.writer.write(event)

    def summary(self) -> bytes:
        return b""


def _made(context: HostContext) -> StatsAggregator:
    return shared_resource(context, "stats aggregator", StatsAggregator)


def _made_writing(context: HostContext) -> WritingAggregator:
    return shared_resource(context, "stats aggregator", WritingAggregator)


def _set_writer(stats_aggregator: WritingAggregator, summary: SummaryWriterResource) -> tuple[()]:
    stats_aggregator.writer = summary
    return ()


op("StatsAggregatorHandleV2", '(*, container: string = "", shared_name: string = "") -> (handle: resource)', shape=si.scalar,
   gradient=NO_GRADIENT, kernel=_made_writing, side=HOST, effects=MAKES_HANDLE, context=True)  # fmt: skip
op("StatsAggregatorSetSummaryWriter", "(stats_aggregator: resource, summary: resource) -> ()", shape=si.no_outputs,
   gradient=NO_GRADIENT, kernel=_set_writer, side=HOST, effects=EXTERNAL)  # fmt: skip


class _Prefixed:
    """A recorder that adds a prefix to the tags of an aggregator."""

    def __init__(self, aggregator: StatsAggregator, prefix: str) -> None:
        self._aggregator, self._before = aggregator, f"{prefix}::" if prefix else ""

    def add(self, tag: str, value: float) -> None:
        self._aggregator.add(self._before + tag, value)

    def put(self, tag: str, value: float) -> None:
        self._aggregator.put(self._before + tag, value)


def _set_aggregator(context: HostContext, input_dataset: NDArray, stats_aggregator: StatsAggregator, tag: NDArray, counter_prefix: NDArray) -> DatasetValue:
    source, record = dataset_of(input_dataset), _Prefixed(stats_aggregator, tag.item().decode())

    # Datasets read `scope.record` when they start, so it is set before the source starts.
    def start(scope: Scope) -> Next:
        scope.record = record
        return source.start(scope)

    return DatasetValue(start, source.size)


def _bytes_produced(context: HostContext, input_dataset: NDArray, tag: NDArray) -> DatasetValue:
    source, name = dataset_of(input_dataset), tag.item().decode()

    def start(scope: Scope) -> Next:
        following = source.start(scope)

        def weighed() -> Element:
            element = following()
            if scope.record is not None:
                scope.record.add(name, sum(map(_bytes_of, element)))
            return element

        return weighed

    return DatasetValue(start, source.size)


def _bytes_of(value: NDArray) -> int:
    """Returns the size of a component in bytes; of strings, the sum of their lengths."""
    return value.nbytes if value.dtype != object else sum(len(v) for v in value.reshape(-1).tolist() if isinstance(v, bytes))


def _latency(context: HostContext, input_dataset: NDArray, tag: NDArray) -> DatasetValue:
    """Records the microseconds that each element of the input takes, including the time spent waiting for it."""
    source, name = dataset_of(input_dataset), tag.item().decode()

    def start(scope: Scope) -> Next:
        following = source.start(scope)

        def timed() -> Element:
            began = time.perf_counter()
            element = following()
            if scope.record is not None:
                scope.record.add(name, (time.perf_counter() - began) * 1e6)
            return element

        return timed

    return DatasetValue(start, source.size)


for _prefix in ("", "Experimental"):
    op(_prefix + "StatsAggregatorHandle", '(*, container: string = "", shared_name: string = "") -> (handle: resource)', shape=si.scalar,
       gradient=NO_GRADIENT, kernel=_made, side=HOST, effects=MAKES_HANDLE, context=True)  # fmt: skip
    op(_prefix + "StatsAggregatorSummary", "(iterator: resource) -> (summary: string)", shape=si.scalar, gradient=NO_GRADIENT,
       kernel=lambda iterator: text(iterator.summary()), side=HOST, effects=EXTERNAL)  # fmt: skip
    dataset_op(
        _prefix + "SetStatsAggregatorDataset", "input_dataset: variant, stats_aggregator: resource, tag: string, counter_prefix: string"
    )(_set_aggregator)
    dataset_op(_prefix + "BytesProducedStatsDataset", "input_dataset: variant, tag: string")(_bytes_produced)
    dataset_op(_prefix + "LatencyStatsDataset", "input_dataset: variant, tag: string")(_latency)
