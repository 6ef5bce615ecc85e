"""Autoregressive models, which predict the end of a window from its beginning and from where the times stand in periods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.contrib.timeseries import math_utils
from tfcompat._src.contrib.timeseries.feature_keys import PredictionFeatures, TrainEvalFeatures
from tfcompat._src.contrib.timeseries.input_statistics import InputStatistics
from tfcompat._src.contrib.timeseries.model import ModelOutputs, TimeSeriesModel, exogenous_features
from tfcompat._src.contrib.timeseries.prediction_models import FlatPredictionModel
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import ones_like, zeros, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, split
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_greater_equal
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.binary import maximum, minimum, squared_difference
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import less
from tfcompat._src.ops.math.reduce import reduce_prod, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import exp, log, sqrt
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import get_variable, variable_scope

_LEAST_VARIANCE = 1e-5


@export("contrib.timeseries.ARModel")
class ARModel(TimeSeriesModel):
    """Predicts output windows from the input windows before them, from the phases of all times, and from exogenous features.

    Args:
      periodicities: period, or list of periods, in units of the times; None or empty for no phases.
      input_window_size: times that are looked at; 0 for phases and exogenous features alone.
      output_window_size: times that are predicted at once.
      num_features: features of the series.
      prediction_model_factory: function of `num_features`, `input_window_size` and `output_window_size` that gives a Keras model of two
        inputs, [batch, input window, ...] and [batch, output window, ...], and a dict of "mean" and "covariance" (of each feature
        alone), [batch, output window, num_features].
      num_time_buckets: into how many parts a period is cut.
      loss: SQUARED_LOSS or NORMAL_LIKELIHOOD_LOSS.
      exogenous_feature_columns: feature columns of what is known besides the series, also of the times that are predicted.

    Raises:
      ValueError: a size or period out of range, or neither a period nor an input window.
    """

    SQUARED_LOSS = "squared_loss"
    NORMAL_LIKELIHOOD_LOSS = "normal_likelihood_loss"

    def __init__(
        self, periodicities, input_window_size, output_window_size, num_features, prediction_model_factory=FlatPredictionModel,
        num_time_buckets=10, loss=NORMAL_LIKELIHOOD_LOSS, exogenous_feature_columns=None,
    ) -> None:  # fmt: skip
        super().__init__(num_features=num_features, exogenous_feature_columns=exogenous_feature_columns)
        if not isinstance(periodicities, (list, tuple)):
            periodicities = [periodicities] if periodicities else []
        self._periodicities = [int(period) for period in periodicities]
        self._buckets = int(num_time_buckets)
        for what, least in (("num_time_buckets", self._buckets), ("output_window_size", output_window_size), *(
            ("periodicities", period) for period in self._periodicities
        )):  # fmt: skip
            if least <= 0:
                raise ValueError(f"{what} of an ARModel must be positive, got {least}.")
        if not self._periodicities and not input_window_size:
            raise ValueError("An ARModel needs periodicities or an input_window_size: without both it has nothing to predict from.")
        self._model_factory = prediction_model_factory
        self.input_window_size = input_window_size
        self.output_window_size = output_window_size
        self.window_size = input_window_size + output_window_size
        self.loss = loss
        self.exogenous_size = self._get_exogenous_embedding_shape()[-1]

    def initialize_graph(self, input_statistics: InputStatistics | None = None) -> None:
        """Makes the Keras model; its variables come with the first prediction."""
        super().initialize_graph(input_statistics=input_statistics)
        self._model_scope = variable_scope("model/", use_resource=True)
        self._model_instance = self._model_factory(
            num_features=self.num_features, input_window_size=self.input_window_size, output_window_size=self.output_window_size
        )

    def get_start_state(self) -> tuple[Tensor, Tensor, Tensor]:
        """Times, scaled values and exogenous regressors of an input window: zeros."""
        window = self.input_window_size
        return (
            zeros([window], dtype=dtypes.int64),
            zeros([window, self.num_features], dtype=self.dtype),
            zeros([window, self.exogenous_size], dtype=self.dtype),
        )

    def random_model_parameters(self, seed: int | None = None) -> None:
        """Nothing: the model does not make series."""

    def generate(self, number_of_series: int, series_length: int, model_parameters: Any = None, seed: int | None = None) -> None:
        """Nothing: the model does not make series."""

    def prediction_ops(self, times: Tensor, values: Tensor | None, exogenous_regressors: Tensor | None) -> dict[str, Tensor]:
        """The predictions of output windows.

        Args:
          times: integers [batch, window_size].
          values: scaled values [batch, input_window_size, num_features]; not looked at where the input window is empty.
          exogenous_regressors: [batch, window_size, exogenous_size]; None where there are none.

        Returns:
          dict of "mean" and "covariance" (of each feature alone), [batch, output_window_size, num_features].
        """
        times.shape.assert_is_compatible_with([None, self.window_size])
        batch, sizes = shape(times)[0], (self.input_window_size, self.output_window_size)
        before: list[Tensor] = []
        after: list[Tensor] = []

        def of_both_windows(series: Tensor) -> None:
            for part, parts in zip(split(series, sizes, axis=1), (before, after)):
                parts.append(part)

        phases = self._buckets * len(self._periodicities)
        if phases:
            of_both_windows(reshape(self._phases(times)[1], [batch, self.window_size, phases]))
        if self.input_window_size:
            values.shape.assert_is_compatible_with([None, self.input_window_size, self.num_features])  # type: ignore[union-attr]
            known = slice_(values, [0, 0, 0], [-1, self.input_window_size, -1])
            before.append(reshape(known, [batch, self.input_window_size, self.num_features]))
        if self.exogenous_size:
            of_both_windows(exogenous_regressors)  # type: ignore[arg-type]
        inputs = concat(before, 2)
        outputs = concat(after, 2) if after else zeros([batch, self.output_window_size, 0], dtype=self.dtype)
        static_batch, width = dimension_value(times.shape[0]), phases + self.exogenous_size
        inputs.set_shape([static_batch, self.input_window_size, width + (self.num_features if self.input_window_size else 0)])
        outputs.set_shape([static_batch, self.output_window_size, width])
        return self._network_outputs(inputs, outputs)

    def _network_outputs(self, input_window_features: Tensor, output_window_features: Tensor) -> dict[str, Tensor]:
        with self._model_scope:
            predictions = self._model_instance(input_window_features, output_window_features)
            for prediction in predictions.values():
                prediction.set_shape([None, self.output_window_size, self.num_features])
            return predictions

    def loss_op(self, targets: Tensor, prediction_ops: dict[str, Tensor]) -> Tensor:
        """The mean loss of values [batch, output window, features], given what `prediction_ops` gives for them."""
        if self.loss == ARModel.SQUARED_LOSS:
            loss = reduce_sum(squared_difference(prediction_ops["mean"], targets))
        elif self.loss == ARModel.NORMAL_LIKELIHOOD_LOSS:
            loss = -reduce_sum(_gaussian_log_prob(targets, prediction_ops["covariance"], prediction_ops["mean"]))
        else:
            raise ValueError(f"The loss of an ARModel is SQUARED_LOSS or NORMAL_LIKELIHOOD_LOSS, got {self.loss!r}.")
        return _per_value(loss, targets)

    def _phases(self, times: Tensor) -> tuple[Tensor, Tensor]:
        """Where times stand in their periods.

        Args:
          times: integers [batch, window].

        Returns:
          How many periods have passed, [batch, window, 1, periods]; and in each bucket of a period the share of it that has passed, 0
          where the time stands in another one, [batch, window, periods, buckets].
        """
        batch, count = shape(times)[0], len(self._periodicities)
        periods = constant(self._periodicities, shape=[1, 1, count, 1], dtype=times.dtype)
        times = reshape(times, [batch, -1, 1, 1])
        periods_passed = times / self._periodicities
        bucket = cast(times % periods, self.dtype) * self._buckets / cast(periods, self.dtype)
        passed = relu(bucket - reshape(arange(self._buckets, dtype=self.dtype), [1, 1, 1, self._buckets]))
        return periods_passed, where_v2(passed < 1.0, passed, zeros_like(passed))

    def _process_exogenous_features(self, times: Tensor, features: dict[str, Any]) -> Tensor:
        """What the columns make of features: Tensor [batch, window, exogenous_size], empty without columns."""
        embedded = super()._process_exogenous_features(times=times, features=features)
        return zeros(concat([shape(times), constant([0])], 0)) if embedded is None else embedded

    def predict(self, features: dict[str, Any]) -> dict[str, Tensor]:
        """Predictions window by window, each from those before it.

        Args:
          features: dict with TIMES, integers [batch, window], and a STATE_TUPLE of times [batch, past], scaled values [batch, past,
            features] and exogenous regressors [batch, past, exogenous_size], with at least the times of an input window; and what the
            columns need for the TIMES.

        Returns:
          dict of "mean" and "covariance" (of each feature alone), [batch, window, features].
        """
        if not self._graph_initialized:
            self.initialize_graph()
        times = cast(features[PredictionFeatures.TIMES], dtypes.int64)
        regressors = self._process_exogenous_features(times, exogenous_features(features))
        with control_dependencies([assert_equal(shape(times)[1], shape(regressors)[1])]):
            regressors = identity(regressors)
        wanted, output_size = shape(times)[1], self.output_window_size
        windows = (wanted + output_size - 1) // output_size
        unused = windows * output_size - wanted
        past_times, past_values, past_regressors = self._input_window_of_state(features[PredictionFeatures.STATE_TUPLE])
        times = concat([past_times, pad(times, [[0, 0], [0, unused]])], 1)
        regressors = concat([past_regressors, pad(regressors, [[0, 0], [0, unused], [0, 0]])], 1)
        names = ("mean",) if self.loss == ARModel.SQUARED_LOSS else ("mean", "covariance")

        def predict_window(number: Tensor, values: Tensor, *results: TensorArray) -> tuple:
            begin = number * output_size
            window = times[:, begin : begin + self.window_size]
            of_window = regressors[:, begin : begin + self.window_size, :]
            window.set_shape([None, self.window_size])
            of_window.set_shape([None, self.window_size, self.exogenous_size])
            found = self.prediction_ops(window, values, of_window)
            known = concat([values, found["mean"]], 1)[:, output_size:, :]
            known.set_shape(values.shape)
            return number + 1, known, *(array.write(number, found[name]) for name, array in zip(names, results))

        start = [0, past_values, *(TensorArray(dtype=self.dtype, size=windows) for _ in names)]
        _, _, *results = while_loop(lambda number, *_: less(number, windows), predict_window, start)
        found = {
            name: reshape(transpose(array.stack(), [1, 0, 2, 3]), [shape(times)[0], windows * output_size, -1])
            for name, array in zip(names, results)
        }
        mean = found["mean"][:, :wanted, :]
        covariance = found["covariance"][:, :wanted, :] if "covariance" in found else ones_like(mean)
        return {"mean": self._scale_back_data(mean), "covariance": self._scale_back_variance(covariance)}

    def _input_window_of_state(self, state: Any) -> list[Tensor]:
        """Times, values and exogenous regressors of the input window at the end of a state."""
        of_state = (dtypes.int64, self.dtype, self.dtype)
        times, values, regressors = (cast(part, dtype) for part, dtype in zip(state, of_state))
        enough = [
            assert_greater_equal(shape(values)[1], self.input_window_size), assert_equal(shape(values)[1], shape(times)[1])
        ] if self.input_window_size else []  # fmt: skip
        sizes = ([], [self.num_features], [self.exogenous_size])
        with control_dependencies(enough):
            past = [_last(part, self.input_window_size) for part in (times, values, regressors)]
        for part, size in zip(past, sizes):
            part.set_shape([None, self.input_window_size, *size])
        return past

    def _outputs_of_windows(self, features: dict[str, Any], mode: str, exogenous_regressors: Tensor) -> ModelOutputs:
        """The loss of windows [batch, window_size, ...] and the predictions of their output windows."""
        times = cast(features[TrainEvalFeatures.TIMES], dtypes.int64)
        observed = cast(features[TrainEvalFeatures.VALUES], self.dtype)
        exogenous_regressors = cast(exogenous_regressors, self.dtype)
        if not times.shape.is_compatible_with([None, self.window_size]):
            raise ValueError(
                f"Windows that an ARModel is trained on have input_window_size + output_window_size = {self.window_size} times, got "
                f"'{TrainEvalFeatures.TIMES}' of shape {times.shape}: in a RandomWindowInputFn set window_size={self.window_size}."
            )
        values = self._scale_data(observed)
        known = values[:, : self.input_window_size, :] if self.input_window_size else None
        found = self.prediction_ops(times, known, exogenous_regressors)
        targets = slice_(values, [0, self.input_window_size, 0], [-1, -1, -1])
        targets.shape.assert_is_compatible_with(found["mean"].shape)
        if mode == EstimatorModeKeys.EVAL and self.loss == ARModel.SQUARED_LOSS:
            loss = self.loss_op(self._scale_back_data(targets), {"mean": self._scale_back_data(found["mean"])})
        else:
            loss = self.loss_op(targets, found)
        return ModelOutputs(
            loss=loss,
            predictions={
                "mean": self._scale_back_data(found["mean"]),
                "covariance": self._scale_back_variance(found["covariance"]),
                "observed": observed[:, self.input_window_size :],
            },
            end_state=(
                times[:, self.output_window_size :],
                values[:, self.output_window_size :, :],
                exogenous_regressors[:, self.output_window_size :, :],
            ),
            prediction_times=times[:, self.input_window_size :],
        )

    def get_batch_loss(self, features: dict[str, Any], mode: str, state: object) -> ModelOutputs:
        """The loss of windows, which in training have `window_size` times, in evaluation as many or more.

        Args:
          features: dict with TIMES, integers [batch, window], VALUES [batch, window, features] and what the columns need.
          mode: TRAIN or EVAL.
          state: times, scaled values and exogenous regressors [batch, past, ...] before the windows; the loss does not hang on them.

        Raises:
          ValueError: another mode, or windows of too few times, or in training of too many.
        """
        features = {name: convert_to_tensor(value) for name, value in features.items()}
        times = features[TrainEvalFeatures.TIMES]
        regressors = self._process_exogenous_features(times, exogenous_features(features))
        if mode == EstimatorModeKeys.TRAIN:
            return self._outputs_of_windows(features, mode, regressors)
        if mode == EstimatorModeKeys.EVAL:
            return self._evaluate(features, regressors, state)
        raise ValueError(f"An ARModel has a loss in the modes TRAIN and EVAL, got {mode!r}.")

    def _evaluate(self, features: dict[str, Tensor], regressors: Tensor, state: Any) -> ModelOutputs:
        """The loss and predictions of all output windows that have an input window before them, from the end of the series on."""
        times, values = features[TrainEvalFeatures.TIMES], cast(features[TrainEvalFeatures.VALUES], self.dtype)
        times.shape.assert_has_rank(2)
        known = dimension_value(times.shape[1])
        if known is not None and known < self.window_size:
            raise ValueError(
                f"An evaluation requires a window of at least {self.window_size} times (input_window_size={self.input_window_size}, "
                f"output_window_size={self.output_window_size}), got '{TrainEvalFeatures.TIMES}' of shape {times.shape}."
            )
        batch, size = shape(times)[0], self.output_window_size
        windows = (shape(times)[1] - self.input_window_size) // size
        places = expand_dims(arange(windows) * size, 1) + expand_dims(arange(self.window_size), 0)
        # What is left over is left out at the beginning of the series, but at the end of the exogenous features, as in 1.15.5.
        left_over = shape(times)[1] - self.input_window_size - windows * size

        def as_batch(series: Tensor, first: object) -> Tensor:
            parts = gather(series, places + first, axis=1)
            return reshape(parts, concat([[batch * windows, self.window_size], shape(series)[2:]], 0))

        cut = {name: as_batch(features[name], left_over) for name in (TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES)}
        outputs = self._outputs_of_windows(cut, EstimatorModeKeys.EVAL, as_batch(regressors, 0))
        end = [
            _last(concat([before, cast(part, before.dtype)], 1), self.input_window_size)
            for before, part in zip(state, (times, self._scale_data(values), regressors))
        ]
        return ModelOutputs(
            loss=outputs.loss,
            end_state=tuple(end),
            predictions={
                name: reshape(value, [batch, windows * size, self.num_features]) for name, value in outputs.predictions.items()
            },
            prediction_times=reshape(outputs.prediction_times, [batch, windows * size]),
        )


def _last(series: Tensor, count: int) -> Tensor:
    """The last `count` times of series [batch, window, ...]."""
    last = series[:, shape(series)[1] - count :]
    last.set_shape(series.shape[:1].concatenate([count]).concatenate(series.shape[2:]))
    return last


def _per_value(loss: Tensor, targets: Tensor) -> Tensor:
    return loss / cast(reduce_prod(shape(targets)), loss.dtype)


def _gaussian_log_prob(targets: Tensor, variance: Tensor, mean: Tensor) -> Tensor:
    return math_utils.normal_log_prob(targets, sqrt(maximum(variance, _LEAST_VARIANCE)), mean)


class AnomalyMixtureARModel(ARModel):
    """An ARModel whose values are drawn from its prediction, or, as anomalies, from a distribution with a learned scale.

    Args:
      anomaly_prior_probability: how probable an anomaly is, in (0, 1).
      anomaly_distribution: GAUSSIAN_ANOMALY or CAUCHY_ANOMALY.
      others: as ARModel.

    Raises:
      ValueError: an argument is out of range.
    """

    GAUSSIAN_ANOMALY = "gaussian"
    CAUCHY_ANOMALY = "cauchy"

    def __init__(
        self, periodicities, anomaly_prior_probability, input_window_size, output_window_size, num_features,
        prediction_model_factory=FlatPredictionModel, anomaly_distribution=GAUSSIAN_ANOMALY, num_time_buckets=10,
        exogenous_feature_columns=None,
    ) -> None:  # fmt: skip
        if not 0.0 < anomaly_prior_probability < 1.0:
            raise ValueError(f"anomaly_prior_probability must be in (0, 1), got {anomaly_prior_probability}.")
        self._anomaly_log_prob: Callable[..., Tensor]
        if anomaly_distribution == AnomalyMixtureARModel.GAUSSIAN_ANOMALY:
            self._anomaly_log_prob = _gaussian_log_prob
        elif anomaly_distribution == AnomalyMixtureARModel.CAUCHY_ANOMALY:
            self._anomaly_log_prob = math_utils.cauchy_log_prob
        else:
            raise ValueError(f"anomaly_distribution is GAUSSIAN_ANOMALY or CAUCHY_ANOMALY, got {anomaly_distribution!r}.")
        self._anomaly_prior_probability = anomaly_prior_probability
        super().__init__(
            periodicities=periodicities, num_features=num_features, num_time_buckets=num_time_buckets,
            input_window_size=input_window_size, output_window_size=output_window_size, loss=ARModel.NORMAL_LIKELIHOOD_LOSS,
            prediction_model_factory=prediction_model_factory, exogenous_feature_columns=exogenous_feature_columns,
        )  # fmt: skip

    def prediction_ops(self, times: Tensor, values: Tensor | None, exogenous_regressors: Tensor | None) -> dict[str, Tensor]:
        """The predictions of output windows, and "anomaly_params", the variance or scale [] of anomalies."""
        predictions = super().prediction_ops(times, values, exogenous_regressors)
        logarithm = get_variable("anomaly_log_param", shape=[], dtype=self.dtype, initializer=Zeros())
        return {**predictions, "anomaly_params": exp(logarithm)}

    def loss_op(self, targets: Tensor, prediction_ops: dict[str, Tensor]) -> Tensor:
        """The mean of the negative log likelihoods of values [batch, output window, features] under the mixture."""
        mean, prior = prediction_ops["mean"], self._anomaly_prior_probability
        ordinary = _gaussian_log_prob(targets, prediction_ops["covariance"], mean) + log(1.0 - prior)
        anomalous = self._anomaly_log_prob(targets, prediction_ops["anomaly_params"], mean) + log(prior)
        other, likelier = minimum(ordinary, anomalous), maximum(ordinary, anomalous)
        return _per_value(-reduce_sum(likelier + log(1.0 + exp(other - likelier))), targets)
