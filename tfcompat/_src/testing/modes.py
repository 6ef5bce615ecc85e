"""In which modes a test runs: the one place that decides it."""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import inspect
import unittest
from collections.abc import Callable
from typing import Any

from absl.testing import parameterized

import tfcompat as tf
from tfcompat._src.base.export import export
from tfcompat._src.eager import mode as eager
from tfcompat._src.ops.control import control_flow_util
from tfcompat._src.testing.devices import is_gpu_available

Decorator = Callable[[Any], Any]


def is_xla_enabled() -> bool:
    """Whether tests are those of TensorFlow's XLA devices: never."""
    return False


def is_test(name: str, value: object) -> bool:
    return callable(value) and name.startswith("test") and name != "test_session"


def decorator_or_decorated(decorator: Decorator, func: object) -> Any:
    """Serves both `@mark` and `@mark()`."""
    return decorator if func is None else decorator(func)


def methods_only(name: str, func: object, instead: str = "") -> None:
    if inspect.isclass(func):
        raise ValueError(f"`{name}` only supports test methods.{instead}")


def assert_no_garbage_created(func: Any) -> Any:
    """Decorator of a test method that fails where it leaves cycles of unreachable objects."""

    @functools.wraps(func)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        gc.collect()
        flags, before = gc.get_debug(), len(gc.garbage)
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            result = func(self, *args, **kwargs)
            gc.collect()
            self.assertEqual(before, len(gc.garbage), "the test made cycles of objects")
        finally:
            gc.set_debug(flags)
            del gc.garbage[before:]
        return result

    return checked


@export("contrib.eager.run_test_in_graph_and_eager_modes")
def run_in_graph_and_eager_modes(
    func: object = None,
    config: object = None,
    use_gpu: bool = True,
    reset_test: bool = True,
    assert_no_eager_garbage: bool = False,
) -> Any:
    """Runs a test method in graph mode, in a session of the test's, and then in eager mode.

    As in 1.15, a method that asks in graph mode to be skipped goes on in eager mode.

    Args:
      func: the method, or None to get a decorator.
      config: ConfigProto of the session.
      use_gpu: whether ops may go on a GPU.
      reset_test: whether the test is set up anew in between.
      assert_no_eager_garbage: fails where the eager half leaves cycles of objects.

    Raises:
      ValueError: `func` is a class.
    """

    def decorator(method: Any) -> Any:
        methods_only("run_in_graph_and_eager_modes", method, " Did you mean to use `run_all_in_graph_and_eager_modes`?")

        checked = assert_no_garbage_created(method) if assert_no_eager_garbage else method

        @functools.wraps(method)
        def in_both_modes(self: Any, *args: Any, **kwargs: Any) -> None:
            with eager.graph_mode(), contextlib.suppress(unittest.SkipTest), self.test_session(use_gpu=use_gpu, config=config):
                method(self, *args, **kwargs)
            if reset_test:
                self.tearDown()
                self._tempdir = None
            with tf.Graph().as_default(), eager.eager_mode():
                if reset_test:
                    self.setUp()
                with contextlib.nullcontext() if use_gpu else tf.device("/device:CPU:0"):
                    checked(self, *args, **kwargs)

        return in_both_modes

    return decorator_or_decorated(decorator, func)


@export("contrib.eager.run_all_tests_in_graph_and_eager_modes")
def run_all_in_graph_and_eager_modes(cls: type) -> type:
    """`run_in_graph_and_eager_modes` for all test methods of a class."""
    for name in dir(cls):
        value = getattr(cls, name, None)
        if is_test(name, value) and not name.startswith(("testSkipEager", "test_skip_eager")):
            setattr(cls, name, run_in_graph_and_eager_modes(value))
    return cls


def build_as_function_and_v1_graph(func: object = None) -> Any:
    """Runs a method of a parameterized test in a graph and inside a tf.function."""

    def decorator(method: Any) -> Any:
        methods_only("run_in_graph_mode_and_function", method)

        @parameterized.named_parameters(("_v1_graph", "v1_graph"), ("_function", "function"))
        @functools.wraps(method)
        def in_mode(self: Any, run_mode: str, *args: Any, **kwargs: Any) -> None:
            with tf.Graph().as_default():
                if run_mode == "function":
                    tf.function(lambda: method(self, *args, **kwargs))()
                else:
                    method(self, *args, **kwargs)

        return in_mode

    return decorator_or_decorated(decorator, func)


def also_run_as_tf_function(f: Any) -> Any:
    """Runs a test method eagerly, and then inside a tf.function."""

    @functools.wraps(f)
    def in_both_ways(*args: Any, **kwargs: Any) -> None:
        with eager.eager_mode():
            f(*args, **kwargs)
            tf.function(lambda: f(*args, **kwargs))()

    return in_both_ways


def deprecated_graph_mode_only(func: object = None) -> Any:
    """Runs a test method, or all of a class, in graph mode."""

    def decorator(method: Any) -> Any:
        if inspect.isclass(method):
            return for_all_test_methods(deprecated_graph_mode_only)(method)

        @functools.wraps(method)
        def in_graph_mode(*args: Any, **kwargs: Any) -> Any:
            with eager.graph_mode():
                return method(*args, **kwargs)

        return in_graph_mode

    return decorator_or_decorated(decorator, func)


run_deprecated_v1 = deprecated_graph_mode_only


def run_v1_only(reason: str, func: object = None) -> Any:
    """Runs a test method, or all of a class, with TensorFlow 1 behaviour only: always.

    Raises:
      ValueError: `reason` is no text.
    """
    if not isinstance(reason, str):
        raise ValueError(f"'reason' should be string, got {type(reason)}")
    return decorator_or_decorated(lambda method: method, func)


