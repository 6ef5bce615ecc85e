"""Activations, losses, normalization and random values of tf.keras.backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import epsilon, floatx
from tfcompat._src.keras.backend.session import _has_nchw_support
from tfcompat._src.keras.backend.values import ndim, ones_like, zeros_like
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array import fill
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math import unary
from tfcompat._src.ops.math.binary import add, multiply
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.clip import clip_by_value
from tfcompat._src.ops.math.compare import greater
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.nn import activation, moments, top_k
from tfcompat._src.ops.nn import softmax as softmaxes
from tfcompat._src.ops.nn.batch_norm import fused_batch_norm
from tfcompat._src.ops.nn.dropout import dropout as nn_dropout
from tfcompat._src.ops.nn.loss import sigmoid_cross_entropy_with_logits
from tfcompat._src.ops.random import stateful
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

# ---- activations ----


@export("keras.backend.relu")
def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0) -> Tensor:
    """`x` above `threshold` and at most `max_value`; `alpha * (x - threshold)` below it."""
    if alpha != 0.0:
        if max_value is None and threshold == 0:
            return activation.leaky_relu(x, alpha=alpha)
        below = activation.relu(-x + threshold if threshold != 0 else -x)
    if threshold != 0:
        result = x * cast(greater(x, threshold), floatx())
    else:
        result = activation.relu6(x) if max_value == 6 else activation.relu(x)
    if max_value is not None and (threshold != 0 or max_value != 6):
        limits = [constant(limit, dtype=result.dtype.base_dtype) for limit in (max_value, 0.0)]
        result = clip_by_value(result, limits[1], limits[0])
    if alpha != 0.0:
        result -= convert_to_tensor(alpha, dtype=result.dtype.base_dtype) * below
    return result


@export("keras.backend.elu")
def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """`x` above 0, `alpha * (exp(x) - 1)` below."""
    result = activation.elu(x)
    return result if alpha == 1 else where(x > 0, result, alpha * result)


@export("keras.backend.softmax")
def softmax(x: object, axis: int = -1) -> Tensor:
    """exp(x) scaled to a sum of 1 along `axis`."""
    return softmaxes.softmax(x, axis=axis)


@export("keras.backend.softplus")
def softplus(x: object) -> Tensor:
    """log(exp(x) + 1)."""
    return activation.softplus(x)


@export("keras.backend.softsign")
def softsign(x: object) -> Tensor:
    """x / (abs(x) + 1)."""
    return activation.softsign(x)


@export("keras.backend.sigmoid")
def sigmoid(x: object) -> Tensor:
    """1 / (1 + exp(-x))."""
    return unary.sigmoid(x)


@export("keras.backend.hard_sigmoid")
def hard_sigmoid(x: Any) -> Tensor:
    """0.2 * x + 0.5 limited to [0, 1]."""
    slope, offset = (constant(value, dtype=x.dtype.base_dtype) for value in (0.2, 0.5))
    return clip_by_value(add(multiply(x, slope), offset), 0.0, 1.0)


@export("keras.backend.tanh")
def tanh(x: object) -> Tensor:
    """The hyperbolic tangent."""
    return unary.tanh(x)


@export("keras.backend.l2_normalize")
def l2_normalize(x: TensorLike, axis: object = None) -> Tensor:
    """`x` scaled to length 1 along `axis`."""
    return moments.l2_normalize(x, axis=axis)


@export("keras.backend.in_top_k")
def in_top_k(predictions: TensorLike, targets: TensorLike, k: TensorLike) -> Tensor:
    """Whether each target is among the `k` largest predictions of its row."""
    return top_k.in_top_k(predictions, targets, k)


# ---- losses ----


def _logits_behind(output: Any, op_type: str) -> Tensor | None:
    """The input of the operation of this type that made `output`, or None."""
    if isinstance(output, Variable) or output.op.type != op_type:
        return None
    return output.op.inputs[0]


def _clipped(output: Any) -> Tensor:
    """Probabilities kept away from 0 and 1."""
    fuzz = constant(epsilon(), dtype=output.dtype.base_dtype)
    return clip_by_value(output, fuzz, 1.0 - fuzz)


@export("keras.backend.categorical_crossentropy")
def categorical_crossentropy(target: TensorLike, output: object, from_logits: bool = False, axis: int = -1) -> Tensor:
    """The cross entropy of distributions along `axis`.

    Args:
      target, output: probabilities, the wanted ones and those found, or logits with `from_logits`.

    Returns:
      a tensor without the dimension `axis`.
    """
    logits = output if from_logits else _logits_behind(output, "Softmax")
    if logits is None:
        output = _clipped(output / reduce_sum(output, axis, True))
        return -reduce_sum(target * unary.log(output), axis)
    return softmaxes.softmax_cross_entropy_with_logits_v2(labels=target, logits=logits, axis=axis)


@export("keras.backend.sparse_categorical_crossentropy")
def sparse_categorical_crossentropy(target: TensorLike, output: object, from_logits: bool = False, axis: int = -1) -> Tensor:
    """The cross entropy of classes given as integers; other arguments as in `categorical_crossentropy`.

    Raises:
      ValueError: the rank of `output` is unknown and `axis` is not the last.
    """
    logits = output if from_logits else _logits_behind(output, "Softmax")
    if logits is None:
        logits = unary.log(_clipped(output))
    rank = ndim(logits)
    if rank is not None:
        axis %= rank
        if axis != rank - 1:
            logits = transpose(logits, perm=[*(i for i in range(rank) if i != axis), axis])
    elif axis != -1:
        raise ValueError(
            f"Cannot compute sparse categorical crossentropy with `axis={axis}` on an output tensor with unknown rank"
        )
    target = cast(target, "int64")
    sizes = shape_of(logits)
    flat = rank is not None and target.shape.ndims not in (None, rank - 1)
    if flat:
        target = reshape(target, [-1])
        logits = reshape(logits, [-1, sizes[-1]])
    loss = softmaxes.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)
    return reshape(loss, sizes[:-1]) if flat and rank >= 3 else loss


@export("keras.backend.binary_crossentropy")
def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Tensor:
    """The cross entropy of each element, a probability of its own or, with `from_logits`, a logit."""
    logits = output if from_logits else _logits_behind(output, "Sigmoid")
    if logits is not None:
        return sigmoid_cross_entropy_with_logits(labels=target, logits=logits)
    output = _clipped(output)
    likelihood = target * unary.log(output + epsilon())
    likelihood += (1 - target) * unary.log(1 - output + epsilon())
    return -likelihood


# ---- normalization ----


def _fused(x: Any, gamma: Any, beta: Any, data_format: str, epsilon: float) -> Any:
    channels = [x.shape[3 if data_format == "NHWC" else 1]]
    gamma = constant(1.0, dtype=x.dtype, shape=channels) if gamma is None else gamma
    beta = constant(0.0, dtype=x.dtype, shape=channels) if beta is None else beta
    return fused_batch_norm(x, gamma, beta, epsilon=epsilon, data_format=data_format)


@export("keras.backend.normalize_batch_in_training")
def normalize_batch_in_training(
    x: Any, gamma: Any, beta: Any, reduction_axes: Sequence[int], epsilon: float = 1e-3
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalizes by the mean and variance over `reduction_axes`; gives the result and both.

    Args:
      gamma, beta: scale and offset, or None.
      epsilon: added to the variance.
    """
    axes, rank = list(reduction_axes), ndim(x)
    if rank == 4 and axes == [0, 1, 2]:
        return _fused(x, gamma, beta, "NHWC", epsilon)
    if rank == 4 and axes == [0, 2, 3] and _has_nchw_support():
        return _fused(x, gamma, beta, "NCHW", epsilon)
    mean, variance = moments.moments(x, reduction_axes, None, None, False)
    parts = [mean, variance, beta, gamma]
    if sorted(axes) != list(range(rank - 1)):
        shape = stack([1 if axis in axes else shape_of(x)[axis] for axis in range(rank)])
        mean_variance = [reshape(part, shape) for part in (mean, variance)]
        scale = None if gamma is None else reshape(gamma, shape)
        parts = [*mean_variance, None if beta is None else reshape(beta, shape), scale]
    return moments.batch_normalization(x, *parts, epsilon), mean, variance


