"""tf.layers: convolutions, and the functions that call them once."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.layers import convolutional
from tfcompat._src.layers.scoped_layer import Layer
from tfcompat._src.variables.initializers import Zeros

_ZEROS = Zeros()


@export("layers.Conv1D")
class Conv1D(convolutional.Conv, Layer):
    """Convolution of [batch, steps, channels]; arguments as in `conv1d`."""

    def __init__(
        self, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1,
        activation=None, use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS, kernel_regularizer=None,
        bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True,
        name=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            1, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, trainable=trainable, name=name, **kwargs,
        )  # fmt: skip


@export("layers.conv1d")
def conv1d(
    inputs, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1,
    activation=None, use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS, kernel_regularizer=None,
    bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True,
    name=None, reuse=None,
) -> Tensor:  # fmt: skip
    """Convolution of [batch, steps, channels]; arguments as in `conv2d`, for 1 dimension."""
    return Conv1D(
        filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, kernel_initializer,
        bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
        bias_constraint, trainable, name, _reuse=reuse, _scope=name,
    ).apply(inputs)  # fmt: skip


@export("layers.Conv2D")
class Conv2D(convolutional.Conv, Layer):
    """Convolution of [batch, height, width, channels]; arguments as in `conv2d`."""

    def __init__(
        self, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", dilation_rate=(1, 1),
        activation=None, use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS, kernel_regularizer=None,
        bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True,
        name=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            2, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, trainable=trainable, name=name, **kwargs,
        )  # fmt: skip


@export("layers.conv2d")
def conv2d(
    inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", dilation_rate=(1, 1),
    activation=None, use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS, kernel_regularizer=None,
    bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True,
    name=None, reuse=None,
) -> Tensor:  # fmt: skip
    """Convolution of [batch, height, width, channels] with new weights of the variable scope `name`.

    Args:
      inputs: floating Tensor of rank 4.
      filters: number of output channels.
      kernel_size, strides, dilation_rate: an int or two ints.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      activation: function of the result, its name, or None.
      use_bias: whether to add a bias.
      kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint,
        bias_constraint: of the weights.
      activity_regularizer: function of the output that gives a loss.
      trainable: whether the weights are trained.
      name: variable scope, "conv2d" by default.
      reuse: whether the weights must exist.

    Raises:
      ValueError: an argument does not fit, or the channels of the inputs are unknown.
    """
    return Conv2D(
        filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, kernel_initializer,
        bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
        bias_constraint, trainable, name, _reuse=reuse, _scope=name,
    ).apply(inputs)  # fmt: skip


@export("layers.Conv3D")
class Conv3D(convolutional.Conv, Layer):
    """Convolution of [batch, depth, height, width, channels]; arguments as in `conv3d`."""

    def __init__(
        self, filters, kernel_size, strides=(1, 1, 1), padding="valid", data_format="channels_last",
        dilation_rate=(1, 1, 1), activation=None, use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS,
        kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
        bias_constraint=None, trainable=True, name=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            3, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, trainable=trainable, name=name, **kwargs,
        )  # fmt: skip


@export("layers.conv3d")
def conv3d(
    inputs, filters, kernel_size, strides=(1, 1, 1), padding="valid", data_format="channels_last",
    dilation_rate=(1, 1, 1), activation=None, use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS,
    kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
    bias_constraint=None, trainable=True, name=None, reuse=None,
) -> Tensor:  # fmt: skip
    """Convolution of [batch, depth, height, width, channels]; arguments as in `conv2d`, for 3 dimensions."""
    return Conv3D(
        filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, kernel_initializer,
        bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
        bias_constraint, trainable, name, _reuse=reuse, _scope=name,
    ).apply(inputs)  # fmt: skip


@export("layers.SeparableConv1D")
class SeparableConv1D(convolutional.SeparableConv, Layer):
    """Convolution of each channel, then over the channels, of rank 3; arguments as in `separable_conv1d`."""

    def __init__(
        self, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1,
        depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer=None, pointwise_initializer=None,
        bias_initializer=_ZEROS, depthwise_regularizer=None, pointwise_regularizer=None, bias_regularizer=None,
        activity_regularizer=None, depthwise_constraint=None, pointwise_constraint=None, bias_constraint=None,
        trainable=True, name=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            1, filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation,
            use_bias, depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer,
            pointwise_regularizer, bias_regularizer, activity_regularizer, depthwise_constraint, pointwise_constraint,
            bias_constraint, trainable=trainable, name=name, **kwargs,
        )  # fmt: skip


@export("layers.separable_conv1d")
def separable_conv1d(
    inputs, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1,
    depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer=None, pointwise_initializer=None,
    bias_initializer=_ZEROS, depthwise_regularizer=None, pointwise_regularizer=None, bias_regularizer=None,
    activity_regularizer=None, depthwise_constraint=None, pointwise_constraint=None, bias_constraint=None,
    trainable=True, name=None, reuse=None,
) -> Tensor:  # fmt: skip
    """Convolution of each channel, then over the channels, of rank 3; arguments as in `separable_conv2d`."""
    return SeparableConv1D(
        filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation, use_bias,
        depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer, pointwise_regularizer,
        bias_regularizer, activity_regularizer, depthwise_constraint, pointwise_constraint, bias_constraint, trainable,
        name, _reuse=reuse, _scope=name,
    ).apply(inputs)  # fmt: skip


@export("layers.SeparableConv2D")
class SeparableConv2D(convolutional.SeparableConv, Layer):
    """Convolution of each channel, then over the channels; arguments as in `separable_conv2d`."""

    def __init__(
        self, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", dilation_rate=(1, 1),
        depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer=None, pointwise_initializer=None,
        bias_initializer=_ZEROS, depthwise_regularizer=None, pointwise_regularizer=None, bias_regularizer=None,
        activity_regularizer=None, depthwise_constraint=None, pointwise_constraint=None, bias_constraint=None,
        trainable=True, name=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            2, filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation,
            use_bias, depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer,
            pointwise_regularizer, bias_regularizer, activity_regularizer, depthwise_constraint, pointwise_constraint,
            bias_constraint, trainable=trainable, name=name, **kwargs,
        )  # fmt: skip


@export("layers.separable_conv2d")
def separable_conv2d(
    inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", dilation_rate=(1, 1),
    depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer=None, pointwise_initializer=None,
    bias_initializer=_ZEROS, depthwise_regularizer=None, pointwise_regularizer=None, bias_regularizer=None,
    activity_regularizer=None, depthwise_constraint=None, pointwise_constraint=None, bias_constraint=None,
    trainable=True, name=None, reuse=None,
) -> Tensor:  # fmt: skip
    """Convolution of each channel, then over the channels with new weights of the variable scope `name`.

    Args:
      inputs: floating Tensor of rank 4.
      filters: number of output channels.
      kernel_size, strides, dilation_rate: an int or two ints.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      depth_multiplier: number of outputs of each channel.
      activation: function of the result, its name, or None.
      use_bias: whether to add a bias.
      depthwise_initializer, pointwise_initializer, bias_initializer, and the regularizers and constraints: of the
        weights.
      activity_regularizer: function of the output that gives a loss.
      trainable: whether the weights are trained.
      name: variable scope, "separable_conv2d" by default.
      reuse: whether the weights must exist.

    Raises:
      ValueError: an argument does not fit, or the channels of the inputs are unknown.
    """
    return SeparableConv2D(
        filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation, use_bias,
        depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer, pointwise_regularizer,
        bias_regularizer, activity_regularizer, depthwise_constraint, pointwise_constraint, bias_constraint, trainable,
        name, _reuse=reuse, _scope=name,
    ).apply(inputs)  # fmt: skip


@export("layers.Conv2DTranspose")
class Conv2DTranspose(convolutional.ConvTranspose, Layer):
    """The transpose of a convolution of [batch, height, width, channels]; arguments as in `conv2d_transpose`."""

    def __init__(
        self, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", activation=None,
        use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS, kernel_regularizer=None, bias_regularizer=None,
        activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            2, filters, kernel_size, strides, padding, data_format, 1, activation, use_bias, kernel_initializer,
            bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
            bias_constraint, trainable=trainable, name=name, **kwargs,
        )  # fmt: skip


@export("layers.conv2d_transpose")
def conv2d_transpose(
    inputs, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", activation=None,
    use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS, kernel_regularizer=None, bias_regularizer=None,
    activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None,
) -> Tensor:  # fmt: skip
    """The transpose of a convolution of [batch, height, width, channels] with new weights of the variable scope `name`.

    Args:
      inputs: floating Tensor of rank 4.
      filters: number of output channels.
      kernel_size, strides: an int or two ints.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      activation: function of the result, its name, or None.
      use_bias: whether to add a bias.
      kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint,
        bias_constraint: of the weights.
      activity_regularizer: function of the output that gives a loss.
      trainable: whether the weights are trained.
      name: variable scope, "conv2d_transpose" by default.
      reuse: whether the weights must exist.

    Raises:
      ValueError: an argument does not fit, or the channels of the inputs are unknown.
    """
    return Conv2DTranspose(
        filters, kernel_size, strides, padding, data_format, activation, use_bias, kernel_initializer, bias_initializer,
        kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable, name,
        _reuse=reuse, _scope=name,
    ).apply(inputs)  # fmt: skip


@export("layers.Conv3DTranspose")
class Conv3DTranspose(convolutional.ConvTranspose, Layer):
    """The transpose of a convolution of [batch, depth, height, width, channels]; arguments as in `conv3d_transpose`."""

    def __init__(
        self, filters, kernel_size, strides=(1, 1, 1), padding="valid", data_format="channels_last", activation=None,
        use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS, kernel_regularizer=None, bias_regularizer=None,
        activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            3, filters, kernel_size, strides, padding, data_format, 1, activation, use_bias, kernel_initializer,
            bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
            bias_constraint, trainable=trainable, name=name, **kwargs,
        )  # fmt: skip


@export("layers.conv3d_transpose")
def conv3d_transpose(
    inputs, filters, kernel_size, strides=(1, 1, 1), padding="valid", data_format="channels_last", activation=None,
    use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS, kernel_regularizer=None, bias_regularizer=None,
    activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None, reuse=None,
) -> Tensor:  # fmt: skip
    """The transpose of a convolution of rank 5; arguments as in `conv2d_transpose`."""
    return Conv3DTranspose(
        filters, kernel_size, strides, padding, data_format, activation, use_bias, kernel_initializer, bias_initializer,
        kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable, name,
        _reuse=reuse, _scope=name,
    ).apply(inputs)  # fmt: skip
