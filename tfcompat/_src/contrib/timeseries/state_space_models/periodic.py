"""State space models of cycles, whose values sum to zero."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.contrib.timeseries.state_space_models.state_space_model import (
    DEFAULT_CONFIGURATION,
    StateSpaceModel,
    StateSpaceModelConfiguration,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones, ones_like
from tfcompat._src.ops.array.gather import gather, one_hot
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, less
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import absolute, round_half_to_even, sin

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class CycleStateSpaceModel(StateSpaceModel):
    """Values that come again after a period; the first one is observed, and changes by noise as the last one does the other way.

    The state has all values but the last, which is what the others lack to zero.

    Args:
      periodicity: number of values, an integer above 1.
      configuration: a StateSpaceModelConfiguration.
    """

    def __init__(self, periodicity: int, configuration: StateSpaceModelConfiguration = DEFAULT_CONFIGURATION) -> None:
        self._periodicity = periodicity
        super().__init__(configuration=configuration)

    def get_state_transition(self) -> Tensor:
        """All values move on by one."""
        return self.transition_to_powers(ones([], dtype=dtypes.int32))

    def get_noise_transform(self) -> Tensor:
        """Noise comes to the first value."""
        return one_hot([0], self._periodicity - 1, dtype=self.dtype, axis=0)

    def get_observation_model(self, times: object) -> Tensor:
        """The first value is observed."""
        return one_hot(0, self._periodicity - 1, dtype=self.dtype)

    def transition_to_powers(self, powers: Tensor) -> Tensor:
        """The matrices [..., periodicity - 1, periodicity - 1] that move values on by integers [...]."""
        kept = self._periodicity - 1
        all_values = concat([eye(kept, dtype=self.dtype), -ones([1, kept], dtype=self.dtype)], 0)
        moved_from = arange(kept, dtype=powers.dtype) - expand_dims(powers, -1)
        return gather(all_values, moved_from % self._periodicity)

    def transition_power_noise_accumulator(self, num_steps: Tensor, noise_addition_coefficient: TensorLike = 1) -> Tensor:
        """The covariances [..., periodicity - 1, periodicity - 1] of the noise of integer numbers of steps [...].

        Args:
          num_steps: the numbers of steps.
          noise_addition_coefficient: what the variance of the noise is multiplied with, [...].
        """
        coefficient = convert_to_tensor(noise_addition_coefficient, dtype=self.dtype)
        return expand_dims(expand_dims(coefficient, -1), -1) * super().transition_power_noise_accumulator(num_steps)


class ResolutionCycleModel(CycleStateSpaceModel):
    """A cycle of any real period, with values between its latent ones by trigonometric interpolation.

    Args:
      num_latent_values: number of latent values, an odd integer.
      periodicity: the period in units of the times.
      near_integer_threshold: how near to an integer a number counts as one.
      configuration: a StateSpaceModelConfiguration.

    Raises:
      ValueError: the number of latent values is even.
    """

    def __init__(
        self, num_latent_values: int, periodicity: object, near_integer_threshold: float = 1e-8,
        configuration: StateSpaceModelConfiguration = DEFAULT_CONFIGURATION,
    ) -> None:  # fmt: skip
        if num_latent_values % 2 != 1:
            raise ValueError(f"num_latent_values must be odd, got {num_latent_values}.")
        self._num_latent_values = num_latent_values
        self._true_periodicity = periodicity
        self._near_integer_threshold = near_integer_threshold
        super().__init__(periodicity=num_latent_values, configuration=configuration)

    def transition_to_powers(self, powers: Tensor) -> Tensor:
        """The matrices [..., latent values - 1, latent values - 1] of integer numbers of steps [...]."""
        places = arange(self._num_latent_values, dtype=self.dtype)
        distance = expand_dims(places[:-1], -1) - places
        weights = self._interpolation(expand_dims(expand_dims(self._moved(powers), -1), -1) - distance)
        # The last value is what the others lack to zero.
        return weights[..., :-1] - weights[..., -1:]

    def _moved(self, steps: Tensor) -> Tensor:
        """How many latent values steps go on, in [0, latent values)."""
        steps_of_period = cast(self._true_periodicity, self.dtype)
        count = cast(self._num_latent_values, self.dtype)
        return (cast(steps, self.dtype) * (count / steps_of_period)) % count

    def _close_to_integer(self, value: Tensor) -> Tensor:
        return less(absolute(value - round_half_to_even(value)), self._near_integer_threshold)

    def _interpolation(self, distance: Tensor) -> Tensor:
        """Dirichlet's kernel sin(pi x) / (m sin(pi x / m)): what a latent value counts for at a distance, [...], of it."""
        count = cast(self._num_latent_values, self.dtype)
        nearest, is_latent = round_half_to_even(distance), self._close_to_integer(distance)
        between = where_v2(is_latent, 0.5 * ones_like(distance), distance)
        kernel = sin(math.pi * between) / (count * sin(math.pi / count * between))
        return where_v2(is_latent, cast(equal(nearest % count, 0.0), self.dtype), kernel)
