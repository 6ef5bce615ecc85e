"""Checks of the numbers that a TPUEstimator is given."""

from __future__ import annotations

import re
from typing import NamedTuple

_ITERATIONS = re.compile(r"(?P<value>[1-9]\d*)(?P<unit>[smh])?")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


class IterationsPerLoopCounter(NamedTuple):
    """A number and its unit, "count" or "seconds"."""

    value: int
    unit: str


def check_positive_integer(value: object, name: str) -> None:
    """Raises TypeError where `value` is no int, ValueError where it is not positive."""
    if not isinstance(value, int):
        raise TypeError(f"{name} must be int, got {type(value)}")
    if value <= 0:
        raise ValueError(f"{name} must be positive, got {value}")


def parse_iterations_per_loop(iterations_per_loop: object) -> IterationsPerLoopCounter:
    """A number of steps, or a time such as "30s", "5m" or "1h"; ValueError for anything else."""
    match = _ITERATIONS.fullmatch(str(iterations_per_loop))
    if match is None:
        raise ValueError(
            "Invalid TPUConfig `iterations_per_loop` value. Value must be positive integer value or time-based value "
            "`<N><s|m|h>` where <N> is anypositive integer and `s`, `m`, `h` are unit of time in seconds, minutes, "
            "hours respectively. Examples of valid values: `3600s`, `60m`, `1h`."
        )
    value, unit = int(match["value"]), match["unit"]
    return (
        IterationsPerLoopCounter(value * _SECONDS[unit], "seconds")
        if unit
        else IterationsPerLoopCounter(value, "count")
    )
