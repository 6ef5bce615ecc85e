"""Recurrent layers whose products are convolutions (Shi et al., arXiv 1506.04214)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import activations, constraints, initializers, regularizers
from tfcompat._src.keras.backend.arrays import concatenate
from tfcompat._src.keras.backend.conv import bias_add, conv2d
from tfcompat._src.keras.backend.math import reduce_sum
from tfcompat._src.keras.backend.values import batch_set_value, zeros_like
from tfcompat._src.keras.backend.values import zeros as zero_variable
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.layers.recurrent import of_cell
from tfcompat._src.keras.layers.rnn import RNN
from tfcompat._src.keras.layers.rnn_cells import DropoutRNNCellMixin, is_multiple_state, masked
from tfcompat._src.keras.utils import conv_utils
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import split
from tfcompat._src.variables.initializers import Ones

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class ConvRNN2D(RNN):
    """Runs a convolutional cell over the steps of [batch, time, height, width, channels]; arguments as in `RNN`.

    Raises:
      TypeError: `unroll`, or several cells.
    """

    def __init__(
        self, cell, return_sequences=False, return_state=False, go_backwards=False, stateful=False, unroll=False,
        **kwargs,
    ) -> None:  # fmt: skip
        if unroll:
            raise TypeError("Unrolling isn't possible with convolutional RNNs.")
        if isinstance(cell, (list, tuple)):
            raise TypeError("It is not possible at the moment tostack convolutional cells.")
        super().__init__(cell, return_sequences, return_state, go_backwards, stateful, unroll, **kwargs)
        self.input_spec = [InputSpec(ndim=5)]

    @property
    def _sizes(self) -> list[int]:
        size = self.cell.state_size
        return list(size) if is_multiple_state(size) else [size]

    def _image_shape(self, shape: list[Any], channels: int) -> list[Any]:
        """[batch, rows, columns, channels], in the order of the cell, of what the cell makes of inputs of `shape`."""
        cell = self.cell
        first = 3 if cell.data_format == "channels_first" else 2
        space = [
            conv_utils.conv_output_length(size, window, cell.padding, stride, rate)
            for size, window, stride, rate in zip(
                shape[first : first + 2], cell.kernel_size, cell.strides, cell.dilation_rate
            )
        ]
        return [shape[0], channels, *space] if first == 3 else [shape[0], *space, channels]

    def compute_output_shape(self, input_shape: Any) -> Any:
        shape = TensorShape(input_shape[0] if isinstance(input_shape, list) else input_shape).as_list()
        image = self._image_shape(shape, self.cell.filters)
        output = TensorShape([image[0], shape[1], *image[1:]] if self.return_sequences else image)
        return [output, TensorShape(image), TensorShape(image)] if self.return_state else output

    def build(self, input_shape: Any) -> None:
        constants = input_shape[-self._num_constants :] if self._num_constants else None
        shape = TensorShape(input_shape[0] if isinstance(input_shape, list) else input_shape).as_list()
        self.input_spec[0] = InputSpec(shape=(shape[0] if self.stateful else None, None, *shape[2:5]))
        if isinstance(self.cell, Layer):
            step_shape = (shape[0], *shape[2:])
            self.cell.build(step_shape if constants is None else [step_shape, *constants])
        axis = 1 if self.cell.data_format == "channels_first" else 3
        if self.state_spec is None:
            self.state_spec = [
                InputSpec(shape=tuple(size if i == axis else None for i in range(4))) for size in self._sizes
            ]
        elif [spec.shape[axis] for spec in self.state_spec] != self._sizes:
            raise ValueError(
                "An initial_state was passed that is not compatible with `cell.state_size`. Received `state_spec`="
                f"{[spec.shape for spec in self.state_spec]}; However `cell.state_size` is {self.cell.state_size}"
            )
        if self.stateful:
            self.reset_states()
        self.built = True

    def get_initial_state(self, inputs: TensorLike) -> list[Any]:
        """The zero states, as convolutions of zeros."""
        empty = reduce_sum(zeros_like(inputs), axis=1)
        kernel = zeros((*self.cell.kernel_shape[:-1], self.cell.filters))
        state = self.cell.input_conv(empty, kernel, padding=self.cell.padding)
        return [state for _ in self._sizes]

    def _loop_limit(self, steps: int | None) -> int | None:
        return steps

    def reset_states(self, states: object = None) -> None:
        """Sets the kept states to `states`, arrays, or to zeros.

        Raises:
          AttributeError: the layer is not stateful. ValueError: a size is unknown, or the states do not fit.
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        shapes = [tuple(self._image_shape(list(self.input_spec[0].shape), size)) for size in self._sizes]
        if None in shapes[0]:
            raise ValueError(
                "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input tensors: "
                "\n- If using a Sequential model, specify the batch size by passing a `batch_input_shape` argument to "
                "your first layer.\n- If using the functional API, specify the time dimension by passing a "
                "`batch_shape` argument to your Input layer.\nThe same thing goes for the number of rows and columns."
            )
        if self.states[0] is None:
            self.states = [zero_variable(shape) for shape in shapes]
            return
        given = [np.zeros(shape) for shape in shapes] if states is None else states
        given = given if isinstance(given, (list, tuple)) else [given]
        if len(given) != len(self.states):
            raise ValueError(
                f"Layer {self.name} expects {len(self.states)} states, but it received {len(given)} state values. "
                f"Input received: {states}"
            )
        for index, (value, shape) in enumerate(zip(given, shapes)):
            if value.shape != shape:
                raise ValueError(
                    f"State {index} is incompatible with layer {self.name}: expected shape={shape}, found "
                    f"shape={value.shape}"
                )
        batch_set_value(list(zip(self.states, given)))


