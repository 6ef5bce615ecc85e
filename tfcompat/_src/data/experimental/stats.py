"""tf.data.experimental: an aggregator of pipeline statistics, and transformations that record sizes and latencies."""

from __future__ import annotations

from collections.abc import Callable

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor

Apply = Callable[[DatasetV2], DatasetV2]


@export("data.experimental.StatsAggregator")
class StatsAggregatorV1:
    """Collects the statistics of the pipelines whose `Options.experimental_stats.aggregator` it is."""

    def __init__(self) -> None:
        self._resource = raw.StatsAggregatorHandle()

    def get_summary(self) -> Tensor:
        """Returns the statistics so far as a serialized tf.Summary of histograms and scalars, a string scalar."""
        summary: Tensor = raw.StatsAggregatorSummary(self._resource)
        return summary


StatsAggregator = StatsAggregatorV1


@export("data.experimental.bytes_produced_stats")
def bytes_produced_stats(tag: object) -> Apply:
    """For `apply`: records the size of each element, in bytes, under `tag` (string scalar)."""
    return lambda dataset: dataset._same(raw.BytesProducedStatsDataset, convert_to_tensor(tag, dtypes.string))


@export("data.experimental.latency_stats")
def latency_stats(tag: object) -> Apply:
    """For `apply`: records the time that each element takes, in microseconds, under `tag` (string scalar)."""
    return lambda dataset: dataset._same(raw.LatencyStatsDataset, convert_to_tensor(tag, dtypes.string))


def set_stats_aggregator(stats_aggregator: StatsAggregatorV1, prefix: str = "", counter_prefix: str = "") -> Apply:
    """For `apply`: records the statistics of the pipeline before it in an aggregator, under tags that begin with `prefix`."""
    return lambda dataset: dataset._same(raw.SetStatsAggregatorDataset, stats_aggregator._resource, prefix, counter_prefix)
