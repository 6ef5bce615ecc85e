"""Signals cut into overlapping frames, and frames added up to a signal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import zeros, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, split
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import rank, reshape, shape, size
from tfcompat._src.ops.array.slice import strided_slice
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.math.binary import floormod, maximum
from tfcompat._src.ops.math.compare import greater
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def gcd(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """The greatest common divisor of two integer scalars, by Euclid's algorithm.

    Raises:
      ValueError: one is no integer or no scalar.
    """
    with name_scope(name, "gcd", [a, b]):
        a, b = convert_to_tensor(a), convert_to_tensor(b)
        a.shape.assert_has_rank(0)
        b.shape.assert_has_rank(0)
        for label, number in (("a", a), ("b", b)):
            if not number.dtype.is_integer:
                raise ValueError(f"{label} must be an integer type. Got: {number.dtype}")
        known_a, known_b = constant_value(a), constant_value(b)
        if known_a is not None and known_b is not None:
            return convert_to_tensor(math.gcd(int(known_a), int(known_b)))
        found = while_loop(
            lambda _, b: greater(b, zeros_like(b)), lambda a, b: [b, floormod(a, b)], [a, b], back_prop=False
        )
        return found[0]


def _framed_shape(signal: Tensor, frame_length: Tensor, frame_step: Tensor, pad_end: bool, axis: Tensor) -> list | None:
    """The static shape of the frames, as far as known."""
    length, step, where = constant_value(frame_length), constant_value(frame_step), constant_value(axis)
    if signal.shape.ndims is None:
        return None
    if where is None:
        return [None] * (signal.shape.ndims + 1)
    sizes = signal.shape.as_list()
    samples, count = sizes[where], None
    if samples is not None and step is not None:
        if pad_end:
            count = max(0, -(-samples // step))
        elif length is not None:
            count = max(0, (samples - length + step) // step)
    return sizes[:where] + [count, length] + sizes[where:][1:]


@export("signal.frame", "contrib.signal.frame")
def frame(
    signal: TensorLike, frame_length: TensorLike, frame_step: TensorLike, pad_end: bool = False, pad_value: TensorLike = 0, axis: TensorLike = -1,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Cuts one dimension into frames that may overlap.

    Args:
      signal: tensor [..., samples, ...].
      frame_length: scalar int, samples in a frame.
      frame_step: scalar int, samples from the start of a frame to that of the next.
      pad_end: whether every sample starts in a frame: the end is filled with `pad_value`.
      pad_value: scalar.
      axis: the dimension that is cut.
      name: name scope.

    Returns:
      a tensor [..., frames, frame_length, ...].

    Raises:
      ValueError: `frame_length`, `frame_step`, `axis` or `pad_value` is no scalar.
    """
    with name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        signal = convert_to_tensor(signal, name="signal")
        frame_length = convert_to_tensor(frame_length, name="frame_length")
        frame_step = convert_to_tensor(frame_step, name="frame_step")
        axis = convert_to_tensor(axis, name="axis")
        signal.shape.with_rank_at_least(1)
        for scalar in (frame_length, frame_step, axis):
            scalar.shape.assert_has_rank(0)
        static = _framed_shape(signal, frame_length, frame_step, pad_end, axis)
        signal_rank = rank(signal)
        axis = arange(signal_rank)[axis]
        sizes = shape(signal)
        outer, samples, inner = split(sizes, [axis, 1, signal_rank - 1 - axis])
        samples = reshape(samples, [])
        outer_count, inner_count = size(outer), size(inner)
        if pad_end:
            pad_value = convert_to_tensor(pad_value, signal.dtype)
            pad_value.shape.assert_has_rank(0)
            frames = -(-samples // frame_step)
            missing = maximum(0, frame_length + frame_step * (frames - 1) - samples)
            paddings = concat(
                [zeros([outer_count, 2], missing.dtype), [[0, missing]], zeros([inner_count, 2], missing.dtype)], 0
            )
            signal = pad(signal, paddings, constant_values=pad_value)
            sizes = shape(signal)
            samples = sizes[axis]
        else:
            frames = maximum(0, 1 + (samples - frame_length) // frame_step)
        found = _gathered(signal, sizes, (outer, samples, inner), frames, frame_length, frame_step, axis)
        if static:
            found.set_shape(static)
        return found


def _gathered(
    signal: Tensor, sizes: Tensor, parts: tuple, frames: Tensor, frame_length: Tensor, frame_step: Tensor, axis: Tensor
) -> Tensor:
    """The frames, gathered from the pieces of the signal whose length divides frames and steps."""
    outer, samples, inner = parts
    piece = gcd(frame_length, frame_step)
    per_frame = frame_length // piece
    per_step = frame_step // piece
    count = samples // piece
    whole = concat([outer, [count * piece], inner], 0)
    pieces_shape = concat([outer, [count, piece], inner], 0)
    pieces = reshape(strided_slice(signal, zeros_like(sizes), whole), pieces_shape)
    starts = reshape(arange(frames) * per_step, [frames, 1])
    offsets = reshape(arange(per_frame), [1, per_frame])
    chosen = gather(pieces, starts + offsets, axis=axis)
    return reshape(chosen, concat([outer, [frames, frame_length], inner], 0))


@export("signal.overlap_and_add", "contrib.signal.overlap_and_add")
def overlap_and_add(signal: TensorLike, frame_step: TensorLike, name: str | None = None) -> Tensor:
    """Adds up frames, each shifted by a step against the one before.

    Args:
      signal: tensor [..., frames, frame_length].
      frame_step: scalar int, samples from the start of a frame to that of the next.
      name: name scope.

    Returns:
      a tensor [..., (frames - 1) * frame_step + frame_length].

    Raises:
      ValueError: `signal` has fewer than two dimensions, or `frame_step` is no integer scalar.
    """
    with name_scope(name, "overlap_and_add", [signal, frame_step]):
        signal = convert_to_tensor(signal, name="signal")
        signal.shape.with_rank_at_least(2)
        frame_step = convert_to_tensor(frame_step, name="frame_step")
        frame_step.shape.assert_has_rank(0)
        if not frame_step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {frame_step.dtype}")
        sizes = shape(signal)
        outer = sizes[:-2]
        outer_rank = size(outer)
        frame_length = sizes[-1]
        frames = sizes[-2]
        length = frame_length + frame_step * (frames - 1)
        known_step = constant_value(frame_step)
        if known_step is not None and signal.shape.ndims is not None and known_step == signal.shape.as_list()[-1]:
            return reshape(signal, concat([outer, [length]], 0), name="fast_path")
        return _added(signal, frame_step, outer, outer_rank, frame_length, frames)[..., :length]


def _added(
    signal: Tensor, step: Tensor, outer: Tensor, outer_rank: Tensor, frame_length: Tensor, frames: Tensor
) -> Tensor:
    """The sum, with zeros at its end. Each frame is cut into segments of one step; a matrix of segments whose rows are
    one segment too long puts those that add up into one column."""

    def resized(x: Tensor, *inner: Any) -> Tensor:
        return reshape(x, concat([outer, list(inner)], 0))

    segments = -(-frame_length // step)
    paddings = [[0, segments], [0, segments * step - frame_length]]
    signal = pad(signal, concat([zeros([outer_rank, 2], dtypes.int32), paddings], 0))
    signal = resized(signal, frames + segments, segments, step)
    order = concat([arange(outer_rank), outer_rank + [1, 0, 2]], 0)
    signal = transpose(signal, order)
    signal = resized(signal, (frames + segments) * segments, step)
    signal = signal[..., : (frames + segments - 1) * segments, :]
    signal = resized(signal, segments, frames + segments - 1, step)
    signal = reduce_sum(signal, -3)
    return resized(signal, (frames + segments - 1) * step)
