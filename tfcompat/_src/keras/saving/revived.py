"""Keras objects of a SavedModel without their classes: their calls are the functions that the file has."""

from __future__ import annotations

import functools
import json
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.base.trackable import no_automatic_dependency_tracking_scope
from tfcompat._src.function.def_function import Function
from tfcompat._src.keras import regularizers
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.engine.network import Network
from tfcompat._src.keras.engine.sequential import Sequential
from tfcompat._src.keras.engine.training import Model
from tfcompat._src.keras.saving.layer_functions import call_through
from tfcompat._src.keras.saving.saved_attributes import KERAS_API, PUBLIC_FUNCTIONS, PUBLIC_OBJECTS
from tfcompat._src.keras.saving.saving_utils import compile_args_from_training_config
from tfcompat._src.keras.utils.generic_utils import deserialize_keras_object
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.saved_model.load import Loader, load_objects

_OF_FILE = {*PUBLIC_OBJECTS, *PUBLIC_FUNCTIONS, "_default_save_signature", KERAS_API}
_CALL = "call_and_return_conditional_losses"


def load(path: str, compile: bool = True) -> Any:
    """The root object of a SavedModel, where layers and models are Keras layers and models.

    They have the weights, the losses and the calls that were saved, and nothing else of their classes.

    Args:
      path: the folder.
      compile: whether a model that was compiled is compiled; its optimizer begins anew.
    """
    model = load_objects(path, loader=KerasObjectLoader)
    if isinstance(model, RevivedModel) and compile and model._training_config is not None:
        model.compile(**compile_args_from_training_config(model._training_config))
    return model


class RevivedLayer:
    """A layer of a SavedModel; a subclass of it and of Layer has the name of the class that was saved."""

    _config_of_file: Any = None

    @classmethod
    def _from_metadata(cls, metadata: dict[str, Any]) -> Any:
        settings = {name: metadata[name] for name in ("dtype", "batch_input_shape") if metadata.get(name) is not None}
        made = cls(name=metadata["name"], trainable=metadata["trainable"], **settings)  # type: ignore[call-arg]
        with no_automatic_dependency_tracking_scope(made):
            if metadata.get("input_spec") is not None:
                made.input_spec = _input_spec(metadata["input_spec"])
            if metadata.get("_is_feature_layer") is not None:
                made._is_feature_layer = metadata["_is_feature_layer"]
        made._take_common(metadata)
        return made

    def _take_common(self: Any, metadata: dict[str, Any]) -> None:
        with no_automatic_dependency_tracking_scope(self):
            self._expects_training_arg = metadata["expects_training_arg"]
            self._config_of_file = metadata.get("config")
            if metadata.get("activity_regularizer") is not None:
                self.activity_regularizer = regularizers.deserialize(metadata["activity_regularizer"])
            self._attributes_of_file: dict[str, Any] = {}

    def _attach(self: Any, name: str, value: Any) -> None:
        """Sets an attribute of the file; what saving had added to the layer is kept apart."""
        if name in _OF_FILE:
            self._attributes_of_file[name] = value
        else:
            setattr(self, name, value)

    @property
    def keras_api(self: Any) -> Any:
        """All that the file has of the layer besides its attributes, or None."""
        return self._attributes_of_file.get(KERAS_API)

    def _functions_of_file(self) -> dict[str, Function | None] | None:
        """The functions of the layer's call, to be saved again."""
        names = (_CALL, *PUBLIC_FUNCTIONS, "activity_regularizer_fn")
        return {name: vars(self.keras_api).get(name) for name in names}

    def _take_call(self: Any) -> None:
        function = vars(self.keras_api).get(_CALL)
        if function is not None:
            object.__setattr__(self, "call", call_through(self, function))
            self._init_call_fn_args()

    def _take_losses(self: Any) -> None:
        known = vars(self.keras_api)
        for loss in known.get("layer_regularization_losses", self._attributes_of_file.get("regularization_losses", ())):
            self.add_loss(loss)
        if self.activity_regularizer is None:
            self.activity_regularizer = known.get("activity_regularizer_fn")

    def get_config(self) -> Any:
        """The configuration of the layer that was saved; NotImplementedError where it had none."""
        if self._config_of_file is None:
            raise NotImplementedError(f"The class of {self} had no get_config when it was saved.")
        return self._config_of_file


