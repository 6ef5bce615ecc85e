"""tf.layers: max and average pooling, and the functions that call them once."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.layers.pooling import Pooling
from tfcompat._src.layers.scoped_layer import Layer
from tfcompat._src.ops.nn.pool_functions import avg_pool, avg_pool3d, max_pool, max_pool3d


@export("layers.MaxPooling1D")
class MaxPooling1D(Pooling, Layer):
    """The largest element of each window of [batch, steps, channels]; arguments as in `Pooling`."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs) -> None:
        super().__init__(max_pool, 1, pool_size, strides, padding, data_format, name, **kwargs)


@export("layers.MaxPooling2D")
class MaxPooling2D(Pooling, Layer):
    """The largest element of each window of [batch, height, width, channels]; arguments as in `Pooling`."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs) -> None:
        super().__init__(max_pool, 2, pool_size, strides, padding, data_format, name, **kwargs)


@export("layers.MaxPooling3D")
class MaxPooling3D(Pooling, Layer):
    """The largest element of each window of [batch, depth, height, width, channels]; arguments as in `Pooling`."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs) -> None:
        super().__init__(max_pool3d, 3, pool_size, strides, padding, data_format, name, **kwargs)


@export("layers.AveragePooling1D")
class AveragePooling1D(Pooling, Layer):
    """The mean of each window of [batch, steps, channels]; arguments as in `Pooling`."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs) -> None:
        super().__init__(avg_pool, 1, pool_size, strides, padding, data_format, name, **kwargs)


@export("layers.AveragePooling2D")
class AveragePooling2D(Pooling, Layer):
    """The mean of each window of [batch, height, width, channels]; arguments as in `Pooling`."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs) -> None:
        super().__init__(avg_pool, 2, pool_size, strides, padding, data_format, name, **kwargs)


@export("layers.AveragePooling3D")
class AveragePooling3D(Pooling, Layer):
    """The mean of each window of [batch, depth, height, width, channels]; arguments as in `Pooling`."""

    def __init__(self, pool_size, strides, padding="valid", data_format="channels_last", name=None, **kwargs) -> None:
        super().__init__(avg_pool3d, 3, pool_size, strides, padding, data_format, name, **kwargs)


@export("layers.max_pooling1d")
def max_pooling1d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None) -> Tensor:
    """The largest element of each window of [batch, steps, channels].

    Args:
      inputs: Tensor of rank 3.
      pool_size, strides: an int.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      name: name of the layer.
    """
    return MaxPooling1D(pool_size, strides, padding, data_format, name).apply(inputs)


@export("layers.max_pooling2d")
def max_pooling2d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None) -> Tensor:
    """The largest element of each window of [batch, height, width, channels].

    Args:
      inputs: Tensor of rank 4.
      pool_size, strides: an int or two ints.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      name: name of the layer.
    """
    return MaxPooling2D(pool_size, strides, padding, data_format, name).apply(inputs)


@export("layers.max_pooling3d")
def max_pooling3d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None) -> Tensor:
    """The largest element of each window of a tensor of rank 5; arguments as in `max_pooling1d`, for 3 dimensions."""
    return MaxPooling3D(pool_size, strides, padding, data_format, name).apply(inputs)


@export("layers.average_pooling1d")
def average_pooling1d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None) -> Tensor:
    """The mean of each window of [batch, steps, channels]; arguments as in `max_pooling1d`."""
    return AveragePooling1D(pool_size, strides, padding, data_format, name).apply(inputs)


@export("layers.average_pooling2d")
def average_pooling2d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None) -> Tensor:
    """The mean of each window of rank 4; arguments as in `max_pooling1d`."""
    return AveragePooling2D(pool_size, strides, padding, data_format, name).apply(inputs)


@export("layers.average_pooling3d")
def average_pooling3d(inputs, pool_size, strides, padding="valid", data_format="channels_last", name=None) -> Tensor:
    """The mean of each window of a tensor of rank 5; arguments as in `max_pooling1d`, for 3 dimensions."""
    return AveragePooling3D(pool_size, strides, padding, data_format, name).apply(inputs)
