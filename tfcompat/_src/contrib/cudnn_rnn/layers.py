"""tf.contrib.cudnn_rnn: layers around cuDNN's recurrent networks, on any device."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.cudnn_rnn import networks, saveables
from tfcompat._src.graph.scopes import add_to_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.layers.scoped_layer import Layer
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.platform import logging
from tfcompat._src.variables.initializers import Constant, GlorotUniform
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope


class _CudnnRNN(Layer):
    """A recurrent network whose weights are one variable, `opaque_kernel`.

    Args:
      num_layers, num_units: sizes.
      input_mode: "linear_input", "skip_input" or "auto_select".
      direction: "unidirectional" or "bidirectional".
      dropout: part of the outputs that is dropped between layers, in training. seed: op seed.
      dtype: float16, float32 or float64.
      kernel_initializer, bias_initializer: of matrices and biases; Glorot's uniform and zeros by default.
      name: name of the layer.

    Raises:
      ValueError: a mode, direction or dtype is unknown.
    """

    _rnn_mode = ""
    _saveable_cls: type[saveables.CudnnOpaqueParamsSaveable]

    def __init__(
        self, num_layers, num_units, input_mode="linear_input", direction="unidirectional", dropout=0.0, seed=None,
        dtype=dtypes.float32, kernel_initializer=None, bias_initializer=None, name=None,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, name=name)
        networks.check_direction(direction)
        networks.check_input_mode(input_mode)
        if dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
            raise ValueError(f"Only support float16, float32, float64, provided {dtype}")
        self._plain_dtype = dtype
        self._num_layers, self._num_units = num_layers, num_units
        self._input_mode, self._direction, self._dropout, self._seed = input_mode, direction, dropout, seed
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer
        self._input_size: int | None = None
        self._saveable: Any = None

    num_layers = property(lambda self: self._num_layers)
    num_units = property(lambda self: self._num_units)
    input_mode = property(lambda self: self._input_mode)
    rnn_mode = property(lambda self: self._rnn_mode)
    direction = property(lambda self: self._direction)
    num_dirs = property(lambda self: 1 if self._direction == networks.CUDNN_RNN_UNIDIRECTION else 2)

    @property
    def input_size(self) -> int:
        """The depth of the inputs; ValueError before the layer is built."""
        if not self._input_size:
            raise ValueError("'input_size' is unknown since layer has not been built.")
        return self._input_size

    @property
    def saveable(self) -> Any:
        """What a Saver writes besides the opaque weights: those of cells that run anywhere; None before the layer is built."""
        return self._saveable

    @property
    def canonical_weight_shapes(self) -> list[tuple[int, int]]:
        """The shapes of the matrices, layer by layer; RuntimeError before the layer is built."""
        if not self._input_size:
            raise RuntimeError(f"{type(self).__name__}.canonical_weight_shapes invoked before input shape is known")
        return [shape for layer in range(self._num_layers) for shape in self._canonical_weight_shape(layer)]

    @property
    def canonical_bias_shapes(self) -> list[list[int]]:
        """The shapes of the biases, layer by layer."""
        count = self.num_dirs * networks.PARAMS_PER_LAYER[self._rnn_mode]
        return [[self._num_units]] * (count * self._num_layers)

    def _canonical_weight_shape(self, layer: int) -> list[tuple[int, int]]:
        if layer < 0 or layer >= self._num_layers:
            raise ValueError(f"'layer' is not valid, got {layer}, expecting [0, {self._num_layers - 1}]")
        if not self._input_size:
            raise RuntimeError(f"{type(self).__name__}._canonical_weight_shape invoked before input shape is known")
        units, gates = self._num_units, networks.PARAMS_PER_LAYER[self._rnn_mode] // 2
        width = self.num_dirs * units if layer else self._input_size
        return ([(units, width)] * gates + [(units, units)] * gates) * self.num_dirs

    def _update_trainable_weights(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        variable = getter(*args, **kwargs)
        trained = kwargs.get("trainable", True) is not False
        kept = self._trainable_weights if trained else self._non_trainable_weights
        if not any(variable is v for v in kept):
            kept.append(variable)
        return variable

    def build(self, input_shape: Any) -> None:
        if self.built:
            return
        shape = TensorShape(input_shape)
        if shape.ndims != 3:
            raise ValueError(f"Expecting input_shape with 3 dims, got {shape.ndims}")
        self._input_size = shape.as_list()[-1]
        if self._input_size is None:
            raise ValueError("The last dimension of the inputs to `CudnnRNN` should be defined. Found `None`.")
        self.input_spec = InputSpec(ndim=3, axes={-1: self._input_size})
        self._set_scope(None)
        dtype = self._plain_dtype
        with variable_scope(self._scope, reuse=self.built, custom_getter=self._update_trainable_weights):
            if self._kernel_initializer is None:
                self._kernel_initializer = GlorotUniform(seed=self._seed, dtype=dtype)
            if self._bias_initializer is None:
                self._bias_initializer = Constant(0.0, dtype=dtype)
            weights = [self._kernel_initializer(s, dtype=dtype) for s in self.canonical_weight_shapes]
            biases = [self._bias_initializer(s, dtype=dtype) for s in self.canonical_bias_shapes]
            opaque = self._canonical_to_opaque(weights, biases)
            if get_variable_scope().partitioner is not None:
                logging.warn("Partitioners do not apply to the variables of cuDNN layers.")
            self.kernel = get_variable("opaque_kernel", dtype=dtype, initializer=opaque, validate_shape=False)
        if not self.built and get_variable_scope().reuse is not True:
            self._create_saveable()
        self.built = True

    def _create_saveable(self) -> None:
        self._saveable = self._saveable_cls(
            self.kernel, self.num_layers, self.num_units, self.input_size, self.input_mode, self.direction,
            scope=get_variable_scope(), name=f"{self.kernel.op.name}_saveable",
        )  # fmt: skip
        self._saveable._add_trackable_dependencies(self, self._plain_dtype)
        add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    def _canonical_to_opaque(self, weights: list[Tensor], biases: list[Tensor]) -> Tensor:
        return networks.cudnn_rnn_canonical_to_opaque_params(
            self._rnn_mode, self._num_layers, self._num_units, self._input_size, weights, biases, self._input_mode,
            self._direction, self._dropout, self._seed,
        )  # fmt: skip

    def call(
        self, inputs: Any, initial_state: Any = None, sequence_lengths: Any = None, time_major: bool = True,
        training: bool = True,
    ) -> tuple[Tensor, tuple]:  # fmt: skip
        """Runs the network.

        Args:
          inputs: Tensor [time, batch, input_size], or [batch, time, input_size] without `time_major`.
          initial_state: tuple of states [layers * directions, batch, num_units]; zeros by default.
          sequence_lengths: int32 [batch], or None.
          training: whether dropout applies and gradients can be taken.

        Returns:
          the outputs [time, batch, directions * num_units], and the tuple of last states.

        Raises:
          TypeError: `initial_state` is no tuple.
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise TypeError(f"Invalid initial_state type: {initial_state}, expecting tuple.")
        inputs = convert_to_tensor(inputs, dtype=self.dtype)
        batch_size = shape_of(inputs)[1]
        if initial_state is None:
            initial_state = self._zero_state(batch_size)
        states = [convert_to_tensor(state, dtype=self.dtype) for state in initial_state]
        lstm = self._rnn_mode == networks.CUDNN_LSTM
        if not lstm:
            states.append(constant([], dtype=self.dtype))
        outputs, *last = networks.cudnn_rnn(
            inputs, *states, self.kernel, training, self._rnn_mode, sequence_lengths, time_major, self._input_mode,
            self._direction, self._dropout, self._seed,
        )  # fmt: skip
        return outputs, tuple(last if lstm else last[:1])

    def state_shape(self, batch_size: object) -> tuple:
        """The shapes of the states."""
        count = 2 if self._rnn_mode == networks.CUDNN_LSTM else 1
        return ([self.num_layers * self.num_dirs, batch_size, self.num_units],) * count

    def _zero_state(self, batch_size: object) -> tuple:
        return tuple(zeros(shape, dtype=self.dtype) for shape in self.state_shape(batch_size))


@export("contrib.cudnn_rnn.CudnnLSTM")
class CudnnLSTM(_CudnnRNN):
    __doc__ = _CudnnRNN.__doc__
    _rnn_mode = networks.CUDNN_LSTM
    _saveable_cls = saveables.CudnnLSTMSaveable


@export("contrib.cudnn_rnn.CudnnGRU")
class CudnnGRU(_CudnnRNN):
    __doc__ = _CudnnRNN.__doc__
    _rnn_mode = networks.CUDNN_GRU
    _saveable_cls = saveables.CudnnGRUSaveable


@export("contrib.cudnn_rnn.CudnnRNNTanh")
class CudnnRNNTanh(_CudnnRNN):
    __doc__ = _CudnnRNN.__doc__
    _rnn_mode = networks.CUDNN_RNN_TANH
    _saveable_cls = saveables.CudnnRNNTanhSaveable


@export("contrib.cudnn_rnn.CudnnRNNRelu")
class CudnnRNNRelu(_CudnnRNN):
    __doc__ = _CudnnRNN.__doc__
    _rnn_mode = networks.CUDNN_RNN_RELU
    _saveable_cls = saveables.CudnnRNNReluSaveable
