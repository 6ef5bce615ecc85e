"""Cells that are one operation: LSTMBlockCell, LSTMBlockFusedCell, GRUBlockCell."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.layers.scoped_layer import Layer
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat, stack, tile, unstack
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.composed.masks import sequence_mask
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_max
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.rnn.basic_cells import LSTMStateTuple
from tfcompat._src.rnn.cell import BIAS, KERNEL, LayerRNNCell
from tfcompat._src.variables.initializers import Constant

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def lstm_block_cell(
    x: TensorLike, cs_prev: Any, h_prev: TensorLike, w: TensorLike, b: TensorLike, wci: TensorLike | None = None, wcf: TensorLike | None = None, wco: TensorLike | None = None,
    forget_bias: object = None, cell_clip: object = None, use_peephole: object = None, name: str | None = None,
) -> Any:  # fmt: skip
    """One LSTM step; without peepholes their weights are zeros. The arguments are those of the op LSTMBlockCell."""
    if wci is None:
        units = cs_prev.shape.with_rank(2).as_list()[1]
        if units is None:
            raise ValueError("cell_size from `cs_prev` should not be None.")
        wci = wcf = wco = constant(0, dtype=dtypes.float32, shape=[units])
    return raw.LSTMBlockCell(
        x, cs_prev, h_prev, w, wci, wcf, wco, b, **_given(forget_bias, cell_clip, use_peephole), name=name
    )


def block_lstm(
    seq_len_max: TensorLike, x: list[Tensor], w: TensorLike, b: Any, cs_prev: TensorLike | None = None, h_prev: TensorLike | None = None, wci: TensorLike | None = None,
    wcf: TensorLike | None = None, wco: TensorLike | None = None, forget_bias: object = None, cell_clip: object = None, use_peephole: object = None,
    name: str | None = None,
) -> tuple[list[Tensor], ...]:  # fmt: skip
    """LSTM steps over a list of inputs, from zeros by default; each output of the op BlockLSTM as a list of steps."""
    dtype = x[0].dtype
    columns = b.shape.with_rank(1).as_list()[0]
    if columns is None:
        raise ValueError("`b` shape must not be None.")
    units = columns // 4
    if cs_prev is None or h_prev is None:
        zero = constant(0, dtype=dtype, shape=[x[0].shape.with_rank(2).as_list()[0], units])
        cs_prev, h_prev = zero if cs_prev is None else cs_prev, zero if h_prev is None else h_prev
    if wci is None:
        wci = wcf = wco = constant(0, dtype=dtype, shape=[units])
    parts = raw.BlockLSTM(
        seq_len_max, stack(x), cs_prev, h_prev, w, wci, wcf, wco, b, **_given(forget_bias, cell_clip, use_peephole),
        name=name,
    )  # fmt: skip
    return tuple(unstack(part) for part in parts)


def _given(forget_bias: object, cell_clip: object, use_peephole: object) -> dict[str, Any]:
    """The attributes that are given; no clip is -1."""
    cell_clip = -1 if cell_clip is None else cell_clip
    attrs = {"forget_bias": forget_bias, "cell_clip": cell_clip, "use_peephole": use_peephole}
    return {name: value for name, value in attrs.items() if value is not None}


class _LSTMWeights:
    """The weights of an LSTM of one operation, and what its node is made with."""

    def _make_weights(self, depth: int) -> None:
        units = self._num_units
        self._kernel = self.add_weight(KERNEL, [depth + units, units * 4])
        self._bias = self.add_weight(BIAS, [units * 4], initializer=Constant(0.0))
        if self._use_peephole:
            self._w_i_diag, self._w_f_diag, self._w_o_diag = (
                self.add_weight(f"w_{gate}_diag", [units]) for gate in "ifo"
            )
        self.built = True

    def _peepholes(self, dtype: Any) -> tuple[Any, Any, Any]:
        if self._use_peephole:
            return self._w_i_diag, self._w_f_diag, self._w_o_diag
        return (zeros([self._num_units], dtype=dtype),) * 3

    def _attrs(self) -> dict[str, Any]:
        return {"forget_bias": self._forget_bias, "cell_clip": self._cell_clip, "use_peephole": self._use_peephole}


@export("contrib.rnn.LSTMBlockCell")
class LSTMBlockCell(_LSTMWeights, LayerRNNCell):
    """An LSTM cell whose step is one operation.

    Args:
      num_units: size of memory and output.
      forget_bias: added to the forget gate's input.
      cell_clip: bound of the memory's absolute value, or None.
      use_peephole: whether gates see the memory through diagonal weights.
      dtype, name: see RNNCell.
      reuse: whether the variables must exist.
    """

    def __init__(
        self, num_units, forget_bias=1.0, cell_clip=None, use_peephole=False, dtype=None, reuse=None, name="lstm_cell"
    ) -> None:
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units, self._forget_bias, self._use_peephole = num_units, forget_bias, use_peephole
        self._cell_clip = -1 if cell_clip is None else cell_clip
        self.input_spec = InputSpec(ndim=2)

    state_size = property(lambda self: LSTMStateTuple(self._num_units, self._num_units))
    output_size = property(lambda self: self._num_units)

    def build(self, inputs_shape: Any) -> None:
        depth = TensorShape(inputs_shape).as_list()[1]
        if not depth:
            raise ValueError(f"Expecting inputs_shape[1] to be set: {inputs_shape}")
        self._make_weights(depth)

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        if len(state) != 2:
            raise ValueError("Expecting state to be a tuple with length 2.")
        peepholes = self._peepholes(self.dtype)
        parts = raw.LSTMBlockCell(inputs, *state, self._kernel, *peepholes, self._bias, **self._attrs())
        return parts[6], LSTMStateTuple(parts[1], parts[6])


@export("contrib.rnn.LSTMBlockWrapper")
class LSTMBlockWrapper(Layer, metaclass=abc.ABCMeta):
    """The base of LSTMs that are one operation for a whole sequence."""

    @property
    @abc.abstractmethod
    def num_units(self) -> int:
        """The size of memory and output."""

    @abc.abstractmethod
    def _call_cell(self, inputs, initial_cell_state, initial_output, dtype, sequence_length) -> tuple[Tensor, Tensor]:
        """The memories and outputs [time, batch, num_units] of all steps."""

    def call(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None
    ) -> tuple[Any, LSTMStateTuple]:
        """Runs over a sequence.

        Args:
          inputs: Tensor [time, batch, depth], or a list of Tensors [batch, depth].
          initial_state: tuple (memory, output), zeros by default. dtype: needed without it.
          sequence_length: integer [batch], or None.

        Returns:
          the outputs, in the form of the inputs, and the last state.

        Raises:
          ValueError: neither `initial_state` nor `dtype`, or the state is no pair.
        """
        is_list = isinstance(inputs, list)
        if is_list:
            inputs = stack(inputs)
        shape = inputs.shape.with_rank(3).as_list()
        if not shape[2]:
            raise ValueError(f"Expecting inputs_shape[2] to be set: {inputs.shape}")
        batch_size = shape_of(inputs)[1] if shape[1] is None else shape[1]
        time_len = shape_of(inputs)[0] if shape[0] is None else shape[0]
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            initial_state = (zeros(stack([batch_size, self.num_units]), dtype=dtype),) * 2
        elif len(initial_state) != 2:
            raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
        elif dtype is None:
            dtype = initial_state[0].dtype
        if sequence_length is not None:
            sequence_length = convert_to_tensor(sequence_length)
        memory, output = initial_state
        memories, outputs = self._call_cell(inputs, memory, output, dtype, sequence_length)
        if sequence_length is not None:
            mask = transpose(sequence_mask(sequence_length, time_len, dtype=dtype), [1, 0])
            outputs *= tile(expand_dims(mask, [-1]), [1, 1, self.num_units])
            with_start = [
                concat([expand_dims(start, [0]), rest], 0) for start, rest in ((memory, memories), (output, outputs))
            ]
            last = [self._gather_states(data, sequence_length, batch_size) for data in with_start]
        else:
            last = [memories[-1], outputs[-1]]
        return unstack(outputs) if is_list else outputs, LSTMStateTuple(*last)

    def _gather_states(self, data: Tensor, indices: Tensor, batch_size: object) -> Tensor:
        """Row k of step `indices[k]` for every k."""
        return gather_nd(data, stack([indices, arange(batch_size)], axis=1))


@export("contrib.rnn.LSTMBlockFusedCell")
class LSTMBlockFusedCell(_LSTMWeights, LSTMBlockWrapper):
    """An LSTM that is one operation for a whole sequence.

    Args:
      num_units, forget_bias, cell_clip, use_peephole, reuse, dtype, name: see LSTMBlockCell.
    """

    def __init__(
        self, num_units, forget_bias=1.0, cell_clip=None, use_peephole=False, reuse=None, dtype=None,
        name="lstm_fused_cell",
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._forget_bias, self._use_peephole = num_units, forget_bias, use_peephole
        self._cell_clip = -1 if cell_clip is None else cell_clip
        self.input_spec = InputSpec(ndim=3)

    num_units = property(lambda self: self._num_units)

    def build(self, input_shape: Any) -> None:
        self._make_weights(TensorShape(input_shape).as_list()[2])

    def _call_cell(self, inputs, initial_cell_state=None, initial_output=None, dtype=None, sequence_length=None):
        time_len = inputs.shape.with_rank(3).as_list()[0]
        if time_len is None:
            time_len = shape_of(inputs)[0]
        peepholes = self._peepholes(dtype)
        length = cast(time_len if sequence_length is None else reduce_max(sequence_length), dtypes.int64)
        parts = raw.BlockLSTM(
            length, inputs, initial_cell_state, initial_output, self._kernel, *peepholes, self._bias, **self._attrs()
        )
        return parts[1], parts[6]


@export("contrib.rnn.GRUBlockCell")
class GRUBlockCell(LayerRNNCell):
    """A GRU cell whose step is one operation.

    Args:
      num_units: size of state and output. cell_size: its old name.
      reuse: whether the variables must exist.
      name: see RNNCell.

    Raises:
      ValueError: neither or both of `num_units` and `cell_size` are given.
    """

    _names = ("w_ru", "b_ru", "w_c", "b_c")

    def __init__(self, num_units=None, cell_size=None, reuse=None, name="gru_cell") -> None:
        super().__init__(_reuse=reuse, name=name)
        if (cell_size is None) == (num_units is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        self._cell_size = deprecated_argument_lookup("num_units", num_units, "cell_size", cell_size)
        self.input_spec = InputSpec(ndim=2)

    state_size = property(lambda self: self._cell_size)
    output_size = property(lambda self: self._cell_size)

    def build(self, input_shape: Any) -> None:
        depth, units = TensorShape(input_shape).as_list()[1], self._cell_size
        if depth is None:
            raise ValueError("Expecting input_size to be set.")
        w_gates, b_gates, w_candidate, b_candidate = self._names
        self._gate_kernel = self.add_weight(w_gates, [depth + units, units * 2])
        self._gate_bias = self.add_weight(b_gates, [units * 2], initializer=Constant(1.0))
        self._candidate_kernel = self.add_weight(w_candidate, [depth + units, units])
        self._candidate_bias = self.add_weight(b_candidate, [units], initializer=Constant(0.0))
        self.built = True

    def call(self, inputs: Tensor, h_prev: Tensor) -> tuple[Tensor, Tensor]:
        size = h_prev.shape.with_rank(2).as_list()[1]
        if size is not None and size != self._cell_size:
            raise ValueError(f"Shape of h_prev[1] incorrect: cell_size {self._cell_size} vs {size}")
        weights = (self._gate_kernel, self._candidate_kernel, self._gate_bias, self._candidate_bias)
        new_h = raw.GRUBlockCell(inputs, h_prev, *weights)[3]
        return new_h, new_h


@export("contrib.rnn.GRUBlockCellV2")
class GRUBlockCellV2(GRUBlockCell):
    """GRUBlockCell with the names of GRUCell's weights; see there."""

    _names = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
