"""tf.nn.conv1d, conv2d, conv3d, their transposes and gradients."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims, squeeze
from tfcompat._src.ops.nn.window_sizes import per_dimension

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import TensorLike

_ONES_2D = (1, 1, 1, 1)
_ONES_3D = (1, 1, 1, 1, 1)


def _padding_attrs(padding: object) -> dict[str, Any]:
    """The attributes `padding` and `explicit_paddings` of a name or a list of four pairs; "
    "ValueError for anything else."""
    if padding == "EXPLICIT":
        raise ValueError(
            '"EXPLICIT" is not a valid value for the padding parameter. To use explicit padding, the '
            'padding parameter must be '
            "a list."
        )
    if not isinstance(padding, (list, tuple)):
        return {"padding": padding, "explicit_paddings": []}
    for i, pair in enumerate(padding):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise ValueError(
                f"When padding is a list, each element of padding must be a list/tuple of size 2. "
                f"Element {i} is {pair!r}"
            )
    if len(padding) != 4:
        raise ValueError(f"When padding is a list, it must be of size 4. Got padding of size: {len(padding)}")
    return {"padding": "EXPLICIT", "explicit_paddings": [n for pair in padding for n in pair]}


@export("nn.conv2d")
def conv2d(
    input: TensorLike, filter: TensorLike | None = None, strides: object = None, padding: object = None, use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC", dilations: object = _ONES_2D, name: str | None = None, filters: object = None,
) -> Tensor:  # fmt: skip
    """2-D convolution (cross-correlation).

    Args:
      input: floating Tensor [batch, height, width, in] in `data_format` order.
      filter: Tensor [height, width, in, out] of its dtype.
      strides: steps of the window, 1, 2 or 4 ints.
      padding: "SAME", "VALID", or (before, after) for each dimension.
      use_cudnn_on_gpu: kept in the graph.
      data_format: "NHWC" or "NCHW".
      dilations: spacing of the window's elements, 1, 2 or 4 ints.
      name: node name.
      filters: alias of `filter`.

    Returns:
      a Tensor [batch, out height, out width, out] in `data_format` order.

    Raises:
      ValueError: shapes or arguments that do not fit.
    """
    filter = deprecated_argument_lookup("filters", filters, "filter", filter)
    attrs = _padding_attrs(padding)
    data_format = data_format or "NHWC"
    return raw.Conv2D(
        input, filter, strides=per_dimension(strides, 2, data_format, "strides"), use_cudnn_on_gpu=use_cudnn_on_gpu,
        data_format=data_format, dilations=per_dimension(dilations, 2, data_format, "dilations"), name=name, **attrs,
    )  # fmt: skip


