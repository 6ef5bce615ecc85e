"""tf.keras.initializers: what names the initializers of `variables/`."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.keras.utils.generic_utils import deserialize_keras_object, serialize_keras_object
from tfcompat._src.variables import initializers, orthogonal


@export("keras.initializers.RandomUniform", "keras.initializers.random_uniform", "keras.initializers.uniform")
class RandomUniform(initializers.RandomUniform):
    """RandomUniform with Keras's default range."""

    def __init__(
        self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(minval, maxval, seed, dtype)


@export("keras.initializers.RandomNormal", "keras.initializers.random_normal", "keras.initializers.normal")
class RandomNormal(initializers.RandomNormal):
    """RandomNormal with Keras's default deviation."""

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


@export("keras.initializers.TruncatedNormal", "keras.initializers.truncated_normal")
class TruncatedNormal(initializers.TruncatedNormal):
    """TruncatedNormal with Keras's default deviation."""

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


_FUNCTIONS = {
    f.__name__: f
    for f in (initializers.he_normal, initializers.he_uniform, initializers.lecun_normal, initializers.lecun_uniform)
}
_NAMES: dict[str, Any] = {
    **dict.fromkeys(("Zeros", "zeros", "zero"), initializers.Zeros),
    **dict.fromkeys(("Ones", "ones", "one"), initializers.Ones),
    **dict.fromkeys(("Constant", "constant"), initializers.Constant),
    **dict.fromkeys(("RandomUniform", "random_uniform", "uniform"), RandomUniform),
    **dict.fromkeys(("RandomNormal", "random_normal", "normal"), RandomNormal),
    **dict.fromkeys(("TruncatedNormal", "truncated_normal"), TruncatedNormal),
    **dict.fromkeys(("GlorotUniform", "glorot_uniform"), initializers.GlorotUniform),
    **dict.fromkeys(("GlorotNormal", "glorot_normal"), initializers.GlorotNormal),
    **dict.fromkeys(("Orthogonal", "orthogonal"), orthogonal.Orthogonal),
    **dict.fromkeys(("Identity", "identity"), orthogonal.Identity),
    "Initializer": initializers.Initializer,
    "VarianceScaling": initializers.VarianceScaling,
    **_FUNCTIONS,
}


@export("keras.initializers.serialize")
def serialize(initializer: object) -> Any:
    """The class name and configuration of an initializer."""
    return serialize_keras_object(initializer)


@export("keras.initializers.deserialize")
def deserialize(config: object, custom_objects: dict[str, Any] | None = None) -> Any:
    """The initializer that `serialize` gave `config` for; ValueError where it is unknown."""
    return deserialize_keras_object(
        config, module_objects=_NAMES, custom_objects=custom_objects, printable_module_name="initializer"
    )


@export("keras.initializers.get")
def get(identifier: object) -> Any:
    """The initializer of a name or configuration, one itself, or None; ValueError for anything else."""
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, str) and identifier in _FUNCTIONS:
        return deserialize({"class_name": identifier, "config": {}})
    if isinstance(identifier, (dict, str)):
        return deserialize(identifier)
    raise ValueError(f"Could not interpret initializer identifier: {identifier}")
