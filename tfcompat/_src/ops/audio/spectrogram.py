"""The ops AudioSpectrogram and Mfcc: power spectra of WAV samples, and mel-frequency cepstral coefficients of them."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.jax_compat import row_major
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op

_NO_GRADIENT = NotDifferentiable("1.15 has no gradient for this op", raises=True)
_FLOOR = 1e-12


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- spectrogram ----


def _transform_length(window_size: int) -> int:
    """The smallest power of two that holds a window."""
    return 1 << max(window_size - 1, 0).bit_length()


def _frames(samples: int, window_size: int, stride: int) -> int:
    return 0 if samples < window_size else 1 + (samples - window_size) // stride


def _spectrogram_shape(c):
    samples, channels = si.with_rank(c.inputs[0], 2)
    window_size, stride = c.attr("window_size"), c.attr("stride")
    frames = None if samples is None or stride < 1 else _frames(samples, window_size, stride)
    return [(channels, frames, 1 + _transform_length(window_size) // 2)]


@op(
    "AudioSpectrogram",
    "(input: float32, *, window_size: int, stride: int, magnitude_squared: bool = False) -> (spectrogram: float32)",
    shape=_spectrogram_shape, gradient=_NO_GRADIENT,
)  # fmt: skip
def _audio_spectrogram(audio, *, window_size, stride, magnitude_squared):
    if audio.ndim != 2:
        raise _invalid(f"input must be 2-dimensional[{','.join(map(str, audio.shape))}]")
    if window_size < 2 or stride < 1:
        raise _invalid(f"Spectrogram initialization failed for window size {window_size} and stride {stride}")
    samples, channels = audio.shape
    length, frames = _transform_length(window_size), _frames(samples, window_size, stride)
    if not frames or not channels:
        return jnp.zeros((channels, frames, 1 + length // 2), np.float32)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window_size) / window_size)
    places = stride * np.arange(frames)[:, None] + np.arange(window_size)
    cut = jnp.take(audio.T.astype(np.float64), places, axis=1) * window
    spectrum = row_major(jnp.fft.rfft(cut, n=length))
    power = spectrum.real**2 + spectrum.imag**2
    return (power if magnitude_squared else jnp.sqrt(power)).astype(np.float32)


# ---- cepstral coefficients ----


def _mel(frequency: Any) -> Any:
    return 1127.0 * np.log1p(frequency / 700.0)


def _not_initialized(bins: int, sample_rate: float) -> Exception:
    return _invalid(f"Mfcc initialization failed for channel count {bins} and sample rate {sample_rate:g}")


def filterbank(bins: int, sample_rate: float, lower: float, upper: float, channels: int) -> np.ndarray:
    """The weights [bins, channels] of triangles of equal width on the mel scale.

    Args:
      bins: entries of a spectrum from 0 to half the sample rate.
      sample_rate: samples per second.
      lower, upper: the frequencies in Hz where the first band starts and the last one ends.
      channels: bands.

    Raises:
      InvalidArgumentError: a number is out of range.
    """
    if channels < 1 or sample_rate <= 0 or bins < 2 or lower < 0 or upper <= lower:
        raise _not_initialized(bins, sample_rate)
    step = (_mel(upper) - _mel(lower)) / (channels + 1)
    edges = _mel(lower) + step * np.arange(channels + 2)
    hertz_per_bin = 0.5 * sample_rate / (bins - 1)
    first, last = int(1.5 + lower / hertz_per_bin), int(upper / hertz_per_bin)
    weights = np.zeros((bins, channels))
    for i in range(first, min(last, bins - 1) + 1):
        mel = _mel(i * hertz_per_bin)
        band = int(np.searchsorted(edges[1:], mel)) - 1
        left = edges[band + 1]
        following = edges[band + 2] if band + 2 < len(edges) else left + step
        share = (following - mel) / (following - left)
        if 0 <= band < channels:
            weights[i, band] += share
        if band + 1 < channels:
            weights[i, band + 1] += 1 - share
    return weights


def _mfcc_shape(c):
    channels, frames, _ = si.with_rank(c.inputs[0], 3)
    si.with_rank(c.inputs[1], 0)
    return [(channels, frames, c.attr("dct_coefficient_count"))]


@op(
    "Mfcc",
    "(spectrogram: float32, sample_rate: int32, *, upper_frequency_limit: float = 4000, lower_frequency_limit: float = 20, "
    "filterbank_channel_count: int = 40, dct_coefficient_count: int = 13) -> (output: float32)",
    shape=_mfcc_shape, constants=("sample_rate",), gradient=_NO_GRADIENT,
)  # fmt: skip
def _mfcc(
    spectrogram, sample_rate, *, upper_frequency_limit, lower_frequency_limit, filterbank_channel_count,
    dct_coefficient_count,
):  # fmt: skip
    if spectrogram.ndim != 3:
        raise _invalid(f"spectrogram must be 3-dimensional[{','.join(map(str, spectrogram.shape))}]")
    if sample_rate.ndim:
        raise _invalid(f"Input sample_rate should be a scalar tensor, got {list(sample_rate.shape)} instead.")
    channels = filterbank_channel_count
    if not 1 <= dct_coefficient_count <= channels:
        raise _not_initialized(spectrogram.shape[-1], sample_rate.item())
    weights = filterbank(
        spectrogram.shape[-1], sample_rate.item(), lower_frequency_limit, upper_frequency_limit, channels
    )
    energies = jnp.sqrt(spectrogram.astype(np.float64)) @ weights
    row, column = np.arange(channels)[:, None] + 0.5, np.arange(dct_coefficient_count)
    cosines = math.sqrt(2.0 / channels) * np.cos(np.pi / channels * row * column)
    return (jnp.log(jnp.maximum(energies, _FLOOR)) @ cosines).astype(np.float32)
