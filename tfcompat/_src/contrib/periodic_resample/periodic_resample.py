"""tf.contrib.periodic_resample: depth to space for any dimensions and factors (arXiv:1609.05158)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.tensor_shape import ShapeLike

_SUPPORTED = ("float32", "float64", "int32", "int64")


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _target(sizes: tuple, desired: tuple) -> tuple[int, list[int]]:
    """The dimension that gives room for the others, and the shape of the output."""
    if len(sizes) != len(desired):
        raise _invalid(
            f"periodic_resample expects the rank of the input tensor, {len(sizes)}, to be the same as the length of the desired "
            f"shape, {len(desired)}."
        )
    adjustable = [i for i, size in enumerate(desired) if not size]
    if len(adjustable) != 1:
        raise _invalid(f"periodic_resample expects {'only' if adjustable else 'at least'} one index to be marked as adjustable.")
    for i, (given, wanted) in enumerate(zip(sizes, desired)):
        if wanted and wanted < given:
            raise _invalid(
                "periodic_resample expects the size of non-adjustable dimensions be at least as large as size of input tensor. "
                f"Dimension {i} input tensor has size {given}, desired shape has size {wanted}."
            )
    found = [size or math.prod(sizes) // math.prod(d for d in desired if d) for size in desired]
    if found[adjustable[0]] <= 0:
        raise _invalid(
            f"periodic_resample found that the adjustable dimension, {adjustable[0]}, isn't greater than zero, {found[adjustable[0]]}."
        )
    return adjustable[0], found


def _sources(sizes: tuple, desired: tuple) -> np.ndarray:
    """For each element of the output, which element of the flat input it is."""
    adjustable, target = _target(sizes, desired)
    at = np.indices(target)
    place, steps, carried = [], 1, np.zeros(target, np.int64)
    for i, (size, wanted) in enumerate(zip(sizes, target)):
        factor = -(-wanted // size)
        if i != adjustable:
            carried += steps * (at[i] % factor)
        place.append(at[i] // factor)
        steps *= factor
    place[adjustable] = carried * target[adjustable] + at[adjustable]
    strides = np.cumprod([1, *sizes[:0:-1]])[::-1]
    return sum(p * stride for p, stride in zip(place, strides))


def _resampled_shape(c):
    sizes, desired = c.inputs[0], c.attr("shape").sizes
    if sizes is None or None in sizes or desired is None or len(desired) != len(sizes):
        return [desired]
    room = math.prod(d for d in desired if d)
    return [tuple(d or math.prod(sizes) // room for d in desired)]


def _check_dtype(x: Any) -> None:
    if x.dtype.name not in _SUPPORTED:
        raise _invalid(f"Unsuppored tensor elements type: {x.dtype.name}, want one of {', '.join(_SUPPORTED)}")


@op(
    "PeriodicResample", "(values: T, *, T: NUMBER, shape: shape) -> (output: T)", shape=_resampled_shape,
    gradient=lambda op, grad: [raw.PeriodicResampleOpGrad(grad, op.inputs[0].shape, op.get_attr("shape"))],
)  # fmt: skip
def _periodic_resample(x, *, shape):
    _check_dtype(x)
    return jnp.take(x.reshape(-1), _sources(x.shape, shape.sizes), mode="clip")


@op(
    "PeriodicResampleOpGrad", "(grad: T, *, T: NUMBER, original_shape: shape, desired_shape: shape) -> (grad_values: T)",
    shape=lambda c: [c.attr("original_shape").sizes],
    gradient=NotDifferentiable("1.15 has no gradient of this one", raises=True),
)  # fmt: skip
def _periodic_resample_grad(grad, *, original_shape, desired_shape):
    _check_dtype(grad)
    sizes = original_shape.sizes
    if sizes is None or None in sizes:
        raise _invalid(f"the shape of the input must be known, not {original_shape}")
    sources = _sources(sizes, desired_shape.sizes).reshape(-1)
    takers = np.full(math.prod(sizes), -1)
    takers[sources] = np.arange(len(sources))
    return jnp.where(takers < 0, np.zeros((), grad.dtype), jnp.take(grad.reshape(-1), takers, mode="clip")).reshape(sizes)


@export("contrib.periodic_resample.periodic_resample")
def periodic_resample(values: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """The elements of a Tensor in another shape: dimensions grow by whole factors, and one of them shrinks as they need.

    Args:
      values: Tensor.
      shape: sizes of the result, at least those of `values`; None for the one dimension that gives the room.
      name: node name.

    Raises:
      InvalidArgumentError: in a run, another rank, none or several sizes None, or a size below that of `values`.
    """
    return raw.PeriodicResample(values, shape=shape, name=name)
