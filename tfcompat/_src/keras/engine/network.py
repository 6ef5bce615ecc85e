"""A network: layers that are one layer, by their graph or by a `call` that uses them."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from tfcompat._src.base import errors, nest
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.base.trackable import no_automatic_dependency_tracking
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import backend
from tfcompat._src.keras.backend.session import graph_state
from tfcompat._src.keras.engine import base_layer_utils, registry
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.layer_graph import key_of, map_graph_network, map_subgraph_network
from tfcompat._src.keras.engine.network_config import network_config, network_from_config
from tfcompat._src.keras.engine.node import Node
from tfcompat._src.keras.engine.op_layer import AddLoss, AddMetric, create_keras_history
from tfcompat._src.keras.utils.generic_utils import get_json_type, validate_kwargs
from tfcompat._src.keras.utils.layer_utils import print_summary
from tfcompat._src.nodes.function_body import FuncGraph
from tfcompat._src.platform import logging
from tfcompat._src.train.trackable_data_structures import TrackableDataStructure
from tfcompat._src.train.trackable_layers import (
    gather_non_trainable_weights,
    gather_trainable_weights,
    has_weights,
    is_layer,
    layers_below,
)

KERAS_VERSION = "2.2.4-tf"


def assert_no_legacy_layers(layers: Any) -> None:
    """Raises TypeError where a layer is one of tf.layers that keeps its weights in a variable scope."""
    legacy = [layer for layer in layers if getattr(layer, "_is_legacy_layer", False)]
    if legacy:
        names = "\n".join(f"  {layer}" for layer in legacy)
        raise TypeError(
            f"The following are legacy tf.layers.Layers:\n{names}\nTo use keras as a framework (for instance using the "
            "Network, Model, or Sequential classes), please use the tf.keras.layers implementation instead. (Or, if "
            "writing custom layers, subclass from tf.keras.layers rather than tf.layers)"
        )


def _as_shapes(shapes: Any) -> list[TensorShape]:
    """The shapes of a TensorShape, a tuple of sizes, or a nest of them."""
    if isinstance(shapes, TensorShape):
        return [shapes]
    if isinstance(shapes, dict):
        return [s for value in shapes.values() for s in _as_shapes(value)]
    if all(size is None or isinstance(size, int) for size in shapes):
        return [TensorShape(shapes)]
    return [s for value in shapes for s in _as_shapes(value)]


def _sizes(shape: TensorShape) -> tuple | None:
    return None if shape.ndims is None else tuple(shape.as_list())


class Network(Layer):
    """Layers that are one layer.

    Args:
      inputs, outputs: nests of tensors; the network is the graph of layers between them.
      name: of the network.
      trainable: whether the weights are trained.
      dtype, dynamic, autocast: as of every layer, for a subclass with `call`.

    Raises:
      ValueError: the graph of layers is not connected, or names are not unique. TypeError: another keyword is given.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if len(args) == 2 or (len(args) == 1 and "outputs" in kwargs) or {"inputs", "outputs"} <= kwargs.keys():
            self._init_graph_network(*args, **kwargs)
        else:
            self._init_subclassed_network(**kwargs)
        assert_no_legacy_layers(self.layers)

    @no_automatic_dependency_tracking
    def _base_init(self, name: str | None = None, **kwargs: Any) -> None:
        validate_kwargs(kwargs, ("trainable", "dtype", "dynamic", "autocast"))
        self._init_set_name(name)
        self._activity_regularizer, self._initial_weights = None, None
        self._trainable, self._dynamic = kwargs.get("trainable", True), kwargs.get("dynamic", False)
        self._is_compiled, self.supports_masking, self._compute_output_and_mask_jointly = False, False, False
        if "optimizer" not in self.__dict__:
            self.optimizer = None
        self._layers = []
        self._init_state(kwargs.get("dtype"))
        self._graph = get_default_graph()

    @no_automatic_dependency_tracking
    def _init_graph_network(self, inputs: Any, outputs: Any, name: str | None = None, **kwargs: Any) -> None:
        validate_kwargs(
            kwargs, ("trainable",),
            "Functional models may only specify `name` and `trainable` keyword arguments during initialization. Got an "
            "unexpected argument:",
        )  # fmt: skip
        self._nested_inputs, self._nested_outputs = (
            x[0] if isinstance(x, list) and len(nest.flatten(x)) == 1 else x for x in (inputs, outputs)
        )
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        if not base_layer_utils.have_all_keras_metadata(self.outputs):
            create_keras_history(self.outputs)
        self._base_init(name=name, **kwargs)
        self._validate_graph_inputs_and_outputs()
        self.built = self._compute_output_and_mask_jointly = self._is_graph_network = True
        self._init_call_fn_args()
        self._expects_training_arg, self._expects_mask_arg, self._autocast = True, True, False
        self._input_coordinates = [tuple(x._keras_history) for x in self.inputs]
        self._output_coordinates = [tuple(x._keras_history) for x in self.outputs]
        self._input_layers = [layer for layer, _, _ in self._input_coordinates]
        self._output_layers = [layer for layer, _, _ in self._output_coordinates]
        self._network_nodes, self._nodes_by_depth, self._layers, _ = map_graph_network(self.inputs, self.outputs)
        self._track_layers(self._layers)
        Node(self, [], [], [], self._nested_inputs, self._nested_outputs)
        self._set_output_names()
        self.input_names = [layer.name for layer in self._input_layers]
        fed = [layer for layer in self._input_layers if layer.is_placeholder]
        self._feed_input_names = [layer.name for layer in fed]
        self._feed_input_shapes = [layer._batch_input_shape for layer in fed]
        self._feed_inputs = [layer.input for layer in fed]

    def _set_output_names(self) -> None:
        names: list[str] = []
        for layer in self._output_layers:
            proposal, count = layer.name, 0
            while proposal in names:
                count += 1
                proposal = f"{layer.name}_{count}"
            names.append(proposal)
        self.output_names = names

    @no_automatic_dependency_tracking
    def _init_subclassed_network(self, name: str | None = None, **kwargs: Any) -> None:
        self._base_init(name=name, **kwargs)
        self._is_graph_network = False
        self._init_call_fn_args()
        self._autocast = kwargs.get("autocast", base_layer_utils.v2_dtype_behavior_enabled())
        self.outputs, self.inputs, self.built = [], [], False

    def _track_layers(self, layers: list[Any]) -> None:
        """Makes layers dependencies by their place, those with weights under a second name."""
        with_weights = 0
        for i, layer in enumerate(layers):
            if not self._lacks_weights(layer):
                self._track_trackable(layer, name=f"layer_with_weights-{with_weights}", overwrite=True)
                with_weights += 1
            self._track_trackable(layer, name=f"layer-{i}", overwrite=True)

    @staticmethod
    def _lacks_weights(layer: Any) -> bool:
        try:
            return not layer.weights
        except ValueError:  # it is, or holds, a network whose weights are not made yet
            return True

    def __setattr__(self, name: str, value: Any) -> None:
        if getattr(self, "_self_setattr_tracking", True):
            held = nest.flatten(value)
            layers = all(is_layer(v) or isinstance(v, TrackableDataStructure) or has_weights(v) for v in held)
            if layers and "_is_graph_network" not in self.__dict__:
                raise RuntimeError(
                    "It looks like you are subclassing `Model` and you forgot to call "
                    "`super(YourClass, self).__init__()`. Always start with this line."
                )
            super().__setattr__(name, value)
            if hasattr(value, "update_state") and is_layer(value):
                self._metrics.append(value)
        else:
            super().__setattr__(name, value)

    # ---- layers and weights ----

    @property
    def dynamic(self) -> bool:
        """Whether a layer must run eagerly."""
        inside = any(layer.dynamic for layer in self.layers)
        return inside or (self._dynamic and not self._is_graph_network)

    @property
    def stateful(self) -> bool:
        """Whether a layer keeps a state from batch to batch."""
        return any(getattr(layer, "stateful", False) for layer in self.layers)

    def reset_states(self) -> None:
        """Resets the states of the stateful layers."""
        for layer in self.layers:
            if hasattr(layer, "reset_states") and getattr(layer, "stateful", False):
                layer.reset_states()

    @property
    def state_updates(self) -> list[Any]:
        """The updates of the stateful layers."""
        return [u for layer in self.layers if getattr(layer, "stateful", False) for u in layer.updates]

    @property
    def layers(self) -> list[Any]:
        """The layers, from inputs to outputs, or in the order in which they were set."""
        return list(layers_below(self._layers))

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """A layer by its name or its place; ValueError where there is none."""
        if index is not None:
            if len(self.layers) <= index:
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has {len(self.layers)} layers."
                )
            return self.layers[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}")

    @property
    def weights(self) -> list[Any]:
        """All weights, layer by layer; ValueError before they are made."""
        self._assert_weights_created()
        return [w for layer in self._layers for w in layer.weights] + self._trainable_weights + self._non_trainable_weights

    @property
    def trainable_weights(self) -> list[Any]:
        """The weights that are trained; ValueError before they are made."""
        self._assert_weights_created()
        return gather_trainable_weights(self.trainable, self._layers, self._trainable_weights)

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The weights that are not trained; ValueError before they are made."""
        self._assert_weights_created()
        return gather_non_trainable_weights(
            self.trainable, self._layers, self._non_trainable_weights + self._trainable_weights
        )

    def count_params(self) -> int:
        """The number of elements of the weights; ValueError before they are made."""
        if not self.built and self._is_graph_network:
            self._maybe_build(self.inputs)
        return super().count_params()

    def _weights_are_missing(self) -> bool:
        return not self.dynamic and not self._is_graph_network and "build" in type(self).__dict__ and not self.built

    def _assert_weights_created(self) -> None:
        if self._weights_are_missing():
            raise ValueError(
                f"Weights for model {self.name} have not yet been created. Weights are created when the Model is first "
                "called on inputs or `build()` is called with an `input_shape`."
            )

    @property
    def input_spec(self) -> Any:
        """What the input layers want of the inputs."""
        if not self._is_graph_network:
            return None
        specs = []
        for layer in self._input_layers:
            if layer.input_spec is not None and not isinstance(layer.input_spec, list):
                raise TypeError(
                    f"Layer {layer.name} has an input_spec attribute that is not a list. We expect a list. "
                    f"Found input_spec = {layer.input_spec}"
                )
            specs += [None] if layer.input_spec is None else layer.input_spec
        return specs[0] if len(specs) == 1 else specs

    # ---- the call ----

    @base_layer_utils.default
    def build(self, input_shape: Any) -> None:
        """Makes the weights of a subclass by calling it on placeholders of floatx.

        Args:
          input_shape: a shape, or a list of them.

        Raises:
          ValueError: no shape, a `call` with more arguments than `training`, or layers that take no floats.
        """
        if self._is_graph_network:
            self.built = True
            return
        if input_shape is None:
            raise ValueError("Input shape must be defined when calling build on a model subclass network.")
        if not isinstance(input_shape, (tuple, list, TensorShape)):
            raise ValueError(
                "Specified input shape is not one of the valid types. Please specify a batch input shape of type tuple "
                f"or list of input shapes. User provided input type: {type(input_shape)}"
            )
        if input_shape and not self.inputs:
            placeholder = base_layer_utils.generate_placeholders_from_shape
            try:
                with FuncGraph(get_default_graph()).as_default() if executing_eagerly() else contextlib.nullcontext():
                    several = isinstance(input_shape, list)
                    inputs = [placeholder(s) for s in input_shape] if several else placeholder(input_shape)
                    self.call(inputs, **self._arguments_for_build())
            except (errors.InvalidArgumentError, TypeError) as e:
                raise ValueError(
                    "You cannot build your model by calling `build` if your layers do not support float type inputs. "
                    "Instead, in order to instantiate and build your model, `call` your model on real tensor data (of "
                    "the correct dtype)."
                ) from e
        if self._layers:
            self._track_layers(self._layers)
        self.built = True

    def _arguments_for_build(self) -> dict[str, Any]:
        signature = base_layer_utils.full_argument_spec(self.call)
        if len(signature.args) < 2:
            raise ValueError(
                "You can only call `build` on a model if its `call` method accepts an `inputs` argument."
            )
        required = signature.args[2 : len(signature.args) - len(signature.defaults or ())]
        if any(name != "training" for name in required):
            raise ValueError(
                "Currently, you cannot build your model if it has positional or keyword arguments that are not inputs "
                "to the model, but are required for its `call` method. Instead, in order to instantiate and build your "
                "model, `call` your model on real tensor data with all expected call arguments."
            )
        return dict.fromkeys(required, False)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """The outputs of the graph of layers on other inputs; NotImplementedError for a subclass without `call`."""
        if not self._is_graph_network:
            raise NotImplementedError("When subclassing the `Model` class, you should implement a `call` method.")
        return self._run_internal_graph(inputs, training=training, mask=mask)

    @property
    def _should_compute_mask(self) -> bool:
        return self._is_graph_network and super()._should_compute_mask

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """The masks of the outputs; None for a subclass."""
        if not self._is_graph_network:
            return None
        return nest.map_structure(lambda t: t._keras_mask, self._run_internal_graph(inputs, mask=mask))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shapes of the outputs for inputs of `input_shape`; ValueError for the wrong number of shapes."""
        if not self._is_graph_network:
            return super().compute_output_shape(input_shape)
        given = _as_shapes(input_shape)
        if len(given) != len(self._input_layers):
            raise ValueError(
                f"Invalid input_shape argument {input_shape}: model has {len(self._input_layers)} tensor inputs."
            )
        shapes = {id(x): shape for x, shape in zip(self.inputs, given)}
        for depth in sorted(self._nodes_by_depth, reverse=True):
            for node in self._nodes_by_depth[depth]:
                if any(node.outbound_layer is layer for layer in self._input_layers):
                    continue
                taken = nest.map_structure(lambda t: _Sizes(_sizes(shapes[id(t)])), node.input_tensors)
                made = node.outbound_layer.compute_output_shape(_without_sizes(taken))
                shapes.update(zip(map(id, nest.flatten(node.output_tensors)), _as_shapes(made)))
        return nest.map_structure(lambda t: shapes[id(t)], self._nested_outputs)

    def _run_internal_graph(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Calls every layer of the graph on what comes from `inputs`."""
        given = nest.flatten(inputs)
        for tensor, tensor_mask in zip(given, [None] * len(given) if mask is None else nest.flatten(mask)):
            tensor._keras_mask = tensor_mask
        made = {id(x): y for x, y in zip(self.inputs, given)}
        for depth in sorted(self._nodes_by_depth, reverse=True)[1:]:
            for node in self._nodes_by_depth[depth]:
                if all(id(t) in made for t in nest.flatten(node.input_tensors)):
                    outputs = self._call_again(node, made, training)
                    made.update(zip(map(id, nest.flatten(node.output_tensors)), nest.flatten(outputs)))
        for x in self.outputs:
            if id(x) not in made:
                raise AssertionError(f"Could not compute output {x}")
        return nest.pack_sequence_as(self._nested_outputs, [made[id(x)] for x in self.outputs])

    @staticmethod
    def _call_again(node: Node, made: dict[int, Any], training: Any) -> Any:
        layer, arguments = node.outbound_layer, dict(node.arguments or {})
        if "training" in layer._call_fn_args:
            arguments.setdefault("training", training)
            if isinstance(arguments["training"], Tensor) and arguments["training"] is graph_state().learning_phase:
                arguments["training"] = training
        arguments = nest.map_structure(
            lambda t: made[id(t)] if isinstance(t, Tensor) and hasattr(t, "_keras_history") else t, arguments
        )
        return layer(nest.map_structure(lambda t: made[id(t)], node.input_tensors), **arguments)

    # ---- additions to the graph of layers ----

    def _graph_network_add_loss(self, loss: Any) -> None:
        self._add_to_graph(AddLoss(unconditional=False), loss)

    def _graph_network_add_metric(self, value: Any, aggregation: str | None, name: str | None) -> None:
        self._add_to_graph(AddMetric(aggregation, name), value)

    def _add_to_graph(self, layer: Layer, tensor: Any) -> None:
        nodes, layers = map_subgraph_network(self.inputs, [tensor])
        layer(tensor)
        self._insert_layers([*layers, layer], nodes + layer.inbound_nodes)

    def _insert_layers(self, layers: Any, relevant_nodes: list[Node] | None = None) -> None:
        """Adds layers that hang on the graph of layers.

        Raises:
          ValueError: what they take does not come from the graph.
        """
        layers = nest.flatten(layers)
        assert_no_legacy_layers(layers)
        depths = {node: depth for depth, nodes in self._nodes_by_depth.items() for node in nodes}
        waiting = list(relevant_nodes or [n for layer in layers for n in layer._inbound_nodes])
        known = {*waiting, *depths}
        while waiting:
            left = [node for node in waiting if not self._insert_node(node, depths, known)]
            if len(left) == len(waiting):
                raise ValueError("Layers could not be added due to missing dependencies.")
            waiting = left
        for layer in layers:
            if not any(layer is held for held in self._layers):
                self._layers.append(layer)

    def _insert_node(self, node: Node, depths: dict[Node, int], known: set[Node]) -> bool:
        depth = 0
        for layer, index, _, _ in node.iterate_inbound(include_arguments=True):
            source = layer._inbound_nodes[index]
            if source in depths:
                depth = min(depth, depths[source])
            elif source in known:
                return False
        if key_of(node) not in self._network_nodes:
            depths[node] = depth - 1
            self._network_nodes.add(key_of(node))
            self._nodes_by_depth[depth - 1].append(node)
        return True

    def _validate_graph_inputs_and_outputs(self) -> None:
        kind = type(self).__name__
        if len({id(x) for x in self.inputs}) != len(self.inputs):
            raise ValueError(
                "The list of inputs passed to the model is redundant. All inputs should only appear once. "
                f"Found: {self.inputs}"
            )
        for x in self.inputs:
            if not hasattr(x, "_keras_history"):
                raise ValueError(
                    f"Input tensors to a {kind} must come from `tf.keras.Input`. Received: {x} (missing previous layer "
                    "metadata)."
                )
            layer = x._keras_history.layer
            if len(layer._inbound_nodes) > 1 or (layer._inbound_nodes and layer._inbound_nodes[0].inbound_layers):
                logging.warning(
                    f"{kind} inputs must come from `tf.keras.Input` (thus holding past layer metadata), they cannot be "
                    f'the output of a previous non-Input layer. Here, a tensor specified as input to "{self.name}" was '
                    f"not an Input tensor, it was generated by layer {layer.name}.\nNote that input tensors are "
                    f"instantiated via `tensor = tf.keras.Input(shape)`.\nThe tensor that caused the issue was: {x.name}"
                )
        shapes = [getattr(x._keras_history.layer, "_batch_input_shape", None) for x in self.inputs]
        sizes = [shape[0] if shape else None for shape in shapes]
        if len({size for size in sizes if size is not None}) > 1:
            raise ValueError(
                f"The specified batch sizes of the Input Layers are incompatible. Found batch sizes: {sizes}"
            )
        for x in self.outputs:
            if not hasattr(x, "_keras_history"):
                raise ValueError(
                    f"Output tensors to a {kind} must be the output of a TensorFlow `Layer` (thus holding past layer "
                    f"metadata). Found: {x}"
                )

    # ---- files ----

    def get_config(self) -> dict[str, Any]:
        """The graph of layers; NotImplementedError for a subclass."""
        if not self._is_graph_network:
            raise NotImplementedError(f"{type(self).__name__} is no graph of layers and defines no get_config.")
        return network_config(self)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Network:
        """A network from what `get_config` gave; ValueError where a layer is unknown."""
        return network_from_config(cls, config, custom_objects)

    def save(
        self, filepath, overwrite=True, include_optimizer=True, save_format=None, signatures=None
    ) -> None:  # fmt: skip
        """Writes the model; see `tf.keras.models.save_model`."""
        registry.get("save_model")(self, filepath, overwrite, include_optimizer, save_format, signatures)

    def save_weights(self, filepath, overwrite=True, save_format=None) -> None:
        """Writes the weights.

        Args:
          filepath: an HDF5 file where it ends in .h5, .hdf5 or .keras, else a checkpoint.
          overwrite: whether to replace a file without asking.
          save_format: "tf" or "h5", in place of what `filepath` says.
        """
        registry.get("save_weights")(self, filepath, overwrite, save_format)

    def load_weights(self, filepath, by_name=False) -> Any:
        """Reads weights that `save_weights` wrote, by the order of layers or, from HDF5, by their names."""
        return registry.get("load_weights")(self, filepath, by_name)

    def _updated_config(self) -> dict[str, Any]:
        return {
            "class_name": type(self).__name__,
            "config": self.get_config(),
            "keras_version": KERAS_VERSION,
            "backend": backend(),
        }

    def to_json(self, **kwargs: Any) -> str:
        """The configuration as JSON; `kwargs` are those of `json.dumps`."""
        return json.dumps(self._updated_config(), default=get_json_type, **kwargs)

    def to_yaml(self, **kwargs: Any) -> str:
        """The configuration as YAML; `kwargs` are those of `yaml.dump`."""
        return registry.get("dump_yaml")(self._updated_config(), **kwargs)

    def summary(self, line_length=None, positions=None, print_fn=None) -> None:
        """Prints a table of the layers.

        Args:
          line_length: of the table.
          positions: of the columns, as parts of it or as absolute places.
          print_fn: called with each line in place of `print`.

        Raises:
          ValueError: the model is not built.
        """
        if not self.built:
            raise ValueError(
                "This model has not yet been built. Build the model first by calling `build()` or calling `fit()` with "
                "some data, or specify an `input_shape` argument in the first layer(s) for automatic build."
            )
        print_summary(self, line_length=line_length, positions=positions, print_fn=print_fn)

    @property
    def _object_identifier(self) -> str:
        return "_tf_keras_network"


class _Sizes:
    """A shape as a leaf of a nest."""

    def __init__(self, sizes: tuple | None) -> None:
        self.sizes = sizes


def _without_sizes(value: Any) -> Any:
    if isinstance(value, _Sizes):
        return value.sizes
    if isinstance(value, dict):
        return {k: _without_sizes(v) for k, v in value.items()}
    return [_without_sizes(v) for v in value]
