"""Learning-rate schedules as configurations; the classes are in `train/schedules.py`."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.keras.utils.generic_utils import deserialize_keras_object, serialize_keras_object
from tfcompat._src.train import schedules


@export("keras.optimizers.schedules.serialize")
def serialize(learning_rate_schedule: object) -> Any:
    """The class name and configuration of a schedule."""
    return serialize_keras_object(learning_rate_schedule)


@export("keras.optimizers.schedules.deserialize")
def deserialize(config: object, custom_objects: dict[str, Any] | None = None) -> Any:
    """The schedule that `serialize` gave `config` for; ValueError where it is unknown."""
    return deserialize_keras_object(
        config, module_objects=vars(schedules), custom_objects=custom_objects, printable_module_name="decay"
    )
