"""BasicRNNCell, GRUCell, BasicLSTMCell and LSTMCell."""

from __future__ import annotations

import collections
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import activations, initializers
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.join import concat, split
from tfcompat._src.ops.array.slice import slice_ as slice_of
from tfcompat._src.ops.math.binary import add, multiply
from tfcompat._src.ops.math.clip import clip_by_value
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.unary import sigmoid, tanh
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.platform import logging
from tfcompat._src.rnn.cell import (
    BIAS,
    KERNEL,
    LayerRNNCell,
    check_input_dtypes,
    check_supported_dtype,
    known_depth,
)
from tfcompat._src.variables.initializers import Constant, Zeros
from tfcompat._src.variables.partitioners import fixed_size_partitioner


def _activation(given: object) -> Any:
    return activations.get(given) if given else tanh


def warn_of_joined_state(cell: object, state_is_tuple: bool) -> None:
    if not state_is_tuple:
        logging.warn(
            "%s: Using a concatenated state is slower and will soon be deprecated.  Use state_is_tuple=True.", cell
        )


@export("nn.rnn_cell.BasicRNNCell", "contrib.rnn.BasicRNNCell")
class BasicRNNCell(LayerRNNCell):
    """`output = new_state = activation([inputs, state] @ kernel + bias)`.

    Args:
      num_units: size of state and output.
      activation: function or its name; tanh by default.
      reuse: whether the variables must exist.
      name, dtype: see RNNCell.
    """

    _arguments = ("num_units", "activation", "reuse")

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None, **kwargs) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_supported_dtype(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._activation = num_units, _activation(activation)

    state_size = property(lambda self: self._num_units)
    output_size = property(lambda self: self._num_units)

    def build(self, inputs_shape: Any) -> None:
        depth = known_depth(inputs_shape)
        check_supported_dtype(self.dtype)
        self._kernel = self.add_weight(KERNEL, shape=[depth + self._num_units, self._num_units])
        self._bias = self.add_weight(BIAS, shape=[self._num_units], initializer=Zeros(dtype=self.dtype))
        self.built = True

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        check_input_dtypes([inputs, state])
        output = self._activation(bias_add(matmul(concat([inputs, state], 1), self._kernel), self._bias))
        return output, output


@export("nn.rnn_cell.GRUCell", "contrib.rnn.GRUCell")
class GRUCell(LayerRNNCell):
    """Gated recurrent unit: `new_state = u * state + (1 - u) * c`; Cho et al. 2014, http://arxiv.org/abs/1406.1078.

    Args:
      num_units: size of state and output.
      activation: function of the candidate c, or its name; tanh by default.
      reuse: whether the variables must exist.
      kernel_initializer, bias_initializer: of the weights; biases of the gates are 1 by default, of c 0.
      name, dtype: see RNNCell.
    """

    _arguments = ("num_units", "kernel_initializer", "bias_initializer", "activation", "reuse")

    def __init__(
        self, num_units, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name=None,
        dtype=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_supported_dtype(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._activation = num_units, _activation(activation)
        self._kernel_initializer = initializers.get(kernel_initializer)
        self._bias_initializer = initializers.get(bias_initializer)

    state_size = property(lambda self: self._num_units)
    output_size = property(lambda self: self._num_units)

    def build(self, inputs_shape: Any) -> None:
        depth = known_depth(inputs_shape)
        check_supported_dtype(self.dtype)

        def weights(part: str, size: int, default_bias: float) -> tuple[Any, Any]:
            kernel = self.add_weight(
                f"{part}/{KERNEL}", shape=[depth + self._num_units, size], initializer=self._kernel_initializer
            )
            initializer = self._bias_initializer
            if initializer is None:
                initializer = Constant(default_bias, dtype=self.dtype) if default_bias else Zeros(dtype=self.dtype)
            return kernel, self.add_weight(f"{part}/{BIAS}", shape=[size], initializer=initializer)

        self._gate_kernel, self._gate_bias = weights("gates", 2 * self._num_units, 1.0)
        self._candidate_kernel, self._candidate_bias = weights("candidate", self._num_units, 0.0)
        self.built = True

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        check_input_dtypes([inputs, state])
        gates = sigmoid(bias_add(matmul(concat([inputs, state], 1), self._gate_kernel), self._gate_bias))
        r, u = split(value=gates, num_or_size_splits=2, axis=1)
        candidate = matmul(concat([inputs, r * state], 1), self._candidate_kernel)
        c = self._activation(bias_add(candidate, self._candidate_bias))
        new_state = u * state + (1 - u) * c
        return new_state, new_state


@export("nn.rnn_cell.LSTMStateTuple", "contrib.rnn.LSTMStateTuple")
class LSTMStateTuple(collections.namedtuple("LSTMStateTuple", ("c", "h"))):
    """The state of an LSTM cell: its memory `c` and its output `h`."""

    __slots__ = ()

    @property
    def dtype(self) -> dtypes.DType:
        """The element type; TypeError where those of `c` and `h` differ."""
        c, h = self
        if c.dtype != h.dtype:
            raise TypeError(f"Inconsistent internal state: {c.dtype} vs {h.dtype}")
        return c.dtype


@export("nn.rnn_cell.BasicLSTMCell", "contrib.rnn.BasicLSTMCell")
class BasicLSTMCell(LayerRNNCell):
    """Long short-term memory without peepholes, clipping and projection; http://arxiv.org/abs/1409.2329.

    Args:
      num_units: size of memory and output.
      forget_bias: added to the forget gate's input.
      state_is_tuple: whether the state is an LSTMStateTuple, else `[c, h]` in one Tensor [batch, 2 * num_units].
      activation: function or its name; tanh by default.
      reuse: whether the variables must exist.
      name, dtype: see RNNCell.
    """

    _arguments = ("num_units", "forget_bias", "state_is_tuple", "activation", "reuse")

    def __init__(
        self, num_units, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None, dtype=None,
        **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_supported_dtype(self.dtype)
        warn_of_joined_state(self, state_is_tuple)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._state_is_tuple, self._activation = state_is_tuple, _activation(activation)

    output_size = property(lambda self: self._num_units)

    @property
    def state_size(self) -> Any:
        if self._state_is_tuple:
            return LSTMStateTuple(self._num_units, self._num_units)
        return 2 * self._num_units

    def build(self, inputs_shape: Any) -> None:
        depth = known_depth(inputs_shape)
        check_supported_dtype(self.dtype)
        self._kernel = self.add_weight(KERNEL, shape=[depth + self._num_units, 4 * self._num_units])
        self._bias = self.add_weight(BIAS, shape=[4 * self._num_units], initializer=Zeros(dtype=self.dtype))
        self.built = True

    _applied_kernel = property(lambda self: self._kernel)

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        check_input_dtypes([inputs, state])
        one = constant(1, dtype=dtypes.int32)
        c, h = state if self._state_is_tuple else split(value=state, num_or_size_splits=2, axis=one)
        gates = bias_add(matmul(concat([inputs, h], 1), self._applied_kernel), self._bias)
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=one)
        forget_bias = constant(self._forget_bias, dtype=f.dtype)
        kept = multiply(c, sigmoid(add(f, forget_bias)))
        new_c = add(kept, multiply(sigmoid(i), self._activation(j)))
        new_h = multiply(self._activation(new_c), sigmoid(o))
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


@export("nn.rnn_cell.LSTMCell", "contrib.rnn.LSTMCell")
class LSTMCell(LayerRNNCell):
    """Long short-term memory with peepholes, clipping and a projection of the output.

    Hochreiter and Schmidhuber 1997; peepholes: Sak et al. 2014.

    Args:
      num_units: size of the memory.
      use_peepholes: whether gates see the memory through diagonal weights.
      cell_clip: bound of the memory's absolute value, or None.
      initializer: of all weights but biases.
      num_proj: size of the projected output, or None.
      proj_clip: bound of the projected output's absolute value, or None.
      num_unit_shards, num_proj_shards: parts of the kernels; deprecated, use a partitioner.
      forget_bias: added to the forget gate's input.
      state_is_tuple: whether the state is an LSTMStateTuple, else `[c, h]` in one Tensor.
      activation: function or its name; tanh by default.
      reuse: whether the variables must exist.
      name, dtype: see RNNCell.
    """

    _arguments = (
        "num_units", "use_peepholes", "cell_clip", "initializer", "num_proj", "proj_clip", "num_unit_shards",
        "num_proj_shards", "forget_bias", "state_is_tuple", "activation", "reuse",
    )  # fmt: skip

    def __init__(
        self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None, proj_clip=None,
        num_unit_shards=None, num_proj_shards=None, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None,
        name=None, dtype=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        check_supported_dtype(self.dtype)
        warn_of_joined_state(self, state_is_tuple)
        if num_unit_shards is not None or num_proj_shards is not None:
            logging.warn(
                "%s: num_unit_shards and num_proj_shards are deprecated. Use a variable scope with a partitioner.", self
            )
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._initializer = initializers.get(initializer)
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple
        self._activation = _activation(activation)
        self._output_size = num_proj or num_units
        sizes = LSTMStateTuple(num_units, self._output_size)
        self._state_size = sizes if state_is_tuple else sum(sizes)

    state_size = property(lambda self: self._state_size)
    output_size = property(lambda self: self._output_size)

    def _matrix(self, name: str, rows: int, columns: int, shards: int | None) -> Any:
        partitioner = None if shards is None else fixed_size_partitioner(shards)
        return self.add_weight(name, shape=[rows, columns], initializer=self._initializer, partitioner=partitioner)

    def build(self, inputs_shape: Any) -> None:
        depth = known_depth(inputs_shape)
        check_supported_dtype(self.dtype)
        units = self._num_units
        h_depth = units if self._num_proj is None else self._num_proj
        self._kernel = self._matrix(KERNEL, depth + h_depth, 4 * units, self._num_unit_shards)
        zeros = Zeros() if self.dtype is None else Zeros(dtype=self.dtype)
        self._bias = self.add_weight(BIAS, shape=[4 * units], initializer=zeros)
        if self._use_peepholes:
            self._w_f_diag, self._w_i_diag, self._w_o_diag = (
                self.add_weight(f"w_{gate}_diag", shape=[units], initializer=self._initializer) for gate in "fio"
            )
        if self._num_proj is not None:
            self._proj_kernel = self._matrix(f"projection/{KERNEL}", units, self._num_proj, self._num_proj_shards)
        self.built = True

    _applied_kernel = property(lambda self: self._kernel)

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        check_input_dtypes([inputs, state])
        units = self._num_units
        if self._state_is_tuple:
            c, h = state
        else:
            c = slice_of(state, [0, 0], [-1, units])
            h = slice_of(state, [0, units], [-1, units if self._num_proj is None else self._num_proj])
        if inputs.shape.with_rank(2).as_list()[1] is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        gates = bias_add(matmul(concat([inputs, h], 1), self._applied_kernel), self._bias)
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=1)
        if self._use_peepholes:
            forget = sigmoid(f + self._forget_bias + self._w_f_diag * c)
            new_c = forget * c + sigmoid(i + self._w_i_diag * c) * self._activation(j)
        else:
            new_c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        output_gate = sigmoid(o + self._w_o_diag * new_c) if self._use_peepholes else sigmoid(o)
        new_h = output_gate * self._activation(new_c)
        if self._num_proj is not None:
            new_h = matmul(new_h, self._proj_kernel)
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)
