"""Fused cells: functions of a whole sequence."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.ops.array.join import stack, unstack
from tfcompat._src.ops.array.reorder import reverse, reverse_sequence
from tfcompat._src.rnn.dynamic import dynamic_rnn
from tfcompat._src.rnn.static import static_rnn

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.rnn.FusedRNNCell")
class FusedRNNCell(abc.ABC):
    """A recurrent network as one function of a sequence."""

    @abc.abstractmethod
    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> tuple[Any, Any]:
        """Runs over a sequence.

        Args:
          inputs: Tensor [time, batch, depth], or a list of Tensors [batch, depth].
          initial_state: zeros by default.
          dtype: of the initial state and the outputs.
          sequence_length: integer [batch], or None.
          scope: variable scope.

        Returns:
          the outputs, in the form of the inputs, and the last state.
        """


@export("contrib.rnn.FusedRNNCellAdaptor")
class FusedRNNCellAdaptor(FusedRNNCell):
    """An RNNCell as a fused cell.

    Args:
      cell: an RNNCell.
      use_dynamic_rnn: whether it runs in a loop, else unrolled.
    """

    def __init__(self, cell, use_dynamic_rnn=False) -> None:
        self._cell, self._use_dynamic_rnn = cell, use_dynamic_rnn

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None) -> tuple[Any, Any]:
        is_list = isinstance(inputs, list)
        if self._use_dynamic_rnn:
            outputs, state = dynamic_rnn(
                self._cell, stack(inputs) if is_list else inputs, sequence_length, initial_state, dtype,
                time_major=True, scope=scope,
            )  # fmt: skip
            return unstack(outputs) if is_list else outputs, state
        outputs, state = static_rnn(
            self._cell, inputs if is_list else unstack(inputs), initial_state, dtype, sequence_length, scope
        )
        return outputs if is_list else stack(outputs), state


@export("contrib.rnn.TimeReversedFusedRNN")
class TimeReversedFusedRNN(FusedRNNCell):
    """A fused cell that runs backward; its outputs are in the order of the inputs.

    Args:
      cell: a fused cell.
    """

    def __init__(self, cell) -> None:
        self._cell = cell

    def _reverse(self, x: TensorLike, lengths: TensorLike) -> Any:
        if isinstance(x, list):
            return list(reversed(x))
        return reverse(x, [0]) if lengths is None else reverse_sequence(x, lengths, 0, 1)

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None) -> tuple[Any, Any]:
        outputs, state = self._cell(
            self._reverse(inputs, sequence_length), initial_state=initial_state, dtype=dtype,
            sequence_length=sequence_length, scope=scope,
        )  # fmt: skip
        return self._reverse(outputs, sequence_length), state
