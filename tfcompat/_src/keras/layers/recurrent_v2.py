"""The recurrent layers of TensorFlow 2, whose settings are those of cuDNN."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.dtypes import float32
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.layers import recurrent, rnn_cells
from tfcompat._src.nodes.convert import constant

_RUNTIME_UNKNOWN, _RUNTIME_CPU, _RUNTIME_GPU = 0, 1, 2


def _runtime(runtime_name: int) -> Tensor:
    """A tensor that says which implementation was chosen."""
    with device("/cpu:0"):
        return constant(runtime_name, dtype=float32, name="runtime")


class _KnownLength(rnn_cells.DropoutRNNCellMixin):
    """The part that both layers share: the loop is told its length, and a node says how it runs."""

    could_use_cudnn = False

    def _loop_limit(self, steps: int | None) -> int | None:
        return steps

    def _finished(self, output: object, states: object) -> Any:
        runtime = _runtime(_RUNTIME_UNKNOWN)
        finished = super()._finished(output, states)
        return (finished, runtime) if self.return_runtime and not self.return_state else finished


@export("compat.v2.keras.layers.GRUCell")
class GRUCell(rnn_cells.GRUCell):
    __doc__ = rnn_cells.GRUCell.__doc__

    def __init__(
        self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
        kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None,
        recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0, implementation=2,
        reset_after=True, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            units, activation, recurrent_activation, use_bias, kernel_initializer, recurrent_initializer,
            bias_initializer, kernel_regularizer, recurrent_regularizer, bias_regularizer, kernel_constraint,
            recurrent_constraint, bias_constraint, dropout, recurrent_dropout, implementation, reset_after, **kwargs,
        )  # fmt: skip


@export("compat.v2.keras.layers.GRU")
class GRU(_KnownLength, recurrent.GRU):
    __doc__ = recurrent.GRU.__doc__

    def __init__(
        self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
        kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None, activity_regularizer=None,
        kernel_constraint=None, recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0,
        implementation=2, return_sequences=False, return_state=False, go_backwards=False, stateful=False,
        unroll=False, time_major=False, reset_after=True, **kwargs,
    ) -> None:  # fmt: skip
        return_runtime = kwargs.pop("return_runtime", False)
        super().__init__(
            units, activation, recurrent_activation, use_bias, kernel_initializer, recurrent_initializer,
            bias_initializer, kernel_regularizer, recurrent_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, recurrent_constraint, bias_constraint, dropout, recurrent_dropout, implementation,
            return_sequences, return_state, go_backwards, stateful, unroll, reset_after, time_major=time_major,
            **kwargs,
        )  # fmt: skip
        self.return_runtime = return_runtime


@export("compat.v2.keras.layers.LSTMCell")
class LSTMCell(rnn_cells.LSTMCell):
    __doc__ = rnn_cells.LSTMCell.__doc__

    def __init__(
        self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
        unit_forget_bias=True, kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None,
        kernel_constraint=None, recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0,
        implementation=2, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            units, activation, recurrent_activation, use_bias, kernel_initializer, recurrent_initializer,
            bias_initializer, unit_forget_bias, kernel_regularizer, recurrent_regularizer, bias_regularizer,
            kernel_constraint, recurrent_constraint, bias_constraint, dropout, recurrent_dropout, implementation,
            **kwargs,
        )  # fmt: skip


@export("compat.v2.keras.layers.LSTM")
class LSTM(_KnownLength, recurrent.LSTM):
    __doc__ = recurrent.LSTM.__doc__

    def __init__(
        self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
        unit_forget_bias=True, kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None,
        activity_regularizer=None, kernel_constraint=None, recurrent_constraint=None, bias_constraint=None,
        dropout=0.0, recurrent_dropout=0.0, implementation=2, return_sequences=False, return_state=False,
        go_backwards=False, stateful=False, time_major=False, unroll=False, **kwargs,
    ) -> None:  # fmt: skip
        return_runtime = kwargs.pop("return_runtime", False)
        super().__init__(
            units, activation, recurrent_activation, use_bias, kernel_initializer, recurrent_initializer,
            bias_initializer, unit_forget_bias, kernel_regularizer, recurrent_regularizer, bias_regularizer,
            activity_regularizer, kernel_constraint, recurrent_constraint, bias_constraint, dropout,
            recurrent_dropout, implementation, return_sequences, return_state, go_backwards, stateful, unroll,
            time_major=time_major, **kwargs,
        )  # fmt: skip
        self.return_runtime = return_runtime
        self.state_spec = [InputSpec(shape=(None, self.units)) for _ in range(2)]
