"""Statistics of samples: auto-correlation, percentiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.distributions.util import pad, prefer_static_rank, prefer_static_shape, rotate_transpose
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import expand_dims, rank, reshape, shape
from tfcompat._src.ops.composed.check_ops import assert_greater_equal, assert_integer, assert_less_equal
from tfcompat._src.ops.composed.rank_checks import assert_rank
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.binary import minimum, power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.clip import clip_by_value
from tfcompat._src.ops.math.complex import complex_of_parts, conj
from tfcompat._src.ops.math.reduce import reduce_mean
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import ceil, floor, log, round_half_to_even
from tfcompat._src.ops.nn.top_k import top_k
from tfcompat._src.ops.signal.fft import fft, ifft

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.distributions.auto_correlation")
def auto_correlation(
    x: TensorLike, axis: int = -1, max_lags: TensorLike | None = None, center: bool = True, normalize: bool = True,
    name: str = "auto_correlation",
) -> Tensor:  # fmt: skip
    """The correlation of `x` with itself moved by 0, 1, ... `max_lags`, by the Fourier transform.

    Args:
      x: float or complex Tensor.
      axis: along which it is moved.
      max_lags: int scalar; the size less 1 by default, and at most that.
      center: whether the mean along the axis is subtracted before.
      normalize: whether the result is divided by its first member.
      name: name scope.

    Returns:
      Tensor as `x`, of the size max_lags + 1 along the axis.

    Raises:
      TypeError: `x` is of another dtype.
    """
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        ndims = rank(x) if x.shape.ndims is None else np.int64(prefer_static_rank(x))
        shift = ndims - 1 - (ndims + axis if axis < 0 else axis)
        rotated = rotate_transpose(x, shift)
        if center:
            rotated -= reduce_mean(rotated, axis=-1, keepdims=True)
        length = prefer_static_shape(rotated)[-1]
        found, max_lags = _lagged_products(rotated, length, max_lags)
        counts = cast(length, x.dtype.real_dtype) - arange(0.0, cast(max_lags, x.dtype.real_dtype) + 1.0)
        found = found / cast(counts, x.dtype)
        if normalize:
            found /= found[..., :1]
        return rotate_transpose(found, -shift)


def _lagged_products(x: Tensor, length: Any, max_lags: object) -> tuple[Tensor, Any]:
    """(sums of products at lags 0...max_lags, the largest lag)."""
    wide = cast(length, np.float64)
    padded_length = power(np.float64(2.0), ceil(log(wide * 2) / np.log(2.0)))
    padded = pad(x, axis=-1, back=True, count=cast(padded_length - wide, np.int32))
    if not x.dtype.is_complex:
        if not x.dtype.is_floating:
            raise TypeError(f"Argument x must have either float or complex dtype found: {x.dtype}")
        padded = complex_of_parts(padded, x.dtype.real_dtype.as_numpy_dtype(0.0))
    transformed = fft(padded)
    products = cast(ifft(transformed * conj(transformed)), x.dtype)
    is_known = x.shape.is_fully_defined()
    if max_lags is None:
        max_lags = length - 1
    else:
        max_lags = convert_to_tensor(max_lags, name="max_lags")
        known = constant_value(max_lags)
        is_known = is_known and known is not None
        max_lags = min(length - 1, known) if is_known else minimum(length - 1, max_lags)
    products = products[..., : max_lags + 1]
    if is_known:
        products.set_shape([*x.shape.as_list()[:-1], min(length, max_lags + 1)])
    return products, max_lags


_INDEX: dict[str, Callable] = {"lower": ceil, "higher": floor, "nearest": round_half_to_even}


@export("contrib.distributions.percentile")
def percentile(
    x: TensorLike, q: TensorLike, axis: TensorLike | None = None, interpolation: str | None = None, keep_dims: bool = False,
    validate_args: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The `q`-th percentile of `x`.

    Args:
      x: real Tensor.
      q: scalar in [0, 100].
      axis: int or list of ints known while building; all by default.
      interpolation: "lower", "higher" or "nearest" (default): which of two neighbours is taken.
      keep_dims: whether the axes stay with size 1.
      validate_args: whether `q` is checked in a run.
      name: name scope.

    Returns:
      Tensor of the dtype of `x`.

    Raises:
      ValueError: another interpolation, axes that `x` does not have, or axes or a rank that are not known.
    """
    if interpolation is not None and interpolation not in _INDEX:
        raise ValueError(f"Argument 'interpolation' must be in {set(_INDEX)}.  Found {interpolation}")
    with name_scope(name or "percentile", values=[x, q]):
        x = convert_to_tensor(x, name="x")
        q = cast(q, dtypes.float64, name="q")
        _require_rank(q, 0, 0)
        if validate_args:
            is_scalar = assert_rank(q, 0)
            bounds = [assert_greater_equal(q, cast(0.0, dtypes.float64)), assert_less_equal(q, cast(100.0, dtypes.float64))]
            q = with_dependencies([is_scalar, *bounds], q)
        axes = None if axis is None else _static_axes(axis, x)
        y = reshape(x, [-1]) if axes is None else _axes_last(x, axes)
        above = 1.0 - q / 100.0
        size = cast(shape(y)[-1], dtypes.float64)
        index = _INDEX[interpolation or "nearest"]((size - 1) * above)
        count = shape(y)[-1]
        index = clip_by_value(cast(index, dtypes.int32), 0, count - 1)
        falling, _ = top_k(y, k=shape(y)[-1])
        found = falling[..., index]
        found.set_shape(y.shape[:-1])
        if not keep_dims:
            return found
        if axes is None:
            ndims = rank(x) if x.shape.ndims is None else x.shape.ndims
            return found * ones(ones(shape=[ndims], dtype=dtypes.int32), dtype=x.dtype)
        for each in sorted(axes):
            found = expand_dims(found, axis=each)
        return found


