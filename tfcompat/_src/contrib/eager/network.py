"""tf.contrib.eager.Network: what came before subclasses of tf.keras.Model."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.keras.engine.training import Model


@export("contrib.eager.Network")
class Network(Model):
    """A model whose layers are named to it: subclasses define `call`."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name=name)

    def track_layer(self, layer: Any) -> Any:
        """Makes the variables of a layer the network's; gives the layer back."""
        setattr(self, f"layer_{len(self.layers)}", layer)
        return layer
