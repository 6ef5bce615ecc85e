"""Static shapes and arguments of operations that slide a window: convolution and pooling."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.graph.shape_inference import Sizes
from tfcompat._src.ops.nn.windows import channels_first, spatial

Size = int | None


def window_positions(size: Size, window: Size, stride: int, padding: str, dilation: int = 1, extra: int = 0) -> Size:
    """How many window positions a dimension has, where the sizes are known.

    size, window: of the dimension and the window; None where unknown. padding: SAME, VALID or EXPLICIT, the last with
    `extra` padding elements in all. Raises ValueError where the window does not fit, in 1.15's words.
    Definition: tf.nn.convolution's documentation of padding.
    """
    if stride <= 0:
        raise ValueError(f"Stride must be > 0, but got {stride}")
    if dilation < 1:
        raise ValueError(f"Dilation rate must be >= 1, but got {dilation}")
    if padding == "SAME":
        return None if size is None else -(-size // stride)
    if size is None or window is None:
        return None
    size, extent = size + extra, (window - 1) * dilation + 1
    if extent > size:
        raise ValueError(f"Negative dimension size caused by subtracting {extent} from {size}")
    return (size - extent) // stride + 1


def window_counts(
    sizes: Sequence[int], window: Sequence[int], strides: Sequence[int], padding: str, dilations: Sequence[int],
    extra: Sequence[int],
) -> list[int]:  # fmt: skip
    """`window_positions` of every spatial dimension when a kernel runs: a window just too large gives 0.

    Raises InvalidArgumentError where the count would be negative.
    """
    counts = []
    for size, length, stride, dilation, more in zip(sizes, window, strides, dilations, extra):
        extent = (length - 1) * dilation + 1
        count = -(-size // stride) if padding == "SAME" else int((size + more - extent + stride) / stride)
        if count < 0:
            raise errors.InvalidArgumentError(
                None, None,
                f"Computed output size would be negative: {count} [input_size: {size}, "
                f"effective_filter_size: {extent}, "
                f"stride: {stride}]",
            )  # fmt: skip
        counts.append(count)
    return counts


def split(sizes: Sizes, data_format: str) -> tuple[Any, tuple, Any]:
    """(batch, spatial sizes, channels) of a shape in `data_format` order."""
    return sizes[0], spatial(sizes, data_format), sizes[1 if channels_first(data_format) else -1]


def join(batch: object, positions: Sequence, channels: object, data_format: str) -> tuple:
    """The inverse of `split`."""
    return (batch, channels, *positions) if channels_first(data_format) else (batch, *positions, channels)


def text_attr(c: Any, name: str) -> str:
    """A string attribute of the node whose shape is inferred."""
    return c.attr(name).decode()


def per_dimension(value: Any, count: int, data_format: str | None, name: str) -> Any:
    """An argument such as `strides` with one entry for each of the `count` + 2 dimensions.

    value: None (1 everywhere), a number, or a sequence of length 1, `count` or `count` + 2.
    data_format: channels second where it begins with NC.
    Raises ValueError for another length.
    """
    if value is None:
        value = [1]
    elif not isinstance(value, Sized):
        value = [value]
    if len(value) == count + 2:
        return value
    if len(value) not in (1, count):
        raise ValueError(f"{name} should be of length 1, {count} or {count + 2} but was {len(value)}")
    value = list(value) * count if len(value) == 1 else list(value)
    return [1, 1, *value] if data_format is not None and data_format.startswith("NC") else [1, *value, 1]
