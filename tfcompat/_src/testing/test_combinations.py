"""`tensorflow.python.framework.test_combinations`: one test method run under many settings of its arguments."""

from __future__ import annotations

import collections
import contextlib
import inspect
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

from absl.testing import parameterized


class ParameterModifier:
    """What a customization does with an argument of the test; two for the same argument are equal."""

    DO_NOT_PASS_TO_THE_TEST = object()

    def __init__(self, parameter_name: str | None = None) -> None:
        self._parameter_name = parameter_name

    def modified_arguments(self, kwargs: dict[str, Any], requested_parameters: list[str]) -> dict[str, Any]:
        """New values of arguments, or DO_NOT_PASS_TO_THE_TEST."""
        return {}

    def __eq__(self, other: Any) -> bool:
        return self is other or (type(self) is type(other) and self._parameter_name == other._parameter_name)

    def __hash__(self) -> int:
        return hash((type(self), self._parameter_name or id(self)))


class OptionalParameter(ParameterModifier):
    """An argument that a test need not take."""

    def modified_arguments(self, kwargs: dict[str, Any], requested_parameters: list[str]) -> dict[str, Any]:
        taken = self._parameter_name in requested_parameters
        return {} if taken else {self._parameter_name: self.DO_NOT_PASS_TO_THE_TEST}


class TestCombination:
    """A customization of how a combination is run."""

    __test__ = False

    def should_execute_combination(self, kwargs: dict[str, Any]) -> tuple[bool, str | None]:
        """Whether to run, and why not."""
        return True, None

    def parameter_modifiers(self) -> list[ParameterModifier]:
        """What happens to the arguments."""
        return []

    def context_managers(self, kwargs: dict[str, Any]) -> list[contextlib.AbstractContextManager]:
        """What is entered around the test."""
        return []


class NamedObject:
    """An object under a name that suits test names."""

    def __init__(self, name: str, obj: Any) -> None:
        self._name, self._obj = name, obj

    def __getattr__(self, name: str) -> Any:
        return getattr(self._obj, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._obj(*args, **kwargs)

    def __repr__(self) -> str:
        return self._name


def combine(**kwargs: Any) -> list[collections.OrderedDict]:
    """All combinations of `option=[values]` or `option=value`, the options by name."""
    options = sorted(kwargs)
    values = [kwargs[o] if isinstance(kwargs[o], list) else [kwargs[o]] for o in options]
    return [collections.OrderedDict(zip(options, each)) for each in itertools.product(*values)]


def times(*combined: Sequence[dict]) -> list[Any]:
    """Each combination of the first list with each of the others; ValueError where two have an option in common."""
    if len(combined) == 1:
        return list(combined[0])
    found = []
    for group in itertools.product(*combined):
        whole = collections.OrderedDict(item for each in group for item in each.items())
        if len(whole) != sum(map(len, group)):
            raise ValueError(f"Keys need to not overlap: {' vs '.join(str(list(each)) for each in group)}")
        found.append(whole)
    return found


def generate(combinations: Sequence[dict], test_combinations: Sequence[TestCombination] = ()) -> Callable:
    """Decorator of a test method, or of a class for all its test methods, that runs it under each combination.

    Args:
      combinations: from `combine` and `times`; the options are arguments of the method.
      test_combinations: customizations of each run.

    Raises (when a test runs):
      ValueError: options and arguments do not fit.
    """
    named = [collections.OrderedDict([*c.items(), ("testcase_name", f"_test{_name(c)}")]) for c in combinations]

    def decorate(test: Any) -> Any:
        if not isinstance(test, type):
            return parameterized.named_parameters(*named)(_customized(test, test_combinations))
        for name, method in list(vars(test).items()):
            if not name.startswith("test") or not inspect.isfunction(method):
                continue
            delattr(test, name)
            for each in named:
                arguments = {k: v for k, v in each.items() if k != "testcase_name"}
                setattr(test, name + each["testcase_name"], _bound(_customized(method, test_combinations), arguments))
        return test

    return decorate


def _bound(method: Callable, arguments: dict[str, Any]) -> Callable:
    return lambda self: method(self, **arguments)


def _name(combination: dict) -> str:
    """The part of a test's name that tells a combination: addresses in it give way to the option's number."""
    words = [(key, re.sub("0[xX][0-9a-fA-F]+", str(i), str(v))) for i, (key, v) in enumerate(combination.items())]
    return "".join(f"_{''.join(filter(str.isalnum, key))}_{''.join(filter(str.isalnum, value))}" for key, value in words)


def _customized(method: Callable, customizations: Sequence[TestCombination]) -> Callable:
    def run(self: Any, **kwargs: Any) -> None:
        verdicts = [c.should_execute_combination(dict(kwargs)) for c in customizations]
        reasons = [f" - {why}" for runs, why in verdicts if not runs]
        if reasons:
            self.skipTest("\n".join(reasons))
        wanted = inspect.getfullargspec(method).args
        with contextlib.ExitStack() as around:
            for customization in customizations:
                for manager in customization.context_managers(dict(kwargs)):
                    around.enter_context(manager)
            passed = dict(kwargs)
            for modifier in {m for c in customizations for m in c.parameter_modifiers()}:
                passed.update(modifier.modified_arguments(dict(kwargs), wanted))
            passed = {k: v for k, v in passed.items() if v is not ParameterModifier.DO_NOT_PASS_TO_THE_TEST}
            if set(passed) != set(wanted) - {"self"}:
                raise ValueError(f"The test takes {sorted(set(wanted) - {'self'})} and got the parameters {sorted(passed)}.")
            method(self, **passed)

    run.__name__, run.__doc__ = method.__name__, method.__doc__
    return run
