"""Linear state space models with normal noise, which a Kalman filter goes through."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.contrib.layers.core import fully_connected
from tfcompat._src.contrib.timeseries import math_utils, model_utils
from tfcompat._src.contrib.timeseries.feature_keys import TrainEvalFeatures
from tfcompat._src.contrib.timeseries.input_statistics import InputStatistics
from tfcompat._src.contrib.timeseries.sequential_model import SequentialTimeSeriesModel
from tfcompat._src.contrib.timeseries.state_space_models.kalman_filter import KalmanFilter
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.search import unique
from tfcompat._src.ops.array.shape import expand_dims, rank, reshape, shape
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, less_equal
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import argmax, reduce_all, reduce_max, reduce_mean
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import log
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

LEAST_INITIAL_VARIANCE = 1e-5


class StateSpaceModelConfiguration(NamedTuple):
    """What state space models have in common.

    Args:
      num_features: features of the series.
      use_observation_noise: whether observations have noise.
      dtype: floating point dtype that the model computes in.
      covariance_prior_fn: function of a covariance matrix to the logarithm of its prior density.
      bayesian_prior_weighting: whether priors count once for the series, rather than once for each window.
      filtering_postprocessor: a FilteringStepPostprocessor, or None.
      trainable_start_state: whether the start state is learned.
      exogenous_noise_increases: whether exogenous features add to the mean and the covariance of the state.
      exogenous_noise_decreases: whether exogenous features are observations of the state.
      exogenous_feature_columns: feature columns of what is known besides the series.
      exogenous_update_condition: function of `times`, integers [batch], and `features`, dict of Tensors [batch, ...], that gives bool
        [batch]: where it is false the features do not change the state.
      filtering_maximum_posterior_variance_ratio: how many times the least variance of a state its greatest may be.
      filtering_minimum_posterior_variance: what each variance of a state is at least.
      transition_covariance_initial_log_scale_bias: logarithm of how much less noise transitions have than observations at first.
      static_unrolling_window_size_threshold: windows known to be no longer have nodes for every time instead of a loop.
    """

    num_features: int = 1
    use_observation_noise: bool = True
    dtype: Any = dtypes.float32
    covariance_prior_fn: Callable[[Tensor], Any] = math_utils.log_noninformative_covariance_prior
    bayesian_prior_weighting: bool = True
    filtering_postprocessor: Any = None
    trainable_start_state: bool = False
    exogenous_noise_increases: bool = True
    exogenous_noise_decreases: bool = False
    exogenous_feature_columns: Any = ()
    exogenous_update_condition: Any = None
    filtering_maximum_posterior_variance_ratio: float = 1e6
    filtering_minimum_posterior_variance: float = 0.0
    transition_covariance_initial_log_scale_bias: float = -5.0
    static_unrolling_window_size_threshold: int | None = None


DEFAULT_CONFIGURATION = StateSpaceModelConfiguration()


class StateSpaceModel(SequentialTimeSeriesModel):
    """A series that a hidden state makes: x_t = T x_(t-1) + R e_t, y_t = H_t x_t + n_t, with normal noise e and n.

    Subclasses give T, R and H. The state that goes through a series has its mean [batch, d], its covariance [batch, d, d] and
    its time [batch].

    Args:
      configuration: a StateSpaceModelConfiguration.
    """

    def __init__(self, configuration: StateSpaceModelConfiguration) -> None:
        self._configuration = configuration
        postprocessor = configuration.filtering_postprocessor
        super().__init__(
            train_output_names=["mean", "covariance", "log_likelihood", *(postprocessor.output_names if postprocessor else ())],
            predict_output_names=["mean", "covariance"], num_features=configuration.num_features, normalize_features=True,
            dtype=configuration.dtype, exogenous_feature_columns=configuration.exogenous_feature_columns,
            exogenous_update_condition=configuration.exogenous_update_condition,
            static_unrolling_window_size_threshold=configuration.static_unrolling_window_size_threshold,
        )  # fmt: skip
        self._kalman_filter: KalmanFilter | None = None
        self.prior_state_mean: Tensor | None = None
        self.prior_state_var: Tensor | None = None
        self.state_transition_noise_covariance: Tensor | None = None
        self._observation_noise_covariance: Tensor | None = None
        # The variables of the parts of an ensemble stand where the parts were made.
        self._variable_scope = get_variable_scope()

    @abc.abstractmethod
    def get_state_transition(self) -> Any:
        """The matrix T, [d, d]."""

    @abc.abstractmethod
    def get_noise_transform(self) -> Any:
        """The matrix R, [d, number of noises]."""

    @abc.abstractmethod
    def get_observation_model(self, times: Tensor) -> Any:
        """The matrix H at `times`, integers [batch]: [batch, features, d], [features, d] for all times, or [d] for all features too."""

    def get_broadcasted_observation_model(self, times: Tensor) -> Tensor:
        """The matrix H, [batch, features, d], at `times`, integers [batch]."""
        model = self._tensor(self.get_observation_model(times))
        known = model.shape.with_rank_at_least(1).with_rank_at_most(3)
        if known.ndims is None:
            with control_dependencies([Assert(equal(rank(model), 3), [shape(model)])]):
                return identity(model)
        count = shape(times)[0]
        if known.ndims == 1:
            return tile(reshape(model, [1, 1, -1]), [count, self.num_features, 1])
        return model if known.ndims == 3 else tile(expand_dims(model, 0), [count, 1, 1])

    def get_features_for_timesteps(self, timesteps: Tensor) -> Tensor:
        """Features of `timesteps`, integers [batch], that the model makes itself: none, [batch, 0]."""
        return zeros([shape(timesteps)[0], 0], dtype=self.dtype)

    def _tensor(self, value: TensorLike) -> Tensor:
        return convert_to_tensor(value, dtype=self.dtype)

    # Parameters and the start state.

    def initialize_graph(self, input_statistics: InputStatistics | None = None) -> None:
        """Makes the model's variables in the default graph.

        Args:
          input_statistics: what is known of the series; parameters begin with noise in proportion to its variance.
        """
        self._set_input_statistics(input_statistics)
        self._define_parameters()
        with variable_scope(self._variable_scope):
            self._observation_noise_covariance = self._tensor(self.get_observation_noise_covariance())
        self._kalman_filter = KalmanFilter(dtype=self.dtype)
        self.prior_state_mean, self.prior_state_var = self._make_priors()

    def _set_input_statistics(self, input_statistics: InputStatistics | None = None) -> None:
        super().initialize_graph(input_statistics=input_statistics)

    def _make_priors(self) -> tuple[Tensor, Tensor]:
        covariance = self.get_prior_covariance()
        return self.get_prior_mean(), covariance

    def _define_parameters(self, observation_transition_tradeoff_log: Any = None) -> None:
        """Makes the variables of transitions; members of an ensemble share the trade-off of noise."""
        with variable_scope(self._variable_scope):
            if observation_transition_tradeoff_log is None:
                observation_transition_tradeoff_log = self._variable_observation_transition_tradeoff_log()
            self._observation_transition_tradeoff_log_scale = observation_transition_tradeoff_log
            self.state_transition_noise_covariance = self.get_state_transition_noise_covariance()

    def _variable_observation_transition_tradeoff_log(self) -> Any:
        bias = self._configuration.transition_covariance_initial_log_scale_bias
        return get_variable(
            "observation_transition_tradeoff_log_scale", initializer=constant(-bias, dtype=self.dtype), dtype=self.dtype
        )

    def _start_variance(self) -> Tensor | None:
        """The scaled variance [features] at the start of the series, or None where nothing is known of it."""
        if self._input_statistics is None:
            return None
        return self._scale_variance(self._input_statistics.series_start_moments.variance)

    def get_state_transition_noise_covariance(self, minimum_initial_variance: float = LEAST_INITIAL_VARIANCE) -> Tensor:
        """The learned covariance of noise of one transition.

        Args:
          minimum_initial_variance: what the variance is at least at first.
        """
        noises = dimension_value(self._tensor(self.get_noise_transform()).shape[1])
        scale: Any = 0.0
        variance = self._start_variance()
        if variance is not None:
            observations = cast(self._input_statistics.total_observation_count, self.dtype)  # type: ignore[union-attr]
            scale = log(maximum(reduce_mean(variance) / observations, minimum_initial_variance))
        return math_utils.variable_covariance_matrix(
            noises, "state_transition_noise", dtype=self.dtype,
            initial_overall_scale_log=scale - self._observation_transition_tradeoff_log_scale,
        )  # fmt: skip

    def get_observation_noise_covariance(self, minimum_initial_variance: float = LEAST_INITIAL_VARIANCE) -> Tensor:
        """The learned covariance [features, features] of noise of observations, or zeros.

        Args:
          minimum_initial_variance: what each variance is at least at first.
        """
        name = "observation_noise_covariance"
        if not self._configuration.use_observation_noise:
            return zeros([self.num_features, self.num_features], dtype=self.dtype, name=name)
        variance = self._start_variance()
        return math_utils.variable_covariance_matrix(
            self.num_features, name, dtype=self.dtype,
            initial_diagonal_values=None if variance is None else maximum(variance, minimum_initial_variance),
            initial_overall_scale_log=self._observation_transition_tradeoff_log_scale,
        )  # fmt: skip

    def _state_dimension(self) -> int:
        return dimension_value(self._tensor(self.get_state_transition()).shape[0])

    def get_prior_covariance(self) -> Tensor:
        """The covariance [d, d] of the start state: one, or a learned one that begins with at least the variance of the series."""
        with variable_scope(self._variable_scope):
            dimension = self._state_dimension()
            if not self._configuration.trainable_start_state:
                return eye(dimension, dtype=self.dtype)
            learned = math_utils.variable_covariance_matrix(dimension, "prior_state_var", dtype=self.dtype)
            variance = self._start_variance()
            return learned if variance is None else learned * maximum(reduce_max(variance), 1.0)

    def get_prior_mean(self) -> Tensor:
        """The mean [d] of the start state."""
        with variable_scope(self._variable_scope):
            return get_variable(
                "prior_state_mean", shape=[self._state_dimension()], dtype=self.dtype,
                trainable=self._configuration.trainable_start_state,
            )  # fmt: skip

    def get_start_state(self) -> tuple[Any, Any, Any]:
        """Mean, covariance and time before the first time of the series."""
        known = self._input_statistics
        start_time = zeros([], dtype=dtypes.int64) if known is None else known.start_time
        return self.prior_state_mean, self.prior_state_var, start_time - 1

    def _loss_additions(self, times: Tensor, values: Tensor, mode: str) -> Tensor:
        """In training, the priors of covariances."""
        if mode != EstimatorModeKeys.TRAIN:
            return zeros([], dtype=self.dtype)
        observations: Any = shape(times)[1]
        if self._input_statistics is not None and self._configuration.bayesian_prior_weighting:
            observations = self._input_statistics.total_observation_count
        log_prior = self._configuration.covariance_prior_fn
        total = self._tensor(log_prior(self.state_transition_noise_covariance))  # type: ignore[arg-type]
        if self._configuration.use_observation_noise and self._observation_noise_covariance is not None:
            total += self._tensor(log_prior(self._observation_noise_covariance))
        return -total / cast(observations, self.dtype)

    # Steps through a window.

    def transition_power_noise_accumulator(self, num_steps: Tensor) -> Tensor:
        """The covariances [..., d, d] of the noise of integer numbers of transitions [...]."""
        transform = self._tensor(self.get_noise_transform())
        noise = matmul(matmul(transform, self.state_transition_noise_covariance), transform, transpose_b=True)
        return math_utils.power_sums(num_steps, self._tensor(self.get_state_transition()), noise)

    def transition_to_powers(self, powers: Tensor) -> Tensor:
        """The matrices [n, d, d] of integer numbers of transitions [n]."""
        return math_utils.matrix_to_powers(self._tensor(self.get_state_transition()), powers)

    def _window_initializer(self, times: Tensor, state: Any) -> None:
        """Computes transitions once for each number of steps between times, most of which are alike.

        Those before windows are taken as they come: their number is known, so that a regular series always has as many numbers of steps
        and is compiled once.
        """
        times, start = convert_to_tensor(times), convert_to_tensor(state[2])
        within, _ = unique(reshape(times[:, 1:] - times[:, :-1], [-1]))
        gaps = concat([within, maximum(times[:, 0] - start, 0)], 0)
        self._window_power_sums = self.transition_power_noise_accumulator(gaps)
        self._window_transition_powers = self.transition_to_powers(gaps)
        self._window_gap_sizes = gaps

    def _cached_transition_powers_and_sums(self, num_steps: Tensor) -> list[Tensor]:
        """Transitions and covariances of their noise, both [batch, d, d], of numbers of steps [batch] that the window has."""
        is_gap = equal(expand_dims(cast(num_steps, self._window_gap_sizes.dtype), 1), self._window_gap_sizes)
        places = argmax(cast(is_gap, dtypes.int32), axis=1)
        found = []
        for cache in (self._window_transition_powers, self._window_power_sums):
            found.append(gather(cache, places))
            found[-1].set_shape(num_steps.shape.concatenate(cache.shape[-2:]))
        return found

    def _imputation_step(self, current_times: Tensor, state: Any) -> tuple[Tensor, Tensor, Tensor]:
        mean, variance, time = state
        steps = maximum(current_times - time, 0)
        transitions, noise = self._cached_transition_powers_and_sums(steps)
        return (
            self._filter.predict_state_mean(mean, transitions),
            self._filter.predict_state_var(variance, transitions, noise),
            time + steps,
        )

    @property
    def _filter(self) -> KalmanFilter:
        self._check_graph_initialized()
        return self._kalman_filter  # type: ignore[return-value]

    def _prediction_step(self, current_times: Tensor, state: Any) -> tuple[Any, dict[str, Tensor]]:
        mean, variance, time = state
        at_time = Assert(reduce_all(less_equal(current_times, time)), ["Attempted to predict without imputation"])
        with control_dependencies([at_time]):
            observed, observed_variance = self._filter.observed_from_state(
                mean, variance, self.get_broadcasted_observation_model(current_times), self._observation_noise_covariance
            )
        observed.set_shape(current_times.shape.concatenate([self.num_features]))
        observed_variance.set_shape(current_times.shape.concatenate([self.num_features, self.num_features]))
        return (mean, variance, current_times), {"mean": observed, "covariance": observed_variance}

    def _filtering_step(
        self, current_times: Tensor, current_values: Tensor, state: Any, predictions: dict[str, Tensor]
    ) -> tuple[Any, dict[str, Tensor]]:
        mean, variance, time = state
        model = self.get_broadcasted_observation_model(current_times)
        at_time = Assert(
            reduce_all(equal(current_times, time)), ["Attempted to perform filtering without imputation/prediction"]
        )
        with control_dependencies([at_time]):
            variance = math_utils.clip_covariance(
                variance, self._configuration.filtering_maximum_posterior_variance_ratio,
                self._configuration.filtering_minimum_posterior_variance,
            )  # fmt: skip
            mean, variance, log_likelihood = self._filter.do_filter(
                estimated_state=mean, estimated_state_covariance=variance, predicted_observation=predictions["mean"],
                predicted_observation_covariance=predictions["covariance"], observation=current_values, observation_model=model,
                observation_noise=self._observation_noise_covariance,
            )  # fmt: skip
        log_likelihood.set_shape(current_times.shape)
        filtered = (mean, variance, current_times)
        outputs = {**predictions, "loss": -log_likelihood, "log_likelihood": log_likelihood}
        postprocessor = self._configuration.filtering_postprocessor
        if postprocessor is None:
            return filtered, outputs
        return postprocessor.process_filtering_step(
            current_times=current_times, current_values=current_values, predicted_state=state, filtered_state=filtered,
            outputs=outputs,
        )  # fmt: skip

    def _scale_back_predictions(self, predictions: dict[str, Any]) -> dict[str, Any]:
        predictions["mean"] = self._scale_back_data(predictions["mean"])
        predictions["covariance"] = self._scale_back_variance(predictions["covariance"])
        return predictions

    def _exogenous_input_step(self, current_times: Tensor, current_exogenous_regressors: Tensor, state: object) -> Any:
        if self._configuration.exogenous_noise_decreases:
            state = self._exogenous_noise_decreasing(current_times, current_exogenous_regressors, state)
        if self._configuration.exogenous_noise_increases:
            state = self._exogenous_noise_increasing(current_times, current_exogenous_regressors, state)
        return state

    def _exogenous_noise_decreasing(self, current_times: object, exogenous_values: TensorLike, state: Any) -> Any:
        """The state after an observation of all of it, whose value and noise dense layers make of values [batch, size]."""
        values = convert_to_tensor(exogenous_values)
        mean, variance, time = state
        dimension = self._state_dimension()
        with variable_scope("exogenous_noise_decreasing_covariance"):
            noise = math_utils.transform_to_covariance_matrices(values, dimension)
        with variable_scope("exogenous_noise_decreasing_observation"):
            observation = fully_connected(values, dimension, activation_fn=None)
        mean, variance = self._filter.posterior_from_prior_state(
            prior_state=mean, prior_state_var=variance, observation=observation,
            observation_model=eye(dimension, batch_shape=shape(values)[:-1], dtype=self.dtype),
            predicted_observations=(mean, noise + variance), observation_noise=noise,
        )  # fmt: skip
        return mean, variance, time

    def _exogenous_noise_increasing(self, current_times: object, exogenous_values: TensorLike, state: Any) -> Any:
        """The state with what dense layers make of values [batch, size] added to its mean and covariance."""
        values = convert_to_tensor(exogenous_values)
        mean, variance, time = state
        with variable_scope("exogenous_noise_increasing_mean"):
            addition = fully_connected(values, dimension_value(mean.shape[1]), activation_fn=None)
        with variable_scope("exogenous_noise_increasing_covariance"):
            noise = math_utils.transform_to_covariance_matrices(values, dimension_value(variance.shape[1]))
        return mean + addition, variance + noise, time

    # Random series.

    def _check_univariate(self) -> None:
        if self.num_features != 1:
            raise NotImplementedError(f"{type(self).__name__} makes series of one value per time only, and this one has {self.num_features}.")

    def random_model_parameters(self, seed: int | None = None) -> dict[Any, Any]:
        """Random values, to feed, of the start state and of the variances of noise.

        Args:
          seed: seed of NumPy's global generator, or None.

        Raises:
          NotImplementedError: the series has several features.
        """
        self._check_univariate()
        if seed:
            np.random.seed(seed)
        dimension, noises = convert_to_tensor(self.get_noise_transform()).shape.as_list()
        variances = 1.0 / np.random.gamma(shape=10.0, scale=10.0, size=[noises])
        start = np.random.normal(size=[dimension])
        values = (
            (self.prior_state_mean, start),
            (self.state_transition_noise_covariance, np.diag(variances)),
            (self.prior_state_var, np.zeros([dimension, dimension])),
        )
        parameters = {parameter: value for parameter, value in values if parameter is not None}
        if self._configuration.use_observation_noise:
            parameters[self._observation_noise_covariance] = [[1.0 / np.random.gamma(shape=4, scale=4)]]
        return parameters

    def generate(
        self, number_of_series: int, series_length: int, model_parameters: dict[Any, Any] | None = None, seed: int | None = None,
        add_observation_noise: bool | None = None,
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Random series of the model, computed in the default session.

        Args:
          number_of_series, series_length: sizes.
          model_parameters: dict of the values of parameters by Tensor; others have their values in the session.
          seed: seed of NumPy's global generator, or None.
          add_observation_noise: whether observations have noise; by default as in the configuration.

        Returns:
          dict of TIMES, integers [series, time], and VALUES [series, time, 1].

        Raises:
          NotImplementedError: the series has several features.
        """
        if seed is not None:
            np.random.seed(seed)
        self._check_univariate()
        if add_observation_noise is None:
            add_observation_noise = self._configuration.use_observation_noise
        parameters = model_parameters or {}
        value_of = model_utils.parameter_switch(parameters)
        transition = self._tensor(self.get_state_transition()).eval(feed_dict=parameters)
        transform = convert_to_tensor(self.get_noise_transform()).eval(feed_dict=parameters)
        deviations = np.sqrt(np.diag(value_of(self.state_transition_noise_covariance)))
        models = self.get_broadcasted_observation_model(times=arange(series_length)).eval(feed_dict=parameters)
        state = np.tile(value_of(self.prior_state_mean)[None], [number_of_series, 1])
        noise_scale = np.sqrt(value_of(self._observation_noise_covariance)[0][0]) if add_observation_noise else None
        values = np.zeros([number_of_series, series_length, 1])
        for time, model in enumerate(models):
            noise = np.random.normal(scale=deviations, size=[number_of_series, len(deviations)])
            state = state @ transition.T + noise @ transform.T
            values[:, time, 0] = state @ model[0]
            if add_observation_noise:
                values[:, time, 0] = np.random.normal(loc=values[:, time, 0], scale=noise_scale)
        times = np.tile(np.arange(series_length)[None], [number_of_series, 1])
        return {TrainEvalFeatures.TIMES: times, TrainEvalFeatures.VALUES: values}
