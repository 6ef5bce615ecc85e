"""The cells of recurrent layers: what one step computes (Hochreiter & Schmidhuber 1997; Cho et al. 2014)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import activations, constraints, initializers, regularizers
from tfcompat._src.keras.backend.arrays import concatenate, dot
from tfcompat._src.keras.backend.conv import bias_add
from tfcompat._src.keras.backend.function import in_train_phase
from tfcompat._src.keras.backend.nn import dropout as dropped
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.ops.array.fill import ones_like, zeros
from tfcompat._src.ops.array.join import split, unstack
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.variables.initializers import Ones

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


def is_multiple_state(state_size: object) -> bool:
    """Whether a cell has several states."""
    return hasattr(state_size, "__len__") and not isinstance(state_size, TensorShape)


def as_sizes(size: object) -> list[int | None]:
    """An int or a shape as a list of sizes."""
    return [size] if isinstance(size, int) else TensorShape(size).as_list()


def generate_zero_filled_state(batch_size: object, state_size: object, dtype: DTypeLike) -> Any:
    """Zeros [batch_size, *size] for each size of the nest `state_size`; ValueError without batch size or dtype."""
    if batch_size is None or dtype is None:
        raise ValueError(
            f"batch_size and dtype cannot be None while constructing initial state: batch_size={batch_size}, "
            f"dtype={dtype}"
        )
    return nest.map_structure(lambda size: zeros([batch_size, *as_sizes(size)], dtype=dtype), state_size)


def generate_zero_filled_state_for_cell(cell: Any, inputs: Any, batch_size: Any, dtype: Any) -> Any:
    """The zero state of `cell`, for `inputs` where they are given."""
    if inputs is not None:
        batch_size, dtype = shape_of(inputs)[0], inputs.dtype
    return generate_zero_filled_state(batch_size, cell.state_size, dtype)


@export("keras.layers.AbstractRNNCell")
class AbstractRNNCell(Layer):
    """The base of cells: `call(inputs, states)` gives an output and new states.

    A subclass has the properties `state_size` and `output_size`, ints, shapes or nests of them.
    """

    def call(self, inputs: Any, states: Any) -> Any:
        raise NotImplementedError("Abstract method")

    @property
    def state_size(self) -> Any:
        """The size of the state."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError("Abstract method")

    def get_initial_state(self, inputs: object = None, batch_size: Any = None, dtype: object = None) -> Any:
        """Zeros for a batch."""
        return generate_zero_filled_state_for_cell(self, inputs, batch_size, dtype)


