"""How a NumPy array becomes the values of a Summary message.

Definitions: core/framework/summary.proto; histogram buckets of core/lib/histogram (limits grow by a tenth from 1e-12 to 1e20).
"""

from __future__ import annotations

import bisect
import functools
import math
import sys
from collections.abc import Iterable, Sequence

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import dtypes, errors
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.audio.wav import encode_samples
from tfcompat._src.ops.image.png import encode_png
from tfcompat._src.proto.messages import HistogramProto, Summary

_LARGEST = sys.float_info.max
_FEW = 100
"""Elements of which a histogram is sooner made in Python than in NumPy."""
_DARK = np.float32(1e-6)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def add_scalar(summary: Summary, tag: bytes, value: np.generic) -> None:
    """Adds one number."""
    summary.value.add(tag=tag.decode("utf-8", "replace"), simple_value=np.float32(value))


def add_tensor(value: Summary.Value, array: np.ndarray) -> None:
    """Sets the tensor of a summary value: strings one by one, everything else as bytes."""
    tensor = value.tensor
    tensor.tensor_shape.SetInParent()
    for size in array.shape:
        tensor.tensor_shape.dim.add(size=size)
    if array.dtype == object:
        tensor.dtype = dtypes.string.as_datatype_enum
        tensor.string_val.extend(array.ravel().tolist())
    else:
        tensor.dtype = dtypes.as_dtype(array.dtype).as_datatype_enum
        tensor.tensor_content = array.tobytes()


def set_metadata(value: Summary.Value, serialized: bytes) -> None:
    """Sets the metadata of a summary value, which has some from then on, be they empty.

    Raises:
      InvalidArgumentError: it is no serialized SummaryMetadata.
    """
    value.metadata.SetInParent()
    try:
        value.metadata.MergeFromString(serialized)
    except DecodeError:
        raise _invalid(f"The metadata of tag {value.tag} is no SummaryMetadata message") from None


# ---- histograms ----


@functools.cache
def _bucket_limits() -> list[float]:
    positive, limit = [], 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(_LARGEST)
    return [-x for x in reversed(positive)] + [0.0] + positive


def add_histogram(summary: Summary, tag: bytes, values: np.ndarray, named: str) -> None:
    """Adds a histogram of all elements.

    Raises:
      InvalidArgumentError: a value is not finite; `named` says where.
    """
    x = values.reshape(-1).astype(np.float64)
    filled = _of_few(x.tolist()) if x.size <= _FEW else _of_many(x, values)
    if filled is None:
        worst = next(v for v in x.tolist() if not math.isfinite(v))
        raise _invalid(f"{'Nan' if math.isnan(worst) else 'Infinity'} in summary histogram for: {named}")
    smallest, largest, total, squares, counts = filled
    limits = _bucket_limits()
    shown: dict[int, int] = {}
    for bucket, count in counts:
        if bucket:
            shown.setdefault(bucket - 1, 0)
        shown[bucket] = count
    shown.setdefault(len(limits) - 1, 0)
    histogram = HistogramProto(
        min=smallest + 0.0, max=largest + 0.0, num=x.size, sum=total + 0.0, sum_squares=squares,
        bucket_limit=[limits[bucket] for bucket in shown], bucket=shown.values(),
    )  # fmt: skip
    summary.value.add(tag=tag.decode("utf-8", "replace"), histo=histogram)


_Filled = tuple[float, float, float, float, Iterable[tuple[int, int]]]
"""The smallest and largest element, their sum and that of their squares, and how many are in each bucket that is not empty, in order."""


def _of_few(x: list[float]) -> _Filled | None:
    """What a histogram says of elements, in Python's numbers; None where one is not finite."""
    if not all(map(math.isfinite, x)):
        return None
    limits = _bucket_limits()
    last, total, squares = len(limits) - 1, 0.0, 0.0
    counts: dict[int, int] = {}
    for value in x:
        bucket = bisect.bisect_right(limits, value)
        counts[bucket] = counts.get(bucket, 0) + 1
        total += value
        squares += value * value
    if last + 1 in counts:
        counts[last] = counts.get(last, 0) + counts.pop(last + 1)
    return min(x, default=_LARGEST), max(x, default=-_LARGEST), total, squares, sorted(counts.items())


