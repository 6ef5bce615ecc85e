"""tf.contrib.layers: fully connected layers, dropout, bias, and layers in sequence."""

from __future__ import annotations

import functools
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.framework.arg_scope import add_arg_scope
from tfcompat._src.contrib.framework.variables import model_variable
from tfcompat._src.contrib.layers import common
from tfcompat._src.contrib.layers.initializers import xavier_initializer
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.layers import core as tf_layers
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.nn import activation as activations
from tfcompat._src.ops.nn.bias import bias_add as add_bias
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import variable_scope

_ZEROS = Zeros()
_XAVIER = xavier_initializer()


@export("contrib.layers.fully_connected", "contrib.slim.fully_connected")
@add_arg_scope
def fully_connected(
    inputs, num_outputs, activation_fn=activations.relu, normalizer_fn=None, normalizer_params=None,
    weights_initializer=_XAVIER, weights_regularizer=None, biases_initializer=_ZEROS, biases_regularizer=None,
    reuse=None, variables_collections=None, outputs_collections=None, trainable=True, scope=None,
) -> Tensor:  # fmt: skip
    """`activation_fn(inputs @ weights + biases)`, or with a normalizer in place of the biases.

    Args:
      inputs: floating Tensor [..., in].
      num_outputs: number of outputs, an int.
      activation_fn: function of the result, or None.
      normalizer_fn, normalizer_params: function of the product, and a dict of its arguments.
      weights_initializer, weights_regularizer, biases_initializer, biases_regularizer: of the variables.
      reuse: whether the variables must exist.
      variables_collections: collections of the variables, a list, or a dict from "weights" and "biases" to lists.
      outputs_collections: collections of the output.
      trainable: whether the variables are trained.
      scope: variable scope, "fully_connected" by default.

    Raises:
      ValueError: `num_outputs` is no int, or the last dimension is unknown.
    """
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs type should be one of {[int]}, got {type(num_outputs)}.")
    getter = common._build_variable_getter(common.NAMES)
    with variable_scope(scope, "fully_connected", [inputs], reuse=reuse, custom_getter=getter) as sc:
        inputs = convert_to_tensor(inputs)
        layer = tf_layers.Dense(
            num_outputs, use_bias=not normalizer_fn and biases_initializer, kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer, trainable=trainable, name=sc.name, dtype=inputs.dtype.base_dtype,
            _scope=sc, _reuse=reuse,
        )  # fmt: skip
        outputs = layer.apply(inputs)
        common._add_variable_to_collections(layer.kernel, variables_collections, "weights")
        if layer.bias is not None:
            common._add_variable_to_collections(layer.bias, variables_collections, "biases")
        return common.finish(outputs, normalizer_fn, normalizer_params, activation_fn, outputs_collections, sc.name)


elu = export("contrib.layers.elu", "contrib.slim.elu")(
    functools.partial(fully_connected, activation_fn=activations.elu)
)
relu = export("contrib.layers.relu", "contrib.slim.relu")(
    functools.partial(fully_connected, activation_fn=activations.relu)
)
relu6 = export("contrib.layers.relu6", "contrib.slim.relu6")(
    functools.partial(fully_connected, activation_fn=activations.relu6)
)
linear = export("contrib.layers.linear", "contrib.slim.linear")(functools.partial(fully_connected, activation_fn=None))


@export("contrib.layers.dropout", "contrib.slim.dropout")
@add_arg_scope
def dropout(
    inputs, keep_prob=0.5, noise_shape=None, is_training=True, outputs_collections=None, scope=None, seed=None
) -> Tensor:
    """Sets random elements to 0 while training, and scales the others by 1 / keep_prob.

    Args:
      inputs: floating Tensor.
      keep_prob: part of the elements that is kept.
      noise_shape: shape of the random decisions, broadcast to the inputs.
      is_training: bool or scalar bool Tensor.
      outputs_collections: collections of the output.
      scope: variable scope, "Dropout" by default.
      seed: op seed.
    """
    with variable_scope(scope, "Dropout", [inputs], custom_getter=common._build_variable_getter()) as sc:
        inputs = convert_to_tensor(inputs)
        layer = tf_layers.Dropout(rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=sc.name, _scope=sc)
        outputs = layer.apply(inputs, training=is_training)
        return common.collect(outputs_collections, sc.name, outputs)


