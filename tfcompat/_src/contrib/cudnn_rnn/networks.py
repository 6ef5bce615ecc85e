"""Functions that run cuDNN's recurrent networks, and the cells that have their formulas."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.rnn.block_cells import LSTMBlockCell
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import fill
from tfcompat._src.ops.array.join import concat, split
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.unary import sigmoid
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.ops.random.seeds import seed_attrs
from tfcompat._src.rnn.basic_cells import GRUCell
from tfcompat._src.rnn.cell import BIAS, KERNEL, known_depth
from tfcompat._src.variables.initializers import Constant, Zeros

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION = "unidirectional", "bidirectional"
CUDNN_LSTM, CUDNN_GRU, CUDNN_RNN_RELU, CUDNN_RNN_TANH = "lstm", "gru", "rnn_relu", "rnn_tanh"
CUDNN_INPUT_LINEAR_MODE, CUDNN_INPUT_SKIP_MODE, CUDNN_INPUT_AUTO_MODE = "linear_input", "skip_input", "auto_select"
CUDNN_LSTM_PARAMS_PER_LAYER, CUDNN_GRU_PARAMS_PER_LAYER = 8, 6
CUDNN_RNN_TANH_PARAMS_PER_LAYER = CUDNN_RNN_RELU_PARAMS_PER_LAYER = 2
PARAMS_PER_LAYER = {
    CUDNN_LSTM: CUDNN_LSTM_PARAMS_PER_LAYER, CUDNN_GRU: CUDNN_GRU_PARAMS_PER_LAYER,
    CUDNN_RNN_RELU: CUDNN_RNN_RELU_PARAMS_PER_LAYER, CUDNN_RNN_TANH: CUDNN_RNN_TANH_PARAMS_PER_LAYER,
}  # fmt: skip


def check_rnn_mode(rnn_mode: str) -> None:
    """Raises ValueError for an unknown kind of network."""
    if rnn_mode not in PARAMS_PER_LAYER:
        raise ValueError(f"Invalid rnn_mode: {rnn_mode}, expect one of {tuple(PARAMS_PER_LAYER)}")


def check_direction(direction: str) -> None:
    """Raises ValueError for an unknown direction."""
    if direction not in (CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION):
        raise ValueError(
            f"Invalid direction: {direction}, expecting {CUDNN_RNN_UNIDIRECTION} or {CUDNN_RNN_BIDIRECTION}"
        )


def check_input_mode(input_mode: str) -> None:
    """Raises ValueError for an unknown input mode."""
    known = (CUDNN_INPUT_LINEAR_MODE, CUDNN_INPUT_SKIP_MODE, CUDNN_INPUT_AUTO_MODE)
    if input_mode not in known:
        raise ValueError(f"Invalid input_mode: {input_mode}, expect one of {known}")


def _attrs(rnn_mode: str, input_mode: str, direction: str, dropout: float, seed: int | None) -> dict[str, Any]:
    check_rnn_mode(rnn_mode)
    check_direction(direction)
    check_input_mode(input_mode)
    return dict(rnn_mode=rnn_mode, input_mode=input_mode, direction=direction, dropout=dropout, **seed_attrs(seed))


def cudnn_rnn(
    inputs: Tensor, input_h: Tensor, input_c: Tensor, params: Tensor, is_training: bool, rnn_mode: str,
    sequence_lengths: TensorLike | None = None, time_major: bool = True, input_mode: str = CUDNN_INPUT_LINEAR_MODE,
    direction: str = CUDNN_RNN_UNIDIRECTION, dropout: float = 0.0, seed: int | None = 0, num_proj: int | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Runs a network.

    Args:
      inputs: Tensor [time, batch, input_size], or [batch, time, input_size] without `time_major`.
      input_h, input_c: states [layers * directions, batch, num_units], or with the first two exchanged; `input_c` is
        empty where the network is no LSTM.
      params: opaque parameters, a vector.
      is_training: whether dropout applies and gradients can be taken.
      rnn_mode: "lstm", "gru", "rnn_tanh" or "rnn_relu".
      sequence_lengths: int32 [batch], or None.
      input_mode: "linear_input", "skip_input" or "auto_select". direction: "unidirectional" or "bidirectional".
      dropout: part of the outputs that is dropped between layers. seed: op seed.
      num_proj: size of the projected state, or None.

    Returns:
      the outputs, and the last states.

    Raises:
      ValueError: a mode or a direction is unknown.
    """
    attrs = _attrs(rnn_mode, input_mode, direction, dropout, seed)
    attrs.update(is_training=is_training, name=name)
    if sequence_lengths is None and (time_major is False or num_proj):
        batch_axis, time_axis = (1, 0) if time_major else (0, 1)
        sequence_lengths = fill([shape_of(inputs)[batch_axis]], shape_of(inputs)[time_axis])
    if sequence_lengths is not None:
        attrs.update(num_proj=num_proj or 0, time_major=time_major)
        return tuple(raw.CudnnRNNV3(inputs, input_h, input_c, params, sequence_lengths, **attrs)[:3])
    run = raw.CudnnRNNV2 if os.environ.get("TF_CUDNN_RNN_USE_V2") == "1" else raw.CudnnRNN
    return tuple(run(inputs, input_h, input_c, params, **attrs)[:3])


