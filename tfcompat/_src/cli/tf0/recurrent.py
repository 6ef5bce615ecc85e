"""Loops of recurrent networks before TensorFlow 1.0: those of 1.15 in variable scopes of other names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import reverse, reverse_sequence
from tfcompat._src.rnn import dynamic, static
from tfcompat._src.variables.scope import variable_scope


def rnn(
    cell: Any, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
) -> tuple[list[Any], Any]:
    """Runs a cell over a list of inputs; returns the outputs and the last state."""
    return static.static_rnn(cell, inputs, initial_state, dtype, sequence_length, scope or "RNN")


def state_saving_rnn(
    cell: Any, inputs: Any, state_saver: Any, state_name: Any, sequence_length: Any = None, scope: Any = None
) -> tuple[list[Any], Any]:
    """`rnn` with a state that a saver keeps from one run to the next."""
    return static.static_state_saving_rnn(cell, inputs, state_saver, state_name, sequence_length, scope or "RNN")


def dynamic_rnn(
    cell: Any, inputs: Any, sequence_length: Any = None, initial_state: Any = None, dtype: Any = None, parallel_iterations: int | None = None,
    swap_memory: bool = False, time_major: bool = False, scope: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Runs a cell over inputs of one tensor in a loop of the graph; returns the outputs and the last state."""
    return dynamic.dynamic_rnn(
        cell, inputs, sequence_length, initial_state, dtype, parallel_iterations, swap_memory, time_major, scope or "RNN"
    )  # fmt: skip


def raw_rnn(cell: Any, loop_fn: Callable[..., Any], parallel_iterations: int | None = None, swap_memory: bool = False, scope: Any = None) -> Any:
    """Runs a cell in a loop of the graph whose inputs and end a function gives."""
    return dynamic.raw_rnn(cell, loop_fn, parallel_iterations, swap_memory, scope or "RNN")


def _both_ways(scope: Any, forward: Callable[[Any], Any], backward: Callable[[Any], Any]) -> tuple[Any, Any]:
    with variable_scope(scope or "BiRNN"):
        with variable_scope("FW") as of_forward:
            first = forward(of_forward)
        with variable_scope("BW") as of_backward:
            return first, backward(of_backward)


def bidirectional_rnn(
    cell_fw: Any, cell_bw: Any, inputs: Any, initial_state_fw: Any = None, initial_state_bw: Any = None, dtype: Any = None,
    sequence_length: Any = None, scope: Any = None,
) -> tuple[list[Any], Any, Any]:  # fmt: skip
    """Runs two cells over a list of inputs from both ends; returns the outputs side by side and both last states."""
    if not isinstance(inputs, list) or not inputs:
        raise ValueError("inputs must be a list that is not empty")

    def backward(within: Any) -> Any:
        found, state = rnn(cell_bw, static.reverse_seq(inputs, sequence_length), initial_state_bw, dtype, sequence_length, within)
        return static.reverse_seq(found, sequence_length), state

    (first, state_fw), (second, state_bw) = _both_ways(
        scope, lambda within: rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, within), backward
    )
    return [nest.map_structure(lambda a, b: concat([a, b], 1), fw, bw) for fw, bw in zip(first, second, strict=True)], state_fw, state_bw


def bidirectional_dynamic_rnn(
    cell_fw: Any, cell_bw: Any, inputs: Any, sequence_length: Any = None, initial_state_fw: Any = None, initial_state_bw: Any = None, dtype: Any = None,
    parallel_iterations: int | None = None, swap_memory: bool = False, time_major: bool = False, scope: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Runs two cells over inputs of one tensor from both ends; returns a pair of outputs and a pair of last states."""
    settings = (dtype, parallel_iterations, swap_memory, time_major)
    time, batch = (0, 1) if time_major else (1, 0)

    def reversed_in_time(value: Any) -> Tensor:
        if sequence_length is None:
            return reverse(value, axis=[time])
        return reverse_sequence(value, sequence_length, seq_axis=time, batch_axis=batch)

    def backward(within: Any) -> Any:
        found, state = dynamic_rnn(cell_bw, reversed_in_time(inputs), sequence_length, initial_state_bw, *settings, within)
        return reversed_in_time(found), state

    (first, state_fw), (second, state_bw) = _both_ways(
        scope, lambda within: dynamic_rnn(cell_fw, inputs, sequence_length, initial_state_fw, *settings, within), backward
    )
    return (first, second), (state_fw, state_bw)


NAMES: dict[str, Any] = {
    function.__name__: function for function in (rnn, state_saving_rnn, bidirectional_rnn, dynamic_rnn, bidirectional_dynamic_rnn, raw_rnn)
}
