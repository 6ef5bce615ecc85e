"""tf.contrib.layers: functions without weights, and the older fully connected layer."""

from __future__ import annotations

import functools

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.framework.arg_scope import add_arg_scope
from tfcompat._src.contrib.framework.variables import model_variable
from tfcompat._src.contrib.layers import common
from tfcompat._src.contrib.layers.initializers import xavier_initializer
from tfcompat._src.graph.scopes import add_to_collections, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.join import concat, stack, unstack
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed.indexing import meshgrid
from tfcompat._src.ops.math.binary import minimum, multiply
from tfcompat._src.ops.math.cast import to_int64
from tfcompat._src.ops.math.compare import not_equal
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_max, reduce_sum
from tfcompat._src.ops.math.sequence import linspace
from tfcompat._src.ops.math.unary import rsqrt, square
from tfcompat._src.ops.nn import activation as activations
from tfcompat._src.ops.nn import softmax as softmaxes
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.variables.initializers import Constant, Ones, Zeros
from tfcompat._src.variables.scope import get_variable, variable_scope

_ZEROS = Zeros()
_ONES = Ones()
_XAVIER = xavier_initializer()


@export("contrib.layers.one_hot_encoding", "contrib.slim.one_hot_encoding")
@add_arg_scope
def one_hot_encoding(labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None, scope=None) -> Tensor:
    """tf.one_hot of integer labels, in the name scope "OneHotEncoding"."""
    with name_scope(scope, "OneHotEncoding", [labels, num_classes]) as sc:
        labels = convert_to_tensor(labels)
        if labels.dtype == dtypes.int32:
            labels = to_int64(labels)
        outputs = one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        return common.collect(outputs_collections, sc, outputs)


@export("contrib.layers.softmax", "contrib.slim.softmax")
@add_arg_scope
def softmax(logits, scope=None) -> Tensor:
    """tf.nn.softmax along the last dimension, which must be known, of a tensor of rank 2 or more."""
    with variable_scope(scope, "softmax", [logits]):
        sizes = logits.get_shape()
        if sizes.ndims is None:
            raise ValueError("dims of shape must be known but is None")
        if sizes.ndims < 2:
            raise ValueError(f"rank of shape must be at least 2 not: {sizes.ndims}")
        if sizes.as_list()[-1] is None:
            raise ValueError(f"dimension -1 of shape must be known but is None: {sizes}")
        predictions = softmaxes.softmax(reshape(logits, [-1, sizes.as_list()[-1]]))
        predictions = reshape(predictions, shape_of(logits))
        predictions.set_shape(sizes)
        return predictions


