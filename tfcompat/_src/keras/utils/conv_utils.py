"""Arguments, sizes and connections that convolutions and poolings have in common."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tfcompat._src.keras.backend.config import image_data_format

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
    """ "channels_last" or "channels_first" in lower case, by default Keras' setting; ValueError for anything else."""
    found = image_data_format() if value is None else value.lower()
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
    """The name that ops use for `data_format` of rank `ndim`: "NHWC", "NCW"...; ValueError for another rank or format."""
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError("Invalid data_format:", data_format)
    if ndim not in _SHORT:
        raise ValueError("Input rank not supported:", ndim)
    space = _SHORT[ndim]
    return f"NC{space}" if data_format == "channels_first" else f"N{space}C"


def spatial_axes(data_format: str, rank: int) -> range:
    """The axes of the `rank` spatial dimensions."""
    first = 2 if data_format == "channels_first" else 1
    return range(first, first + rank)


# ---- sizes ----


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """The number of positions of a window; `padding` is "same", "valid", "full" or "causal"."""
    if input_length is None:
        return None
    reach = (filter_size - 1) * dilation
    length = input_length + {"same": 0, "causal": 0, "valid": -reach, "full": reach}[padding]
    return -(-length // stride)


def conv_input_length(output_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """The length that a window has `output_length` positions on; `padding` is "same", "valid" or "full"."""
    if output_length is None:
        return None
    return (output_length - 1) * stride - 2 * _padding_before(filter_size, padding) + filter_size


def _padding_before(filter_size: int, padding: str) -> int:
    return {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]


def deconv_output_length(
    input_length: Any, filter_size: int, padding: str, output_padding: int | None = None, stride: int = 0,
    dilation: int = 1,
) -> Any:  # fmt: skip
    """The size of the result of a transposed convolution; `input_length` may be a tensor."""
    if input_length is None:
        return None
    size = filter_size + (filter_size - 1) * (dilation - 1)
    if output_padding is not None:
        return (input_length - 1) * stride + size - 2 * _padding_before(size, padding) + output_padding
    if padding == "same":
        return input_length * stride
    if padding == "full":
        return input_length * stride - (stride + size - 2)
    return input_length * stride + max(size - stride, 0)


def conv_output_shape(
    input_shape: Sequence[int], kernel_shape: Sequence[int], strides: Sequence[int], padding: str
) -> tuple[int, ...]:
    """The number of positions of a window in each dimension."""
    return tuple(
        conv_output_length(size, window, padding, stride) if size else 0
        for size, window, stride in zip(input_shape, kernel_shape, strides)
    )


# ---- kernels ----


def convert_kernel(kernel: object) -> np.ndarray:
    """A kernel with its spatial dimensions in reverse order, as Theano and TensorFlow differ; ValueError for its rank."""
    kernel = np.asarray(kernel)
    if not 3 <= kernel.ndim <= 5:
        raise ValueError("Invalid kernel shape:", kernel.shape)
    return np.copy(np.flip(kernel, axis=tuple(range(kernel.ndim - 2))))


def conv_connected_inputs(
    input_shape: Sequence[int], kernel_shape: Sequence[int], output_position: Sequence[int], strides: Sequence[int],
    padding: str,
) -> list[range]:  # fmt: skip
    """The input positions that one output of a convolution is computed of, a range for each dimension."""
    ranges = []
    for size, window, position, stride in zip(input_shape, kernel_shape, output_position, strides):
        before = window // 2
        center = position * stride + (before if padding == "valid" else 0)
        ranges.append(range(max(0, center - before), min(size, center + window - before)))
    return ranges


def _per_dimension(value: Any, input_shape: Sequence[int]) -> Sequence[int]:
    return (value,) * len(input_shape) if isinstance(value, int) else value


def _connections(
    input_shape: tuple[int, ...], kernel_shape: Sequence[int], strides: Sequence[int], padding: str
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Each pair of an output position and an input position that a convolution connects."""
    if padding not in ("same", "valid"):
        raise NotImplementedError(
            f'Padding type {padding} not supported. Only "valid" and "same" are implemented.'
        )
    rank = len(input_shape)
    if len(kernel_shape) != rank or len(strides) != rank:
        raise ValueError(
            "Number of strides, input and kernel dimensions must all match. "
            f"Received: {len(strides)}, {rank}, {len(kernel_shape)}."
        )
    for output in itertools.product(*map(range, conv_output_shape(input_shape, kernel_shape, strides, padding))):
        connected = conv_connected_inputs(input_shape, kernel_shape, output, strides, padding)
        for position in itertools.product(*connected):
            yield output, position


def conv_kernel_mask(input_shape: tuple[int, ...], kernel_shape: object, strides: object, padding: str) -> np.ndarray:
    """Which inputs each output of a convolution is computed of.

    Returns:
      a bool array [*input_shape, *output_shape].

    Raises:
      NotImplementedError: unknown padding. ValueError: the arguments have different ranks.
    """
    kernel_shape, strides = (_per_dimension(value, input_shape) for value in (kernel_shape, strides))
    pairs = list(_connections(input_shape, kernel_shape, strides, padding))
    mask = np.zeros(tuple(input_shape) + conv_output_shape(input_shape, kernel_shape, strides, padding), dtype=bool)
    for output, position in pairs:
        mask[position + output] = True
    return mask


def conv_kernel_idxs(
    input_shape: tuple[int, ...], kernel_shape: object, strides: object, padding: str, filters_in: int, filters_out: int,
    data_format: str,
) -> Iterator[tuple[int, int]]:  # fmt: skip
    """The pairs (output, input) of elements, counted in flat tensors with channels, that a convolution connects.

    Raises:
      NotImplementedError: unknown padding. ValueError: unknown format, or the arguments have different ranks.
    """
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(
            f"Data format {data_format} not recignized."
            '`data_format` must be "channels_first" or "channels_last".'
        )
    kernel_shape, strides = (_per_dimension(value, input_shape) for value in (kernel_shape, strides))
    pairs = _connections(input_shape, kernel_shape, strides, padding)
    sizes = conv_output_shape(input_shape, kernel_shape, strides, padding)

    def flat(position: tuple[int, ...], channel: int, space: tuple[int, ...], channels: int) -> int:
        if data_format == "channels_first":
            return int(np.ravel_multi_index((channel, *position), (channels, *space)))
        return int(np.ravel_multi_index((*position, channel), (*space, channels)))

    for output, position in pairs:
        for i, o in itertools.product(range(filters_in), range(filters_out)):
            yield flat(output, o, sizes, filters_out), flat(position, i, tuple(input_shape), filters_in)
