"""The layer that runs a cell over the steps of a sequence, and cells one behind the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.base.trackable import no_automatic_dependency_tracking
from tfcompat._src.keras.backend.rnn import rnn
from tfcompat._src.keras.backend.values import batch_set_value, int_shape, is_keras_tensor
from tfcompat._src.keras.backend.values import zeros as zero_variable
from tfcompat._src.keras.engine import registry
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.layers.rnn_cells import (
    as_sizes,
    generate_zero_filled_state,
    generate_zero_filled_state_for_cell,
    is_multiple_state,
)
from tfcompat._src.keras.utils.generic_utils import has_arg, to_list
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.platform import logging
from tfcompat._src.variables.assign import assign


def class_and_config(layer: Any) -> dict[str, Any]:
    """The name of a layer's class and its configuration."""
    return {"class_name": type(layer).__name__, "config": layer.get_config()}


def standardize_args(inputs: object, initial_state: object, constants: object, num_constants: int) -> tuple[Any, Any, Any]:
    """The inputs of a recurrent layer, its initial states and its constants, as lists or None.

    A list of inputs holds the states, and the constants, behind the first.
    """
    if isinstance(inputs, list):
        if initial_state is not None or constants is not None:
            raise AssertionError("initial_state and constants stand in the list of inputs or are given apart, not both")
        if num_constants:
            inputs, constants = inputs[:-num_constants], inputs[-num_constants:]
        if len(inputs) > 1:
            initial_state = inputs[1:]
        inputs = inputs[0]

    def listed(value: object) -> Any:
        return value if value is None else list(value) if isinstance(value, tuple) else to_list(value)

    return inputs, listed(initial_state), listed(constants)


def check_all_or_no_keras_tensors(tensors: list[Any], message: str) -> bool:
    """Whether `tensors` are outputs of layers; ValueError where some are and some are not."""
    found = {is_keras_tensor(tensor) for tensor in tensors}
    if len(found) > 1:
        raise ValueError(
            f"{message} cannot be specified with a mix of Keras tensors and non-Keras tensors"
            ' (a "Keras tensor" is a tensor that was returned by a Keras layer, or by `Input`)'
        )
    return found.pop()


@export("keras.layers.StackedRNNCells")
class StackedRNNCells(Layer):
    """Cells one behind the other as one cell; ValueError where one lacks `call` or `state_size`."""

    def __init__(self, cells, **kwargs) -> None:
        for cell in cells:
            if not hasattr(cell, "call"):
                raise ValueError("All cells must have a `call` method. received cells:", cells)
            if not hasattr(cell, "state_size"):
                raise ValueError("All cells must have a `state_size` attribute. received cells:", cells)
        reverse = kwargs.pop("reverse_state_order", False)
        super().__init__(**kwargs)
        self.cells, self.reverse_state_order = cells, reverse
        if reverse:
            logging.warning(
                "reverse_state_order=True in StackedRNNCells will soon be deprecated. Please update the code to work "
                "with the natural order of states if you rely on the RNN states, eg RNN(return_state=True)."
            )

    def _in_state_order(self, values: Any) -> list[Any]:
        return list(values)[::-1] if self.reverse_state_order else list(values)

    @property
    def state_size(self) -> tuple:
        """The state sizes of the cells."""
        return tuple(cell.state_size for cell in self._in_state_order(self.cells))

    @property
    def output_size(self) -> Any:
        """The output size of the last cell."""
        return _output_size(self.cells[-1])

    def get_initial_state(self, inputs: object = None, batch_size: Any = None, dtype: object = None) -> tuple:
        """The initial states of the cells."""
        states = []
        for cell in self._in_state_order(self.cells):
            if getattr(cell, "get_initial_state", None):
                states.append(cell.get_initial_state(inputs=inputs, batch_size=batch_size, dtype=dtype))
            else:
                states.append(generate_zero_filled_state_for_cell(cell, inputs, batch_size, dtype))
        return tuple(states)

    def call(self, inputs: Any, states: Any, constants: Any = None, **kwargs: Any) -> tuple[Any, Any]:
        size = tuple(self._in_state_order(self.state_size))
        new_states = []
        for cell, state in zip(self.cells, nest.pack_sequence_as(size, nest.flatten(states))):
            state = state if nest.is_nested(state) else [state]
            if len(state) == 1 and getattr(cell, "_is_tf_rnn_cell", None) is not None:
                state = state[0]
            given = {"constants": constants} if has_arg(cell.call, "constants") else {}
            inputs, state = cell.call(inputs, state, **given, **kwargs)
            new_states.append(state)
        return inputs, nest.pack_sequence_as(size, nest.flatten(new_states))

    def build(self, input_shape: Any) -> None:
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        batch = TensorShape(shape).as_list()[0]
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                cell.build(shape)
            shape = (batch, *as_sizes(_output_size(cell)))
        self.built = True

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "cells": [class_and_config(cell) for cell in self.cells]}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: object = None) -> StackedRNNCells:
        """Cells from what `get_config` gave."""
        deserialize = registry.get("layers.deserialize")
        cells = [deserialize(cell, custom_objects=custom_objects) for cell in config.pop("cells")]
        return cls(cells, **config)


