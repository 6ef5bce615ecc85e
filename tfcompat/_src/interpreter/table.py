"""The table of primitives: how an equation of a trace becomes a NumPy function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.jax_compat import ClosedJaxpr, JaxprEqn, expanded

DType: TypeAlias = np.dtype[Any]
Shape: TypeAlias = tuple[int, ...]
Scalar: TypeAlias = "np.generic | int"
"""A number of NumPy, or one of Python that takes the type of the array beside it."""
Params: TypeAlias = dict[str, Any]
"""The parameters of an equation; what they are is the primitive's own."""
ToArray: TypeAlias = Callable[..., NDArray]
"""A function of arrays to one array; NumPy may give a scalar, which has the same methods, where that has no dimensions."""
ToArrays: TypeAlias = Callable[..., Sequence[NDArray]]
"""A function of arrays to as many arrays as the primitive has results."""
Kernel: TypeAlias = ToArray | ToArrays


class ArrayType(Protocol):
    """Shape and dtype of an array: JAX's `ShapedArray`, or an array itself."""

    @property
    def shape(self) -> Shape: ...

    @property
    def dtype(self) -> DType: ...


class Equation(NamedTuple):
    """What a function of NumPy arrays is prepared from: the parameters of an equation, and the types of what it takes and gives."""

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
"""What prepare calls of functions that have a form in NumPy."""
REFUSED: dict[str, Callable[[Params], bool]] = {}
"""Of primitives of which some forms cannot be evaluated: whether an equation with these parameters is one."""


def primitive(*names: str, refused: Callable[[Params], bool] | None = None) -> Callable[[_Prepare], _Prepare]:
    """Enters a function in the table: it takes an `Equation` and gives a function from arrays to one array, or a list where JAX's primitive
    has several results. `refused` says of parameters whether such an equation cannot be evaluated.
    """

    def enter(prepare: _Prepare) -> _Prepare:
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


def called(equation: JaxprEqn) -> ClosedJaxpr | None:
    """The trace that an equation does no more than; None where it does something of its own."""
    name, params = equation.primitive.name, equation.params
    if name not in CALLS:
        return None
    found = expanded(equation) if name == EXPANDED else params["jaxpr"] if "jaxpr" in params else params["call_jaxpr"]
    return found if isinstance(found, ClosedJaxpr) else ClosedJaxpr(found, ())


def preparation(equation: JaxprEqn) -> Prepare | None:
    """What prepares an equation; None where it does no more than a trace, or the table lacks its primitive."""
    if equation.primitive.name not in CALLS:
        return TABLE.get(equation.primitive.name)
    return next((found for prepared in CALLED if (found := prepared(equation)) is not None), None)


def is_small_float(dtype: DType) -> bool:
    """Whether this is a float type of at most 16 bits."""
    return dtype == np.float16 or (dtype.kind == "V" or dtype.name.startswith(("bfloat", "float8")))


def wide(dtype: DType) -> DType:
    """The type to compute in: float32 for small floats, whose results are rounded once."""
    return np.dtype(np.float32) if is_small_float(dtype) else dtype
