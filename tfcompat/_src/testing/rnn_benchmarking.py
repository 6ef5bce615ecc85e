"""tensorflow.contrib.rnn.python.kernel_tests.benchmarking: measures how long operations take."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from tfcompat._src.graph import scopes


def device(use_gpu: bool = False) -> AbstractContextManager:
    """The scope of the first GPU, or of the CPU."""
    return scopes.device("/gpu:0" if use_gpu else "/cpu:0")


def seconds_per_run(op: object, sess: Any, num_runs: int = 50) -> float:
    """The mean time of `num_runs` runs of `op` in a session, after two that do not count."""
    for _ in range(2):
        sess.run(op)
    start = time.time()
    for _ in range(num_runs):
        sess.run(op)
    return (time.time() - start) / num_runs


def dict_product(dicts: dict[str, list]) -> Iterator[dict[str, Any]]:
    """All dicts that take for each key one of its values."""
    for values in itertools.product(*dicts.values()):
        yield dict(zip(dicts, values))
