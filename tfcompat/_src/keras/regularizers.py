"""tf.keras.regularizers: losses of a weight or an output."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.keras.backend.config import cast_to_floatx
from tfcompat._src.keras.backend.values import constant
from tfcompat._src.keras.utils.generic_utils import deserialize_keras_object, serialize_keras_object
from tfcompat._src.ops.math import unary
from tfcompat._src.ops.math.reduce import reduce_sum


@export("keras.regularizers.Regularizer")
class Regularizer:
    """A function of a tensor that gives a scalar loss: 0, where a subclass does not say otherwise."""

    def __call__(self, x: Any) -> Any:
        return 0.0

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Regularizer:
        """A regularizer from what `get_config` gave."""
        return cls(**config)


@export("keras.regularizers.L1L2")
class L1L2(Regularizer):
    """`l1 * sum(|x|) + l2 * sum(x ** 2)`."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = cast_to_floatx(l1), cast_to_floatx(l2)

    def __call__(self, x: object) -> Any:
        if not self.l1 and not self.l2:
            return constant(0.0)
        loss: Any = 0.0
        if self.l1:
            loss += self.l1 * reduce_sum(unary.absolute(x))
        if self.l2:
            loss += self.l2 * reduce_sum(unary.square(x))
        return loss

    def get_config(self) -> dict[str, float]:
        """The two factors."""
        return {"l1": float(self.l1), "l2": float(self.l2)}


@export("keras.regularizers.l1")
def l1(l: float = 0.01) -> L1L2:  # noqa: E741
    """`l * sum(|x|)`."""
    return L1L2(l1=l)


@export("keras.regularizers.l2")
def l2(l: float = 0.01) -> L1L2:  # noqa: E741
    """`l * sum(x ** 2)`."""
    return L1L2(l2=l)


@export("keras.regularizers.l1_l2")
def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """`l1 * sum(|x|) + l2 * sum(x ** 2)`."""
    return L1L2(l1=l1, l2=l2)


_FUNCTIONS = ("l1", "l2", "l1_l2")


@export("keras.regularizers.serialize")
def serialize(regularizer: object) -> Any:
    """The class name and configuration of a regularizer."""
    return serialize_keras_object(regularizer)


@export("keras.regularizers.deserialize")
def deserialize(config: object, custom_objects: dict[str, Any] | None = None) -> Any:
    """The regularizer that `serialize` gave `config` for; ValueError where it is unknown."""
    return deserialize_keras_object(
        config, module_objects=globals(), custom_objects=custom_objects, printable_module_name="regularizer"
    )


@export("keras.regularizers.get")
def get(identifier: object) -> Any:
    """The regularizer of a name or configuration, a function itself, or None; ValueError for anything else."""
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, str) and identifier in _FUNCTIONS:
        return deserialize({"class_name": identifier, "config": {}})
    if isinstance(identifier, (dict, str)):
        return deserialize(identifier)
    raise ValueError("Could not interpret regularizer identifier:", identifier)