def _output_size(cell: Any) -> Any:
    if getattr(cell, "output_size", None) is not None:
        return cell.output_size
    return cell.state_size[0] if is_multiple_state(cell.state_size) else cell.state_size


@export("keras.layers.RNN")
class RNN(Layer):
    """Runs a cell over the steps of [batch, time, ...].

    Args:
      cell: a cell, or a list of cells that are stacked.
      return_sequences: whether the outputs of all steps are returned, or that of the last.
      return_state: whether the last states are returned behind the output.
      go_backwards: whether to begin at the last step.
      stateful: whether a batch begins with the states that the one before ended with.
      unroll: whether to build the steps one by one instead of a loop.
      time_major: whether inputs and outputs are [time, batch, ...].
      zero_output_for_mask: whether a masked step gives zeros, not the output before.

    Raises:
      ValueError: the cell lacks `call` or `state_size`.
    """

    def __init__(
        self, cell, return_sequences=False, return_state=False, go_backwards=False, stateful=False, unroll=False,
        time_major=False, **kwargs,
    ) -> None:  # fmt: skip
        if isinstance(cell, (list, tuple)):
            cell = StackedRNNCells(cell)
        if not hasattr(cell, "call"):
            raise ValueError("`cell` should have a `call` method. The RNN was passed:", cell)
        if not hasattr(cell, "state_size"):
            raise ValueError(
                "The RNN cell should have an attribute `state_size` (tuple of integers, one integer per RNN state)."
            )
        zero_output_for_mask = kwargs.pop("zero_output_for_mask", False)
        if "input_shape" not in kwargs and ("input_dim" in kwargs or "input_length" in kwargs):
            kwargs["input_shape"] = (kwargs.pop("input_length", None), kwargs.pop("input_dim", None))
        super().__init__(**kwargs)
        self.zero_output_for_mask = zero_output_for_mask
        self.cell = cell
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.stateful, self.unroll, self.time_major = go_backwards, stateful, unroll, time_major
        self.supports_masking = True
        self.input_spec = self.state_spec = self.constants_spec = None
        self._states: Any = None
        self._num_constants = 0

    @property
    def states(self) -> Any:
        """The list of states that the next batch begins with, of None before they are made."""
        if self._states is not None:
            return self._states
        unknown = nest.map_structure(lambda _: None, self.cell.state_size)
        return unknown if nest.is_nested(self.cell.state_size) else [unknown]

    @states.setter
    @no_automatic_dependency_tracking
    def states(self, states: object) -> None:
        self._states = states

    # ---- shapes ----

    def compute_output_shape(self, input_shape: Any) -> Any:
        first = _first_shape(input_shape).as_list()
        batch, time = first[:2][::-1] if self.time_major else first[:2]
        ahead = [time, batch] if self.time_major else [batch, time]

        def output_shape(size: object) -> TensorShape:
            return TensorShape([*(ahead if self.return_sequences else [batch]), *as_sizes(size)])

        sizes = self.cell.state_size if is_multiple_state(self.cell.state_size) else [self.cell.state_size]
        if getattr(self.cell, "output_size", None) is not None:
            outputs = nest.flatten(nest.map_structure(output_shape, self.cell.output_size))
            outputs = outputs[0] if len(outputs) == 1 else outputs
        else:
            outputs = output_shape(sizes[0])
        if not self.return_state:
            return outputs
        return to_list(outputs) + [TensorShape([batch, *as_sizes(size)]) for size in nest.flatten(sizes)]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        mask = nest.flatten(mask)[0] if self.return_sequences else None
        return [mask] + [None for _ in self.states] if self.return_state else mask

    # ---- build ----

    def build(self, input_shape: Any) -> None:
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        nested = not _is_one_shape(input_shape)
        shapes = input_shape if nested else TensorShape(input_shape)
        specs = nest.map_structure(self._input_spec_for, shapes)
        if self.input_spec is not None:
            self.input_spec[0] = specs
        else:
            self.input_spec = to_list(specs)
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build(nest.map_structure(self._step_shape, shapes))
        size = self.cell.state_size
        sizes = list(size) if is_multiple_state(size) else [size]
        if self.state_spec is not None:
            self._validate_state_spec(sizes, self.state_spec)
        else:
            self.state_spec = [InputSpec(shape=(None, *as_sizes(size))) for size in nest.flatten(sizes)]
        if self.stateful:
            self.reset_states()
        self.built = True

    def _input_spec_for(self, shape: object) -> InputSpec:
        sizes = TensorShape(shape).as_list()
        batch, time = (1, 0) if self.time_major else (0, 1)
        sizes[time] = None
        if not self.stateful:
            sizes[batch] = None
        return InputSpec(shape=tuple(sizes))

    def _step_shape(self, shape: object) -> tuple[int | None, ...]:
        sizes = TensorShape(shape).as_list()
        return tuple(sizes[1:] if self.time_major else [sizes[0], *sizes[2:]])

    @staticmethod
    def _validate_state_spec(cell_state_sizes: object, init_state_specs: object) -> None:
        sizes, specs = nest.flatten(cell_state_sizes), nest.flatten(init_state_specs)
        if len(sizes) != len(specs) or not all(
            TensorShape(spec.shape[1:]).is_compatible_with(as_sizes(size)) for size, spec in zip(sizes, specs)
        ):
            raise ValueError(
                "An `initial_state` was passed that is not compatible with `cell.state_size`. Received `state_spec`="
                f"{init_state_specs}; however `cell.state_size` is {cell_state_sizes}"
            )

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """The list of states that `inputs` begin with."""
        inputs = nest.flatten(inputs)[0]
        batch_size = shape_of(inputs)[1 if self.time_major else 0]
        if getattr(self.cell, "get_initial_state", None):
            state = self.cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=inputs.dtype)
        else:
            state = generate_zero_filled_state(batch_size, self.cell.state_size, inputs.dtype)
        return list(state) if nest.is_nested(state) else [state]

    # ---- call ----

    def __call__(self, inputs: object, initial_state: object = None, constants: object = None, **kwargs: Any) -> Any:
        """As the base class; states and constants that come from layers are inputs of the layer too."""
        inputs, initial_state, constants = standardize_args(inputs, initial_state, constants, self._num_constants)
        if initial_state is None and constants is None:
            return super().__call__(inputs, **kwargs)
        specs = []
        if initial_state is not None:
            self.state_spec = nest.map_structure(lambda s: InputSpec(shape=int_shape(s)), initial_state)
            specs += self.state_spec
        if constants is not None:
            self.constants_spec = [InputSpec(shape=int_shape(constant)) for constant in constants]
            self._num_constants = len(constants)
            specs += self.constants_spec
        added = [*(initial_state or []), *(constants or [])]
        if not check_all_or_no_keras_tensors(nest.flatten(added), "The initial state or constants of an RNN layer"):
            given = {"initial_state": initial_state, "constants": constants}
            return super().__call__(inputs, **{k: v for k, v in given.items() if v is not None}, **kwargs)
        self.input_spec = to_list(nest.map_structure(lambda _: None, inputs)) + specs
        output = super().__call__([inputs, *added], **kwargs)
        self.input_spec = self.input_spec[: -len(specs)]
        return output

    def call(
        self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None, constants: Any = None
    ) -> Any:
        inputs, initial_state, constants = self._process_inputs(inputs, initial_state, constants)
        mask = None if mask is None else nest.flatten(mask)[0]
        steps = int_shape(nest.flatten(inputs)[0])[0 if self.time_major else 1]
        if self.unroll and steps is None:
            raise ValueError(
                "Cannot unroll a RNN if the time dimension is undefined. \n- If using a Sequential model, specify the "
                "time dimension by passing an `input_shape` or `batch_input_shape` argument to your first layer. If "
                "your first layer is an Embedding, you can also use the `input_length` argument.\n- If using the "
                "functional API, specify the time dimension by passing a `shape` or `batch_shape` argument to your "
                "Input layer."
            )
        last_output, outputs, states = rnn(
            self._step_function(training, bool(constants)), inputs, initial_state, constants=constants,
            go_backwards=self.go_backwards, mask=mask, unroll=self.unroll, input_length=self._loop_limit(steps),
            time_major=self.time_major, zero_output_for_mask=self.zero_output_for_mask,
        )  # fmt: skip
        return self._finished(outputs if self.return_sequences else last_output, states)

    def _loop_limit(self, steps: int | None) -> int | None:
        """The number of steps that the loop is told of."""
        return None

    def _step_function(self, training: object, with_constants: bool) -> Any:
        kwargs = {"training": training} if has_arg(self.cell.call, "training") else {}
        if with_constants and not has_arg(self.cell.call, "constants"):
            raise ValueError("RNN cell does not support constants")
        single = getattr(self.cell, "_is_tf_rnn_cell", None) is not None

        def step(inputs: object, states: Any) -> tuple[Any, Any]:
            given = dict(kwargs)
            if with_constants:
                states, given["constants"] = states[: -self._num_constants], states[-self._num_constants :]
            states = states[0] if len(states) == 1 and single else states
            output, new_states = self.cell.call(inputs, states, **given)
            return output, new_states if nest.is_nested(new_states) else [new_states]

        return step

    def _finished(self, output: Any, states: Any) -> Any:
        """The output with the states where they are wanted; a stateful layer keeps the states."""
        if self.stateful:
            pairs = zip(nest.flatten(self.states), nest.flatten(states))
            self.add_update([assign(kept, state) for kept, state in pairs])
        return [*to_list(output), *states] if self.return_state else output

    def _process_inputs(self, inputs: object, initial_state: Any, constants: object) -> tuple[Any, Any, Any]:
        if isinstance(inputs, list):
            if self._num_constants:
                initial_state, constants = inputs[1 : -self._num_constants], inputs[-self._num_constants :]
            else:
                initial_state = inputs[1:]
            inputs, initial_state = inputs[0], initial_state or None
        if initial_state is None:
            initial_state = self.states if self.stateful else self.get_initial_state(inputs)
        if len(initial_state) != len(self.states):
            raise ValueError(
                f"Layer has {len(self.states)} states but was passed {len(initial_state)} initial states."
            )
        return inputs, initial_state, constants

    # ---- states that are kept ----

    def reset_states(self, states: Any = None) -> None:
        """Sets the kept states to `states`, arrays, or to zeros.

        Raises:
          AttributeError: the layer is not stateful. ValueError: the batch size is unknown, or the states do not fit.
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        spec = None if self.input_spec is None else nest.flatten(self.input_spec[0])[0].shape
        batch_size = None if spec is None else spec[1 if self.time_major else 0]
        if not batch_size:
            raise ValueError(
                "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input tensors: "
                "\n- If using a Sequential model, specify the batch size by passing a `batch_input_shape` argument to "
                "your first layer.\n- If using the functional API, specify the batch size by passing a `batch_shape` "
                "argument to your Input layer."
            )
        kept = nest.flatten(self.states)
        if kept[0] is None:
            made = nest.map_structure(lambda s: zero_variable([batch_size, *as_sizes(s)]), self.cell.state_size)
            self.states = made if nest.is_nested(made) else [made]
            return
        if states is None:
            sizes = nest.flatten(self.cell.state_size)
            batch_set_value([(k, np.zeros([batch_size, *as_sizes(size)])) for k, size in zip(kept, sizes)])
            return
        given = nest.flatten(states)
        if len(given) != len(kept):
            raise ValueError(
                f"Layer {self.name} expects {len(kept)} states, but it received {len(given)} state values. Input "
                f"received: {states}"
            )
        for i, (value, state) in enumerate(zip(given, kept)):
            if tuple(value.shape) != tuple(state.shape.as_list()):
                raise ValueError(
                    f"State {i} is incompatible with layer {self.name}: expected shape={(batch_size, state)}, found "
                    f"shape={value.shape}"
                )
        batch_set_value(list(zip(kept, given)))

    # ---- configuration ----

    def get_config(self) -> dict[str, Any]:
        names = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major")
        config = {**super().get_config(), **{name: getattr(self, name) for name in names}}
        if self._num_constants:
            config["num_constants"] = self._num_constants
        if self.zero_output_for_mask:
            config["zero_output_for_mask"] = True
        return {**config, "cell": class_and_config(self.cell)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> RNN:
        """A layer from what `get_config` gave."""
        cell = registry.get("layers.deserialize")(config.pop("cell"), custom_objects=custom_objects)
        num_constants = config.pop("num_constants", 0)
        layer = cls(cell, **config)
        layer._num_constants = num_constants
        return layer


def _is_one_shape(shape: object) -> bool:
    """Whether `shape` is a shape and not a nest of them."""
    return isinstance(shape, TensorShape) or all(
        size is None or isinstance(size, (int, np.integer)) for size in nest.flatten(shape)
    ) and isinstance(shape, (list, tuple))


def _first_shape(input_shape: Any) -> TensorShape:
    """The shape of the first tensor of a nest."""
    while not _is_one_shape(input_shape):
        input_shape = next(iter(input_shape.values() if isinstance(input_shape, dict) else input_shape))
    return TensorShape(input_shape)
