"""Stacks of bidirectional recurrent networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.ops.array.join import concat
from tfcompat._src.rnn.dynamic import bidirectional_dynamic_rnn
from tfcompat._src.rnn.static import static_bidirectional_rnn
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _check(cells_fw: Any, cells_bw: Any, initial_states_fw: object, initial_states_bw: object) -> None:
    for name, cells in (("fw", cells_fw), ("bw", cells_bw)):
        if not cells:
            raise ValueError(f"Must specify at least one {name} cell for BidirectionalRNN.")
    for name, cells in (("fw", cells_fw), ("bw", cells_bw)):
        if not isinstance(cells, list):
            raise ValueError(f"cells_{name} must be a list of RNNCells (one per layer).")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for name, states in (("fw", initial_states_fw), ("bw", initial_states_bw)):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells_fw)):
            raise ValueError(f"initial_states_{name} must be a list of state tensors (one per layer).")


def _stack(
    cells_fw: Any, cells_bw: Any, states_fw: Any, states_bw: Any, inputs: Any, run: Callable, scope: object
) -> tuple:
    _check(cells_fw, cells_bw, states_fw, states_bw)
    last_fw, last_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw)):
            with variable_scope(f"cell_{number}") as cell_scope:
                inputs, state_fw, state_bw = run(
                    cell_fw, cell_bw, inputs, states_fw[number] if states_fw else None,
                    states_bw[number] if states_bw else None, cell_scope,
                )  # fmt: skip
            last_fw.append(state_fw)
            last_bw.append(state_bw)
    return inputs, tuple(last_fw), tuple(last_bw)


@export("contrib.rnn.stack_bidirectional_rnn")
def stack_bidirectional_rnn(
    cells_fw: object, cells_bw: object, inputs: object, initial_states_fw: object = None, initial_states_bw: object = None,
    dtype: object = None, sequence_length: TensorLike | None = None, scope: object = None,
) -> tuple[Any, tuple, tuple]:  # fmt: skip
    """Layers of `static_bidirectional_rnn`, each on the joined outputs of the one below.

    Args:
      cells_fw, cells_bw: lists of cells, one per layer.
      inputs, dtype, sequence_length: see `tf.nn.static_rnn`.
      initial_states_fw, initial_states_bw: lists of states, or None for zeros.
      scope: variable scope, "stack_bidirectional_rnn" by default.

    Returns:
      the outputs of the last layer, and the tuples of the layers' last states forward and backward.

    Raises:
      ValueError: lists are missing or differ in length.
    """

    def run(cell_fw: object, cell_bw: object, inputs: object, state_fw: object, state_bw: object, scope: object) -> tuple:
        return static_bidirectional_rnn(cell_fw, cell_bw, inputs, state_fw, state_bw, dtype, sequence_length, scope)

    return _stack(cells_fw, cells_bw, initial_states_fw, initial_states_bw, inputs, run, scope)


@export("contrib.rnn.stack_bidirectional_dynamic_rnn")
def stack_bidirectional_dynamic_rnn(
    cells_fw: object, cells_bw: object, inputs: object, initial_states_fw: object = None, initial_states_bw: object = None,
    dtype: object = None, sequence_length: TensorLike | None = None, parallel_iterations: int | None = None, time_major: bool = False,
    scope: object = None, swap_memory: bool = False,
) -> tuple[Any, tuple, tuple]:  # fmt: skip
    """Layers of `bidirectional_dynamic_rnn`, each on the joined outputs of the one below.

    Args:
      cells_fw, cells_bw: lists of cells, one per layer.
      inputs, dtype, sequence_length, parallel_iterations, time_major, swap_memory: see `tf.nn.dynamic_rnn`.
      initial_states_fw, initial_states_bw: lists of states, or None for zeros.
      scope: variable scope, "stack_bidirectional_rnn" by default.

    Returns:
      the outputs of the last layer, and the tuples of the layers' last states forward and backward.

    Raises:
      ValueError: lists are missing or differ in length.
    """

    def run(cell_fw: object, cell_bw: object, inputs: object, state_fw: object, state_bw: object, _: object) -> tuple:
        outputs, states = bidirectional_dynamic_rnn(
            cell_fw, cell_bw, inputs, sequence_length, state_fw, state_bw, dtype, parallel_iterations, swap_memory,
            time_major,
        )  # fmt: skip
        return concat(outputs, 2), *states

    return _stack(cells_fw, cells_bw, initial_states_fw, initial_states_bw, inputs, run, scope)
