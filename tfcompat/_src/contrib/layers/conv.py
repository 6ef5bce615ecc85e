"""tf.contrib.layers: convolutions."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.framework.arg_scope import add_arg_scope
from tfcompat._src.contrib.framework.variables import model_variable
from tfcompat._src.contrib.layers import common
from tfcompat._src.contrib.layers.initializers import xavier_initializer
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.layers import conv as tf_layers
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import tile
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.ops.nn.depthwise import depthwise_conv2d
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import variable_scope

_ZEROS = Zeros()
_XAVIER = xavier_initializer()

_FORMATS = (None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW")
_LAYERS = {3: tf_layers.Conv1D, 4: tf_layers.Conv2D, 5: tf_layers.Conv3D}


@export("contrib.layers.convolution", "contrib.slim.convolution")
@add_arg_scope
def convolution(
    inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1, activation_fn=relu,
    normalizer_fn=None, normalizer_params=None, weights_initializer=_XAVIER, weights_regularizer=None,
    biases_initializer=_ZEROS, biases_regularizer=None, reuse=None, variables_collections=None,
    outputs_collections=None, trainable=True, scope=None, conv_dims=None,
) -> Tensor:  # fmt: skip
    """Convolution in as many dimensions as `inputs` has beside batch and channels.

    Args:
      inputs: floating Tensor of rank 3 to 5.
      num_outputs: number of output channels.
      kernel_size, stride, rate: an int or one for each dimension.
      padding: "SAME" or "VALID".
      data_format: channels second where it begins with NC, else last.
      activation_fn: function of the result, or None.
      normalizer_fn, normalizer_params: function in place of the biases, and a dict of its arguments.
      weights_initializer, weights_regularizer, biases_initializer, biases_regularizer: of the variables.
      reuse: whether the variables must exist.
      variables_collections: collections of the variables, a list, or a dict from "weights" and "biases" to lists.
      outputs_collections: collections of the output.
      trainable: whether the variables are trained.
      scope: variable scope, "Conv" by default.
      conv_dims: the number of dimensions that is expected.

    Raises:
      ValueError: an argument does not fit.
    """
    if data_format not in _FORMATS:
        raise ValueError(f"Invalid data_format: {data_format!r}")
    with variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=common._build_variable_getter(common.NAMES)) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if conv_dims is not None and rank is None:
            raise TypeError(f"Convolution expects input with rank {conv_dims + 2}, got one of unknown rank")
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
        if rank not in _LAYERS:
            raise ValueError("Convolution not supported for input with rank", rank)
        layer = _LAYERS[rank](
            num_outputs, kernel_size, stride, padding, common.channels(data_format), rate,
            use_bias=not normalizer_fn and biases_initializer, kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name, dtype=inputs.dtype.base_dtype,
            _scope=sc, _reuse=reuse,
        )  # fmt: skip
        outputs = _applied(layer, inputs, variables_collections)
        return common.finish(outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc.name)


def _applied(layer: Any, inputs: Tensor, variables_collections: Any) -> Tensor:
    outputs = layer.apply(inputs)
    common._add_variable_to_collections(layer.kernel, variables_collections, "weights")
    if layer.bias is not None:
        common._add_variable_to_collections(layer.bias, variables_collections, "biases")
    return outputs


@export("contrib.layers.conv1d", "contrib.layers.convolution1d", "contrib.slim.conv1d", "contrib.slim.convolution1d")
@add_arg_scope
def convolution1d(
    inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1, activation_fn=relu,
    normalizer_fn=None, normalizer_params=None, weights_initializer=_XAVIER, weights_regularizer=None,
    biases_initializer=_ZEROS, biases_regularizer=None, reuse=None, variables_collections=None,
    outputs_collections=None, trainable=True, scope=None,
) -> Tensor:  # fmt: skip
    """`convolution` of a tensor of rank 3."""
    return convolution(
        inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn, normalizer_fn,
        normalizer_params, weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, reuse,
        variables_collections, outputs_collections, trainable, scope, conv_dims=1,
    )  # fmt: skip


@export("contrib.layers.conv2d", "contrib.layers.convolution2d", "contrib.slim.conv2d", "contrib.slim.convolution2d")
@add_arg_scope
def convolution2d(
    inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1, activation_fn=relu,
    normalizer_fn=None, normalizer_params=None, weights_initializer=_XAVIER, weights_regularizer=None,
    biases_initializer=_ZEROS, biases_regularizer=None, reuse=None, variables_collections=None,
    outputs_collections=None, trainable=True, scope=None,
) -> Tensor:  # fmt: skip
    """`convolution` of a tensor of rank 4."""
    return convolution(
        inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn, normalizer_fn,
        normalizer_params, weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, reuse,
        variables_collections, outputs_collections, trainable, scope, conv_dims=2,
    )  # fmt: skip


@export("contrib.layers.conv3d", "contrib.layers.convolution3d", "contrib.slim.conv3d", "contrib.slim.convolution3d")
@add_arg_scope
def convolution3d(
    inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1, activation_fn=relu,
    normalizer_fn=None, normalizer_params=None, weights_initializer=_XAVIER, weights_regularizer=None,
    biases_initializer=_ZEROS, biases_regularizer=None, reuse=None, variables_collections=None,
    outputs_collections=None, trainable=True, scope=None,
) -> Tensor:  # fmt: skip
    """`convolution` of a tensor of rank 5."""
    return convolution(
        inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn, normalizer_fn,
        normalizer_params, weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, reuse,
        variables_collections, outputs_collections, trainable, scope, conv_dims=3,
    )  # fmt: skip


def _transposed(
    layer_class, default, formats, inputs, num_outputs, kernel_size, stride, padding, data_format, activation_fn,
    normalizer_fn, normalizer_params, weights_initializer, weights_regularizer, biases_initializer, biases_regularizer,
    reuse, variables_collections, outputs_collections, trainable, scope,
) -> Tensor:  # fmt: skip
    with variable_scope(
        scope, default, [inputs], reuse=reuse, custom_getter=common._build_variable_getter(common.NAMES)
    ) as sc:
        layout = common.check_format(data_format, *formats)
        inputs = convert_to_tensor(inputs)
        layer = layer_class(
            num_outputs, kernel_size, stride, padding, layout, use_bias=not normalizer_fn and biases_initializer,
            kernel_initializer=weights_initializer, bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer, trainable=trainable,
            name=sc.name, dtype=inputs.dtype.base_dtype, _scope=sc, _reuse=reuse,
        )  # fmt: skip
        outputs = _applied(layer, inputs, variables_collections)
        return common.finish(outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc.name)


@export(
    "contrib.layers.conv2d_transpose", "contrib.layers.convolution2d_transpose", "contrib.slim.conv2d_transpose",
    "contrib.slim.convolution2d_transpose",
)  # fmt: skip
@add_arg_scope
def convolution2d_transpose(
    inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format="NHWC", activation_fn=relu,
    normalizer_fn=None, normalizer_params=None, weights_initializer=_XAVIER, weights_regularizer=None,
    biases_initializer=_ZEROS, biases_regularizer=None, reuse=None, variables_collections=None,
    outputs_collections=None, trainable=True, scope=None,
) -> Tensor:  # fmt: skip
    """The transpose of a convolution of a tensor of rank 4; arguments as in `convolution`."""
    return _transposed(
        tf_layers.Conv2DTranspose, "Conv2d_transpose", ("NCHW", "NHWC"), inputs, num_outputs, kernel_size, stride,
        padding, data_format, activation_fn, normalizer_fn, normalizer_params, weights_initializer,
        weights_regularizer, biases_initializer, biases_regularizer, reuse, variables_collections, outputs_collections,
        trainable, scope,
    )  # fmt: skip


@export(
    "contrib.layers.conv3d_transpose", "contrib.layers.convolution3d_transpose", "contrib.slim.conv3d_transpose",
    "contrib.slim.convolution3d_transpose",
)  # fmt: skip
@add_arg_scope
def convolution3d_transpose(
    inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format="NDHWC", activation_fn=relu,
    normalizer_fn=None, normalizer_params=None, weights_initializer=_XAVIER, weights_regularizer=None,
    biases_initializer=_ZEROS, biases_regularizer=None, reuse=None, variables_collections=None,
    outputs_collections=None, trainable=True, scope=None,
) -> Tensor:  # fmt: skip
    """The transpose of a convolution of a tensor of rank 5; arguments as in `convolution`."""
    return _transposed(
        tf_layers.Conv3DTranspose, "Conv3d_transpose", ("NCDHW", "NDHWC"), inputs, num_outputs, kernel_size, stride,
        padding, data_format, activation_fn, normalizer_fn, normalizer_params, weights_initializer,
        weights_regularizer, biases_initializer, biases_regularizer, reuse, variables_collections, outputs_collections,
        trainable, scope,
    )  # fmt: skip


def _pair(value: Any) -> tuple[int, int]:
    values = (value, value) if isinstance(value, int) else tuple(int(v) for v in value)
    if len(values) != 2:
        raise ValueError(f"Must be a list with 2 elements: {value}")
    return values


def _known_channels(inputs: Tensor, axis: int) -> int:
    sizes = inputs.shape
    if sizes.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if sizes.ndims < 4:
        raise ValueError(f"rank of shape must be at least 4 not: {sizes.ndims}")
    if sizes.as_list()[axis] is None:
        raise ValueError(f"dimension {axis} of shape must be known but is None: {sizes}")
    return sizes.as_list()[axis]


def _normalized_or_biased(
    outputs, count, normalizer_fn, normalizer_params, biases_initializer, biases_regularizer, variables_collections,
    trainable, data_format,
) -> Tensor:  # fmt: skip
    if normalizer_fn is not None:
        return normalizer_fn(outputs, **(normalizer_params or {}))
    if biases_initializer is None:
        return outputs
    biases = model_variable(
        "biases", shape=[count], dtype=outputs.dtype.base_dtype, initializer=biases_initializer,
        regularizer=biases_regularizer, collections=common.collections_for(variables_collections, "biases"),
        trainable=trainable,
    )  # fmt: skip
    return bias_add(outputs, biases, data_format=data_format)


@export(
    "contrib.layers.conv2d_in_plane", "contrib.layers.convolution2d_in_plane", "contrib.slim.conv2d_in_plane",
    "contrib.slim.convolution2d_in_plane",
)  # fmt: skip
@add_arg_scope
def convolution2d_in_plane(
    inputs, kernel_size, stride=1, padding="SAME", activation_fn=relu, normalizer_fn=None, normalizer_params=None,
    weights_initializer=_XAVIER, weights_regularizer=None, biases_initializer=_ZEROS, biases_regularizer=None,
    reuse=None, variables_collections=None, outputs_collections=None, trainable=True, scope=None,
) -> Tensor:  # fmt: skip
    """The same convolution of every channel on its own; arguments as in `convolution`."""
    with variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as sc:
        height, width = _pair(kernel_size)
        stride_h, stride_w = _pair(stride)
        count = _known_channels(inputs, -1)
        weights = model_variable(
            "weights", shape=[height, width, 1, 1], dtype=inputs.dtype.base_dtype, initializer=weights_initializer,
            regularizer=weights_regularizer, collections=common.collections_for(variables_collections, "weights"),
            trainable=trainable,
        )  # fmt: skip
        outputs = depthwise_conv2d(inputs, tile(weights, [1, 1, count, 1]), [1, stride_h, stride_w, 1], padding)
        outputs = _normalized_or_biased(
            outputs, count, normalizer_fn, normalizer_params, biases_initializer, biases_regularizer,
            variables_collections, trainable, None,
        )  # fmt: skip
        return common.finish(outputs, None, None, activation_fn, outputs_collections, sc.name)


_SEPARABLE_NAMES = {"bias": "biases", "depthwise_kernel": "depthwise_weights", "pointwise_kernel": "pointwise_weights"}


@export(
    "contrib.layers.separable_conv2d", "contrib.layers.separable_convolution2d", "contrib.slim.separable_conv2d",
    "contrib.slim.separable_convolution2d",
)  # fmt: skip
@add_arg_scope
def separable_convolution2d(
    inputs, num_outputs, kernel_size, depth_multiplier=1, stride=1, padding="SAME", data_format="NHWC", rate=1,
    activation_fn=relu, normalizer_fn=None, normalizer_params=None, weights_initializer=_XAVIER,
    pointwise_initializer=None, weights_regularizer=None, biases_initializer=_ZEROS, biases_regularizer=None,
    reuse=None, variables_collections=None, outputs_collections=None, trainable=True, scope=None,
) -> Tensor:  # fmt: skip
    """A convolution of each channel, followed by one of size 1 over all channels; other arguments as in `convolution`.

    Args:
      num_outputs: number of output channels; None leaves the second convolution out.
      depth_multiplier: number of outputs of each channel.
      pointwise_initializer: of the second kernel, by default as of the first.
    """
    layout = common.check_format(data_format, "NCHW", "NHWC")
    getter = common._build_variable_getter(_SEPARABLE_NAMES)
    with variable_scope(scope, "SeparableConv2d", [inputs], reuse=reuse, custom_getter=getter) as sc:
        inputs = convert_to_tensor(inputs)
        if num_outputs is None:
            outputs = _depthwise(
                inputs, kernel_size, depth_multiplier, stride, padding, data_format, rate, normalizer_fn,
                normalizer_params, weights_initializer, weights_regularizer, biases_initializer, biases_regularizer,
                variables_collections, trainable,
            )  # fmt: skip
            return common.finish(outputs, None, None, activation_fn, outputs_collections, sc.name)
        layer = tf_layers.SeparableConv2D(
            num_outputs, kernel_size, stride, padding, layout, _pair(rate), depth_multiplier,
            use_bias=not normalizer_fn and biases_initializer, depthwise_initializer=weights_initializer,
            pointwise_initializer=weights_initializer if pointwise_initializer is None else pointwise_initializer,
            bias_initializer=biases_initializer, depthwise_regularizer=weights_regularizer,
            pointwise_regularizer=weights_regularizer, bias_regularizer=biases_regularizer, trainable=trainable,
            name=sc.name, dtype=inputs.dtype.base_dtype, _scope=sc, _reuse=reuse,
        )  # fmt: skip
        outputs = layer.apply(inputs)
        for name, variable in (
            ("weights", layer.depthwise_kernel),
            ("weights", layer.pointwise_kernel),
            ("biases", layer.bias),
        ):
            if variable is not None:
                common._add_variable_to_collections(variable, variables_collections, name)
        return common.finish(outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc.name)


def _depthwise(
    inputs, kernel_size, depth_multiplier, stride, padding, data_format, rate, normalizer_fn, normalizer_params,
    weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, variables_collections, trainable,
) -> Tensor:  # fmt: skip
    stride_h, stride_w = _pair(stride)
    first = data_format.startswith("NC")
    count = _known_channels(inputs, 1 if first else -1)
    weights = model_variable(
        "depthwise_weights", shape=[*_pair(kernel_size), count, depth_multiplier], dtype=inputs.dtype.base_dtype,
        initializer=weights_initializer, regularizer=weights_regularizer, trainable=trainable,
        collections=common.collections_for(variables_collections, "weights"),
    )  # fmt: skip
    strides = [1, 1, stride_h, stride_w] if first else [1, stride_h, stride_w, 1]
    outputs = depthwise_conv2d(inputs, weights, strides, padding, rate=_pair(rate), data_format=data_format)
    return _normalized_or_biased(
        outputs, depth_multiplier * count, normalizer_fn, normalizer_params, biases_initializer, biases_regularizer,
        variables_collections, trainable, data_format,
    )  # fmt: skip
