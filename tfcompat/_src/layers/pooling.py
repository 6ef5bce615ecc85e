"""Pooling layers, as tf.layers and Keras share them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.framework.tensor_shape import TensorShape
from tfcompat._src.layers import windows
from tfcompat._src.layers.input_spec import InputSpec
from tfcompat._src.layers.layer import Layer
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import expand_dims, squeeze


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
        self.pool_size = windows.normalize_tuple(pool_size, rank, "pool_size")
        self.strides = windows.normalize_tuple(pool_size if strides is None else strides, rank, "strides")
        self.padding = windows.normalize_padding(padding)
        self.data_format = windows.normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=rank + 2)

    def _pooled(self, inputs: Any, size: tuple[int, ...], strides: tuple[int, ...], data_format: str) -> Tensor:
        first = data_format == "channels_first"
        size = (1, 1, *size) if first else (1, *size, 1)
        strides = (1, 1, *strides) if first else (1, *strides, 1)
        name = windows.convert_data_format(data_format, len(size))
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
        for i, axis in enumerate(windows.spatial_axes(self.data_format, self.rank)):
            sizes[axis] = windows.output_length(sizes[axis], self.pool_size[i], self.padding, self.strides[i])
        return TensorShape(sizes)
