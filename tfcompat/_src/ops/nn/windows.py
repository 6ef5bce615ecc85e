"""Sliding windows over the spatial dimensions of channels-last arrays: geometry, the elements at each tap, the adjoint.

A window with `size` (k1, ..., kd) has k1*...*kd taps, numbered in row-major order; its elements are a strided slice of
the input. Sums and comparisons of slices fuse into one loop, which `reduce_window` and `select_and_scatter` do not.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


@dataclass(frozen=True)
class Window:
    """Geometry of a sliding window; every field has one int per spatial dimension.

    `before` counts padding elements ahead of the first input element, `out` the window positions.
    """

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    inputs: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def after(self) -> tuple[int, ...]:
        """Padding elements behind the last input element."""
        return tuple(max((o - 1) * s + (k - 1) * d + 1 - n - b, 0) for k, s, d, b, n, o in self._axes())

    @property
    def padding(self) -> list[tuple[int, int]]:
        """(before, after) per dimension, as JAX takes it."""
        return list(zip(self.before, self.after))

    @property
    def taps(self) -> int:
        """Number of elements in the window."""
        return math.prod(self.size)

    def offsets(self) -> Iterator[tuple[int, ...]]:
        """Offset of each tap from the window's first element, in row-major order."""
        return itertools.product(*(range(0, k * d, d) for k, d in zip(self.size, self.dilation)))

    def _axes(self):
        return zip(self.size, self.stride, self.dilation, self.before, self.inputs, self.out)


def channels_first(data_format: str) -> bool:
    """Whether the channel dimension of `data_format` (NHWC, NCHW, NDHWC, NCDHW) precedes the spatial ones."""
    if data_format not in ("NHWC", "NCHW", "NDHWC", "NCDHW"):
        raise ValueError(f"data_format must be NHWC, NCHW, NDHWC or NCDHW, not {data_format!r}")
    return data_format[1] == "C"


def channels_last(x: jax.Array, data_format: str) -> jax.Array:
    """`x`, laid out as `data_format`, with its channel dimension moved to the end."""
    return jnp.moveaxis(x, 1, -1) if channels_first(data_format) else x


def from_channels_last(x: jax.Array, data_format: str) -> jax.Array:
    """Inverse of `channels_last`."""
    return jnp.moveaxis(x, -1, 1) if channels_first(data_format) else x


def spatial(values: Sequence, data_format: str) -> tuple:
    """The spatial entries of a sequence with one entry per dimension."""
    return tuple(values[2:]) if channels_first(data_format) else tuple(values[1:-1])