def cudnn_lstm(
    inputs: Tensor, input_h: Tensor, input_c: Tensor, params: Tensor, is_training: bool, sequence_lengths: TensorLike | None = None,
    time_major: bool = True, input_mode: str = CUDNN_INPUT_LINEAR_MODE, direction: str = CUDNN_RNN_UNIDIRECTION,
    dropout: float = 0.0, seed: int | None = 0, num_proj: int | None = None, name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Runs an LSTM; see `cudnn_rnn`."""
    return cudnn_rnn(
        inputs, input_h, input_c, params, is_training, CUDNN_LSTM, sequence_lengths, time_major, input_mode, direction,
        dropout, seed, num_proj, name,
    )  # fmt: skip


def _without_memory(rnn_mode: str):
    def run(
        inputs: Tensor, input_h: Tensor, params: Tensor, is_training: bool, sequence_lengths: TensorLike | None = None,
        time_major: bool = True, input_mode: str = CUDNN_INPUT_LINEAR_MODE, direction: str = CUDNN_RNN_UNIDIRECTION,
        dropout: float = 0.0, seed: int | None = 0, name: str | None = None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Runs a network without memory cells: outputs and last state; see `cudnn_rnn`."""
        input_c = constant([], dtype=input_h.dtype)
        return cudnn_rnn(
            inputs, input_h, input_c, params, is_training, rnn_mode, sequence_lengths, time_major, input_mode,
            direction, dropout, seed, None, name,
        )[:2]  # fmt: skip

    return run


cudnn_gru = _without_memory(CUDNN_GRU)
cudnn_rnn_relu = _without_memory(CUDNN_RNN_RELU)
cudnn_rnn_tanh = _without_memory(CUDNN_RNN_TANH)


def cudnn_rnn_opaque_params_size(
    rnn_mode: str, num_layers: int, num_units: int, input_size: int, input_mode: str = CUDNN_INPUT_LINEAR_MODE,
    direction: str = CUDNN_RNN_UNIDIRECTION, dtype: DTypeLike = dtypes.float32, dropout: float = 0, seed: int | None = 0,
    num_proj: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The number of opaque parameters, int32 [1]; the arguments are those of `cudnn_rnn`."""
    attrs = _attrs(rnn_mode, input_mode, direction, dropout, seed)
    return raw.CudnnRNNParamsSize(
        num_layers, num_units, input_size, T=dtype, S=dtypes.int32, num_proj=num_proj or 0, name=name, **attrs
    )


def cudnn_rnn_opaque_params_to_canonical(
    rnn_mode: str, num_layers: int, num_units: int, input_size: int, params: Tensor,
    input_mode: str = CUDNN_INPUT_LINEAR_MODE, direction: str = CUDNN_RNN_UNIDIRECTION, dropout: float = 0,
    seed: int | None = 0, num_proj: int | None = None, name: str | None = None,
) -> tuple[list[Tensor], list[Tensor]]:  # fmt: skip
    """The matrices [num_units, depth] and biases [num_units] of opaque parameters, layer by layer, gate by gate."""
    attrs = _attrs(rnn_mode, input_mode, direction, dropout, seed)
    rows = num_layers * (1 if direction == CUDNN_RNN_UNIDIRECTION else 2)
    count = rows * PARAMS_PER_LAYER[rnn_mode]
    if num_proj:
        return raw.CudnnRNNParamsToCanonicalV2(
            num_layers, num_units, input_size, params, num_params_weights=count + rows, num_params_biases=count,
            num_proj=num_proj, name=name, **attrs,
        )  # fmt: skip
    return raw.CudnnRNNParamsToCanonical(
        num_layers, num_units, input_size, params, num_params=count, name=name, **attrs
    )


def cudnn_rnn_canonical_to_opaque_params(
    rnn_mode: str, num_layers: int, num_units: int, input_size: int, weights: list[Tensor], biases: list[Tensor],
    input_mode: str = CUDNN_INPUT_LINEAR_MODE, direction: str = CUDNN_RNN_UNIDIRECTION, dropout: float = 0,
    seed: int | None = 0, num_proj: int | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The opaque parameters, a vector, of matrices and biases as `cudnn_rnn_opaque_params_to_canonical` gives them."""
    attrs = _attrs(rnn_mode, input_mode, direction, dropout, seed)
    if num_proj:
        return raw.CudnnRNNCanonicalToParamsV2(
            num_layers, num_units, input_size, weights, biases, num_proj=num_proj, name=name, **attrs
        )
    return raw.CudnnRNNCanonicalToParams(num_layers, num_units, input_size, weights, biases, name=name, **attrs)


@export("contrib.cudnn_rnn.CudnnCompatibleLSTMCell")
class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """The LSTM cell with cuDNN's formula, without a forget bias.

    Args:
      num_units: size of memory and output.
      reuse: whether the variables must exist.
    """

    def __init__(self, num_units, reuse=None) -> None:
        super().__init__(
            num_units, forget_bias=0, cell_clip=None, use_peephole=False, reuse=reuse, name="cudnn_compatible_lstm_cell"
        )


@export("contrib.cudnn_rnn.CudnnCompatibleGRUCell")
class CudnnCompatibleGRUCell(GRUCell):
    """The GRU cell with cuDNN's formula: the reset gate multiplies what the state gives to the candidate.

    Args:
      num_units: size of state and output.
      reuse: whether the variables must exist.
      kernel_initializer: of the matrices.
    """

    def __init__(self, num_units, reuse=None, kernel_initializer=None) -> None:
        super().__init__(num_units, activation=None, reuse=reuse, kernel_initializer=kernel_initializer)

    def build(self, inputs_shape: Any) -> None:
        depth, units = known_depth(inputs_shape), self._num_units

        def kernel(part: str, rows: int, columns: int) -> Any:
            return self.add_weight(f"{part}/{KERNEL}", shape=[rows, columns], initializer=self._kernel_initializer)

        def bias(part: str, size: int, default: object) -> Any:
            given = self._bias_initializer
            return self.add_weight(f"{part}/{BIAS}", shape=[size], initializer=default if given is None else given)

        inputs, hidden = "candidate/input_projection", "candidate/hidden_projection"
        self._gate_kernel = kernel("gates", depth + units, 2 * units)
        self._gate_bias = bias("gates", 2 * units, Constant(1.0, dtype=self.dtype))
        self._candidate_input_kernel = kernel(inputs, depth, units)
        self._candidate_hidden_kernel = kernel(hidden, units, units)
        self._candidate_input_bias = bias(inputs, units, Zeros(dtype=self.dtype))
        self._candidate_hidden_bias = bias(hidden, units, Zeros(dtype=self.dtype))
        self.built = True

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        gates = sigmoid(bias_add(matmul(concat([inputs, state], 1), self._gate_kernel), self._gate_bias))
        r, u = split(value=gates, num_or_size_splits=2, axis=1)
        candidate = bias_add(matmul(inputs, self._candidate_input_kernel), self._candidate_input_bias)
        candidate += r * bias_add(matmul(state, self._candidate_hidden_kernel), self._candidate_hidden_bias)
        new_state = (1 - u) * self._activation(candidate) + u * state
        return new_state, new_state
