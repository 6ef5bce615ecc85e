"""Recurrent layers whose loop is one operation, that of cuDNN."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import constraints, initializers, regularizers
from tfcompat._src.keras.backend.arrays import reverse
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.layers.rnn import RNN
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.variables.initializers import Ones

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def canonical_to_params(weights: list[Any], biases: list[Any], shape: TensorLike, transpose_weights: bool = False) -> Tensor:
    """Kernels and biases behind each other in one vector, as cuDNN wants them."""
    kernels = [reshape(transpose(w) if transpose_weights else w, shape) for w in weights]
    return concat(kernels + [reshape(bias, shape) for bias in biases], axis=0)


class _CuDNNRNN(RNN):
    """A recurrent layer with one cuDNN operation.

    Args:
      units: size of the output.
      kernel_initializer, recurrent_initializer, bias_initializer, kernel_regularizer, recurrent_regularizer,
        bias_regularizer, kernel_constraint, recurrent_constraint, bias_constraint: of the weights.
      activity_regularizer: function of the output that gives a loss.
      return_sequences, return_state, go_backwards, stateful, time_major: as in `RNN`.

    Raises:
      ValueError: a mask is given.
    """

    gates, mode, state_count = 0, "", 1
    _weight_settings = (
        "kernel_initializer", "recurrent_initializer", "bias_initializer", "kernel_regularizer",
        "recurrent_regularizer", "bias_regularizer", "activity_regularizer", "kernel_constraint",
        "recurrent_constraint", "bias_constraint",
    )  # fmt: skip
    _own: tuple[str, ...] = ()

    def __init__(
        self, units, kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
        kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None, activity_regularizer=None,
        kernel_constraint=None, recurrent_constraint=None, bias_constraint=None, return_sequences=False,
        return_state=False, go_backwards=False, stateful=False, time_major=False, **kwargs,
    ) -> None:  # fmt: skip
        Layer.__init__(self, **kwargs)
        self.units = units
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.stateful, self.time_major = go_backwards, stateful, time_major
        self.supports_masking, self.zero_output_for_mask = False, False
        self.input_spec = [InputSpec(ndim=3)]
        self.state_spec = [InputSpec(shape=(None, units)) for _ in range(self.state_count)]
        self.constants_spec = self._states = None
        self._num_constants = 0
        self._vector_shape = constant([-1])
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.recurrent_initializer = initializers.get(recurrent_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.recurrent_regularizer = regularizers.get(recurrent_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.recurrent_constraint = constraints.get(recurrent_constraint)
        self.bias_constraint = constraints.get(bias_constraint)

    @property
    def cell(self) -> Any:
        """What stands for a cell: the sizes of the states."""
        sizes = (self.units,) * self.state_count
        return types.SimpleNamespace(state_size=sizes if self.state_count > 1 else self.units)

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        size = TensorShape(input_shape[0] if isinstance(input_shape, list) else input_shape).as_list()[-1]
        columns = self.units * self.gates
        self.kernel = self._add_parameter("kernel", (size, columns), "kernel", self.kernel_initializer)
        self.recurrent_kernel = self._add_parameter(
            "recurrent_kernel", (self.units, columns), "recurrent", self.recurrent_initializer
        )
        self.bias = self._add_parameter("bias", (columns * 2,), "bias", self._initializer_of_bias())
        self.built = True

    def _initializer_of_bias(self) -> Any:
        return self.bias_initializer

    def _add_parameter(self, name: str, shape: tuple[int, ...], setting: str, initializer: object) -> Any:
        return self.add_weight(
            shape=shape, name=name, initializer=initializer, regularizer=getattr(self, f"{setting}_regularizer"),
            constraint=getattr(self, f"{setting}_constraint"),
        )  # fmt: skip

    def call(self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None) -> Any:
        mask = mask[0] if isinstance(mask, list) else mask
        if mask is not None:
            raise ValueError("Masking is not supported for CuDNN RNNs.")
        inputs, initial_state, _ = self._process_inputs(inputs, initial_state, None)
        if self.go_backwards:
            inputs = reverse(inputs, 1)
        return self._finished(*self._process_batch(inputs, initial_state))

    def _process_batch(self, inputs: Any, initial_state: list[Any]) -> tuple[Any, list[Any]]:
        """The output and the last states."""
        if not self.time_major:
            inputs = transpose(inputs, perm=(1, 0, 2))
        states = [expand_dims(state, axis=0) for state in initial_state]
        order = self._gate_order
        weights = [self._part(w, gate, self.gates) for w in (self.kernel, self.recurrent_kernel) for gate in order]
        biases = [self._part(self.bias, half + gate, 2 * self.gates) for half in (0, self.gates) for gate in order]
        params = canonical_to_params(weights, biases, self._vector_shape)
        carry = states[1] if self.state_count > 1 else constant(0.0, dtype=inputs.dtype)
        outputs, h, c, _, _ = raw.CudnnRNNV2(inputs, states[0], carry, params, is_training=True, rnn_mode=self.mode)
        final = [h, c][: self.state_count]
        if self.stateful or self.return_state:
            final = [state[0] for state in final]
        if not self.return_sequences:
            return outputs[-1], final
        return outputs if self.time_major else transpose(outputs, perm=(1, 0, 2)), final

    @property
    def _gate_order(self) -> tuple[int, ...]:
        """The gates in cuDNN's order."""
        return tuple(range(self.gates))

    def _part(self, weights: Any, part: int, count: int) -> Any:
        last = None if part == count - 1 else (part + 1) * self.units
        columns = slice(part * self.units or None, last)
        return weights[columns] if len(weights.shape) == 1 else weights[:, columns]

    def get_config(self) -> dict[str, Any]:
        names = ("return_sequences", "return_state", "go_backwards", "stateful", "time_major")
        config = {**Layer.get_config(self), **{name: getattr(self, name) for name in names}, "units": self.units}
        for name in self._weight_settings:
            module = {"initializer": initializers, "regularizer": regularizers, "constraint": constraints}
            config[name] = module[name.rpartition("_")[2]].serialize(getattr(self, name))
        return {**config, **{name: getattr(self, name) for name in self._own}}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> _CuDNNRNN:
        """A layer from what `get_config` gave."""
        return cls(**config)