class DropoutRNNCellMixin:
    """Masks for dropout that are the same for all steps; `dropout` and `recurrent_dropout` are the rates."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.reset_dropout_mask()
        self.reset_recurrent_dropout_mask()
        super().__init__(*args, **kwargs)

    def reset_dropout_mask(self) -> None:
        """Has the next step make a new mask for inputs."""
        self._dropout_mask = self._eager_dropout_mask = None

    def reset_recurrent_dropout_mask(self) -> None:
        """Has the next step make a new mask for states."""
        self._recurrent_dropout_mask = self._eager_recurrent_dropout_mask = None

    def get_dropout_mask_for_cell(self, inputs: object, training: object, count: int = 1) -> Any:
        """The mask for inputs, or a list of `count`; None without dropout."""
        return self._kept_mask("dropout_mask", self.dropout, inputs, training, count)

    def get_recurrent_dropout_mask_for_cell(self, inputs: object, training: object, count: int = 1) -> Any:
        """The mask for states, or a list of `count`; None without dropout."""
        return self._kept_mask("recurrent_dropout_mask", self.recurrent_dropout, inputs, training, count)

    def _kept_mask(self, kind: str, rate: float, inputs: TensorLike, training: TensorLike, count: int) -> Any:
        """A mask that the first step makes: one for graphs, and one where operations run at once."""
        if not rate:
            return None
        name = f"_eager_{kind}" if executing_eagerly() else f"_{kind}"
        if getattr(self, name) is None:
            setattr(self, name, _dropout_mask(ones_like(inputs), rate, training, count))
        return getattr(self, name)


def _dropout_mask(ones: Tensor, rate: float, training: TensorLike, count: int) -> Any:
    masks = [in_train_phase(lambda: dropped(ones, rate), ones, training=training) for _ in range(count)]
    return masks if count > 1 else masks[0]


class RecurrentCell(DropoutRNNCellMixin, Layer):
    """A cell with a kernel for inputs, one for the state, and a bias.

    Args:
      units: size of the output.
      activation: function of the new state, its name, or None.
      use_bias: whether to add a bias.
      kernel_initializer, recurrent_initializer, bias_initializer, kernel_regularizer, recurrent_regularizer,
        bias_regularizer, kernel_constraint, recurrent_constraint, bias_constraint: of the weights.
      dropout, recurrent_dropout: part of the inputs and of the state that is dropped while training.
    """

    gates = 1
    _weight_settings = (
        "kernel_initializer", "recurrent_initializer", "bias_initializer", "kernel_regularizer",
        "recurrent_regularizer", "bias_regularizer", "kernel_constraint", "recurrent_constraint", "bias_constraint",
    )  # fmt: skip
    _config = ("units", "activation", "use_bias", *_weight_settings, "dropout", "recurrent_dropout")

    def __init__(
        self, units, activation="tanh", use_bias=True, kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal", bias_initializer="zeros", kernel_regularizer=None,
        recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None, recurrent_constraint=None,
        bias_constraint=None, dropout=0.0, recurrent_dropout=0.0, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self.units, self.use_bias = units, use_bias
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.recurrent_initializer = initializers.get(recurrent_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.recurrent_regularizer = regularizers.get(recurrent_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.recurrent_constraint = constraints.get(recurrent_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.dropout = min(1.0, max(0.0, dropout))
        self.recurrent_dropout = min(1.0, max(0.0, recurrent_dropout))

    state_size = property(lambda self: self.units)
    output_size = property(lambda self: self.units)

    def _add_parameter(self, name: str, shape: tuple[int, ...], setting: str, initializer: object = None) -> Any:
        """A weight whose initializer, regularizer and constraint are the cell's for `setting`."""
        return self.add_weight(
            shape=shape, name=name, initializer=initializer or getattr(self, f"{setting}_initializer"),
            regularizer=getattr(self, f"{setting}_regularizer"), constraint=getattr(self, f"{setting}_constraint"),
        )  # fmt: skip

    def build(self, input_shape: Any) -> None:
        columns = self.units * self.gates
        self.kernel = self._add_parameter("kernel", (TensorShape(input_shape).as_list()[-1], columns), "kernel")
        self.recurrent_kernel = self._add_parameter("recurrent_kernel", (self.units, columns), "recurrent")
        self.bias = self._add_bias(columns) if self.use_bias else None
        self.built = True

    def _add_bias(self, columns: int) -> Any:
        return self._add_parameter("bias", (columns,), "bias")

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """Zeros for a batch."""
        return generate_zero_filled_state_for_cell(self, inputs, batch_size, dtype)

    def _part(self, weights: Any, gate: int) -> Any:
        """The columns of `weights` for one gate."""
        first = gate * self.units
        last = None if gate == self.gates - 1 else first + self.units
        columns = slice(first or None, last)
        return weights[columns] if len(weights.shape) == 1 else weights[:, columns]


def masked(value: Any, masks: Any, rate: float, count: int) -> list[Any]:
    """`value` for each of `count` gates, with its dropout mask."""
    return [value * masks[i] for i in range(count)] if 0.0 < rate < 1.0 else [value] * count


@export("keras.layers.SimpleRNNCell")
class SimpleRNNCell(RecurrentCell):
    __doc__ = RecurrentCell.__doc__

    def call(self, inputs: Any, states: Any, training: Any = None) -> tuple[Any, list[Any]]:
        before = states[0]
        mask = self.get_dropout_mask_for_cell(inputs, training)
        recurrent_mask = self.get_recurrent_dropout_mask_for_cell(before, training)
        hidden = dot(inputs if mask is None else inputs * mask, self.kernel)
        if self.bias is not None:
            hidden = bias_add(hidden, self.bias)
        if recurrent_mask is not None:
            before = before * recurrent_mask
        output = self.activation(hidden + dot(before, self.recurrent_kernel))
        return output, [output]


