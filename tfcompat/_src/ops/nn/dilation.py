"""Greyscale dilation and erosion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.reorder import reverse
from tfcompat._src.ops.nn.window_sizes import text_attr, window_counts
from tfcompat._src.ops.nn.windows import Window, first_valid_tap, make_window, sum_over_windows, tap_slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation

_ATTRS = 'T: REAL, strides: list(int) >= 4, rates: list(int) >= 4, padding: {"SAME", "VALID"}'
_NAMES = ("strides", "rates", "padding")


def _dilation_shape(c):
    x, filters = si.with_rank(c.inputs[0], 4), si.with_rank(c.inputs[1], 3)
    for name, what in (("strides", "stride"), ("rates", "rates")):
        if len(c.attr(name)) != 4:
            raise ValueError(
                f"Dilation2D requires the {what} attribute to contain 4 values, but got: {len(c.attr(name))}"
            )
    if None in x[1:3] + filters[:2]:
        return [(x[0], None, None, filters[2])]
    si.merge_size(x[3], filters[2])
    windows = x[1:3], filters[:2], c.attr("strides")[1:3], text_attr(c, "padding"), c.attr("rates")[1:3], (0, 0)
    try:
        positions = window_counts(*windows)
    except errors.InvalidArgumentError as e:
        raise ValueError(e.message) from None
    return [(x[0], *positions, filters[2])]


def _attrs(node: Operation) -> dict[str, Any]:
    return {n: node.get_attr(n) for n in _NAMES}


def _dilation_gradient(op, g):
    x, filters = op.inputs
    return [
        raw.Dilation2DBackpropInput(x, filters, g, **_attrs(op)),
        raw.Dilation2DBackpropFilter(x, filters, g, **_attrs(op))
    ]  # fmt: skip


# ---- kernels ----


def _window(x: Any, filters: Any, strides: Any, rates: Any, padding: str) -> tuple[tuple, Window | None]:
    """The result's shape, and the window unless the result is empty; errors where the input does not fit."""
    if x.ndim != 4:
        raise errors.InvalidArgumentError(None, None, f"input must be 4-dimensional: {shape_text(x.shape)}")
    if filters.ndim != 3:
        raise errors.InvalidArgumentError(None, None, f"filter must be 3-dimensional: {shape_text(filters.shape)}")
    if x.shape[3] != filters.shape[2]:
        text = f"input and filter must have the same depth: {x.shape[3]} vs {filters.shape[2]}"
        raise errors.InvalidArgumentError(None, None, text)
    for what, values in (("Stride", strides), ("Input stride (atrous rate)", rates)):
        if len(values) != 4:
            raise errors.InvalidArgumentError(None, None, f"{what} field must specify 4 dimensions")
    if strides[0] != 1 or strides[3] != 1:
        raise errors.UnimplementedError(None, None, "Stride is only supported across spatial dimensions.")
    if rates[0] != 1 or rates[3] != 1:
        raise errors.UnimplementedError(None, None, "Rate is only supported across spatial dimensions.")
    counts = window_counts(x.shape[1:3], filters.shape[:2], strides[1:3], padding, rates[1:3], (0, 0))
    out = (x.shape[0], *counts, x.shape[3])
    if 0 in out:
        return out, None
    return out, make_window(x.shape, filters.shape[:2], strides, padding, "NHWC", dilations=rates)


def _lowest(dtype: Any) -> np.generic:
    info = jnp.finfo(dtype) if jnp.issubdtype(dtype, jnp.floating) else np.iinfo(dtype)
    return np.asarray(info.min, dtype)[()]


def _inside(x: Any, window: Window) -> list:
    """For each tap, whether it lies in the input."""
    return tap_slices(jnp.ones((1, *x.shape[1:3], 1), bool), window, False)


def _sums(x: Any, filters: Any, window: Window) -> list:
    """For each tap, the input plus the filter; the lowest number for padding, NaN and what is below it."""
    lowest = _lowest(x.dtype)
    weights = filters.reshape(window.taps, -1)
    taps = zip(tap_slices(x, window, 0), weights, _inside(x, window))
    sums = [(tap + weight, inside) for tap, weight, inside in taps]
    return [jnp.where(inside & (total > lowest), total, lowest) for total, inside in sums]


