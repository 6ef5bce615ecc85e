"""Between the opaque parameters of cuDNN's networks and the weights of TensorFlow's cells."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.cudnn_rnn import networks
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.join import concat, split
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import reshape


class CudnnParamsFormatConverter:
    """Turns parameters of a network into those of the cells, one cell per layer and direction, and back.

    Args:
      num_layers, num_units, input_size: sizes.
      num_proj: size of the projected state of an LSTM, or None.
      input_mode: "linear_input", "skip_input" or "auto_select". direction: "unidirectional" or "bidirectional".
    """

    _rnn_mode = ""
    _arrays = 1
    """How many kernels, and how many biases, a cell has."""

    def __init__(
        self, num_layers, num_units, input_size, num_proj=None, input_mode=networks.CUDNN_INPUT_LINEAR_MODE,
        direction=networks.CUDNN_RNN_UNIDIRECTION,
    ) -> None:  # fmt: skip
        self._num_layers, self._num_units, self._input_size = num_layers, num_units, input_size
        self._num_proj, self._input_mode, self._direction = num_proj, input_mode, direction
        self._num_dirs = 1 if direction == networks.CUDNN_RNN_UNIDIRECTION else 2

    def _width(self, layer: int) -> int:
        """The depth of a layer's inputs."""
        return self._num_dirs * (self._num_proj or self._num_units) if layer else self._input_size

    def _options(self) -> dict[str, Any]:
        return {"input_mode": self._input_mode, "direction": self._direction, "num_proj": self._num_proj}

    def tf_canonical_to_opaque(self, tf_canonicals: list[Tensor], weights_proj: list[Tensor] | None = None) -> Tensor:
        """The opaque parameters of kernels and biases of cells.

        Args:
          tf_canonicals: the kernels of all cells, then the biases.
          weights_proj: the projections of all cells, or None.
        """
        half = len(tf_canonicals) // 2
        weights, biases = [], []
        for row in range(self._num_layers * self._num_dirs):
            own = slice(row * self._arrays, (row + 1) * self._arrays)
            columns = [self._width(row // self._num_dirs), self._num_proj or self._num_units]
            weights += self._matrices(tf_canonicals[:half][own], columns)
            if weights_proj is not None:
                weights.append(transpose(weights_proj[row]))
            biases += self._vectors(tf_canonicals[half:][own])
        return networks.cudnn_rnn_canonical_to_opaque_params(
            self._rnn_mode, self._num_layers, self._num_units, self._input_size, [reshape(w, [-1]) for w in weights],
            biases, **self._options(),
        )  # fmt: skip

    def opaque_to_tf_canonical(self, opaque_param: Tensor) -> tuple:
        """The kernels and the biases of all cells, and their projections where there are any."""
        weights, biases = networks.cudnn_rnn_opaque_params_to_canonical(
            self._rnn_mode, self._num_layers, self._num_units, self._input_size, opaque_param, **self._options()
        )
        count = networks.PARAMS_PER_LAYER[self._rnn_mode]
        per_row = count + bool(self._num_proj)
        kernels, vectors, projections = [], [], []
        for row in range(self._num_layers * self._num_dirs):
            own = weights[row * per_row : (row + 1) * per_row]
            kernels += self._kernels(own[:count])
            projections += [transpose(w) for w in own[count:]]
            vectors += self._biases(biases[row * count : (row + 1) * count])
        return (kernels, vectors, projections) if self._num_proj else (kernels, vectors)

    def _matrices(self, kernels: list[Tensor], columns: list[int]) -> list[Tensor]:
        """cuDNN's matrices of a cell's kernels: those for the inputs, then those for the state."""
        gates = self._reordered(split(transpose(kernels[0]), networks.PARAMS_PER_LAYER[self._rnn_mode] // 2, axis=0))
        pairs = [split(gate, columns, axis=1) for gate in gates]
        return [p[0] for p in pairs] + [p[1] for p in pairs]

    def _vectors(self, biases: list[Tensor]) -> list[Tensor]:
        gates = self._reordered(split(biases[0], networks.PARAMS_PER_LAYER[self._rnn_mode] // 2, axis=0))
        halves = [gate * 0.5 for gate in gates]
        return halves + halves

    def _kernels(self, matrices: list[Tensor]) -> list[Tensor]:
        half = len(matrices) // 2
        gates = [concat([w, r], axis=1) for w, r in zip(matrices[:half], matrices[half:])]
        return [transpose(concat(self._reordered(gates), axis=0))]

    def _biases(self, vectors: list[Tensor]) -> list[Tensor]:
        half = len(vectors) // 2
        gates = [w + r for w, r in zip(vectors[:half], vectors[half:])]
        return [concat(self._reordered(gates), axis=0)]

    def _reordered(self, gates: Any) -> list[Any]:
        """Gates of a cell in cuDNN's order, or the other way round."""
        return list(gates)


@export("contrib.cudnn_rnn.CudnnParamsFormatConverterLSTM")
class CudnnParamsFormatConverterLSTM(CudnnParamsFormatConverter):
    """For CudnnLSTM and CudnnCompatibleLSTMCell; see the base class."""

    _rnn_mode = networks.CUDNN_LSTM

    def _reordered(self, gates: Any) -> list[Any]:
        i, second, third, o = gates
        return [i, third, second, o]


@export("contrib.cudnn_rnn.CudnnParamsFormatConverterGRU")
class CudnnParamsFormatConverterGRU(CudnnParamsFormatConverter):
    """For CudnnGRU and CudnnCompatibleGRUCell; see the base class."""

    _rnn_mode = networks.CUDNN_GRU
    _arrays = 3

    def _matrices(self, kernels: list[Tensor], columns: list[int]) -> list[Tensor]:
        gates, of_inputs, of_state = (transpose(k) for k in kernels)
        (reset_w, reset_r), (update_w, update_r) = (split(g, columns, axis=1) for g in split(gates, 2, axis=0))
        return [reset_w, update_w, of_inputs, reset_r, update_r, of_state]

    def _vectors(self, biases: list[Tensor]) -> list[Tensor]:
        gates, of_inputs, of_state = biases
        halves = split(gates * 0.5, 2, axis=0)
        return [*halves, of_inputs, *halves, of_state]

    def _kernels(self, matrices: list[Tensor]) -> list[Tensor]:
        reset_w, update_w, of_inputs, reset_r, update_r, of_state = matrices
        gates = concat([concat([reset_w, reset_r], axis=1), concat([update_w, update_r], axis=1)], axis=0)
        return [transpose(gates), transpose(of_inputs), transpose(of_state)]

    def _biases(self, vectors: list[Tensor]) -> list[Tensor]:
        reset_w, update_w, of_inputs, reset_r, update_r, of_state = vectors
        gates = concat([reset_w, update_w], axis=0) + concat([reset_r, update_r], axis=0)
        return [gates, of_inputs, of_state]


@export("contrib.cudnn_rnn.CudnnParamsFormatConverterTanh")
class CudnnParamsFormatConverterTanh(CudnnParamsFormatConverter):
    """For CudnnRNNTanh and BasicRNNCell; see the base class."""

    _rnn_mode = networks.CUDNN_RNN_TANH


@export("contrib.cudnn_rnn.CudnnParamsFormatConverterRelu")
class CudnnParamsFormatConverterRelu(CudnnParamsFormatConverter):
    """For CudnnRNNRelu and BasicRNNCell with relu; see the base class."""

    _rnn_mode = networks.CUDNN_RNN_RELU