@export("nn.conv2d_backprop_filter")
def conv2d_backprop_filter(
    input: TensorLike, filter_sizes: TensorLike, out_backprop: TensorLike, strides: Sequence[int], padding: object, use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC", dilations: Sequence[int] = _ONES_2D, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of `tf.nn.conv2d` to its filter, of shape `filter_sizes`, from that to its result."""
    return raw.Conv2DBackpropFilter(
        input, filter_sizes, out_backprop, strides=strides, use_cudnn_on_gpu=use_cudnn_on_gpu, data_format=data_format,
        dilations=dilations, name=name, **_padding_attrs(padding),
    )  # fmt: skip


@export("nn.conv2d_backprop_input")
def conv2d_backprop_input(
    input_sizes: TensorLike, filter: TensorLike | None = None, out_backprop: TensorLike | None = None, strides: Sequence[int] | None = None, padding: object = None,
    use_cudnn_on_gpu: bool = True, data_format: str = "NHWC", dilations: Sequence[int] = _ONES_2D, name: str | None = None,
    filters: object = None,
) -> Tensor:  # fmt: skip
    """The gradient of `tf.nn.conv2d` to its input, of shape `input_sizes`, from that to its result."""
    filter = deprecated_argument_lookup("filters", filters, "filter", filter)
    return raw.Conv2DBackpropInput(
        input_sizes, filter, out_backprop, strides=strides, use_cudnn_on_gpu=use_cudnn_on_gpu, data_format=data_format,
        dilations=dilations, name=name, **_padding_attrs(padding),
    )  # fmt: skip


@export("nn.conv2d_transpose")
def conv2d_transpose(
    value: object = None, filter: object = None, output_shape: object = None, strides: object = None, padding: str = "SAME",
    data_format: str = "NHWC", name: str | None = None, input: object = None, filters: object = None, dilations: object = None,
) -> Tensor:  # fmt: skip
    """The transpose of `tf.nn.conv2d`.

    Args:
      value: floating Tensor [batch, height, width, in] in `data_format` order.
      filter: Tensor [height, width, out, in].
      output_shape: shape of the result, four ints.
      strides, padding, data_format, dilations: of the convolution whose gradient this is.
      name: node name.
      input, filters: aliases of `value` and `filter`.

    Raises:
      ValueError: shapes or arguments that do not fit.
    """
    value = deprecated_argument_lookup("input", input, "value", value)
    filter = deprecated_argument_lookup("filters", filters, "filter", filter)
    with name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as name:
        return _conv2d_transpose(value, filter, output_shape, strides, padding, data_format, dilations, name)


def _conv2d_transpose(input, filters, output_shape, strides, padding, data_format, dilations, name):
    data_format = data_format or "NHWC"
    return raw.Conv2DBackpropInput(
        output_shape, filters, input, strides=per_dimension(strides, 2, data_format, "strides"), padding=padding,
        data_format=data_format, dilations=per_dimension(dilations, 2, data_format, "dilations"), name=name,
    )  # fmt: skip


# ---- three dimensions ----


@export("nn.conv3d")
def conv3d(
    input: TensorLike, filter: TensorLike | None = None, strides: object = None, padding: str | None = None, data_format: str = "NDHWC",
    dilations: object = _ONES_3D, name: str | None = None, filters: object = None,
) -> Tensor:  # fmt: skip
    """3-D convolution (cross-correlation).

    Args:
      input: floating Tensor [batch, depth, height, width, in] in `data_format` order.
      filter: Tensor [depth, height, width, in, out] of its dtype.
      strides, dilations: five ints each.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      name: node name.
      filters: alias of `filter`.
    """
    filter = deprecated_argument_lookup("filters", filters, "filter", filter)
    return raw.Conv3D(input, filter, strides, padding, data_format, dilations, name=name)


@export("nn.conv3d_backprop_filter", "nn.conv3d_backprop_filter_v2")
def conv3d_backprop_filter(
    input, filter_sizes, out_backprop, strides, padding, data_format="NDHWC", dilations=[1, 1, 1, 1, 1], name=None  # noqa: B006
):
    """The gradient of `tf.nn.conv3d` for its filter.

    Args:
      input: the input of the convolution, [batch, depth, height, width, channels].
      filter_sizes: int32 [5], the shape of the filter.
      out_backprop: the gradient for the result.
      strides, padding, data_format, dilations: as in `tf.nn.conv3d`.
      name: node name.

    Returns:
      a tensor of shape `filter_sizes`.
    """
    return raw.Conv3DBackpropFilterV2(
        input, filter_sizes, out_backprop, strides, padding, data_format, dilations, name=name
    )


@export("nn.conv3d_transpose")
def conv3d_transpose(
    value: object, filter: object = None, output_shape: object = None, strides: object = None, padding: str = "SAME",
    data_format: str = "NDHWC", name: str | None = None, input: object = None, filters: object = None, dilations: object = None,
) -> Tensor:  # fmt: skip
    """The transpose of `tf.nn.conv3d`; arguments as in `tf.nn.conv2d_transpose`, for one dimension more."""
    filter = deprecated_argument_lookup("filters", filters, "filter", filter)
    value = deprecated_argument_lookup("input", input, "value", value)
    return _conv3d_transpose(value, filter, output_shape, strides, padding, data_format, dilations, name)


def _conv3d_transpose(input, filters, output_shape, strides, padding, data_format, dilations, name):
    with name_scope(name, "conv3d_transpose", [input, filters, output_shape]) as name:
        data_format = data_format or "NDHWC"
        return raw.Conv3DBackpropInputV2(
            output_shape, filters, input, strides=per_dimension(strides, 3, data_format, "strides"), padding=padding,
            data_format=data_format, dilations=per_dimension(dilations, 3, data_format, "dilations"), name=name,
        )  # fmt: skip


# ---- one dimension, computed in two ----

_FORMATS_1D = {None: "NHWC", "NWC": "NHWC", "NHWC": "NHWC", "NCW": "NCHW", "NCHW": "NCHW"}


def _format_as_2d(data_format: str | None, *excluded: str) -> str:
    if data_format not in _FORMATS_1D or data_format in excluded:
        raise ValueError('data_format must be "NWC" or "NCW".')
    return _FORMATS_1D[data_format]


@export("nn.conv1d")
def conv1d(
    value: TensorLike | None = None, filters: TensorLike | None = None, stride: object = None, padding: str | None = None,
    use_cudnn_on_gpu: bool | None = None, data_format: str | None = None, name: str | None = None, input: object = None,
    dilations: object = None,
) -> Tensor:  # fmt: skip
    """1-D convolution (cross-correlation).

    Args:
      value: floating Tensor [batch, width, in] in `data_format` order.
      filters: Tensor [width, in, out] of its dtype.
      stride, dilations: an int, or a list of 1 or 3.
      padding: "SAME" or "VALID".
      use_cudnn_on_gpu: kept in the graph.
      data_format: "NWC" or "NCW".
      name: node name.
      input: alias of `value`.

    Returns:
      a Tensor [batch, out width, out] in `data_format` order.
    """
    value = deprecated_argument_lookup("input", input, "value", value)
    with name_scope(name, "conv1d", [value, filters]) as name:
        data_format = _format_as_2d(data_format)
        axis = 2 if data_format == "NCHW" else 1
        strides = [1, *per_dimension(stride, 1, data_format, "stride")]
        dilations = [1, *per_dimension(dilations, 1, data_format, "dilations")]
        value, filters = expand_dims(value, axis), expand_dims(filters, 0)
        result = raw.Conv2D(
            value, filters, strides=strides, padding=padding, use_cudnn_on_gpu=use_cudnn_on_gpu,
            data_format=data_format,
            dilations=dilations, name=name,
        )  # fmt: skip
        return squeeze(result, [axis])


@export("nn.conv1d_transpose")
def conv1d_transpose(
    input: TensorLike, filters: TensorLike, output_shape: Any, strides: object, padding: str = "SAME", data_format: str | None = "NWC",
    dilations: object = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The transpose of `tf.nn.conv1d`; arguments as in `tf.nn.conv2d_transpose`, for one dimension."""
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as name:
        data_format = _format_as_2d(data_format, "NHWC", "NCHW")
        axis = 2 if data_format == "NCHW" else 1
        strides = [1, *per_dimension(strides, 1, data_format, "stride")]
        dilations = [1, *per_dimension(dilations, 1, data_format, "dilations")]
        input, filters = expand_dims(input, axis), expand_dims(filters, 0)
        sizes = output_shape if isinstance(output_shape, Tensor) else list(output_shape)
        sizes = concat([sizes[:axis], [1], sizes[axis:]], 0)
        result = raw.Conv2DBackpropInput(
            sizes,
            filters,
            input,
            strides=strides,
            padding=padding,
            data_format=data_format,
            dilations=dilations,
            name=name,
        )
        return squeeze(result, axis)


@export("nn.conv_transpose")
def conv_transpose(
    input: TensorLike, filters: TensorLike, output_shape: object, strides: Sequence[int], padding: str = "SAME", data_format: str | None = None,
    dilations: Sequence[int] | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """`tf.nn.conv1d_transpose`, `conv2d_transpose` or `conv3d_transpose`, by the length of `output_shape`.

    Raises:
      ValueError: `output_shape` has not 3, 4 or 5 entries.
    """
    with name_scope(name, "conv_transpose", [input, filters, output_shape]) as name:
        if isinstance(output_shape, Tensor):
            count = output_shape._sizes[0] - 2
        elif isinstance(output_shape, Sized):
            count = len(output_shape) - 2
        else:
            raise ValueError("output_shape must be a tensor or sized collection.")
        if not 1 <= count <= 3:
            raise ValueError(f"output_shape must be of length 3, 4 or 5 but was {count + 2}.")
        if count == 1:
            return conv1d_transpose(input, filters, output_shape, strides, padding, data_format, dilations, name)
        if count == 3:
            return _conv3d_transpose(input, filters, output_shape, strides, padding, data_format, dilations, name)
        with name_scope(name, "conv2d_transpose") as name:
            return _conv2d_transpose(input, filters, output_shape, strides, padding, data_format, dilations, name)
