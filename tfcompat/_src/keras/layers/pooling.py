"""Pooling layers: the base that tf.layers and Keras share, and those of Keras."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.utils import conv_utils
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import expand_dims, reshape, squeeze
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_max, reduce_mean, reduce_sum
from tfcompat._src.ops.nn import pool_functions


class Pooling(Layer):
    """Pooling in `rank` dimensions.

    Args:
      pool_function: function of inputs, window, strides, padding and data format.
      rank: number of spatial dimensions, 1 to 3.
      pool_size, strides: an int or `rank` ints; strides are the size by default.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".

    Raises:
      ValueError: an argument is none of these.
    """

    _config = ("pool_size", "padding", "strides", "data_format")

    def __init__(
        self, pool_function: Callable, rank: int, pool_size: Any, strides: Any, padding: str = "valid",
        data_format: str | None = None, name: str | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(name=name, **kwargs)
        self.pool_function, self.rank = pool_function, rank
        self.pool_size = conv_utils.normalize_tuple(pool_size, rank, "pool_size")
        self.strides = conv_utils.normalize_tuple(pool_size if strides is None else strides, rank, "strides")
        self.padding = conv_utils.normalize_padding(padding)
        self.data_format = conv_utils.normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=rank + 2)

    def _pooled(self, inputs: object, size: tuple[int, ...], strides: tuple[int, ...], data_format: str) -> Tensor:
        first = data_format == "channels_first"
        size = (1, 1, *size) if first else (1, *size, 1)
        strides = (1, 1, *strides) if first else (1, *strides, 1)
        name = conv_utils.convert_data_format(data_format, len(size))
        return self.pool_function(inputs, size, strides, self.padding.upper(), data_format=name)

    def call(self, inputs: Any) -> Tensor:
        if self.rank == 2:
            return self._pooled(inputs, self.pool_size, self.strides, self.data_format)
        if self.rank == 1:
            axis = 2 if self.data_format == "channels_last" else 3
            return squeeze(self._pooled_rows(expand_dims(inputs, axis)), axis)
        if self.data_format == "channels_last":
            return self._pooled(inputs, self.pool_size, self.strides, self.data_format)
        outputs = self._pooled(transpose(inputs, (0, 2, 3, 4, 1)), self.pool_size, self.strides, "channels_last")
        return transpose(outputs, (0, 4, 1, 2, 3))

    def _pooled_rows(self, inputs: Tensor) -> Tensor:
        """Pooling of one dimension as one of two; the CPU of 1.15 pools with the channels last only."""
        first = self.data_format == "channels_first"
        if first:
            inputs = transpose(inputs, (0, 2, 3, 1))
        outputs = self._pooled(inputs, (*self.pool_size, 1), (*self.strides, 1), "channels_last")
        return transpose(outputs, (0, 3, 1, 2)) if first else outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        for i, axis in enumerate(conv_utils.spatial_axes(self.data_format, self.rank)):
            sizes[axis] = conv_utils.conv_output_length(sizes[axis], self.pool_size[i], self.padding, self.strides[i])
        return TensorShape(sizes)


@export("keras.layers.MaxPooling1D", "keras.layers.MaxPool1D")
class MaxPooling1D(Pooling):
    """The largest element of each window of [batch, steps, channels]; arguments as in `Pooling`."""

    def __init__(self, pool_size=2, strides=None, padding="valid", data_format="channels_last", **kwargs) -> None:
        super().__init__(pool_functions.max_pool, 1, pool_size, strides, padding, data_format, **kwargs)


@export("keras.layers.MaxPooling2D", "keras.layers.MaxPool2D")
class MaxPooling2D(Pooling):
    """The largest element of each window of images; arguments as in `Pooling`."""

    def __init__(self, pool_size=(2, 2), strides=None, padding="valid", data_format=None, **kwargs) -> None:
        super().__init__(pool_functions.max_pool, 2, pool_size, strides, padding, data_format, **kwargs)


@export("keras.layers.MaxPooling3D", "keras.layers.MaxPool3D")
class MaxPooling3D(Pooling):
    """The largest element of each window of volumes; arguments as in `Pooling`."""

    def __init__(self, pool_size=(2, 2, 2), strides=None, padding="valid", data_format=None, **kwargs) -> None:
        super().__init__(pool_functions.max_pool3d, 3, pool_size, strides, padding, data_format, **kwargs)


@export("keras.layers.AveragePooling1D", "keras.layers.AvgPool1D")
class AveragePooling1D(Pooling):
    """The mean of each window of [batch, steps, channels]; arguments as in `Pooling`."""

    def __init__(self, pool_size=2, strides=None, padding="valid", data_format="channels_last", **kwargs) -> None:
        super().__init__(pool_functions.avg_pool, 1, pool_size, strides, padding, data_format, **kwargs)


@export("keras.layers.AveragePooling2D", "keras.layers.AvgPool2D")
class AveragePooling2D(Pooling):
    """The mean of each window of images; arguments as in `Pooling`."""

    def __init__(self, pool_size=(2, 2), strides=None, padding="valid", data_format=None, **kwargs) -> None:
        super().__init__(pool_functions.avg_pool, 2, pool_size, strides, padding, data_format, **kwargs)


@export("keras.layers.AveragePooling3D", "keras.layers.AvgPool3D")
class AveragePooling3D(Pooling):
    """The mean of each window of volumes; arguments as in `Pooling`."""

    def __init__(self, pool_size=(2, 2, 2), strides=None, padding="valid", data_format=None, **kwargs) -> None:
        super().__init__(pool_functions.avg_pool3d, 3, pool_size, strides, padding, data_format, **kwargs)


class _GlobalPooling(Layer):
    """What is left of `rank` spatial dimensions as one value for each channel."""

    rank = 1
    _config = ("data_format",)

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = conv_utils.normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def _axes(self) -> Any:
        axes = list(conv_utils.spatial_axes(self.data_format, self.rank))
        return axes[0] if self.rank == 1 else axes

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        return TensorShape([sizes[0], sizes[-1 if self.data_format == "channels_last" else 1]])


@export("keras.layers.GlobalAveragePooling1D", "keras.layers.GlobalAvgPool1D")
class GlobalAveragePooling1D(_GlobalPooling):
    """The mean of all steps of [batch, steps, channels], of those that the mask keeps."""

    def __init__(self, data_format="channels_last", **kwargs) -> None:
        super().__init__(data_format, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Tensor:
        if mask is None:
            return reduce_mean(inputs, axis=self._axes)
        weights = reshape(cast(mask, floatx()), [-1, inputs.shape.as_list()[self._axes], 1])
        inputs *= weights
        return reduce_sum(inputs, axis=self._axes) / reduce_sum(weights, axis=self._axes)

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        return None


@export("keras.layers.GlobalMaxPooling1D", "keras.layers.GlobalMaxPool1D")
class GlobalMaxPooling1D(_GlobalPooling):
    """The largest element of all steps of [batch, steps, channels]."""

    def __init__(self, data_format="channels_last", **kwargs) -> None:
        super().__init__(data_format, **kwargs)

    def call(self, inputs: Any) -> Tensor:
        return reduce_max(inputs, axis=self._axes)


@export("keras.layers.GlobalAveragePooling2D", "keras.layers.GlobalAvgPool2D")
class GlobalAveragePooling2D(_GlobalPooling):
    """The mean of each channel of images."""

    rank = 2

    def call(self, inputs: Any) -> Tensor:
        return reduce_mean(inputs, axis=self._axes)


@export("keras.layers.GlobalMaxPooling2D", "keras.layers.GlobalMaxPool2D")
class GlobalMaxPooling2D(_GlobalPooling):
    """The largest element of each channel of images."""

    rank = 2

    def call(self, inputs: Any) -> Tensor:
        return reduce_max(inputs, axis=self._axes)


@export("keras.layers.GlobalAveragePooling3D", "keras.layers.GlobalAvgPool3D")
class GlobalAveragePooling3D(_GlobalPooling):
    """The mean of each channel of volumes."""

    rank = 3

    def call(self, inputs: Any) -> Tensor:
        return reduce_mean(inputs, axis=self._axes)


@export("keras.layers.GlobalMaxPooling3D", "keras.layers.GlobalMaxPool3D")
class GlobalMaxPooling3D(_GlobalPooling):
    """The largest element of each channel of volumes."""

    rank = 3

    def call(self, inputs: Any) -> Tensor:
        return reduce_max(inputs, axis=self._axes)
