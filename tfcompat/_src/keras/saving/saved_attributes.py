"""What a SavedModel holds of a layer besides its attributes: lists of its weights and layers, its call and its losses."""

from __future__ import annotations

import functools
from typing import Any

from tfcompat._src.function.def_function import Function
from tfcompat._src.keras.engine import registry
from tfcompat._src.keras.engine.network import Network
from tfcompat._src.keras.saving.layer_functions import call_functions, calls_through
from tfcompat._src.keras.saving.saving_utils import layers_in, model_input_signature
from tfcompat._src.platform import logging
from tfcompat._src.train.trackable_data_structures import AutoTrackable, ListWrapper

KERAS_API = "keras_api"
PUBLIC_OBJECTS = ("variables", "trainable_variables", "regularization_losses")
PUBLIC_FUNCTIONS = ("__call__", "call_and_return_all_conditional_losses")


class SavedAttributes:
    """The objects and functions that a layer has in a SavedModel by name; none where the layer cannot be called yet.

    The public ones are attributes of the layer itself, all are attributes of its `keras_api`.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.functions: dict[str, Function] = {}
        self._keras_api = AutoTrackable()

    def fill(self, objects: dict[str, Any], functions: dict[str, Function | None]) -> None:
        """Takes what was made for the layer."""
        self.objects = objects
        self.functions = {name: function for name, function in functions.items() if function is not None}
        for name, value in {**objects, **functions}.items():
            setattr(self._keras_api, name, value)

    @property
    def public_objects(self) -> dict[str, Any]:
        return {**{n: self.objects[n] for n in PUBLIC_OBJECTS if n in self.objects}, KERAS_API: self._keras_api}

    @property
    def public_functions(self) -> dict[str, Function]:
        return {n: self.functions[n] for n in PUBLIC_FUNCTIONS if n in self.functions}


@registry.provides("saved_attributes")
def saved_attributes(layer: Any, cache: dict[Any, Any]) -> SavedAttributes:
    """What a SavedModel holds of a layer, made once for each `cache`, a dict that lives as long as the save."""
    made: dict[Any, SavedAttributes] = cache.setdefault("keras_layers", {})
    if layer not in made:
        made[layer] = SavedAttributes()
        if _is_callable(layer):
            _fill(layer, made[layer], cache)
    return made[layer]


def _is_callable(layer: Any) -> bool:
    """Whether it is known what a layer is called on; warns where it is not."""
    if isinstance(layer, Network):
        if model_input_signature(layer) is not None and layer.inputs:
            return True
        logging.warning(f"Skipping full serialization of Keras model {layer}, because its inputs are not defined.")
        return False
    if not layer.built:
        logging.warning(f"Skipping full serialization of Keras layer {layer}, because it is not built.")
    return layer.built


def _fill(layer: Any, attributes: SavedAttributes, cache: dict[Any, Any]) -> None:
    objects = _objects(layer, cache)
    inside = {each: saved_attributes(each, cache).functions for each in layers_in(layer)}
    name = "call_and_return_conditional_losses"
    try:
        with calls_through({each: functions[name] for each, functions in inside.items() if name in functions}):
            functions = _functions(layer)
    except (NotImplementedError, TypeError, ValueError) as error:
        logging.warning(
            f"Skipping full serialization of object {layer}, because an error occurred while tracing layer functions. Error message: {error}"
        )
        return
    attributes.fill(objects, functions)


def _functions(layer: Any) -> dict[str, Function | None]:
    saved = layer._functions_of_file() if hasattr(layer, "_functions_of_file") else None
    return call_functions(layer) if saved is None else saved


def _objects(layer: Any, cache: dict[Any, Any]) -> dict[str, Any]:
    """Lists of what a layer holds; losses that depend on no inputs are functions, each made once for all layers."""
    known: dict[Any, Function] = cache.setdefault("keras_losses", {})

    def of(layers: list[Any]) -> list[Function]:
        made = [make for each in layers for make in each._callable_losses]
        return [known.setdefault(make, _loss_function(make, len(known))) for make in made]

    inside = layers_in(layer)
    lists = {
        "variables": layer.variables,
        "trainable_variables": layer.trainable_variables,
        "non_trainable_variables": layer.non_trainable_variables,
        "layers": inside,
        "metrics": layer.metrics,
        "regularization_losses": of([layer, *inside]),
        "layer_regularization_losses": of([layer]),
    }
    return {name: ListWrapper(list(values)) for name, values in lists.items()}


def _loss_function(make: functools.partial, number: int) -> Function:
    loss = make.args[0]
    return loss if isinstance(loss, Function) else Function(lambda: loss(), f"loss_fn_{number}", [], autograph=False)