class ConvLSTM2DCell(DropoutRNNCellMixin, Layer):
    """An LSTM cell of images.

    Args:
      filters: number of output channels.
      kernel_size, strides, dilation_rate: an int or two ints.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first"; by default Keras' setting.
      others: as in `LSTMCell`.
    """

    _config = (
        "filters", "kernel_size", "strides", "padding", "data_format", "dilation_rate", "activation",
        "recurrent_activation", "use_bias", "kernel_initializer", "recurrent_initializer", "bias_initializer",
        "unit_forget_bias", "kernel_regularizer", "recurrent_regularizer", "bias_regularizer", "kernel_constraint",
        "recurrent_constraint", "bias_constraint", "dropout", "recurrent_dropout",
    )  # fmt: skip

    def __init__(
        self, filters, kernel_size, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1),
        activation="tanh", recurrent_activation="hard_sigmoid", use_bias=True, kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal", bias_initializer="zeros", unit_forget_bias=True, kernel_regularizer=None,
        recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None, recurrent_constraint=None,
        bias_constraint=None, dropout=0.0, recurrent_dropout=0.0, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self.filters, self.use_bias, self.unit_forget_bias = filters, use_bias, unit_forget_bias
        self.kernel_size = conv_utils.normalize_tuple(kernel_size, 2, "kernel_size")
        self.strides = conv_utils.normalize_tuple(strides, 2, "strides")
        self.padding = conv_utils.normalize_padding(padding)
        self.data_format = conv_utils.normalize_data_format(data_format)
        self.dilation_rate = conv_utils.normalize_tuple(dilation_rate, 2, "dilation_rate")
        self.activation = activations.get(activation)
        self.recurrent_activation = activations.get(recurrent_activation)
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

    state_size = property(lambda self: (self.filters, self.filters))

    def build(self, input_shape: Any) -> None:
        channels = TensorShape(input_shape).as_list()[1 if self.data_format == "channels_first" else -1]
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.kernel_shape = (*self.kernel_size, channels, self.filters * 4)
        self.kernel = self._add_parameter("kernel", self.kernel_shape, "kernel", self.kernel_initializer)
        self.recurrent_kernel = self._add_parameter(
            "recurrent_kernel", (*self.kernel_size, self.filters, self.filters * 4), "recurrent",
            self.recurrent_initializer,
        )  # fmt: skip
        self.bias = None
        if self.use_bias:
            initializer = self._bias_with_ones if self.unit_forget_bias else self.bias_initializer
            self.bias = self._add_parameter("bias", (self.filters * 4,), "bias", initializer)
        self.built = True

    def _add_parameter(self, name: str, shape: tuple[int, ...], setting: str, initializer: object) -> Any:
        return self.add_weight(
            shape=shape, initializer=initializer, name=name, regularizer=getattr(self, f"{setting}_regularizer"),
            constraint=getattr(self, f"{setting}_constraint"),
        )  # fmt: skip

    def _bias_with_ones(self, _: object, *args: Any, **kwargs: Any) -> Tensor:
        return concatenate([
            self.bias_initializer((self.filters,), *args, **kwargs),
            Ones()((self.filters,), *args, **kwargs),
            self.bias_initializer((self.filters * 2,), *args, **kwargs),
        ])  # fmt: skip

    def call(self, inputs: Any, states: Any, training: Any = None) -> tuple[Any, list[Any]]:
        before, carry = states[0], states[1]
        masks = self.get_dropout_mask_for_cell(inputs, training, count=4)
        recurrent_masks = self.get_recurrent_dropout_mask_for_cell(before, training, count=4)
        inputs_of = masked(inputs, masks, self.dropout, 4)
        before_of = masked(before, recurrent_masks, self.recurrent_dropout, 4)
        kernels = split(self.kernel, 4, axis=3)
        recurrent_kernels = split(self.recurrent_kernel, 4, axis=3)
        biases = split(self.bias, 4) if self.use_bias else [None] * 4
        x = [self.input_conv(i, k, b, padding=self.padding) for i, k, b in zip(inputs_of, kernels, biases)]
        h = [self.recurrent_conv(state, kernel) for state, kernel in zip(before_of, recurrent_kernels)]
        entering, kept = (self.recurrent_activation(x[gate] + h[gate]) for gate in range(2))
        carry = kept * carry + entering * self.activation(x[2] + h[2])
        state = self.recurrent_activation(x[3] + h[3]) * self.activation(carry)
        return state, [state, carry]

    def input_conv(self, x: TensorLike, w: object, b: TensorLike | None = None, padding: str = "valid") -> Tensor:
        """The convolution of inputs."""
        outputs = conv2d(x, w, self.strides, padding, self.data_format, self.dilation_rate)
        return outputs if b is None else bias_add(outputs, b, data_format=self.data_format)

    def recurrent_conv(self, x: TensorLike, w: object) -> Tensor:
        """The convolution of the state."""
        return conv2d(x, w, strides=(1, 1), padding="same", data_format=self.data_format)


