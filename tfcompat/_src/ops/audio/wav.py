"""WAV files with 16-bit PCM samples: bytes to arrays and back, and the ops DecodeWav and EncodeWav.

Format: a RIFF file of type WAVE with a "fmt " and a "data" chunk (Microsoft, "Multimedia Programming Interface 1.0").
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.tensor import Tensor

_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_FORMAT = struct.Struct("<HHIIHH")
_PCM, _SAMPLE_BYTES, _SCALE = 1, 2, 32768.0
_NO_GRADIENT = NotDifferentiable("a file is not differentiable", raises=True)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- writing ----


def encode_samples(audio: np.ndarray, sample_rate: int) -> bytes:
    """Audio as the bytes of a WAV file.

    Args:
      audio: float32 [frames, channels]; 1.0 is full scale, larger values are clipped.
      sample_rate: frames per second.

    Raises:
      InvalidArgumentError: the file format cannot hold it.
    """
    frames, channels = audio.shape
    if not audio.size:
        raise _invalid("audio is null")
    if not 0 < sample_rate < 1 << 32:
        raise _invalid(f"sample_rate must be in (0, 2^32), got: {sample_rate}")
    if channels >= 1 << 16:
        raise _invalid(f"num_channels must be in (0, 2^16), got: {channels}")
    size = frames * channels * _SAMPLE_BYTES
    if size + _HEADER.size >= 1 << 32:
        raise _invalid("Provided channels and frames cannot be encoded as a WAV.")
    frame_size = channels * _SAMPLE_BYTES
    header = _HEADER.pack(
        b"RIFF", size + _HEADER.size - 8, b"WAVE", b"fmt ", _FORMAT.size, _PCM, channels, sample_rate,
        (sample_rate * frame_size) & 0xFFFFFFFF, frame_size & 0xFFFF, 8 * _SAMPLE_BYTES, b"data", size,
    )  # fmt: skip
    scaled = np.nan_to_num(audio.astype(np.float64) * _SCALE, nan=0.0)
    rounded = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
    return header + np.clip(rounded, -_SCALE, _SCALE - 1).astype("<i2").tobytes()


# ---- reading ----


class Wav(NamedTuple):
    """The content of a WAV file: float32 samples [frames, channels] and the frames per second."""

    samples: np.ndarray
    sample_rate: int


class _Bytes:
    """A string of bytes that is read from its start."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def take(self, size: int) -> bytes:
        if self.place + size > len(self.data):
            raise _invalid("Data too short when trying to read string")
        self.place += size
        return self.data[self.place - size : self.place]

    def expect(self, text: bytes) -> None:
        found = self.take(len(text))
        if found != text:
            raise _invalid(f"Header mismatch: Expected {text.decode()} but found {found.decode('latin-1')}")

    def number(self) -> int:
        return int.from_bytes(self.take(4), "little")


def decode_samples(contents: bytes) -> Wav:
    """Reads a WAV file of 16-bit PCM samples.

    Raises:
      InvalidArgumentError: it is none.
    """
    data = _Bytes(contents)
    data.expect(b"RIFF")
    data.number()
    data.expect(b"WAVE")
    data.expect(b"fmt ")
    channels, sample_rate = _read_format(data)
    samples = None
    while data.place < len(contents):
        kind, size = data.take(4), data.number()
        if size > 0x7FFFFFFF:
            text = f"WAV data chunk '{kind.decode('latin-1')}' is too large: {size} bytes, but the limit is 2147483647"
            raise _invalid(text)
        if kind != b"data":
            data.place += size
            continue
        if samples is not None:
            raise _invalid("More than one data chunk found in WAV")
        frames = size // (channels * _SAMPLE_BYTES)
        samples = np.frombuffer(data.take(frames * channels * _SAMPLE_BYTES), "<i2").reshape(frames, channels)
    if samples is None:
        raise _invalid("No data chunk found in WAV")
    return Wav(samples.astype(np.float32) * np.float32(1 / _SCALE), sample_rate)


