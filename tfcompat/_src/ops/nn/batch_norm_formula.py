"""The gradient of batch normalization, of simpler operations."""

from __future__ import annotations

from tfcompat._src.base import dtypes
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_mean, reduce_sum


def _BatchNormGrad(  # noqa: N802  # TensorFlow's name
    grad_y: Tensor, x: Tensor, scale: Tensor, pop_mean: Tensor | None, pop_var: Tensor | None, epsilon: float, data_format: bytes,
    is_training: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients for x, scale and offset of y = scale * (x - mean) / sqrt(variance + epsilon) + offset (Ioffe and Szegedy 2015).

    Args:
      grad_y: the gradient for y. x: the input, with 4 dimensions. scale: a vector, one number for each channel.
      pop_mean, pop_var: vectors, the statistics that count without `is_training`.
      data_format: b"NHWC" or b"NCHW".
      is_training: whether mean and variance are those of `x`, and depend on it.
    """
    dtype = x.dtype.base_dtype
    if dtype == dtypes.float16:
        x, grad_y = cast(x, dtypes.float32), cast(grad_y, dtypes.float32)
    axes, along = ([0, 1, 2], [1, 1, 1, -1]) if data_format == b"NHWC" else ([0, 2, 3], [1, -1, 1, 1])
    factor = reshape(scale, along)
    if not is_training:
        centered, inverse = x - reshape(pop_mean, along), raw.Rsqrt(reshape(pop_var, along) + epsilon)
        to_x = grad_y * factor * inverse
        return cast(to_x, dtype), reduce_sum(grad_y * centered * inverse, axes), reduce_sum(grad_y, axes)
    centered = x - reduce_mean(x, axes, keepdims=True)
    inverse = raw.Rsqrt(reduce_mean(centered * centered, axes, keepdims=True) + epsilon)
    normal = centered * inverse
    inner = grad_y - reduce_mean(grad_y, axes, keepdims=True) - normal * reduce_mean(grad_y * normal, axes, keepdims=True)
    return cast(factor * inverse * inner, dtype), reduce_sum(grad_y * normal, axes), reduce_sum(grad_y, axes)
