"""The mel scale of frequencies: 1127 ln(1 + f / 700), as the Hidden Markov Model Toolkit defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import split
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.math.binary import maximum, minimum
from tfcompat._src.ops.math.sequence import linspace
from tfcompat._src.ops.math.unary import exp, log
from tfcompat._src.ops.signal.frames import frame

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DType

BREAK_HERTZ = 700.0
HIGH_FREQUENCY_Q = 1127.0
_EMPTY_BANDS = 1  # the constant part of a signal belongs to no mel band


def mel_to_hertz(mel_values: TensorLike, name: str | None = None) -> Tensor:
    """The frequencies in Hz of mel values."""
    with name_scope(name, "mel_to_hertz", [mel_values]):
        mel_values = convert_to_tensor(mel_values)
        return BREAK_HERTZ * (exp(mel_values / HIGH_FREQUENCY_Q) - 1.0)


def hertz_to_mel(frequencies_hertz: TensorLike, name: str | None = None) -> Tensor:
    """The mel values of frequencies in Hz."""
    with name_scope(name, "hertz_to_mel", [frequencies_hertz]):
        frequencies_hertz = convert_to_tensor(frequencies_hertz)
        return HIGH_FREQUENCY_Q * log(1.0 + (frequencies_hertz / BREAK_HERTZ))


def _check(num_mel_bins: Any, sample_rate: Any, lower: float, upper: float, dtype: DType) -> None:
    if num_mel_bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if sample_rate <= 0.0:
        raise ValueError(f"sample_rate must be positive. Got: {sample_rate}")
    if lower < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower}")
    if lower >= upper:
        raise ValueError(f"lower_edge_hertz {lower:.1f} >= upper_edge_hertz {upper:.1f}")
    if upper > sample_rate / 2:
        raise ValueError(
            "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
            f"Got: {upper} for sample_rate: {sample_rate}"
        )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")


@export("signal.linear_to_mel_weight_matrix", "contrib.signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20, num_spectrogram_bins: object = 129, sample_rate: object = 8000, lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0, dtype: Any = dtypes.float32, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The matrix that turns linear spectrograms into mel spectrograms: triangles of equal width on the mel scale.

    Args:
      num_mel_bins: bands of the result.
      num_spectrogram_bins: bands of the linear spectrogram, from 0 to half the sample rate.
      sample_rate: samples per second, a number or a constant Tensor.
      lower_edge_hertz, upper_edge_hertz: where the lowest band starts and the highest ends.
      dtype: floating type of the result.
      name: node name.

    Returns:
      a tensor [num_spectrogram_bins, num_mel_bins].

    Raises:
      ValueError: a number is out of range, or `sample_rate` is a Tensor without known value.
    """
    with name_scope(name, "linear_to_mel_weight_matrix") as scope:
        if isinstance(sample_rate, Tensor):
            sample_rate = constant_value(sample_rate)
            if sample_rate is None:
                raise ValueError("`sample_rate` was a non-constant Tensor. Must be a Python float or a constant Tensor.")
        _check(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype)
        sample_rate = convert_to_tensor(sample_rate, dtype, name="sample_rate")
        lower_edge = convert_to_tensor(lower_edge_hertz, dtype, name="lower_edge_hertz")
        upper_edge = convert_to_tensor(upper_edge_hertz, dtype, name="upper_edge_hertz")
        zero = convert_to_tensor(0.0, dtype)
        frequencies = linspace(zero, sample_rate / 2.0, num_spectrogram_bins)[_EMPTY_BANDS:]
        bins = expand_dims(hertz_to_mel(frequencies), 1)
        edges = linspace(hertz_to_mel(lower_edge), hertz_to_mel(upper_edge), num_mel_bins + 2)
        bands = split(frame(edges, frame_length=3, frame_step=1), 3, axis=1)
        lower, center, upper = (reshape(part, [1, num_mel_bins]) for part in bands)
        rising = (bins - lower) / (center - lower)
        falling = (upper - bins) / (upper - center)
        weights = maximum(zero, minimum(rising, falling))
        return pad(weights, [[_EMPTY_BANDS, 0], [0, 0]], name=scope)
