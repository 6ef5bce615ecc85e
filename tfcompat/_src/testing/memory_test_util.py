"""`tensorflow.python.eager.memory_tests.memory_test_util`: whether a function keeps memory; needs the package memory_profiler."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

from tfcompat._src.eager.mode import eager_mode


def memory_profiler_is_available() -> bool:
    """Whether the package memory_profiler is installed."""
    return importlib.util.find_spec("memory_profiler") is not None


def assert_no_leak(f: Callable[[], Any], num_iters: int = 100000, increase_threshold_absolute_mb: float = 10) -> None:
    """Fails where the memory of this process grows while a function is called again and again, where operations run at once.

    Args:
      f: the function. num_iters: how often it is called. increase_threshold_absolute_mb: MB by which the memory may grow.

    Raises:
      AssertionError: it grows by more. ModuleNotFoundError: memory_profiler is not installed.
    """
    used = importlib.import_module("memory_profiler").memory_usage
    with eager_mode():
        f()
        before = used(-1)[0]
        for _ in range(num_iters):
            f()
        increase = used(-1)[0] - before
    if increase >= increase_threshold_absolute_mb:
        raise AssertionError(
            f"Increase is too high. Initial memory usage: {before:f} MB. Increase: {increase:f} MB. "
            f"Maximum allowed increase: {increase_threshold_absolute_mb:f}"
        )
