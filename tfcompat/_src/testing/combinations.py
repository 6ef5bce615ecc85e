"""`tensorflow.python.framework.combinations`: tests in graph and eager mode, and for one version of the API."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.testing import test_combinations
from tfcompat._src.testing.test_combinations import NamedObject, combine, times  # noqa: F401


class EagerGraphCombination(test_combinations.TestCombination):
    """The option `mode`, "graph" or "eager"."""

    def context_managers(self, kwargs: dict[str, Any]) -> list[contextlib.AbstractContextManager]:
        mode = kwargs.get("mode", "graph")
        if mode == "graph":
            return [tf.Graph().as_default()]
        if mode == "eager":
            return [eager_mode()]
        raise ValueError(f"'mode' has to be either 'eager' or 'graph' and not {mode}")

    def parameter_modifiers(self) -> list[test_combinations.ParameterModifier]:
        return [test_combinations.OptionalParameter("mode")]


class TFVersionCombination(test_combinations.TestCombination):
    """The option `tf_api_version`: tests of version 2 are skipped."""

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        if kwargs.get("tf_api_version") == 2:
            return False, "Skipping a TF2 test when TF2 is not enabled."
        return True, None

    def parameter_modifiers(self) -> list[test_combinations.ParameterModifier]:
        return [test_combinations.OptionalParameter("tf_api_version")]


generate = functools.partial(
    test_combinations.generate, test_combinations=(EagerGraphCombination(), TFVersionCombination())
)
