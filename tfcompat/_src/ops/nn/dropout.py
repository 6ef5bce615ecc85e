"""tf.nn.dropout."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.random.stateful import random_uniform
from tfcompat._src.platform import logging

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _noise_shape(x: Tensor, given: object) -> Any:
    """The shape of the random numbers: `given`, with the sizes of `x` where it leaves them open."""
    if given is None:
        return shape(x)
    try:
        wanted = TensorShape(given)
    except (TypeError, ValueError):
        return given
    if x._sizes is None or wanted.sizes is None or len(wanted.sizes) != len(x._sizes):
        return given
    return TensorShape([known if size is None else size for size, known in zip(wanted.sizes, x._sizes)])


def _check_rate(rate: object) -> None:
    if not isinstance(rate, numbers.Real):
        return
    if not 0 <= rate < 1:
        raise ValueError(f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g}")
    if rate > 0.5:
        logging.log_first_n(
            logging.WARN, "Large dropout rate: %g (>0.5): rate is the part that is dropped, not kept.", 5, rate
        )


@export("nn.dropout")
def dropout(
    x: TensorLike, keep_prob: Any = None, noise_shape: object = None, seed: int | None = None, name: str | None = None,
    rate: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """Sets random elements to 0 and scales the others by 1 / (1 - rate).

    Args:
      x: floating Tensor.
      keep_prob: 1 - rate; the old way to say it.
      noise_shape: shape of the random decisions, broadcast to `x`; by default its shape.
      seed: op seed, see `tf.set_random_seed`.
      name: node name.
      rate: probability in [0, 1) that an element is dropped, a number or scalar Tensor.

    Returns:
      a Tensor of the shape of `x`; `x` itself where `rate` is known to be 0.

    Raises:
      ValueError: no rate, one outside [0, 1), or `x` is not floating.
    """
    try:
        dropped = None if keep_prob is None else 1.0 - keep_prob
    except TypeError:
        raise ValueError(f"keep_prob must be a floating point number or Tensor (got {keep_prob!r})") from None
    rate = deprecated_argument_lookup("rate", rate, "keep_prob", dropped)
    if rate is None:
        raise ValueError("You must provide a rate to dropout.")
    with name_scope(name, "dropout", [x]):
        x = to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(
                f"x has to be a floating point tensor since it's going to be scaled. Got a {x.dtype} tensor instead."
            )
        _check_rate(rate)
        if isinstance(rate, numbers.Real) and rate == 0:
            return x
        rate = to_tensor(rate, x.dtype.base_dtype, "rate")
        rate.shape.assert_has_rank(0)
        if constant_value(rate) == 0:
            return x
        uniform = random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=x.dtype)
        scale = 1 / (1 - rate)
        kept = uniform >= rate
        found = x * scale * cast(kept, x.dtype)
        found.set_shape(x.shape)
        return found
