"""Counting values: Bincount, HistogramFixedWidth, confusion_matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jax import lax

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.shape_inference import with_rank, with_size
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.math.binary import truediv
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.clip import clip_by_value
from tfcompat._src.ops.math.reduce import reduce_max, reduce_prod
from tfcompat._src.ops.math.segment import scatter_rows

if TYPE_CHECKING:
    from tfcompat._src.graph.shape_inference import InferenceContext

_UNDEFINED = NotDifferentiable("no gradient is defined", raises=True)


def _bincount_shape(c: InferenceContext) -> list:
    with_rank(c.inputs[1], 0)
    size = c.value(1)
    if size is not None and size < 0:
        raise ValueError(f"size (={size}) must be non-negative")
    return [(None if size is None else int(size),)]


@op("Bincount", "(arr: int32, size: int32, weights: T, *, T: {int32, int64, float32, float64}) -> (bins: T)",
    shape=_bincount_shape, gradient=_UNDEFINED, side=HOST)  # fmt: skip
def _bincount(arr, size, weights):
    if size < 0:
        raise errors.InvalidArgumentError(None, None, f"size ({size}) must be non-negative")
    if np.any(arr < 0):
        raise errors.InvalidArgumentError(None, None, "Input arr must be non-negative!")
    flat = arr.ravel()
    inside = np.flatnonzero(flat < size)
    if weights.size and inside.size and inside[-1] >= weights.size:
        raise errors.InvalidArgumentError(None, None, f"there are fewer weights than elements of arr: {weights.shape} and {arr.shape}")
    checks.require_room((int(size),), weights.dtype)
    bins = np.zeros(int(size), weights.dtype)
    np.add.at(bins, flat[inside], weights.ravel()[inside] if weights.size else weights.dtype.type(1))
    return bins


@export("bincount", "math.bincount")
def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32):
    """How often each number from 0 occurs.

    Args:
      arr: int32 Tensor of numbers that are not negative.
      weights: Tensor like `arr`, summed in place of counting.
      minlength, maxlength: limits of the length of the result, which is else the largest number + 1.
      dtype: type of the counts.

    Returns:
      a Tensor of rank 1.

    Raises:
      InvalidArgumentError: a number is negative.
    """
    return bincount_v2(arr, weights, minlength, maxlength, dtype)


@export("compat.v2.math.bincount")
def bincount_v2(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32, name=None):
    """`tf.math.bincount` with the name of its scope."""
    with name_scope("bincount" if name is None else name):
        arr = to_tensor(arr, dtypes.int32, "arr")
        is_nonempty = reduce_prod(shape(arr)) > 0
        size = cast(is_nonempty, dtypes.int32) * (reduce_max(arr) + 1)
        if minlength is not None:
            size = raw.Maximum(to_tensor(minlength, dtypes.int32, "minlength"), size)
        if maxlength is not None:
            size = raw.Minimum(to_tensor(maxlength, dtypes.int32, "maxlength"), size)
        if weights is not None:
            return raw.UnsortedSegmentSum(to_tensor(weights, name="weights"), arr, size)
        return raw.Bincount(arr, size, constant([], dtype))


def _histogram_shape(c: InferenceContext) -> list:
    with_size(with_rank(c.inputs[1], 1)[0], 2)
    with_rank(c.inputs[2], 0)
    nbins = c.value(2)
    if nbins is not None and nbins <= 0:
        raise ValueError(f"Requires nbins > 0: {nbins}")
    return [(None if nbins is None else int(nbins),)]


@op("HistogramFixedWidth",
    "(values: T, value_range: T, nbins: int32, *, T: {int32, int64, float32, float64}, dtype: INDEX = int32) -> (out: dtype)",
    shape=_histogram_shape, gradient=_UNDEFINED, constants=("nbins",))  # fmt: skip
def _histogram_fixed_width(values, value_range, nbins, *, dtype):
    if value_range.shape != (2,):
        text = f"value_range should be a vector of 2 elements, but has shape {list(value_range.shape)}"
        raise errors.InvalidArgumentError(None, None, text)
    checks.scalar("nbins", nbins, "should be a scalar.")
    bins = int(nbins)
    if bins <= 0:
        raise errors.InvalidArgumentError(None, None, f"nbins should be a positive number, but got '{bins}'")
    low, high = value_range[0], value_range[1]
    checks.require(
        lax.lt(low, high), "value_range should satisfy value_range[0] < value_range[1], but got '[{}, {}]'", low, high
    )
    width = lax.div(lax.convert_element_type(lax.sub(high, low), np.float64), np.float64(bins))
    above = lax.convert_element_type(lax.sub(lax.max(values, low), low), np.float64)
    index = lax.min(lax.div(above, width), np.float64(bins - 1))
    ids = lax.convert_element_type(index, np.int32)
    return scatter_rows(lax.scatter_add, ids, lax.full(values.shape, 1, dtype), bins, 0)


@export("histogram_fixed_width")
def histogram_fixed_width(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """How many of `values` lie in each of `nbins` equal intervals.

    Args:
      values: a numeric Tensor; values outside the range count in the first and last interval.
      value_range: Tensor [2] of the dtype of `values`: the range, the first below the second.
      nbins: number of intervals.
      dtype: int32 or int64.
      name: node name.

    Returns:
      a Tensor [nbins] of `dtype`.

    Raises:
      InvalidArgumentError: the range is empty or nbins is not positive.
    """
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as scope:
        return raw.HistogramFixedWidth(values, value_range, nbins, dtype=dtype, name=scope)


@export("histogram_fixed_width_bins")
def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """The number of the interval of each of `values`; arguments are those of `histogram_fixed_width`.

    Returns:
      an int32 Tensor of the shape of `values`.
    """
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        values = to_tensor(values, name="values")
        sizes = shape(values)
        flat = reshape(values, [-1])
        value_range = to_tensor(value_range, name="value_range")
        count = cast(to_tensor(nbins, dtypes.int32, "nbins"), flat.dtype)
        scaled = truediv(flat - value_range[0], value_range[1] - value_range[0], name="scaled_values")
        indices = raw.Floor(count * scaled, name="indices")
        return reshape(cast(clip_by_value(indices, 0, count - 1), dtypes.int32), sizes)