def _read_format(data: _Bytes) -> tuple[int, int]:
    """Channels and sample rate of the format chunk."""
    size = data.number()
    if size not in (16, 18):
        raise _invalid(f"Bad file size for WAV: Expected 16 or 18, but got{size}")
    kind, channels, rate, second_size, frame_size, bits = _FORMAT.unpack(data.take(_FORMAT.size))
    if kind != _PCM:
        raise _invalid(f"Bad audio format for WAV: Expected 1 (PCM), but got{kind}")
    if channels < 1:
        raise _invalid(f"Bad number of channels for WAV: Expected at least 1, but got {channels}")
    if bits != 8 * _SAMPLE_BYTES:
        raise _invalid(f"Can only read 16-bit WAV files, but received {bits}")
    wanted = channels * _SAMPLE_BYTES
    if frame_size != wanted:
        raise _invalid(f"Bad bytes per sample in WAV header: Expected {wanted} but got {frame_size}")
    wanted = (frame_size * rate) & 0xFFFFFFFF
    if second_size != wanted:
        given = f"(sample_rate={rate}, bytes_per_sample={frame_size})"
        raise _invalid(f"Bad bytes per second in WAV header: Expected {wanted} but got {second_size} {given}")
    data.take(size - _FORMAT.size)
    return channels, rate


# ---- ops ----


def _decode_shape(c):
    si.with_rank(c.inputs[0], 0)
    sizes = []
    for name in ("samples", "channels"):
        wanted = c.attr("desired_" + name)
        if wanted < -1:
            raise ValueError(f"{name} must be non-negative, got {wanted}")
        sizes.append(None if wanted == -1 else wanted)
    return [tuple(sizes), ()]


@op(
    "DecodeWav",
    "(contents: string, *, desired_channels: int = -1, desired_samples: int = -1) -> (audio: float32, sample_rate: int32)",
    shape=_decode_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _decode_wav(contents, *, desired_channels, desired_samples):
    if contents.ndim:
        raise _invalid(f"contents must be scalar, got shape {shape_text(contents.shape)}")
    found = decode_samples(contents.item())
    frames, channels = found.samples.shape
    wanted = channels if desired_channels == -1 else desired_channels
    length = frames if desired_samples == -1 else desired_samples
    audio = np.zeros((length, wanted), np.float32)
    audio[:frames] = found.samples[:length, np.minimum(np.arange(wanted), channels - 1)]
    return audio, np.array(found.sample_rate, np.uint32).view(np.int32)


def _encode_shape(c):
    si.with_rank(c.inputs[0], 2), si.with_rank(c.inputs[1], 0)
    return [()]


@op("EncodeWav", "(audio: float32, sample_rate: int32) -> (contents: string)", shape=_encode_shape,
    gradient=_NO_GRADIENT, side=HOST)  # fmt: skip
def _encode_wav(audio, sample_rate):
    if audio.ndim != 2:
        raise _invalid(f"audio must be 2-dimensional{shape_text(audio.shape)}")
    if sample_rate.ndim:
        raise _invalid(f"Input sample_rate should be a scalar tensor, got {shape_text(sample_rate.shape)} instead.")
    return np.array(encode_samples(audio, int(sample_rate) % (1 << 64)), object)


@export("audio.decode_wav")
def decode_wav(contents: TensorLike, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None) -> Any:
    """The samples of a WAV file of 16-bit PCM, in [-1, 1).

    Args:
      contents: scalar string, the file.
      desired_channels: channels of the result: the last one is repeated, or some are left out; -1 for those of the file.
      desired_samples: frames of the result: zeros are appended, or the rest is left out; -1 for those of the file.
      name: node name.

    Returns:
      (audio, sample_rate): float32 [frames, channels] and int32 scalar, frames per second.

    Raises:
      InvalidArgumentError: in a run with something else than such a file.
    """
    return raw.DecodeWav(contents, desired_channels=desired_channels, desired_samples=desired_samples, name=name)


@export("audio.encode_wav")
def encode_wav(audio: TensorLike, sample_rate: TensorLike, name: str | None = None) -> Tensor:
    """A WAV file of 16-bit PCM.

    Args:
      audio: float32 [frames, channels], in [-1, 1].
      sample_rate: int32 scalar, frames per second.
      name: node name.

    Returns:
      a scalar string.
    """
    return raw.EncodeWav(audio, sample_rate, name=name)
