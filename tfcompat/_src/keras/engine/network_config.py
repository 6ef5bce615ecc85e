"""A graph of layers as a configuration, and back."""

from __future__ import annotations

import collections
import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import nest
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.values import get_value
from tfcompat._src.keras.engine import registry
from tfcompat._src.keras.engine.layer_graph import node_key
from tfcompat._src.keras.engine.op_layer import Layer
from tfcompat._src.platform import logging


class _Place:
    """[layer name, call index, output index, ...]: where a tensor comes from; a leaf of nests."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values


def _is_place(value: object) -> bool:
    kinds = (str, int, int)
    return isinstance(value, (list, tuple)) and len(value) in (3, 4) and all(map(isinstance, value, kinds))


def _wrap(value: Any) -> Any:
    """A nest of lists with its places as leaves."""
    if _is_place(value):
        return _Place(list(value))
    if isinstance(value, dict):
        return {k: _wrap(v) for k, v in value.items()}
    return type(value)(map(_wrap, value)) if isinstance(value, (list, tuple)) else value


def _unwrap(value: object) -> Any:
    """A nest of places as lists that JSON can hold; a single place as the only element of a list."""
    value = [value] if isinstance(value, _Place) else value
    return nest.map_structure(lambda x: x.values if isinstance(x, _Place) else x, value)


def starts_with_own_call(layer: Any) -> bool:
    """Whether the first call of a layer is its own making, as for a model with a graph of layers."""
    return bool(layer._is_graph_network)


def _serialized(arguments: object) -> Any:
    def convert(value: object) -> Any:
        if hasattr(value, "_keras_history"):
            history = value._keras_history
            return _Place([history.layer.name, history.node_index, history.tensor_index])
        if isinstance(value, Tensor):
            value = get_value(value)
        return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value

    converted = nest.map_structure(convert, arguments)
    return nest.map_structure(lambda x: x.values if isinstance(x, _Place) else x, converted)


def _arguments_config(node: Any) -> dict[str, Any]:
    """The other arguments of a call, or {} with a warning where JSON cannot hold them."""
    if not node.arguments:
        return {}
    arguments = _serialized(node.arguments)
    try:
        json.dumps(arguments)
    except TypeError:
        logging.warning(
            f"Layer {node.outbound_layer.name} was passed non-serializable keyword arguments: {node.arguments}. They "
            "will not be included in the serialized model (and thus will be missing at deserialization time)."
        )
        return {}
    return arguments


def network_config(network: Any) -> dict[str, Any]:
    """The name, layers, inputs and outputs of a model with a graph of layers."""
    indices: dict[str, int] = {}
    for layer in network.layers:
        kept = int(starts_with_own_call(layer))
        for i in range(len(layer._inbound_nodes)):
            if node_key(layer.name, i) in network._network_nodes:
                indices[node_key(layer.name, i)] = kept
                kept += 1

    def node_config(node: Any) -> Any:
        arguments = _arguments_config(node)
        places = [
            _Place([layer.name, indices.get(node_key(layer.name, i), 0), tensor_index, arguments])
            for layer, i, tensor_index, _ in node.iterate_inbound()
        ]
        return _unwrap(nest.pack_sequence_as(node.input_tensors, places))

    def places_config(coordinates: Any, structure: object) -> Any:
        places = [_Place([layer.name, indices[node_key(layer.name, i)], t]) for layer, i, t in coordinates]
        return _unwrap(nest.pack_sequence_as(structure, places))

    layers = [
        {
            "name": layer.name,
            "class_name": type(layer).__name__,
            "config": layer.get_config(),
            "inbound_nodes": [
                node_config(node)
                for i, node in enumerate(layer._inbound_nodes)
                if node_key(layer.name, i) in network._network_nodes and node.inbound_layers
            ],
        }
        for layer in network.layers
    ]
    return copy.deepcopy({
        "name": network.name,
        "layers": layers,
        "input_layers": places_config(network._input_coordinates, network._nested_inputs),
        "output_layers": places_config(network._output_coordinates, network._nested_outputs),
    })  # fmt: skip


class _Rebuild:
    """Makes layers of a configuration, and calls them as soon as what they take is there."""

    def __init__(self, custom_objects: object) -> None:
        self.layers: dict[str, Layer] = {}
        self._custom_objects = custom_objects
        self._waiting: dict[str, list[Any]] = collections.defaultdict(list)

    def run(self, layer_configs: list[dict[str, Any]]) -> None:
        deserialize: Callable = registry.get("layers.deserialize")
        for config in layer_configs:
            self.layers[config["name"]] = deserialize(config, custom_objects=self._custom_objects)
            self._waiting[config["name"]] = [_wrap(data) for data in config["inbound_nodes"]]
        while any(self._waiting.values()):
            before = sum(map(len, self._waiting.values()))
            for name, calls in self._waiting.items():
                self._waiting[name] = []
                for data in calls:
                    if not self._call(self.layers[name], data):
                        self._waiting[name].append(data)
            if sum(map(len, self._waiting.values())) == before:
                raise ValueError(f"Improperly formatted model config: no layer gives the inputs of {self._open()}.")

    def _open(self) -> list[str]:
        return [name for name, calls in self._waiting.items() if calls]

    def tensor(self, place: _Place) -> Any:
        """The tensor at a place, or None where it is not made yet."""
        name, index, tensor_index = place.values[:3]
        nodes = self.layers[name]._inbound_nodes
        return nest.flatten(nodes[index].output_tensors)[tensor_index] if index < len(nodes) else None

    def _call(self, layer: Layer, data: object) -> bool:
        places = nest.flatten(data)
        tensors = [self.tensor(place) for place in places]
        if any(t is None for t in tensors):
            return False
        arguments = _wrap(places[-1].values[3]) if len(places[-1].values) == 4 else {}
        if any(isinstance(x, _Place) and self.tensor(x) is None for x in nest.flatten(arguments)):
            return False
        arguments = nest.map_structure(lambda x: self.tensor(x) if isinstance(x, _Place) else x, arguments)
        inputs = nest.pack_sequence_as(data, tensors)
        layer(tensors[0] if len(tensors) == 1 and not isinstance(data, dict) else inputs, **arguments)
        return True

    def tensors(self, config: object) -> Any:
        """The nest of tensors that a nest of places means."""
        return nest.map_structure(self.tensor, _wrap(config))


def network_from_config(cls: type, config: dict[str, Any], custom_objects: object) -> Any:
    """The model of class `cls` that `network_config` described."""
    rebuild = _Rebuild(custom_objects)
    rebuild.run(config["layers"])
    inputs, outputs = rebuild.tensors(config["input_layers"]), rebuild.tensors(config["output_layers"])
    model = cls(inputs=inputs, outputs=outputs, name=config.get("name"))
    others = [layer for layer in rebuild.layers.values() if not any(layer is x for x in model.layers)]
    if others:
        nodes = [n for layer in rebuild.layers.values() for n in layer.inbound_nodes[int(starts_with_own_call(layer)) :]]
        model._insert_layers(others, nodes)
    return model
