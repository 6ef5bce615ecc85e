"""tf.nn.dynamic_rnn, bidirectional_dynamic_rnn and raw_rnn: a recurrent network as one loop of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import control_dependencies, executing_eagerly, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.reorder import reverse, reverse_sequence
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.binary import maximum, minimum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, logical_not, logical_or
from tfcompat._src.ops.math.reduce import reduce_all, reduce_max, reduce_min
from tfcompat._src.rnn.cell import assert_like_rnncell, concat_sizes
from tfcompat._src.rnn.steps import (
    best_effort_input_batch_size,
    copy_through,
    initial_state_of,
    is_keras_rnn_cell,
    rnn_scope,
    rnn_step,
    shape_from_tensor,
    state_dtype,
    transpose_batch_time,
)
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("nn.dynamic_rnn")
def dynamic_rnn(
    cell: object, inputs: object, sequence_length: TensorLike | None = None, initial_state: object = None, dtype: object = None,
    parallel_iterations: int | None = None, swap_memory: bool = False, time_major: bool = False, scope: object = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Runs a cell over sequences.

    Args:
      cell: an RNNCell.
      inputs: Tensor [batch, time, ...], or [time, batch, ...] with `time_major`, or a nest of them.
      sequence_length: int32 or int64 [batch]: after its end a sequence gives zeros and keeps its state.
      initial_state: in the structure of `cell.state_size`; zeros by default.
      dtype: of the initial state and the outputs; needed without `initial_state`.
      parallel_iterations: written into the loop, 32 by default.
      swap_memory: written into the loop.
      time_major: the layout of inputs and outputs.
      scope: variable scope, "rnn" by default.

    Returns:
      the outputs, in the layout of the inputs and the structure of `cell.output_size`, and the last state.

    Raises:
      TypeError: `cell` is no cell. ValueError: neither `initial_state` nor `dtype`, or shapes that do not fit.
    """
    assert_like_rnncell("cell", cell)
    with rnn_scope(scope):
        flat_input = nest.flatten(inputs)
        if not time_major:
            flat_input = [convert_to_tensor(x) for x in flat_input]
            flat_input = [transpose_batch_time(x) for x in flat_input]
        if sequence_length is not None:
            sequence_length = cast(sequence_length, dtypes.int32)
            if sequence_length.shape.ndims not in (None, 1):
                raise ValueError(
                    f"sequence_length must be a vector of length batch_size, but saw shape: {sequence_length.shape}"
                )
            sequence_length = identity(sequence_length, name="sequence_length")
        batch_size = best_effort_input_batch_size(flat_input)
        state = initial_state
        if state is None:
            if not dtype:
                raise ValueError("If there is no initial_state, you must give a dtype.")
            state = initial_state_of(cell, batch_size, dtype)
        if sequence_length is not None and not executing_eagerly():
            with control_dependencies([_assert_length(sequence_length, batch_size)]):
                sequence_length = identity(sequence_length, name="CheckSeqLen")
        outputs, last_state = _dynamic_rnn_loop(
            cell, nest.pack_sequence_as(inputs, flat_input), state, parallel_iterations or 32, swap_memory,
            sequence_length, dtype,
        )  # fmt: skip
        if not time_major:
            outputs = nest.map_structure(transpose_batch_time, outputs)
        return outputs, last_state


def _assert_length(x: Tensor, length: object) -> Any:
    found, wanted = shape_of(x), stack([length])
    return Assert(
        reduce_all(equal(found, wanted)), [f"Expected shape for Tensor {x.name} is ", wanted, " but saw shape: ", found]
    )


def _common_time_and_batch(flat_input: Any) -> tuple[int | None, int | None]:
    """The static sizes of time and batch; ValueError where inputs differ in them or a depth is unknown."""
    shapes = [x.shape.with_rank_at_least(3) for x in flat_input]
    time_steps, batch_size = shapes[0].as_list()[:2]
    for shape in shapes:
        if not shape[2:].is_fully_defined():
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw value None."
            )
        sizes = shape.as_list()
        if sizes[0] != time_steps:
            raise ValueError("Time steps is not the same for all the elements in the input in a batch.")
        if sizes[1] != batch_size:
            raise ValueError("Batch_size is not the same for all the elements in the input.")
    return time_steps, batch_size


