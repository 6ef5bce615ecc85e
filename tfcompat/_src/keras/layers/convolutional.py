"""Convolution layers: the bases that tf.layers and Keras share, and those of Keras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import activations, constraints, initializers, regularizers
from tfcompat._src.keras.backend import conv
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.utils import conv_utils
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.shape import expand_dims, reshape, squeeze
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.ops.nn.conv_functions import conv3d_transpose
from tfcompat._src.ops.nn.depthwise import separable_conv2d
from tfcompat._src.ops.nn.dilated import Convolution

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class Conv(Layer):
    """Convolution in `rank` dimensions: `activation(convolution(inputs, kernel) + bias)`.

    Args:
      rank: number of spatial dimensions, 1 to 3.
      filters: number of output channels.
      kernel_size, strides, dilation_rate: an int or `rank` ints.
      padding: "valid", "same", or (in one dimension) "causal".
      data_format: "channels_last" or "channels_first".
      activation: function of the result, its name, or None.
      use_bias: whether to add a bias.
      kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint,
        bias_constraint: of the weights.
      activity_regularizer: function of the output that gives a loss.

    Raises:
      ValueError: an argument is none of these.
    """

    _config = (
        "filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate", "activation", "use_bias",
        "kernel_initializer", "bias_initializer", "kernel_regularizer", "bias_regularizer", "activity_regularizer",
        "kernel_constraint", "bias_constraint",
    )  # fmt: skip

    def __init__(
        self, rank, filters, kernel_size, strides=1, padding="valid", data_format=None, dilation_rate=1,
        activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
        kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
        bias_constraint=None, trainable=True, name=None, **kwargs,
    ) -> None:  # fmt: skip
        regularizer = regularizers.get(activity_regularizer)
        super().__init__(trainable=trainable, name=name, activity_regularizer=regularizer, **kwargs)
        self.rank, self.filters, self.use_bias = rank, filters, use_bias
        self.kernel_size = conv_utils.normalize_tuple(kernel_size, rank, "kernel_size")
        self.strides = conv_utils.normalize_tuple(strides, rank, "strides")
        self.padding = conv_utils.normalize_padding(padding)
        if self.padding == "causal" and rank != 1:
            raise ValueError("Causal padding is only supported for `Conv1D`and ``SeparableConv1D`.")
        self.data_format = conv_utils.normalize_data_format(data_format)
        self.dilation_rate = conv_utils.normalize_tuple(dilation_rate, rank, "dilation_rate")
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.input_spec = InputSpec(ndim=rank + 2)

    @property
    def _channel_axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    @property
    def _op_format(self) -> str:
        return conv_utils.convert_data_format(self.data_format, self.rank + 2)

    @property
    def _op_padding(self) -> Any:
        padding = "valid" if self.padding == "causal" else self.padding
        return padding if isinstance(padding, (list, tuple)) else padding.upper()

    def _input_channels(self, input_shape: object) -> int:
        channels = TensorShape(input_shape).as_list()[self._channel_axis]
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        return channels

    def _add_kernel(self, name: str, shape: tuple[int, ...], setting: str) -> Any:
        """A weight whose initializer, regularizer and constraint are the layer's for `setting`."""
        return self.add_weight(
            name=name, shape=shape, initializer=getattr(self, f"{setting}_initializer"),
            regularizer=getattr(self, f"{setting}_regularizer"), constraint=getattr(self, f"{setting}_constraint"),
            trainable=True, dtype=self.dtype,
        )  # fmt: skip

    def _add_bias(self) -> Any:
        return self._add_kernel("bias", (self.filters,), "bias") if self.use_bias else None

    def build(self, input_shape: Any) -> None:
        channels = self._input_channels(input_shape)
        self.kernel = self._add_kernel("kernel", (*self.kernel_size, channels, self.filters), "kernel")
        self.bias = self._add_bias()
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        self._convolution = Convolution(
            TensorShape(input_shape),
            self.kernel.shape,
            self._op_padding,
            self.strides,
            self.dilation_rate,
            self._op_format,
        )
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        outputs = self._convolution(self._causal(inputs), self.kernel)
        if self.use_bias and self.data_format == "channels_first" and self.rank == 1:
            outputs += reshape(self.bias, (1, self.filters, 1))
        elif self.use_bias:
            outputs = bias_add(
                outputs, self.bias, data_format="NCHW" if self.data_format == "channels_first" else "NHWC"
            )
        return self.activation(outputs)

    def _causal(self, inputs: TensorLike) -> Any:
        """`inputs` with zeros before them where the padding is causal."""
        if self.padding != "causal":
            return inputs
        paddings = [[0, 0], [0, 0], [0, 0]]
        paddings[2 if self.data_format == "channels_first" else 1][0] = self.dilation_rate[0] * (
            self.kernel_size[0] - 1
        )
        return pad(inputs, paddings)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        padding = "same" if self.padding == "causal" else self.padding
        for i, axis in enumerate(conv_utils.spatial_axes(self.data_format, self.rank)):
            sizes[axis] = conv_utils.conv_output_length(
                sizes[axis], self.kernel_size[i], padding, self.strides[i], self.dilation_rate[i]
            )
        sizes[self._channel_axis] = self.filters
        return TensorShape(sizes)