@export("keras.layers.CuDNNGRU")
class CuDNNGRU(_CuDNNRNN):
    __doc__ = _CuDNNRNN.__doc__
    gates, mode = 3, "gru"
    _gate_order = (1, 0, 2)

    def __init__(
        self, units, kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
        kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None, activity_regularizer=None,
        kernel_constraint=None, recurrent_constraint=None, bias_constraint=None, return_sequences=False,
        return_state=False, go_backwards=False, stateful=False, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            units, kernel_initializer, recurrent_initializer, bias_initializer, kernel_regularizer,
            recurrent_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, recurrent_constraint,
            bias_constraint, return_sequences, return_state, go_backwards, stateful, **kwargs,
        )  # fmt: skip


@export("keras.layers.CuDNNLSTM")
class CuDNNLSTM(_CuDNNRNN):
    __doc__ = _CuDNNRNN.__doc__
    gates, mode, state_count = 4, "lstm", 2
    _own = ("unit_forget_bias",)

    def __init__(
        self, units, kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
        unit_forget_bias=True, kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None,
        activity_regularizer=None, kernel_constraint=None, recurrent_constraint=None, bias_constraint=None,
        return_sequences=False, return_state=False, go_backwards=False, stateful=False, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            units, kernel_initializer, recurrent_initializer, bias_initializer, kernel_regularizer,
            recurrent_regularizer, bias_regularizer, activity_regularizer, kernel_constraint, recurrent_constraint,
            bias_constraint, return_sequences, return_state, go_backwards, stateful, **kwargs,
        )  # fmt: skip
        self.unit_forget_bias = unit_forget_bias

    def _initializer_of_bias(self) -> Any:
        def with_ones(_: object, *args: Any, **kwargs: Any) -> Tensor:
            return concat([
                self.bias_initializer((self.units * 5,), *args, **kwargs),
                Ones()((self.units,), *args, **kwargs),
                self.bias_initializer((self.units * 2,), *args, **kwargs),
            ], axis=0)  # fmt: skip

        return with_ones if self.unit_forget_bias else self.bias_initializer
