"""tf.contrib.layers: pooling."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.framework.arg_scope import add_arg_scope
from tfcompat._src.contrib.layers import common
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.layers import pooling as tf_layers
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.nn.dilated import pool as pool_any

_2D, _3D = ("NCHW", "NHWC"), ("NCDHW", "NDHWC")


def _pooled(
    layer: Any, default: str, formats: tuple, inputs, kernel_size, stride, padding, data_format, collections, scope
) -> Tensor:
    layout = common.check_format(data_format, *formats)
    with name_scope(scope, default, [inputs]) as sc:
        inputs = convert_to_tensor(inputs)
        outputs = layer(kernel_size, stride, padding, layout, _scope=sc).apply(inputs)
        return common.collect(collections, sc, outputs)


@export("contrib.layers.avg_pool2d", "contrib.slim.avg_pool2d")
@add_arg_scope
def avg_pool2d(
    inputs, kernel_size, stride=2, padding="VALID", data_format="NHWC", outputs_collections=None, scope=None
) -> Tensor:
    """The mean of each window; arguments as in `max_pool2d`."""
    return _pooled(tf_layers.AveragePooling2D, "AvgPool2D", _2D, inputs, kernel_size, stride, padding, data_format,
                   outputs_collections, scope)  # fmt: skip


@export("contrib.layers.avg_pool3d", "contrib.slim.avg_pool3d")
@add_arg_scope
def avg_pool3d(
    inputs, kernel_size, stride=2, padding="VALID", data_format="NDHWC", outputs_collections=None, scope=None
) -> Tensor:
    """The mean of each window; arguments as in `max_pool2d`, for three dimensions."""
    return _pooled(tf_layers.AveragePooling3D, "AvgPool3D", _3D, inputs, kernel_size, stride, padding, data_format,
                   outputs_collections, scope)  # fmt: skip


@export("contrib.layers.max_pool2d", "contrib.slim.max_pool2d")
@add_arg_scope
def max_pool2d(
    inputs, kernel_size, stride=2, padding="VALID", data_format="NHWC", outputs_collections=None, scope=None
) -> Tensor:
    """The largest element of each window.

    Args:
      inputs: Tensor [batch, height, width, channels] in `data_format` order.
      kernel_size, stride: an int or two ints.
      padding: "VALID" or "SAME".
      data_format: "NHWC" or "NCHW".
      outputs_collections: collections of the output.
      scope: name scope.

    Raises:
      ValueError: an argument is none of these.
    """
    return _pooled(tf_layers.MaxPooling2D, "MaxPool2D", _2D, inputs, kernel_size, stride, padding, data_format,
                   outputs_collections, scope)  # fmt: skip


@export("contrib.layers.max_pool3d", "contrib.slim.max_pool3d")
@add_arg_scope
def max_pool3d(
    inputs, kernel_size, stride=2, padding="VALID", data_format="NDHWC", outputs_collections=None, scope=None
) -> Tensor:
    """The largest element of each window; arguments as in `max_pool2d`, for three dimensions."""
    return _pooled(tf_layers.MaxPooling3D, "MaxPool3D", _3D, inputs, kernel_size, stride, padding, data_format,
                   outputs_collections, scope)  # fmt: skip


def _positive_ints(count: int, value: Any) -> tuple[int, ...]:
    values = (value,) * count if isinstance(value, int) else tuple(int(v) for v in value)
    if len(values) != count:
        raise ValueError(f"Expected sequence of {count} positive integers, but received {value!r}")
    for v in values:
        if v < 1:
            raise ValueError(f"expected positive integer, but received {v}")
    return values


@export("contrib.slim.pool")
@add_arg_scope
def pool(
    inputs, kernel_size, pooling_type, padding="VALID", data_format=None, dilation_rate=1, stride=1,
    outputs_collections=None, scope=None,
) -> Tensor:  # fmt: skip
    """tf.nn.pool in as many dimensions as `inputs` has beside batch and channels.

    Raises:
      ValueError: the rank is unknown or below 3, or an argument does not fit.
    """
    with name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as sc:
        inputs = convert_to_tensor(inputs)
        if inputs.shape.ndims is None:
            raise ValueError("Rank of inputs must be known")
        if inputs.shape.ndims < 3:
            raise ValueError("Rank of inputs must be >= 3")
        count = inputs.shape.ndims - 2
        outputs = pool_any(
            inputs, window_shape=_positive_ints(count, kernel_size), pooling_type=pooling_type, padding=padding,
            data_format=data_format, dilation_rate=_positive_ints(count, dilation_rate),
            strides=_positive_ints(count, stride), name=sc,
        )  # fmt: skip
        return common.collect(outputs_collections, sc, outputs)