def _of_many(x: np.ndarray, values: np.ndarray) -> _Filled | None:
    """`_of_few` of an array: `values` as float64, and as they are."""
    if not np.isfinite(x).all():
        return None
    limits = np.array(_bucket_limits())
    below = np.sort(values, axis=None).astype(np.float64).searchsorted(limits)
    below[-1] = x.size
    counts = np.diff(below, prepend=0)
    with np.errstate(over="ignore"):
        squares = np.cumsum(x * x)[-1]
    full = np.flatnonzero(counts)
    return x.min(), x.max(), np.cumsum(x)[-1], squares, zip(full.tolist(), counts[full].tolist())


# ---- images ----


def _as_pixels(image: np.ndarray, bad_color: np.ndarray) -> np.ndarray:
    """An image of floats as uint8: scaled to 255, or around 128 where a value is negative; pixels not finite in `bad_color`."""
    finite = np.isfinite(image).all(-1)
    found = image[finite].astype(np.float32)
    low, high = (found.min(), found.max()) if found.size else (np.float32(np.inf), np.float32(-np.inf))
    dtype = image.dtype.type
    if low < 0:
        largest = max(abs(low), abs(high))
        scale, offset = dtype(0 if largest < _DARK else np.float32(127) / largest), dtype(128)
    else:
        scale, offset = dtype(0 if high < _DARK else np.float32(255) / high), dtype(0)
    pixels = np.empty(image.shape, np.uint8)
    pixels[finite] = (image[finite] * scale + offset).astype(np.uint8)
    pixels[~finite] = bad_color[: image.shape[-1]]
    return pixels


def add_images(summary: Summary, tag: bytes, images: np.ndarray, max_images: int, bad_color: np.ndarray) -> None:
    """Adds up to `max_images` of a batch [batch, height, width, channels] as PNG files.

    Raises:
      InvalidArgumentError: the shape is not one of images with 1, 3 or 4 channels.
    """
    if images.ndim != 4 or images.shape[3] not in (1, 3, 4):
        raise _invalid(f"Tensor must be 4-D with last dim 1, 3, or 4, not {shape_text(images.shape)}")
    batch, height, width, channels = images.shape
    if max(images.shape[:3]) >= 1 << 31 or height * width >= 1 << 29:
        raise _invalid(f"Tensor too large for summary {shape_text(images.shape)}")
    if not height * width:
        raise _invalid(f"input tensor must have non-zero dims. Found: [{batch}, {height}, {width}, {channels}].")
    if images.dtype != np.uint8 and len(bad_color) < channels:
        text = f"expected depth <= bad_color.size, got depth = {channels}, bad_color.size = {len(bad_color)}"
        raise _invalid(text)
    for image, name in zip(images, _tags(tag, "image", max_images, batch)):
        pixels = image if image.dtype == np.uint8 else _as_pixels(image, bad_color)
        value = summary.value.add(tag=name)
        value.image.height, value.image.width, value.image.colorspace = height, width, channels
        value.image.encoded_image_string = encode_png(pixels)


def _tags(tag: bytes, kind: str, wanted: int, there: int) -> Sequence[str]:
    """The tags of the members of a batch; a single wanted one has no number."""
    text = tag.decode("utf-8", "replace")
    count = min(wanted, there)
    return [f"{text}/{kind}/{i}" for i in range(count)] if wanted > 1 else [f"{text}/{kind}"] * count


# ---- audio ----


def add_audio(summary: Summary, tag: bytes, audio: np.ndarray, sample_rate: np.float32, max_outputs: int) -> None:
    """Adds up to `max_outputs` of a batch [batch, frames] or [batch, frames, channels] as WAV files.

    Raises:
      InvalidArgumentError: another shape, or a sample rate that is not positive.
    """
    if audio.ndim not in (2, 3):
        raise _invalid(f"Tensor must be 3-D or 2-D, got: {shape_text(audio.shape)}")
    if not sample_rate > 0:
        raise _invalid("sample_rate must be > 0")
    clips = audio if audio.ndim == 3 else audio[:, :, None]
    for clip, name in zip(clips, _tags(tag, "audio", max_outputs, len(clips))):
        found = summary.value.add(tag=name).audio
        found.sample_rate, found.num_channels, found.length_frames = sample_rate, clip.shape[1], clip.shape[0]
        found.content_type = "audio/wav"
        found.encoded_audio_string = encode_samples(clip, max(int(np.rint(sample_rate)), 1))
