"""Layers of tf.contrib.model_pruning whose kernel is multiplied with a mask of zeros and ones."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import get_collection_ref
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.layers import conv, core
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.math.binary import multiply
from tfcompat._src.ops.math.contraction import tensordot
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.ops.nn.dilated import convolution
from tfcompat._src.variables.initializers import Ones, Zeros

MASK_COLLECTION = "masks"
THRESHOLD_COLLECTION = "thresholds"
MASKED_WEIGHT_COLLECTION = "masked_weights"
WEIGHT_COLLECTION = "kernel"
MASKED_WEIGHT_NAME = "weights/masked_weight"


def masked(mask: object, threshold: object, kernel: object) -> Tensor:
    """`mask * kernel`; what belongs to a mask that is new is added to the collections of masks, thresholds and weights."""
    product = multiply(mask, kernel, MASKED_WEIGHT_NAME)
    if not any(known is mask for known in get_collection_ref(MASK_COLLECTION)):
        get_collection_ref(THRESHOLD_COLLECTION).append(threshold)
        get_collection_ref(MASK_COLLECTION).append(mask)
        get_collection_ref(MASKED_WEIGHT_COLLECTION).append(product)
        get_collection_ref(WEIGHT_COLLECTION).append(kernel)
    return product


def add_mask(layer: Any, shape: Any) -> Any:
    """A mask of ones of a layer, which is not trained."""
    return layer.add_weight("mask", shape=shape, initializer=Ones(), trainable=False, dtype=layer.dtype)


def add_threshold(layer: Any) -> Any:
    """The threshold of a layer's mask, a scalar that is not trained."""
    return layer.add_weight("threshold", shape=[], initializer=Zeros(), trainable=False, dtype=layer.dtype)


class MaskedConv2D(conv.Conv2D):
    """tf.layers.Conv2D with a mask on its kernel; arguments are those of tf.layers.Conv2D.

    Raises:
      ValueError: the channels of the inputs are unknown.
    """

    def build(self, input_shape: Any) -> None:
        channels = self._input_channels(input_shape)
        shape = (*self.kernel_size, channels, self.filters)
        self.mask = add_mask(self, shape)
        self.kernel = self._add_kernel("kernel", shape, "kernel")
        self.threshold = add_threshold(self)
        self.masked_kernel = masked(self.mask, self.threshold, self.kernel)
        self.bias = self._add_bias()
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        outputs = convolution(
            inputs, self.masked_kernel, self._op_padding, self.strides, self.dilation_rate, data_format=self._op_format
        )
        if self.bias is not None:
            outputs = bias_add(
                outputs, self.bias, data_format="NCHW" if self.data_format == "channels_first" else "NHWC"
            )
        return self.activation(outputs)


class MaskedFullyConnected(core.Dense):
    """tf.layers.Dense with a mask on its kernel; arguments are those of tf.layers.Dense.

    Raises:
      ValueError: the last dimension of the inputs is unknown.
    """

    def build(self, input_shape: Any) -> None:
        depth = TensorShape(input_shape).as_list()[-1]
        if depth is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: depth})
        self.kernel = self.add_weight(
            "kernel", shape=[depth, self.units], initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer, dtype=self.dtype, trainable=True,
        )  # fmt: skip
        self.mask = add_mask(self, [depth, self.units])
        self.threshold = add_threshold(self)
        self.masked_kernel = masked(self.mask, self.threshold, self.kernel)
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", shape=[self.units], initializer=self.bias_initializer, regularizer=self.bias_regularizer,
                dtype=self.dtype, trainable=True,
            )  # fmt: skip
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        inputs = convert_to_tensor(inputs, dtype=self.dtype)
        sizes = inputs.shape.as_list()
        if len(sizes) > 2:
            outputs = tensordot(inputs, self.masked_kernel, [[len(sizes) - 1], [0]])
            outputs.set_shape([*sizes[:-1], self.units])
        else:
            outputs = matmul(inputs, self.masked_kernel)
        if self.use_bias:
            outputs = bias_add(outputs, self.bias)
        return self.activation(outputs)
