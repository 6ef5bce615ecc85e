"""tf.contrib.recurrent: recurrent networks with the interface of dynamic_rnn, run by `Recurrent`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.contrib.recurrent.recurrent import Recurrent
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.reorder import reverse, reverse_sequence, transpose
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_max, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.rnn.cell import concat_sizes
from tfcompat._src.rnn.steps import rnn_scope
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _state_at_end(states: Tensor, lengths: Tensor) -> Tensor:
    """For each sequence the state [batch, size] after its last step, of states [time, batch, size]; zeros for none."""
    time = expand_dims(arange(shape_of(states)[0]), 1)
    is_last = cast(equal(time, reshape(lengths, [1, -1]) - 1), states.dtype)
    return reduce_sum(states * expand_dims(is_last, -1), 0)


@export("contrib.recurrent.functional_rnn")
def functional_rnn(
    cell: object, inputs: object, sequence_length: TensorLike | None = None, initial_state: object = None, dtype: object = None,
    time_major: bool = False, scope: object = None, use_tpu: bool = False, reverse: bool = False,
) -> tuple[Tensor, Any]:  # fmt: skip
    """As tf.nn.dynamic_rnn; a sequence of length 0 ends in the state 0.

    Args:
      cell, inputs, sequence_length, initial_state, dtype, time_major, scope: see `tf.nn.dynamic_rnn`.
      use_tpu: written for TPUs in TensorFlow; the result is the same.
      reverse: whether time runs backward.

    Returns:
      the outputs, in the layout of the inputs, and the last state.
    """
    return _run(cell, inputs, sequence_length, initial_state, dtype, time_major, scope, reverse)


def _run(
    cell: Any, inputs: Any, sequence_length: Any, initial_state: Any, dtype: Any, time_major: bool, scope: object,
    backward: bool,
) -> tuple[Tensor, Any]:  # fmt: skip
    with rnn_scope(scope):
        inputs = nest.map_structure(convert_to_tensor, inputs)
        if not time_major:
            inputs = nest.map_structure(lambda x: transpose(x, [1, 0, 2]), inputs)
        first = nest.flatten(inputs)[0]
        batch_size = shape_of(first)[1] if first.shape.as_list()[1] is None else first.shape.as_list()[1]
        state0 = cell.zero_state(batch_size, dtype) if initial_state is None else initial_state
        output0 = zeros(concat_sizes(batch_size, cell.output_size), nest.flatten(state0)[0].dtype)
        length = None if sequence_length is None else reduce_max(sequence_length)
        if backward:
            inputs = nest.map_structure(lambda x: reverse(x, [0]), inputs)

        def step(theta: object, state: Any, now: Any) -> tuple:
            return cell(now, state[1]), []

        (outputs, states), (_, last) = Recurrent(
            [], (output0, state0), inputs, step, max_input_length=length, aligned_end=backward
        )
        if backward:
            outputs = reverse(outputs, [0])
        if sequence_length is not None:
            alive = expand_dims(arange(shape_of(outputs)[0]), 1) < reshape(sequence_length, [1, -1])
            outputs = outputs * expand_dims(cast(alive, outputs.dtype), -1)
            if not backward:
                last = nest.map_structure(lambda x: _state_at_end(x, sequence_length), states)
                nest.map_structure(lambda x, like: x.set_shape(like.shape), last, state0)
        return outputs if time_major else transpose(outputs, [1, 0, 2]), last


@export("contrib.recurrent.bidirectional_functional_rnn")
def bidirectional_functional_rnn(
    cell_fw: object, cell_bw: object, inputs: object, initial_state_fw: object = None, initial_state_bw: object = None,
    dtype: object = None, sequence_length: TensorLike | None = None, time_major: bool = False, use_tpu: bool = False,
    fast_reverse: bool = False, scope: object = None,
) -> tuple[tuple, tuple]:  # fmt: skip
    """As tf.nn.bidirectional_dynamic_rnn.

    Args:
      cell_fw, cell_bw, inputs, initial_state_fw, initial_state_bw, dtype, sequence_length, time_major, scope: see
        there.
      use_tpu: written for TPUs in TensorFlow; the result is the same.
      fast_reverse: whether the backward cell begins at the end of time instead of the end of each sequence.

    Returns:
      (outputs forward, outputs backward), and (last state forward, backward).
    """
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def reversed_in_time(x: TensorLike) -> Tensor:
        if sequence_length is None:
            return reverse(x, axis=[time_axis])
        return reverse_sequence(x, seq_lengths=sequence_length, seq_axis=time_axis, batch_axis=batch_axis)

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            output_fw, state_fw = _run(
                cell_fw, inputs, sequence_length, initial_state_fw, dtype, time_major, fw_scope, False
            )
        with variable_scope("bw") as bw_scope:
            backward = inputs if fast_reverse else reversed_in_time(inputs)
            output_bw, state_bw = _run(
                cell_bw, backward, sequence_length, initial_state_bw, dtype, time_major, bw_scope, fast_reverse
            )
    return (output_fw, output_bw if fast_reverse else reversed_in_time(output_bw)), (state_fw, state_bw)
