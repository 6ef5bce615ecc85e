"""Cells with gates of their own kind: NAS, UGRNN, +RNN, SRU, phased, grouped, minimal, chaos-free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.rnn.linear import Linear, Sized, depth_of, lstm_sizes
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import activations, initializers
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.utils.generic_utils import serialize_keras_object
from tfcompat._src.ops.array.constant import stop_gradient
from tfcompat._src.ops.array.join import concat, split
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.slice import slice_ as slice_of
from tfcompat._src.ops.math.binary import floormod as mod
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.unary import exp, log, sigmoid, tanh
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.ops.random.stateful import random_uniform
from tfcompat._src.rnn.basic_cells import LSTMStateTuple
from tfcompat._src.rnn.cell import BIAS, KERNEL, LayerRNNCell, RNNCell, known_depth
from tfcompat._src.variables.initializers import Constant, RandomUniform, Zeros
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike


@export("contrib.rnn.NASCell")
class NASCell(Sized, LayerRNNCell):
    """The cell that was found by architecture search; Zoph and Le, arXiv 1611.01578.

    Args:
      num_units: size of the memory.
      num_proj: size of the projected output, or None.
      use_bias: whether the recurrent map has a bias.
      reuse: whether the variables must exist.
    """

    _NAS_BASE = 8

    def __init__(self, num_units, num_proj=None, use_bias=False, reuse=None, **kwargs) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias
        self._state_size, self._output_size = lstm_sizes(num_units, num_proj)

    def build(self, inputs_shape: Any) -> None:
        depth = TensorShape(inputs_shape).with_rank(2).as_list()[1]
        if depth is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        columns = self._NAS_BASE * self._num_units
        h_size = self._num_units if self._num_proj is None else self._num_proj
        self.recurrent_kernel = self.add_weight("recurrent_kernel", [h_size, columns])
        self.kernel = self.add_weight("kernel", [depth, columns])
        if self._use_bias:
            self.bias = self.add_weight("bias", shape=[columns], initializer=Zeros)
        if self._num_proj is not None:
            self.projection_weights = self.add_weight("projection_weights", [self._num_units, self._num_proj])
        self.built = True

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        from_h = matmul(h, self.recurrent_kernel)
        from_inputs = matmul(inputs, self.kernel)
        if self._use_bias:
            from_h = bias_add(from_h, self.bias)
        m = split(axis=1, num_or_size_splits=self._NAS_BASE, value=from_h)
        x = split(axis=1, num_or_size_splits=self._NAS_BASE, value=from_inputs)
        first = [sigmoid(x[0] + m[0]), relu(x[1] + m[1]), sigmoid(x[2] + m[2]), relu(x[3] * m[3])]
        first += [tanh(x[4] + m[4]), sigmoid(x[5] + m[5]), tanh(x[6] + m[6]), sigmoid(x[7] + m[7])]
        a, b = tanh(first[0] * first[1]), tanh(first[2] + first[3])
        d, e = tanh(first[4] * first[5]), sigmoid(first[6] + first[7])
        new_c = tanh(a + c) * b
        new_h = tanh(new_c * tanh(d + e))
        if self._num_proj is not None:
            new_h = matmul(new_h, self.projection_weights)
        return new_h, LSTMStateTuple(new_c, new_h)


class _Units:
    """A cell whose state and output have `num_units` elements."""

    state_size = property(lambda self: self._num_units)
    output_size = property(lambda self: self._num_units)


@export("contrib.rnn.UGRNNCell")
class UGRNNCell(_Units, RNNCell):
    """Update gate recurrent network; Collins, Sohl-Dickstein and Sussillo, arXiv 1611.09913.

    Args:
      num_units: size of state and output.
      initializer: of the weights.
      forget_bias: added to the gate's input.
      activation: function of the candidate.
      reuse: whether the variables must exist.
    """

    def __init__(self, num_units, initializer=None, forget_bias=1.0, activation=tanh, reuse=None) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer, self._forget_bias = num_units, initializer, forget_bias
        self._activation, self._linear = activation, None

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        depth_of(inputs)
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            joined = concat([inputs, state], 1)
            self._linear = self._linear or Linear(joined, 2 * self._num_units, True)
            gate, candidate = split(axis=1, num_or_size_splits=2, value=self._linear(joined))
            c = self._activation(candidate)
            g = sigmoid(gate + self._forget_bias)
            new_state = g * state + (1.0 - g) * c
        return new_state, new_state


@export("contrib.rnn.IntersectionRNNCell")
class IntersectionRNNCell(_Units, RNNCell):
    """+RNN, gated in time and in depth; Collins, Sohl-Dickstein and Sussillo, arXiv 1611.09913.

    Args:
      num_units: size of state and output.
      num_in_proj: size to which inputs of another size are projected: `num_units`, or None.
      initializer: of the weights.
      forget_bias: added to the gates' inputs.
      y_activation: function of the candidate output.
      reuse: whether the variables must exist.
    """

    def __init__(
        self, num_units, num_in_proj=None, initializer=None, forget_bias=1.0, y_activation=relu, reuse=None
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._num_input_proj, self._initializer = num_units, num_in_proj, initializer
        self._forget_bias, self._y_activation = forget_bias, y_activation
        self._linear1 = self._linear2 = None

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        n = self._num_units
        depth = depth_of(inputs)
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            if depth != n:
                if not self._num_input_proj:
                    raise ValueError(
                        "Must have input size == output size for Intersection RNN. To fix, num_in_proj should be set "
                        "to num_units at cell init."
                    )
                with variable_scope("in_projection"):
                    self._linear1 = self._linear1 or Linear(inputs, n, True)
                    inputs = self._linear1(inputs)
            joined = concat([inputs, state], 1)
            self._linear2 = self._linear2 or Linear(joined, 4 * n, True)
            matrix = self._linear2(joined)
            gh, h, gy, y = matrix[:, :n], matrix[:, n : 2 * n], matrix[:, 2 * n : 3 * n], matrix[:, 3 * n : 4 * n]
            h, y = tanh(h), self._y_activation(y)
            gh, gy = sigmoid(gh + self._forget_bias), sigmoid(gy + self._forget_bias)
            new_state = gh * state + (1.0 - gh) * h
            output = gy * inputs + (1.0 - gy) * y
        return output, new_state


@export("contrib.rnn.SRUCell")
class SRUCell(_Units, LayerRNNCell):
    """Simple recurrent unit; Lei, Zhang and Artzi, arXiv 1709.02755.

    Args:
      num_units: size of state and output.
      activation: function; tanh by default.
      reuse: whether the variables must exist.
      name: see RNNCell.
    """

    def __init__(self, num_units, activation=None, reuse=None, name=None, **kwargs) -> None:
        super().__init__(_reuse=reuse, name=name, **kwargs)
        self._num_units, self._activation = num_units, activation or tanh
        self.input_spec = InputSpec(ndim=2)

    def build(self, inputs_shape: Any) -> None:
        depth = known_depth(inputs_shape)
        self._kernel = self.add_weight(KERNEL, shape=[depth, 4 * self._num_units])
        self._bias = self.add_weight(BIAS, shape=[2 * self._num_units], initializer=Zeros)
        self.built = True

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        parts = split(value=matmul(inputs, self._kernel), num_or_size_splits=4, axis=1)
        candidate, f_input, r_input, x = parts
        gates = sigmoid(bias_add(concat([f_input, r_input], 1), self._bias))
        f, r = split(value=gates, num_or_size_splits=2, axis=1)
        c = f * state + (1.0 - f) * candidate
        h = r * self._activation(c) + (1.0 - r) * x
        return h, c


def _log_uniform(low: object, high: object) -> Any:
    """An initializer whose logarithm is uniform between those of `low` and `high`."""

    def initialize(shape: object, dtype: DTypeLike = dtypes.float32, partition_info: object = None) -> Tensor:
        return exp(random_uniform(shape, log(low), log(high), dtype))

    return initialize


@export("contrib.rnn.PhasedLSTMCell")
class PhasedLSTMCell(RNNCell):
    """An LSTM that is updated when learned oscillations are open; Neil, Pfeiffer and Liu, arXiv 1610.09513.

    Args:
      num_units: size of memory and output.
      use_peepholes: whether gates see the memory.
      leak: slope while closed.
      ratio_on: part of a period that is open. trainable_ratio_on: whether it is trained.
      period_init_min, period_init_max: limits of the initial periods.
      reuse: whether the variables must exist.
    """

    def __init__(
        self, num_units, use_peepholes=False, leak=0.001, ratio_on=0.1, trainable_ratio_on=True, period_init_min=1.0,
        period_init_max=1000.0, reuse=None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse, autocast=False)
        self._num_units, self._use_peepholes, self._leak = num_units, use_peepholes, leak
        self._ratio_on, self._trainable_ratio_on = ratio_on, trainable_ratio_on
        self._period_init_min, self._period_init_max = period_init_min, period_init_max
        self._linears: dict[str, Linear] = {}

    state_size = property(lambda self: LSTMStateTuple(self._num_units, self._num_units))
    output_size = property(lambda self: self._num_units)

    def _linear(self, name: str, args: list[Tensor], size: int) -> Tensor:
        if name not in self._linears:
            self._linears[name] = Linear(args, size, True)
        return self._linears[name](args)

    @staticmethod
    def _cycle_ratio(time: Tensor, phase: object, period: object) -> Tensor:
        """Where in its period each oscillation is, from 0 to 1; its gradient is that of the time."""
        phase = cast(phase, dtype=time.dtype)
        period = cast(period, dtype=time.dtype)
        shifted = time - phase
        rest = stop_gradient(mod(shifted, period) - shifted) + shifted
        return cast(rest / period, dtype=dtypes.float32)

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        units = self._num_units
        c, h = state
        time, x = inputs
        with variable_scope("mask_gates"):
            gates = sigmoid(self._linear("mask_gates", [x, h, c] if self._use_peepholes else [x, h], 2 * units))
            input_gate, forget_gate = split(axis=1, num_or_size_splits=2, value=gates)
        with variable_scope("new_input"):
            new_input = tanh(self._linear("new_input", [x, h], units))
        new_c = c * forget_gate + input_gate * new_input
        with variable_scope("output_gate"):
            output_gate = sigmoid(self._linear("output_gate", [x, h, new_c] if self._use_peepholes else [x, h], units))
        new_h = tanh(new_c) * output_gate
        period = get_variable(
            "period", [units], initializer=_log_uniform(self._period_init_min, self._period_init_max)
        )
        phase = get_variable("phase", [units], initializer=RandomUniform(0.0, period.initial_value))
        ratio_on = get_variable(
            "ratio_on", [units], initializer=Constant(self._ratio_on), trainable=self._trainable_ratio_on
        )
        cycle_ratio = self._cycle_ratio(time, phase, period)
        rising = 2 * cycle_ratio / ratio_on
        falling = 2 - rising
        closed = self._leak * cycle_ratio
        k = where(cycle_ratio < ratio_on, falling, closed)
        k = where(cycle_ratio < 0.5 * ratio_on, rising, k)
        new_c = k * new_c + (1 - k) * c
        new_h = k * new_h + (1 - k) * h
        return new_h, LSTMStateTuple(new_c, new_h)


@export("contrib.rnn.GLSTMCell")
class GLSTMCell(Sized, RNNCell):
    """An LSTM whose inputs, outputs and weights are split into groups; Kuchaiev and Ginsburg, arXiv 1703.10722.

    Args:
      num_units: size of the memory.
      initializer: of the weights.
      num_proj: size of the projected output, or None.
      number_of_groups: by which all sizes can be divided.
      forget_bias: added to the forget gate's input.
      activation: function of the memory in the output.
      reuse: whether the variables must exist.

    Raises:
      ValueError: a size cannot be divided by the number of groups.
    """

    def __init__(
        self, num_units, initializer=None, num_proj=None, number_of_groups=1, forget_bias=1.0, activation=tanh,
        reuse=None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer, self._num_proj = num_units, initializer, num_proj
        self._forget_bias, self._activation, self._number_of_groups = forget_bias, activation, number_of_groups
        if num_units % number_of_groups != 0:
            raise ValueError("num_units must be divisible by number_of_groups")
        if num_proj and num_proj % number_of_groups != 0:
            raise ValueError("num_proj must be divisible by number_of_groups")
        self._group_shape = [(num_proj or num_units) // number_of_groups, num_units // number_of_groups]
        self._state_size, self._output_size = lstm_sizes(num_units, num_proj)
        self._linear1: list[Any] = [None] * number_of_groups
        self._linear2 = None

    def _group(self, inputs: Tensor, batch_size: object, group: int, size: int) -> Tensor:
        return slice_of(
            inputs, begin=[0, group * size], size=[batch_size, size], name=f"GLSTM_group{group}_input_generation"
        )

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        batch_size = inputs.shape.as_list()[0] or shape_of(inputs)[0]
        depth, groups = inputs.shape.as_list()[1], self._number_of_groups
        if depth is None:
            raise ValueError("input size must be statically known")
        if depth % groups != 0:
            raise ValueError(f"input size ({depth}) must be divisible by number_of_groups ({groups})")
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            parts = []
            for group in range(groups):
                with variable_scope(f"group{group}"):
                    x = self._group(inputs, batch_size, group, depth // groups)
                    joined = concat([x, self._group(h, batch_size, group, self._group_shape[0])], axis=1)
                    linear = self._linear1[group] = self._linear1[group] or Linear(
                        joined, 4 * self._group_shape[1], False
                    )
                    parts.append(split(linear(joined), 4, 1))
            biases = [
                get_variable(
                    name=f"bias_{gate}", shape=[self._num_units], dtype=inputs.dtype,
                    initializer=Constant(0.0, dtype=inputs.dtype),
                )
                for gate in "ijfo"
            ]  # fmt: skip
            i, j, f, o = (bias_add(concat(list(p), axis=1), b) for p, b in zip(zip(*parts), biases))
        new_c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
        new_h = sigmoid(o) * self._activation(new_c)
        if self._num_proj is not None:
            with variable_scope("projection"):
                self._linear2 = self._linear2 or Linear(new_h, self._num_proj, False)
                new_h = self._linear2(new_h)
        return new_h, LSTMStateTuple(new_c, new_h)


class _KerasStyleCell(LayerRNNCell):
    """A cell with the arguments of Keras's.

    Args:
      units: size of state and output.
      activation: function or its name.
      kernel_initializer, bias_initializer: of the weights.
      name, dtype: see RNNCell.
    """

    def __init__(
        self, units, activation="tanh", kernel_initializer="glorot_uniform", bias_initializer="ones", name=None,
        dtype=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self.units, self.activation = units, activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)

    state_size = property(lambda self: self.units)
    output_size = property(lambda self: self.units)

    def get_config(self) -> dict[str, Any]:
        functions = {
            name: serialize_keras_object(getattr(self, name))
            for name in ("activation", "kernel_initializer", "bias_initializer")
        }
        return {**super().get_config(), "units": self.units, **functions}


class MinimalRNNCell(_KerasStyleCell):
    """A cell with one gate; Chen, arXiv 1711.06788."""

    def build(self, inputs_shape: Any) -> None:
        depth = known_depth(inputs_shape)
        self.kernel = self.add_weight(
            name=KERNEL, shape=[depth + 2 * self.units, self.units], initializer=self.kernel_initializer
        )
        self.bias = self.add_weight(name=BIAS, shape=[self.units], initializer=self.bias_initializer)
        self.built = True

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        sizes = [depth_of(inputs), 2 * self.units]
        input_weights, gate_weights = split(value=self.kernel, num_or_size_splits=sizes, axis=0)
        z = self.activation(matmul(inputs, input_weights))
        u = sigmoid(bias_add(matmul(concat([z, state], 1), gate_weights), self.bias))
        new_state = u * state + (1 - u) * z
        return new_state, new_state


class CFNCell(_KerasStyleCell):
    """Chaos-free network; Laurent and von Brecht, arXiv 1612.06212."""

    def build(self, inputs_shape: Any) -> None:
        depth, units = known_depth(inputs_shape), self.units
        self.kernel = self.add_weight(name=KERNEL, shape=[depth, 3 * units], initializer=self.kernel_initializer)
        self.recurrent_kernel = self.add_weight(
            name=f"recurrent_{KERNEL}", shape=[units, 2 * units], initializer=self.kernel_initializer
        )
        self.bias = self.add_weight(name=BIAS, shape=[2 * units], initializer=self.bias_initializer)
        self.built = True

    def call(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        depth_of(inputs)
        v, w = split(value=self.kernel, num_or_size_splits=[2 * self.units, self.units], axis=1)
        gates = matmul(state, self.recurrent_kernel) + matmul(inputs, v)
        theta, eta = split(value=sigmoid(bias_add(gates, self.bias)), num_or_size_splits=2, axis=1)
        projected = matmul(inputs, w)
        new_state = theta * self.activation(state) + (1 - eta) * self.activation(projected)
        return new_state, new_state
