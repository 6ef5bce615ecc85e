"""What names optimizers: tf.keras.optimizers.get, serialize and deserialize."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.keras.backend.session import track_tf_optimizer
from tfcompat._src.keras.optimizers import descent, legacy, moments
from tfcompat._src.keras.optimizers.optimizer_v2 import OptimizerV2
from tfcompat._src.keras.utils.generic_utils import deserialize_keras_object, serialize_keras_object
from tfcompat._src.train import optimizer as train_optimizer

_CLASSES: dict[str, type] = {
    cls.__name__.lower(): cls
    for cls in (
        descent.SGD, descent.Adagrad, descent.Adadelta, descent.RMSprop, descent.Ftrl, moments.Adam, moments.Adamax,
        moments.Nadam,
    )
}  # fmt: skip


@export("keras.optimizers.serialize", "contrib.keras.optimizers.serialize")
def serialize(optimizer: object) -> Any:
    """The class name and configuration of an optimizer."""
    return serialize_keras_object(optimizer)


@export("keras.optimizers.deserialize", "contrib.keras.optimizers.deserialize")
def deserialize(config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
    """The optimizer that `serialize` gave `config` for, in any case of letters; ValueError where it is unknown."""
    if config["class_name"].lower() in _CLASSES:
        config["class_name"] = config["class_name"].lower()
    return deserialize_keras_object(
        config, module_objects=_CLASSES, custom_objects=custom_objects, printable_module_name="optimizer"
    )


@export("keras.optimizers.get", "contrib.keras.optimizers.get")
def get(identifier: object) -> Any:
    """The optimizer of a name or configuration, one itself, or a tf.train.Optimizer wrapped as one.

    Raises:
      ValueError: it is none of these.
    """
    if isinstance(identifier, (legacy.Optimizer, OptimizerV2)):
        return identifier
    if isinstance(identifier, train_optimizer.Optimizer):
        wrapped = legacy.TFOptimizer(identifier)
        track_tf_optimizer(wrapped)
        return wrapped
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": identifier, "config": {}})
    raise ValueError("Could not interpret optimizer identifier:", identifier)
