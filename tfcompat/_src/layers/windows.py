"""Arguments and sizes that convolutions and poolings have in common."""

from __future__ import annotations

from typing import Any

_SHORT = {3: "W", 4: "HW", 5: "DHW"}


def normalize_tuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """`value` as `n` ints; ValueError naming the argument `name` where it is none."""
    if isinstance(value, int):
        return (value,) * n
    wrong = f"The `{name}` argument must be a tuple of {n} integers. Received: {value}"
    try:
        values = tuple(value)
    except TypeError:
        raise ValueError(wrong) from None
    if len(values) != n:
        raise ValueError(wrong)
    for single in values:
        try:
            int(single)
        except (ValueError, TypeError):
            raise ValueError(f"{wrong} including element {single} of type {type(single)}") from None
    return values


def normalize_data_format(value: str | None) -> str:
    """ "channels_last" (the default) or "channels_first" in lower case; ValueError for anything else."""
    found = "channels_last" if value is None else value.lower()
    if found not in ("channels_first", "channels_last"):
        raise ValueError(
            f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {value}'
        )
    return found


def normalize_padding(value: Any) -> Any:
    """ "valid", "same" or "causal" in lower case, or a list as it is; ValueError for anything else."""
    if isinstance(value, (list, tuple)):
        return value
    padding = value.lower()
    if padding not in ("valid", "same", "causal"):
        raise ValueError(
            'The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", only for `Conv1D). '
            f"Received: {padding}"
        )
    return padding


def convert_data_format(data_format: str, ndim: int) -> str:
    """The name that ops use for `data_format`: "NHWC", "NCW"..."""
    space = _SHORT[ndim]
    return f"NC{space}" if data_format == "channels_first" else f"N{space}C"


def spatial_axes(data_format: str, rank: int) -> range:
    """The axes of the `rank` spatial dimensions."""
    first = 2 if data_format == "channels_first" else 1
    return range(first, first + rank)


def output_length(length: int | None, size: int, padding: str, stride: int, dilation: int = 1) -> int | None:
    """The number of positions of a window."""
    if length is None:
        return None
    if padding == "valid":
        length -= (size - 1) * dilation
    return -(-length // stride)


def transposed_output_length(
    length: Any, size: int, padding: str, output_padding: int | None = None, stride: int = 1, dilation: int = 1
) -> Any:
    """The size of the result of a transposed convolution; `length` may be a tensor."""
    if length is None:
        return None
    size += (size - 1) * (dilation - 1)
    if output_padding is not None:
        pad = size // 2 if padding == "same" else 0
        return (length - 1) * stride + size - 2 * pad + output_padding
    if padding == "same":
        return length * stride
    return length * stride + max(size - stride, 0)
