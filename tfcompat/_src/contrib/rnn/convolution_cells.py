"""LSTMs with convolutions in place of products; Shi et al., arXiv 1506.04214."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.rnn.linear import Sized
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.join import concat, split
from tfcompat._src.ops.math.unary import sigmoid, tanh
from tfcompat._src.ops.nn.conv_functions import conv1d, conv2d, conv3d
from tfcompat._src.rnn.basic_cells import LSTMStateTuple
from tfcompat._src.rnn.cell import RNNCell
from tfcompat._src.variables.initializers import Constant
from tfcompat._src.variables.scope import get_variable


def _convolution(args: list[Tensor], filter_size: list[int], features: int, bias: bool) -> Tensor:
    """A convolution of joined inputs with new weights; ValueError where their ranks do not fit."""
    shapes = [x.shape.as_list() for x in args]
    rank = len(shapes[0])
    for shape in shapes:
        if len(shape) not in (3, 4, 5):
            raise ValueError(f"Conv Linear expects 3D, 4D or 5D arguments: {shapes}")
        if len(shape) != rank:
            raise ValueError(f"Conv Linear expects all args to be of same Dimension: {shapes}")
    convolve = {3: conv1d, 4: conv2d, 5: conv3d}[rank]
    strides = 1 if rank == 3 else rank * [1]
    dtype = args[0].dtype
    kernel = get_variable("kernel", [*filter_size, sum(shape[-1] for shape in shapes), features], dtype=dtype)
    joined = args[0] if len(args) == 1 else concat(axis=rank - 1, values=args)
    found = convolve(joined, kernel, strides, padding="SAME")
    if not bias:
        return found
    return found + get_variable("biases", [features], dtype=dtype, initializer=Constant(0.0, dtype=dtype))


@export("contrib.rnn.ConvLSTMCell")
class ConvLSTMCell(Sized, RNNCell):
    """An LSTM over images or volumes.

    Args:
      conv_ndims: number of dimensions of the convolution, 1 to 3.
      input_shape: list of sizes of the inputs without the batch, channels last.
      output_channels: channels of memory and output.
      kernel_shape: sizes of the filter.
      use_bias: whether a bias is added.
      skip_connection: whether the inputs are joined to the output.
      forget_bias: added to the forget gate's input.
      initializers: not used.
      name: name of the cell.

    Raises:
      ValueError: `input_shape` is not that of `conv_ndims`.
    """

    def __init__(
        self, conv_ndims, input_shape, output_channels, kernel_shape, use_bias=True, skip_connection=False,
        forget_bias=1.0, initializers=None, name="conv_lstm_cell",
    ) -> None:  # fmt: skip
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._conv_ndims, self._output_channels, self._kernel_shape = conv_ndims, output_channels, list(kernel_shape)
        self._use_bias, self._skip_connection, self._forget_bias = use_bias, skip_connection, forget_bias
        memory = TensorShape([*input_shape[:-1], output_channels])
        self._state_size = LSTMStateTuple(memory, memory)
        channels = output_channels + (input_shape[-1] if skip_connection else 0)
        self._output_size = TensorShape([*input_shape[:-1], channels])

    def call(self, inputs: Tensor, state: Any, scope: Any = None) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        gates = _convolution([inputs, h], self._kernel_shape, 4 * self._output_channels, self._use_bias)
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=self._conv_ndims + 1)
        new_c = sigmoid(f + self._forget_bias) * c
        new_c += sigmoid(i) * tanh(j)
        output = tanh(new_c) * sigmoid(o)
        if self._skip_connection:
            output = concat([output, inputs], axis=-1)
        return output, LSTMStateTuple(new_c, output)


@export("contrib.rnn.Conv1DLSTMCell")
class Conv1DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell over sequences; see there."""

    def __init__(self, name="conv_1d_lstm_cell", **kwargs) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


@export("contrib.rnn.Conv2DLSTMCell")
class Conv2DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell over images; see there."""

    def __init__(self, name="conv_2d_lstm_cell", **kwargs) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


@export("contrib.rnn.Conv3DLSTMCell")
class Conv3DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell over volumes; see there."""

    def __init__(self, name="conv_3d_lstm_cell", **kwargs) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)
