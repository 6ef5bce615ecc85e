"""Layers and weights below collections of layers, known by what they have, not by their class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def is_layer(obj: object) -> bool:
    """Whether `obj` is a layer, not its class."""
    return hasattr(obj, "_is_layer") and not isinstance(obj, type)


def has_weights(obj: object) -> bool:
    """Whether `obj` is a layer or a collection that may hold some."""
    cls = type(obj)
    return hasattr(cls, "trainable_weights") and hasattr(cls, "non_trainable_weights") and not isinstance(obj, type)


def layers_below(values: Iterable[Any]) -> Iterator[Any]:
    """The layers among `values` and in the collections among them, each once."""
    waiting, seen = list(values)[::-1], set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if is_layer(value):
            yield value
        else:
            waiting.extend(list(getattr(value, "layers", None) or ())[::-1])


def gather_trainable_weights(trainable: bool, sub_layers: Iterable[Any], extra_variables: Iterable[Any]) -> list[Any]:
    """What an owner of layers and variables trains; nothing where it is not trainable."""
    if not trainable:
        return []
    return [w for layer in sub_layers for w in layer.trainable_weights] + [v for v in extra_variables if v.trainable]


def gather_non_trainable_weights(
    trainable: bool, sub_layers: Iterable[Any], extra_variables: Iterable[Any]
) -> list[Any]:
    """What an owner of layers and variables does not train: all of it where it is not trainable."""
    layers, extra = list(sub_layers), list(extra_variables)
    fixed = [w for layer in layers for w in layer.non_trainable_weights]
    fixed_extra = [v for v in extra if not v.trainable]
    if trainable:
        return fixed + fixed_extra
    trained = [w for layer in layers for w in layer.trainable_weights]
    return trained + fixed + [v for v in extra if v.trainable] + fixed_extra


class LayerCollection:
    """The layers and weights of a collection whose elements `_values` gives."""

    _self_trainable: bool
    _self_extra_variables: list[Any]

    @property
    def _values(self) -> Iterable[Any]:
        raise NotImplementedError("Abstract method")

    @property
    def _layers(self) -> list[Any]:
        """The elements that are layers or collections, also empty ones."""
        return [value for value in self._values if is_layer(value) or has_weights(value)]

    @property
    def layers(self) -> list[Any]:
        """The layers of the collection and of collections in it."""
        return list(layers_below(self._layers))

    @property
    def trainable(self) -> bool:
        """Whether the weights count as trained; the layers' own `trainable` does not change with it."""
        return self._self_trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._self_trainable = value

    @property
    def trainable_weights(self) -> list[Any]:
        """The weights that are trained."""
        return gather_trainable_weights(self.trainable, self._layers, self._self_extra_variables)

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The weights that are not trained."""
        return gather_non_trainable_weights(self.trainable, self._layers, self._self_extra_variables)

    weights = property(lambda self: self.trainable_weights + self.non_trainable_weights)
    trainable_variables = property(lambda self: self.trainable_weights)
    non_trainable_variables = property(lambda self: self.non_trainable_weights)
    variables = property(lambda self: self.weights)
    updates = property(lambda self: [u for layer in self.layers for u in getattr(layer, "updates", ())])
    losses = property(lambda self: [loss for layer in self.layers for loss in getattr(layer, "losses", ())])