def skipping(condition: Callable[[], bool], reason: str, name: str, func: object) -> Any:
    """A decorator of test methods that skips them where the condition holds."""

    def decorator(method: Any) -> Any:
        methods_only(name, method)

        @functools.wraps(method)
        def run_or_skip(self: Any, *args: Any, **kwargs: Any) -> Any:
            if condition():
                self.skipTest(reason)
            return method(self, *args, **kwargs)

        return run_or_skip

    return decorator_or_decorated(decorator, func)


def run_v2_only(func: object = None) -> Any:
    """Skips a test method: TensorFlow 2 behaviour is never on."""
    return skipping(lambda: True, "Test is only compatible with v2", "run_v2_only", func)


def run_gpu_only(func: object = None) -> Any:
    """Skips a test method where there is no GPU."""
    return skipping(lambda: not is_gpu_available(), "Test requires GPU", "run_gpu_only", func)


def run_cuda_only(func: object = None) -> Any:
    """Skips a test method where there is no CUDA GPU."""
    return skipping(lambda: not is_gpu_available(cuda_only=True), "Test requires CUDA", "run_cuda_only", func)


def skip_if(condition: object) -> Decorator:
    """Leaves out the call of a function where `condition` (a value or a function) holds."""

    def decorator(method: Any) -> Any:
        @functools.wraps(method)
        def run_or_not(*args: Any, **kwargs: Any) -> None:
            if not (condition() if callable(condition) else condition):
                method(*args, **kwargs)

        return run_or_not

    return decorator


def enable_control_flow_v2(fn: Any) -> Any:
    """A test whose control flow is made of nodes that run functions (If, While)."""

    @functools.wraps(fn)
    def turned_on(*args: Any, **kwargs: Any) -> None:
        before, control_flow_util.ENABLE_CONTROL_FLOW_V2 = control_flow_util.ENABLE_CONTROL_FLOW_V2, True
        try:
            fn(*args, **kwargs)
        finally:
            control_flow_util.ENABLE_CONTROL_FLOW_V2 = before

    return turned_on


def with_control_flow_v2(cls: type) -> type:
    """Adds, to each test method of a class, one that runs it with control flow v2."""
    for name, value in list(vars(cls).items()):
        if is_test(name, value) and not getattr(value, "_disable_control_flow_v2", False):
            setattr(cls, name + "WithControlFlowV2", enable_control_flow_v2(value))
    return cls


def disable_control_flow_v2(unused_msg: str) -> Decorator:
    """Keeps a test method from being run with control flow v2."""

    def decorator(method: Any) -> Any:
        method._disable_control_flow_v2 = True
        return method

    return decorator


def enable_output_all_intermediates(fn: object) -> Any:
    """The test as it is: only control flow v2 has intermediates to give out."""
    return fn


def as_it_is(description: str) -> Callable[..., Any]:
    """A decorator for tests that are special on XLA devices or in TensorFloat-32: they run as they are."""
    return lambda func=None: decorator_or_decorated(lambda method: method, func)


disable_xla = as_it_is
no_xla_auto_jit = as_it_is
xla_allow_fallback = as_it_is
enable_tf_xla_constant_folding = as_it_is
run_without_tensor_float_32 = as_it_is
run_all_without_tensor_float_32 = as_it_is


def disable_cudnn_autotune(func: object = None) -> Any:
    """The test as it is: nothing here tunes convolutions while it runs."""
    return decorator_or_decorated(lambda method: method, func)


def for_all_test_methods(decorator: Callable[..., Any], *args: object, **kwargs: object) -> Decorator:
    """A class decorator that applies `decorator(*args, **kwargs)` to each test method."""

    def decorate(cls: type) -> type:
        for name in dir(cls):
            value = getattr(cls, name)
            if is_test(name, value):
                setattr(cls, name, decorator(*args, **kwargs)(value))
        return cls

    return decorate


def disable_all_xla(description: str) -> Decorator:
    """A class whose tests are not those of XLA devices: they run as they are."""
    return for_all_test_methods(disable_xla, description)


def assert_no_new_pyobjects_executing_eagerly(f: Any) -> Any:
    """A test method that runs eagerly several times and must not leave more objects behind each time."""

    @functools.wraps(f)
    def counted(self: Any, *args: Any, **kwargs: Any) -> None:
        with eager.eager_mode():
            self.setUp()
            for _ in range(2):
                f(self, *args, **kwargs)
            gc.collect()
            before = len(gc.get_objects())
            for _ in range(4):
                f(self, *args, **kwargs)
            gc.collect()
            self.assertLessEqual(len(gc.get_objects()) - before, 20)

    return counted


def generate_combinations_with_testcase_name(**kwargs: Any) -> list[collections.OrderedDict[str, Any]]:
    """All combinations of the options (a list, or the one value), each with the name of its test case."""
    combinations: list[dict[str, Any]] = [{}]
    for name in reversed(sorted(kwargs, key=lambda name: name[0])):
        options = kwargs[name] if isinstance(kwargs[name], list) else [kwargs[name]]
        combinations = [{name: option, **rest} for option in options for rest in combinations]
    named = []
    for combination in combinations:
        parts = ("".join(filter(str.isalnum, part)) for item in combination.items() for part in map(str, item))
        words = iter(parts)
        name = "".join(f"_{key}_{value}" for key, value in zip(words, words))
        named.append(collections.OrderedDict([*combination.items(), ("testcase_name", "_test" + name)]))
    return named