def _dynamic_rnn_loop(
    cell: Any, inputs: object, initial_state: object, parallel_iterations: int, swap_memory: bool,
    sequence_length: Any = None, dtype: object = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The loop of `dynamic_rnn` over time-major inputs."""
    flat_input = nest.flatten(inputs)
    flat_output_size = nest.flatten(cell.output_size)
    time_steps = shape_of(flat_input[0])[0]
    batch_size = best_effort_input_batch_size(flat_input)
    static_time, static_batch = _common_time_and_batch(flat_input)
    flat_zero = [
        zeros(stack(concat_sizes(batch_size, size)), state_dtype(dtype, initial_state)) for size in flat_output_size
    ]
    zero_output = nest.pack_sequence_as(cell.output_size, flat_zero)
    min_length = max_length = None
    if sequence_length is not None:
        min_length, max_length = reduce_min(sequence_length), reduce_max(sequence_length)
    time = constant(0, dtype=dtypes.int32, name="time")
    with name_scope("dynamic_rnn") as base_name:
        pass

    def array(name: str, element_shape: object, dtype: object) -> TensorArray:
        return TensorArray(dtype, size=time_steps, element_shape=element_shape, tensor_array_name=base_name + name)

    output_arrays = tuple(
        array(
            f"output_{i}", TensorShape([static_batch]).concatenate(shape_from_tensor(size)),
            state_dtype(dtype, initial_state),
        )
        for i, size in enumerate(flat_output_size)
    )  # fmt: skip
    input_arrays = [array(f"input_{i}", x.shape[1:], x.dtype) for i, x in enumerate(flat_input)]
    input_arrays = [a.unstack(x) for a, x in zip(input_arrays, flat_input)]

    def step(time: Tensor, arrays: tuple, state: Any) -> tuple:
        flat_now = [a.read(time) for a in input_arrays]
        for now, x in zip(flat_now, flat_input):
            now.set_shape(x.shape[1:])
        now = nest.pack_sequence_as(inputs, flat_now)
        in_list = is_keras_rnn_cell(cell) and not nest.is_nested(state)
        if in_list:
            state = [state]
        if sequence_length is not None:
            output, new_state = rnn_step(
                time, sequence_length, min_length, max_length, zero_output, state, lambda: cell(now, state),
                cell.state_size, skip_conditionals=True,
            )  # fmt: skip
        else:
            output, new_state = cell(now, state)
        if is_keras_rnn_cell(cell) and len(new_state) == 1:
            new_state = new_state[0]
        arrays = tuple(a.write(time, out) for a, out in zip(arrays, nest.flatten(output)))
        return time + 1, arrays, new_state

    bound = minimum(time_steps, maximum(1, time_steps if max_length is None else max_length))
    _, arrays, last_state = while_loop(
        cond=lambda time, *_: time < bound, body=step, loop_vars=(time, output_arrays, initial_state),
        parallel_iterations=parallel_iterations, maximum_iterations=time_steps, swap_memory=swap_memory,
    )  # fmt: skip
    outputs = [a.stack() for a in arrays]
    for output, size in zip(outputs, flat_output_size):
        output.set_shape(concat_sizes([static_time, static_batch], size, static=True))
    return nest.pack_sequence_as(cell.output_size, outputs), last_state


@export("nn.bidirectional_dynamic_rnn")
def bidirectional_dynamic_rnn(
    cell_fw: object, cell_bw: object, inputs: object, sequence_length: TensorLike | None = None, initial_state_fw: object = None,
    initial_state_bw: object = None, dtype: object = None, parallel_iterations: int | None = None, swap_memory: bool = False,
    time_major: bool = False, scope: object = None,
) -> tuple[tuple, tuple]:  # fmt: skip
    """Runs one cell over sequences forward and another backward.

    Args:
      cell_fw, cell_bw: the two cells.
      inputs, sequence_length, dtype, parallel_iterations, swap_memory, time_major: see `dynamic_rnn`.
      initial_state_fw, initial_state_bw: the states at the start; zeros by default.
      scope: variable scope, "bidirectional_rnn" by default.

    Returns:
      (outputs forward, outputs backward), both in the order of the inputs, and (last state forward, backward).

    Raises:
      TypeError: one is no cell. ValueError: see `dynamic_rnn`.
    """
    assert_like_rnncell("cell_fw", cell_fw)
    assert_like_rnncell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def reversed_in_time(x: TensorLike) -> Tensor:
        if sequence_length is None:
            return reverse(x, axis=[time_axis])
        return reverse_sequence(x, seq_lengths=sequence_length, seq_axis=time_axis, batch_axis=batch_axis)

    def run(cell: object, inputs: object, initial_state: object, scope: object) -> tuple[Any, Any]:
        return dynamic_rnn(
            cell, inputs, sequence_length, initial_state, dtype, parallel_iterations, swap_memory, time_major, scope
        )

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            output_fw, state_fw = run(cell_fw, inputs, initial_state_fw, fw_scope)
        with variable_scope("bw") as bw_scope:
            backward = nest.map_structure(reversed_in_time, inputs)
            output_bw, state_bw = run(cell_bw, backward, initial_state_bw, bw_scope)
    return (output_fw, reversed_in_time(output_bw)), (state_fw, state_bw)


@export("nn.raw_rnn")
def raw_rnn(
    cell: Any, loop_fn: Callable, parallel_iterations: int | None = None, swap_memory: bool = False, scope: object = None
) -> tuple[Any, Any, Any]:
    """Runs a cell in a loop whose inputs, states, outputs and end a function decides.

    Args:
      cell: an RNNCell.
      loop_fn: function of (time, cell_output, cell_state, loop_state) that gives (elements_finished [batch],
        next_input, next_cell_state, emit_output, next_loop_state). The first call has time 0 and None for the rest; it
        gives the initial state, and an example of one row of the outputs or None for `cell.output_size`.
      parallel_iterations: written into the loop, 32 by default.
      swap_memory: written into the loop.
      scope: variable scope, "rnn" by default.

    Returns:
      TensorArrays of the outputs, the last state, and the last loop state (None where there is none).

    Raises:
      TypeError: `cell` is no cell or `loop_fn` not callable. ValueError: structures that do not fit.
    """
    assert_like_rnncell("cell", cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with rnn_scope(scope):
        time = constant(0, dtype=dtypes.int32)
        finished, next_input, state, emit_structure, init_loop_state = loop_fn(time, None, None, None)
        flat_input = nest.flatten(next_input)
        loop_state = constant(0, dtype=dtypes.int32) if init_loop_state is None else init_loop_state
        static_batch = _common_batch(flat_input)
        batch_size = shape_of(flat_input[0])[0] if static_batch is None else static_batch
        nest.assert_same_structure(state, cell.state_size)
        flat_state = [convert_to_tensor(part) for part in nest.flatten(state)]
        state = nest.pack_sequence_as(state, flat_state)
        if emit_structure is not None:
            emits = nest.flatten(emit_structure)
            sizes = [e.shape if e.shape.is_fully_defined() else shape_of(e) for e in emits]
            emit_dtypes = [e.dtype for e in emits]
        else:
            emit_structure = cell.output_size
            sizes = nest.flatten(emit_structure)
            emit_dtypes = [flat_state[0].dtype] * len(sizes)
        arrays = [
            TensorArray(
                dtype, dynamic_size=True, size=0, name=f"rnn_output_{i}",
                element_shape=TensorShape([static_batch]).concatenate(shape_from_tensor(size)),
            )
            for i, (dtype, size) in enumerate(zip(emit_dtypes, sizes))
        ]  # fmt: skip
        emit_arrays = nest.pack_sequence_as(emit_structure, arrays)
        flat_zero = [zeros(concat_sizes(batch_size, size), dtype) for size, dtype in zip(sizes, emit_dtypes)]
        zero_emit = nest.pack_sequence_as(emit_structure, flat_zero)
        returned = while_loop(
            lambda _, finished, *rest: logical_not(reduce_all(finished)),
            _raw_rnn_body(cell, loop_fn, zero_emit),
            loop_vars=[time, finished, next_input, emit_arrays, state, loop_state],
            parallel_iterations=parallel_iterations or 32,
            swap_memory=swap_memory,
        )
        emit_arrays, last_state, last_loop_state = returned[-3:]
        return emit_arrays, last_state, None if init_loop_state is None else last_loop_state


def _common_batch(flat_input: Any) -> int | None:
    """The static batch size on which all inputs agree; ValueError where they do not."""
    batch = flat_input[0].shape[0:1]
    for x in flat_input:
        batch = batch.merge_with(x.shape[0:1])
    return batch.as_list()[0] if batch.ndims else None


def _raw_rnn_body(cell: Any, loop_fn: Callable, zero_emit: object) -> Callable:
    def body(time: Tensor, finished: Tensor, now: Any, emit_arrays: object, state: Any, loop_state: object) -> tuple:
        output, cell_state = cell(now, state)
        nest.assert_same_structure(state, cell_state)
        nest.assert_same_structure(cell.output_size, output)
        next_time = time + 1
        next_finished, next_input, next_state, emit, next_loop_state = loop_fn(
            next_time, output, cell_state, loop_state
        )
        nest.assert_same_structure(state, next_state)
        nest.assert_same_structure(now, next_input)
        nest.assert_same_structure(emit_arrays, emit)
        emit = nest.map_structure(lambda old, new: copy_through(finished, old, new), zero_emit, emit)
        next_state = nest.map_structure(lambda old, new: copy_through(finished, old, new), state, next_state)
        emit_arrays = nest.map_structure(lambda array, value: array.write(time, value), emit_arrays, emit)
        ended = logical_or(finished, next_finished)
        new_loop_state = loop_state if next_loop_state is None else next_loop_state
        return next_time, ended, next_input, emit_arrays, next_state, new_loop_state

    return body