@export("keras.layers.GRUCell")
class GRUCell(RecurrentCell):
    """A cell with an update and a reset gate; other arguments as in `SimpleRNNCell`.

    Args:
      recurrent_activation: function of the gates, its name, or None.
      implementation: 1 multiplies the kernels of the gates apart, 2 together.
      reset_after: whether to reset behind the product, as cuDNN does.
    """

    gates = 3
    _config = (
        "units", "activation", "recurrent_activation", "use_bias", *RecurrentCell._weight_settings, "dropout",
        "recurrent_dropout", "implementation", "reset_after",
    )  # fmt: skip

    def __init__(
        self, units, activation="tanh", recurrent_activation="hard_sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
        kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None,
        recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0, implementation=1,
        reset_after=False, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            units, activation, use_bias, kernel_initializer, recurrent_initializer, bias_initializer,
            kernel_regularizer, recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint,
            bias_constraint, dropout, recurrent_dropout, **kwargs,
        )  # fmt: skip
        self.recurrent_activation = activations.get(recurrent_activation)
        self.implementation, self.reset_after = implementation, reset_after

    def _add_bias(self, columns: int) -> Any:
        return self._add_parameter("bias", (2, columns) if self.reset_after else (columns,), "bias")

    def call(self, inputs: Any, states: Any, training: Any = None) -> tuple[Any, list[Any]]:
        before = states[0]
        masks = self.get_dropout_mask_for_cell(inputs, training, count=3)
        recurrent_masks = self.get_recurrent_dropout_mask_for_cell(before, training, count=3)
        biases = [self.bias, None]
        if self.use_bias and self.reset_after:
            biases = unstack(self.bias)
        if self.implementation == 1:
            update, new = self._gate_by_gate(inputs, before, masks, recurrent_masks, *biases)
        else:
            if 0.0 < self.dropout < 1.0:
                inputs = inputs * masks[0]
            projected = dot(inputs, self.kernel)
            if self.use_bias:
                projected = bias_add(projected, biases[0])
            projected = [self._part(projected, gate) for gate in range(3)]
            if 0.0 < self.recurrent_dropout < 1.0:
                before = before * recurrent_masks[0]
            update, new = self._gates_together(projected, before, biases[1])
        state = update * before + (1 - update) * new
        return state, [state]

    def _gate_by_gate(
        self, inputs: Any, before: Any, masks: Any, recurrent_masks: Any, bias: Any, recurrent_bias: Any
    ) -> tuple[Any, Any]:
        """The update gate and the candidate state."""
        inputs_of = masked(inputs, masks, self.dropout, 3)
        x = [dot(inputs_of[gate], self._part(self.kernel, gate)) for gate in range(3)]
        if self.use_bias:
            x = [bias_add(x[gate], self._part(bias, gate)) for gate in range(3)]
        before_of = masked(before, recurrent_masks, self.recurrent_dropout, 3)
        h = [dot(before_of[gate], self._part(self.recurrent_kernel, gate)) for gate in range(2)]
        biased = self.reset_after and self.use_bias
        if biased:
            h = [bias_add(h[gate], self._part(recurrent_bias, gate)) for gate in range(2)]
        update, reset = (self.recurrent_activation(x[gate] + h[gate]) for gate in range(2))
        if not self.reset_after:
            kept = dot(reset * before_of[2], self._part(self.recurrent_kernel, 2))
        else:
            kept = dot(before_of[2], self._part(self.recurrent_kernel, 2))
            if biased:
                kept = bias_add(kept, self._part(recurrent_bias, 2))
            kept = reset * kept
        return update, self.activation(x[2] + kept)

    def _gates_together(self, x: list[Any], before: Any, recurrent_bias: Any) -> tuple[Any, Any]:
        """The update gate and the candidate state."""
        if self.reset_after:
            inner = dot(before, self.recurrent_kernel)
            if self.use_bias:
                inner = bias_add(inner, recurrent_bias)
        else:
            inner = dot(before, self.recurrent_kernel[:, : 2 * self.units])
        h = [inner[:, gate * self.units or None : (gate + 1) * self.units] for gate in range(2)]
        update, reset = (self.recurrent_activation(x[gate] + h[gate]) for gate in range(2))
        if self.reset_after:
            kept = reset * self._part(inner, 2)
        else:
            kept = dot(reset * before, self._part(self.recurrent_kernel, 2))
        return update, self.activation(x[2] + kept)