@export("keras.backend.batch_normalization")
def batch_normalization(
    x: TensorLike, mean: TensorLike, var: TensorLike, beta: TensorLike, gamma: TensorLike, axis: int = -1, epsilon: float = 1e-3
) -> Tensor:
    """`(x - mean) / sqrt(var + epsilon) * gamma + beta`; `axis` is that of the channels."""
    if ndim(x) != 4:
        return moments.batch_normalization(x, mean, var, beta, gamma, epsilon)
    data_format = {1: "NCHW", -3: "NCHW", 3: "NHWC", -1: "NHWC"}.get(axis)
    if data_format == "NHWC" or (data_format == "NCHW" and _has_nchw_support()):
        mean, var = _in_one_dimension(mean), _in_one_dimension(var)
        beta = zeros_like(mean) if beta is None else _in_one_dimension(beta)
        gamma = ones_like(mean) if gamma is None else _in_one_dimension(gamma)
    return fused_batch_norm(
        x, gamma, beta, mean=mean, variance=var, epsilon=epsilon, is_training=False, data_format=data_format
    )[0]


def _in_one_dimension(x: TensorLike) -> Any:
    return reshape(x, [-1]) if ndim(x) > 1 else x


# ---- random values ----


def _seed(seed: int | None) -> int:
    """`seed`, or one drawn from NumPy's global generator."""
    return np.random.randint(10**7) if seed is None else seed


