"""The table of primitives: for each primitive's name, how to prepare a NumPy function from an equation of a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.jax_compat import ClosedJaxpr, JaxprEqn, expanded

DType: TypeAlias = np.dtype[Any]
Shape: TypeAlias = tuple[int, ...]
Scalar: TypeAlias = "np.generic | int"
"""A NumPy number, or a Python int, which takes the dtype of the array that it is combined with."""
Params: TypeAlias = dict[str, Any]
"""The parameters of an equation; their meaning is the primitive's own."""
ToArray: TypeAlias = Callable[..., NDArray]
"""A function of arrays that returns one array. For results of rank 0 NumPy may return a scalar, which has the same methods."""
ToArrays: TypeAlias = Callable[..., Sequence[NDArray]]
"""A function of arrays that returns a sequence of arrays, one for each result of the primitive."""
Kernel: TypeAlias = ToArray | ToArrays


class ArrayType(Protocol):
    """Shape and dtype of an array: JAX's `ShapedArray`, or an array itself."""

    @property
    def shape(self) -> Shape: ...

    @property
    def dtype(self) -> DType: ...


class Equation(NamedTuple):
    """All that a NumPy function is prepared from: the parameters of an equation and the types of its inputs and outputs."""

    params: Params
    inputs: Sequence[ArrayType]
    outputs: Sequence[ArrayType]

    @property
    def dtype(self) -> DType:
        """The dtype of the first result."""
        return self.outputs[0].dtype

    @property
    def shape(self) -> Shape:
        """The shape of the first result."""
        return self.outputs[0].shape


Prepare: TypeAlias = Callable[[Equation], Kernel]
_Prepare = TypeVar("_Prepare", bound=Prepare)
TABLE: dict[str, Prepare] = {}
CALLED: list[Callable[[JaxprEqn], Prepare | None]] = []
"""Lookups of functions for calls that have a NumPy form: each returns how to prepare the call, or None."""
REFUSED: dict[str, Callable[[Params], bool]] = {}
"""For primitives with forms that cannot be evaluated: returns whether an equation with these parameters is one of them."""


def primitive(*names: str, refused: Callable[[Params], bool] | None = None) -> Callable[[_Prepare], _Prepare]:
    """Registers a function for primitives. It takes an `Equation` and returns a function of arrays, which returns one array, or a list if
    the JAX primitive has several results.

    Args:
      names: of the primitives.
      refused: returns, from parameters, whether such an equation cannot be evaluated.
    """

    def enter(prepare: _Prepare) -> _Prepare:
        for name in names:
            TABLE[name] = prepare
            if refused is not None:
                REFUSED[name] = refused
        return prepare

    return enter


EXPANDED = "call_hi_primitive"
"""JAX's primitive for calls of user-defined high-level primitives; its trace is made by `expanded`."""
CALLS = {
    "pjit", "jit", "closed_call", "core_call", "core_closed_call", "remat", "remat2", "checkpoint", "custom_jvp_call", "custom_vjp_call", EXPANDED,
}  # fmt: skip
"""Primitives that only call a trace."""


def called(equation: JaxprEqn) -> ClosedJaxpr | None:
    """Returns the trace that an equation calls; None if the equation is no call."""
    name, params = equation.primitive.name, equation.params
    if name not in CALLS:
        return None
    jaxpr = expanded(equation) if name == EXPANDED else params["jaxpr"] if "jaxpr" in params else params["call_jaxpr"]
    return jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, ())


def preparation(equation: JaxprEqn) -> Prepare | None:
    """Returns how to prepare an equation; None for a call to be inlined, and for a primitive that the table lacks."""
    if equation.primitive.name not in CALLS:
        return TABLE.get(equation.primitive.name)
    return next((prepare for prepared in CALLED if (prepare := prepared(equation)) is not None), None)


def is_small_float(dtype: DType) -> bool:
    """Whether this is a float type of at most 16 bits."""
    return dtype == np.float16 or (dtype.kind == "V" or dtype.name.startswith(("bfloat", "float8")))


def wide(dtype: DType) -> DType:
    """Returns the dtype to compute in: float32 for small floats, whose results are then rounded once; else the dtype itself."""
    return np.dtype(np.float32) if is_small_float(dtype) else dtype
