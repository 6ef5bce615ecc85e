"""tf.lite.experimental.nn: RNN cells whose steps an OpHint marks, so that a static_rnn of them becomes one operator of TensorFlow Lite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import activations
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.lite.op_hint import OpHint
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.slice import slice_ as slice_of
from tfcompat._src.ops.control.control_flow_util import EnableControlFlowV2
from tfcompat._src.ops.math.clip import clip_by_value
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.unary import sigmoid, tanh
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.rnn import dynamic
from tfcompat._src.rnn.basic_cells import LSTMStateTuple, warn_of_joined_state
from tfcompat._src.rnn.cell import LayerRNNCell, known_depth
from tfcompat._src.variables.initializers import Constant, Zeros
from tfcompat._src.variables.partitioners import fixed_size_partitioner

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_TANH = (tanh, activations.tanh)
_GATES = ("input", "forget", "cell", "output")
"""The order of gates in the operator's inputs: weights of inputs from 1, of outputs from 5, peepholes from 9 (no cell), biases from 12."""


class _MarkedCell(LayerRNNCell):
    """A cell whose inputs and outputs a hint marks, where the operator computes all that the cell does."""

    _tflite_wrapper: OpHint
    _is_marked: bool

    def _input(self, value: object, **options: Any) -> Any:
        return self._tflite_wrapper.add_input(value, **options) if self._is_marked else value

    def _output(self, value: object, **options: Any) -> Any:
        return self._tflite_wrapper.add_output(value, **options) if self._is_marked else value


@export("lite.experimental.nn.TfLiteRNNCell")
class TfLiteRNNCell(_MarkedCell):
    """`output = new_state = activation(inputs @ W' + state @ R' + bias)`, which converts to UNIDIRECTIONAL_SEQUENCE_RNN.

    Args:
      num_units: size of state and output.
      activation: function or its name; tanh by default. The operator has no other in 1.15: with another one the steps are not marked, and
        convert to the operators of their parts.
      reuse: whether the variables must exist.
      name, dtype: see RNNCell.
    """

    _arguments = ("num_units", "activation", "reuse")

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None, **kwargs) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._activation = num_units, activations.get(activation) if activation else tanh
        self._tflite_wrapper, self._is_marked = OpHint("UnidirectionalSequenceRnn"), self._activation in _TANH

    state_size = property(lambda self: self._num_units)
    output_size = property(lambda self: self._num_units)

    def build(self, inputs_shape: Any) -> None:
        units = self._num_units
        shapes = {"input_weights": [units, known_depth(inputs_shape)], "recurrent_weights": [units, units], "bias": [units]}
        self._weights_of_operator = [
            self._input(self.add_weight(name, shape=shape, initializer=Zeros() if name == "bias" else None), name=name, index_override=index)
            for index, (name, shape) in enumerate(shapes.items(), 1)
        ]
        self.built = True

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        weights, recurrent, bias = self._weights_of_operator
        inputs = self._input(inputs, tag="input", name="input", aggregate="stack", index_override=0)
        state = self._input(state, tag="hidden_state", name="hidden_state", aggregate="first", index_override=4)
        sums = matmul(concat([inputs, state], 1), concat([weights, recurrent], 1), transpose_b=True)
        output = self._output(self._activation(bias_add(sums, bias)), tag="output", name="output", index_override=1, aggregate="stack")
        return output, output


