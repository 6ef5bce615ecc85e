"""Statistics of a whole series, estimated from the windows that training sees."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfcompat._src.base import dtypes, nest
from tfcompat._src.contrib.timeseries.feature_keys import TrainEvalFeatures
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.shape import shape, size
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.binary import maximum, minimum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import less_equal
from tfcompat._src.ops.math.reduce import argmin, reduce_max, reduce_min, reduce_sum
from tfcompat._src.ops.math.unary import round_half_to_even
from tfcompat._src.ops.nn.moments import moments
from tfcompat._src.variables.assign import assign, assign_add
from tfcompat._src.variables.initializers import Ones, Zeros
from tfcompat._src.variables.scope import get_variable, variable_scope


class Moments(NamedTuple):
    """Mean and variance [features]."""

    mean: Any
    variance: Any


class InputStatistics(NamedTuple):
    """What is known of a series: Moments at its start and of the whole, its first time, and how many times it has."""

    series_start_moments: Any
    overall_feature_moments: Any
    start_time: Any
    total_observation_count: Any


class _Sums(NamedTuple):
    """What the statistics are computed of: the last time seen, counts of windows and of times, and sums."""

    max_time_seen: Any
    chunk_count: Any
    inter_observation_duration_sum: Any
    example_count: Any
    overall_feature_sum: Any
    overall_feature_sum_of_squares: Any


def _statistic(name: str, sizes: list[int] | None, dtype: object, initializer: object = None) -> Any:
    return get_variable(name, shape=sizes, dtype=dtype, initializer=initializer, trainable=False)


class InputStatisticsFromMiniBatch:
    """InputStatistics in variables that every batch of windows updates.

    Workers update the variables without locks: the statistics become right when the start of the series has been seen.

    Args:
      num_features: features of the series.
      dtype: floating point dtype of the moments.
      starting_variance_window_size: how many values the moments at the start are taken of.
    """

    def __init__(self, num_features: int, dtype: object, starting_variance_window_size: int = 16) -> None:
        self._starting_variance_window_size = starting_variance_window_size
        self._num_features = num_features
        self._dtype = dtype

    def initialize_graph(self, features: dict[str, Any], update_statistics: bool = True) -> InputStatistics:
        """Makes the variables.

        Args:
          features: dict with TIMES [batch, window] and VALUES [batch, window, features]; without one of them nothing is updated.
          update_statistics: whether the features update the statistics, as they do in training.

        Returns:
          The statistics, read after the update if there is one.
        """
        with variable_scope("input_statistics", use_resource=True):
            statistics = self._statistics_variables()
        with variable_scope("input_statistics_auxiliary", use_resource=True):
            sums = self._sums_variables()
        if not update_statistics or not {TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES} <= set(features):
            return statistics
        times, values = features[TrainEvalFeatures.TIMES], features[TrainEvalFeatures.VALUES]
        updated = self._updated_by(statistics, sums, times, values)
        with control_dependencies([updated]):
            read = nest.map_structure(identity, statistics)
            # Another worker may have overwritten the first time, and models need every time to be at or after it.
            return read._replace(start_time=minimum(read.start_time, cast(reduce_min(times), dtypes.int64)))

    def _statistics_variables(self) -> InputStatistics:
        def moments_of(mean: str, variance: str) -> Moments:
            sizes = [self._num_features]
            return Moments(
                _statistic(mean, sizes, self._dtype, Zeros()), _statistic(variance, sizes, self._dtype, Ones())
            )

        return InputStatistics(
            series_start_moments=moments_of("series_start_mean", "series_start_variance"),
            overall_feature_moments=moments_of("overall_feature_mean", "overall_feature_var"),
            start_time=_statistic("start_time", None, dtypes.int64, dtypes.int64.max),
            total_observation_count=_statistic("total_observation_count", [], dtypes.int64, Ones()),
        )

    def _sums_variables(self) -> _Sums:
        features = [self._num_features]
        return _Sums(
            max_time_seen=_statistic("max_time_seen", None, dtypes.int64, dtypes.int64.min),
            chunk_count=_statistic("chunk_count", [], dtypes.int64, Zeros()),
            inter_observation_duration_sum=_statistic("inter_observation_duration_sum", [], self._dtype, Zeros()),
            example_count=_statistic("example_count", [], dtypes.int64),
            overall_feature_sum=_statistic("overall_feature_sum", features, self._dtype, Zeros()),
            overall_feature_sum_of_squares=_statistic("overall_feature_sum_of_squares", features, self._dtype, Zeros()),
        )

    def _update_sums(self, sums: _Sums, times: Tensor, values: Tensor) -> _Sums:
        """The updated variables; each update stands on its variable's device."""
        durations = cast(reduce_max(times, axis=1) - reduce_min(times, axis=1), self._dtype)
        time_steps = durations / cast(shape(times)[1] - 1, self._dtype)
        # Computed where the variable is updated.
        additions = {
            "chunk_count": lambda: shape(times, out_type=dtypes.int64)[0],
            "inter_observation_duration_sum": lambda: reduce_sum(time_steps),
            "example_count": lambda: size(times, out_type=dtypes.int64),
            "overall_feature_sum": lambda: reduce_sum(values, axis=[0, 1]),
            "overall_feature_sum_of_squares": lambda: reduce_sum(values**2, axis=[0, 1]),
        }
        with device(sums.max_time_seen.device):
            latest = cast(reduce_max(times), dtypes.int64)
            updated = {"max_time_seen": assign(sums.max_time_seen, maximum(sums.max_time_seen, latest))}
        for name, addition in additions.items():
            variable = getattr(sums, name)
            with device(variable.device):
                updated[name] = assign_add(variable, addition())
        return _Sums(**updated)

    def _updated_by(
        self, statistics: InputStatistics, sums: _Sums, times: Tensor, values: Tensor
    ) -> Operation:
        values = cast(values, self._dtype)
        updated = self._update_sums(sums, times, values)
        with control_dependencies([group(*updated)]):
            overall = self._update_overall_moments(statistics.overall_feature_moments, sums)
            with device(statistics.start_time.device):
                at_start = self._update_series_start(statistics, times, values)
                with control_dependencies([at_start]):
                    first = cast(reduce_min(times), dtypes.int64)
                    start_time = assign(statistics.start_time, minimum(statistics.start_time, first))
            time_step = sums.inter_observation_duration_sum / cast(sums.chunk_count, self._dtype)
            span = cast(updated.max_time_seen - start_time + 1, self._dtype)
            count = cast(round_half_to_even(span / time_step), dtypes.int64)
            return group(*overall, at_start, start_time, assign(statistics.total_observation_count, count))

    def _update_overall_moments(self, moments: Moments, sums: _Sums) -> list[Any]:
        """The updates: every time counts as equally likely to be in a window, though those at the ends are less."""
        count = cast(sums.example_count, self._dtype)
        mean = sums.overall_feature_sum / count
        mean_set = assign(moments.mean, mean)
        unbiased = count / (count - 1.0)
        variance = unbiased * (sums.overall_feature_sum_of_squares / count - mean**2)
        return [mean_set, assign(moments.variance, variance)]

    def _update_series_start(self, statistics: InputStatistics, times: Tensor, values: Tensor) -> Any:
        """The update of the moments at the start, made where a window begins no later than any before it."""
        earliest = cast(argmin(times[:, 0]), dtypes.int32)

        def update() -> Operation:
            mean, variance = moments(values[earliest, : self._starting_variance_window_size], axes=[0])
            found = statistics.series_start_moments
            return group(assign(found.mean, mean), assign(found.variance, variance))

        return cond(less_equal(times[earliest, 0], cast(statistics.start_time, times.dtype)), update, no_op)