@export("contrib.layers.maxout", "contrib.slim.maxout")
@add_arg_scope
def maxout(inputs, num_units, axis=-1, scope=None) -> Tensor:
    """The largest of each group of features (Goodfellow et al. 2013).

    Args:
      inputs: floating Tensor.
      num_units: number of groups, a divisor of the number of features.
      axis: the axis of the features.
      scope: variable scope, "MaxOut" by default.
    """
    with variable_scope(scope, "MaxOut", [inputs]):
        inputs = convert_to_tensor(inputs)
        sizes = inputs.shape.as_list()
        features = sizes[axis]
        if features % num_units:
            raise ValueError(f"number of features({features}) is not a multiple of num_units({num_units})")
        sizes[axis] = num_units
        sizes.append(features // num_units)
        sizes = [shape_of(inputs)[i] if size is None else size for i, size in enumerate(sizes)]
        return reduce_max(reshape(inputs, sizes), -1, keepdims=False)


@export("contrib.layers.dense_to_sparse", "contrib.slim.dense_to_sparse")
@add_arg_scope
def dense_to_sparse(tensor, eos_token=0, outputs_collections=None, scope=None) -> SparseTensor:
    """The elements of `tensor` that are not `eos_token`, as a SparseTensor."""
    with variable_scope(scope, "dense_to_sparse", [tensor]) as sc:
        tensor = convert_to_tensor(tensor)
        indices = where(not_equal(tensor, constant(eos_token, tensor.dtype)))
        values = raw.GatherNd(tensor, indices)
        outputs = SparseTensor(indices, values, shape_of(tensor, out_type=dtypes.int64))
        return common.collect(outputs_collections, sc.name, outputs)


@export("contrib.layers.images_to_sequence", "contrib.slim.images_to_sequence")
@add_arg_scope
def images_to_sequence(inputs, data_format="NHWC", outputs_collections=None, scope=None) -> Tensor:
    """Images as sequences of columns, [width, batch * height, channels]."""
    first = common.check_format(data_format, "NCHW", "NHWC") == "channels_first"
    with name_scope(scope, "ImagesToSequence", [inputs]) as sc:
        inputs = convert_to_tensor(inputs)
        if first:
            inputs = transpose(inputs, [0, 2, 3, 1])
        _, _, width, depth = inputs.shape.as_list()
        found = shape_of(inputs)
        batch, height = found[0], found[1]
        outputs = reshape(transpose(inputs, [2, 0, 1, 3]), [width, batch * height, depth])
        return common.collect(outputs_collections, sc, outputs)


@export("contrib.layers.sequence_to_images", "contrib.slim.sequence_to_images")
@add_arg_scope
def sequence_to_images(
    inputs, height, output_data_format="channels_last", outputs_collections=None, scope=None
) -> Tensor:
    """The images of what `images_to_sequence` gave."""
    with name_scope(scope, "SequenceToImages", [inputs]) as sc:
        inputs = convert_to_tensor(inputs)
        width, rows, depth = inputs.shape.as_list()
        reshaped = reshape(inputs, [width, -1 if rows is None else rows // height, height, depth])
        outputs = transpose(reshaped, [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3])
        return common.collect(outputs_collections, sc, outputs)


@export("contrib.layers.spatial_softmax", "contrib.slim.spatial_softmax")
@add_arg_scope
def spatial_softmax(
    features, temperature=None, name=None, variables_collections=None, trainable=True, data_format="NHWC"
) -> Tensor:
    """The expected position of each channel, where its softmax over positions is the probability (Finn et al. 2016).

    Args:
      features: Tensor [batch, height, width, channels] in `data_format` order.
      temperature: start of the softmax's temperature, 1 by default.
      name: variable scope, "spatial_softmax" by default.
      variables_collections: collections of the temperature.
      trainable: whether the temperature is trained.
      data_format: "NHWC" or "NCHW".

    Returns:
      a Tensor [batch, 2 * channels].
    """
    first = common.check_format(data_format, "NCHW", "NHWC") == "channels_first"
    with variable_scope(name, "spatial_softmax"):
        found, channels = shape_of(features), features.shape.as_list()[1 if first else 3]
        height, width = (found[2], found[3]) if first else (found[1], found[2])
        if channels is None:
            raise ValueError(
                "The num_channels dimension of the inputs to `spatial_softmax` should be defined. Found `None`."
            )
        with name_scope("spatial_softmax_op", "spatial_softmax_op", [features]):
            rows, columns = linspace(-1.0, 1.0, num=height), linspace(-1.0, 1.0, num=width)
            pos_x, pos_y = meshgrid(rows, columns, indexing="ij")
            pos_x, pos_y = reshape(pos_x, [height * width]), reshape(pos_y, [height * width])
            scale = model_variable(
                "temperature", shape=(), dtype=dtypes.float32,
                initializer=_ONES if temperature is None else Constant(temperature),
                collections=common.collections_for(variables_collections, "temperature") if trainable else None,
                trainable=trainable,
            )  # fmt: skip
            if not first:
                features = transpose(features, [0, 3, 1, 2])
            attention = softmaxes.softmax(reshape(features, [-1, height * width]) / scale)
            expected_x = reduce_sum(pos_x * attention, [1], keepdims=True)
            expected_y = reduce_sum(pos_y * attention, [1], keepdims=True)
            keypoints = reshape(concat([expected_x, expected_y], 1), [-1, channels * 2])
            keypoints.set_shape([None, channels * 2])
            return keypoints


def poincare_normalize(x, axis=1, epsilon=1e-5, name=None) -> Tensor:
    """`x` scaled into the Poincare ball where it is longer than 1 - epsilon (Nickel and Kiela 2017)."""
    with name_scope(name, "poincare_normalize", [x]) as name:
        x = convert_to_tensor(x, name="x")
        inverse = rsqrt(reduce_sum(square(x), axis, keepdims=True))
        return multiply(x, minimum((1.0 - epsilon) * inverse, 1.0), name=name)


@export("contrib.layers.legacy_fully_connected", "contrib.slim.legacy_fully_connected")
def legacy_fully_connected(
    x, num_output_units, activation_fn=None, weight_init=_XAVIER, bias_init=_ZEROS, name=None,
    weight_collections=(GraphKeys.WEIGHTS,), bias_collections=(GraphKeys.BIASES,),
    output_collections=(GraphKeys.ACTIVATIONS,), trainable=True, weight_regularizer=None, bias_regularizer=None,
) -> Tensor:  # fmt: skip
    """`activation_fn(x @ weights + bias)`.

    Args:
      x: floating Tensor [..., in] of known rank, 2 or more.
      num_output_units: number of outputs.
      activation_fn: function of the result, or None.
      weight_init, bias_init, weight_regularizer, bias_regularizer: of the variables; no bias where `bias_init` is None.
      name: variable scope, "fully_connected" by default.
      weight_collections, bias_collections, output_collections: collections of the variables and of the output.
      trainable: whether the variables are trained.

    Raises:
      ValueError: the rank or the last dimension does not fit.
    """
    with variable_scope(name, "fully_connected", [x]):
        x = convert_to_tensor(x)
        if x.shape.ndims is None:
            raise ValueError("dims of x must be known but is None")
        sizes = x.shape.as_list()
        if len(sizes) < 2:
            raise ValueError(f"rank of x must be at least 2 not: {len(sizes)}")
        if sizes[-1] is None:
            raise ValueError("last dimension of x must be known but is None")
        weights = get_variable(
            "weights", shape=[sizes[-1], num_output_units], dtype=x.dtype.base_dtype, initializer=weight_init,
            collections=[*(weight_collections or ()), GraphKeys.GLOBAL_VARIABLES], regularizer=weight_regularizer,
            trainable=trainable,
        )  # fmt: skip
        outputs = matmul(x if len(sizes) == 2 else reshape(x, [-1, sizes[-1]]), weights)
        if bias_init is not None:
            bias = get_variable(
                "bias", shape=[num_output_units], dtype=x.dtype.base_dtype, initializer=bias_init,
                collections=[*(bias_collections or ()), GraphKeys.GLOBAL_VARIABLES], regularizer=bias_regularizer,
                trainable=trainable,
            )  # fmt: skip
            outputs = bias_add(outputs, bias)
        if len(sizes) > 2:
            outputs = reshape(outputs, stack([*unstack(shape_of(x))[:-1], num_output_units]))
            outputs.set_shape([*sizes[:-1], num_output_units])
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        add_to_collections([*(output_collections or ()), GraphKeys.ACTIVATIONS], outputs)
        return outputs


legacy_relu = export("contrib.layers.legacy_relu", "contrib.slim.legacy_relu")(
    functools.partial(legacy_fully_connected, activation_fn=activations.relu)
)
legacy_linear = export("contrib.layers.legacy_linear", "contrib.slim.legacy_linear")(
    functools.partial(legacy_fully_connected, activation_fn=None)
)
