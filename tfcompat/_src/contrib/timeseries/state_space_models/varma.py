"""A state space model of an autoregression with moving averages of noise."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.contrib.timeseries import math_utils
from tfcompat._src.contrib.timeseries.state_space_models.state_space_model import (
    DEFAULT_CONFIGURATION,
    LEAST_INITIAL_VARIANCE,
    StateSpaceModel,
    StateSpaceModelConfiguration,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.reduce import reduce_mean
from tfcompat._src.ops.math.unary import log
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import get_variable, variable_scope


class VARMA(StateSpaceModel):
    """Vector autoregression of order p with moving averages of order q.

    The state has max(p, q + 1) blocks of the size of an observation: the last values, and noises that later values get.

    Args:
      autoregressive_order, moving_average_order: p and q.
      configuration: a StateSpaceModelConfiguration.
    """

    def __init__(
        self, autoregressive_order: int, moving_average_order: int,
        configuration: StateSpaceModelConfiguration = DEFAULT_CONFIGURATION,
    ) -> None:  # fmt: skip
        self.ar_order = autoregressive_order
        self.ma_order = moving_average_order
        self.state_num_blocks = max(autoregressive_order, moving_average_order + 1)
        super().__init__(configuration=configuration)
        self.state_dimension = self.state_num_blocks * self.num_features

    def _define_parameters(self, observation_transition_tradeoff_log: object = None) -> None:
        with variable_scope(self._variable_scope):
            self.ar_coefs = get_variable(
                "ar_coefs", shape=[self.num_features, self.num_features, self.ar_order], dtype=self.dtype, initializer=Zeros()
            )
            self.ma_coefs = get_variable(
                "ma_coefs", initializer=tile(expand_dims(self._identity(), 0), [self.ma_order, 1, 1]), dtype=self.dtype
            )
        super()._define_parameters(observation_transition_tradeoff_log=observation_transition_tradeoff_log)

    def _identity(self, blocks: int = 1) -> Tensor:
        return eye(blocks * self.num_features, dtype=self.dtype)

    def get_state_transition(self) -> Tensor:
        """The first block is the autoregression of all blocks, the others move on by one."""
        missing = self.state_num_blocks - self.ar_order
        autoregression = reshape(pad(self.ar_coefs, [[0, 0], [0, 0], [0, missing]]), [self.num_features, self.state_dimension])
        shift = pad(self._identity(self.state_num_blocks - 1), [[0, 0], [0, self.num_features]])
        return concat([autoregression, shift], 0)

    def get_noise_transform(self) -> Tensor:
        """Where a noise comes to, by the moving averages."""
        missing = self.state_num_blocks - 1 - self.ma_order
        rows = [(self.state_num_blocks - 1) * self.num_features, self.num_features]
        averages = reshape(pad(self.ma_coefs, [[missing, 0], [0, 0], [0, 0]]), rows, name="noise_transform")
        return concat([averages, self._identity()], 0)

    def get_observation_model(self, times: object) -> Tensor:
        """The first block is observed, and where the order of the moving averages is not below p, the last one is added."""
        adds_last = self.ar_order <= self.ma_order and self.state_num_blocks > 1
        unobserved = (self.state_num_blocks - 1 - adds_last) * self.num_features
        observed = pad(self._identity(), [[0, 0], [0, unobserved]], name=None if adds_last else "observation_model")
        return concat([observed, self._identity()], 1, name="observation_model") if adds_last else observed

    def get_state_transition_noise_covariance(self, minimum_initial_variance: float = LEAST_INITIAL_VARIANCE) -> Tensor:
        """The learned covariance of noise, which begins with the variance at the start of the series.

        Args:
          minimum_initial_variance: what the variance is at least at first.
        """
        scale: Any = 0.0
        if self._input_statistics is not None:
            variance = self._scale_variance(self._input_statistics.series_start_moments.variance)
            scale = log(maximum(reduce_mean(variance), minimum_initial_variance))
        noises = dimension_value(convert_to_tensor(self.get_noise_transform(), dtype=self.dtype).shape[1])
        return math_utils.variable_covariance_matrix(
            noises, "state_transition_noise", dtype=self.dtype, initial_overall_scale_log=scale
        )