class RevivedNetwork(RevivedLayer):
    """A network of a SavedModel."""

    @classmethod
    def _from_metadata(cls, metadata: dict[str, Any]) -> Any:
        made: Any = cls(name=metadata["name"])  # type: ignore[call-arg]
        with no_automatic_dependency_tracking_scope(made):
            if metadata.get("dtype") is not None:
                made._dtype = metadata["dtype"]
            made.trainable = metadata["trainable"]
        made._take_common(metadata)
        return made

    def _take_inputs(self: Any) -> None:
        function = vars(self.keras_api).get(_CALL)
        if function is not None and not self.inputs:
            self._set_inputs(_first_argument(function))


class RevivedModel(RevivedNetwork):
    """A model of a SavedModel."""

    @classmethod
    def _from_metadata(cls, metadata: dict[str, Any]) -> Any:
        made = super()._from_metadata(metadata)
        with no_automatic_dependency_tracking_scope(made):
            made._training_config = metadata.get("training_config")
        return made


class RevivedSequential(RevivedModel):
    """A Sequential of a SavedModel: its call is that of its layers, which can be added and removed."""

    def _functions_of_file(self) -> None:
        return None

    def _take_call(self) -> None:
        """Keeps the call of its layers."""

    def _take_inputs(self: Any) -> None:
        with no_automatic_dependency_tracking_scope(self):
            self._layers = []
        for layer in vars(self.keras_api).get("layers", ()):
            self.add(layer)
        super()._take_inputs()


_CLASSES = {
    "_tf_keras_layer": (RevivedLayer, Layer),
    "_tf_keras_network": (RevivedNetwork, Network),
    "_tf_keras_model": (RevivedModel, Model),
    "_tf_keras_sequential": (RevivedSequential, Sequential),
}


class KerasObjectLoader(Loader):
    """Makes Keras objects of those that were Keras objects."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        revived = [made for _, made in sorted(self._made.items()) if isinstance(made, RevivedLayer) and made.keras_api is not None]
        for each in revived:
            each._take_call()
        for each in reversed(revived):  # a model's layers come after it
            if isinstance(each, RevivedNetwork):
                each._take_inputs()
        for each in revived:
            each._take_losses()

    def _user_object(self, number: int, node: Any) -> Any:
        bases = _CLASSES.get(node.user_object.identifier)
        if bases is None:
            return super()._user_object(number, node)
        metadata = json.loads(node.user_object.metadata)
        cls: Any = type(metadata["class_name"], bases, {"__module__": bases[1].__module__})
        self._setters[number] = cls._attach
        return cls._from_metadata(metadata)


def _input_spec(config: Any) -> Any:
    """An InputSpec, or a nest of them, from its configuration."""
    if isinstance(config, dict) and "class_name" in config:
        return deserialize_keras_object(config, module_objects={"InputSpec": InputSpec})
    if isinstance(config, dict):
        return {key: _input_spec(value) for key, value in config.items()}
    return [_input_spec(value) for value in config]


def _first_argument(function: Function) -> Any:
    """The TensorSpecs of the inputs that a loaded function takes in all its traces."""
    if function.input_signature is not None:
        return function.input_signature[0]
    specs = [trace.structured_input_signature[0][0] for trace in function.concrete_functions()]
    return functools.reduce(lambda one, other: nest.map_structure(_common_spec, one, other), specs)


def _common_spec(one: TensorSpec, other: TensorSpec) -> TensorSpec:
    if one.shape.ndims != other.shape.ndims or one.shape.ndims is None:
        return TensorSpec(TensorShape(None), one.dtype, one.name)
    sizes = [a if a == b else None for a, b in zip(one.shape.as_list(), other.shape.as_list())]
    return TensorSpec(TensorShape(sizes), one.dtype, one.name)
