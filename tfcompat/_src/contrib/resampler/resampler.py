"""tf.contrib.resampler: images sampled between their pixels (Jaderberg et al. 2015, arXiv:1506.02025)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_FLOATS = "{float16, bfloat16, float32, float64}"


def _sampled_shape(c):
    data, warp = si.with_rank_at_least(c.inputs[0], 1), si.with_rank_at_least(c.inputs[1], 1)
    return [None if warp is None else (*warp[:-1], None if data is None else data[-1])]


def _text(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"


def _check(data: jax.Array, warp: jax.Array) -> None:
    if data.ndim != 4:
        raise errors.UnimplementedError(
            None, None,
            "Only bilinear interpolation is currently supported. The input data shape must be [batch_size, data_height, data_width, "
            f"data_channels], but is: {_text(data.shape)}",
        )  # fmt: skip
    if warp.ndim < 2:
        raise errors.InvalidArgumentError(
            None, None, f"warp should be at least a matrix, got shape {_text(warp.shape)}"
        )
    if warp.shape[-1] != 2:
        raise errors.UnimplementedError(
            None, None,
            "Only bilinear interpolation is supported, warping coordinates must be 2D; warp shape last entry should be 2, but shape "
            f"vector is: {_text(warp.shape)}",
        )  # fmt: skip
    if len(data) != len(warp):
        raise errors.InvalidArgumentError(
            None, None,
            f"Batch size of data and warp tensor must be the same, but input shapes are: {_text(data.shape)}, {_text(warp.shape)}",
        )  # fmt: skip


def _sampled(data: jax.Array, warp: jax.Array) -> jax.Array:
    """The images [n, h, w, c] at points (x, y) [n, ..., 2], linear between pixels, 0 around the image."""
    height, width = data.shape[1:3]
    points = warp.reshape(len(warp), -1, 2)
    x, y = points[..., 0], points[..., 1]
    is_near = (x > -1) & (y > -1) & (x < width) & (y < height)
    left, top = (jnp.where(is_near, jnp.floor(v.astype(jnp.float32)), 0).astype(jnp.int32) for v in (x, y))
    from_left, from_top = x - left.astype(x.dtype), y - top.astype(y.dtype)
    image = jnp.arange(len(data))[:, None]

    def corner(right: int, below: int) -> jax.Array:
        column, row = left + right, top + below
        is_inside = is_near & (column >= 0) & (row >= 0) & (column < width) & (row < height)
        values = data[image, jnp.clip(row, 0, max(height - 1, 0)), jnp.clip(column, 0, max(width - 1, 0))]
        weight = (from_left if right else 1 - from_left) * (from_top if below else 1 - from_top)
        return jnp.where(is_inside[..., None], weight[..., None] * values, 0)

    found = corner(0, 0) + corner(1, 1) + corner(0, 1) + corner(1, 0)
    return found.astype(data.dtype).reshape(*warp.shape[:-1], data.shape[-1])


@op(
    "Resampler", f"(data: T, warp: T, *, T: {_FLOATS}) -> (output: T)", shape=_sampled_shape,
    gradient=lambda op, grad: list(raw.ResamplerGrad(*op.inputs, grad)),
)  # fmt: skip
def _resampler(data, warp):
    _check(data, warp)
    return _sampled(data, warp)


@op(
    "ResamplerGrad", f"(data: T, warp: T, grad_output: T, *, T: {_FLOATS}) -> (grad_data: T, grad_warp: T)",
    shape=lambda c: list(c.inputs[:2]), gradient=NotDifferentiable("1.15 registers none"),
)  # fmt: skip
def _resampler_grad(data, warp, grad):
    _check(data, warp)
    return jax.vjp(_sampled, data, warp)[1](grad)


@export("contrib.resampler.resampler")
def resampler(data: TensorLike, warp: TensorLike, name: str | None = "resampler") -> Tensor:
    """Samples images between their pixels.

    Args:
      data: floating Tensor [images, height, width, channels].
      warp: Tensor [images, ..., 2] of the same dtype: the points (x, y), in pixels.
      name: name scope.

    Returns:
      Tensor [images, ..., channels]: bilinear between pixels, 0 outside and toward it within one pixel of the border.

    Raises:
      UnimplementedError: `data` has not 4 dimensions, or points not 2 coordinates. InvalidArgumentError: numbers of images differ.
    """
    with name_scope(name, "resampler", [data, warp]):
        return raw.Resampler(convert_to_tensor(data, name="data"), convert_to_tensor(warp, name="warp"))
