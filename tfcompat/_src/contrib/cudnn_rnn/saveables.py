"""What a Saver writes of cuDNN's networks: the weights of cells that can run anywhere, under those cells' names."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.checkpoint.split_dependency import split_dependency
from tfcompat._src.contrib.cudnn_rnn import converters, networks
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.train.saveable_object import SaveableObject, SaveSpec
from tfcompat._src.train.trackable_data_structures import AutoTrackable
from tfcompat._src.variables.assign import assign
from tfcompat._src.variables.scope import VariableScope


class CudnnOpaqueParamsSaveable(SaveableObject):
    """The opaque parameters of a network, as the kernels and biases of its cells.

    Args:
      opaque_params: the variable.
      num_layers, num_units, input_size: sizes of the network.
      input_mode: "linear_input", "skip_input" or "auto_select". direction: "unidirectional" or "bidirectional".
      scope: variable scope, or its name, that stands before the cells' names.
      name: of the whole.
    """

    _format_converter_cls: Any = None
    _rnn_cell_name = ""
    _kernels: tuple[str, ...] = ("kernel",)
    _biases: tuple[str, ...] = ("bias",)

    def __init__(
        self, opaque_params, num_layers, num_units, input_size, input_mode=networks.CUDNN_INPUT_LINEAR_MODE,
        direction=networks.CUDNN_RNN_UNIDIRECTION, scope=None, name="cudnn_rnn_saveable",
    ) -> None:  # fmt: skip
        self._variables, self._num_layers, self._direction = opaque_params, num_layers, direction
        self.format_converter = self._format_converter_cls(
            num_layers, num_units, input_size, input_mode=input_mode, direction=direction
        )
        scope_name = scope.name if isinstance(scope, VariableScope) else scope
        cells = self._cells()
        self._weight_names = [f"{cell}/{kernel}" for cell in cells for kernel in self._kernels]
        self._bias_names = [f"{cell}/{bias}" for cell in cells for bias in self._biases]
        self._param_names = self._weight_names + self._bias_names
        prefix = f"{scope_name}/" if scope_name else ""
        weights, biases = self.format_converter.opaque_to_tf_canonical(opaque_params)
        specs = [
            SaveSpec(tensor, "", prefix + name) for name, tensor in zip(self._param_names, weights + biases, strict=True)
        ]
        super().__init__(identity(opaque_params), specs, name)

    def _cells(self) -> list[str]:
        """The names of the cells, layer by layer."""
        if self._direction == networks.CUDNN_RNN_UNIDIRECTION:
            return [f"rnn/multi_rnn_cell/cell_{i}/{self._rnn_cell_name}" for i in range(self._num_layers)]
        return [
            f"stack_bidirectional_rnn/cell_{i}/bidirectional_rnn/{way}/{self._rnn_cell_name}"
            for i in range(self._num_layers)
            for way in ("fw", "bw")
        ]

    def restore(self, restored_tensors: list[Any], restored_shapes: list[Any] | None) -> Any:
        """The operation that makes the opaque parameters of kernels and biases."""
        opaque = self.format_converter.tf_canonical_to_opaque(restored_tensors)
        return assign(self._variables, opaque, validate_shape=False)

    def _add_trackable_dependencies(self, trackable: object, dtype: object) -> None:
        """Makes the kernels and biases dependencies of an object, for checkpoints by objects."""
        parts = split_dependency(
            self._param_names, (dtype,) * len(self._param_names), self._fill, self._consume, self._variables.device
        )
        self._track(trackable, parts)

    def _fill(self, buffer: dict[str, Any]) -> None:
        weights, biases = self.format_converter.opaque_to_tf_canonical(self._variables)
        buffer.update(zip(self._param_names, map(identity, weights + biases), strict=True))

    def _consume(self, buffer: dict[str, Any]) -> Any:
        return self.restore([identity(buffer[name]) for name in self._param_names], None)

    def _track(self, trackable: Any, parts: dict[str, Any]) -> None:
        """Cells with one kernel and one bias are dependencies; those of other cells are not."""


class _OfSimpleCells(CudnnOpaqueParamsSaveable):
    def _track(self, trackable: Any, parts: dict[str, Any]) -> None:
        pairs = [(parts[k], parts[b]) for k, b in zip(self._weight_names, self._bias_names, strict=True)]
        if len(pairs) == 1:
            for name, part in zip(("kernel", "bias"), pairs[0], strict=True):
                trackable._track_trackable(part, name=name, overwrite=True)
        for i, (kernel, bias) in enumerate(pairs):
            cell = AutoTrackable()
            trackable._track_trackable(cell, name=f"cell-{i}")
            cell.bias, cell.kernel = bias, kernel


@export("contrib.cudnn_rnn.CudnnLSTMSaveable")
class CudnnLSTMSaveable(_OfSimpleCells):
    """For CudnnLSTM; see the base class."""

    _format_converter_cls = converters.CudnnParamsFormatConverterLSTM
    _rnn_cell_name = "cudnn_compatible_lstm_cell"


@export("contrib.cudnn_rnn.CudnnGRUSaveable")
class CudnnGRUSaveable(CudnnOpaqueParamsSaveable):
    """For CudnnGRU; see the base class."""

    _format_converter_cls = converters.CudnnParamsFormatConverterGRU
    _rnn_cell_name = "cudnn_compatible_gru_cell"
    _kernels = ("gates/kernel", "candidate/input_projection/kernel", "candidate/hidden_projection/kernel")
    _biases = ("gates/bias", "candidate/input_projection/bias", "candidate/hidden_projection/bias")


@export("contrib.cudnn_rnn.CudnnRNNTanhSaveable")
class CudnnRNNTanhSaveable(_OfSimpleCells):
    """For CudnnRNNTanh; see the base class."""

    _format_converter_cls = converters.CudnnParamsFormatConverterTanh
    _rnn_cell_name = "basic_rnn_cell"


@export("contrib.cudnn_rnn.CudnnRNNReluSaveable")
class CudnnRNNReluSaveable(_OfSimpleCells):
    """For CudnnRNNRelu; see the base class."""

    _format_converter_cls = converters.CudnnParamsFormatConverterRelu
    _rnn_cell_name = "basic_rnn_cell"
