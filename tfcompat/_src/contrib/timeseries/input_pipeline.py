"""Input functions of time series estimators: whole series, random windows of them, and times to predict."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.timeseries import model_utils
from tfcompat._src.contrib.timeseries.feature_keys import FilteringResults, PredictionFeatures, TrainEvalFeatures
from tfcompat._src.contrib.timeseries.readers import TimeSeriesReader
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import reverse
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.math.reduce import reduce_all, reduce_any
from tfcompat._src.ops.nn.top_k import top_k
from tfcompat._src.ops.random.stateful import random_uniform
from tfcompat._src.train.input_batching import batch, maybe_shuffle_batch
from tfcompat._src.train.input_producers import limit_epochs
from tfcompat._src.variables.assign import assign, is_variable_initialized
from tfcompat._src.variables.variable import Variable


@export("contrib.timeseries.predict_continuation_input_fn")
def predict_continuation_input_fn(
    evaluation: dict[str, Any], steps: int | None = None, times: object = None, exogenous_features: dict[str, Any] | None = None
) -> Callable:
    """An input function that predicts after each window of an evaluation.

    Args:
      evaluation: what Estimator.evaluate gives, with STATE_TUPLE and TIMES.
      steps: how many times after the last one are predicted; this or `times`.
      times: integers [batch, window], or [window] for a batch of one, after those of the evaluation.
      exogenous_features: dict of arrays [batch, window, ...].

    Returns:
      A function for Estimator.predict.

    Raises:
      ValueError: both or neither of `steps` and `times` are given, or the times do not fit.
    """
    features = {
        PredictionFeatures.STATE_TUPLE: evaluation[FilteringResults.STATE_TUPLE],
        PredictionFeatures.TIMES: model_utils.canonicalize_times_or_steps_from_output(times, steps, evaluation),
        **(exogenous_features or {}),
    }

    def input_fn() -> tuple[dict[str, Any], None]:
        # Features without an end would be predicted again and again.
        return nest.map_structure(lambda value: limit_epochs(value, num_epochs=1), features), None

    return input_fn


class TimeSeriesInputFn:
    """An input function of an Estimator: called, it gives a dict of features and no labels."""

    @abc.abstractmethod
    def create_batch(self) -> tuple[dict[str, Any], None]:
        """A dict of Tensors [batch, window, ...], and None."""

    def __call__(self) -> tuple[dict[str, Any], None]:
        return self.create_batch()


@export("contrib.timeseries.WholeDatasetInputFn")
class WholeDatasetInputFn(TimeSeriesInputFn):
    """Gives a whole series as one window, [1, time, ...].

    Args:
      time_series_reader: a reader, such as NumpyReader.
    """

    def __init__(self, time_series_reader: TimeSeriesReader) -> None:
        self._reader = time_series_reader

    def create_batch(self) -> tuple[dict[str, Any], None]:
        """The features, and None."""
        return {name: expand_dims(value, 0) for name, value in self._reader.read_full().items()}, None


@export("contrib.timeseries.RandomWindowInputFn")
class RandomWindowInputFn(TimeSeriesInputFn):
    """Gives batches of random windows of a series.

    Args:
      time_series_reader: a reader, such as NumpyReader.
      window_size: times of a window.
      batch_size: windows of a batch.
      queue_capacity_multiplier: how many batches the queues hold.
      shuffle_min_after_dequeue_multiplier: how many batches stay in the queue that shuffles.
      discard_out_of_order: whether windows over the end of the series and its beginning are left out, rather than gathered by time.
      discard_consecutive_batches_limit: after so many batches of which all windows are left out, reading ends with an
        OutOfRangeError.
      jitter: whether windows begin at any time, rather than at multiples of `window_size`.
      num_threads: threads that read and shuffle; with more than one the order is random; None is one for each window of a batch.
      shuffle_seed: seed of the order.

    Raises:
      ValueError: the series is known to be shorter than a window.
    """

    def __init__(
        self, time_series_reader, window_size, batch_size, queue_capacity_multiplier=1000,
        shuffle_min_after_dequeue_multiplier=2, discard_out_of_order=True, discard_consecutive_batches_limit=1000, jitter=True,
        num_threads=2, shuffle_seed=None,
    ) -> None:  # fmt: skip
        time_series_reader.check_dataset_size(minimum_dataset_size=window_size)
        self._reader = time_series_reader
        self._window_size = window_size
        self._batch_size = batch_size
        self._queue_capacity_multiplier = queue_capacity_multiplier
        self._shuffle_min_after_dequeue_multiplier = shuffle_min_after_dequeue_multiplier
        self._discard_out_of_order = discard_out_of_order
        self._discard_limit = discard_consecutive_batches_limit
        self._jitter = jitter
        self._num_threads = batch_size if num_threads is None else num_threads
        self._shuffle_seed = shuffle_seed

    def create_batch(self) -> tuple[dict[str, Any], None]:
        """A dict of Tensors [batch_size, window_size, ...], and None."""
        windows = self._consecutive_windows(self._reader.read())
        keep: Any = True
        if self._discard_out_of_order:
            keep = self._windows_in_order(windows[TrainEvalFeatures.TIMES])
        else:
            windows = _gathered_by_time(windows)
        batches = maybe_shuffle_batch(
            windows, batch_size=self._batch_size, capacity=self._queue_capacity_multiplier * self._batch_size,
            min_after_dequeue=self._shuffle_min_after_dequeue_multiplier * self._batch_size, keep_input=keep,
            num_threads=self._num_threads, seed=self._shuffle_seed, enqueue_many=True,
        )  # fmt: skip
        return batches, None

    def _consecutive_windows(self, records: dict[str, Any]) -> dict[str, Tensor]:
        """The next `batch_size` windows, one after the other; with jitter a record is passed over before them or not."""
        passed_over = random_uniform([], maxval=2, dtype=dtypes.int32) if self._jitter else 0
        together = self._window_size * self._batch_size
        read = batch(
            records, batch_size=together + passed_over, num_threads=self._num_threads, enqueue_many=True,
            capacity=self._queue_capacity_multiplier * together,
        )  # fmt: skip
        used = {name: value[passed_over:] for name, value in read.items()} if self._jitter else read
        sizes = [self._batch_size, self._window_size]
        windows = {name: reshape(value, concat([sizes, shape(value)[1:]], 0)) for name, value in used.items()}
        for name, window in windows.items():
            window.set_shape(TensorShape(sizes).concatenate(read[name].shape[1:]))
        return windows

    def _windows_in_order(self, times: Tensor) -> Tensor:
        """Which windows [batch] have times that do not decrease; counts the batches one after the other that have none."""
        in_order = reduce_all(times[:, 1:] >= times[:, :-1], axis=1)
        discarded = Variable(
            constant(0, dtype=dtypes.int64), trainable=False, collections=[GraphKeys.LOCAL_VARIABLES],
            name="discarded_windows_limiter",
        )  # fmt: skip

        def count() -> Tensor:
            return cond(
                reduce_any(in_order), lambda: assign(discarded, 0), lambda: discarded.count_up_to(self._discard_limit)
            )

        # A queue's thread may begin before the local variables have values.
        counted = cond(is_variable_initialized(discarded), count, lambda: constant(0, dtype=dtypes.int64))
        with control_dependencies([counted]):
            return identity(in_order)


def _gathered_by_time(windows: dict[str, Tensor]) -> dict[str, Tensor]:
    """What 1.15.5 gives where no window is left out: the places of the times in their windows, taken as places in the batch."""
    times = windows[TrainEvalFeatures.TIMES]
    _, descending = top_k(times, k=shape(times)[-1], sorted=True)
    order = reverse(descending, axis=[0])
    return {name: gather(value, order) for name, value in windows.items()}
