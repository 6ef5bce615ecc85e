"""The base of layers whose outputs have the shape and the mask of their inputs."""

from __future__ import annotations

from typing import Any

from tfcompat._src.keras.engine.base_layer import Layer


class ElementwiseLayer(Layer):
    """A layer whose outputs have the shape and the mask of its inputs."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape
