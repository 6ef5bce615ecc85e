"""Sums of a trend, cycles, and a moving average with autoregression."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.contrib.timeseries.state_space_models.ensembles import (
    StateSpaceCorrelatedFeaturesEnsemble,
    StateSpaceIndependentEnsemble,
)
from tfcompat._src.contrib.timeseries.state_space_models.level_trend import AdderStateSpaceModel
from tfcompat._src.contrib.timeseries.state_space_models.periodic import CycleStateSpaceModel, ResolutionCycleModel
from tfcompat._src.contrib.timeseries.state_space_models.state_space_model import (
    DEFAULT_CONFIGURATION,
    StateSpaceModel,
    StateSpaceModelConfiguration,
)
from tfcompat._src.contrib.timeseries.state_space_models.varma import VARMA
from tfcompat._src.variables.scope import variable_scope


def _of_each_feature(scope: str, make: Callable[..., StateSpaceModel], configuration: StateSpaceModelConfiguration) -> StateSpaceModel:
    """One model for each feature, made of `make` with a `configuration` for one feature, with noise that is correlated."""
    with variable_scope(scope):
        members = []
        for feature in range(configuration.num_features):
            with variable_scope(f"feature{feature}"):
                members.append(make(configuration=configuration._replace(num_features=1)))
        return StateSpaceCorrelatedFeaturesEnsemble(ensemble_members=members, configuration=configuration)


def _parts(
    moving_average_order: int, autoregressive_order: int, cycles: list[Callable[..., StateSpaceModel]],
    configuration: StateSpaceModelConfiguration,
) -> list[StateSpaceModel]:  # fmt: skip
    """A trend, a VARMA, and cycles; only their sum is observed with noise."""
    configuration = configuration._replace(use_observation_noise=False)
    trend = _of_each_feature("adder", AdderStateSpaceModel, configuration)
    with variable_scope("varma"):
        varma = VARMA(autoregressive_order, moving_average_order, configuration=configuration)
    return [trend, varma, *(_of_each_feature(f"cycle{number}", make, configuration) for number, make in enumerate(cycles))]


class StructuralEnsemble(StateSpaceIndependentEnsemble):
    """A trend, cycles with a value for each time of their period, and a VARMA.

    Args:
      periodicities: period, or list of periods, integers in units of the times.
      moving_average_order, autoregressive_order: orders of the VARMA.
      use_level_noise: has no effect, as in TensorFlow: noise changes the level.
      configuration: a StateSpaceModelConfiguration.
    """

    def __init__(
        self, periodicities: Any, moving_average_order: int, autoregressive_order: int, use_level_noise: bool = True,
        configuration: StateSpaceModelConfiguration = DEFAULT_CONFIGURATION,
    ) -> None:  # fmt: skip
        cycles = [functools.partial(CycleStateSpaceModel, periodicity=period) for period in nest.flatten(periodicities)]
        members = _parts(moving_average_order, autoregressive_order, cycles, configuration)
        super().__init__(ensemble_members=members, configuration=configuration)


class MultiResolutionStructuralEnsemble(StateSpaceIndependentEnsemble):
    """A trend, cycles of any period with a given number of latent values, and a VARMA.

    Args:
      cycle_num_latent_values: how many latent values a cycle has, an odd integer, or one for each period.
      moving_average_order, autoregressive_order: orders of the VARMA.
      periodicities: period, or list of periods, in units of the times; None for no cycles.
      use_level_noise: has no effect, as in TensorFlow: noise changes the level.
      configuration: a StateSpaceModelConfiguration.

    Raises:
      ValueError: there are other numbers of latent values than periods.
    """

    def __init__(
        self, cycle_num_latent_values: Any, moving_average_order: int, autoregressive_order: int, periodicities: Any,
        use_level_noise: bool = True, configuration: StateSpaceModelConfiguration = DEFAULT_CONFIGURATION,
    ) -> None:  # fmt: skip
        periods = [] if periodicities is None else nest.flatten(periodicities)
        counts = nest.flatten(cycle_num_latent_values)
        if len(counts) == 1:
            counts *= len(periods)
        if len(counts) != len(periods):
            raise ValueError(
                "`cycle_num_latent_values` is one number for all `periodicities`, or one for each: "
                f"got {len(counts)} for {len(periods)} periodicities."
            )
        cycles = [
            functools.partial(ResolutionCycleModel, num_latent_values=count, periodicity=period) for count, period in zip(counts, periods)
        ]
        members = _parts(moving_average_order, autoregressive_order, cycles, configuration)
        super().__init__(ensemble_members=members, configuration=configuration)

