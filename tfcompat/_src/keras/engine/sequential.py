"""tf.keras.Sequential: layers one after the other."""

from __future__ import annotations

import copy
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.trackable import no_automatic_dependency_tracking
from tfcompat._src.keras.engine import base_layer_utils, registry
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_layer import Input, InputLayer
from tfcompat._src.keras.engine.network import assert_no_legacy_layers
from tfcompat._src.keras.engine.training import Model
from tfcompat._src.keras.engine.training_data import get_input_shape_and_dtype
from tfcompat._src.keras.utils.layer_utils import get_source_inputs
from tfcompat._src.platform import logging


@export("keras.models.Sequential", "keras.Sequential")
class Sequential(Model):
    """Layers one after the other.

    Args:
      layers: list of layers; the first may say the shape of its inputs.
      name: of the model.

    Raises:
      TypeError: one is no layer, or has several outputs.
    """

    _finds_layers = False

    @no_automatic_dependency_tracking
    def __init__(self, layers=None, name=None) -> None:
        super().__init__(name=name)
        self.supports_masking = self._compute_output_and_mask_jointly = True
        self._build_input_shape = None
        for layer in layers if isinstance(layers, (list, tuple)) else [layers] if layers else []:
            self.add(layer)

    @property
    def layers(self) -> list[Any]:
        """The layers without the input."""
        layers = super().layers
        return layers[1:] if layers and isinstance(layers[0], InputLayer) else layers

    dynamic = property(lambda self: any(layer.dynamic for layer in self.layers))

    @no_automatic_dependency_tracking
    def add(self, layer) -> None:
        """Adds a layer at the end.

        Raises:
          TypeError: it is no layer, or has several outputs. ValueError: the first layer has several outputs.
        """
        origin = layer._keras_history.layer if hasattr(layer, "_keras_history") else None
        layer = origin if isinstance(origin, InputLayer) else layer
        if not isinstance(layer, Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        assert_no_legacy_layers([layer])
        self.built = False
        begins = not self._layers and self._begin(layer)
        if not begins and self._layers and self.outputs:
            output = layer(self.outputs[0])
            if len(nest.flatten(output)) != 1:
                raise TypeError(
                    "All layers in a Sequential model should have a single output tensor. For multi-output layers, use "
                    "the functional API."
                )
            self.outputs = [output]
        self.built = bool(self.outputs)
        if begins or self._is_graph_network:
            self._init_graph_network(self.inputs, self.outputs, name=self.name)
        else:
            self._layers.append(layer)
        self._track_layers(self._layers)

    def _begin(self, layer: Layer) -> bool:
        """Takes inputs and outputs from the first layer; whether it knows the shape of its inputs."""
        if not isinstance(layer, InputLayer):
            shape, dtype = get_input_shape_and_dtype(layer)
            if not shape:
                return False
            layer(Input(batch_shape=shape, dtype=dtype, name=f"{layer.name}_input"))
        outputs = nest.flatten(layer._inbound_nodes[-1].output_tensors)
        if len(outputs) != 1:
            raise ValueError(
                "All layers in a Sequential model should have a single output tensor. For multi-output layers, use the "
                "functional API."
            )
        self.outputs, self.inputs = outputs, get_source_inputs(outputs[0])
        return True

    @no_automatic_dependency_tracking
    def pop(self) -> None:
        """Removes the last layer; TypeError where there is none."""
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        self._layers.pop()
        if not self.layers:
            self.outputs = self.inputs = None
            self.built = False
        elif self._is_graph_network:
            self.layers[-1]._outbound_nodes = []
            self.outputs = [self.layers[-1].output]
            self._init_graph_network(self.inputs, self.outputs, name=self.name)

    @base_layer_utils.default
    def build(self, input_shape=None) -> None:
        """Makes the weights for inputs of `input_shape`; ValueError without a shape."""
        if self._is_graph_network:
            self._init_graph_network(self.inputs, self.outputs, name=self.name)
        else:
            if input_shape is None:
                raise ValueError("You must provide an `input_shape` argument.")
            self._build_input_shape = tuple(input_shape)
            super().build(self._build_input_shape)
        self.built = True

    def call(self, inputs, training=None, mask=None) -> Any:
        """The output of the last layer."""
        if self._is_graph_network:
            if not self.built:
                self._init_graph_network(self.inputs, self.outputs, name=self.name)
            return super().call(inputs, training=training, mask=mask)
        outputs = inputs
        for layer in self.layers:
            arguments = {"mask": mask, "training": training}
            outputs = layer(outputs, **{name: v for name, v in arguments.items() if name in layer._call_fn_args})
            mask = outputs._keras_mask
        return outputs

    def compute_output_shape(self, input_shape) -> Any:
        """The shape of the output for inputs of `input_shape`."""
        for layer in self.layers:
            input_shape = layer.compute_output_shape(input_shape)
        return input_shape

    def compute_mask(self, inputs, mask) -> Any:
        """The mask of the output."""
        return self.call(inputs, mask=mask)._keras_mask

    def predict_proba(self, x, batch_size=32, verbose=0) -> Any:
        """`predict`, with a warning where the outputs are no probabilities."""
        found = self.predict(x, batch_size, verbose)
        if found.min() < 0.0 or found.max() > 1.0:
            logging.warning(
                "Network returning invalid probability values. The last layer might not normalize predictions into "
                "probabilities (like softmax or sigmoid would)."
            )
        return found

    def predict_classes(self, x, batch_size=32, verbose=0) -> Any:
        """The class with the largest output, or of one output whether it is above one half."""
        found = self.predict(x, batch_size=batch_size, verbose=verbose)
        return found.argmax(axis=-1) if found.shape[-1] > 1 else (found > 0.5).astype("int32")

    def get_config(self) -> dict[str, Any]:
        """The name and the configurations of the layers."""
        layers = [{"class_name": type(layer).__name__, "config": layer.get_config()} for layer in self.layers]
        if self._is_graph_network and layers and isinstance(self._layers[0], InputLayer):
            layers[0]["config"].setdefault("batch_input_shape", self._layers[0]._batch_input_shape)
        config = {"name": self.name, "layers": copy.deepcopy(layers)}
        if self._build_input_shape:
            config["build_input_shape"] = self._build_input_shape
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None) -> Sequential:
        """A model from what `get_config` gave, or from a list of configurations of layers."""
        named = isinstance(config, dict)
        model = cls(name=config["name"] if named else None)
        for layer_config in config["layers"] if named else config:
            model.add(registry.get("layers.deserialize")(layer_config, custom_objects=custom_objects))
        shape = config.get("build_input_shape") if named else None
        if not model.inputs and shape:
            model.build(shape)
        return model

    @property
    def input_spec(self) -> Any:
        """What the first layer wants of its inputs."""
        return self.layers[0].input_spec if self.layers else None

    @property
    def _object_identifier(self) -> str:
        return "_tf_keras_sequential"
