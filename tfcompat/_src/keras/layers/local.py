"""Convolutions with another kernel at each position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import activations, constraints, initializers, regularizers
from tfcompat._src.keras.backend.conv import bias_add, local_conv
from tfcompat._src.keras.backend.values import ndim
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.utils import conv_utils
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.reduce import reduce_prod

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class _LocallyConnected(Layer):
    """A convolution of `rank` dimensions with another kernel at each position.

    Args:
      filters: number of output channels.
      kernel_size, strides: an int or `rank` ints.
      padding: "valid", or "same" with implementations 2 and 3.
      data_format: "channels_last" or "channels_first"; by default Keras' setting.
      activation: function of the result, its name, or None.
      use_bias: whether to add a bias.
      kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint,
        bias_constraint: of the weights.
      activity_regularizer: function of the output that gives a loss.
      implementation: 1 multiplies patches, 2 a dense matrix with a mask, 3 a sparse matrix.

    Raises:
      ValueError: an argument is none of these, or a size of the inputs is unknown.
    """

    rank = 0
    _config = (
        "filters", "kernel_size", "strides", "padding", "data_format", "activation", "use_bias", "kernel_initializer",
        "bias_initializer", "kernel_regularizer", "bias_regularizer", "activity_regularizer", "kernel_constraint",
        "bias_constraint", "implementation",
    )  # fmt: skip

    def __init__(
        self, filters, kernel_size, strides=1, padding="valid", data_format=None, activation=None, use_bias=True,
        kernel_initializer="glorot_uniform", bias_initializer="zeros", kernel_regularizer=None, bias_regularizer=None,
        activity_regularizer=None, kernel_constraint=None, bias_constraint=None, implementation=1, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self.filters, self.use_bias, self.implementation = filters, use_bias, implementation
        self.kernel_size = conv_utils.normalize_tuple(kernel_size, self.rank, "kernel_size")
        self.strides = conv_utils.normalize_tuple(strides, self.rank, "strides")
        self.padding = conv_utils.normalize_padding(padding)
        if self.padding != "valid" and implementation == 1:
            raise ValueError(
                f"Invalid border mode for {type(self).__name__} (only \"valid\" is supported if implementation is 1): "
                f"{padding}"
            )
        self.data_format = conv_utils.normalize_data_format(data_format)
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _check_sizes(self, sizes: list[int | None], channels: int | None) -> None:
        raise NotImplementedError

    def build(self, input_shape: Any) -> None:
        shape = TensorShape(input_shape).as_list()
        first = self.data_format == "channels_first"
        sizes, channels = (shape[2:], shape[1]) if first else (shape[1:-1], shape[-1])
        self._check_sizes(shape, channels)
        window = (sizes, self.kernel_size, self.strides, self.padding)
        self._positions = conv_utils.conv_output_shape(*window)
        self._set_kernel_shape(tuple(sizes), channels)
        count = len(self.kernel_idxs) if self.implementation == 3 else None
        self.kernel = self.add_weight(
            shape=self.kernel_shape if count is None else (count,), initializer=self.kernel_initializer, name="kernel",
            regularizer=self.kernel_regularizer, constraint=self.kernel_constraint,
        )  # fmt: skip
        if self.implementation == 2:
            self.kernel_mask = get_locallyconnected_mask(*window, self.data_format)
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                shape=(*self._positions, self.filters), initializer=self.bias_initializer, name="bias",
                regularizer=self.bias_regularizer, constraint=self.bias_constraint,
            )  # fmt: skip
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={1 if first else -1: channels})
        self.built = True

    def _set_kernel_shape(self, sizes: tuple[int, ...], channels: int) -> None:
        outputs, count = self._positions, int(np.prod(self._positions))
        if self.implementation == 1:
            self.kernel_shape = (count, int(np.prod(self.kernel_size)) * channels, self.filters)
        elif self.implementation == 2 and self.data_format == "channels_first":
            self.kernel_shape = (channels, *sizes, self.filters, *outputs)
        elif self.implementation == 2:
            self.kernel_shape = (*sizes, channels, *outputs, self.filters)
        elif self.implementation == 3:
            self.kernel_shape = (count * self.filters, int(np.prod(sizes)) * channels)
            self.kernel_idxs = sorted(conv_utils.conv_kernel_idxs(
                sizes, self.kernel_size, self.strides, self.padding, channels, self.filters, self.data_format
            ))  # fmt: skip
        else:
            raise ValueError(f"Unrecognized implementation mode: {self.implementation}.")

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        for i, axis in enumerate(conv_utils.spatial_axes(self.data_format, self.rank)):
            sizes[axis] = conv_utils.conv_output_length(
                sizes[axis], self.kernel_size[i], self.padding, self.strides[i]
            )
        sizes[1 if self.data_format == "channels_first" else -1] = self.filters
        return TensorShape(sizes)

    def call(self, inputs: Any) -> Any:
        if self.implementation == 1:
            output = local_conv(
                inputs, self.kernel, self.kernel_size, self.strides, self._positions, self.data_format
            )
        else:
            flat = reshape(inputs, (shape_of(inputs)[0], -1))
            product = self._masked_product(flat) if self.implementation == 2 else self._sparse_product(flat)
            sizes = self.compute_output_shape(inputs.shape).as_list()
            output = reshape(product, [shape_of(product)[0], *sizes[1:]])
        if self.use_bias:
            output = bias_add(output, self.bias, data_format=self.data_format)
        return self.activation(output)

    def _masked_product(self, flat: Tensor) -> Tensor:
        kernel = self.kernel_mask * self.kernel
        return raw.SparseMatMul(flat, make_2d(kernel, split_dim=ndim(kernel) // 2), b_is_sparse=True)

    def _sparse_product(self, flat: Tensor) -> Tensor:
        return transpose(
            raw.SparseTensorDenseMatMul(self.kernel_idxs, self.kernel, self.kernel_shape, flat, adjoint_b=True)
        )


@export("keras.layers.LocallyConnected1D")
class LocallyConnected1D(_LocallyConnected):
    __doc__ = _LocallyConnected.__doc__
    rank = 1

    def _check_sizes(self, sizes: list[int | None], channels: int | None) -> None:
        if channels is None:
            raise ValueError("Axis 2 of input should be fully-defined. Found shape:", tuple(sizes))


@export("keras.layers.LocallyConnected2D")
class LocallyConnected2D(_LocallyConnected):
    __doc__ = _LocallyConnected.__doc__
    rank = 2

    def __init__(
        self, filters, kernel_size, strides=(1, 1), padding="valid", data_format=None, activation=None, use_bias=True,
        kernel_initializer="glorot_uniform", bias_initializer="zeros", kernel_regularizer=None, bias_regularizer=None,
        activity_regularizer=None, kernel_constraint=None, bias_constraint=None, implementation=1, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            filters, kernel_size, strides, padding, data_format, activation, use_bias, kernel_initializer,
            bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer, kernel_constraint,
            bias_constraint, implementation, **kwargs,
        )  # fmt: skip

    def _check_sizes(self, sizes: list[int | None], channels: int | None) -> None:
        if None in (sizes[2:] if self.data_format == "channels_first" else sizes[1:-1]):
            raise ValueError(
                "The spatial dimensions of the inputs to  a LocallyConnected2D layer should be fully-defined, but layer "
                f"received the inputs shape {tuple(sizes)}"
            )


def get_locallyconnected_mask(
    input_shape: Any, kernel_shape: Any, strides: Any, padding: str, data_format: str
) -> np.ndarray:
    """`conv_kernel_mask` with a dimension of size 1 for the channels of inputs and outputs; ValueError for the format."""
    mask = conv_utils.conv_kernel_mask(tuple(input_shape), kernel_shape, strides, padding)
    rank = mask.ndim // 2
    if data_format == "channels_first":
        return np.expand_dims(mask, (0, rank + 1))
    if data_format == "channels_last":
        return np.expand_dims(mask, (rank, 2 * rank + 1))
    raise ValueError(f"Unrecognized data_format: {data_format}")


def make_2d(tensor: TensorLike, split_dim: int) -> Tensor:
    """`tensor` as a matrix: the dimensions before `split_dim` in one, the others in one."""
    sizes = shape_of(tensor)
    first, last = sizes[:split_dim], sizes[split_dim:]
    return reshape(tensor, (reduce_prod(first), reduce_prod(last)))
