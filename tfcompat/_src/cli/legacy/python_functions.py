"""What functions of Python's library took until Python 3.8 to 3.11, and TensorFlow 1 programs give them."""

from __future__ import annotations

import collections.abc
import functools
import json
import random
from collections.abc import Callable
from typing import Any


def _without_encoding(load: Callable[..., Any]) -> Callable[..., Any]:
    """`json.load` or `json.loads` that takes the encoding, which texts do not have."""

    @functools.wraps(load)
    def wrapped(source: object, *, encoding: str | None = None, **options: Any) -> Any:
        return load(source, **options)

    return wrapped


def _of_sets(sample: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(sample)
    def wrapped(self: random.Random, population: object, k: int, **options: Any) -> list[Any]:
        return sample(self, tuple(population) if isinstance(population, collections.abc.Set) else population, k, **options)

    return wrapped


def _with_own_source(shuffle: Callable[..., Any]) -> Callable[..., Any]:
    """`random.shuffle` that takes a function giving floats below 1."""

    @functools.wraps(shuffle)
    def wrapped(self: random.Random, x: Any, random: Callable[[], float] | None = None) -> None:
        if random is None:
            shuffle(self, x)
            return
        for i in reversed(range(1, len(x))):
            j = int(random() * (i + 1))
            x[i], x[j] = x[j], x[i]

    return wrapped


def _of_whole_floats(randrange: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(randrange)
    def wrapped(self: random.Random, *limits: Any, **options: Any) -> int:
        try:
            return randrange(self, *limits, **options)
        except TypeError:
            whole = [int(limit) if isinstance(limit, float) and limit.is_integer() else limit for limit in limits]
            if whole == list(limits) and not any(isinstance(limit, float) for limit in limits):
                raise
            return randrange(self, *whole, **options)

    return wrapped


_DRAWS = {"sample": _of_sets, "shuffle": _with_own_source, "randrange": _of_whole_floats}


def restore() -> None:
    """Puts such functions in the place of Python's."""
    json.load, json.loads = _without_encoding(json.load), _without_encoding(json.loads)
    for name, taking in _DRAWS.items():
        setattr(random.Random, name, taking(getattr(random.Random, name)))
        setattr(random, name, getattr(random._inst, name))  # type: ignore[attr-defined]
