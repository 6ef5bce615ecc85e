"""A state space model of a level and a trend that is added to it."""

from __future__ import annotations

from typing import Any

from tfcompat._src.contrib.timeseries.state_space_models.state_space_model import (
    DEFAULT_CONFIGURATION,
    StateSpaceModel,
    StateSpaceModelConfiguration,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import ones_like, zeros_like
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_mean
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import get_variable, variable_scope


def _matrices(entries: list[list[Any]]) -> Tensor:
    """Matrices [..., 2, 2] of their entries [...]."""
    return stack([stack(row, axis=-1) for row in entries], axis=-2)


class AdderStateSpaceModel(StateSpaceModel):
    """A level to which a trend is added at each time; the level is observed.

    Args:
      use_level_noise: whether noise changes the level, besides the trend.
      configuration: a StateSpaceModelConfiguration.
    """

    def __init__(
        self, use_level_noise: bool = True, configuration: StateSpaceModelConfiguration = DEFAULT_CONFIGURATION
    ) -> None:
        self.use_level_noise = use_level_noise
        super().__init__(configuration=configuration)

    def get_prior_mean(self) -> Tensor:
        """The level at the start of the series, if that is known, and no trend; and what is learned of both."""
        if self._input_statistics is None:
            return super().get_prior_mean()
        with variable_scope(self._variable_scope):
            level = reduce_mean(self._scale_data(self._input_statistics.series_start_moments.mean))
            return stack([level, 0.0]) + get_variable(
                "prior_state_mean", shape=[2], initializer=Zeros(), dtype=self.dtype,
                trainable=self._configuration.trainable_start_state,
            )  # fmt: skip

    def transition_to_powers(self, powers: Tensor) -> Tensor:
        """[[1, n], [0, 1]] for each power n: [..., 2, 2] for integers [...]."""
        powers = cast(powers, self.dtype)
        one, zero = ones_like(powers), zeros_like(powers)
        return _matrices([[one, powers], [zero, one]])

    def transition_power_noise_accumulator(self, num_steps: Tensor) -> Tensor:
        """The covariance of the noise of n steps, the sum of T^k [[a, b], [c, d]] (T^k)' for k < n: [..., 2, 2] for integers [...]."""
        steps = cast(num_steps, self.dtype)
        transform = convert_to_tensor(self.get_noise_transform(), self.dtype)
        noise = matmul(matmul(transform, self.state_transition_noise_covariance), transform, adjoint_b=True)
        a, b, c, d = noise[0, 0], noise[0, 1], noise[1, 0], noise[1, 1]
        # The sums of k and of its square for k < n.
        first = steps * (steps - 1) / 2
        second = first * (2 * steps - 1) / 3
        return _matrices(
            [[steps * a + first * (b + c) + second * d, steps * b + first * d], [steps * c + first * d, steps * d]]
        )

    def get_state_transition(self) -> list[list[float]]:
        """The level gets the trend added."""
        return [[1.0, 1.0], [0.0, 1.0]]

    def get_noise_transform(self) -> list[list[float]]:
        """Noise of the trend, and perhaps of the level."""
        return [[1.0, 0.0], [0.0, 1.0]] if self.use_level_noise else [[0.0], [1.0]]

    def get_observation_model(self, times: object) -> Tensor:
        """The level is observed."""
        return constant([1.0, 0.0], dtype=self.dtype)
