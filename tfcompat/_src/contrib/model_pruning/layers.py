"""tf.contrib.model_pruning: layers in the manner of tf.contrib.layers whose weights have a mask."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.contrib.framework.arg_scope import add_arg_scope
from tfcompat._src.contrib.layers import common
from tfcompat._src.contrib.layers.initializers import xavier_initializer
from tfcompat._src.contrib.model_pruning.core_layers import MaskedConv2D, MaskedFullyConnected
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import variable_scope

_ZEROS = Zeros()
_XAVIER = xavier_initializer()
_FORMATS = {None: "channels_last", "NHWC": "channels_last", "NCHW": "channels_first"}
_OTHER_FORMATS = ("NWC", "NCW", "NDHWC", "NCDHW")


@export("contrib.model_pruning.masked_convolution", "contrib.model_pruning.masked_conv2d")
@add_arg_scope
def masked_convolution(
    inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1, activation_fn=relu,
    normalizer_fn=None, normalizer_params=None, weights_initializer=_XAVIER, weights_regularizer=None,
    biases_initializer=_ZEROS, biases_regularizer=None, reuse=None, variables_collections=None,
    outputs_collections=None, trainable=True, scope=None,
) -> Tensor:  # fmt: skip
    """tf.contrib.layers.conv2d with a mask on its weights; arguments as there.

    Raises:
      ValueError: `inputs` are not of rank 4, or the format is none of two spatial dimensions.
    """
    if data_format not in (*_FORMATS, *_OTHER_FORMATS):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    with variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=common._build_variable_getter(common.NAMES)) as sc:
        inputs = convert_to_tensor(inputs)
        if inputs.shape.ndims != 4:
            raise ValueError("Sparse Convolution not supported for input with rank", inputs.shape.ndims)
        if data_format not in _FORMATS:
            raise ValueError("Unsupported data format", data_format)
        layer = MaskedConv2D(
            num_outputs, kernel_size, stride, padding, _FORMATS[data_format], rate,
            use_bias=not normalizer_fn and biases_initializer, kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name, dtype=inputs.dtype.base_dtype,
            _scope=sc, _reuse=reuse,
        )  # fmt: skip
        outputs = layer.apply(inputs)
        common._add_variable_to_collections(layer.kernel, variables_collections, "weights")
        if layer.use_bias:
            common._add_variable_to_collections(layer.bias, variables_collections, "biases")
        return common.finish(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc.original_name_scope
        )


masked_conv2d = masked_convolution


@export("contrib.model_pruning.masked_fully_connected")
@add_arg_scope
def masked_fully_connected(
    inputs, num_outputs, activation_fn=relu, normalizer_fn=None, normalizer_params=None, weights_initializer=_XAVIER,
    weights_regularizer=None, biases_initializer=_ZEROS, biases_regularizer=None, reuse=None,
    variables_collections=None, outputs_collections=None, trainable=True, scope=None,
) -> Tensor:  # fmt: skip
    """tf.contrib.layers.fully_connected with a mask on its weights; arguments as there.

    Raises:
      ValueError: `num_outputs` is no int, or the last dimension of `inputs` is unknown.
    """
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs should be int or long, got {num_outputs}.")
    getter = common._build_variable_getter(common.NAMES)
    with variable_scope(scope, "fully_connected", [inputs], reuse=reuse, custom_getter=getter) as sc:
        inputs = convert_to_tensor(inputs)
        layer = MaskedFullyConnected(
            num_outputs, use_bias=not normalizer_fn and biases_initializer, kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name, dtype=inputs.dtype.base_dtype,
            _scope=sc, _reuse=reuse,
        )  # fmt: skip
        outputs = layer.apply(inputs)
        common._add_variable_to_collections(layer.kernel, variables_collections, "weights")
        if layer.bias is not None:
            common._add_variable_to_collections(layer.bias, variables_collections, "biases")
        return common.finish(
            outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc.original_name_scope
        )
