"""Python 2's `random`: after the same seed the same numbers, from the generator that Python 3's module has too."""

from __future__ import annotations

import math
import random
import types
from collections.abc import Callable
from typing import Any

from tfcompat._src.cli.python2.hashes import python2_hash

_WIDEST = 2**53


class Random(random.Random):
    """`random.Random` of Python 2: integers are drawn by `int(random() * n)`."""

    def seed(self, a: Any = None, version: int = 2) -> None:  # type: ignore[override]
        if a is not None and not isinstance(a, int):
            a = python2_hash(a) % 2**64
        random.Random.seed(self, a)

    def randrange(self, start: Any, stop: Any = None, step: Any = 1) -> int:
        first, step = _whole(start), _whole(step)
        values = range(first) if stop is None else range(first, _whole(stop), step)
        if not values:
            raise ValueError(f"empty range for randrange() ({start}, {stop}, {step})")
        return values[Random._below(self, len(values))]

    def _below(self, count: int) -> int:
        if count < _WIDEST:
            return int(self.random() * count)
        bits = int(1.00001 + math.log(count - 1, 2.0))
        drawn = self.getrandbits(bits)
        while drawn >= count:
            drawn = self.getrandbits(bits)
        return drawn

    def randint(self, a: Any, b: Any) -> int:
        return Random.randrange(self, a, b + 1)

    def choice(self, seq: Any) -> Any:
        return seq[int(self.random() * len(seq))]

    def shuffle(self, x: Any, random: Callable[[], float] | None = None) -> None:
        draw = random or self.random
        for i in range(len(x) - 1, 0, -1):
            j = int(draw() * (i + 1))
            x[i], x[j] = x[j], x[i]

    def sample(self, population: Any, k: int) -> list[Any]:  # type: ignore[override]
        """Draws from a pool that shrinks, or, where k is small beside the population, until an index is new."""
        count = len(population)
        if not 0 <= k <= count:
            raise ValueError("sample larger than population")
        small = 21 + (4 ** int(math.ceil(math.log(k * 3, 4))) if k > 5 else 0)
        if count <= small or hasattr(population, "keys") or isinstance(population, (set, frozenset)):
            pool, drawn = list(population), []
            for left in range(count, count - k, -1):
                index = int(self.random() * left)
                drawn.append(pool[index])
                pool[index] = pool[left - 1]
            return drawn
        indices: dict[int, None] = {}
        while len(indices) < k:
            indices.setdefault(int(self.random() * count))
        return [population[index] for index in indices]

    def gammavariate(self, alpha: float, beta: float) -> float:
        if alpha != 1.0:
            return random.Random.gammavariate(self, alpha, beta)
        drawn = self.random()
        while drawn <= 1e-7:
            drawn = self.random()
        return -math.log(drawn) * beta

    def betavariate(self, alpha: float, beta: float) -> float:
        y = Random.gammavariate(self, alpha, 1.0)
        return 0.0 if y == 0 else y / (y + Random.gammavariate(self, beta, 1.0))

    def jumpahead(self, n: int) -> None:
        raise NotImplementedError("random.jumpahead of Python 2 is not there: seed another random.Random instead")


def _whole(value: Any) -> int:
    whole = int(value)
    if whole != value:
        raise ValueError("non-integer arg 1 for randrange()")
    return whole


def names() -> dict[str, Any]:
    """The names of the module: functions that draw from the generator of Python 3's module, which libraries draw from too."""
    shared = random._inst  # type: ignore[attr-defined]
    drawing = ("seed", "randrange", "randint", "choice", "shuffle", "sample", "gammavariate", "betavariate", "jumpahead")
    return {"Random": Random, **{name: types.MethodType(getattr(Random, name), shared) for name in drawing}}
