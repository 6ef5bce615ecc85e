"""Layers around another layer: one for each step of a sequence, one for both directions."""

from __future__ import annotations

import copy
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.arrays import concatenate, reverse
from tfcompat._src.keras.backend.math import reduce_any
from tfcompat._src.keras.backend.rnn import rnn
from tfcompat._src.keras.backend.values import int_shape
from tfcompat._src.keras.engine import registry
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.layers.rnn import check_all_or_no_keras_tensors, class_and_config, standardize_args
from tfcompat._src.keras.utils.generic_utils import has_arg, object_list_uid
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of


@export("keras.layers.Wrapper")
class Wrapper(Layer):
    """A layer around `layer`, which a subclass calls."""

    def __init__(self, layer, **kwargs) -> None:
        if not isinstance(layer, Layer):
            raise AssertionError(f"a wrapper wants a layer, got {layer!r}")
        super().__init__(**kwargs)
        self.layer = layer
        self._input_map: dict[str, Any] = {}

    def build(self, input_shape: Any = None) -> None:
        if not self.layer.built:
            self.layer.build(input_shape)
        self.built = True

    @property
    def activity_regularizer(self) -> Any:
        """That of the layer inside."""
        return getattr(self.layer, "activity_regularizer", None)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "layer": class_and_config(self.layer)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Wrapper:
        """A layer from what `get_config` gave."""
        config = dict(config)
        layer = registry.get("layers.deserialize")(config.pop("layer"), custom_objects=custom_objects)
        return cls(layer, **config)


def _is_builtin(layer: Layer) -> bool:
    """Whether a layer is one of Keras' own."""
    return type(layer).__module__.startswith(__name__.rpartition(".")[0])


def _with_known_sizes(ahead: tuple, tensor: object, first: int, sizes: Any = None) -> tuple:
    """`ahead` and the sizes of `tensor` from dimension `first`: ints where they are known, else scalar tensors."""
    sizes = int_shape(tensor)[first:] if sizes is None else sizes
    if all(sizes):
        return ahead + tuple(sizes)
    found = shape_of(tensor)
    return ahead + tuple(size or found[first + i] for i, size in enumerate(sizes))


@export("keras.layers.TimeDistributed")
class TimeDistributed(Wrapper):
    """Applies a layer to each step of [batch, time, ...]; ValueError where `layer` is none."""

    def __init__(self, layer, **kwargs) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Please initialize `TimeDistributed` layer with a `Layer` instance. You passed: {layer}"
            )
        super().__init__(layer, **kwargs)
        self.supports_masking = True
        self._always_use_reshape = _is_builtin(layer) and not getattr(layer, "stateful", False)

    def build(self, input_shape: Any) -> None:
        sizes = TensorShape(input_shape).as_list()
        if len(sizes) < 3:
            raise ValueError(
                "`TimeDistributed` Layer should be passed an `input_shape ` with at least 3 dimensions, received: "
                f"{sizes}"
            )
        self.input_spec = InputSpec(shape=[None, None, *sizes[2:]])
        super().build((sizes[0], *sizes[2:]))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        inner = TensorShape(self.layer.compute_output_shape(TensorShape([sizes[0], *sizes[2:]]))).as_list()
        return TensorShape([inner[0], sizes[1], *inner[1:]])

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        kwargs = {"training": training} if has_arg(self.layer.call, "training") else {}
        sizes = int_shape(inputs)
        if sizes[0] and not self._always_use_reshape:
            return rnn(
                lambda x, _: (self.layer(x, **kwargs), []), inputs, initial_states=[], input_length=sizes[1]
            )[1]
        steps = sizes[1] or shape_of(inputs)[1]
        flat = reshape(inputs, _with_known_sizes((-1,), inputs, 2))
        self._input_map[object_list_uid(inputs)] = flat
        if has_arg(self.layer.call, "mask") and mask is not None:
            kwargs["mask"] = reshape(mask, _with_known_sizes((-1,), mask, 2))
        outputs = self.layer(flat, **kwargs)
        wanted = self.compute_output_shape(sizes).as_list()
        return reshape(outputs, _with_known_sizes((-1, steps), outputs, 1, wanted[2:]))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        sizes = int_shape(inputs)
        if sizes[0]:
            return mask
        inner_mask = None if mask is None else reshape(mask, _with_known_sizes((-1,), mask, 2))
        inner_inputs = self._input_map.get(object_list_uid(inputs), inputs)
        output_mask = self.layer.compute_mask(inner_inputs, inner_mask)
        if output_mask is None:
            if mask is None:
                return None
            for _ in range(2, len(int_shape(mask))):
                mask = reduce_any(mask, axis=-1)
            return mask
        steps = sizes[1] or shape_of(inputs)[1]
        known = int_shape(output_mask)
        if known is None:
            known = self.compute_output_shape(sizes).as_list()[:-1] if mask is None else int_shape(mask)
        return reshape(output_mask, _with_known_sizes((-1, steps), output_mask, 1, known[1:]))


