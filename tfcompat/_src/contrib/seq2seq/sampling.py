"""Draws from distributions given by logits or probabilities, in the nodes that the helpers of tf.contrib.seq2seq make."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import rank, reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, less
from tfcompat._src.ops.math.reduce import reduce_prod
from tfcompat._src.ops.math.unary import sigmoid
from tfcompat._src.ops.random.stateful import multinomial, random_uniform

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _shaped(draw: Callable, sample_shape: TensorLike) -> Tensor:
    """`draw(n)` [n, ...] with its first dimension in the shape `sample_shape` (a scalar stands for a vector of one)."""
    with name_scope(None, "call_sampler", [sample_shape]):
        sizes = convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
        missing = cast(equal(rank(sizes), 0), dtypes.int32)
        sizes = reshape(sizes, pad(shape_of(sizes), paddings=[[missing, 0]], constant_values=1))
        samples = draw(reduce_prod(sizes))
        return reshape(samples, concat([sizes, shape_of(samples)[1:]], 0))


def bernoulli_sample(
    probs: TensorLike | None = None, logits: object = None, dtype: object = dtypes.int32, sample_shape: TensorLike = (), seed: int | None = None
) -> Tensor:
    """Ones (or True) with probability `probs`, or sigmoid(logits).

    Args:
      probs, logits: floating Tensor, one of the two.
      dtype: of the result.
      sample_shape: how many draws per probability.
      seed: op seed.

    Returns:
      a Tensor of shape `sample_shape` and that of `probs`.
    """
    probs = sigmoid(logits, name="probs") if probs is None else convert_to_tensor(probs, name="probs")
    sizes = shape_of(probs)

    def draw(count: Tensor) -> Tensor:
        uniform = random_uniform(concat([[count], sizes], 0), seed=seed, dtype=probs.dtype)
        return cast(less(uniform, probs), dtype)

    return _shaped(draw, sample_shape)


def categorical_sample(logits: TensorLike, dtype: object = dtypes.int32, sample_shape: TensorLike = (), seed: int | None = None) -> Tensor:
    """Classes drawn with the probabilities softmax(logits).

    Args:
      logits: floating Tensor [..., classes].
      dtype: of the result.
      sample_shape: how many draws per row.
      seed: op seed.

    Returns:
      a Tensor of shape `sample_shape` and that of `logits` without the classes.
    """
    logits = convert_to_tensor(logits, name="logits")
    classes, sizes = shape_of(logits)[-1], shape_of(logits)[:-1]

    def draw(count: Tensor) -> Tensor:
        rows = logits if logits.shape.ndims == 2 else reshape(logits, [-1, classes])
        drawn = dtypes.int64 if logits.dtype.size > 4 else dtypes.int32
        samples = multinomial(rows, count, seed=seed, output_dtype=drawn)
        return cast(reshape(transpose(samples), concat([[count], sizes], 0)), dtype)

    return _shaped(draw, sample_shape)
