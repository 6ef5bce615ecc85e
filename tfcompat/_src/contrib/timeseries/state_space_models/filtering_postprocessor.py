"""What changes the outcome of a filtering step: anomalies, which the state does not follow."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.contrib.timeseries import math_utils
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import rank, reshape, shape
from tfcompat._src.ops.composed.check_ops import assert_equal
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import log, sigmoid


class FilteringStepPostprocessor(metaclass=abc.ABCMeta):
    """Changes the state and the outputs of each filtering step."""

    @abc.abstractmethod
    def process_filtering_step(
        self, current_times: Tensor, current_values: Tensor, predicted_state: Any, filtered_state: Any, outputs: dict[str, Tensor]
    ) -> tuple[Any, dict[str, Tensor]]:
        """The state to go on with, and the outputs.

        Args:
          current_times: integers [batch].
          current_values: [batch, features].
          predicted_state, filtered_state: the state before and after the values are seen, of tensors [batch, ...].
          outputs: dict of Tensors [batch, ...] with "loss", "mean", "covariance" and "log_likelihood".
        """

    @property
    @abc.abstractmethod
    def output_names(self) -> list[str]:
        """The names of the outputs that are added."""


def cauchy_alternative_to_gaussian(current_times: Tensor, current_values: Tensor, outputs: dict[str, Tensor]) -> Tensor:
    """The log likelihoods [batch] of anomalies with Cauchy distributions of the same means and entropies as the predictions.

    Args: as FilteringStepPostprocessor.process_filtering_step.
    """
    scale = math_utils.entropy_matched_cauchy_scale(outputs["covariance"])
    return reduce_sum(math_utils.cauchy_log_prob(loc=outputs["mean"], scale=scale, x=current_values), axis=1)


def _mixed_state(first_state: object, second_state: object, first_responsibility: Tensor) -> Any:
    """A state between two: floating tensors [batch, ...] are mixed by weights [batch] of the first; others must be equal."""

    def mixed(first: Tensor, second: Tensor) -> Tensor:
        if not first.dtype.is_floating:
            with control_dependencies([assert_equal(first, second)]):
                return identity(first)
        ones_after_batch = ones([rank(first) - 1], dtype=dtypes.int32)
        weight = reshape(first_responsibility, concat([shape(first_responsibility), ones_after_batch], 0))
        result = weight * first + (1.0 - weight) * second
        result.set_shape(first.shape)
        return result

    return nest.map_structure(mixed, first_state, second_state)


class StateInterpolatingAnomalyDetector(FilteringStepPostprocessor):
    """Weighs the state before and after each value by how probable it is that the value is an anomaly.

    Args:
      anomaly_log_likelihood: function of `current_times`, `current_values` and `outputs` to the log likelihoods [batch] of anomalies.
      anomaly_prior_probability: how probable an anomaly is, in (0, 1).
      responsibility_scaling: what the log odds are multiplied with; above 1 decisions are harder.
    """

    output_names = ["anomaly_score"]

    def __init__(
        self, anomaly_log_likelihood: Callable = cauchy_alternative_to_gaussian, anomaly_prior_probability: float = 0.01,
        responsibility_scaling: float = 1.0,
    ) -> None:  # fmt: skip
        self._anomaly_log_likelihood = anomaly_log_likelihood
        self._responsibility_scaling = responsibility_scaling
        self._anomaly_prior_probability = anomaly_prior_probability

    def process_filtering_step(
        self, current_times: Tensor, current_values: Tensor, predicted_state: object, filtered_state: object, outputs: dict[str, Tensor]
    ) -> tuple[Any, dict[str, Tensor]]:
        """The weighed state, and the outputs with the loss of the mixture and "anomaly_score", the log odds [batch] of an anomaly."""
        likelihood = self._anomaly_log_likelihood(current_times=current_times, current_values=current_values, outputs=outputs)
        prior = convert_to_tensor(self._anomaly_prior_probability, dtype=current_values.dtype)
        anomalous = likelihood + log(prior)
        ordinary = outputs["log_likelihood"] + log(1.0 - prior)
        log_odds = anomalous - ordinary
        trust = sigmoid(-self._responsibility_scaling * log_odds)
        outputs["loss"] = -(trust * ordinary + (1.0 - trust) * anomalous)
        outputs["anomaly_score"] = log_odds
        return _mixed_state(filtered_state, predicted_state, trust), outputs