def make_window(input_shape: Sequence[int], size: Sequence[int], strides: Sequence[int], padding: str,
                data_format: str, *, explicit_paddings: Sequence[int] = (),
                dilations: Sequence[int] | None = None) -> Window:
    """The window that TensorFlow's attributes describe.

    input_shape, strides, dilations: one int per dimension, in `data_format` order. size: one int per spatial dimension.
    padding: SAME, VALID or EXPLICIT, the last with two ints per dimension in explicit_paddings.
    The stride of a dimension with one window position is at most the dimension's size: it leads nowhere. Dilations are no greater
    than what sets the same taps apart from the input under SAME.
    Raises ValueError where an attribute is unknown or the window does not fit into the input.
    Definition: tf.nn.convolution's documentation of padding.
    """
    inputs, stride = spatial(input_shape, data_format), spatial(strides, data_format)
    dilation = spatial(dilations, data_format) if dilations else (1,) * len(stride)
    if padding == "SAME":
        out = [-(-n // s) for n, s in zip(inputs, stride)]
        dilation = tuple(min(d, 2 * (n + max(o - 1, 0) * s + 1)) for d, n, o, s in zip(dilation, inputs, out, stride))
    extent = [(k - 1) * d + 1 for k, d in zip(size, dilation)]
    if padding == "SAME":
        before = [max((o - 1) * s + e - n, 0) // 2 for o, s, e, n in zip(out, stride, extent, inputs)]
    elif padding in ("VALID", "EXPLICIT"):
        pairs = [(0, 0)] * len(inputs)
        if padding == "EXPLICIT":
            pairs = spatial(list(zip(explicit_paddings[::2], explicit_paddings[1::2])), data_format)
        before = [low for low, _ in pairs]
        out = [(n + low + high - e) // s + 1 for n, (low, high), e, s in zip(inputs, pairs, extent, stride)]
    else:
        raise ValueError(f"padding must be SAME, VALID or EXPLICIT, not {padding!r}")
    if min(out) < 0 or (padding != "SAME" and min(out) == 0):
        raise ValueError(f"a window of extent {extent} does not fit into spatial dimensions {list(inputs)} "
                         f"with padding {padding}: use a smaller window or padding='SAME'")
    stride = tuple(min(s, max(n + b, 1)) if o == 1 else s for s, n, b, o in zip(stride, inputs, before, out))
    return Window(tuple(size), stride, dilation, tuple(before), inputs, tuple(out))


def tap_slices(x: jax.Array, window: Window, fill) -> list[jax.Array]:
    """The input element at each tap of every window position.

    x: [batch, *window.inputs, ...]. fill: what padding holds. Returns one [batch, *window.out, ...] array per tap.
    At stride 1 the padded input is made once; otherwise only the slices that reach into padding are padded.
    """
    if any(window.before + window.after) and set(window.stride) == {1}:
        config = [(0, 0, 0), *((b, a, 0) for b, a in window.padding), *[(0, 0, 0)] * (x.ndim - 1 - len(window.size))]
        x = lax.optimization_barrier(lax.pad(x, jnp.asarray(fill, x.dtype), config))
        before, inputs = (0,) * len(window.size), x.shape[1:1 + len(window.size)]
    else:
        before, inputs = window.before, window.inputs
    return [_tap_slice(x, offset, window, before, inputs, fill) for offset in window.offsets()]


def _tap_slice(x, offset, window, before, inputs, fill):
    ranges = []
    for e, s, b, n, o in zip(offset, window.stride, before, inputs, window.out):
        first = min(max(-((e - b) // s), 0), o)
        ranges.append((first, max(min((n - 1 + b - e) // s + 1, o), first)))
    trailing = x.ndim - 1 - len(ranges)
    shape = (x.shape[0], *window.out, *x.shape[x.ndim - trailing:])
    if any(low == high for low, high in ranges):
        return jnp.full(shape, fill, x.dtype)
    starts = [low * s + e - b for (low, _), s, e, b in zip(ranges, window.stride, offset, before)]
    limits = [(high - 1) * s + e - b + 1 for (_, high), s, e, b in zip(ranges, window.stride, offset, before)]
    part = lax.slice(x, (0, *starts, *[0] * trailing), (x.shape[0], *limits, *x.shape[x.ndim - trailing:]),
                     (1, *window.stride, *[1] * trailing))
    if part.shape == shape:
        return part
    config = [(0, 0, 0), *((low, o - high, 0) for (low, high), o in zip(ranges, window.out)), *[(0, 0, 0)] * trailing]
    return lax.pad(part, jnp.asarray(fill, x.dtype), config)


def sum_over_windows(term: Callable[..., jax.Array], arrays: Sequence[jax.Array], fills: Sequence, window: Window,
                     ) -> jax.Array:
    """The adjoint of `tap_slices`: for every input element, the sum over the (window, tap) pairs that hold it.

    term(tap, *slices): what a window gives to the element at its tap, [..., channels], from slices of `arrays`.
    arrays: [batch, *window.out, ...] each; fills: what each holds outside of the window positions, such that
    `term` is 0 there. Returns [batch, *window.inputs, channels].

    Input positions of equal residue modulo the stride are one dense sum of shifted slices; they are interleaved.
    """
    rank = len(window.size)
    count = [-(-(n + b) // s) for n, b, s in zip(window.inputs, window.before, window.stride)]
    reach = [(k - 1) * d // s for k, d, s in zip(window.size, window.dilation, window.stride)]
    margin = [(m, max(c - o, 0)) for m, c, o in zip(reach, count, window.out)]
    arrays = [lax.pad(a, jnp.asarray(fill, a.dtype),
                      [(0, 0, 0), *((low, high, 0) for low, high in margin), *[(0, 0, 0)] * (a.ndim - 1 - rank)])
              for a, fill in zip(arrays, fills)]
    arrays = lax.optimization_barrier(arrays)
    sums: dict[tuple[int, ...], jax.Array] = {}
    for tap, offset in enumerate(window.offsets()):
        starts = [m - e // s for m, e, s in zip(reach, offset, window.stride)]
        index = (slice(None), *(slice(start, start + c) for start, c in zip(starts, count)))
        value = term(tap, *(a[index] for a in arrays))
        residue = tuple(e % s for e, s in zip(offset, window.stride))
        sums[residue] = sums[residue] + value if residue in sums else value
    zero = jnp.zeros_like(value)
    y = _interleave(lambda residue: sums.get(residue, zero), window, ())
    y = y.reshape(y.shape[0], *(c * s for c, s in zip(count, window.stride)), y.shape[-1])
    return y[(slice(None), *(slice(b, b + n) for b, n in zip(window.before, window.inputs)))]


def _interleave(part, window, residue):
    """Stacks the parts of all residues along new axes; those that no tap reaches, at the end of an axis, are padding."""
    axis = len(residue)
    if axis == len(window.stride):
        return part(residue)
    stride = window.stride[axis]
    reached = min(stride, (window.size[axis] - 1) * window.dilation[axis] + 1)
    stacked = jnp.stack([_interleave(part, window, (*residue, a)) for a in range(reached)], axis + 2)
    if reached == stride:
        return stacked
    config = [(0, stride - reached if i == axis + 2 else 0, 0) for i in range(stacked.ndim)]
    return lax.pad(stacked, jnp.zeros((), stacked.dtype), config)


def valid_counts(window: Window) -> np.ndarray:
    """How many taps of each window position lie inside the input, [1, *window.out, 1] float64."""
    counts = np.ones((1, *window.out, 1))
    for axis, (k, s, d, b, n, o) in enumerate(window._axes()):
        position = np.arange(o)[:, None] * s + np.arange(k) * d - b
        inside = ((position >= 0) & (position < n)).sum(1)
        counts = counts * inside.reshape([-1 if i == axis + 1 else 1 for i in range(len(window.size) + 2)])
    return counts


def tap_of_element(window: Window) -> np.ndarray | None:
    """Number of the tap at which a window holds each input element, [1, *window.inputs, 1] int32, -1 where none does.

    None where an axis has several windows of more than one element: they may share elements. Global pooling has one.
    """
    taps = np.zeros((1, *window.inputs, 1), np.int32)
    inside = np.ones_like(taps, bool)
    for axis, (k, s, d, b, n, o) in enumerate(window._axes()):
        if o != 1 and (k != 1 or s != 1 or b or o != n):
            return None
        place = np.arange(n) + b if o == 1 else np.zeros(n, int)
        shape = [-1 if i == axis + 1 else 1 for i in range(len(window.size) + 2)]
        taps = taps * k + (place // d).astype(np.int32).reshape(shape)
        inside &= ((place % d == 0) & (place // d < k)).reshape(shape)
    return np.where(inside, taps, np.int32(-1))


def first_valid_tap(window: Window) -> np.ndarray:
    """Number of the first tap that lies inside the input, [1, *window.out, 1] int32."""
    number = np.zeros((1, *window.out, 1), np.int32)
    for axis, (k, s, d, b, _, o) in enumerate(window._axes()):
        tap = np.maximum(-((np.arange(o) * s - b) // d), 0)
        number = number * k + tap.reshape([-1 if i == axis + 1 else 1 for i in range(len(window.size) + 2)])
    return number.astype(np.int32)


def windows_in_numpy(x: np.ndarray, window: Window) -> np.ndarray:
    """The windows of a channels-last NumPy array, a view where nothing is to be padded: [batch, *out, *size, channels]."""
    if any(map(any, window.padding)):
        x = np.pad(x, [(0, 0), *window.padding, (0, 0)])
    axes = range(1, 1 + len(window.size))
    spans = [(k - 1) * d + 1 for k, d in zip(window.size, window.dilation)]
    view = np.lib.stride_tricks.sliding_window_view(x, spans, tuple(axes))
    along = [slice(0, (o - 1) * s + 1, s) for o, s in zip(window.out, window.stride)]
    view = view[(slice(None), *along, slice(None), *[slice(None, None, d) for d in window.dilation])]
    return np.moveaxis(view, 1 + len(window.size), -1)
