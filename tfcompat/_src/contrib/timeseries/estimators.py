"""Estimators of time series: autoregression, LSTMs and state space models."""

from __future__ import annotations

import functools
from collections.abc import Callable

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.timeseries import serving
from tfcompat._src.contrib.timeseries.ar_model import AnomalyMixtureARModel, ARModel
from tfcompat._src.contrib.timeseries.head import OneShotPredictionHead, TimeSeriesRegressionHead
from tfcompat._src.contrib.timeseries.input_statistics import InputStatisticsFromMiniBatch
from tfcompat._src.contrib.timeseries.model import TimeSeriesModel
from tfcompat._src.contrib.timeseries.prediction_models import FlatPredictionModel, LSTMPredictionModel
from tfcompat._src.contrib.timeseries.state_management import (
    ChainingStateManager,
    FilteringOnlyStateManager,
    PassthroughStateManager,
)
from tfcompat._src.contrib.timeseries.state_space_models.filtering_postprocessor import (
    StateInterpolatingAnomalyDetector,
)
from tfcompat._src.contrib.timeseries.state_space_models.state_space_model import (
    StateSpaceModel,
    StateSpaceModelConfiguration,
)
from tfcompat._src.contrib.timeseries.state_space_models.structural_ensemble import MultiResolutionStructuralEnsemble
from tfcompat._src.estimator.canned.optimizers import get_optimizer_instance
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.estimator.run_config import RunConfig
from tfcompat._src.train.adagrad import AdagradOptimizer
from tfcompat._src.train.adam import AdamOptimizer
from tfcompat._src.train.optimizer import Optimizer


@export("contrib.timeseries.TimeSeriesRegressor")
class TimeSeriesRegressor(Estimator):
    """An Estimator that fits and evaluates a model of a series.

    Args:
      model: the model.
      state_manager: says where windows begin; by default in a given or the start state for an ARModel, in the start state for others.
      optimizer: a tf.train.Optimizer; Adam with a learning rate of 0.02 by default.
      model_dir: where checkpoints are.
      config: a RunConfig.
      head_type: class of the head.
    """

    def __init__(
        self, model: TimeSeriesModel, state_manager: PassthroughStateManager | None = None, optimizer: Optimizer | None = None,
        model_dir: str | None = None, config: RunConfig | None = None,
        head_type: type[TimeSeriesRegressionHead] = TimeSeriesRegressionHead,
    ) -> None:  # fmt: skip
        self._model = model
        if state_manager is None:
            state_manager = FilteringOnlyStateManager() if isinstance(model, ARModel) else PassthroughStateManager()
        head = head_type(
            model=model, state_manager=state_manager, optimizer=optimizer or AdamOptimizer(0.02),
            input_statistics_generator=InputStatisticsFromMiniBatch(num_features=model.num_features, dtype=model.dtype),
        )  # fmt: skip
        super().__init__(model_fn=head.create_estimator_spec, model_dir=model_dir, config=config)

    def build_one_shot_parsing_serving_input_receiver_fn(
        self, filtering_length: int, prediction_length: int, default_batch_size: int | None = None, values_input_dtype: object = None,
        truncate_values: bool = False,
    ) -> Callable:  # fmt: skip
        """A function for exports that take serialized Examples and predict at once (see OneShotPredictionHead).

        Args:
          filtering_length: times that have values.
          prediction_length: times that are predicted.
          default_batch_size: size of batches, or None where it varies.
          values_input_dtype: dtype of the values in the Examples, float32 by default.
          truncate_values: whether Examples have values for the times that are predicted too, which are not looked at.

        Returns:
          A function without arguments that gives a ServingInputReceiver.
        """
        return lambda: serving.parsing_receiver(
            self._model, filtering_length, prediction_length, default_batch_size, values_input_dtype or dtypes.float32, truncate_values
        )

    def build_raw_serving_input_receiver_fn(
        self, default_batch_size: int | None = None, default_series_length: int | None = None
    ) -> Callable:
        """A function for exports that take features, and perhaps a state, as tensors (see saved_model_utils).

        Args:
          default_batch_size: size of batches, or None where it varies.
          default_series_length: times of a window, or None where they vary.

        Returns:
          A function without arguments that gives a ServingInputReceiver.
        """
        return lambda: serving.raw_receiver(self._model, default_batch_size, default_series_length)


@export("contrib.timeseries.ARRegressor")
class ARRegressor(TimeSeriesRegressor):
    """An Estimator of an ARModel whose predictions are dense layers of the input window.

    Args:
      hidden_layer_sizes: units of the hidden layers; none by default.
      anomaly_prior_probability: how probable an anomaly is, in (0, 1), for an AnomalyMixtureARModel.
      anomaly_distribution: AnomalyMixtureARModel.GAUSSIAN_ANOMALY (the default) or CAUCHY_ANOMALY.
      optimizer: a tf.train.Optimizer; Adagrad with a learning rate of 0.1 by default.
      model_dir: where checkpoints are.
      config: a RunConfig.
      others: as ARModel.

    Raises:
      ValueError: an argument is out of range, or does not go with another.
    """

    def __init__(
        self, periodicities, input_window_size, output_window_size, num_features, exogenous_feature_columns=None, num_time_buckets=10,
        loss=ARModel.NORMAL_LIKELIHOOD_LOSS, hidden_layer_sizes=None, anomaly_prior_probability=None, anomaly_distribution=None,
        optimizer=None, model_dir=None, config=None,
    ) -> None:  # fmt: skip
        settings = dict(
            periodicities=periodicities, input_window_size=input_window_size, output_window_size=output_window_size,
            num_features=num_features, num_time_buckets=num_time_buckets, exogenous_feature_columns=exogenous_feature_columns,
            prediction_model_factory=functools.partial(FlatPredictionModel, hidden_layer_sizes=hidden_layer_sizes),
        )  # fmt: skip
        model: ARModel
        if anomaly_prior_probability is None:
            if anomaly_distribution is not None:
                raise ValueError("An anomaly_distribution needs an anomaly_prior_probability, which says how often it is drawn from.")
            model = ARModel(**settings, loss=loss)
        else:
            if loss != ARModel.NORMAL_LIKELIHOOD_LOSS:
                raise ValueError(f"With an anomaly_prior_probability the loss has to be ARModel.NORMAL_LIKELIHOOD_LOSS, got {loss!r}.")
            model = AnomalyMixtureARModel(
                **settings, anomaly_prior_probability=anomaly_prior_probability,
                anomaly_distribution=anomaly_distribution or AnomalyMixtureARModel.GAUSSIAN_ANOMALY,
            )  # fmt: skip
        super().__init__(
            model=model, state_manager=FilteringOnlyStateManager(), optimizer=optimizer or AdagradOptimizer(0.1),
            model_dir=model_dir, config=config,
        )  # fmt: skip


