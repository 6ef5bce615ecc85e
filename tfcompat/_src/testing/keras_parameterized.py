"""`tensorflow.python.keras.keras_parameterized`: tests that run for each kind of model and in each mode."""

from __future__ import annotations

import functools
import itertools
import unittest
from collections.abc import Callable, Iterable
from typing import Any

from absl.testing import parameterized

from tfcompat import keras
from tfcompat._src.eager.mode import eager_mode, graph_mode
from tfcompat._src.testing import keras_testing_utils as testing_utils
from tfcompat._src.testing.test_case import TestCase as BaseTestCase

_MODES = {
    "v2_function": (False, True),
    "v2_funcgraph": (False, False),
    "v2_eager": (True, True),
}
"""Mode of an eager program -> whether models run eagerly, and as one function."""


class TestCase(BaseTestCase, parameterized.TestCase):
    """A test case that leaves no Keras session behind."""

    def tearDown(self) -> None:
        keras.backend.clear_session()
        super().tearDown()


def _decorate(test_or_class: object, decorate_method: Callable) -> Any:
    """Decorates a test method, the methods of a class, or the methods that another decorator made."""

    def decorated(target: object) -> Any:
        if isinstance(target, Iterable):
            return itertools.chain.from_iterable(decorate_method(method) for method in target)
        if not isinstance(target, type):
            return decorate_method(target)
        for name, value in list(vars(target).items()):
            if callable(value) and name.startswith(unittest.TestLoader.testMethodPrefix):
                setattr(target, name, decorate_method(value))
        return type(target)(target.__name__, target.__bases__, dict(vars(target)))

    return decorated if test_or_class is None else decorated(test_or_class)


def run_with_all_model_types(test_or_class: object = None, exclude_models: Any = None) -> Any:
    """Runs a test, or those of a class, with each kind of model.

    Args:
      test_or_class: what is decorated.
      exclude_models: a kind, or a list of kinds, that is left out.
    """
    excluded = [exclude_models] if isinstance(exclude_models, str) else exclude_models or []
    kinds = [(f"_{kind}", kind) for kind in ("functional", "subclass", "sequential") if kind not in excluded]

    def decorate_method(method: Callable) -> Any:
        @parameterized.named_parameters(*kinds)
        @functools.wraps(method)
        def decorated(self: Any, model_type: str, *args: Any, **kwargs: Any) -> None:
            with testing_utils.model_type_scope(model_type):
                method(self, *args, **kwargs)

        return decorated

    return _decorate(test_or_class, decorate_method)


def run_all_keras_modes(
    test_or_class: object = None, config: object = None, always_skip_v1: bool = False, always_skip_eager: bool = False
) -> Any:
    """Runs a test, or those of a class, in a session and in the modes of eager programs, which fail here.

    Args:
      test_or_class: what is decorated.
      config: ConfigProto of the session.
      always_skip_v1: whether the session is left out.
      always_skip_eager: whether the mode in which models run eagerly is left out.
    """
    modes = ["v2_function", "v2_funcgraph"]
    modes += [] if always_skip_eager else ["v2_eager"]
    modes += [] if always_skip_v1 else ["v1_session"]

    def decorate_method(method: Callable) -> Any:
        @parameterized.named_parameters(*[(f"_{mode}", mode) for mode in modes])
        @functools.wraps(method)
        def decorated(self: Any, run_mode: str, *args: Any, **kwargs: Any) -> None:
            if run_mode == "v1_session":
                with (
                    graph_mode(), testing_utils.run_eagerly_scope(False),
                    testing_utils.experimental_run_tf_function_scope(False),
                    self.test_session(use_gpu=True, config=config),
                ):  # fmt: skip
                    method(self, *args, **kwargs)
            else:
                eagerly, as_function = _MODES[run_mode]
                with (
                    eager_mode(), testing_utils.run_eagerly_scope(eagerly),
                    testing_utils.experimental_run_tf_function_scope(as_function),
                ):  # fmt: skip
                    method(self, *args, **kwargs)

        return decorated

    return _decorate(test_or_class, decorate_method)