class ConvTranspose(Conv):
    """The transpose of a convolution in `rank` dimensions; arguments as in `Conv`.

    Args:
      output_padding: added to one side of the result, an int or `rank` ints, or None.
    """

    _config = (*Conv._config, "output_padding")

    def __init__(self, rank, filters, kernel_size, *args, output_padding=None, **kwargs) -> None:
        super().__init__(rank, filters, kernel_size, *args, **kwargs)
        self.output_padding = output_padding
        if output_padding is None:
            return
        self.output_padding = conv_utils.normalize_tuple(output_padding, rank, "output_padding")
        if any(padding >= stride for stride, padding in zip(self.strides, self.output_padding)):
            raise ValueError(f"Stride {self.strides} must be greater than output padding {self.output_padding}")

    def build(self, input_shape: Any) -> None:
        if TensorShape(input_shape).ndims != self.rank + 2:
            raise ValueError(f"Inputs should have rank {self.rank + 2}. Received input shape: {input_shape}")
        channels = self._input_channels(input_shape)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        self.kernel = self._add_kernel("kernel", (*self.kernel_size, self.filters, channels), "kernel")
        self.bias = self._add_bias()
        self.built = True

    def _with_output_sizes(self, sizes: list[Any]) -> list[Any]:
        """The output's sizes from those of the input, ints, None or scalar tensors."""
        output_padding = self.output_padding or (None,) * self.rank
        for i, axis in enumerate(conv_utils.spatial_axes(self.data_format, self.rank)):
            sizes[axis] = conv_utils.deconv_output_length(
                sizes[axis],
                self.kernel_size[i],
                self.padding,
                output_padding[i],
                self.strides[i],
                self.dilation_rate[i],
            )
        sizes[self._channel_axis] = self.filters
        return sizes

    def call(self, inputs: Any) -> Tensor:
        found = shape_of(inputs)
        sizes = [None] * (self.rank + 2)
        for axis in (0, *conv_utils.spatial_axes(self.data_format, self.rank)):
            sizes[axis] = found[axis]
        wanted = stack(self._with_output_sizes(sizes))
        outputs = self._transpose_2d(inputs, wanted) if self.rank == 2 else self._transpose_3d(inputs, wanted)
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        if self.use_bias:
            outputs = bias_add(
                outputs, self.bias, data_format="NCHW" if self.data_format == "channels_first" else "NHWC"
            )
        return self.activation(outputs)

    def _transpose_2d(self, inputs: Tensor, wanted: Tensor) -> Tensor:
        return conv.conv2d_transpose(
            inputs, self.kernel, wanted, self.strides, self.padding, self.data_format, self.dilation_rate
        )

    def _transpose_3d(self, inputs: Tensor, wanted: Tensor) -> Tensor:
        strides = (1, 1, *self.strides) if self.data_format == "channels_first" else (1, *self.strides, 1)
        return conv3d_transpose(
            inputs, self.kernel, wanted, strides, padding=self._op_padding, data_format=self._op_format
        )

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return TensorShape(self._with_output_sizes(TensorShape(input_shape).as_list()))


