"""Windows with gaps, by way of space_to_batch: tf.nn.with_space_to_batch, convolution, atrous_conv2d and pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.blocks import batch_to_space, space_to_batch
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.shape import expand_dims, shape, squeeze
from tfcompat._src.ops.composed.indexing import required_space_to_batch_paddings
from tfcompat._src.ops.nn.conv_functions import conv1d, conv2d, conv2d_transpose
from tfcompat._src.ops.nn.pool_functions import avg_pool, avg_pool3d, max_pool, max_pool3d
from tfcompat._src.ops.nn.window_sizes import per_dimension

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

# ---- with_space_to_batch ----


def _spatial_dims(given: Any, count: int, data_format: str | None) -> list[int]:
    """The dimensions that windows slide along; ValueError where `given` is not a rising list of positive ints."""
    if given is None:
        first = 2 if data_format is not None and data_format.startswith("NC") else 1
        return list(range(first, first + count))
    dims = sorted({int(d) for d in given})
    if dims != list(given) or any(d < 1 for d in dims):
        raise ValueError("spatial_dims must be a montonically increasing sequence of positive integers")
    return dims


def _window_paddings(window: Any, count: int, rate: Any) -> Tensor:
    """(before, after) per dimension, so that a dilated window fits at every position."""
    window = window[:count]
    total = window + (window - 1) * (rate - 1) - 1
    before = total // 2
    after = total - before
    return stack([[before[i], after[i]] for i in range(count)])


def _with_gaps(values: Tensor, fill: int, dims: list[int]) -> Any:
    """One row of `values` per dimension from 1 on; dimensions that are not in `dims` get `fill`."""
    known = constant_value(values)
    source = values if known is None else known
    trailing = [int(n) for n in values.shape[1:]]
    dtype = values.dtype.as_numpy_dtype
    parts, previous, start = [], 0, 0
    while start < len(dims):
        if dims[start] > 1:
            parts.append(np.full([dims[start] - 1 - previous, *trailing], fill, dtype))
        end = start
        while end + 1 < len(dims) and dims[end + 1] == dims[end] + 1:
            end += 1
        parts.append(source[start : end + 1])
        previous, start = dims[end], end + 1
    return concat(parts, 0) if known is None else np.concatenate(parts)


def _base_paddings(padding: str, window: TensorLike, count: int, rate: object) -> Any:
    if padding == "VALID":
        return np.zeros([count, 2], np.int32)
    if padding != "SAME":
        raise ValueError(f"Invalid padding method {padding!r}")
    if window is None:
        raise ValueError("filter_shape must be specified for SAME padding")
    window = to_tensor(window, name="filter_shape")
    known = constant_value(window)
    return _window_paddings(window if known is None else known, count, rate)


def _sizes_along(x: Tensor, known: TensorShape, dims: list[int]) -> Any:
    """The sizes of `x` along `dims`, as a list where `known` has them all."""
    if known.ndims is not None:
        sizes = [known.sizes[d] for d in dims]
        if None not in sizes:
            return sizes
    sizes = shape(x)
    return stack([sizes[d] for d in dims])


class SpaceToBatch:
    """Applies an operation to every phase of a dilated grid; what does not depend on the input is made beforehand.

    Args:
      input_shape: TensorShape of the inputs.
      dilation_rate, padding, filter_shape, spatial_dims, data_format: see `with_space_to_batch`.
    """

    def __init__(
        self, input_shape: TensorShape, dilation_rate: TensorLike, padding: str, filter_shape: TensorLike | None = None,
        spatial_dims: object = None, data_format: str | None = None,
    ) -> None:  # fmt: skip
        self.input_shape, self.padding = input_shape, padding
        self.rate = to_tensor(dilation_rate, dtypes.int32, "dilation_rate")
        if self.rate._sizes is None or len(self.rate._sizes) != 1:
            raise ValueError("rate must be rank 1")
        if self.rate._sizes[0] is None:
            raise ValueError("rate must have known shape")
        self.count = self.rate._sizes[0]
        self.dims = _spatial_dims(spatial_dims, self.count, data_format)
        channels_first = data_format is not None and data_format.startswith("NC")
        least = self.dims[-1] if channels_first else self.dims[-1] + 1
        if input_shape.ndims is not None and input_shape.ndims < least:
            raise ValueError(f"input tensor must have rank {least} at least")
        known = constant_value(self.rate)
        if known is not None and np.any(known < 1):
            raise ValueError("dilation_rate must be positive")
        self.is_plain = known is not None and bool(np.all(known == 1))
        if not self.is_plain:
            self.base = _base_paddings(padding, filter_shape, self.count, self.rate if known is None else known)

    def __call__(self, input: Tensor, op: Callable) -> Tensor:
        if self.is_plain:
            return op(input, self.count, self.padding)
        paddings, crops = required_space_to_batch_paddings(
            input_shape=_sizes_along(input, self.input_shape, self.dims), base_paddings=self.base, block_shape=self.rate
        )
        rate = _with_gaps(self.rate, 1, self.dims)
        paddings, crops = _with_gaps(paddings, 0, self.dims), _with_gaps(crops, 0, self.dims)
        converted = raw.SpaceToBatchND(input, rate, paddings)
        return raw.BatchToSpaceND(op(converted, self.count, "VALID"), rate, crops)


@export("nn.with_space_to_batch")
def with_space_to_batch(
    input: TensorLike, dilation_rate: object, padding: str, op: Callable, filter_shape: object = None, spatial_dims: object = None,
    data_format: str | None = None,
) -> Tensor:  # fmt: skip
    """`op(input, number of spatial dimensions, padding)` on every phase of a dilated grid, put together again.

    Args:
      input: Tensor of rank above the largest of `spatial_dims`.
      dilation_rate: int32 vector, the spacing per spatial dimension.
      padding: "SAME" or "VALID".
      op: the function.
      filter_shape: the window's sizes, needed for SAME.
      spatial_dims: rising list of dimensions, by default from 1 on (from 2 where the channels come first).
      data_format: begins with NC where the channels come first.

    Raises:
      ValueError: a rate below 1, or arguments that do not fit.
    """
    input = to_tensor(input, name="input")
    return SpaceToBatch(input.shape, dilation_rate, padding, filter_shape, spatial_dims, data_format)(input, op)


def _strides_and_rates(count: int, strides: Any, rates: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays of `count` ints; ValueError where one does not fit, or both are above 1."""
    found = []
    for name, values in (("dilation_rate", rates), ("strides", strides)):
        values = [1] * count if values is None else values
        if len(values) != count:
            raise ValueError(f"len({name})={len(values)} but should be {count}")
        values = np.array(values, np.int32)
        if np.any(values < 1):
            raise ValueError(f"all values of {name} must be positive")
        found.append(values)
    rates, strides = found
    if np.any(strides > 1) and np.any(rates > 1):
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
    return strides, rates


