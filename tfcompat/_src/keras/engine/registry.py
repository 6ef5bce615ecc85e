"""Classes and functions that earlier modules of Keras use and later ones define."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_provided: dict[str, Any] = {}


def provides(name: str) -> Callable[[Any], Any]:
    """Decorates the definition that `get(name)` returns."""

    def decorate(definition: object) -> Any:
        _provided[name] = definition
        return definition

    return decorate


def get(name: str) -> Any:
    """What a later module provides under `name`."""
    return _provided[name]


LAYERS: dict[str, type] = {}
"""Layers that are defined outside of Keras, by name, as configurations name them."""


def provides_layer(cls: type) -> type:
    """Decorates a layer that is defined outside of Keras, so that it is made of configurations."""
    LAYERS[cls.__name__] = cls
    return cls
