"""The short-time Fourier transform and its inverse."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.shape import rank, reshape, shape
from tfcompat._src.ops.math.binary import maximum, power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import ceil, log, square
from tfcompat._src.ops.signal.fft import irfft, rfft
from tfcompat._src.ops.signal.frames import frame, overlap_and_add
from tfcompat._src.ops.signal.windows import hann_window

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _scalar(value: TensorLike, name: str) -> Tensor:
    value = convert_to_tensor(value, name=name)
    value.shape.assert_has_rank(0)
    return value


def _enclosing_power_of_two(value: Tensor) -> Tensor:
    """The smallest power of two that is not below a scalar."""
    known = constant_value(value)
    if known is not None:
        return constant(int(2 ** np.ceil(np.log(known) / np.log(2.0))), value.dtype)
    return cast(power(2.0, ceil(log(cast(value, dtypes.float32)) / log(2.0))), value.dtype)


@export("signal.stft", "contrib.signal.stft")
def stft(
    signals: TensorLike, frame_length: TensorLike, frame_step: TensorLike, fft_length: TensorLike | None = None, window_fn: Callable | None = hann_window,
    pad_end: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The spectra of overlapping, windowed frames of real signals.

    Args:
      signals: float32 [..., samples].
      frame_length: scalar int, samples in a frame.
      frame_step: scalar int, samples from frame to frame.
      fft_length: scalar int, the length of the transform; by default the smallest power of two that holds a frame.
      window_fn: `window_fn(frame_length, dtype=)` gives the window; None for none.
      pad_end: whether zeros fill up the frames at the end.
      name: name scope.

    Returns:
      complex64 [..., frames, fft_length // 2 + 1].

    Raises:
      ValueError: a length is no scalar.
    """
    with name_scope(name, "stft", [signals, frame_length, frame_step]):
        signals = convert_to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        frame_length = _scalar(frame_length, "frame_length")
        frame_step = _scalar(frame_step, "frame_step")
        if fft_length is None:
            fft_length = _enclosing_power_of_two(frame_length)
        else:
            fft_length = convert_to_tensor(fft_length, name="fft_length")
        frames = frame(signals, frame_length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            frames *= window_fn(frame_length, dtype=frames.dtype)
        return rfft(frames, [fft_length])


@export("signal.inverse_stft_window_fn", "contrib.signal.inverse_stft_window_fn")
def inverse_stft_window_fn(
    frame_step: TensorLike, forward_window_fn: Callable = hann_window, name: str | None = None
) -> Callable[..., Tensor]:
    """The function of the window with which `inverse_stft` undoes a `stft` with the window `forward_window_fn`.

    Griffin and Lim, "Signal estimation from modified short-time Fourier transform", 1984, equation 6.
    """
    with name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
        frame_step = _scalar(frame_step, "frame_step")

    def inverse_stft_window_fn_inner(frame_length: TensorLike, dtype: object) -> Tensor:
        with name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
            frame_length = _scalar(frame_length, "frame_length")
            window = forward_window_fn(frame_length, dtype=dtype)
            weight = square(window)
            overlaps = -(-frame_length // frame_step)
            weight = pad(weight, [(0, overlaps * frame_step - frame_length)])
            weight = reduce_sum(reshape(weight, [overlaps, frame_step]), 0, keepdims=True)
            weight = reshape(tile(weight, [overlaps, 1]), [overlaps * frame_step])
            return window / weight[:frame_length]

    return inverse_stft_window_fn_inner


def _of_length(frames: Tensor, frame_length: Tensor) -> Tensor:
    """Frames cut or filled with zeros to `frame_length` samples."""
    known = constant_value(frame_length)
    have = None if frames.shape.ndims is None else frames.shape.as_list()[-1]
    if known is None or have is None:
        frames = frames[..., :frame_length]
        frames_rank = rank(frames)
        sizes = shape(frames)
        paddings = concat(
            [zeros([frames_rank - 1, 2], dtype=frame_length.dtype), [[0, maximum(0, frame_length - sizes[-1])]]], 0
        )
        frames = pad(frames, paddings)
    elif have > known:
        frames = frames[..., : int(known)]
    elif have < known:
        frames = pad(frames, [[0, 0]] * (frames.shape.ndims - 1) + [[0, int(known) - have]])
    if known is not None and frames.shape.ndims is not None:
        frames.set_shape([None] * (frames.shape.ndims - 1) + [int(known)])
    return frames


@export("signal.inverse_stft", "contrib.signal.inverse_stft")
def inverse_stft(
    stfts: TensorLike, frame_length: TensorLike, frame_step: TensorLike, fft_length: TensorLike | None = None, window_fn: Callable | None = hann_window,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The signals of short-time spectra: windowed frames, added up.

    Args:
      stfts: complex64 [..., frames, fft_length // 2 + 1].
      frame_length, frame_step, fft_length: as given to `stft`.
      window_fn: as in `stft`; `inverse_stft_window_fn` gives the one that restores the signal.
      name: name scope.

    Returns:
      float32 [..., (frames - 1) * frame_step + frame_length].

    Raises:
      ValueError: a length is no scalar.
    """
    with name_scope(name, "inverse_stft", [stfts]):
        stfts = convert_to_tensor(stfts, name="stfts")
        stfts.shape.with_rank_at_least(2)
        frame_length = _scalar(frame_length, "frame_length")
        frame_step = _scalar(frame_step, "frame_step")
        fft_length = _enclosing_power_of_two(frame_length) if fft_length is None else _scalar(fft_length, "fft_length")
        frames = _of_length(irfft(stfts, [fft_length]), frame_length)
        if window_fn is not None:
            frames *= window_fn(frame_length, dtype=stfts.dtype.real_dtype)
        return overlap_and_add(frames, frame_step)