# ---- convolution ----


def _plain_convolution(
    input: TensorLike, filters: TensorLike, strides: Any, padding: str, data_format: str | None, name: str | None
) -> Tensor:
    """A convolution without dilation in one to three dimensions; `strides` has one entry per spatial dimension."""
    strides = list(strides)
    count = len(strides)
    if count == 1:
        return conv1d(input, filters, strides[0], padding, data_format=data_format or "NWC", name=name)
    data_format = data_format or ("NHWC" if count == 2 else "NDHWC")
    strides = per_dimension(strides, count, data_format, "strides")
    if count == 2:
        return conv2d(input, filters, strides, padding, data_format=data_format, dilations=None, name=name)
    return raw.Conv3D(input, filters, strides, padding, data_format, name=name)


def _convolution_rank(input: Any, filters: Any) -> int:
    """The number of spatial dimensions; ValueError where it is unknown or not 1 to 3."""
    for tensor in (input, filters):
        sizes = TensorShape(tensor.shape)
        if sizes.ndims is not None:
            if not 3 <= sizes.ndims <= 5:
                raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {sizes.ndims}.")
            return sizes.ndims - 2
    raise ValueError("rank of input or filter must be known")


def _check_dilated(input: Any, filters: Any, count: int, channel_axis: int) -> None:
    input_sizes, filter_sizes = TensorShape(input.shape).sizes, TensorShape(filters.shape).sizes
    for what, sizes in (("input", input_sizes), ("filter", filter_sizes)):
        if sizes is not None and len(sizes) != count + 2:
            raise ValueError(f"{what} tensor must have rank {count + 2}")
    if input_sizes is None or filter_sizes is None:
        return
    channels, wanted = input_sizes[channel_axis], filter_sizes[count]
    if channels is not None and wanted is not None and channels != wanted:
        raise ValueError(
            f"number of input channels does not match corresponding dimension of filter, {channels} != {wanted}"
        )


class Convolution:
    """A convolution whose strides, padding and dilation are fixed before its inputs are known.

    Args:
      input_shape: TensorShape of the inputs.
      filter_shape: TensorShape of the filters, of known sizes.
      padding, strides, dilation_rate, data_format: see `convolution`; one int per spatial dimension.
    """

    def __init__(
        self,
        input_shape: TensorShape,
        filter_shape: TensorShape,
        padding: str,
        strides: Any,
        dilation_rate: Any,
        data_format: str,
    ) -> None:
        self.data_format = data_format
        self.strides, rates = _strides_and_rates(len(strides), strides, dilation_rate)
        self.phases = SpaceToBatch(input_shape, rates, padding, filter_shape, data_format=data_format)

    def __call__(self, input: Tensor, filters: TensorLike) -> Tensor:
        return self.phases(
            input, lambda x, _, padding: _plain_convolution(x, filters, self.strides, padding, self.data_format, None)
        )


