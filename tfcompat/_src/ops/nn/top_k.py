"""The largest elements of each row: top_k, in_top_k, nth_element."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.shape import shape, size
from tfcompat._src.ops.math.binary import div
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.extremes import without_nan
from tfcompat._src.ops.math.sequence import all_dimensions, arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike

_SORTED_SHARE = 0.25
"""From this part of a row on, sorting all of it is faster than keeping the largest."""
_BLOCK = 128
"""Elements of a block of a long row."""


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- top_k ----


def _top_k_shape(c):
    k = si.size_from_input(c, 1) if len(c.inputs) > 1 else c.attr("k")
    sizes = si.with_rank_at_least(c.inputs[0], 1)
    if sizes is None:
        return [None, None]
    if sizes[-1] is not None and k is not None and sizes[-1] < k:
        raise ValueError(f"input must have last dimension >= k = {k} but is {sizes[-1]}")
    return [sizes[:-1] + (k,)] * 2


def _top_k_gradient(op, g, _):
    """`g` scattered to the places that were taken."""
    sizes, taken_sizes = shape(op.inputs[0]), shape(op.outputs[1])
    taken = raw.GatherV2(cast(taken_sizes, dtypes.int64), size(taken_sizes) - 1, 0)
    places = raw.Reshape(op.outputs[1], stack([-1, taken]))
    last = raw.GatherV2(cast(sizes, dtypes.int64), size(sizes) - 1, 0)
    rows = shape(places)[0]
    starts = raw.ExpandDims(arange(0, cast(rows, dtypes.int64) * last, last), -1)
    flat = raw.Reshape(places + cast(starts, dtypes.int32), [-1])
    found = raw.ScatterNd(raw.ExpandDims(flat, -1), raw.Reshape(g, [-1]), [raw.Prod(sizes, all_dimensions(sizes))])
    return [raw.Reshape(found, sizes), zeros([], dtype=dtypes.int32)][: len(op.inputs)]


def _largest(x: Any, k: int) -> tuple:
    if x.ndim < 1:
        raise _invalid(f"input must be >= 1-D, got shape {shape_text(x.shape)}")
    if x.shape[-1] < k:
        raise _invalid(f"input must have at least k columns. Had {x.shape[-1]}, needed {k}")
    if k == 0 or 0 in x.shape:
        return jnp.zeros((*x.shape[:-1], k), x.dtype), jnp.zeros((*x.shape[:-1], k), np.int32)
    places = _places_of_largest(_comparable(x), k)
    return jnp.take_along_axis(x, places, axis=-1), places


def _comparable(x: Any) -> Any:
    """`x` with NaN below every number, and zeros of one sign: those are equal, so the first comes first."""
    if jnp.issubdtype(x.dtype, np.integer):
        return x
    return jnp.where(x == 0, np.zeros((), x.dtype), without_nan(x, -np.inf))


def _places_of_largest(x: Any, k: int) -> Any:
    if x.dtype.itemsize <= 4 and k >= _SORTED_SHARE * x.shape[-1]:
        return lax.platform_dependent(
            x, cpu=functools.partial(_largest_by_keys, k=k), default=lambda x: _top_k_of(x, k)[1]
        )
    return _top_k_of(x, k)[1]


def _top_k_of(x: Any, k: int) -> tuple:
    if 4 * k * _BLOCK <= x.shape[-1]:
        return _largest_of_blocks(x, k)
    values, places = lax.top_k(x, k)
    return values, lax.convert_element_type(places, np.int32)


def _largest_of_blocks(x: Any, k: int) -> tuple:
    """The `k` blocks of each row with the greatest maxima hold its `k` largest elements."""
    missing = -x.shape[-1] % _BLOCK
    least = np.iinfo(x.dtype).min if jnp.issubdtype(x.dtype, np.integer) else -np.inf
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)], constant_values=least)
    blocks = padded.reshape(*x.shape[:-1], -1, _BLOCK)
    greatest = blocks
    while greatest.shape[-1] > 1:  # halves are compared in vectors, which a reduction is not
        half = greatest.shape[-1] // 2
        greatest = jnp.maximum(greatest[..., :half], greatest[..., half:])
    chosen = lax.sort(_top_k_of(greatest[..., 0], k)[1], dimension=x.ndim - 1)
    candidates = jnp.take_along_axis(blocks, chosen[..., None], axis=-2)
    values, places = lax.top_k(candidates.reshape(*x.shape[:-1], k * _BLOCK), k)
    return values, jnp.take_along_axis(chosen, places // _BLOCK, axis=-1) * _BLOCK + (places % _BLOCK).astype(np.int32)


def _largest_by_keys(x: Any, k: int) -> Array:
    """By sorting 64-bit integers, value above place: XLA sorts these on a CPU several times as fast as pairs."""
    if jnp.issubdtype(x.dtype, np.floating):
        bits = lax.bitcast_convert_type(x.astype(np.float32), np.int32)
        keys = jnp.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits).astype(np.int64)
    else:
        keys = x.astype(np.int64) - (1 << 31 if x.dtype == np.uint32 else 0)
    places = lax.broadcasted_iota(np.int64, x.shape, x.ndim - 1)
    order = lax.sort((~keys << 32) | places, dimension=x.ndim - 1, is_stable=False)
    return (order[..., :k] & 0xFFFFFFFF).astype(np.int32)


def _near_top_k(x: Any, k: Any) -> tuple:
    places = np.argsort(-x, axis=-1, kind="stable")[..., : int(k)].astype(np.int32)
    return np.take_along_axis(x, places, axis=-1), places


@op(
    "TopKV2",
    "(input: T, k: int32, *, sorted: bool = True, T: REAL) -> (values: T, indices: int32)",
    shape=_top_k_shape,
    gradient=_top_k_gradient, constants=("k",), near=_near_top_k,
)  # fmt: skip
def _top_k_v2(x, k):
    if k.ndim:
        raise _invalid(f"k must be scalar, got shape {shape_text(k.shape)}")
    if k < 0:
        raise _invalid(f"Need k >= 0, got {int(k)}")
    return _largest(x, int(k))


@op(
    "TopK", "(input: T, *, k: int >= 0, sorted: bool = True, T: REAL) -> (values: T, indices: int32)",
    shape=_top_k_shape, gradient=_top_k_gradient,
)  # fmt: skip
def _top_k(x, *, k):
    return _largest(x, k)


@export("math.top_k", "nn.top_k")
def top_k(input: TensorLike, k: TensorLike = 1, sorted: bool = True, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The `k` largest elements of each row of the last dimension, and their places.

    Args:
      input: real Tensor of at least one dimension.
      k: int32 scalar, at most the size of the last dimension.
      sorted: asks for falling order, which the result always has; of equal elements the first comes first.
      name: node name.

    Returns:
      values of the dtype of `input` and indices int32, both [..., k].

    Raises:
      ValueError, InvalidArgumentError: `k` is negative or too large.
    """
    return raw.TopKV2(input, k=k, sorted=sorted, name=name)