_MERGES = {
    "concat": lambda y, y_back: concatenate([y, y_back]),
    "sum": lambda y, y_back: y + y_back,
    "ave": lambda y, y_back: (y + y_back) / 2,
    "mul": lambda y, y_back: y * y_back,
    None: lambda y, y_back: [y, y_back],
}


@export("keras.layers.Bidirectional")
class Bidirectional(Wrapper):
    """Runs a recurrent layer in both directions.

    Args:
      layer: recurrent layer, of which two are made anew.
      merge_mode: "sum", "mul", "concat" or "ave" of the outputs, or None for a list of both.
      weights: list of arrays, the first values of the weights.
      backward_layer: the layer for the other direction, instead of one made of `layer`.

    Raises:
      ValueError: an argument is none of these, or the layers have the same direction or other differing settings.
    """

    def __init__(self, layer, merge_mode="concat", weights=None, backward_layer=None, **kwargs) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(f"Please initialize `Bidirectional` layer with a `Layer` instance. You passed: {layer}")
        if backward_layer is not None and not isinstance(backward_layer, Layer):
            raise ValueError(f"`backward_layer` need to be a `Layer` instance. You passed: {backward_layer}")
        if merge_mode not in _MERGES:
            raise ValueError(
                'Invalid merge mode. Merge mode should be one of {"sum", "mul", "ave", "concat", None}'
            )
        forward = self._recreate_layer_from_config(layer)
        self._backward_layer_config = None if backward_layer is None else backward_layer.get_config()
        backward = backward_layer or self._recreate_layer_from_config(layer, go_backwards=True)
        for direction, part in (("forward", forward), ("backward", backward)):
            part._name = f"{direction}_{part.name}"
        _check_directions(forward, backward)
        for part in (forward, backward):
            if getattr(part, "zero_output_for_mask", None) is not None:
                part.zero_output_for_mask = part.return_sequences
        self._self_setattr_tracking = False
        super().__init__(layer, **kwargs)
        self._self_setattr_tracking = True
        self.forward_layer, self.backward_layer, self.merge_mode = forward, backward, merge_mode
        if weights:
            half = len(weights) // 2
            forward._initial_weights, backward._initial_weights = weights[:half], weights[half:]
        self.stateful, self.return_sequences, self.return_state = (
            layer.stateful, layer.return_sequences, layer.return_state
        )  # fmt: skip
        self.supports_masking, self._trainable, self._num_constants = True, True, 0
        self.input_spec = layer.input_spec

    def _recreate_layer_from_config(self, layer: Layer, go_backwards: bool = False) -> Layer:
        """A new layer as `layer`, in the other direction where `go_backwards`."""
        config = layer.get_config()
        if go_backwards:
            config["go_backwards"] = not config["go_backwards"]
        if not has_arg(type(layer).from_config, "custom_objects"):
            return type(layer).from_config(config)
        cell = getattr(layer, "cell", None)
        cells = [] if cell is None else [cell, *getattr(cell, "cells", [])]
        return type(layer).from_config(config, custom_objects={type(c).__name__: type(c) for c in cells})

    def compute_output_shape(self, input_shape: Any) -> Any:
        shapes = self.forward_layer.compute_output_shape(input_shape)
        output, states = (shapes[0], shapes[1:]) if self.return_state else (shapes, [])
        sizes = TensorShape(output).as_list()
        if self.merge_mode == "concat":
            sizes[-1] = None if sizes[-1] is None else sizes[-1] * 2
        outputs = [TensorShape(sizes)] * (1 if self.merge_mode else 2)
        if self.return_state:
            return outputs + states + copy.copy(states)
        return outputs[0] if self.merge_mode else outputs

    def __call__(self, inputs: object, initial_state: object = None, constants: object = None, **kwargs: Any) -> Any:
        """As the base class; states (of both layers) and constants that come from layers are inputs too."""
        inputs, initial_state, constants = standardize_args(inputs, initial_state, constants, self._num_constants)
        if isinstance(inputs, list):
            initial_state = inputs[1:] if len(inputs) > 1 else initial_state
            inputs = inputs[0]
        if initial_state is None and constants is None:
            return super().__call__(inputs, **kwargs)
        specs = self._note_states(initial_state) + self._note_constants(constants)
        added = [*(initial_state or []), *(constants or [])]
        if not check_all_or_no_keras_tensors(added, "The initial state of a Bidirectional layer"):
            given = {"initial_state": initial_state, "constants": constants}
            return super().__call__(inputs, **{k: v for k, v in given.items() if v is not None}, **kwargs)
        before = self.input_spec
        self.input_spec = [None for _ in nest.flatten(inputs)] + specs
        output = super().__call__([inputs, *added], initial_state=None, constants=None, **kwargs)
        self.input_spec = before
        return output

    def _note_states(self, initial_state: Any) -> list[InputSpec]:
        if initial_state is None:
            return []
        if len(initial_state) % 2:
            raise ValueError(
                "When passing `initial_state` to a Bidirectional RNN, the state should be a list containing the states "
                f"of the underlying RNNs. Found: {initial_state}"
            )
        specs = [InputSpec(shape=int_shape(state)) for state in initial_state]
        half = len(specs) // 2
        self.forward_layer.state_spec, self.backward_layer.state_spec = specs[:half], specs[half:]
        return specs

    def _note_constants(self, constants: Any) -> list[InputSpec]:
        if constants is None:
            return []
        specs = [InputSpec(shape=int_shape(constant)) for constant in constants]
        self._num_constants = len(constants)
        for part in (self.forward_layer, self.backward_layer):
            part.constants_spec, part._num_constants = specs, len(constants)
        return specs

    def call(
        self, inputs: Any, training: Any = None, mask: Any = None, initial_state: Any = None, constants: Any = None
    ) -> Any:
        given = {"training": training, "mask": mask, "constants": constants}
        kwargs = {name: value for name, value in given.items() if has_arg(self.layer.call, name)}
        forward, backward = {}, {}
        forward_inputs = backward_inputs = inputs
        if has_arg(self.layer.call, "initial_state"):
            half = None if initial_state is None else len(initial_state) // 2
            forward["initial_state"] = None if half is None else initial_state[:half]
            backward["initial_state"] = None if half is None else initial_state[half:]
            if isinstance(inputs, list) and len(inputs) > 1:
                forward_inputs, backward_inputs = self._divided(inputs)
                forward["initial_state"] = backward["initial_state"] = None
                if "constants" in kwargs:
                    kwargs["constants"] = None
        y = self.forward_layer(forward_inputs, **forward, **kwargs)
        y_back = self.backward_layer(backward_inputs, **backward, **kwargs)
        states: list[Tensor] = []
        if self.return_state:
            states = y[1:] + y_back[1:]
            y, y_back = y[0], y_back[0]
        if self.return_sequences:
            y_back = reverse(y_back, 1)
        output = _MERGES[self.merge_mode](y, y_back)
        if not self.return_state:
            return output
        return [*output, *states] if self.merge_mode is None else [output, *states]

    def _divided(self, inputs: list[Any]) -> tuple[list[Any], list[Any]]:
        """The inputs of each direction from a list with the states of both and the constants."""
        end = len(inputs) - self._num_constants
        pivot = end // 2 + 1
        ahead, constants = inputs[:1], inputs[end:]
        return ahead + inputs[1:pivot] + constants, ahead + inputs[pivot:end] + constants

    def reset_states(self) -> None:
        """Sets the kept states of both layers to zeros."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def build(self, input_shape: Any) -> None:
        for part in (self.forward_layer, self.backward_layer):
            with name_scope(part.name):
                part.build(input_shape)
        self.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        mask = mask[0] if isinstance(mask, list) else mask
        masks = [mask if self.return_sequences else None] * (1 if self.merge_mode else 2)
        if self.return_state:
            return masks + [None for _ in self.forward_layer.states] * 2
        return masks[0] if self.merge_mode else masks

    @property
    def constraints(self) -> dict:
        """The constraints of both layers, where they say so."""
        return {
            **getattr(self.forward_layer, "constraints", {}), **getattr(self.backward_layer, "constraints", {})
        }  # fmt: skip

    def get_config(self) -> dict[str, Any]:
        config = {**super().get_config(), "merge_mode": self.merge_mode}
        if self._num_constants:
            config["num_constants"] = self._num_constants
        if self._backward_layer_config is not None:
            name = type(self.backward_layer).__name__
            config["backward_layer"] = {"class_name": name, "config": self._backward_layer_config}
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: object = None) -> Bidirectional:
        """A layer from what `get_config` gave."""
        config = dict(config)
        num_constants = config.pop("num_constants", 0)
        if config.get("backward_layer") is not None:
            deserialize = registry.get("layers.deserialize")
            config["backward_layer"] = deserialize(config["backward_layer"], custom_objects=custom_objects)
        layer = super().from_config(config, custom_objects=custom_objects)
        layer._num_constants = num_constants
        return layer


def _check_directions(forward: Any, backward: Any) -> None:
    if forward.go_backwards == backward.go_backwards:
        raise ValueError("Forward layer and backward layer should have different `go_backwards` value.")
    for name in ("stateful", "return_sequences", "return_state"):
        pair = getattr(forward, name), getattr(backward, name)
        if pair[0] != pair[1]:
            raise ValueError(
                "Forward layer and backward layer are expected to have the same value for attribute "
                f"{name}, got {pair[0]} and {pair[1]}"
            )
