"""tf.nn.static_rnn and its relatives: a recurrent network unrolled into one copy of the cell per step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat, stack, unstack
from tfcompat._src.ops.array.reorder import reverse_sequence
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_max, reduce_min
from tfcompat._src.rnn.cell import assert_like_rnncell, concat_sizes
from tfcompat._src.rnn.steps import initial_state_of, is_keras_rnn_cell, rnn_scope, rnn_step, state_dtype
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


def _check_inputs(inputs: object) -> None:
    if not nest.is_nested(inputs):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")


def _static_batch(inputs: object, first_input: Tensor) -> int | None:
    """The batch size that the inputs know; ValueError where they differ in it or another size is unknown."""
    if first_input.shape.ndims == 1:
        return first_input.shape.as_list()[0]
    batch = first_input.shape.with_rank_at_least(2)[0:1]
    for tensor in nest.flatten(inputs):
        shape = tensor.shape.with_rank_at_least(2)
        batch.merge_with(shape[0:1])
        for number, size in enumerate(shape.as_list()[1:] if shape.ndims is not None else ()):
            if size is None:
                raise ValueError(
                    f"Input size (dimension {number} of inputs) must be accessible via shape inference, but saw value "
                    "None."
                )
    return batch.as_list()[0]


@export("nn.static_rnn", "contrib.rnn.static_rnn")
def static_rnn(
    cell: Any, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: object = None, scope: object = None
) -> tuple[list[Any], Any]:
    """Runs a cell over a list of inputs, one per step.

    Args:
      cell: an RNNCell.
      inputs: list of Tensors [batch, depth], or of nests of them.
      initial_state: in the structure of `cell.state_size`; zeros by default.
      dtype: of the initial state; needed without `initial_state`.
      sequence_length: integer Tensor [batch]: after its end a sequence gives zeros and keeps its state.
      scope: variable scope, "rnn" by default.

    Returns:
      the list of outputs, and the last state.

    Raises:
      TypeError: `cell` is no cell or `inputs` no sequence. ValueError: no inputs, neither `initial_state` nor `dtype`,
      or shapes that do not fit.
    """
    assert_like_rnncell("cell", cell)
    _check_inputs(inputs)
    with rnn_scope(scope) as varscope:
        first_input = inputs
        while nest.is_nested(first_input):
            first_input = first_input[0]
        static_batch = _static_batch(inputs, first_input)
        batch_size = static_batch or shape_of(first_input)[0]
        state = initial_state
        if state is None:
            if not dtype:
                raise ValueError("If no initial_state is provided, dtype must be specified")
            state = initial_state_of(cell, batch_size, dtype)
        zero_output = min_length = max_length = None
        if sequence_length is not None:
            sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
            if sequence_length.shape.ndims not in (None, 1):
                raise ValueError("sequence_length must be a vector of length batch_size")
            flat_zero = [
                _zero_output(batch_size, static_batch, size, state_dtype(dtype, state))
                for size in nest.flatten(cell.output_size)
            ]
            zero_output = nest.pack_sequence_as(cell.output_size, flat_zero)
            sequence_length = cast(sequence_length, dtypes.int32)
            min_length, max_length = reduce_min(sequence_length), reduce_max(sequence_length)
        if is_keras_rnn_cell(cell) and not nest.is_nested(state):
            state = [state]
        outputs = []
        for time, now in enumerate(inputs):
            if time > 0:
                varscope.reuse_variables()
            if sequence_length is None:
                output, state = cell(now, state)
            else:
                output, state = rnn_step(
                    time, sequence_length, min_length, max_length, zero_output, state,
                    lambda now=now, state=state: cell(now, state), cell.state_size,
                )  # fmt: skip
            outputs.append(output)
        if is_keras_rnn_cell(cell) and len(state) == 1:
            state = state[0]
        return outputs, state


def _zero_output(batch_size: object, static_batch: int | None, size: object, dtype: DTypeLike) -> Tensor:
    output = zeros(stack(concat_sizes(batch_size, size)), dtype)
    output.set_shape(TensorShape(concat_sizes(static_batch, size, static=True)))
    return output


@export("nn.static_state_saving_rnn", "contrib.rnn.static_state_saving_rnn")
def static_state_saving_rnn(
    cell: Any, inputs: object, state_saver: Any, state_name: Any, sequence_length: TensorLike | None = None, scope: object = None
) -> tuple[list[Any], Any]:
    """Runs a cell over a list of inputs, from the state that an object keeps, and saves the last state there.

    Args:
      cell, inputs, sequence_length, scope: see `static_rnn`.
      state_saver: object with methods `state(name)` and `save_state(name, value)`.
      state_name: name of the state, or a tuple of names where the state is a tuple.

    Returns:
      the list of outputs, and the last state.

    Raises:
      ValueError: names and states differ in number or kind.
    """
    state_size = cell.state_size
    if nest.is_nested(state_size) != nest.is_nested(state_name):
        raise ValueError(
            "state_name should be the same type as cell.state_size.  "
            f"state_name: {state_name}, cell.state_size: {state_size}"
        )
    names, sizes = nest.flatten(state_name), nest.flatten(state_size)
    if len(names) != len(sizes):
        raise ValueError(f"#elems(state_name) != #elems(state_size): {len(names)} vs. {len(sizes)}")
    initial_state = nest.pack_sequence_as(state_size, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(
        cell, inputs, initial_state=initial_state, sequence_length=sequence_length, scope=scope
    )
    saved = [state_saver.save_state(name, part) for name, part in zip(names, nest.flatten(state))]
    with control_dependencies(saved):
        outputs[-1] = nest.map_structure(identity, outputs[-1])
        state = nest.map_structure(identity, state)
    return outputs, state


def reverse_seq(input_seq: Any, lengths: TensorLike) -> list[Any]:
    """A list of inputs in reverse order; with `lengths` [batch] each row's first `lengths[row]` elements only.

    Args:
      input_seq: list of Tensors [batch, depth], or of nests of them.
      lengths: integer Tensor [batch], or None.
    """
    if lengths is None:
        return list(reversed(input_seq))
    columns = []
    for sequence in zip(*(nest.flatten(x) for x in input_seq)):
        columns.append(unstack(reverse_sequence(stack(sequence), lengths, 0, 1)))
    return [nest.pack_sequence_as(x, list(row)) for x, row in zip(input_seq, zip(*columns))]


@export("nn.static_bidirectional_rnn", "contrib.rnn.static_bidirectional_rnn")
def static_bidirectional_rnn(
    cell_fw: object, cell_bw: object, inputs: object, initial_state_fw: object = None, initial_state_bw: object = None,
    dtype: object = None, sequence_length: TensorLike | None = None, scope: object = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Runs one cell over a list of inputs forward and another backward.

    Args:
      cell_fw, cell_bw: the two cells.
      inputs, dtype, sequence_length: see `static_rnn`.
      initial_state_fw, initial_state_bw: the states at the start; zeros by default.
      scope: variable scope, "bidirectional_rnn" by default.

    Returns:
      the list of outputs, forward and backward joined in their last dimension; the last state forward; and backward.

    Raises:
      TypeError: one is no cell, or `inputs` no sequence. ValueError: see `static_rnn`.
    """
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    _check_inputs(inputs)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            output_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, fw_scope)
        with variable_scope("bw") as bw_scope:
            backward = reverse_seq(inputs, sequence_length)
            output_bw, state_bw = static_rnn(cell_bw, backward, initial_state_bw, dtype, sequence_length, bw_scope)
    output_bw = reverse_seq(output_bw, sequence_length)
    joined = [concat([fw, bw], 1) for fw, bw in zip(nest.flatten(output_fw), nest.flatten(output_bw))]
    return nest.pack_sequence_as(output_fw, joined), state_fw, state_bw
