"""Means, variances and what is made of them: tf.nn.moments, batch_normalization, l2_normalize."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.shape import shape, squeeze
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_mean, reduce_prod, reduce_sum

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("nn.moments")
def moments(
    x: Any, axes: object, shift: object = None, name: str | None = None, keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Mean and variance over dimensions; float16 is computed as float32.

    Args:
      x: floating Tensor.
      axes: the dimensions.
      shift: not used, as in 1.15.
      name: name scope.
      keep_dims, keepdims: whether reduced dimensions stay with size 1.
    """
    keep = bool(deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "moments", [x, axes]):
        half = x.dtype == dtypes.float16
        y = cast(x, dtypes.float32) if half else x
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        squares = raw.SquaredDifference(y, raw.StopGradient(mean))
        variance = reduce_mean(squares, axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = squeeze(mean, axes), squeeze(variance, axes)
        return (cast(mean, dtypes.float16), cast(variance, dtypes.float16)) if half else (mean, variance)


@export("nn.weighted_moments")
def weighted_moments(
    x: TensorLike, axes: object, frequency_weights: TensorLike, name: str | None = None, keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Mean and variance over dimensions, where each element counts as often as its weight says.

    Args:
      x: floating Tensor.
      axes: the dimensions.
      frequency_weights: non-negative Tensor that broadcasts to `x`.
      name: name scope.
      keep_dims, keepdims: whether reduced dimensions stay with size 1.
    """
    keep = bool(deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = to_tensor(x, name="x")
        weights = to_tensor(frequency_weights, name="frequency_weights")
        half = x.dtype == dtypes.float16
        if half:
            x = cast(x, dtypes.float32)
        if weights.dtype != x.dtype:
            weights = cast(weights, x.dtype)
        total = reduce_sum(weights * x, axes, name="weighted_input_sum", keepdims=True)
        count = reduce_sum(weights + zeros_like(x), axes, name="sum_of_weights", keepdims=True)
        divisor = raw.Reciprocal(count, name="inv_weight_sum")
        mean = raw.Mul(total, divisor)
        squares = weights * raw.SquaredDifference(x, mean)
        variance = raw.Mul(reduce_sum(squares, axes, name="weighted_distsq", keepdims=True), divisor)
        if not keep:
            mean, variance = squeeze(mean, axis=axes), squeeze(variance, axis=axes)
        return (cast(mean, dtypes.float16), cast(variance, dtypes.float16)) if half else (mean, variance)


@export("nn.sufficient_statistics")
def sufficient_statistics(
    x: TensorLike, axes: Any, shift: TensorLike | None = None, keep_dims: bool | None = None, name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:  # fmt: skip
    """Count, sum and sum of squares over dimensions, of `x` or of `x` - `shift`.

    Args:
      x: floating Tensor.
      axes: list of dimensions.
      shift: Tensor near the mean, against cancellation.
      keep_dims, keepdims: whether reduced dimensions stay with size 1.
      name: name scope.

    Returns:
      count (scalar), sum, sum of squares, and `shift`.
    """
    axes = list(set(axes))
    keep = bool(deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = to_tensor(x, name="x")
        known = None if x._sizes is None else si.num_elements(tuple(x._sizes[d] for d in axes))
        if known is not None:
            counts = constant(known, dtype=x.dtype)
        else:
            counts = reduce_prod(gather(cast(shape(x), x.dtype), axes), name="count")
        if shift is None:
            sums, squares = x, raw.Square(x)
        else:
            shift = to_tensor(shift, name="shift")
            sums, squares = raw.Sub(x, shift), raw.SquaredDifference(x, shift)
        sums = reduce_sum(sums, axes, keepdims=keep, name="mean_ss")
        return counts, sums, reduce_sum(squares, axes, keepdims=keep, name="var_ss"), shift


@export("nn.normalize_moments")
def normalize_moments(
    counts: TensorLike, mean_ss: TensorLike, variance_ss: TensorLike, shift: TensorLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance from what `tf.nn.sufficient_statistics` gives."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = raw.Reciprocal(counts, name="divisor")
        if shift is None:
            shifted = mean = raw.Mul(mean_ss, divisor, name="mean")
        else:
            shifted = raw.Mul(mean_ss, divisor, name="shifted_mean")
            mean = raw.Add(shifted, shift, name="mean")
        return mean, raw.Sub(raw.Mul(variance_ss, divisor), raw.Square(shifted), name="variance")


@export("nn.batch_normalization")
def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: object, variance_epsilon: float, name: str | None = None
) -> Tensor:
    """scale * (x - mean) / sqrt(variance + variance_epsilon) + offset (Ioffe and Szegedy, 2015).

    Args:
      x: floating Tensor.
      mean, variance: Tensors that broadcast to it.
      offset, scale: the same, or None for 0 and 1.
      variance_epsilon: keeps the divisor from 0.
      name: name scope.
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        factor = raw.Rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor *= scale
        scaled = x * cast(factor, x.dtype)
        return scaled + cast(-mean * factor if offset is None else offset - mean * factor, x.dtype)


@export("nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    t: Any = None, m: Any = None, v: Any = None, beta: Any = None, gamma: Any = None, variance_epsilon: Any = None,
    scale_after_normalization: Any = None, name: str | None = None, input: object = None, mean: object = None,
    variance: object = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.batch_normalization` with `gamma` as scale only where `scale_after_normalization` is true."""
    t = deprecated_argument_lookup("input", input, "t", t)
    m = deprecated_argument_lookup("mean", mean, "m", m)
    v = deprecated_argument_lookup("variance", variance, "v", v)
    return batch_normalization(t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon, name)


@export("math.l2_normalize", "linalg.l2_normalize", "nn.l2_normalize")
def l2_normalize(x: TensorLike, axis: object = None, epsilon: float = 1e-12, name: str | None = None, dim: object = None) -> Tensor:
    """x / sqrt(max(sum(x * x), epsilon)) along dimensions.

    Args:
      x: floating Tensor.
      axis: dimension or dimensions of the sum; all where it is None.
      epsilon: lower bound of the sum of squares.
      name: node name.
      dim: old name of `axis`.
    """
    axis = deprecated_argument_lookup("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]) as name:
        x = to_tensor(x, name="x")
        squares = reduce_sum(raw.Square(x), axis, keepdims=True)
        return raw.Mul(x, raw.Rsqrt(maximum(squares, epsilon)), name=name)