class SeparableConv(Conv):
    """A convolution of each channel, followed by one of size 1 over all channels; other arguments as in `Conv`.

    Args:
      depth_multiplier: number of outputs of each channel.
      depthwise_initializer, pointwise_initializer, depthwise_regularizer, pointwise_regularizer, depthwise_constraint,
        pointwise_constraint: of the two kernels.
    """

    _config = (
        "filters", "kernel_size", "strides", "padding", "data_format", "depth_multiplier", "dilation_rate",
        "activation", "use_bias", "kernel_initializer", "kernel_regularizer", "kernel_constraint",
        "depthwise_initializer", "pointwise_initializer", "bias_initializer", "depthwise_regularizer",
        "pointwise_regularizer", "bias_regularizer", "activity_regularizer", "depthwise_constraint",
        "pointwise_constraint", "bias_constraint",
    )  # fmt: skip

    def __init__(
        self, rank, filters, kernel_size, strides=1, padding="valid", data_format=None, dilation_rate=1,
        depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer="glorot_uniform",
        pointwise_initializer="glorot_uniform", bias_initializer="zeros", depthwise_regularizer=None,
        pointwise_regularizer=None, bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None,
        pointwise_constraint=None, bias_constraint=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            rank, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer, bias_constraint=bias_constraint, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.pointwise_initializer = initializers.get(pointwise_initializer)
        self.depthwise_regularizer = regularizers.get(depthwise_regularizer)
        self.pointwise_regularizer = regularizers.get(pointwise_regularizer)
        self.depthwise_constraint = constraints.get(depthwise_constraint)
        self.pointwise_constraint = constraints.get(pointwise_constraint)

    def build(self, input_shape: Any) -> None:
        channels = self._input_channels(input_shape)
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        depthwise, pointwise = (channels, self.depth_multiplier), (self.depth_multiplier * channels, self.filters)
        self.depthwise_kernel = self._add_kernel("depthwise_kernel", (*self.kernel_size, *depthwise), "depthwise")
        self.pointwise_kernel = self._add_kernel("pointwise_kernel", (*(1,) * self.rank, *pointwise), "pointwise")
        self.bias = self._add_bias()
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        inputs, strides, rates = self._causal(inputs), self.strides, self.dilation_rate
        kernels = (self.depthwise_kernel, self.pointwise_kernel)
        space = 2 if self.data_format == "channels_first" else 1
        data_format = conv_utils.convert_data_format(self.data_format, 4)
        if self.rank == 1:
            inputs = expand_dims(inputs, space)
            kernels = tuple(expand_dims(kernel, 0) for kernel in kernels)
            strides, rates = strides * 2, (1, *rates)
        strides = (1, 1, *strides) if space == 2 else (1, *strides, 1)
        outputs = separable_conv2d(
            inputs, *kernels, strides=strides, padding=self._op_padding, rate=rates, data_format=data_format
        )
        if self.use_bias:
            outputs = bias_add(outputs, self.bias, data_format=data_format)
        if self.rank == 1:
            outputs = squeeze(outputs, [space])
        return self.activation(outputs)


@export("keras.layers.Conv1D", "keras.layers.Convolution1D")
class Conv1D(Conv):
    """Convolution of [batch, steps, channels]; arguments as in `Conv`, for 1 dimension."""

    def __init__(
        self, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1,
        activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
        kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
        bias_constraint=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            1, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, **kwargs,
        )  # fmt: skip


@export("keras.layers.Conv2D", "keras.layers.Convolution2D")
class Conv2D(Conv):
    """Convolution of images: `activation(convolution(inputs, kernel) + bias)`.

    Args:
      filters: number of output channels.
      kernel_size, strides, dilation_rate: an int or two ints.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      activation: function of the result, its name, or None.
      use_bias: whether to add a bias.
      kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint,
        bias_constraint: of the weights.
      activity_regularizer: function of the output that gives a loss.
    """

    def __init__(
        self, filters, kernel_size, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1),
        activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
        kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
        bias_constraint=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            2, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, **kwargs,
        )  # fmt: skip


@export("keras.layers.Conv3D", "keras.layers.Convolution3D")
class Conv3D(Conv):
    """Convolution of volumes; arguments as in `Conv`, for 3 dimensions."""

    def __init__(
        self, filters, kernel_size, strides=(1, 1, 1), padding="valid", data_format=None, dilation_rate=(1, 1, 1),
        activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
        kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
        bias_constraint=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            3, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, **kwargs,
        )  # fmt: skip


@export("keras.layers.Conv2DTranspose", "keras.layers.Convolution2DTranspose")
class Conv2DTranspose(ConvTranspose):
    """The transpose of a convolution of images; arguments as in `ConvTranspose`, for 2 dimensions."""

    def __init__(
        self, filters, kernel_size, strides=(1, 1), padding="valid", output_padding=None, data_format=None,
        dilation_rate=(1, 1), activation=None, use_bias=True, kernel_initializer="glorot_uniform",
        bias_initializer="zeros", kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None,
        kernel_constraint=None, bias_constraint=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            2, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, output_padding=output_padding, **kwargs,
        )  # fmt: skip


@export("keras.layers.Conv3DTranspose", "keras.layers.Convolution3DTranspose")
class Conv3DTranspose(ConvTranspose):
    """The transpose of a convolution of volumes; arguments as in `ConvTranspose`, for 3 dimensions."""

    _config = tuple(name for name in ConvTranspose._config if name != "dilation_rate")

    def __init__(
        self, filters, kernel_size, strides=(1, 1, 1), padding="valid", output_padding=None, data_format=None,
        activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
        kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
        bias_constraint=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            3, filters, kernel_size, strides, padding, data_format, 1, activation, use_bias, kernel_initializer,
            bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
            bias_constraint, output_padding=output_padding, **kwargs,
        )  # fmt: skip


