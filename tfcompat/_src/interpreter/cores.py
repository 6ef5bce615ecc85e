"""Divides the work of one function among the cores that the process may use."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from tfcompat._src.base.helper_threads import Work
from tfcompat._src.interpreter.float_environment import AsInPrograms

T = TypeVar("T")
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def for_each(parts: Sequence[T], compute: Callable[[T], object]) -> None:
    """Computes parts that each write memory of their own. The calling thread and helper threads take parts from one queue until it is empty."""
    # `popleft` of a deque is atomic in CPython: the queue needs no lock.
    left = collections.deque(parts)

    def take() -> None:
        while left:
            try:
                part = left.popleft()
            except IndexError:  # another thread was quicker
                return
            compute(part)

    def help_out() -> None:
        # Flushing denormals is a setting of the thread: helpers need it too, or results would depend on who computes a part.
        with AsInPrograms():
            take()

    # At most one thread per core and per part, this one included.
    helpers = [Work(help_out) for _ in range(min(CORES, len(parts)) - 1)]
    for helper in helpers:
        helper.begin()
    take()
    for helper in helpers:
        helper.wait()


def ranges(length: int, count: int) -> list[slice]:
    """Returns at most `count` slices of about equal length that together cover `length`."""
    count = max(1, min(count, length))
    edges = [length * i // count for i in range(count + 1)]
    return [slice(a, b) for a, b in zip(edges, edges[1:])]
