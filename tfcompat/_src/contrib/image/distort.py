"""tf.contrib.image: hue, saturation and value changed in YIQ space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.image.adjust import convert_image_dtype
from tfcompat._src.ops.random.stateful import random_uniform

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]], np.float32)
_RGB = np.array(
    [[1, 0.95617069, 0.62143257], [1, -0.2726886, -0.64681324], [1, -1.103744, 1.70062309]], np.float32
)  # fmt: skip


def _adjusted_shape(c):
    for sizes in c.inputs[1:]:
        si.with_rank(sizes, 0)
    return [si.with_rank_at_least(c.inputs[0], 3)]


@op(
    "AdjustHsvInYiq",
    "(images: T, delta_h: float32, scale_s: float32, scale_v: float32, *, "
    "T: {uint8, int8, int16, int32, int64, float16, float32, float64}) -> (output: T)",
    shape=_adjusted_shape, gradient=NotDifferentiable("1.15 has no gradient of this one", raises=True),
)  # fmt: skip
def _adjust_hsv_in_yiq(images, delta_h, scale_s, scale_v):
    if images.dtype != np.float32:
        raise errors.InvalidArgumentError(None, None, f"AdjustHsvInYiq takes float32 images, not {images.dtype}")
    if images.ndim < 3:
        text = f"input must be at least 3-D, got shape{shape_text(images.shape)}"
        raise errors.InvalidArgumentError(None, None, text)
    if images.shape[-1] != 3:
        text = f"input must have 3 channels but instead has {images.shape[-1]} channels."
        raise errors.InvalidArgumentError(None, None, text)
    turned = [scale_v * scale_s * f(delta_h) for f in (jnp.cos, jnp.sin)]
    zero = jnp.zeros((), np.float32)
    change = jnp.stack([scale_v, zero, zero, zero, turned[0], -turned[1], zero, turned[1], turned[0]]).reshape(3, 3)
    matrix = jnp.matmul(jnp.matmul(_RGB, change, precision="highest"), _YIQ, precision="highest")
    return sum(images[..., i : i + 1] * matrix[:, i] for i in range(3))


def adjust_hsv_in_yiq(
    image: TensorLike, delta_hue: TensorLike = 0, scale_saturation: TensorLike = 1, scale_value: TensorLike = 1, name: str | None = None
) -> Tensor:
    """RGB images whose hue is turned by `delta_hue`, radians, and whose saturation and value are scaled."""
    with name_scope(name, "adjust_hsv_in_yiq", [image]):
        image = to_tensor(image, name="image")
        floating = convert_image_dtype(image, dtypes.float32)
        return convert_image_dtype(raw.AdjustHsvInYiq(floating, delta_hue, scale_saturation, scale_value), image.dtype)


def random_hsv_in_yiq(
    image: TensorLike, max_delta_hue: float = 0, lower_saturation: float = 1, upper_saturation: float = 1,
    lower_value: float = 1, upper_value: float = 1, seed: int | None = None,
) -> Tensor:  # fmt: skip
    """`adjust_hsv_in_yiq` with a hue from [-max_delta_hue, max_delta_hue) and scales from [lower, upper).

    Raises:
      ValueError: a number is negative, or lower is above upper.
    """
    if max_delta_hue < 0:
        raise ValueError("max_delta must be non-negative.")
    if lower_saturation < 0:
        raise ValueError("lower_saturation must be non-negative.")
    if lower_value < 0:
        raise ValueError("lower_value must be non-negative.")
    if lower_saturation > upper_saturation:
        raise ValueError("lower_saturation must be < upper_saturation.")
    if lower_value > upper_value:
        raise ValueError("lower_value must be < upper_value.")

    def drawn(lower: TensorLike, upper: TensorLike) -> Any:
        return lower if lower == upper else random_uniform([], lower, upper, seed=seed)

    hue = 0 if max_delta_hue == 0 else drawn(-max_delta_hue, max_delta_hue)
    saturation = drawn(lower_saturation, upper_saturation)
    return adjust_hsv_in_yiq(image, hue, saturation, drawn(lower_value, upper_value))
