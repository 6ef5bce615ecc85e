"""Copies of models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.trackable import no_automatic_dependency_tracking_scope
from tfcompat._src.keras.backend.session import track_tf_optimizer
from tfcompat._src.keras.backend.values import placeholder
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_layer import Input, InputLayer
from tfcompat._src.keras.engine.network import Network
from tfcompat._src.keras.engine.node import Node
from tfcompat._src.keras.engine.op_layer import AddMetric
from tfcompat._src.keras.engine.sequential import Sequential
from tfcompat._src.keras.engine.training import Model
from tfcompat._src.keras.metrics.identifiers import clone_metrics
from tfcompat._src.keras.optimizers.legacy import TFOptimizer
from tfcompat._src.keras.utils.generic_utils import CustomObjectScope, to_list
from tfcompat._src.platform import logging


def _clone_layer(layer: Layer) -> Layer:
    return type(layer).from_config(layer.get_config())


def share_weights(layer: Layer) -> Layer:
    """The layer itself: a `clone_function` for models that share their layers."""
    return layer


class _Copy:
    """The calls of a graph of layers, made again with other layers on other tensors."""

    def __init__(self, layer_fn: Callable) -> None:
        self._layer_fn = layer_fn
        self.layers: dict[Layer, Layer] = {}
        self.tensors: dict[int, Any] = {}

    def run(self, nodes_by_depth: dict[int, list[Node]]) -> list[Node]:
        """Makes the calls; the new ones."""
        made: dict[int, Node] = {}
        for depth in sorted(nodes_by_depth, reverse=True):
            for node in nodes_by_depth[depth]:
                known = node.outbound_layer in self.layers
                if not known:
                    self.layers[node.outbound_layer] = self._layer_fn(node.outbound_layer)
                layer = self.layers[node.outbound_layer]
                if known and isinstance(layer, InputLayer):
                    continue
                if all(id(t) in self.tensors for t in nest.flatten(node.input_tensors)):
                    inputs = nest.map_structure(lambda t: self.tensors[id(t)], node.input_tensors)
                    outputs = layer(inputs, **(node.arguments or {}))
                    new = layer._inbound_nodes[nest.flatten(outputs)[0]._keras_history.node_index]
                    made[id(new)] = new
                    self.tensors.update(zip(map(id, nest.flatten(node.output_tensors)), nest.flatten(outputs)))
        return list(made.values())


def _insert_ancillary_layers(model: Model, layers: list[Layer], metrics_names: list[str], nodes: list[Node]) -> None:
    """Adds layers that hang on the graph of layers, those of metrics in the order of the metrics."""
    metrics = [layer for layer in layers if isinstance(layer, AddMetric)]
    metrics.sort(key=lambda layer: metrics_names.index(layer.metric_name))
    others = [layer for layer in layers if not isinstance(layer, AddMetric)]
    model._insert_layers(others + metrics, relevant_nodes=nodes)


def _clone_functional_model(model: Model, input_tensors: object = None, layer_fn: Callable = _clone_layer) -> Model:
    if not isinstance(model, Model):
        raise ValueError("Expected `model` argument to be a `Model` instance, got ", model)
    if isinstance(model, Sequential):
        raise ValueError(
            "Expected `model` argument to be a functional `Model` instance, got a `Sequential` instance instead:", model
        )
    if not model._is_graph_network:
        raise ValueError(
            "Expected `model` argument to be a functional `Model` instance, but got a subclass model instead."
        )
    if not callable(layer_fn):
        raise ValueError("Expected `layer_fn` argument to be a callable.")
    copy = _Copy(layer_fn)
    given = [None] * len(model._input_layers) if input_tensors is None else nest.flatten(input_tensors)
    inputs = []
    for layer, tensor in zip(model._input_layers, given):
        if not hasattr(tensor, "_keras_history"):
            settings = layer.get_config() if tensor is None else {"tensor": tensor, "name": f"input_wrapper_for_{layer.name}"}
            tensor = Input(**settings)
            copy.layers[layer] = tensor._keras_history.layer
        inputs.append(tensor)
    copy.tensors.update(zip(map(id, model.inputs), inputs))
    nodes = copy.run(model._nodes_by_depth)
    for x in model.outputs:
        if id(x) not in copy.tensors:
            raise AssertionError(f"Could not compute output {x}")
    outputs = nest.map_structure(lambda t: copy.tensors[id(t)], model._nested_outputs)
    names = model.metrics_names
    cloned = Model(nest.pack_sequence_as(model._nested_inputs, inputs), outputs, name=model.name)
    others = [layer for layer in copy.layers.values() if not any(layer is held for held in cloned.layers)]
    if others:
        _insert_ancillary_layers(cloned, others, names, nodes)
    return cloned


def _clone_sequential_model(model: Sequential, input_tensors: object = None, layer_fn: Callable = _clone_layer) -> Sequential:
    if not isinstance(model, Sequential):
        raise ValueError("Expected `model` argument to be a `Sequential` model instance, but got:", model)
    if not callable(layer_fn):
        raise ValueError("Expected `layer_fn` argument to be a callable.")
    copy = _Copy(layer_fn)
    for layer in model._layers:
        if isinstance(layer, InputLayer) and input_tensors is not None:
            continue
        copy.layers[layer] = _clone_layer(layer) if isinstance(layer, InputLayer) else layer_fn(layer)
    hanging = {d: nodes for d, nodes in model._nodes_by_depth.items() if d < 0} if model._is_graph_network else {}
    others = [copy.layers[node.outbound_layer] for d in sorted(hanging, reverse=True) for node in hanging[d]]
    layers = [layer for layer in copy.layers.values() if not any(layer is other for other in others)]
    cloned = Sequential(layers=_input_for(input_tensors) + layers, name=model.name)
    if others:
        for depth, nodes in cloned._nodes_by_depth.items():
            for new, old in zip(nodes, model._nodes_by_depth[depth]):
                copy.tensors.update(zip(map(id, nest.flatten(old.output_tensors)), nest.flatten(new.output_tensors)))
        _insert_ancillary_layers(cloned, others, model.metrics_names, copy.run(hanging))
    return cloned


def _input_for(input_tensors: object) -> list[InputLayer]:
    """The input layer of the one tensor that a Sequential is to begin with; none without a tensor."""
    if input_tensors is None:
        return []
    tensors = to_list(list(input_tensors) if isinstance(input_tensors, tuple) else input_tensors)
    if len(tensors) != 1:
        raise ValueError(
            "To clone a `Sequential` model, we expect  at most one tensor as part of `input_tensors`."
        )
    if not hasattr(tensors[0], "_keras_history"):
        return [Input(tensor=tensors[0], name=f"input_wrapper_for_{tensors[0].op.name}")._keras_history.layer]
    origin = tensors[0]._keras_history.layer
    if not isinstance(origin, InputLayer):
        raise ValueError(
            "Cannot clone a `Sequential` model on top of a tensor that comes from a Keras layer other than an "
            "`InputLayer`. Use the functional API instead."
        )
    return [origin]


@export("keras.models.clone_model")
def clone_model(model, input_tensors=None, clone_function=None) -> Any:
    """A model of new layers with the same configuration and other weights.

    Args:
      model: a functional model or a Sequential.
      input_tensors: tensors to begin with, in place of new placeholders.
      clone_function: function from a layer to the layer that takes its place.

    Raises:
      ValueError: the model is a subclass.
    """
    clone = _clone_sequential_model if isinstance(model, Sequential) else _clone_functional_model
    return clone(model, input_tensors=input_tensors, layer_fn=_clone_layer if clone_function is None else clone_function)


# ---- subclasses, which are emptied and filled again ----

_STATE = (
    "inputs", "outputs", "total_loss", "optimizer", "train_function", "test_function", "predict_function",
    "_training_endpoints", "_collected_trainable_weights", "_feed_inputs", "_feed_input_names", "_feed_input_shapes",
)  # fmt: skip
_NOT_LAYERS = ("layers", "_layers", "metrics", "_compile_metric_functions", "_output_loss_metrics")


def _layer_attributes(model: Model) -> dict[str, Layer]:
    found: dict[str, Layer] = {}
    for name, value in vars(model).items():
        if isinstance(value, Layer):
            found[name] = value
            if getattr(value, "layers", None):
                raise ValueError(
                    "We do not support the use of nested layers in `model_to_estimator` at this time. "
                    f"Found nested layer: {value}"
                )
        elif isinstance(value, (list, tuple)) and name not in _NOT_LAYERS:
            if value and all(isinstance(v, Layer) for v in value):
                raise ValueError(
                    "We do not support the use of list-of-layers attributes in subclassed models used with "
                    f"`model_to_estimator` at this time. Found list model: {name}"
                )
    return found


def _in_place_subclassed_model_reset(model: Model) -> None:
    """Gives a subclass new layers; what it had is kept for `in_place_subclassed_model_state_restoration`."""
    kept: dict[str, Any] = _layer_attributes(model)
    names = {id(layer): name for name, layer in kept.items()}
    with no_automatic_dependency_tracking_scope(model):
        layers, model._layers = model._layers, []
        for layer in layers:
            if isinstance(layer, Network) and not layer._is_graph_network:
                raise ValueError(
                    "We do not support the use of nested subclassed models in `model_to_estimator` at this time. "
                    f"Found nested model: {layer}"
                )
            fresh = _clone_layer(layer)
            setattr(model, names[id(layer)], fresh)
            model._layers.append(fresh)
        if getattr(model, "_original_attributes_cache", None) is None:
            if model.built:
                kept.update((name, getattr(model, name)) for name in _STATE)
            model._original_attributes_cache = kept
    _reset_build_compile_trackers(model)


def _reset_build_compile_trackers(model: Model) -> None:
    model.built = model._is_compiled = False
    model.inputs = model.outputs = model.optimizer = None


def in_place_subclassed_model_state_restoration(model: Model) -> None:
    """Gives a subclass back what it had before it was reset in place."""
    kept = getattr(model, "_original_attributes_cache", None)
    if kept is None:
        _reset_build_compile_trackers(model)
        return
    with no_automatic_dependency_tracking_scope(model):
        model._layers = []
        for name, value in kept.items():
            setattr(model, name, value)
            if isinstance(value, Layer):
                model._layers.append(value)
        model._original_attributes_cache = None


def clone_and_build_model(
    model: Model, input_tensors: object = None, target_tensors: object = None, custom_objects: Any = None,
    compile_clone: bool = True, in_place_reset: bool = False, optimizer_iterations: object = None,
    optimizer_config: object = None,
) -> Model:  # fmt: skip
    """A copy of a model, compiled as it is.

    Args:
      model: the model.
      input_tensors, target_tensors: tensors in place of new placeholders.
      custom_objects: dict from names to classes and functions.
      compile_clone: whether to compile the copy.
      in_place_reset: whether a subclass without configuration may be emptied and used itself.
      optimizer_iterations: variable that counts the steps of the new optimizer.
      optimizer_config: configuration of the new optimizer, in place of that of the old one.

    Raises:
      ValueError: the model is not compiled, or it cannot be copied.
    """
    if compile_clone and not model.optimizer:
        raise ValueError(
            "Error when cloning model: compile_clone was set to True, but the original model has not been compiled."
        )
    optimizer, settings = model.optimizer, _compile_settings(model) if compile_clone else {}
    if model._is_graph_network or isinstance(model, Sequential):
        with CustomObjectScope(custom_objects or {}):
            clone = clone_model(model, input_tensors=input_tensors)
        shape = getattr(model, "_build_input_shape", None)
        if isinstance(clone, Sequential) and not clone._is_graph_network and shape is not None:
            clone._set_inputs(placeholder(shape, dtype=model.inputs[0].dtype))
    else:
        clone = _clone_subclass(model, in_place_reset)
        if input_tensors is not None:
            single = isinstance(input_tensors, (list, tuple)) and len(input_tensors) == 1
            clone._set_inputs(input_tensors[0] if single else input_tensors)
    if compile_clone:
        optimizer = _clone_optimizer(optimizer, optimizer_iterations, optimizer_config)
        clone.compile(optimizer, target_tensors=target_tensors, **settings)
    return clone


def _compile_settings(model: Model) -> dict[str, Any]:
    return {
        "loss": model.loss,
        "metrics": clone_metrics(model._compile_metrics),
        "loss_weights": model.loss_weights,
        "sample_weight_mode": model.sample_weight_mode,
        "weighted_metrics": clone_metrics(model._compile_weighted_metrics),
    }


def _clone_subclass(model: Model, in_place_reset: bool) -> Model:
    try:
        return type(model).from_config(model.get_config())
    except NotImplementedError:
        logging.warning(
            "This model is a subclassed model. Please implement `get_config` and `from_config` to better support "
            "cloning the model."
        )
    if not in_place_reset:
        raise ValueError(
            "This model is a subclassed model. Such a model cannot be cloned, but there is a workaround where the model "
            "is reset in-place. To use this, please set the argument `in_place_reset` to `True`. This will reset the "
            "attributes in the original model. To restore the attributes, call "
            "`in_place_subclassed_model_state_restoration(model)`."
        )
    _in_place_subclassed_model_reset(model)
    return model


def _clone_optimizer(optimizer: object, iterations: object, config: Any) -> Any:
    if isinstance(optimizer, TFOptimizer):
        clone = TFOptimizer(optimizer.optimizer, iterations)
        track_tf_optimizer(clone)
        return clone
    old = list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
    if isinstance(config, dict):
        new = [type(old[0]).from_config(config)]
    else:
        configs = [o.get_config() for o in old] if config is None else config
        new = [type(o).from_config(c) for o, c in zip(old, configs)]
    if iterations is not None:
        for one in new:
            one.iterations = iterations
    return new[0] if len(new) == 1 else new