@export("contrib.layers.flatten", "contrib.slim.flatten")
@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None) -> Tensor:
    """All dimensions of `inputs` but the first in one.

    Args:
      inputs: Tensor of at least one dimension.
      outputs_collections: a key or keys of collections that get the result.
      scope: name scope.

    Returns:
      a Tensor [batch, size].
    """
    with name_scope(scope, "Flatten", [inputs]) as sc:
        outputs = tf_layers.flatten(convert_to_tensor(inputs))
        return common.collect(outputs_collections, sc, outputs)


@export("contrib.layers.bias_add", "contrib.slim.bias_add")
@add_arg_scope
def bias_add(
    inputs, activation_fn=None, initializer=_ZEROS, regularizer=None, reuse=None, variables_collections=None,
    outputs_collections=None, trainable=True, data_format="NHWC", scope=None,
) -> Tensor:  # fmt: skip
    """Adds a bias for each channel; arguments as in `fully_connected`.

    Raises:
      ValueError: the channels of `inputs` are unknown, or the format does not fit.
    """
    axis = 1 if common.check_format(data_format, "NCHW", "NHWC") == "channels_first" else -1
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        if inputs.shape.ndims is None:
            raise ValueError("Dims of shape must be known but is None")
        if inputs.shape.ndims != 4 and data_format == "NCHW":
            raise ValueError("Data format NCHW only supports 4D Tensor")
        count = inputs.shape.as_list()[axis]
        if count is None:
            raise ValueError("`C` dimension must be known but is None")
        biases = model_variable(
            "biases", shape=[count], dtype=inputs.dtype.base_dtype, initializer=initializer, regularizer=regularizer,
            collections=common.collections_for(variables_collections, "biases"), trainable=trainable,
        )  # fmt: skip
        outputs = add_bias(inputs, biases, data_format=data_format)
        return common.finish(outputs, None, None, activation_fn, outputs_collections, sc.name)


def _scope_name(layer: object, default: str) -> str:
    """The name that the steps of `repeat` and `stack` are called by."""
    return getattr(layer, "__name__", None) or getattr(getattr(layer, "func", None), "__name__", default)


@export("contrib.layers.repeat", "contrib.slim.repeat")
def repeat(inputs, repetitions, layer, *args, **kwargs) -> Any:
    """Applies `layer(inputs, *args, **kwargs)` `repetitions` times, in the scopes scope/layer_1, scope/layer_2..."""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        outputs = convert_to_tensor(inputs)
        for i in range(repetitions):
            kwargs["scope"] = f"{scope or _scope_name(layer, 'repeat')}_{i + 1}"
            outputs = layer(outputs, *args, **kwargs)
        return outputs


@export("contrib.layers.stack", "contrib.slim.stack")
def stack(inputs, layer, stack_args, **kwargs) -> Any:
    """Applies `layer` once for each of `stack_args`, its arguments, in the scopes scope/layer_1, scope/layer_2...

    Raises:
      ValueError: `stack_args` is no list or tuple.
    """
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError("stack_args need to be a list or tuple")
    with variable_scope(scope, "Stack", [inputs]):
        outputs = convert_to_tensor(inputs)
        for i, arguments in enumerate(stack_args):
            kwargs["scope"] = f"{scope or _scope_name(layer, 'stack')}_{i + 1}"
            outputs = layer(outputs, *(arguments if isinstance(arguments, (list, tuple)) else [arguments]), **kwargs)
        return outputs
