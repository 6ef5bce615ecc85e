"""tf.contrib.layers: normalization of each example."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.framework.arg_scope import add_arg_scope
from tfcompat._src.contrib.framework.variables import model_variable
from tfcompat._src.contrib.layers import common
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.slice import strided_slice
from tfcompat._src.ops.math.binary import div
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import rsqrt, sqrt, square
from tfcompat._src.ops.nn.moments import batch_normalization, moments, normalize_moments, sufficient_statistics
from tfcompat._src.variables.initializers import Ones, Zeros
from tfcompat._src.variables.scope import variable_scope


def _weight(name: str, initializers: Any, shape: object, dtype: object, collections: object, trainable: bool) -> Any:
    initializer = {"beta": Zeros(), "gamma": Ones(), **(initializers or {})}[name]
    return model_variable(
        name, shape=shape, dtype=dtype, initializer=initializer, collections=common.collections_for(collections, name),
        trainable=trainable,
    )  # fmt: skip


@export("contrib.layers.layer_norm", "contrib.slim.layer_norm")
@add_arg_scope
def layer_norm(
    inputs, center=True, scale=True, activation_fn=None, reuse=None, variables_collections=None,
    outputs_collections=None, trainable=True, begin_norm_axis=1, begin_params_axis=-1, scope=None,
) -> Tensor:  # fmt: skip
    """Normalizes each example over its own elements (Ba, Kiros and Hinton 2016).

    Args:
      inputs: floating Tensor of known rank.
      center, scale: whether to add `beta` and multiply by `gamma`.
      activation_fn: function of the result, or None.
      reuse: whether the variables must exist.
      variables_collections: collections of the variables, a list, or a dict from "beta" and "gamma" to lists.
      outputs_collections: collections of the output.
      trainable: whether the weights are trained.
      begin_norm_axis: the first axis that is normalized over.
      begin_params_axis: the first axis of the weights.
      scope: variable scope, "LayerNorm" by default.

    Raises:
      ValueError: the rank, or a size along the axes of the weights, is unknown, or an axis lies beyond the rank.
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        rank, dtype = inputs.shape.ndims, inputs.dtype.base_dtype
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        begin_norm_axis += rank if begin_norm_axis < 0 else 0
        if begin_params_axis >= rank or begin_norm_axis >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) must be < "
                f"rank(inputs) ({rank})"
            )
        shape = inputs.shape[begin_params_axis:]
        if not shape.is_fully_defined():
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: {inputs.shape}"
            )
        beta = _weight("beta", None, shape, dtype, variables_collections, trainable) if center else None
        gamma = _weight("gamma", None, shape, dtype, variables_collections, trainable) if scale else None
        mean, variance = moments(inputs, list(range(begin_norm_axis, rank)), keep_dims=True)
        epsilon = 1e-3 if dtype == dtypes.float16 else 1e-12
        outputs = batch_normalization(inputs, mean, variance, offset=beta, scale=gamma, variance_epsilon=epsilon)
        outputs.set_shape(inputs.shape)
        return common.finish(outputs, None, None, activation_fn, outputs_collections, sc.name)


@export("contrib.layers.instance_norm", "contrib.slim.instance_norm")
@add_arg_scope
def instance_norm(
    inputs, center=True, scale=True, epsilon=1e-6, activation_fn=None, param_initializers=None, reuse=None,
    variables_collections=None, outputs_collections=None, trainable=True, data_format="NHWC", scope=None,
) -> Tensor:  # fmt: skip
    """Normalizes each channel of each example over its positions (Ulyanov, Vedaldi and Lempitsky 2016).

    Args:
      inputs: floating Tensor of known rank.
      epsilon: added to the variance.
      param_initializers: dict from "beta" and "gamma".
      data_format: "NHWC" or "NCHW".
      center, scale, activation_fn, reuse, variables_collections, outputs_collections, trainable, scope: as there.

    Raises:
      ValueError: the rank or the channels are unknown, or the format does not fit.
    """
    inputs = convert_to_tensor(inputs)
    rank, dtype = inputs.shape.ndims, inputs.dtype.base_dtype
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    first = common.check_format(data_format, "NCHW", "NHWC") == "channels_first"
    with variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as sc:
        axis = 1 if first else rank - 1
        shape = inputs.shape[axis : axis + 1]
        if not shape.is_fully_defined():
            raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {shape}.")
        weights = []
        for name, wanted in (("beta", center), ("gamma", scale)):
            value = None
            if wanted:
                value = _weight(name, param_initializers, shape, dtype, variables_collections, trainable)
                value = reshape(value, [1, shape.as_list()[0]] + [1] * (rank - 2)) if first else value
            weights.append(value)
        mean, variance = moments(inputs, [i for i in range(1, rank) if i != axis], keep_dims=True)
        outputs = batch_normalization(inputs, mean, variance, *weights, epsilon, name="instancenorm")
        return common.finish(outputs, None, None, activation_fn, outputs_collections, sc.name)