@export("nn.convolution")
def convolution(
    input: object, filter: object, padding: str, strides: Any = None, dilation_rate: object = None, name: str | None = None,
    data_format: str | None = None, filters: object = None, dilations: Any = None,
) -> Tensor:  # fmt: skip
    """Convolution (cross-correlation) in one to three dimensions.

    Args:
      input: floating Tensor [batch, *sizes, in] in `data_format` order.
      filter: Tensor [*window, in, out] of its dtype.
      padding: "SAME" or "VALID".
      strides, dilation_rate: ints per spatial dimension; only one of them may be above 1.
      name: node name.
      data_format: channels second where it begins with NC, else last.
      filters, dilations: aliases of `filter` and `dilation_rate`.

    Raises:
      ValueError: shapes or arguments that do not fit.
    """
    filters = deprecated_argument_lookup("filters", filters, "filter", filter)
    dilations = deprecated_argument_lookup("dilations", dilations, "dilation_rate", dilation_rate)
    count = _convolution_rank(input, filters)
    strides = per_dimension(strides, count, data_format, "strides")
    dilations = per_dimension(dilations, count, data_format, "dilations")
    with name_scope(name, "convolution", [input, filters]) as name:
        if all(d == 1 for d in dilations):
            return _undilated(input, filters, count, strides, padding, data_format, dilations, name)
        first = data_format is not None and data_format.startswith("NC")
        inner = slice(2, None) if first else slice(1, -1)
        _check_dilated(input, filters, count, 1 if first else count + 1)
        strides, rates = _strides_and_rates(count, strides[inner], dilations[inner])
        return _convolve_phases(input, filters, strides, rates, padding, data_format, name)


def _undilated(input, filters, count, strides, padding, data_format, dilations, name):
    if count == 1:
        return conv1d(input, filters, strides, padding, data_format=data_format, dilations=dilations, name=name)
    apply = raw.Conv2D if count == 2 else raw.Conv3D
    return apply(input, filters, strides, padding=padding, data_format=data_format, dilations=dilations, name=name)


def _convolve_phases(input, filters, strides, rates, padding, data_format, name):
    filters = to_tensor(filters, name="filter")

    def apply(converted: Tensor, _: int, padding: str) -> Tensor:
        return _plain_convolution(converted, filters, strides, padding, data_format, name)

    window = filters.shape if filters.shape.is_fully_defined() else shape(filters)
    return with_space_to_batch(input, rates, padding, apply, filter_shape=window, data_format=data_format)


@export("nn.atrous_conv2d")
def atrous_conv2d(value: object, filters: object, rate: int, padding: str, name: str | None = None) -> Tensor:
    """`tf.nn.conv2d` with stride 1 and `rate` - 1 gaps between the elements of the window."""
    return convolution(value, filters, padding, dilation_rate=np.broadcast_to(rate, (2,)), name=name)


@export("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(
    value: TensorLike, filters: TensorLike, output_shape: TensorLike, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """The transpose of `tf.nn.atrous_conv2d`.

    Args:
      value: floating Tensor [batch, height, width, in].
      filters: Tensor [height, width, out, in].
      output_shape: shape of the result, four ints.
      rate: spacing of the window's elements.
      padding: "SAME" or "VALID".
      name: node name.

    Raises:
      ValueError: shapes or arguments that do not fit.
    """
    with name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]):
        value, filters = to_tensor(value, name="value"), to_tensor(filters, name="filters")
        _check_transpose(value, filters, output_shape, rate)
        if rate == 1:
            return conv2d_transpose(value, filters, output_shape, [1, 1, 1, 1], padding, "NHWC")
        wanted = to_tensor(output_shape, name="output_shape")
        if not wanted.shape.is_compatible_with([4]):
            raise ValueError(f"output_shape must have shape (4,), got {wanted.shape}")
        output_shape = list(output_shape) if isinstance(output_shape, tuple) else output_shape
        return _transpose_phases(value, filters, output_shape, rate, padding)


def _check_transpose(value: Tensor, filters: Tensor, output_shape: object, rate: int) -> None:
    if not value.shape.dims[3].is_compatible_with(filters.shape[3]):
        raise ValueError(
            f"value's input channels does not match filters' input channels, {value.shape[3]} != {filters.shape[3]}"
        )
    if rate < 1:
        raise ValueError(f"rate {rate} cannot be less than one")
    if isinstance(output_shape, (list, tuple, np.ndarray)) and rate > 1:
        if not filters.shape.dims[2].is_compatible_with(output_shape[3]):
            raise ValueError(
                f"output_shape does not match filter's output channels, {output_shape[3]} != {filters.shape[2]}"
            )


