"""What all recurrent loops share: their scope, the layout of their inputs, and a step that stops at sequence ends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, as_shape
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import colocate_with, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import rank
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.control_flow_util import GetContainingWhileContext
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.rnn.cell import RNNCell
from tfcompat._src.variables.scope import VariableScope, variable_scope


@contextlib.contextmanager
def rnn_scope(scope: object) -> Iterator[VariableScope]:
    """The variable scope of a loop, "rnn" by default; its variables are read once, before the loop."""
    with variable_scope(scope or "rnn") as entered:
        outer = get_default_graph()._get_control_flow_context()
        if GetContainingWhileContext(outer) is None and entered.caching_device is None:
            entered.set_caching_device(lambda op: op.device)
        yield entered


@export("contrib.rnn.transpose_batch_time")
def transpose_batch_time(x: Tensor) -> Tensor:
    """`x` with its first two dimensions exchanged; `x` itself where it has fewer than two."""
    shape = x.shape
    if shape.ndims is not None and shape.ndims < 2:
        return x
    swapped = transpose(x, concat(([1, 0], arange(2, rank(x))), axis=0))
    swapped.set_shape(TensorShape([shape[1], shape[0]]).concatenate(shape[2:]) if shape.ndims is not None else None)
    return swapped


@export("contrib.rnn.best_effort_input_batch_size")
def best_effort_input_batch_size(flat_input: Any) -> Any:
    """The batch size of time-major inputs: an int where one of them knows it, else a scalar Tensor.

    Raises:
      ValueError: an input has fewer than two dimensions.
    """
    for tensor in flat_input:
        if tensor.shape.ndims is None:
            continue
        if tensor.shape.ndims < 2:
            raise ValueError(f"Expected input tensor {tensor} to have rank at least 2")
        size = tensor.shape.as_list()[1]
        if size is not None:
            return size
    return shape_of(flat_input[0])[1]


def state_dtype(given: object, state: object) -> Any:
    """`given`, else the one dtype of a state; ValueError where the state is empty or has several."""
    if given is not None:
        return given
    found = [part.dtype for part in nest.flatten(state)]
    if not found:
        raise ValueError("Unable to infer dtype from empty state.")
    if any(dtype != found[0] for dtype in found):
        raise ValueError(
            "State has tensors of different inferred_dtypes. Unable to infer a single representative dtype."
        )
    return found[0]


def shape_from_tensor(shape: object) -> Any:
    """A shape given as a Tensor as what is known of it."""
    return as_shape(constant_value(shape)) if isinstance(shape, Tensor) else shape


def initial_state_of(cell: Any, batch_size: Any, dtype: Any) -> Any:
    """The state in which a loop starts that is given none."""
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def is_keras_rnn_cell(cell: object) -> bool:
    """Whether a cell takes its state as a list, as Keras's cells do."""
    return isinstance(cell, Layer) and not isinstance(cell, RNNCell) and getattr(cell, "zero_state", None) is None


def copy_through(finished: Tensor, old: Any, new: object) -> Any:
    """Rows of `old` where `finished`, else of `new`; scalars and TensorArrays are always `new`."""
    if isinstance(old, TensorArray) or old.shape.ndims == 0:
        return new
    with colocate_with(new):
        return where(finished, old, new)


def rnn_step(
    time: Any, sequence_length: Any, min_sequence_length: Any, max_sequence_length: Any, zero_output: object, state: object,
    call_cell: Callable, state_size: object, skip_conditionals: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """One step of a batch of sequences of different lengths: ended ones give zeros and keep their state.

    Args:
      time: number of the step, int or int32 scalar Tensor.
      sequence_length: int32 Tensor [batch]; min_sequence_length, max_sequence_length: its extremes.
      zero_output: zeros in the structure of the outputs.
      state: the state before the step.
      call_cell: function that gives outputs and new state.
      state_size: the cell's; not needed.
      skip_conditionals: whether the step is computed even where all sequences or none have ended.

    Returns:
      outputs and new state.
    """
    flat_zero, flat_state = nest.flatten(zero_output), nest.flatten(state)
    finished = time >= sequence_length

    def called() -> list[Any]:
        output, new_state = call_cell()
        nest.assert_same_structure(zero_output, output)
        nest.assert_same_structure(state, new_state)
        return [*nest.flatten(output), *nest.flatten(new_state)]

    def masked(new: list[Any]) -> list[Any]:
        return [copy_through(finished, o, n) for o, n in zip([*flat_zero, *flat_state], new)]

    def masked_unless_all_go_on() -> Any:
        new = called()
        return cond(time < min_sequence_length, lambda: new, lambda: masked(new))

    if skip_conditionals:
        found = masked([*called()])
    else:
        found = cond(time >= max_sequence_length, lambda: [*flat_zero, *flat_state], masked_unless_all_go_on)
    for new, old in zip(found, [*flat_zero, *flat_state]):
        if not isinstance(new, TensorArray):
            new.set_shape(old.shape)
    outputs, states = found[: len(flat_zero)], found[len(flat_zero) :]
    return nest.pack_sequence_as(zero_output, outputs), nest.pack_sequence_as(state, states)
