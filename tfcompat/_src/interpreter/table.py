"""The table of primitives: how an equation of a trace becomes a NumPy function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base.jax_compat import expanded


class Equation(NamedTuple):
    """What a function of NumPy arrays is prepared from: the parameters of an equation, and the types of what it takes and gives."""

    params: dict[str, Any]
    inputs: list[Any]
    outputs: list[Any]

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the first result."""
        return self.outputs[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.outputs[0].shape


Prepare = Callable[[Equation], Callable]
TABLE: dict[str, Prepare] = {}
REFUSED: dict[str, Callable[[dict], bool]] = {}
"""Of primitives of which some forms cannot be evaluated: whether an equation with these parameters is one."""


def primitive(*names: str, refused: Callable[[dict], bool] | None = None) -> Callable[[Prepare], Prepare]:
    """Enters a function in the table: it takes an `Equation` and gives a function from arrays to one array, or a list where JAX's primitive
    has several results. `refused` says of parameters whether such an equation cannot be evaluated.
    """

    def enter(prepare: Prepare) -> Prepare:
        for name in names:
            TABLE[name] = prepare
            if refused is not None:
                REFUSED[name] = refused
        return prepare

    return enter


EXPANDED = "call_hi_primitive"
CALLS = {
    "pjit", "jit", "closed_call", "core_call", "core_closed_call", "remat", "remat2", "checkpoint", "custom_jvp_call", "custom_vjp_call", EXPANDED,
}  # fmt: skip
"""Primitives that do no more than a trace."""


def called(equation: Any) -> Any:
    """The trace that an equation does no more than; None where it does something of its own."""
    name, params = equation.primitive.name, equation.params
    if name not in CALLS:
        return None
    return expanded(equation) if name == EXPANDED else params["jaxpr"] if "jaxpr" in params else params["call_jaxpr"]


def is_small_float(dtype: np.dtype) -> bool:
    """Whether this is a float type of at most 16 bits."""
    return dtype == np.float16 or (dtype.kind == "V" or dtype.name.startswith(("bfloat", "float8")))


def wide(dtype: np.dtype) -> np.dtype:
    """The type to compute in: float32 for small floats, whose results are rounded once."""
    return np.dtype(np.float32) if is_small_float(dtype) else dtype
