"""The Kalman filter for batches of states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.contrib.timeseries import math_utils
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.diagonal import matrix_diag_part
from tfcompat._src.ops.array.reorder import matrix_transpose
from tfcompat._src.ops.array.shape import expand_dims, shape, squeeze
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.composed.finite import verify_tensor_all_finite
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.linalg.decompose import cholesky
from tfcompat._src.ops.linalg.solve import matrix_solve
from tfcompat._src.ops.math.compare import greater_equal
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_min

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_UNSTABLE = (
    "Filtering is numerically unstable where posterior variances differ much or inferences are nearly certain: change the transition "
    "matrix, or 'filtering_maximum_posterior_variance_ratio' or 'filtering_minimum_posterior_variance' of the "
    "StateSpaceModelConfiguration."
)


def _times_vector(matrix: object, vector: TensorLike, **transposed: bool) -> Tensor:
    return squeeze(matmul(matrix, expand_dims(vector, -1), **transposed), [-1])


def _congruent(matrix: object, covariance: object) -> Tensor:
    """M C M'."""
    return matmul(matmul(matrix, covariance), matrix, adjoint_b=True)


class KalmanFilter:
    """The steps of a Kalman filter.

    Means are [batch, d], covariances [batch, d, d], of the state with d = state dimension and of the observation with d = features;
    observation models are [batch, features, state dimension].

    Args:
      dtype: floating point dtype.
      simplified_posterior_covariance_computation: whether the covariance of a posterior is (I - K H) P, which is cheaper and less stable
        than Joseph's form.
    """

    def __init__(self, dtype: Any = dtypes.float32, simplified_posterior_covariance_computation: bool = False) -> None:
        self._simplified_posterior_covariance_computation = simplified_posterior_covariance_computation
        self.dtype = dtype

    def do_filter(
        self, estimated_state: Tensor, estimated_state_covariance: Tensor, predicted_observation: Tensor,
        predicted_observation_covariance: Tensor, observation: Tensor, observation_model: Tensor, observation_noise: object,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """The state after an observation.

        Args:
          estimated_state, estimated_state_covariance: mean and covariance of the state before it.
          predicted_observation, predicted_observation_covariance: those of the observation, as `observed_from_state` gives them.
          observation: [batch, features].
          observation_model: what of the state is observed.
          observation_noise: covariance [features, features] or [batch, features, features].

        Returns:
          Mean and covariance of the state, and the logarithm [batch] of the observation's probability density.
        """
        covariance = predicted_observation_covariance
        covariance = verify_tensor_all_finite(
            0.5 * (covariance + matrix_transpose(covariance)), f"The covariance of a predicted observation has NaN or infinite entries. {_UNSTABLE}"
        )
        least = reduce_min(matrix_diag_part(covariance))
        positive = Assert(
            greater_equal(least, 0.0), [f"A predicted observation has a negative variance. {_UNSTABLE}", least]
        )
        with control_dependencies([positive]):
            factor = cholesky(covariance)
        log_probability = math_utils.mvn_tril_log_prob(loc=predicted_observation, scale_tril=factor, x=observation)
        mean, variance = self.posterior_from_prior_state(
            prior_state=estimated_state, prior_state_var=estimated_state_covariance, observation=observation,
            observation_model=observation_model, predicted_observations=(predicted_observation, predicted_observation_covariance),
            observation_noise=observation_noise,
        )  # fmt: skip
        return mean, variance, log_probability

    def predict_state_mean(self, prior_state: Tensor, transition_matrices: Tensor) -> Tensor:
        """The means after transitions, [batch, d, d]."""
        return _times_vector(transition_matrices, prior_state)

    def predict_state_var(self, prior_state_var: Tensor, transition_matrices: Tensor, transition_noise_sums: Tensor) -> Tensor:
        """The covariances after transitions that add noise, both [batch, d, d]."""
        return _congruent(transition_matrices, prior_state_var) + transition_noise_sums

    def posterior_from_prior_state(
        self, prior_state: Tensor, prior_state_var: Tensor, observation: Tensor, observation_model: Tensor,
        predicted_observations: tuple[Tensor, Tensor], observation_noise: object,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Mean and covariance of the state after an observation; arguments as those of `do_filter`."""
        predicted_mean, predicted_variance = predicted_observations
        gain = matrix_solve(predicted_variance, matmul(observation_model, prior_state_var, adjoint_b=True), adjoint=True)
        mean = prior_state + _times_vector(gain, observation - predicted_mean, adjoint_a=True)
        explained = matmul(gain, observation_model, adjoint_a=True)
        unexplained = expand_dims(eye(shape(explained)[1], dtype=explained.dtype), 0) - explained
        if self._simplified_posterior_covariance_computation:
            return mean, matmul(unexplained, prior_state_var)
        of_noise = matmul(matmul(gain, observation_noise, adjoint_a=True), gain)
        return mean, _congruent(unexplained, prior_state_var) + of_noise

    def observed_from_state(
        self, state_mean: Tensor, state_var: Tensor, observation_model: Tensor, observation_noise: object
    ) -> tuple[Tensor, Tensor]:
        """Mean and covariance of the observation of a state; arguments as those of `do_filter`."""
        return _times_vector(observation_model, state_mean), _congruent(observation_model, state_var) + observation_noise
