"""Sums of state space models, whose states stand one after the other in one state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.contrib.timeseries import math_utils
from tfcompat._src.contrib.timeseries.input_statistics import InputStatistics
from tfcompat._src.contrib.timeseries.state_space_models.state_space_model import (
    StateSpaceModel,
    StateSpaceModelConfiguration,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.variables.scope import variable_scope


class StateSpaceEnsemble(StateSpaceModel):
    """The sum of models.

    Args:
      ensemble_members: the models, made in variable scopes of their own.
      configuration: a StateSpaceModelConfiguration.
    """

    def __init__(self, ensemble_members: Sequence[StateSpaceModel], configuration: StateSpaceModelConfiguration) -> None:
        self._ensemble_members = ensemble_members
        super().__init__(configuration=configuration)

    def _set_input_statistics(self, input_statistics: InputStatistics | None = None) -> None:
        super()._set_input_statistics(input_statistics)
        for member in self._ensemble_members:
            member._set_input_statistics(input_statistics)

    def _loss_additions(self, times: Tensor, values: Tensor, mode: str) -> Tensor:
        of_members = [member._loss_additions(times, values, mode) for member in self._ensemble_members]
        return super()._loss_additions(times, values, mode) + add_n(of_members)

    def _define_parameters(self, observation_transition_tradeoff_log: object = None) -> None:
        with variable_scope(self._variable_scope):
            if observation_transition_tradeoff_log is None:
                observation_transition_tradeoff_log = self._variable_observation_transition_tradeoff_log()
            for member in self._ensemble_members:
                member._define_parameters(observation_transition_tradeoff_log)
            super()._define_parameters(observation_transition_tradeoff_log)

    def _block_diagonal_of(self, member_fn: Callable[[Any], Any], name: str) -> Tensor:
        """Matrices of the members along one diagonal."""
        with variable_scope(self._variable_scope):
            matrices = [member_fn(member) for member in self._ensemble_members]
            return math_utils.block_diagonal(matrices, dtype=self.dtype, name=name)

    def random_model_parameters(self, seed: int | None = None) -> dict[Any, Any]:
        """Random values, to feed, of the parameters of all members and of the ensemble's own."""
        parameters: dict[Any, Any] = {}
        for number, member in enumerate(self._ensemble_members):
            parameters |= member.random_model_parameters(seed=seed + number if seed else None)
        return parameters | super().random_model_parameters(seed=seed)

    def transition_to_powers(self, powers: Tensor) -> Tensor:
        """The matrices [..., d, d] of integer numbers of transitions [...]."""
        return self._block_diagonal_of(lambda member: member.transition_to_powers(powers), "ensemble_transition_to_powers")

    def get_prior_mean(self) -> Tensor:
        """The means of the members' start states."""
        return concat([member.get_prior_mean() for member in self._ensemble_members], 0, name="ensemble_prior_state_mean")

    def get_state_transition(self) -> Tensor:
        """The transitions of the members."""
        return self._block_diagonal_of(lambda member: member.get_state_transition(), "ensemble_state_transition")

    def get_noise_transform(self) -> Tensor:
        """Where noises come to in the members."""
        return self._block_diagonal_of(lambda member: member.get_noise_transform(), "ensemble_noise_transform")

    def get_observation_model(self, times: Tensor) -> Any:
        raise NotImplementedError("An ensemble has only a broadcasted observation model: call get_broadcasted_observation_model.")

    def get_broadcasted_observation_model(self, times: Tensor) -> Tensor:
        """The matrix H, [batch, features, d], whose parts add up."""
        parts = [self._tensor(member.get_broadcasted_observation_model(times)) for member in self._ensemble_members]
        return concat(parts, 2)


class StateSpaceIndependentEnsemble(StateSpaceEnsemble):
    """The sum of models whose noises are independent of each other."""

    def transition_power_noise_accumulator(self, num_steps: Tensor) -> Tensor:
        """The covariances [..., d, d] of the noise of integer numbers of transitions [...]."""
        return self._block_diagonal_of(
            lambda member: member.transition_power_noise_accumulator(num_steps), "ensemble_power_noise_accumulator"
        )

    def get_prior_covariance(self) -> Tensor:
        """The covariances of the members' start states."""
        return self._block_diagonal_of(lambda member: member.get_prior_covariance(), "ensemble_prior_state_covariance")

    def get_state_transition_noise_covariance(self) -> Tensor:  # type: ignore[override]
        """The covariances of the members' noises."""
        return self._block_diagonal_of(lambda member: member.state_transition_noise_covariance, "ensemble_state_transition_noise")


class StateSpaceCorrelatedFeaturesEnsemble(StateSpaceEnsemble):
    """One model for each feature, with noises that are correlated.

    Args:
      ensemble_members: the models, one for each feature.
      configuration: a StateSpaceModelConfiguration.

    Raises:
      ValueError: there are not as many models as features, or one has several features.
    """

    def __init__(self, ensemble_members: Sequence[StateSpaceModel], configuration: StateSpaceModelConfiguration) -> None:
        if len(ensemble_members) != configuration.num_features:
            raise ValueError(
                f"A StateSpaceCorrelatedFeaturesEnsemble has one member for each feature: got {len(ensemble_members)} members for "
                f"{configuration.num_features} features."
            )
        if any(member.num_features != 1 for member in ensemble_members):
            raise ValueError(f"Each member models one feature, got num_features={[member.num_features for member in ensemble_members]}.")
        super().__init__(ensemble_members=ensemble_members, configuration=configuration)

    def transition_power_noise_accumulator(self, num_steps: Tensor) -> Tensor:
        """The covariances [..., d, d] of the noise of integer numbers of transitions [...]."""
        if len(self._ensemble_members) == 1:
            return self._ensemble_members[0].transition_power_noise_accumulator(num_steps)
        return super().transition_power_noise_accumulator(num_steps)

    def get_broadcasted_observation_model(self, times: Tensor) -> Tensor:
        """The matrix H, [batch, features, d]: each feature is observed of its own model."""
        return self._block_diagonal_of(
            lambda member: self._tensor(member.get_broadcasted_observation_model(times)), "feature_ensemble_observation_model"
        )