def _transpose_phases(value: Tensor, filters: Tensor, output_shape: Any, rate: int, padding: str) -> Tensor:
    if padding == "SAME":
        sizes = filters.shape.as_list() if filters.shape.is_fully_defined() else shape(filters)
        height, width = sizes[0], sizes[1]
        extents = [height + (height - 1) * (rate - 1), width + (width - 1) * (rate - 1)]
        totals = [extent - 1 for extent in extents]
        top = totals[0] // 2
        bottom = totals[0] - top
        left = totals[1] // 2
        right = totals[1] - left
    elif padding == "VALID":
        top = bottom = left = right = 0
    else:
        raise ValueError(f"padding must be either VALID or SAME: {padding}")
    height, width = output_shape[1] + top + bottom, output_shape[2] + left + right
    more_rows = (rate - height % rate) % rate
    more_columns = (rate - width % rate) % rate
    phases = space_to_batch(input=value, paddings=[[0, more_rows], [0, more_columns]], block_size=rate)
    sizes = [
        rate * rate * output_shape[0], (height + more_rows) // rate, (width + more_columns) // rate, output_shape[3]
    ]  # fmt: skip
    found = raw.Conv2DBackpropInput(sizes, filters, phases, strides=[1, 1, 1, 1], padding="VALID", data_format="NHWC")
    crops = [[top, bottom + more_rows], [left, right + more_columns]]
    return batch_to_space(input=found, crops=crops, block_size=rate)


# ---- pool ----

_POOLS = {
    ("MAX", 1): max_pool, ("MAX", 2): max_pool, ("MAX", 3): max_pool3d, ("AVG", 1): avg_pool, ("AVG", 2): avg_pool,
    ("AVG", 3): avg_pool3d,
}  # fmt: skip


@export("nn.pool")
def pool(
    input: TensorLike, window_shape: Any, pooling_type: str, padding: str, dilation_rate: object = None, strides: object = None,
    name: str | None = None, data_format: str | None = None, dilations: object = None,
) -> Tensor:  # fmt: skip
    """Pooling in one to three dimensions.

    Args:
      input: floating Tensor [batch, *sizes, channels] in `data_format` order.
      window_shape: one to three ints.
      pooling_type: "MAX" or "AVG".
      padding: "SAME" or "VALID".
      dilation_rate, strides: ints per spatial dimension; only one of them may be above 1.
      name: node name.
      data_format: channels second where it begins with NC, else last.
      dilations: alias of `dilation_rate`.

    Raises:
      ValueError: shapes or arguments that do not fit.
    """
    rates = deprecated_argument_lookup("dilations", dilations, "dilation_rate", dilation_rate)
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        input = to_tensor(input, name="input")
        count = len(window_shape)
        if not 1 <= count <= 3:
            raise ValueError("It is required that 1 <= num_spatial_dims <= 3.")
        input.shape.with_rank(count + 2)
        strides, rates = _strides_and_rates(count, strides, rates)
        if padding == "SAME" and np.any(rates > 1):
            raise ValueError("pooling with SAME padding is not implemented for dilation_rate > 1")
        if np.any(strides > window_shape):
            raise ValueError(
                "strides > window_shape not supported due to inconsistency between CPU and GPU implementations"
            )
        if (pooling_type, count) not in _POOLS:
            raise ValueError(f"{count}-D {pooling_type} pooling is not supported.")
        if count == 1 and data_format not in (None, "NWC", "NCW"):
            raise ValueError('data_format must be either "NWC" or "NCW".')
        first = data_format is not None and data_format.startswith("NC")
        dims = range(2 if first else 1, count + (2 if first else 1))
        apply = _pool_phases(_POOLS[pooling_type, count], window_shape, strides, data_format, dims, scope)
        return with_space_to_batch(input, rates, padding, apply, filter_shape=window_shape, spatial_dims=dims)


def _pool_phases(
    function: Callable, window: Any, strides: Any, data_format: str | None, dims: range, scope: str
) -> Callable:
    window = per_dimension(list(window), len(window), data_format, "window_shape")
    strides = per_dimension(list(strides), len(strides), data_format, "strides")
    if len(dims) > 1:
        return lambda x, _, padding: function(x, window, strides, padding, data_format=data_format, name=scope)
    format_2d = "NCHW" if data_format == "NCW" else "NHWC"

    def apply(x: Tensor, _: int, padding: str) -> Tensor:
        rows = expand_dims(x, dims[0])
        found = function(rows, [1, *window], [1, *strides], padding, data_format=format_2d, name=scope)
        return squeeze(found, [dims[0]])

    return apply
