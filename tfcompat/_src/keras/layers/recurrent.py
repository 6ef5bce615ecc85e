"""Recurrent layers with cells of Keras."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.keras import regularizers
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.layers.rnn import RNN
from tfcompat._src.keras.layers.rnn_cells import GRUCell, LSTMCell, RecurrentCell, SimpleRNNCell
from tfcompat._src.platform import logging


def of_cell(name: str) -> property:
    """A property that is the cell's."""
    return property(lambda self: getattr(self.cell, name), doc=f"`{name}` of the cell.")


class CellLayer(RNN):
    """A recurrent layer with the settings of its cell."""

    def __init__(self, cell: RecurrentCell, activity_regularizer: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.input_spec = [InputSpec(ndim=3)]

    units, activation, use_bias = of_cell("units"), of_cell("activation"), of_cell("use_bias")
    kernel_initializer, bias_initializer = of_cell("kernel_initializer"), of_cell("bias_initializer")
    recurrent_initializer, recurrent_regularizer = of_cell("recurrent_initializer"), of_cell("recurrent_regularizer")
    kernel_regularizer, bias_regularizer = of_cell("kernel_regularizer"), of_cell("bias_regularizer")
    kernel_constraint, bias_constraint = of_cell("kernel_constraint"), of_cell("bias_constraint")
    recurrent_constraint = of_cell("recurrent_constraint")
    dropout, recurrent_dropout = of_cell("dropout"), of_cell("recurrent_dropout")

    def call(self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None) -> Any:
        self.cell.reset_dropout_mask()
        self.cell.reset_recurrent_dropout_mask()
        return super().call(inputs, mask=mask, training=training, initial_state=initial_state)

    def get_config(self) -> dict[str, Any]:
        own = self.cell.get_config()
        settings = {name: own[name] for name in self.cell._config}
        config = {**super().get_config(), **settings}
        del config["cell"]
        config["activity_regularizer"] = regularizers.serialize(self.activity_regularizer)
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> CellLayer:
        """A layer from what `get_config` gave."""
        return cls(**{**config, "implementation": 1} if config.get("implementation") == 0 else config)


def warn_of_implementation(implementation: int) -> None:
    """Says that the oldest implementation is gone."""
    if implementation == 0:
        logging.warning(
            "`implementation=0` has been deprecated, and now defaults to `implementation=1`."
            "Please update your layer call."
        )


@export("keras.layers.SimpleRNN")
class SimpleRNN(CellLayer):
    """A recurrent layer whose state is its output; arguments as in `SimpleRNNCell` and `RNN`."""

    def __init__(
        self, units, activation="tanh", use_bias=True, kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal", bias_initializer="zeros", kernel_regularizer=None,
        recurrent_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
        recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0, return_sequences=False,
        return_state=False, go_backwards=False, stateful=False, unroll=False, **kwargs,
    ) -> None:  # fmt: skip
        if "implementation" in kwargs:
            kwargs.pop("implementation")
            logging.warning(
                "The `implementation` argument in `SimpleRNN` has been deprecated. Please remove it from your layer call."
            )
        cell = SimpleRNNCell(
            units, activation, use_bias, kernel_initializer, recurrent_initializer, bias_initializer,
            kernel_regularizer, recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint,
            bias_constraint, dropout, recurrent_dropout, dtype=kwargs.get("dtype"),
        )  # fmt: skip
        super().__init__(
            cell, activity_regularizer, return_sequences=return_sequences, return_state=return_state,
            go_backwards=go_backwards, stateful=stateful, unroll=unroll, **kwargs,
        )  # fmt: skip


@export("keras.layers.GRU")
class GRU(CellLayer):
    """A recurrent layer with an update and a reset gate; arguments as in `GRUCell` and `RNN`."""

    recurrent_activation, implementation = of_cell("recurrent_activation"), of_cell("implementation")
    reset_after = of_cell("reset_after")

    def __init__(
        self, units, activation="tanh", recurrent_activation="hard_sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
        kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None, activity_regularizer=None,
        kernel_constraint=None, recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0,
        implementation=1, return_sequences=False, return_state=False, go_backwards=False, stateful=False,
        unroll=False, reset_after=False, **kwargs,
    ) -> None:  # fmt: skip
        warn_of_implementation(implementation)
        cell = GRUCell(
            units, activation, recurrent_activation, use_bias, kernel_initializer, recurrent_initializer,
            bias_initializer, kernel_regularizer, recurrent_regularizer, bias_regularizer, kernel_constraint,
            recurrent_constraint, bias_constraint, dropout, recurrent_dropout, implementation, reset_after,
            dtype=kwargs.get("dtype"),
        )  # fmt: skip
        super().__init__(
            cell, activity_regularizer, return_sequences=return_sequences, return_state=return_state,
            go_backwards=go_backwards, stateful=stateful, unroll=unroll, **kwargs,
        )  # fmt: skip


@export("keras.layers.LSTM")
class LSTM(CellLayer):
    """A recurrent layer with an input, a forget and an output gate; arguments as in `LSTMCell` and `RNN`."""

    recurrent_activation, implementation = of_cell("recurrent_activation"), of_cell("implementation")
    unit_forget_bias = of_cell("unit_forget_bias")

    def __init__(
        self, units, activation="tanh", recurrent_activation="hard_sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
        unit_forget_bias=True, kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None,
        activity_regularizer=None, kernel_constraint=None, recurrent_constraint=None, bias_constraint=None,
        dropout=0.0, recurrent_dropout=0.0, implementation=1, return_sequences=False, return_state=False,
        go_backwards=False, stateful=False, unroll=False, **kwargs,
    ) -> None:  # fmt: skip
        warn_of_implementation(implementation)
        cell = LSTMCell(
            units, activation, recurrent_activation, use_bias, kernel_initializer, recurrent_initializer,
            bias_initializer, unit_forget_bias, kernel_regularizer, recurrent_regularizer, bias_regularizer,
            kernel_constraint, recurrent_constraint, bias_constraint, dropout, recurrent_dropout, implementation,
            dtype=kwargs.get("dtype"),
        )  # fmt: skip
        super().__init__(
            cell, activity_regularizer, return_sequences=return_sequences, return_state=return_state,
            go_backwards=go_backwards, stateful=stateful, unroll=unroll, **kwargs,
        )  # fmt: skip