@export("lite.experimental.nn.TFLiteLSTMCell")
class TFLiteLSTMCell(_MarkedCell):
    """An LSTM cell with weights for each gate, which converts to UNIDIRECTIONAL_SEQUENCE_LSTM.

    Args:
      num_units, use_peepholes, cell_clip, initializer, num_proj, proj_clip, num_unit_shards, num_proj_shards, forget_bias, state_is_tuple,
        activation, reuse, name, dtype: see tf.nn.rnn_cell.LSTMCell. `forget_bias` is the initial value of a variable here. The operator
        has no clipping and no activation but tanh in 1.15: with others the steps are not marked, and convert to the operators of their parts.
    """

    _arguments = (
        "num_units", "use_peepholes", "cell_clip", "initializer", "num_proj", "proj_clip", "num_unit_shards",
        "num_proj_shards", "forget_bias", "state_is_tuple", "activation", "reuse",
    )  # fmt: skip

    def __init__(
        self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None, proj_clip=None,
        num_unit_shards=None, num_proj_shards=None, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None,
        name=None, dtype=None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        warn_of_joined_state(self, state_is_tuple)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._initializer, self._num_proj, self._proj_clip = initializer, num_proj, proj_clip
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards
        self._forget_bias, self._state_is_tuple, self._activation = forget_bias, state_is_tuple, activation or tanh
        sizes = LSTMStateTuple(num_units, num_proj or num_units)
        self._output_size, self._state_size = sizes.h, sizes if state_is_tuple else sum(sizes)
        self._tflite_wrapper = OpHint("UnidirectionalSequenceLstm")
        self._is_marked = cell_clip is None and proj_clip is None and self._activation in _TANH

    state_size = property(lambda self: self._state_size)
    output_size = property(lambda self: self._output_size)

    def _weight(self, name: str, shape: list[int], index: int, initializer: object, shards: int | None) -> Any:
        partitioner = None if shards is None else fixed_size_partitioner(shards)
        made = self.add_weight(name, shape=shape, initializer=initializer, partitioner=partitioner)
        return self._input(made, name=name, index_override=index)

    def build(self, inputs_shape: Any) -> None:
        units, shards, given = self._num_units, self._num_unit_shards, self._initializer
        sides = (("input", known_depth(inputs_shape), 1), ("cell", self._output_size, 5))
        self._weights = {
            (side, gate): self._weight(f"{side}_to_{gate}_w", [units, size], first + i, given, shards)
            for side, size, first in sides for i, gate in enumerate(_GATES)
        }  # fmt: skip
        starts = {gate: Constant(self._forget_bias) if gate == "forget" else Zeros() for gate in _GATES}
        self._biases = {gate: self._weight(f"{gate}_bias", [units], 12 + i, starts[gate], shards) for i, gate in enumerate(_GATES)}
        self._peepholes = {}
        if self._use_peepholes:
            places = {"forget": 10, "input": 9, "output": 11}
            self._peepholes = {gate: self._weight(f"w_{gate[0]}_diag", [units], index, given, shards) for gate, index in places.items()}
        if self._num_proj is not None:
            self._projection = self._weight("projection/kernel", [self._num_proj, units], 16, given, self._num_proj_shards)
        self.built = True

    def _gate(self, gate: str, values: Tensor, memory: Tensor | None = None) -> Tensor:
        """The sums of a gate before its activation; `memory` is what a peephole sees."""
        weights = concat([self._weights["input", gate], self._weights["cell", gate]], 1)
        sums = bias_add(matmul(values, weights, transpose_b=True), self._biases[gate])
        return sums + self._peepholes[gate] * memory if gate in self._peepholes else sums

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, Any]:
        inputs = self._input(inputs, tag="input", name="input", aggregate="stack", index_override=0)
        if self._state_is_tuple:
            c, h = state
        else:
            c, h = slice_of(state, [0, 0], [-1, self._num_units]), slice_of(state, [0, self._num_units], [-1, self._output_size])
        c = self._input(c, tag="c_prev", name="c_prev", aggregate="first", index_override=19)
        h = self._input(h, tag="m_prev", name="m_prev", aggregate="first", index_override=18)
        values = concat([inputs, h], 1)
        kept, added = sigmoid(self._gate("forget", values, c)) * c, sigmoid(self._gate("input", values, c)) * self._activation(self._gate("cell", values))
        new_c = kept + added
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        new_h = sigmoid(self._gate("output", values, new_c)) * self._activation(new_c)
        if self._num_proj is not None:
            new_h = matmul(new_h, self._projection, transpose_b=True)
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        new_c = self._output(new_c, tag="c", name="c", aggregate="last", index_override=1)
        new_h = self._output(new_h, tag="m", name="m", aggregate="stack", index_override=2)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


@export("lite.experimental.nn.dynamic_rnn")
def dynamic_rnn(
    cell: object, inputs: object, sequence_length: TensorLike | None = None, initial_state: object = None, dtype: object = None,
    parallel_iterations: int | None = None, swap_memory: bool = False, time_major: bool = True, scope: object = None,
) -> tuple[Any, Any]:  # fmt: skip
    """tf.nn.dynamic_rnn with hints around the loop; arguments and results are those of tf.nn.dynamic_rnn.

    Raises:
      AssertionError: `time_major` is false. RuntimeError: control flow v2 is not enabled.
    """
    if not time_major:
        raise AssertionError("tf.lite.experimental.nn.dynamic_rnn needs time_major inputs: [time, batch, ...].")
    if not EnableControlFlowV2(get_default_graph()):
        raise RuntimeError("OpHint dynamic rnn only supports control flow v2.")
    mappings = {
        "parent_first_child_input": [{"parent_ophint_input_index": 0, "first_child_ophint_input_index": 0}],
        "parent_last_child_output": [{"parent_output_index": 0, "child_output_index": -1}],
        "internal_children_input_output": [{"child_input_index": 0, "child_output_index": -1}],
    }
    hint = OpHint("TfLiteDynamicRnn", level=2, children_inputs_mappings=mappings)
    inputs = hint.add_input(inputs, name="input", index_override=0)
    outputs, state = dynamic.dynamic_rnn(cell, inputs, sequence_length, initial_state, dtype, parallel_iterations, swap_memory, True, scope)
    return hint.add_output(outputs, name="outputs"), state
