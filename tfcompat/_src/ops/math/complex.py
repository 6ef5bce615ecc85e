"""Complex numbers: their parts, and making them of parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import op
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.shape_inference import broadcast_inputs, unchanged
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.math.binary import broadcasting, div_no_nan
from tfcompat._src.ops.math.broadcast_gradient import reducers

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation


def _zero(g: Any) -> Tensor:
    return to_tensor(0, g.dtype.base_dtype)


def _complex(real: Any, imag: TensorLike) -> Tensor:
    dtype = dtypes.complex64 if real.dtype == dtypes.float32 else dtypes.complex128
    return raw.Complex(real, imag, Tout=dtype)


def _complex_grad(op: Operation, g: Tensor) -> list:
    part = op.inputs[0].dtype.base_dtype
    to_real, to_imaginary = reducers(*op.inputs)
    return [to_real(raw.Real(g, Tout=part)), to_imaginary(raw.Imag(g, Tout=part))]


def _complex_abs_grad(op: Operation, g: Tensor) -> list:
    size = op.outputs[0]
    return [div_no_nan(_complex(g, zeros_like(g)) * op.inputs[0], _complex(size, zeros_like(size)))]


def _angle_grad(op: Operation, g: Tensor) -> list:
    x = op.inputs[0]
    with control_dependencies([g]):
        part = g.dtype.base_dtype
        real_part, imaginary_part = raw.Real(x, Tout=part), raw.Imag(x, Tout=part)
        slope = raw.Reciprocal(_complex(imaginary_part, real_part))
        return [-_complex(g, constant(0, dtype=g.dtype)) * slope]


def _of_width(kernel: Callable) -> Callable:
    """A kernel that refuses attributes of different widths, such as complex128 and float32."""

    def run(*inputs, T, Tout):
        if np.empty(0, T).real.dtype != np.empty(0, Tout).real.dtype:
            raise errors.InvalidArgumentError(None, None, f"Signature mismatch, have: {T}->{Tout}")
        return kernel(*inputs)

    return run


def _part(
    name: str, argument: str, kernel: Callable, gradient: Callable, fold: Callable, output: str = "output"
) -> None:
    text = f"({argument}: T, *, T: COMPLEX = complex64, Tout: {{float32, float64}} = float32) -> ({output}: Tout)"
    op(name, text, shape=unchanged, kernel=_of_width(kernel), gradient=gradient, fold=_of_width(fold), depth=2)


def _angle(x):
    return lax.atan2(lax.imag(x), lax.real(x))


_part("Real", "input", lax.real, lambda op, g: [_complex(g, _zero(g))], np.real)
_part("Imag", "input", lax.imag, lambda op, g: [_complex(_zero(g), g)], np.imag)
_part("Angle", "input", _angle, _angle_grad, np.angle)
_part("ComplexAbs", "x", lax.abs, _complex_abs_grad, np.abs, output="y")
op("Conj", "(input: T, *, T: {complex64, complex128, variant} = complex64) -> (output: T)",
   shape=unchanged, kernel=lax.conj, gradient=lambda op, g: [raw.Conj(g)], fold=np.conj)  # fmt: skip


def _complex_numpy(real, imag):
    real, imag = np.broadcast_arrays(real, imag)
    found = np.empty(real.shape, np.complex64 if real.dtype == dtypes.float32 else np.complex128)
    found.real, found.imag = real, imag
    return found


op("Complex", "(real: T, imag: T, *, T: {float32, float64} = float32, Tout: COMPLEX = complex64) -> (out: Tout)",
   shape=broadcast_inputs, kernel=_of_width(broadcasting(lax.complex)), gradient=_complex_grad, fold=_of_width(_complex_numpy))  # fmt: skip


@export("complex", "dtypes.complex")
def complex_of_parts(real, imag, name=None):
    """real + imag j, element by element with broadcasting.

    Args:
      real, imag: Tensors, both float32 (giving complex64) or both float64 (giving complex128).
      name: node name.

    Raises:
      TypeError: other dtypes.
    """
    real, imag = to_tensor(real, name="real"), to_tensor(imag, name="imag")
    with name_scope(name, "Complex", [real, imag]) as scope:
        kinds = (real.dtype, imag.dtype)
        if kinds == (dtypes.float64, dtypes.float64):
            return raw.Complex(real, imag, Tout=dtypes.complex128, name=scope)
        if kinds == (dtypes.float32, dtypes.float32):
            return raw.Complex(real, imag, Tout=dtypes.complex64, name=scope)
        raise TypeError(f"real and imag have incorrect types: {real.dtype.name} {imag.dtype.name}")


complex_of_parts.__name__ = "complex"


@export("real", "math.real")
def real(input, name=None):
    """The real part of a Tensor, which is returned as it is where it is real."""
    with name_scope(name, "Real", [input]) as scope:
        input = to_tensor(input, name="input")
        return raw.Real(input, Tout=input.dtype.real_dtype, name=scope) if input.dtype.is_complex else input


def _or_zeros(op_type: str, input: TensorLike, name: str | None) -> Tensor:
    """What an op type gives for complex numbers; zeros for real ones."""
    with name_scope(name, op_type, [input]) as scope:
        input = to_tensor(input, name="input")
        if input.dtype.is_complex:
            return raw.function(op_type)(input, Tout=input.dtype.real_dtype, name=scope)
        return zeros_like(input)


@export("imag", "math.imag")
def imag(input, name=None):
    """The imaginary part of a Tensor; zeros where it is real."""
    return _or_zeros("Imag", input, name)


@export("angle", "math.angle")
def angle(input, name=None):
    """The angle of each complex number in radians; zeros where `input` is real."""
    return _or_zeros("Angle", input, name)


@export("conj", "math.conj")
def conj(x, name=None):
    """The complex conjugate of `x`, which is returned as it is where it is real.

    Raises:
      TypeError: `x` is neither numeric nor a variant.
    """
    if isinstance(x, Tensor) and (x.dtype.is_floating or x.dtype.is_integer):
        return x
    with name_scope(name, "Conj", [x]) as scope:
        x = to_tensor(x, name="x")
        if x.dtype.is_complex or x.dtype == dtypes.variant:
            return raw.Conj(x, name=scope)
        if x.dtype.is_floating or x.dtype.is_integer:
            return x
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}")
