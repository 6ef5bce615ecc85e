"""The table of primitives: how an equation of a trace becomes a NumPy function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Equation(NamedTuple):
    """What a function of NumPy arrays is prepared from: the parameters of an equation, and the types of what it takes and gives."""

    params: dict[str, Any]
    inputs: list[Any]
    outputs: list[Any]

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the first result."""
        return self.outputs[0].dtype


Prepare = Callable[[Equation], Callable]
TABLE: dict[str, Prepare] = {}


def primitive(*names: str) -> Callable[[Prepare], Prepare]:
    """Enters a function in the table: it takes an `Equation` and gives a function from arrays to one array, or a list if there are several results."""

    def enter(prepare: Prepare) -> Prepare:
        for name in names:
            TABLE[name] = prepare
        return prepare

    return enter


def is_small_float(dtype: np.dtype) -> bool:
    """Whether XLA computes with this type in float32, and rounds the result."""
    return dtype == np.float16 or (dtype.kind == "V" or dtype.name.startswith(("bfloat", "float8")))