def _winners(sums: list, default: Any) -> Any:
    """Number of the first tap with the largest sum, for every position; `default` where none is above the lowest."""
    best = jnp.full(sums[0].shape, _lowest(sums[0].dtype))
    winner = jnp.broadcast_to(default, best.shape)
    for number, value in enumerate(sums):
        winner = jnp.where(value > best, np.int32(number), winner)
        best = jnp.maximum(best, value)
    return winner


@op(
    "Dilation2D", f"(input: T, filter: T, *, {_ATTRS}) -> (output: T)", shape=_dilation_shape,
    gradient=_dilation_gradient,
)  # fmt: skip
def _dilation(x, filters, *, strides, rates, padding):
    out, window = _window(x, filters, strides, rates, padding)
    if window is None:
        return jnp.zeros(out, x.dtype)
    found = _sums(x, filters, window)
    best = found[0]
    for value in found[1:]:
        best = jnp.maximum(best, value)
    return best


def _gradient_window(x: Any, filters: Any, out_backprop: Any, strides: Any, rates: Any, padding: str) -> Window | None:
    out, window = _window(x, filters, strides, rates, padding)
    if out_backprop.shape != out:
        raise errors.InvalidArgumentError(None, None, "out_backprop has incompatible size.")
    return window


_SECOND = NotDifferentiable("1.15 has no second derivative of dilation", raises=True)


@op(
    "Dilation2DBackpropInput", f"(input: T, filter: T, out_backprop: T, *, {_ATTRS}) -> (in_backprop: T)",
    shape=si.unchanged, gradient=_SECOND,
)  # fmt: skip
def _dilation_input_grad(x, filters, out_backprop, *, strides, rates, padding):
    window = _gradient_window(x, filters, out_backprop, strides, rates, padding)
    if window is None:
        return jnp.zeros(x.shape, x.dtype)
    winner = _winners(_sums(x, filters, window), first_valid_tap(window))
    zero = np.zeros((), x.dtype)[()]
    return sum_over_windows(
        lambda tap, number, g: jnp.where(number == tap, g, zero), [winner, out_backprop], [-1, 0], window
    )


@op(
    "Dilation2DBackpropFilter", f"(input: T, filter: T, out_backprop: T, *, {_ATTRS}) -> (filter_backprop: T)",
    shape=si.unchanged_from(1), gradient=_SECOND,
)  # fmt: skip
def _dilation_filter_grad(x, filters, out_backprop, *, strides, rates, padding):
    window = _gradient_window(x, filters, out_backprop, strides, rates, padding)
    if window is None:
        return jnp.zeros(filters.shape, filters.dtype)
    winner = _winners(_sums(x, filters, window), np.int32(0))
    zero = np.zeros((), x.dtype)[()]
    sums = [jnp.where(winner == tap, out_backprop, zero).sum((0, 1, 2), dtype=x.dtype) for tap in range(window.taps)]
    return jnp.stack(sums).reshape(filters.shape)


# ---- public functions ----


@export("nn.dilation2d")
def dilation2d(
    input: TensorLike, filter: TensorLike | None = None, strides: Sequence[int] | None = None, rates: object = None, padding: str | None = None,
    name: str | None = None, filters: object = None, dilations: object = None,
) -> Tensor:  # fmt: skip
    """Greyscale dilation: the largest of input + filter over each window.

    Args:
      input: real Tensor [batch, height, width, channels].
      filter: Tensor [height, width, channels] of its dtype.
      strides, rates: four ints each, steps of the window and spacing of its elements.
      padding: "SAME" or "VALID".
      name: node name.
      filters, dilations: aliases of `filter` and `rates`.
    """
    filter = deprecated_argument_lookup("filters", filters, "filter", filter)
    rates = deprecated_argument_lookup("dilations", dilations, "rates", rates)
    return raw.Dilation2D(input, filter, strides=strides, rates=rates, padding=padding, name=name)


@export("nn.erosion2d")
def erosion2d(value: TensorLike, kernel: TensorLike, strides: Sequence[int], rates: Sequence[int], padding: str, name: str | None = None) -> Tensor:
    """Greyscale erosion: the smallest of input - kernel over each window; arguments as in `tf.nn.dilation2d`."""
    with name_scope(name, "erosion2d", [value, kernel]) as name:
        negated = raw.Neg(value)
        mirrored = reverse(kernel, [0, 1])
        return raw.Neg(raw.Dilation2D(negated, mirrored, strides=strides, rates=rates, padding=padding, name=name))
