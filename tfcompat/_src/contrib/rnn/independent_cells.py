"""Cells whose units see only themselves in the state; Li et al., arXiv 1803.04831."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.join import split
from tfcompat._src.ops.math.binary import add, multiply
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.unary import sigmoid, tanh
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.rnn.basic_cells import LSTMStateTuple
from tfcompat._src.rnn.cell import BIAS, KERNEL, LayerRNNCell, known_depth
from tfcompat._src.variables.initializers import Constant, RandomUniform, Zeros


class _IndependentCell(LayerRNNCell):
    """What the cells share: a matrix for the inputs, and for the state one weight per unit and gate.

    Args:
      num_units: size of state and output.
      activation: function; tanh by default.
      reuse: whether the variables must exist.
      kernel_initializer, bias_initializer: of the weights of the inputs and of the biases.
      name, dtype: see RNNCell.
    """

    def __init__(
        self, num_units, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name=None,
        dtype=None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._activation = num_units, activation or tanh
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    state_size = property(lambda self: self._num_units)
    output_size = property(lambda self: self._num_units)

    def _weights(
        self, prefix: str, depth: int, size: int, bias: object, kernel: str = f"{KERNEL}_w"
    ) -> tuple[Any, Any, Any]:
        """The weights of the inputs, of the state, and the bias, for `size` gates and units."""
        return (
            self.add_weight(f"{prefix}{kernel}", shape=[depth, size], initializer=self._kernel_initializer),
            self.add_weight(
                f"{prefix}{KERNEL}_u", shape=[1, size], initializer=RandomUniform(minval=-1, maxval=1, dtype=self.dtype)
            ),
            self.add_weight(
                f"{prefix}{BIAS}", shape=[size],
                initializer=bias if self._bias_initializer is None else self._bias_initializer,
            ),
        )  # fmt: skip


@export("contrib.rnn.IndRNNCell")
class IndRNNCell(_IndependentCell):
    """The basic cell with independent units.

    Args:
      num_units, activation, reuse, name, dtype: see BasicRNNCell.
    """

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None) -> None:
        super().__init__(num_units, activation, reuse, name=name, dtype=dtype)

    def build(self, inputs_shape: Any) -> None:
        depth = known_depth(inputs_shape)
        self._kernel_w, self._kernel_u, self._bias = self._weights("", depth, self._num_units, Zeros(dtype=self.dtype))
        self.built = True

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        gates = matmul(inputs, self._kernel_w) + state * self._kernel_u
        output = self._activation(bias_add(gates, self._bias))
        return output, output


@export("contrib.rnn.IndyGRUCell")
class IndyGRUCell(_IndependentCell):
    """GRUCell with independent units.

    Args:
      num_units, activation, reuse, kernel_initializer, bias_initializer, name, dtype: see GRUCell.
    """

    def build(self, inputs_shape: Any) -> None:
        depth, units = known_depth(inputs_shape), self._num_units
        self._gates = self._weights("gates/", depth, 2 * units, Constant(1.0, dtype=self.dtype))
        self._candidate = self._weights("candidate/", depth, units, Zeros(dtype=self.dtype), KERNEL)
        self.built = True

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        w, u, bias = self._gates
        gates = sigmoid(bias_add(matmul(inputs, w) + raw.Tile(state, [1, 2]) * u, bias))
        r, z = split(value=gates, num_or_size_splits=2, axis=1)
        w, u, bias = self._candidate
        reset = r * state
        c = self._activation(bias_add(matmul(inputs, w) + reset * u, bias))
        new_state = z * state + (1 - z) * c
        return new_state, new_state


@export("contrib.rnn.IndyLSTMCell")
class IndyLSTMCell(_IndependentCell):
    """BasicLSTMCell with independent units.

    Args:
      forget_bias: added to the forget gate's input.
      num_units, activation, reuse, kernel_initializer, bias_initializer, name, dtype: see GRUCell.
    """

    def __init__(
        self, num_units, forget_bias=1.0, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None,
        name=None, dtype=None,
    ) -> None:  # fmt: skip
        super().__init__(num_units, activation, reuse, kernel_initializer, bias_initializer, name, dtype)
        self._forget_bias = forget_bias

    state_size = property(lambda self: LSTMStateTuple(self._num_units, self._num_units))

    def build(self, inputs_shape: Any) -> None:
        depth, size = known_depth(inputs_shape), 4 * self._num_units
        self._kernel_w, self._kernel_u, self._bias = self._weights("", depth, size, Zeros(dtype=self.dtype))
        self.built = True

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        one = constant(1, dtype=dtypes.int32)
        c, h = state
        gates = matmul(inputs, self._kernel_w)
        gates = bias_add(gates + raw.Tile(h, [1, 4]) * self._kernel_u, self._bias)
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=one)
        forget_bias = constant(self._forget_bias, dtype=f.dtype)
        new_c = add(multiply(c, sigmoid(add(f, forget_bias))), multiply(sigmoid(i), self._activation(j)))
        new_h = multiply(self._activation(new_c), sigmoid(o))
        return new_h, LSTMStateTuple(new_c, new_h)