@export("contrib.layers.group_norm", "contrib.slim.group_norm")
@add_arg_scope
def group_norm(
    inputs, groups=32, channels_axis=-1, reduction_axes=(-3, -2), center=True, scale=True, epsilon=1e-6,
    activation_fn=None, param_initializers=None, reuse=None, variables_collections=None, outputs_collections=None,
    trainable=True, scope=None, mean_close_to_zero=False,
) -> Tensor:  # fmt: skip
    """Normalizes groups of channels of each example (Wu and He 2018).

    Args:
      inputs: floating Tensor of known rank.
      groups: number of groups, a divisor of the number of channels.
      channels_axis: the axis of the channels.
      reduction_axes: the axes that are normalized over too.
      mean_close_to_zero: computes the variance from the mean of squares.
      center, scale, epsilon, activation_fn, param_initializers, reuse, variables_collections, outputs_collections,
      trainable,
        scope: see `instance_norm`.

    Raises:
      ValueError: a size that is needed is unknown, or an argument does not fit.
    """
    inputs = convert_to_tensor(inputs)
    if inputs.shape.ndims is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    channels_axis, axes = _group_axes(inputs, groups, channels_axis, reduction_axes)
    found = shape_of(inputs)
    sizes = [found[i] if size is None else size for i, size in enumerate(inputs.shape.as_list())]
    channels, dtype = sizes[channels_axis], inputs.dtype.base_dtype
    before, after = sizes[:channels_axis], sizes[channels_axis + 1 :]
    grouped = [groups, channels // groups]
    inputs = reshape(inputs, before + grouped + after)
    broadcast = [1] * len(before) + grouped + [1] * len(after)
    with variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as sc:
        weights = {}
        for name, wanted in (("beta", center), ("gamma", scale)):
            if wanted:
                weight = _weight(name, param_initializers, [channels], dtype, variables_collections, trainable)
                weights[name] = reshape(weight, broadcast)
        if mean_close_to_zero:
            counts, means, variances, _ = sufficient_statistics(inputs, axes, keep_dims=True)
            mean, variance = normalize_moments(counts, means, variances, shift=None)
        else:
            mean, variance = moments(inputs, axes, keep_dims=True)
        gain = rsqrt(variance + epsilon)
        offset = -mean * gain
        if scale:
            gain *= weights["gamma"]
            offset *= weights["gamma"]
        if center:
            offset += weights["beta"]
        outputs = reshape(inputs * gain + offset, sizes)
        return common.finish(outputs, None, None, activation_fn, outputs_collections, sc.name)


def _group_axes(inputs: Tensor, groups: int, channels_axis: int, reduction_axes: Any) -> tuple[int, list[int]]:
    """The axis of the channels, and the axes to reduce over once they are split into groups."""
    sizes = inputs.shape.as_list()
    rank = len(sizes)
    if channels_axis > rank - 1:
        raise ValueError("Axis is out of bounds.")
    channels_axis += rank if channels_axis < 0 else 0
    channels = sizes[channels_axis]
    if channels is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channel dimension: {channels_axis}.")
    axes = [axis + rank if axis < 0 else axis for axis in reduction_axes]
    for axis in axes:
        if axis >= rank:
            raise ValueError("Axis is out of bounds.")
        if sizes[axis] is None:
            raise ValueError(f"Inputs {inputs.name} has undefined dimensions {axis}.")
        if axis == channels_axis:
            raise ValueError("reduction_axis must be mutually exclusive with channels_axis")
    if groups > channels:
        raise ValueError(f"Invalid groups {groups} for {channels} channels.")
    if channels % groups:
        raise ValueError(f"{channels} channels is not commensurate with {groups} groups.")
    return channels_axis, [channels_axis + 1, *(axis + 1 if axis > channels_axis else axis for axis in axes)]


@export("contrib.layers.unit_norm", "contrib.slim.unit_norm")
@add_arg_scope
def unit_norm(inputs, dim, epsilon=1e-7, scope=None) -> Tensor:
    """`inputs` divided by their length along the axis `dim`.

    Raises:
      ValueError: the rank is unknown, or `dim` lies outside of it.
    """
    with variable_scope(scope, "UnitNorm", [inputs]):
        if not inputs.get_shape():
            raise ValueError("The input rank must be known.")
        rank = inputs.get_shape().ndims
        if dim < 0 or dim >= rank:
            raise ValueError("dim must be positive but smaller than the input rank.")
        lengths = sqrt(epsilon + reduce_sum(square(inputs), dim, True))
        multiples = [ones([dim], dtypes.int32)] if dim > 0 else []
        multiples.append(strided_slice(shape_of(inputs), [dim], [dim + 1]))
        if dim < rank - 1:
            multiples.append(ones([rank - 1 - dim], dtypes.int32))
        return div(inputs, tile(lengths, concat(multiples, 0)))