@export("keras.backend.dropout")
def dropout(x: TensorLike, level: float, noise_shape: object = None, seed: int | None = None) -> Tensor:
    """Sets a part `level` of the elements to 0 and scales the others by 1 / (1 - level)."""
    return nn_dropout(x, rate=level, noise_shape=noise_shape, seed=_seed(seed))


@export("keras.backend.random_normal")
def random_normal(
    shape: object, mean: float = 0.0, stddev: float = 1.0, dtype: object = None, seed: int | None = None
) -> Tensor:
    """Draws from a normal distribution; the seed is by default drawn from NumPy's global generator."""
    return stateful.random_normal(shape, mean=mean, stddev=stddev, dtype=dtype or floatx(), seed=_seed(seed))


@export("keras.backend.random_uniform")
def random_uniform(
    shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: int | None = None
) -> Tensor:
    """Draws from [minval, maxval); the seed is by default drawn from NumPy's global generator."""
    return stateful.random_uniform(shape, minval=minval, maxval=maxval, dtype=dtype or floatx(), seed=_seed(seed))


@export("keras.backend.random_binomial")
def random_binomial(shape: TensorLike, p: float = 0.0, dtype: DTypeLike | None = None, seed: int | None = None) -> Tensor:
    """1 with probability `p`, else 0; the seed is by default drawn from NumPy's global generator."""
    dtype = dtype or floatx()
    drawn = stateful.random_uniform(shape, dtype=dtype, seed=_seed(seed)) <= p
    return where(drawn, fill.ones(shape, dtype=dtype), fill.zeros(shape, dtype=dtype))


@export("keras.backend.truncated_normal")
def truncated_normal(
    shape: object, mean: float = 0.0, stddev: float = 1.0, dtype: object = None, seed: int | None = None
) -> Tensor:
    """Draws from a normal distribution within two deviations; the seed is by default drawn from NumPy's generator."""
    return stateful.truncated_normal(shape, mean, stddev, dtype=dtype or floatx(), seed=_seed(seed))
