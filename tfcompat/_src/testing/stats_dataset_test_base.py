"""`tensorflow.python.data.experimental.kernel_tests.stats_dataset_test_base`: checks of the statistics of datasets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import tfcompat as tf
from tfcompat._src.base import errors
from tfcompat._src.io.tfrecord import tf_record_iterator
from tfcompat._src.proto import messages
from tfcompat._src.testing.data_test_base import DatasetTestBase


class StatsDatasetTestBase(DatasetTestBase):
    """Checks of what a StatsAggregator has gathered, in its summary."""

    def datasetExperimentalStats(self, dataset: Any, aggregator: Any, prefix: str = "", counter_prefix: str = "") -> Any:  # noqa: N802
        """A dataset whose statistics an aggregator gathers, under names with a prefix."""
        options = tf.data.Options()
        options.experimental_stats.aggregator = aggregator
        options.experimental_stats.prefix, options.experimental_stats.counter_prefix = prefix, counter_prefix
        options.experimental_stats.latency_all_edges = False
        return dataset.with_options(options)

    def regexForNodeName(self, op_name: str, stats_type: str = "") -> str:  # noqa: N802
        """A pattern of the names of statistics of datasets of a kind."""
        return rf"{op_name}/_\d+" + (f"::{stats_type}" if stats_type else "")

    def getHandle(self, aggregator: Any) -> Any:  # noqa: N802
        """The summary of an aggregator, which the checks take."""
        return self.evaluate(aggregator.get_summary())

    # ---- checks ----

    def assertStatisticsContains(self, handle: object, tag: str, num_events: int = -1, offset: int = 0) -> None:  # noqa: N802
        """Fails where there is no statistic whose name matches a pattern.

        Args:
          handle: the summary, or the folder of an event file. tag: the pattern. num_events: that the file has to have; -1 for any number.
          offset: which event from the end is meant, where their number is given.
        """
        self._check(handle, tag, num_events, offset, lambda value: None)

    def assertStatisticsHasCount(  # noqa: N802
        self, handle: object, tag: str, count: float, num_events: int = -1, greater_than: bool = False, offset: int = 0
    ) -> None:
        """Fails where a histogram has not so many values, or fewer with `greater_than`; the others as of assertStatisticsContains."""
        compare = self.assertGreaterEqual if greater_than else self.assertEqual
        self._check(handle, tag, num_events, offset, lambda value: compare(value.histo.num, count))

    def assertStatisticsHasSum(self, handle: object, tag: str, expected_value: float, num_events: int = -1, offset: int = 0) -> None:  # noqa: N802
        """Fails where the values of a histogram have another sum."""
        self._check(handle, tag, num_events, offset, lambda value: self.assertEqual(expected_value, value.histo.sum))

    def assertStatisticsHasRange(  # noqa: N802
        self, handle: object, tag: str, min_value: float, max_value: float, num_events: int = -1, offset: int = 0
    ) -> None:
        """Fails where a value of a histogram is out of a range."""

        def check(value: Any) -> None:
            self.assertLessEqual(min_value, value.histo.min)
            self.assertGreaterEqual(max_value, value.histo.max)

        self._check(handle, tag, num_events, offset, check)

    def assertStatisticsHasScalarValue(  # noqa: N802
        self, handle: object, tag: str, expected_value: float, num_events: int = -1, offset: int = 0
    ) -> None:
        """Fails where a number is another one; in one event of a file, where it is smaller."""
        compare = self.assertEqual if num_events == -1 else self.assertLessEqual
        self._check(handle, tag, num_events, offset, lambda value: compare(expected_value, value.simple_value))

    def _check(self, handle: Any, tag: str, num_events: int, offset: int, check: Callable[[Any], None]) -> None:
        """Checks the statistic that a pattern means: of the summary the first, of a file the last or the one from the end."""
        if isinstance(handle, bytes):
            values = list(messages.Summary.FromString(handle).value)
        else:
            events = list(_events_from_logdir(handle))
            if num_events != -1:
                self.assertEqual(len(events), num_events)
                events = [events[num_events - offset - 1]]
            values = [event.summary.value[0] for event in reversed(events) if event.summary.value]
        found = next((value for value in values if re.match(tag, value.tag)), None)
        if found is None:
            self.fail(f"Expected tag {tag!r} not found in {[value.tag for value in values]}")
        check(found)

    def parallelCallsStats(  # noqa: N802
        self, dataset_fn: Callable[[], Any], dataset_names: Sequence[str], num_output: int, function_processing_time: bool = False,
        check_elements: bool = True,
    ) -> None:  # fmt: skip
        """Checks the statistics of a dataset whose functions run side by side.

        Args:
          dataset_fn: makes it. dataset_names: kinds of datasets in it. num_output: its elements; number i is i times i.
          function_processing_time: whether times of functions are gathered. check_elements: whether the elements are looked at.
        """
        aggregator = tf.data.experimental.StatsAggregator()
        get_next = self.getNext(self.datasetExperimentalStats(dataset_fn(), aggregator), requires_initialization=True)
        times = "(.*)::execution_time$"
        for i in range(num_output):
            element = self.evaluate(get_next())
            if check_elements:
                self.assertAllEqual(np.array([i] * i, np.int64), element)
            handle = self.getHandle(aggregator)
            for name in dataset_names:
                if function_processing_time:
                    self.assertStatisticsHasCount(handle, times, float(i + 1), greater_than=True)
                self.assertStatisticsContains(handle, self.regexForNodeName(name, "thread_utilization"))
        with self.assertRaises(errors.OutOfRangeError):
            self.evaluate(get_next())
        if function_processing_time:
            self.assertStatisticsHasCount(self.getHandle(aggregator), times, float(num_output), greater_than=True)


def _events_from_logdir(logdir: str) -> Iterator[Any]:
    """The events of the one file in a folder."""
    (name,) = tf.io.gfile.listdir(logdir)
    for record in tf_record_iterator(os.path.join(logdir, name)):
        yield messages.Event.FromString(record)