@export("keras.layers.LSTMCell")
class LSTMCell(RecurrentCell):
    """A cell with an input, a forget and an output gate; other arguments as in `SimpleRNNCell`.

    Args:
      recurrent_activation: function of the gates, its name, or None.
      unit_forget_bias: whether the bias of the forget gate begins at 1.
      implementation: 1 multiplies the kernels of the gates apart, 2 together.
    """

    gates = 4
    _config = (
        "units", "activation", "recurrent_activation", "use_bias", "kernel_initializer", "recurrent_initializer",
        "bias_initializer", "unit_forget_bias", *RecurrentCell._weight_settings[3:], "dropout", "recurrent_dropout",
        "implementation",
    )  # fmt: skip

    def __init__(
        self, units, activation="tanh", recurrent_activation="hard_sigmoid", use_bias=True,
        kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
        unit_forget_bias=True, kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None,
        kernel_constraint=None, recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0,
        implementation=1, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            units, activation, use_bias, kernel_initializer, recurrent_initializer, bias_initializer,
            kernel_regularizer, recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint,
            bias_constraint, dropout, recurrent_dropout, **kwargs,
        )  # fmt: skip
        self.recurrent_activation = activations.get(recurrent_activation)
        self.unit_forget_bias, self.implementation = unit_forget_bias, implementation

    state_size = property(lambda self: [self.units, self.units])

    def _add_bias(self, columns: int) -> Any:
        def with_ones(_: object, *args: Any, **kwargs: Any) -> Tensor:
            return concatenate([
                self.bias_initializer((self.units,), *args, **kwargs),
                Ones()((self.units,), *args, **kwargs),
                self.bias_initializer((self.units * 2,), *args, **kwargs),
            ])  # fmt: skip

        return self._add_parameter("bias", (columns,), "bias", with_ones if self.unit_forget_bias else None)

    def call(self, inputs: Any, states: Any, training: Any = None) -> tuple[Any, list[Any]]:
        before, carry = states[0], states[1]
        masks = self.get_dropout_mask_for_cell(inputs, training, count=4)
        recurrent_masks = self.get_recurrent_dropout_mask_for_cell(before, training, count=4)
        if self.implementation == 1:
            inputs_of = masked(inputs, masks, self.dropout, 4)
            kernels = split(self.kernel, num_or_size_splits=4, axis=1)
            x = [dot(value, kernel) for value, kernel in zip(inputs_of, kernels)]
            if self.use_bias:
                biases = split(self.bias, num_or_size_splits=4, axis=0)
                x = [bias_add(value, bias) for value, bias in zip(x, biases)]
            before_of = masked(before, recurrent_masks, self.recurrent_dropout, 4)
            carry, output = self._compute_carry_and_output(x, before_of, carry)
        else:
            if 0.0 < self.dropout < 1.0:
                inputs = inputs * masks[0]
            z = dot(inputs, self.kernel)
            if 0.0 < self.recurrent_dropout < 1.0:
                before = before * recurrent_masks[0]
            z += dot(before, self.recurrent_kernel)
            if self.use_bias:
                z = bias_add(z, self.bias)
            gates = split(z, num_or_size_splits=4, axis=1)
            carry, output = self._compute_carry_and_output_fused(gates, carry)
        state = output * self.activation(carry)
        return state, [state, carry]

    def _peephole(self, gate: str, value: Any, carry: Any) -> Any:
        """What the carry adds to the sum of a gate."""
        return value

    def _compute_carry_and_output(self, x: list[Any], before: list[Any], carry: Any) -> tuple[Any, Any]:
        def total(gate: int) -> Any:
            return x[gate] + dot(before[gate], self._part(self.recurrent_kernel, gate))

        entering = self.recurrent_activation(self._peephole("input", total(0), carry))
        kept = self.recurrent_activation(self._peephole("forget", total(1), carry))
        carry = kept * carry + entering * self.activation(total(2))
        return carry, self.recurrent_activation(self._peephole("output", total(3), carry))

    def _compute_carry_and_output_fused(self, z: list[Any], carry: Any) -> tuple[Any, Any]:
        entering = self.recurrent_activation(self._peephole("input", z[0], carry))
        kept = self.recurrent_activation(self._peephole("forget", z[1], carry))
        carry = kept * carry + entering * self.activation(z[2])
        return carry, self.recurrent_activation(self._peephole("output", z[3], carry))

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> list[Any]:
        """Zeros for a batch."""
        return list(generate_zero_filled_state_for_cell(self, inputs, batch_size, dtype))


@export("keras.experimental.PeepholeLSTMCell")
class PeepholeLSTMCell(LSTMCell):
    """An LSTM cell whose gates see the carry (Gers & Schmidhuber 2000); arguments as in `LSTMCell`."""

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        for gate in ("input", "forget", "output"):
            name = f"{gate}_gate_peephole_weights"
            setattr(self, name, self.add_weight(
                shape=(self.units,), name=name, initializer=self.kernel_initializer
            ))  # fmt: skip

    def _peephole(self, gate: str, value: object, carry: object) -> Any:
        return value + getattr(self, f"{gate}_gate_peephole_weights") * carry