def _require_rank(x: Tensor, least: int, most: int | None) -> int | None:
    """The rank of `x`, if known; ValueError where it is another."""
    ndims = x.shape.ndims
    if ndims is not None and (ndims < least or (most is not None and ndims > most)):
        wanted = f"{least}" if least == most else (f">= {least}" if most is None else f"<= {most}")
        raise ValueError(f"Expected argument 'x' to have ndims {wanted}.  Found tensor {x}")
    return ndims


def _static_axes(axis: TensorLike, x: Tensor) -> list[int]:
    """The axes as numbers from 0."""
    axis = convert_to_tensor(axis, name="axis")
    assert_integer(axis)
    _require_rank(axis, 0, 1)
    known = constant_value(axis)
    if known is None:
        raise ValueError(f"Expected argument 'axis' to be statically available.  Found: {axis}")
    ndims = _require_rank(x, 1, None)
    if ndims is None:
        raise ValueError(f"Expected argument 'x' to have statically defined 'ndims'.  Found: {x}")
    axes = [int(a) for a in np.atleast_1d(known)]
    for a in axes:
        if a >= ndims:
            raise ValueError(f"dim {a} not in the interval [0, {ndims - 1}].")
        if a < -ndims:
            raise ValueError(f"Negatively indexed dim {a} not in the interval [-{ndims}, -1]")
    return [a % ndims for a in axes]


def _axes_last(x: Tensor, axes: list[int]) -> Tensor:
    """`x` with the axes flattened into one at the end."""
    front = [i for i in range(x.shape.ndims) if i not in axes]
    moved = transpose(x, perm=front + axes)
    if x.shape.is_fully_defined():
        sizes = x.shape.as_list()
        return reshape(moved, shape=[sizes[i] for i in front] + [int(np.prod([sizes[i] for i in axes]))])
    return reshape(moved, shape=concat([shape(moved)[: len(front)], [-1]], axis=0))
