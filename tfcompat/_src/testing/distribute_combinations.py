"""`tensorflow.python.distribute.combinations`: tests under strategies, left out where the machine has not the devices."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from tfcompat._src.runtime.devices.devices import accelerator_count
from tfcompat._src.testing import combinations, test_combinations
from tfcompat._src.testing.combinations import NamedObject, combine, times  # noqa: F401


class NamedDistribution:
    """A function that makes a strategy, under a name for titles of tests.

    Args:
      name: the name.
      distribution_fn: makes the strategy.
      required_gpus: how many GPUs it needs, or None.
      required_tpu: whether it needs a TPU.
    """

    def __init__(self, name: str, distribution_fn: Callable[[], Any], required_gpus: int | None = None, required_tpu: bool = False) -> None:
        self._name, self._distribution_fn = name, distribution_fn
        self.required_gpus, self.required_tpu = required_gpus, required_tpu

    @property
    def strategy(self) -> Any:
        """A new strategy."""
        return self._distribution_fn()

    def __repr__(self) -> str:
        return self._name


def _distributions(kwargs: dict[str, Any]) -> list[NamedDistribution]:
    return [value for value in kwargs.values() if isinstance(value, NamedDistribution)]


class DistributionParameter(test_combinations.ParameterModifier):
    """Gives the test strategies where the combination has their names."""

    def modified_arguments(self, kwargs: dict[str, Any], requested_parameters: list[str]) -> dict[str, Any]:
        return {key: value.strategy for key, value in kwargs.items() if isinstance(value, NamedDistribution)}


class NamedGPUCombination(test_combinations.TestCombination):
    """The option `required_gpus`, and what strategies say of it."""

    GPU_TEST = "test_gpu" in sys.argv[0]

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        distributions, asked = _distributions(kwargs), kwargs.get("required_gpus")
        if distributions and asked:
            raise ValueError("Do not use `required_gpus` and arguments of type NamedDistribution together.")
        wanted = max(int(count or 0) for count in (asked, *(each.required_gpus for each in distributions)))
        if not wanted and self.GPU_TEST:
            return False, "Test that doesn't require GPUs."
        if (there := accelerator_count("GPU")) < wanted:
            return False, f"Only {there} of {wanted} required GPUs are available."
        return True, None

    def parameter_modifiers(self) -> list[test_combinations.ParameterModifier]:
        return [test_combinations.OptionalParameter("required_gpus")]


class GPUCombination(NamedGPUCombination):
    """`NamedGPUCombination` that gives the test strategies."""

    def parameter_modifiers(self) -> list[test_combinations.ParameterModifier]:
        return [DistributionParameter(), *super().parameter_modifiers()]


class NamedTPUCombination(test_combinations.TestCombination):
    """The options `required_tpus` and `required_tpu`, and what strategies say of them."""

    TPU_TEST = "test_tpu" in sys.argv[0]

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        if "required_tpus" in kwargs and "required_tpu" in kwargs:
            raise ValueError("Do not use `required_tpu`.  Both `required_tpus` and `required_tpu` were specified.")
        distributions, asked = _distributions(kwargs), kwargs.get("required_tpus") or kwargs.get("required_tpu")
        if distributions and asked:
            raise ValueError("Do not use `required_tpus` and arguments of type NamedDistribution together.")
        wanted = bool(asked) or any(each.required_tpu for each in distributions)
        if wanted == self.TPU_TEST:
            return True, None
        return False, "Test requires a TPU, but it's not available." if wanted else "Test that doesn't require TPUs."

    def parameter_modifiers(self) -> list[test_combinations.ParameterModifier]:
        return [test_combinations.OptionalParameter(name) for name in ("required_tpus", "required_tpu")]


class TPUCombination(NamedTPUCombination):
    """`NamedTPUCombination` that gives the test strategies."""

    def parameter_modifiers(self) -> list[test_combinations.ParameterModifier]:
        return [DistributionParameter(), *super().parameter_modifiers()]


generate = functools.partial(
    combinations.generate,
    test_combinations=(*combinations.generate.keywords["test_combinations"], GPUCombination(), TPUCombination()),
)