# ---- in_top_k ----


def _in_top_k_shape(c):
    batch = si.with_rank(c.inputs[0], 2)[0]
    return [(si.merge_size(batch, si.with_rank(c.inputs[1], 1)[0]),)]


_NO_GRADIENT = NotDifferentiable("a predicate has no derivative", raises=True)


def _in_largest(predictions: Any, targets: Any, k: Any) -> Any:
    if predictions.ndim != 2:
        raise _invalid("predictions must be 2-dimensional")
    if targets.ndim != 1:
        raise _invalid("targets must be 1-dimensional")
    if predictions.shape[0] != targets.shape[0]:
        text = f"First dimension of predictions {predictions.shape[0]} must match length of targets {targets.shape[0]}"
        raise _invalid(text)
    classes = predictions.shape[1]
    inside = (targets >= 0) & (targets < classes)
    columns = lax.broadcasted_iota(targets.dtype, predictions.shape, 1)
    chosen = jnp.where(columns == targets[:, None], predictions, np.float32(0)).sum(1, keepdims=True, dtype=np.float32)
    larger = (predictions > chosen).sum(1, dtype=np.int32)
    return inside & jnp.isfinite(predictions).all(1) & (larger < k)


@op(
    "InTopKV2", "(predictions: float32, targets: T, k: T, *, T: INDEX = int32) -> (precision: bool)",
    shape=_in_top_k_shape, gradient=_NO_GRADIENT,
)  # fmt: skip
def _in_top_k_v2(predictions, targets, k):
    if k.ndim:
        raise _invalid(f"k must be 0-D, got shape {shape_text(k.shape)}")
    return _in_largest(predictions, targets, k)


