"""LSTMs along frequency and time, and the LSTM with coupled gates: cells with sharded weights."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.rnn.linear import Sized, depth_of, lstm_sizes, normalized, sharded_variable
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat, split
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.slice import slice_ as slice_of
from tfcompat._src.ops.math.clip import clip_by_value
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.unary import sigmoid, tanh
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.rnn.basic_cells import LSTMStateTuple, warn_of_joined_state
from tfcompat._src.rnn.cell import RNNCell
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import get_variable, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.rnn.CoupledInputForgetGateLSTMCell")
class CoupledInputForgetGateLSTMCell(Sized, RNNCell):
    """An LSTM whose input gate is 1 less its forget gate; Greff et al., arXiv 1503.04069.

    Args:
      num_units: size of the memory.
      use_peepholes: whether gates see the memory through diagonal weights.
      initializer: not used.
      num_proj: size of the projected output, or None. proj_clip: bound of its absolute value, or None.
      num_unit_shards, num_proj_shards: numbers of parts of the kernels.
      forget_bias: added to the forget gate's input.
      state_is_tuple: whether the state is an LSTMStateTuple.
      activation: function.
      reuse: whether the variables must exist.
      layer_norm: whether gates and memory are normalized. norm_gain, norm_shift: initial weights of that.
    """

    def __init__(
        self, num_units, use_peepholes=False, initializer=None, num_proj=None, proj_clip=None, num_unit_shards=1,
        num_proj_shards=1, forget_bias=1.0, state_is_tuple=True, activation=tanh, reuse=None, layer_norm=False,
        norm_gain=1.0, norm_shift=0.0,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        warn_of_joined_state(self, state_is_tuple)
        self._num_units, self._use_peepholes, self._initializer = num_units, use_peepholes, initializer
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards
        self._forget_bias, self._state_is_tuple, self._activation = forget_bias, state_is_tuple, activation
        self._layer_norm, self._norm_gain, self._norm_shift = layer_norm, norm_gain, norm_shift
        sizes, self._output_size = lstm_sizes(num_units, num_proj)
        self._state_size = sizes if state_is_tuple else sum(sizes)

    def _norm(self, x: Tensor, scope: str) -> Tensor:
        return normalized(x, scope, self._norm_gain, self._norm_shift)

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        units, dtype = self._num_units, inputs.dtype
        h_size = units if self._num_proj is None else self._num_proj
        if self._state_is_tuple:
            c, h = state
        else:
            c, h = slice_of(state, [0, 0], [-1, units]), slice_of(state, [0, units], [-1, h_size])
        kernel = sharded_variable("W", [depth_of(inputs) + h_size, 3 * units], dtype, self._num_unit_shards)
        bias = get_variable("B", shape=[3 * units], initializer=Zeros(), dtype=dtype)
        gates = matmul(concat([inputs, h], 1), kernel)
        if not self._layer_norm:
            gates = bias_add(gates, bias)
        j, f, o = split(value=gates, num_or_size_splits=3, axis=1)
        if self._layer_norm:
            j, f, o = self._norm(j, "transform"), self._norm(f, "forget"), self._norm(o, "output")
        if self._use_peepholes:
            w_f, w_o = (get_variable(f"W_{gate}_diag", shape=[units], dtype=dtype) for gate in "FO")
            forget = sigmoid(f + self._forget_bias + w_f * c)
        else:
            forget = sigmoid(f + self._forget_bias)
        new_c = forget * c + (1 - forget) * self._activation(j)
        if self._layer_norm:
            new_c = self._norm(new_c, "state")
        output_gate = sigmoid(o + w_o * new_c) if self._use_peepholes else sigmoid(o)
        new_h = output_gate * self._activation(new_c)
        if self._num_proj is not None:
            new_h = matmul(new_h, sharded_variable("W_P", [units, self._num_proj], dtype, self._num_proj_shards))
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


def _input_size(inputs: Tensor) -> int:
    size = inputs.shape.with_rank(2).as_list()[1]
    if size is None:
        raise ValueError("Cannot infer input_size from static shape inference.")
    return size


@export("contrib.rnn.TimeFreqLSTMCell")
class TimeFreqLSTMCell(RNNCell):
    """An LSTM that walks over windows of the input's frequencies in each step; Li et al., ASRU 2015.

    Args:
      num_units: size of the memory.
      use_peepholes: whether gates see the memory through diagonal weights.
      cell_clip: bound of the memory's absolute value, or None.
      initializer: not used.
      num_unit_shards: number of parts of the kernel.
      forget_bias: added to the forget gate's input.
      feature_size: size of a window. frequency_skip: distance between windows.
      reuse: whether the variables must exist.
    """

    def __init__(
        self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_unit_shards=1, forget_bias=1.0,
        feature_size=None, frequency_skip=1, reuse=None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._initializer, self._num_unit_shards, self._forget_bias = initializer, num_unit_shards, forget_bias
        self._feature_size, self._frequency_skip = feature_size, frequency_skip

    state_size = property(lambda self: 2 * self._num_units)
    output_size = property(lambda self: self._num_units)

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        units, dtype = self._num_units, inputs.dtype
        windows = self._make_tf_features(inputs)
        rows = windows[0].shape.as_list()[1] + 2 * units
        kernel = sharded_variable("W", [rows, 4 * units], dtype, self._num_unit_shards)
        bias = get_variable("B", shape=[4 * units], initializer=Zeros(), dtype=dtype)
        if self._use_peepholes:
            w_f, w_i, w_o = (get_variable(f"W_{gate}_diag", shape=[units], dtype=dtype) for gate in "FIO")
        before = zeros([inputs.shape.as_list()[0] or inputs.shape[0], units], dtype)
        outputs = new_state = None
        for number, window in enumerate(windows):
            c = slice_of(state, [0, 2 * number * units], [-1, units])
            h = slice_of(state, [0, (2 * number + 1) * units], [-1, units])
            gates = bias_add(matmul(concat([window, h, before], 1), kernel), bias)
            i, j, f, o = split(value=gates, num_or_size_splits=4, axis=1)
            if self._use_peepholes:
                forget = sigmoid(f + self._forget_bias + w_f * c)
                c = forget * c + sigmoid(i + w_i * c) * tanh(j)
            else:
                c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
            if self._cell_clip is not None:
                c = clip_by_value(c, -self._cell_clip, self._cell_clip)
            before = (sigmoid(o + w_o * c) if self._use_peepholes else sigmoid(o)) * tanh(c)
            new_state = concat([c, before] if new_state is None else [new_state, c, before], 1)
            outputs = before if outputs is None else concat([outputs, before], 1)
        return outputs, new_state

    def _make_tf_features(self, inputs: Tensor) -> list[Tensor]:
        """The windows of the inputs."""
        count = int((_input_size(inputs) - self._feature_size) / self._frequency_skip) + 1
        return [slice_of(inputs, [0, k * self._frequency_skip], [-1, self._feature_size]) for k in range(count)]


def _state_tuple(name: str, prefixes: list[str]) -> Any:
    fields = [f"{prefix}_{part}" for prefix in prefixes for part in "cm"]
    return collections.namedtuple(name, fields)


@export("contrib.rnn.GridLSTMCell")
class GridLSTMCell(Sized, RNNCell):
    """LSTMs along frequency and time that share their inputs; Kalchbrenner et al., arXiv 1507.01526.

    Args:
      num_units: size of each memory.
      use_peepholes: whether gates see the memories through diagonal weights.
      share_time_frequency_weights: whether both LSTMs have the same weights.
      cell_clip: bound of the memories' absolute value, or None.
      initializer: not used.
      num_unit_shards: number of parts of the kernels.
      forget_bias: added to the forget gates' input.
      feature_size: size of a window. frequency_skip: distance between windows.
      num_frequency_blocks: list of the numbers of windows per block.
      start_freqindex_list, end_freqindex_list: where blocks begin and end, or None for one block of everything.
      couple_input_forget_gates: whether a forget gate is 1 less the input gate.
      state_is_tuple: whether the state is a named tuple of all memories and outputs.
      reuse: whether the variables must exist.

    Raises:
      ValueError: `num_frequency_blocks` is missing.
    """

    def __init__(
        self, num_units, use_peepholes=False, share_time_frequency_weights=False, cell_clip=None, initializer=None,
        num_unit_shards=1, forget_bias=1.0, feature_size=None, frequency_skip=None, num_frequency_blocks=None,
        start_freqindex_list=None, end_freqindex_list=None, couple_input_forget_gates=False, state_is_tuple=True,
        reuse=None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        warn_of_joined_state(self, state_is_tuple)
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._share_time_frequency_weights = share_time_frequency_weights
        self._couple_input_forget_gates, self._state_is_tuple = couple_input_forget_gates, state_is_tuple
        self._initializer, self._num_unit_shards, self._forget_bias = initializer, num_unit_shards, forget_bias
        self._feature_size, self._frequency_skip = feature_size, frequency_skip
        self._start_freqindex_list, self._end_freqindex_list = start_freqindex_list, end_freqindex_list
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._num_frequency_blocks = num_frequency_blocks
        self._total_blocks = sum(int(n) for n in num_frequency_blocks)
        self._output_size = num_units * self._total_blocks * 2
        self._state_tuple_type, self._state_size = None, self._output_size
        if state_is_tuple:
            self._state_tuple_type = _state_tuple("GridLSTMStateTuple", self._prefixes("state"))
            self._state_size = self._state_tuple_type(*[num_units] * (2 * self._total_blocks))

    state_tuple_type = property(lambda self: self._state_tuple_type)

    def _prefixes(self, state: str) -> list[str]:
        return [
            f"{state}_f{window:02d}_b{block:02d}"
            for block, count in enumerate(self._num_frequency_blocks)
            for window in range(count)
        ]

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        batch_size = inputs.shape.as_list()[0] or shape_of(inputs)[0]
        outputs, states = self._walk(self._make_tf_features(inputs), state, batch_size, "state")
        new_state = self._state_tuple_type(*states) if self._state_is_tuple else concat(states, 1)
        return concat(outputs, 1), new_state

    def _walk(self, blocks: list[list[Tensor]], state: object, batch_size: object, prefix: str) -> tuple[list, list]:
        """Outputs and new states of all blocks."""
        outputs, states = [], []
        for block, windows in enumerate(blocks):
            more_outputs, more_states = self._compute(windows, block, state, batch_size, prefix, self._state_is_tuple)
            outputs += more_outputs
            states += more_states
        return outputs, states

    def _weights(self, rows: int, block: int, dtype: object) -> tuple[dict, dict, dict, dict]:
        """Kernels and biases along frequency and time, and the diagonals `gate + from` of each, for a block."""
        units, shared = self._num_units, self._share_time_frequency_weights
        columns = (3 if self._couple_input_forget_gates else 4) * units

        def matrix(letter: str) -> tuple[Any, Any]:
            kernel = sharded_variable(f"W_{letter}_{block}", [rows + 2 * units, columns], dtype, self._num_unit_shards)
            return kernel, get_variable(f"B_{letter}_{block}", shape=[columns], initializer=Zeros(), dtype=dtype)

        def diagonals(to: str) -> dict[str, Any]:
            return {
                gate + source: get_variable(f"W_{gate}_diag_{to}{source}_{block}", shape=[units], dtype=dtype)
                for gate in ("IO" if self._couple_input_forget_gates else "FIO")
                for source in "ft"
            }

        frequency = matrix("f")
        time = frequency if shared else matrix("t")
        if not self._use_peepholes:
            return frequency, time, {}, {}
        along_frequency = diagonals("freq")
        return frequency, time, along_frequency, along_frequency if shared else diagonals("time")

    def _compute(
        self, freq_inputs: list[Tensor], block: int, state: TensorLike, batch_size: object, state_prefix: str = "state",
        state_is_tuple: bool = True,
    ) -> tuple[list, list]:  # fmt: skip
        """Outputs and new states of one block."""
        units, dtype = self._num_units, freq_inputs[0].dtype
        rows = freq_inputs[0].shape.as_list()[1]
        frequency, time, w_freq, w_time = self._weights(rows, block, dtype)
        m_freq, c_freq = zeros([batch_size, units], dtype), zeros([batch_size, units], dtype)
        outputs, states = [], []
        for number, window in enumerate(freq_inputs):
            if state_is_tuple:
                prefix = f"{state_prefix}_f{number:02d}_b{block:02d}"
                c_time, m_time = getattr(state, prefix + "_c"), getattr(state, prefix + "_m")
            else:
                c_time = slice_of(state, [0, 2 * number * units], [-1, units])
                m_time = slice_of(state, [0, (2 * number + 1) * units], [-1, units])
            joined = concat([window, m_time, m_freq], 1)
            gates_freq = self._gates(joined, frequency)
            gates_time = gates_freq if self._share_time_frequency_weights else self._gates(joined, time)
            new_c_freq = self._memory(gates_freq, w_freq, c_freq, c_time, c_freq)
            new_c_time = self._memory(gates_time, w_time, c_freq, c_time, c_time)
            c_freq, c_time = new_c_freq, new_c_time
            m_freq = self._output(gates_freq["O"], w_freq, c_freq, c_time, c_freq)
            m_time = self._output(gates_time["O"], w_time, c_freq, c_time, c_time)
            outputs += [m_time, m_freq]
            states += [c_time, m_time]
        return outputs, states

    def _gates(self, joined: Tensor, weights: tuple[Any, Any]) -> dict[str, Tensor]:
        names = "IJO" if self._couple_input_forget_gates else "IJFO"
        parts = split(value=bias_add(matmul(joined, weights[0]), weights[1]), num_or_size_splits=len(names), axis=1)
        return dict(zip(names, parts))

    def _memory(
        self, gates: dict[str, Tensor], w: dict[str, Any], c_freq: Tensor, c_time: Tensor, own: Tensor
    ) -> Tensor:
        i = sigmoid(gates["I"] + w["If"] * c_freq + w["It"] * c_time) if w else sigmoid(gates["I"])
        if self._couple_input_forget_gates:
            f = 1.0 - i
        elif w:
            f = sigmoid(gates["F"] + self._forget_bias + w["Ff"] * c_freq + w["Ft"] * c_time)
        else:
            f = sigmoid(gates["F"] + self._forget_bias)
        c = f * own + i * tanh(gates["J"])
        return c if self._cell_clip is None else clip_by_value(c, -self._cell_clip, self._cell_clip)

    @staticmethod
    def _output(gate: Tensor, w: dict[str, Any], c_freq: Tensor, c_time: Tensor, own: Tensor) -> Tensor:
        return (sigmoid(gate + w["Of"] * c_freq + w["Ot"] * c_time) if w else sigmoid(gate)) * tanh(own)

    def _make_tf_features(self, input_feat: Tensor, slice_offset: int = 0) -> list[list[Tensor]]:
        """The windows of the inputs, by block; ValueError where their numbers are not those that were given."""
        size = _input_size(input_feat)
        inputs = input_feat
        if slice_offset:
            amounts = [0, 0, max(-slice_offset, 0), max(slice_offset, 0)]
            inputs = pad(input_feat, constant(amounts, shape=[2, 2], dtype=dtypes.int32), "CONSTANT")
        offset = max(slice_offset, 0)
        starts, ends, counts = self._start_freqindex_list, self._end_freqindex_list, self._num_frequency_blocks
        if not starts:
            if len(counts) != 1:
                raise ValueError(f"Length of num_frequency_blocks is not 1, but instead is {len(counts)}")
            starts, ends = [0], [size]
        if len(starts) != len(ends):
            raise ValueError(f"Length of start and end freqindex_list does not match {len(starts)} {len(ends)}")
        if len(counts) != len(starts):
            raise ValueError(
                f"Length of num_frequency_blocks is not equal to start_freqindex_list {len(counts)} {len(starts)}"
            )
        return [self._block(inputs, offset, *one) for one in zip(starts, ends, counts)]

    def _block(self, inputs: Tensor, offset: int, start: int, end: int, wanted: int) -> list[Tensor]:
        count = int((end - start - self._feature_size) / self._frequency_skip) + 1
        if count != wanted:
            raise ValueError(
                f"Invalid num_frequency_blocks, requires {wanted} but gets {count}, please check the input size and "
                "filter config are correct."
            )
        places = [start + offset + k * self._frequency_skip for k in range(count)]
        return [slice_of(inputs, [0, place], [-1, self._feature_size]) for place in places]


@export("contrib.rnn.BidirectionalGridLSTMCell")
class BidirectionalGridLSTMCell(GridLSTMCell):
    """GridLSTMCells that walk over the frequencies in both directions.

    Args:
      backward_slice_offset: by how much the windows of the backward walk are moved.
      num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer, num_unit_shards, forget_bias,
        feature_size, frequency_skip, num_frequency_blocks, start_freqindex_list, end_freqindex_list,
        couple_input_forget_gates, reuse: see GridLSTMCell.
    """

    def __init__(
        self, num_units, use_peepholes=False, share_time_frequency_weights=False, cell_clip=None, initializer=None,
        num_unit_shards=1, forget_bias=1.0, feature_size=None, frequency_skip=None, num_frequency_blocks=None,
        start_freqindex_list=None, end_freqindex_list=None, couple_input_forget_gates=False, backward_slice_offset=0,
        reuse=None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer, num_unit_shards,
            forget_bias, feature_size, frequency_skip, num_frequency_blocks, start_freqindex_list, end_freqindex_list,
            couple_input_forget_gates, True, reuse,
        )  # fmt: skip
        self._backward_slice_offset = int(backward_slice_offset)
        prefixes = [*self._prefixes("fwd_state"), *self._prefixes("bwd_state")]
        self._state_tuple_type = _state_tuple("BidirectionalGridLSTMStateTuple", prefixes)
        self._state_size = self._state_tuple_type(*[num_units] * (4 * self._total_blocks))
        self._output_size *= 2

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        batch_size = inputs.shape.as_list()[0] or shape_of(inputs)[0]
        forward = backward = self._make_tf_features(inputs)
        if self._backward_slice_offset:
            backward = self._make_tf_features(inputs, self._backward_slice_offset)
        with variable_scope("fwd"):
            outputs_fw, states_fw = self._walk(forward, state, batch_size, "fwd_state")
        with variable_scope("bwd"):
            outputs_bw, states_bw = self._walk([b[::-1] for b in backward], state, batch_size, "bwd_state")
        return concat(outputs_fw + outputs_bw, 1), self._state_tuple_type(*states_fw, *states_bw)
