"""The base of time series models."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.contrib.timeseries.feature_keys import PredictionFeatures, TrainEvalFeatures
from tfcompat._src.contrib.timeseries.input_statistics import InputStatistics
from tfcompat._src.contrib.timeseries.state_tables import replicate_state
from tfcompat._src.feature_column.input_layer import input_layer, make_parse_example_spec
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.unary import sqrt
from tfcompat._src.ops.parsing.functions import parse_example


class ModelOutputs(NamedTuple):
    """What a model gives for windows: its loss, the state after them, a dict of predictions, and the predictions' times."""

    loss: Any
    end_state: Any
    predictions: Any
    prediction_times: Any


_SERIES_KEYS = (TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES, PredictionFeatures.STATE_TUPLE)


def exogenous_features(features: dict[str, Any]) -> dict[str, Any]:
    """The features that are neither times nor values nor state."""
    return {key: value for key, value in features.items() if key not in _SERIES_KEYS}


class TimeSeriesModel(metaclass=abc.ABCMeta):
    """A model of a series, with no variables before `initialize_graph`.

    Args:
      num_features: features of the series.
      exogenous_feature_columns: feature columns of what is known besides the series.
      dtype: floating point dtype that the model computes in.
    """

    def __init__(self, num_features: int, exogenous_feature_columns: Any = None, dtype: Any = dtypes.float32) -> None:
        self._exogenous_feature_columns = exogenous_feature_columns or []
        self.num_features = num_features
        self.dtype = dtype
        self._input_statistics: InputStatistics | None = None
        self._graph_initialized = False
        self._stats_means: Any = None
        self._stats_sigmas: Any = None

    @property
    def exogenous_feature_columns(self) -> Any:
        """The feature columns of what is known besides the series."""
        return self._exogenous_feature_columns

    def generate(self, number_of_series: int, series_length: int, model_parameters: Any = None, seed: int | None = None) -> Any:
        """Random series of the model, for models that can make them."""
        raise NotImplementedError(f"{type(self).__name__} cannot generate series.")

    def initialize_graph(self, input_statistics: InputStatistics | None = None) -> None:
        """Makes the model's variables in the default graph.

        Args:
          input_statistics: what is known of the series; the model scales its values by the moments.
        """
        self._graph_initialized = True
        self._input_statistics = input_statistics
        if input_statistics:
            self._stats_means, variances = input_statistics.overall_feature_moments
            self._stats_sigmas = sqrt(variances)

    def _scale_data(self, data: object) -> Any:
        """Values less the mean of the series, by its standard deviation."""
        return data if self._input_statistics is None else (data - self._stats_means) / self._stats_sigmas

    def _scale_back_data(self, data: object) -> Any:
        """Values of which these are the scaled ones."""
        return data if self._input_statistics is None else data * self._stats_sigmas + self._stats_means

    def _scale_variance(self, variance: object) -> Any:
        """Variances of scaled values."""
        return variance if self._input_statistics is None else variance / self._series_variance

    def _scale_back_variance(self, variance: object) -> Any:
        """Variances of which these are the ones of scaled values."""
        return variance if self._input_statistics is None else variance * self._series_variance

    @property
    def _series_variance(self) -> Any:
        return self._input_statistics.overall_feature_moments.variance  # type: ignore[union-attr]

    def _check_graph_initialized(self) -> None:
        if not self._graph_initialized:
            raise ValueError(
                f"{type(self).__name__} has no variables in the default graph: call its initialize_graph() first, where the "
                "statistics of the series are given too."
            )

    def define_loss(self, features: dict[str, Any], mode: str) -> ModelOutputs:
        """The loss of windows that begin in the start state.

        Args:
          features: dict with TIMES, integers [batch, window], VALUES [batch, window, features] and what the columns need.
          mode: one of tf.estimator.ModeKeys.

        Raises:
          ValueError: `initialize_graph` has not been called.
        """
        self._check_graph_initialized()
        start_state = self.get_start_state()
        windows = shape(features[TrainEvalFeatures.TIMES])[0]
        return self.get_batch_loss(features, mode, replicate_state(start_state, windows))

    @abc.abstractmethod
    def get_start_state(self) -> Any:
        """The state, a nested structure of tensors without a dimension of the batch, at the start of a series."""

    @abc.abstractmethod
    def get_batch_loss(self, features: dict[str, Any], mode: str, state: Any) -> ModelOutputs:
        """The loss of windows that begin in `state`, whose tensors are [batch, ...]."""

    @abc.abstractmethod
    def predict(self, features: dict[str, Any]) -> dict[str, Any]:
        """Predictions.

        Args:
          features: dict with TIMES, integers [batch, window], the STATE_TUPLE of tensors [batch, ...] that they go on from, and
            what the columns need.

        Returns:
          dict of Tensors [batch, window, ...].
        """

    def _get_exogenous_embedding_shape(self) -> Any:
        """The shape, without the batch, of what the columns make of features."""
        if not self._exogenous_feature_columns:
            return (0,)
        with Graph().as_default():
            parsed = parse_example(
                placeholder(dtypes.string, shape=[None]), make_parse_example_spec(self._exogenous_feature_columns)
            )
            return input_layer(parsed, self._exogenous_feature_columns).shape.as_list()[1:]

    def _process_exogenous_features(self, times: Tensor, features: dict[str, Any]) -> Tensor | None:
        """What the columns make of features [batch, window, ...]: Tensor [batch, window, ...], or None without columns.

        Raises:
          ValueError: a feature of unknown rank.
        """
        if not self._exogenous_feature_columns:
            return None
        flat = {name: _without_window_dimension(name, tensor) for name, tensor in features.items()}
        embedded = input_layer(flat, self._exogenous_feature_columns, trainable=True)
        regressors = reshape(embedded, concat([shape(times), shape(embedded)[1:]], 0))
        regressors.set_shape(times.shape.concatenate(embedded.shape[1:]))
        return cast(regressors, self.dtype)


def _without_window_dimension(name: str, tensor: Tensor) -> Tensor:
    """A feature [batch, window, ...] as [batch * window, ...]; numbers have at least two dimensions then."""
    if tensor.shape.ndims is None:
        raise ValueError(f"The rank of feature '{name}' has to be known, got shape {tensor.shape}.")
    sizes = shape(tensor)
    flat = reshape(tensor, concat([[sizes[0] * sizes[1]], sizes[2:]], 0))
    return expand_dims(flat, 1) if flat.shape.ndims == 1 and flat.dtype != dtypes.string else flat