@op(
    "InTopK", "(predictions: float32, targets: T, *, k: int, T: INDEX = int32) -> (precision: bool)",
    shape=_in_top_k_shape, gradient=_NO_GRADIENT,
)  # fmt: skip
def _in_top_k(predictions, targets, *, k):
    return _in_largest(predictions, targets, k)


@export("math.in_top_k", "nn.in_top_k")
def in_top_k(predictions: TensorLike, targets: TensorLike, k: TensorLike, name: str | None = None) -> Tensor:
    """Whether fewer than `k` classes of a row are larger than the target class.

    Args:
      predictions: float32 Tensor [batch, classes]; a row that is not finite gives false.
      targets: int32 or int64 vector; a class outside [0, classes) gives false.
      k: scalar of the dtype of `targets`.
      name: node name.

    Returns:
      a bool vector.
    """
    with name_scope(name, "in_top_k"):
        return raw.InTopKV2(predictions, targets, k, name=name)


# ---- nth_element ----


def _nth_shape(c):
    sizes = si.with_rank_at_least(c.inputs[0], 1)
    n = si.size_from_input(c, 1)
    if sizes is None:
        return [None]
    if sizes[-1] is not None and n is not None and sizes[-1] <= n:
        raise ValueError(f"Input must have last dimension > n = {n} but is {sizes[-1]}")
    return [sizes[:-1]]


def _nth_gradient(op, g):
    """`g` in equal shares to the elements that equal the one that was found."""
    chosen = cast(raw.Equal(raw.ExpandDims(op.outputs[0], -1), op.inputs[0]), g.dtype)
    g = raw.ExpandDims(g, -1)
    count = raw.ExpandDims(raw.Sum(chosen, -1), -1)
    return [div(chosen, count) * g, None]


@op(
    "NthElement", "(input: T, n: int32, *, reverse: bool = False, T: REAL) -> (values: T)", shape=_nth_shape,
    gradient=_nth_gradient, constants=("n",),
)  # fmt: skip
def _nth_element(x, n, *, reverse):
    if n.ndim:
        raise _invalid(f"N must be scalar, got shape {shape_text(n.shape)}")
    if n < 0:
        raise _invalid(f"Need n >= 0, got {n}")
    if not x.ndim:
        raise _invalid("Input must be >= 1-D, got shape []")
    if x.shape[-1] <= n:
        raise _invalid("Input must have at least n+1 columns")
    place = x.shape[-1] - 1 - int(n) if reverse else int(n)
    return lax.index_in_dim(lax.sort(x, dimension=x.ndim - 1), place, x.ndim - 1, keepdims=False)


@export("contrib.nn.nth_element")
def nth_element(input: TensorLike, n: TensorLike, reverse: bool = False, name: str | None = None) -> Tensor:
    """The element at place `n` of each sorted row.

    Args:
      input: real Tensor of at least one dimension.
      n: int32 scalar, below the size of the last dimension.
      reverse: whether rows are sorted in falling order.
      name: node name.

    Returns:
      a Tensor without the last dimension.
    """
    return raw.NthElement(input, n, reverse=reverse, name=name)
