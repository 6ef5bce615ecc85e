"""Random ops whose numbers depend on a seed input alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import convert, raw
from tfcompat._src.ops.random import distributions, philox
from tfcompat._src.ops.random.stateful import (
    categorical_samples,
    integers,
    samples_shape,
    scale_uniform,
    shape_of,
    shape_tensor,
    uniform_bounds,
)

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_NO_GRADIENT = NotDifferentiable("random numbers do not depend on the inputs")
_SEED_TYPE = "Tseed: INDEX = int64"


def _check_seed(sizes: Any) -> None:
    si.with_size(si.with_rank(sizes, 1)[0], 2)


def _key_counter(xp: ModuleType, seed: Any) -> Any:
    """The key and the counter that a seed gives; requires its shape to be [2]."""
    if seed.shape != (2,):
        raise errors.InvalidArgumentError(None, None, f"seed must have shape [2], not {shape_text(seed.shape)}")
    return philox.stateless_key_counter(xp, xp.asarray(seed))


def _filled_shape(c):
    _check_seed(c.inputs[1])
    return si.from_shape_input(0)(c)


def _filling(name: str, distribution: Callable) -> None:
    """An op that fills `shape` with numbers of a floating type."""

    def kernel_for(xp: ModuleType) -> Callable:
        def kernel(shape, seed, *, dtype):
            sizes, rng = shape_of(shape), _key_counter(xp, seed)
            return distribution(xp, *rng, math.prod(sizes), dtype).reshape(sizes)

        return kernel

    op(
        name, f"(shape: T, seed: Tseed, *, dtype: FLOAT = float32, T: INDEX = int32, {_SEED_TYPE}) -> (output: dtype)",
        shape=_filled_shape, kernel=kernel_for(jnp), fold=kernel_for(np), gradient=_NO_GRADIENT, constants=("shape",),
        depth=2,
    )  # fmt: skip


_filling("StatelessRandomUniform", distributions.uniform)
_filling("StatelessRandomNormal", distributions.normal)
_filling("StatelessTruncatedNormal", distributions.truncated_normal)


def _bounded_shape(c):
    si.with_rank(c.inputs[2], 0)
    si.with_rank(c.inputs[3], 0)
    return _filled_shape(c)


def _uniform_int_numpy(shape, seed, minval, maxval):
    return integers(np, _key_counter(np, seed), shape, minval, maxval)


@op(
    "StatelessRandomUniformInt",
    "(shape: T, seed: Tseed, minval: dtype, maxval: dtype, *, "
    f"dtype: INDEX, T: INDEX, {_SEED_TYPE}) -> (output: dtype)",
    shape=_bounded_shape, gradient=_NO_GRADIENT, constants=("shape",), fold=_uniform_int_numpy,
)  # fmt: skip
def _uniform_int(shape, seed, minval, maxval):
    return integers(jnp, _key_counter(jnp, seed), shape, minval, maxval)


def _multinomial_shape(c):
    _check_seed(c.inputs[2])
    return samples_shape(c)


def _multinomial_numpy(logits, num_samples, seed, *, output_dtype):
    return categorical_samples(np, _key_counter(np, seed), logits, num_samples, output_dtype)


@op(
    "StatelessMultinomial",
    "(logits: T, num_samples: int32, seed: Tseed, *, "
    f"T: REAL, {_SEED_TYPE}, output_dtype: INDEX = int64) -> (output: output_dtype)",
    shape=_multinomial_shape, gradient=_NO_GRADIENT, constants=("num_samples",), fold=_multinomial_numpy,
)  # fmt: skip
def _multinomial(logits, num_samples, seed, *, output_dtype):
    rng = _key_counter(jnp, seed)
    return categorical_samples(jnp, rng, logits, num_samples, output_dtype)


# ---- public functions ----


@export("random.stateless_uniform", "contrib.stateless.stateless_random_uniform")
def stateless_random_uniform(
    shape: object, seed: TensorLike, minval: TensorLike = 0, maxval: TensorLike | None = None, dtype: DTypeLike = dtypes.float32, name: str | None = None
) -> Tensor:
    """Uniform random numbers in [minval, maxval) that depend on the arguments alone.

    Args:
      shape: 1-D integer tensor, the shape of the result.
      seed: int32 or int64 tensor of shape [2].
      minval: lower bound, a scalar.
      maxval: upper bound, a scalar; 1 by default for floating types, required for integers.
      dtype: float16, bfloat16, float32, float64, int32 or int64.
      name: node name.

    Raises:
      ValueError: another dtype, or no `maxval` for an integer.
    """
    dtype, maxval = uniform_bounds(dtype, maxval)
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as name:
        sizes = shape_tensor(shape)
        low = convert.convert_to_tensor(minval, dtype, name="min")
        high = convert.convert_to_tensor(maxval, dtype, name="max")
        if dtype.is_integer:
            return raw.StatelessRandomUniformInt(sizes, seed, low, high, name=name)
        return scale_uniform(raw.StatelessRandomUniform(sizes, seed, dtype=dtype), low, high, name)


def _scaled(
    scope: str, name: str | None, shape: object, seed: object, mean: object, stddev: object, dtype: Any, op_type: str
) -> Tensor:
    """`op_type` numbers times `stddev` plus `mean`."""
    with name_scope(name, scope, [shape, seed, mean, stddev]) as name:
        sizes = shape_tensor(shape)
        mean = convert.convert_to_tensor(mean, dtype, name="mean")
        stddev = convert.convert_to_tensor(stddev, dtype, name="stddev")
        numbers = raw.function(op_type)(sizes, seed, dtype=dtype)
        return raw.Add(raw.Mul(numbers, stddev, name="mul"), mean, name=name)


@export("random.stateless_normal", "contrib.stateless.stateless_random_normal")
def stateless_random_normal(
    shape: object, seed: object, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: object = dtypes.float32, name: str | None = None
) -> Tensor:
    """Normal random numbers that depend on the arguments alone.

    Args:
      shape: 1-D integer tensor, the shape of the result.
      seed: int32 or int64 tensor of shape [2].
      mean, stddev: of the distribution; broadcast against the result.
      dtype: floating type of the result.
      name: node name.
    """
    return _scaled("stateless_random_normal", name, shape, seed, mean, stddev, dtype, "StatelessRandomNormal")


@export("random.stateless_truncated_normal", "contrib.stateless.stateless_truncated_normal")
def stateless_truncated_normal(
    shape: object, seed: object, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: object = dtypes.float32, name: str | None = None
) -> Tensor:
    """Normal random numbers less than two standard deviations from the mean that depend on the arguments alone.

    Args:
      shape: 1-D integer tensor, the shape of the result.
      seed: int32 or int64 tensor of shape [2].
      mean, stddev: of the normal distribution before truncation; broadcast against the result.
      dtype: floating type of the result.
      name: node name.
    """
    return _scaled("stateless_truncated_normal", name, shape, seed, mean, stddev, dtype, "StatelessTruncatedNormal")


def _categorical(logits: TensorLike, num_samples: TensorLike, seed: TensorLike, dtype: DTypeLike) -> Tensor:
    logits = convert.convert_to_tensor(logits, name="logits")
    return raw.StatelessMultinomial(logits, num_samples, seed, output_dtype=dtype)


@export("random.stateless_multinomial", "contrib.stateless.stateless_multinomial")
def stateless_multinomial(
    logits: TensorLike, num_samples: TensorLike, seed: TensorLike, output_dtype: DTypeLike = dtypes.int64, name: str | None = None
) -> Tensor:
    """Deprecated name of `tf.random.stateless_categorical`.

    Args:
      logits: unnormalised log probabilities, floating, shape [rows, classes].
      num_samples: scalar int32, samples per row.
      seed: int32 or int64 tensor of shape [2].
      output_dtype: int32 or int64.
      name: scope of the node.

    Returns:
      Class numbers of shape [rows, num_samples].
    """
    with name_scope(name, "stateless_multinomial", [logits, seed]):
        return _categorical(logits, num_samples, seed, output_dtype)


@export("random.stateless_categorical")
def stateless_categorical(
    logits: TensorLike, num_samples: TensorLike, seed: TensorLike, dtype: DTypeLike = dtypes.int64, name: str | None = None
) -> Tensor:
    """Class numbers drawn with given log probabilities that depend on the arguments alone.

    Args:
      logits: unnormalised log probabilities, floating, shape [rows, classes].
      num_samples: scalar int32, samples per row.
      seed: int32 or int64 tensor of shape [2].
      dtype: int32 or int64.
      name: scope of the node.

    Returns:
      Class numbers of shape [rows, num_samples].
    """
    with name_scope(name, "stateless_categorical", [logits, seed]):
        return _categorical(logits, num_samples, seed, dtype)
