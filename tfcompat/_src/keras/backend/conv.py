"""Convolutions, poolings and biases of tf.keras.backend."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.arrays import batch_dot, concatenate, permute_dimensions, reshape, temporal_padding
from tfcompat._src.keras.backend.config import checked_data_format
from tfcompat._src.keras.backend.session import _has_nchw_support
from tfcompat._src.keras.backend.values import int_shape, ndim
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import expand_dims, squeeze
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.nn import bias as biases
from tfcompat._src.ops.nn import conv_functions, depthwise, dilated, pool_functions

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_LAST = {3: "NWC", 4: "NHWC", 5: "NDHWC"}
_FIRST = {3: "NCW", 4: "NCHW", 5: "NCDHW"}


def _checked_padding(padding: str) -> str:
    if padding not in ("same", "valid"):
        raise ValueError(f"Invalid padding: {padding}")
    return padding.upper()


def _channels_as_supported(
    x: TensorLike, rank: int, data_format: str, force_last: bool = False
) -> tuple[Any, str, Callable[[Tensor], Tensor]]:
    """`x` with the channels last where the device cannot have them first; its format; what turns a result back."""
    if data_format == "channels_last":
        return x, _LAST[rank], lambda y: y
    if _has_nchw_support() and not force_last:
        return x, _FIRST[rank], lambda y: y
    x = transpose(x, (0, *range(2, rank), 1))
    return x, _LAST[rank], lambda y: transpose(y, (0, rank - 1, *range(1, rank - 1)))


def _per_dimension(values: Sequence[int], op_format: str) -> tuple[int, ...]:
    """Spatial sizes with ones for batch and channels."""
    return (1, 1, *values) if op_format.startswith("NC") else (1, *values, 1)


def _convolution(
    x: TensorLike, kernel: object, rank: int, strides: object, padding: str, data_format: str, dilation_rate: object
) -> Tensor:
    x, op_format, turned_back = _channels_as_supported(x, rank, data_format)
    return turned_back(dilated.convolution(
        input=x, filter=kernel, dilation_rate=dilation_rate, strides=strides, padding=padding, data_format=op_format
    ))  # fmt: skip


@export("keras.backend.conv1d")
def conv1d(
    x: object, kernel: Any, strides: object = 1, padding: str = "valid", data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Tensor:  # fmt: skip
    """Convolution of [batch, steps, channels] with a kernel [size, in, out].

    Args:
      strides, dilation_rate: ints.
      padding: "valid", "same" or "causal" (zeros before the first step).
      data_format: "channels_last" or "channels_first"; by default Keras' setting.

    Raises:
      ValueError: unknown padding or format.
    """
    data_format = checked_data_format(data_format)
    if padding == "causal":
        x = temporal_padding(x, (dilation_rate * (kernel.shape.as_list()[0] - 1), 0))
        padding = "valid"
    return _convolution(x, kernel, 3, strides, _checked_padding(padding), data_format, dilation_rate)


@export("keras.backend.conv2d")
def conv2d(
    x: TensorLike, kernel: object, strides: object = (1, 1), padding: str = "valid", data_format: str | None = None,
    dilation_rate: object = (1, 1),
) -> Tensor:  # fmt: skip
    """Convolution of images with a kernel [height, width, in, out]; arguments as in `conv1d`, for two dimensions."""
    data_format = checked_data_format(data_format)
    return _convolution(x, kernel, 4, strides, _checked_padding(padding), data_format, dilation_rate)


@export("keras.backend.conv3d")
def conv3d(
    x: TensorLike, kernel: object, strides: object = (1, 1, 1), padding: str = "valid", data_format: str | None = None,
    dilation_rate: object = (1, 1, 1),
) -> Tensor:  # fmt: skip
    """Convolution of volumes with a kernel of rank 5; arguments as in `conv1d`, for three dimensions."""
    data_format = checked_data_format(data_format)
    return _convolution(x, kernel, 5, strides, _checked_padding(padding), data_format, dilation_rate)


def _transposed_shape(output_shape: Any, x: object, moved: bool) -> Tensor:
    """The shape of the result as a tensor, with the channels last where they were `moved`."""
    if isinstance(output_shape, Tensor) and not moved:
        output_shape[0]  # TensorFlow 1.15 makes this node to see whether the batch is None
        return output_shape
    sizes = [output_shape[i] for i in range(ndim(x))]
    if moved:
        sizes = [sizes[0], *sizes[2:], sizes[1]]
    if sizes[0] is None:
        sizes[0] = shape_of(x)[0]
    return stack(sizes)


@export("keras.backend.conv2d_transpose")
def conv2d_transpose(
    x: object, kernel: TensorLike, output_shape: object, strides: Any = (1, 1), padding: str = "valid",
    data_format: str | None = None, dilation_rate: Any = (1, 1),
) -> Tensor:  # fmt: skip
    """The transpose of `conv2d`; its result has `output_shape`, ints, scalar tensors, or None for the batch."""
    data_format = checked_data_format(data_format)
    plain = tuple(dilation_rate) == (1, 1)
    x, op_format, turned_back = _channels_as_supported(x, 4, data_format, force_last=not plain)
    wanted = _transposed_shape(output_shape, x, data_format == "channels_first" and op_format == "NHWC")
    padding = _checked_padding(padding)
    if plain:
        strides = _per_dimension(strides, op_format)
        return turned_back(conv_functions.conv2d_transpose(
            x, kernel, wanted, strides, padding=padding, data_format=op_format
        ))  # fmt: skip
    if dilation_rate[0] != dilation_rate[1]:
        raise AssertionError(f"dilation_rate must be the same in both dimensions, got {dilation_rate}")
    return turned_back(dilated.atrous_conv2d_transpose(x, kernel, wanted, rate=dilation_rate[0], padding=padding))


def conv3d_transpose(
    x: object, kernel: Any, output_shape: object, strides: Any = (1, 1, 1), padding: str = "valid",
    data_format: str | None = None,
) -> Tensor:  # fmt: skip
    """The transpose of `conv3d`; its result has `output_shape`, ints, scalar tensors, or None for the batch."""
    data_format = checked_data_format(data_format)
    x, op_format, turned_back = _channels_as_supported(x, 5, data_format)
    wanted = _transposed_shape(output_shape, x, data_format == "channels_first" and op_format == "NDHWC")
    return turned_back(conv_functions.conv3d_transpose(
        x, kernel, wanted, _per_dimension(strides, op_format), padding=_checked_padding(padding),
        data_format=op_format,
    ))  # fmt: skip


def separable_conv1d(
    x: TensorLike, depthwise_kernel: TensorLike, pointwise_kernel: TensorLike, strides: Any = 1, padding: str = "valid",
    data_format: str | None = None, dilation_rate: Any = 1,
) -> Tensor:  # fmt: skip
    """A convolution of each channel, then one of size 1; arguments as in `conv1d`."""
    data_format = checked_data_format(data_format)
    strides = (strides,) if isinstance(strides, int) else tuple(strides)
    rates = (dilation_rate,) if isinstance(dilation_rate, int) else tuple(dilation_rate)
    x, op_format, turned_back = _channels_as_supported(x, 3, data_format)
    axis = 1 if op_format == "NWC" else 2
    outputs = depthwise.separable_conv2d(
        expand_dims(x, axis), expand_dims(depthwise_kernel, 0), expand_dims(pointwise_kernel, 0),
        strides=_per_dimension(strides * 2, op_format), padding=_checked_padding(padding), rate=(1, *rates),
        data_format=op_format,
    )  # fmt: skip
    return turned_back(squeeze(outputs, [axis]))


@export("keras.backend.separable_conv2d")
def separable_conv2d(
    x: object, depthwise_kernel: object, pointwise_kernel: object, strides: Any = (1, 1), padding: str = "valid",
    data_format: str | None = None, dilation_rate: object = (1, 1),
) -> Tensor:  # fmt: skip
    """A convolution of each channel, then one of size 1; arguments as in `conv2d`."""
    data_format = checked_data_format(data_format)
    _check_two(strides, "strides")
    x, op_format, turned_back = _channels_as_supported(x, 4, data_format)
    return turned_back(depthwise.separable_conv2d(
        x, depthwise_kernel, pointwise_kernel, strides=_per_dimension(strides, op_format),
        padding=_checked_padding(padding), rate=dilation_rate, data_format=op_format,
    ))  # fmt: skip


def depthwise_conv2d(
    x: object, depthwise_kernel: object, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None,
    dilation_rate: object = (1, 1),
) -> Tensor:  # fmt: skip
    """A convolution of each channel; arguments as in `conv2d`."""
    data_format = checked_data_format(data_format)
    x, op_format, turned_back = _channels_as_supported(x, 4, data_format)
    return turned_back(depthwise.depthwise_conv2d(
        x, depthwise_kernel, strides=_per_dimension(strides, op_format), padding=_checked_padding(padding),
        rate=dilation_rate, data_format=op_format,
    ))  # fmt: skip


def _check_two(values: Sequence[int], name: str) -> None:
    if len(values) != 2:
        raise ValueError(f"`{name}` must be a tuple of 2 integers.")


_POOLS: dict[tuple[str, int], Callable] = {
    ("max", 4): pool_functions.max_pool,
    ("avg", 4): pool_functions.avg_pool,
    ("max", 5): pool_functions.max_pool3d,
    ("avg", 5): pool_functions.avg_pool3d,
}


def _pool(x: object, rank: int, pool_size: Any, strides: Any, padding: str, data_format: str | None, mode: str) -> Tensor:
    x, op_format, turned_back = _channels_as_supported(x, rank, checked_data_format(data_format))
    padding = _checked_padding(padding)
    if (mode, rank) not in _POOLS:
        raise ValueError(f"Invalid pooling mode: {mode}")
    return turned_back(_POOLS[mode, rank](
        x, _per_dimension(pool_size, op_format), _per_dimension(strides, op_format), padding=padding,
        data_format=op_format,
    ))  # fmt: skip


@export("keras.backend.pool2d")
def pool2d(
    x: TensorLike, pool_size: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:  # fmt: skip
    """The largest element ("max") or the mean ("avg") of each window of images.

    Args:
      pool_size, strides: two ints.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; by default Keras' setting.

    Raises:
      ValueError: an argument is none of these.
    """
    data_format = checked_data_format(data_format)
    _check_two(pool_size, "pool_size")
    _check_two(strides, "strides")
    return _pool(x, 4, pool_size, strides, padding, data_format, pool_mode)


@export("keras.backend.pool3d")
def pool3d(
    x: TensorLike, pool_size: object, strides: object = (1, 1, 1), padding: str = "valid", data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:  # fmt: skip
    """The largest element or the mean of each window of volumes; arguments as in `pool2d`, for three dimensions."""
    return _pool(x, 5, pool_size, strides, padding, data_format, pool_mode)


def local_conv(
    inputs: Any, kernel: object, kernel_size: Any, strides: Any, output_shape: Any, data_format: str | None = None
) -> Tensor:
    """A convolution with another kernel at each position.

    Args:
      inputs: tensor of rank 3 or 4.
      kernel: [positions, elements of a window, out].
      kernel_size, strides: ints for each spatial dimension.
      output_shape: number of positions in each spatial dimension.
      data_format: "channels_last" or "channels_first"; by default Keras' setting.
    """
    first = checked_data_format(data_format) == "channels_first"
    _, features, channels = int_shape(kernel)
    rank = len(output_shape)
    patches = []
    for position in itertools.product(*(range(size) for size in output_shape)):
        window = [slice(p * s, p * s + size) for p, s, size in zip(position, strides, kernel_size)]
        window.insert(0 if first else rank, slice(None))
        patches.append(reshape(inputs[(slice(None), *window)], (1, -1, features)))
    products = batch_dot(concatenate(patches, axis=0), kernel)
    products = reshape(products, (*output_shape, -1, channels))
    spatial = range(rank)
    return permute_dimensions(products, [rank, rank + 1, *spatial] if first else [rank, *spatial, rank + 1])


@export("keras.backend.local_conv1d")
def local_conv1d(inputs: object, kernel: TensorLike, kernel_size: object, strides: object, data_format: str | None = None) -> Tensor:
    """`local_conv` in one dimension."""
    return local_conv(inputs, kernel, kernel_size, strides, (int_shape(kernel)[0],), data_format)


@export("keras.backend.local_conv2d")
def local_conv2d(
    inputs: object, kernel: TensorLike, kernel_size: object, strides: object, output_shape: object, data_format: str | None = None
) -> Tensor:
    """`local_conv` in two dimensions."""
    return local_conv(inputs, kernel, kernel_size, strides, output_shape, data_format)


@export("keras.backend.bias_add")
def bias_add(x: TensorLike, bias: TensorLike, data_format: str | None = None) -> Tensor:
    """Adds a bias of one value for each channel, or of the shape of an element of the batch.

    Raises:
      ValueError: unknown format, or another rank of the bias.
    """
    first = checked_data_format(data_format) == "channels_first"
    sizes, rank = int_shape(bias), ndim(x)
    if len(sizes) not in (1, rank - 1):
        raise ValueError(f"Unexpected bias dimensions {len(sizes)}, expect to be 1 or {rank} dimensions")
    if rank not in (3, 4, 5):
        return biases.bias_add(x, bias)
    if rank == 4 and len(sizes) == 1 and (not first or _has_nchw_support()):
        return biases.bias_add(x, bias, data_format="NCHW" if first else "NHWC")
    if len(sizes) > 1:
        return x + reshape(bias, (1, sizes[-1], *sizes[:-1]) if first else (1, *sizes))
    if first:
        return x + reshape(bias, (1, sizes[0], *(1,) * (rank - 2)))
    return x + reshape(bias, (*(1,) * (rank - 1 if rank == 3 else rank - 2), sizes[0]))