class LSTMAutoRegressor(TimeSeriesRegressor):
    """An Estimator of an ARModel whose predictions are an LSTM's; an exported model predicts from the values of a series.

    Args:
      extra_feature_columns: feature columns of what is known besides the series, also of the times that are predicted.
      num_timesteps: into how many parts a period is cut.
      num_units: units of the LSTMs.
      optimizer: a tf.train.Optimizer, a function that gives one, or its name, which has a learning rate of 0.01.
      model_dir: where checkpoints are.
      config: a RunConfig.
      others: as ARModel.
    """

    def __init__(
        self, periodicities, input_window_size, output_window_size, model_dir=None, num_features=1, extra_feature_columns=None,
        num_timesteps=10, loss=ARModel.NORMAL_LIKELIHOOD_LOSS, num_units=128, optimizer="Adam", config=None,
    ) -> None:  # fmt: skip
        model = ARModel(
            periodicities=periodicities, input_window_size=input_window_size, output_window_size=output_window_size,
            num_features=num_features, exogenous_feature_columns=extra_feature_columns, num_time_buckets=num_timesteps, loss=loss,
            prediction_model_factory=functools.partial(LSTMPredictionModel, num_units=num_units),
        )  # fmt: skip
        super().__init__(
            model=model, state_manager=FilteringOnlyStateManager(),
            optimizer=get_optimizer_instance(optimizer, learning_rate=0.01), model_dir=model_dir, config=config,
            head_type=OneShotPredictionHead,
        )  # fmt: skip


class StateSpaceRegressor(TimeSeriesRegressor):
    """An Estimator of a StateSpaceModel; windows begin in stored states by default.

    Args: as TimeSeriesRegressor.

    Raises:
      ValueError: the model is of another kind.
    """

    def __init__(
        self, model: StateSpaceModel, state_manager: PassthroughStateManager | None = None, optimizer: Optimizer | None = None,
        model_dir: str | None = None, config: RunConfig | None = None,
        head_type: type[TimeSeriesRegressionHead] = TimeSeriesRegressionHead,
    ) -> None:  # fmt: skip
        if not isinstance(model, StateSpaceModel):
            raise ValueError(f"The model of a StateSpaceRegressor has to be a StateSpaceModel, got {model}.")
        super().__init__(
            model=model, state_manager=state_manager or ChainingStateManager(), optimizer=optimizer, model_dir=model_dir,
            config=config, head_type=head_type,
        )  # fmt: skip


@export("contrib.timeseries.StructuralEnsembleRegressor")
class StructuralEnsembleRegressor(StateSpaceRegressor):
    """An Estimator of a series as a sum of a trend, cycles, and a moving average with autoregression.

    Args:
      periodicities: period, or list of periods, in units of the times; need not be integers; None for no cycles.
      num_features: features of the series.
      cycle_num_latent_values: how many values a cycle has, an odd integer, or one for each period.
      moving_average_order, autoregressive_order: orders of the moving average and of the autoregression.
      exogenous_feature_columns: feature columns of what is known besides the series, also of the times that are predicted.
      exogenous_update_condition: function of `times`, integers [batch], and `features`, dict of Tensors [batch, ...], that gives bool
        [batch]: where it is false the features do not change the state.
      dtype: floating point dtype that the model computes in.
      anomaly_prior_probability: how probable an anomaly is, in (0, 1); None where there are none.
      optimizer, model_dir, config, head_type: as TimeSeriesRegressor.
    """

    def __init__(
        self, periodicities, num_features, cycle_num_latent_values=11, moving_average_order=4, autoregressive_order=0,
        exogenous_feature_columns=None, exogenous_update_condition=None, dtype=dtypes.float64, anomaly_prior_probability=None,
        optimizer=None, model_dir=None, config=None, head_type=TimeSeriesRegressionHead,
    ) -> None:  # fmt: skip
        detector = None
        if anomaly_prior_probability is not None:
            detector = StateInterpolatingAnomalyDetector(anomaly_prior_probability=anomaly_prior_probability)
        model = MultiResolutionStructuralEnsemble(
            cycle_num_latent_values=cycle_num_latent_values, moving_average_order=moving_average_order,
            autoregressive_order=autoregressive_order, periodicities=periodicities,
            configuration=StateSpaceModelConfiguration(
                num_features=num_features, dtype=dtype, filtering_postprocessor=detector,
                exogenous_feature_columns=exogenous_feature_columns, exogenous_update_condition=exogenous_update_condition,
            ),
        )  # fmt: skip
        super().__init__(model=model, optimizer=optimizer, model_dir=model_dir, config=config, head_type=head_type)