@export("keras.layers.ConvLSTM2D")
class ConvLSTM2D(ConvRNN2D):
    """An LSTM of images; arguments as in `ConvLSTM2DCell` and `RNN`."""

    filters, kernel_size = of_cell("filters"), of_cell("kernel_size")
    strides, padding = of_cell("strides"), of_cell("padding")
    data_format, dilation_rate, activation = of_cell("data_format"), of_cell("dilation_rate"), of_cell("activation")
    recurrent_activation, use_bias = of_cell("recurrent_activation"), of_cell("use_bias")
    unit_forget_bias, kernel_initializer = of_cell("unit_forget_bias"), of_cell("kernel_initializer")
    recurrent_initializer, bias_initializer = of_cell("recurrent_initializer"), of_cell("bias_initializer")
    kernel_regularizer, recurrent_regularizer = of_cell("kernel_regularizer"), of_cell("recurrent_regularizer")
    bias_regularizer, kernel_constraint = of_cell("bias_regularizer"), of_cell("kernel_constraint")
    recurrent_constraint, bias_constraint = of_cell("recurrent_constraint"), of_cell("bias_constraint")
    dropout, recurrent_dropout = of_cell("dropout"), of_cell("recurrent_dropout")

    def __init__(
        self, filters, kernel_size, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1),
        activation="tanh", recurrent_activation="hard_sigmoid", use_bias=True, kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal", bias_initializer="zeros", unit_forget_bias=True, kernel_regularizer=None,
        recurrent_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
        recurrent_constraint=None, bias_constraint=None, return_sequences=False, go_backwards=False, stateful=False,
        dropout=0.0, recurrent_dropout=0.0, **kwargs,
    ) -> None:  # fmt: skip
        cell = ConvLSTM2DCell(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation, recurrent_activation,
            use_bias, kernel_initializer, recurrent_initializer, bias_initializer, unit_forget_bias,
            kernel_regularizer, recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint,
            bias_constraint, dropout, recurrent_dropout, dtype=kwargs.get("dtype"),
        )  # fmt: skip
        super().__init__(
            cell, return_sequences=return_sequences, go_backwards=go_backwards, stateful=stateful, **kwargs
        )
        self.activity_regularizer = regularizers.get(activity_regularizer)

    def call(self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None) -> Any:
        self.cell.reset_dropout_mask()
        self.cell.reset_recurrent_dropout_mask()
        return super().call(inputs, mask=mask, training=training, initial_state=initial_state)

    def get_config(self) -> dict[str, Any]:
        own = self.cell.get_config()
        config = {**super().get_config(), **{name: own[name] for name in self.cell._config}}
        del config["cell"]
        return {**config, "activity_regularizer": regularizers.serialize(self.activity_regularizer)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> ConvLSTM2D:
        """A layer from what `get_config` gave."""
        return cls(**config)