@export("keras.layers.SeparableConv1D", "keras.layers.SeparableConvolution1D")
class SeparableConv1D(SeparableConv):
    """Convolution of each channel of [batch, steps, channels], then over the channels; arguments as in `SeparableConv`."""

    def __init__(
        self, filters, kernel_size, strides=1, padding="valid", data_format=None, dilation_rate=1,
        depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer="glorot_uniform",
        pointwise_initializer="glorot_uniform", bias_initializer="zeros", depthwise_regularizer=None,
        pointwise_regularizer=None, bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None,
        pointwise_constraint=None, bias_constraint=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            1, filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation,
            use_bias, depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer,
            pointwise_regularizer, bias_regularizer, activity_regularizer, depthwise_constraint, pointwise_constraint,
            bias_constraint, **kwargs,
        )  # fmt: skip


@export("keras.layers.SeparableConv2D", "keras.layers.SeparableConvolution2D")
class SeparableConv2D(SeparableConv):
    """Convolution of each channel of images, then over the channels; arguments as in `SeparableConv`."""

    def __init__(
        self, filters, kernel_size, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1),
        depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer="glorot_uniform",
        pointwise_initializer="glorot_uniform", bias_initializer="zeros", depthwise_regularizer=None,
        pointwise_regularizer=None, bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None,
        pointwise_constraint=None, bias_constraint=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            2, filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation,
            use_bias, depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer,
            pointwise_regularizer, bias_regularizer, activity_regularizer, depthwise_constraint, pointwise_constraint,
            bias_constraint, **kwargs,
        )  # fmt: skip


@export("keras.layers.DepthwiseConv2D")
class DepthwiseConv2D(Conv2D):
    """Convolution of each channel of images; other arguments as in `Conv`.

    Args:
      depth_multiplier: number of outputs of each channel.
      depthwise_initializer, depthwise_regularizer, depthwise_constraint: of the kernel.

    Raises:
      ValueError: the inputs have another rank, or their channels are unknown.
    """

    _config = (
        "kernel_size", "strides", "padding", "data_format", "dilation_rate", "activation", "use_bias",
        "bias_initializer", "bias_regularizer", "activity_regularizer", "bias_constraint", "depth_multiplier",
        "depthwise_initializer", "depthwise_regularizer", "depthwise_constraint",
    )  # fmt: skip

    def __init__(
        self, kernel_size, strides=(1, 1), padding="valid", depth_multiplier=1, data_format=None, activation=None,
        use_bias=True, depthwise_initializer="glorot_uniform", bias_initializer="zeros", depthwise_regularizer=None,
        bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None, bias_constraint=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            None, kernel_size, strides, padding, data_format, activation=activation, use_bias=use_bias,
            bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer, bias_constraint=bias_constraint, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.depthwise_regularizer = regularizers.get(depthwise_regularizer)
        self.depthwise_constraint = constraints.get(depthwise_constraint)

    def build(self, input_shape: Any) -> None:
        if len(input_shape) < 4:
            raise ValueError("Inputs to `DepthwiseConv2D` should have rank 4. Received input shape:", str(input_shape))
        channels = TensorShape(input_shape).as_list()[self._channel_axis]
        if channels is None:
            raise ValueError(
                "The channel dimension of the inputs to `DepthwiseConv2D` should be defined. Found `None`."
            )
        kernel_shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = self._add_kernel("depthwise_kernel", kernel_shape, "depthwise")
        self.bias = self._add_kernel("bias", (channels * self.depth_multiplier,), "bias") if self.use_bias else None
        self.input_spec = InputSpec(ndim=4, axes={self._channel_axis % 4: channels})
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        outputs = conv.depthwise_conv2d(
            inputs, self.depthwise_kernel, self.strides, self.padding, self.data_format, self.dilation_rate
        )
        if self.use_bias:
            outputs = conv.bias_add(outputs, self.bias, data_format=self.data_format)
        return self.activation(outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        channels = sizes[self._channel_axis] * self.depth_multiplier
        for i, axis in enumerate(conv_utils.spatial_axes(self.data_format, 2)):
            sizes[axis] = conv_utils.conv_output_length(
                sizes[axis], self.kernel_size[i], self.padding, self.strides[i]
            )
        sizes[self._channel_axis] = channels
        return TensorShape(sizes)
