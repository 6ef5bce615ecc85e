"""Lowering of the nodes that OpHints of RNN cells become: one operator for a whole sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.shape_inference import InferenceContext
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lite import model as lite
from tfcompat._src.lite.any_ops import SHAPES
from tfcompat._src.lite.errors import ConverterError
from tfcompat._src.lite.lowering import Lowering, rule, tensor_name
from tfcompat._src.lite.op_hint import OpHint

_TANH = {"fused_activation_function": lite.ACTIVATIONS.index("TANH"), "time_major": True}
_LSTM_INPUTS = 20
_STATES = (18, 19)
"""The inputs of the LSTM operator that keep their value from run to run: output and memory."""


def _inputs_by_index(op: Operation) -> dict[int, Tensor]:
    indices = op.attrs.get(OpHint.TFLITE_INPUT_INDICES)
    if indices is None or len(indices) != len(op.inputs):
        raise ConverterError(f"{op.type} '{op.name}' must have {OpHint.TFLITE_INPUT_INDICES} with an index for each of its {len(op.inputs)} inputs.")
    return dict(zip(indices, op.inputs))


def _state(low: Lowering, tensor: Tensor) -> lite.Tensor:
    """A variable of the model, which starts with zeros."""
    if np.any(low.value(tensor, " (the initial state of an RNN)")):
        raise ConverterError(f"'{tensor.name}' must be zeros: TensorFlow Lite starts RNNs with zeros.")
    found = low.temporary(tensor_name(tensor), low.value(tensor).shape, "FLOAT32")
    found.is_variable = True
    return found


def _shapes(c: InferenceContext) -> list[Any]:
    """Every output is that of all steps, [time, batch, units]; the state, which is the last input but the memory, has the units."""
    has_memory = c.op.type == "UnidirectionalSequenceLstm"
    source, state = c.inputs[0], c.inputs[-1 - has_memory]
    known = source is not None and len(source) == 3 and state is not None and len(state) == 2
    return [(*source[:2], state[1]) if known else None] * len(c.op.outputs)


SHAPES.update(dict.fromkeys(("UnidirectionalSequenceLstm", "UnidirectionalSequenceRnn"), _shapes))


@rule("UnidirectionalSequenceLstm")
def _lstm(low: Lowering, op: Operation) -> None:
    given = _inputs_by_index(op)
    inputs = [None if i not in given else _state(low, given[i]) if i in _STATES else low.tensor(given[i]) for i in range(_LSTM_INPUTS)]
    low.emit("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [low.tensor(op.outputs[2])], **_TANH, cell_clip=0.0, proj_clip=0.0)


@rule("UnidirectionalSequenceRnn")
def _rnn(low: Lowering, op: Operation) -> None:
    given = _inputs_by_index(op)
    *taken, state = [given[i] for i in sorted(given)]
    if len(taken) != 4:
        raise ConverterError(f"{op.type} '{op.name}' has {len(given)} inputs, but must have 5: the sequence, two weights, a bias and the state.")
    low.emit("UNIDIRECTIONAL_SEQUENCE_RNN", [*map(low.tensor, taken), _state(low, state)], [low.tensor(op.outputs[1])], **_TANH)
