"""Activations, initializers, regularizers and constraints that are named by a string instead of given as a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tfcompat._src.ops.math import unary
from tfcompat._src.ops.nn import activation as activations
from tfcompat._src.ops.nn.softmax import softmax
from tfcompat._src.variables import initializers, orthogonal


def linear(x: Any) -> Any:
    """The identity."""
    return x


ACTIVATIONS: dict[str, Callable] = {
    "elu": activations.elu,
    "exponential": unary.exp,
    "linear": linear,
    "relu": activations.relu,
    "sigmoid": unary.sigmoid,
    "softmax": softmax,
    "softplus": activations.softplus,
    "softsign": activations.softsign,
    "tanh": unary.tanh,
}
INITIALIZERS: dict[str, Callable] = {
    **dict.fromkeys(("zeros", "zero", "Zeros"), initializers.Zeros),
    **dict.fromkeys(("ones", "one", "Ones"), initializers.Ones),
    **dict.fromkeys(("constant", "Constant"), initializers.Constant),
    **dict.fromkeys(("uniform", "random_uniform", "RandomUniform"), initializers.KerasRandomUniform),
    **dict.fromkeys(("normal", "random_normal", "RandomNormal"), initializers.KerasRandomNormal),
    **dict.fromkeys(("truncated_normal", "TruncatedNormal"), initializers.KerasTruncatedNormal),
    **dict.fromkeys(("glorot_uniform", "GlorotUniform"), initializers.GlorotUniform),
    **dict.fromkeys(("glorot_normal", "GlorotNormal"), initializers.GlorotNormal),
    **dict.fromkeys(("orthogonal", "Orthogonal"), orthogonal.Orthogonal),
    **dict.fromkeys(("identity", "Identity"), orthogonal.Identity),
    "VarianceScaling": initializers.VarianceScaling,
    "he_normal": initializers.he_normal,
    "he_uniform": initializers.he_uniform,
    "lecun_normal": initializers.lecun_normal,
    "lecun_uniform": initializers.lecun_uniform,
}


def get_activation(identifier: Any) -> Callable:
    """The function of a name, a function itself, or `linear` for None.

    Raises:
      ValueError: the name is unknown. TypeError: it is neither a name nor callable.
    """
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        return _named(ACTIVATIONS, identifier, "activation function")
    if not callable(identifier):
        raise TypeError(f"Could not interpret activation function identifier: {identifier!r}")
    return identifier


def get_initializer(identifier: Any) -> Any:
    """The initializer of a name or configuration, or one itself; ValueError for anything else."""
    if isinstance(identifier, dict):
        return _named(INITIALIZERS, identifier["class_name"], "initializer")(**identifier["config"])
    if isinstance(identifier, str):
        return _named(INITIALIZERS, identifier, "initializer")()
    if identifier is not None and not callable(identifier):
        raise ValueError(f"Could not interpret initializer identifier: {identifier}")
    return identifier


def get_regularizer(identifier: Any) -> Any:
    """A function of a weight that gives a loss, or None; ValueError for anything else."""
    if isinstance(identifier, (str, dict)):
        raise NotImplementedError(
            f"The regularizer {identifier!r}: tf.keras.regularizers is not built yet; give a function."
        )
    if identifier is not None and not callable(identifier):
        raise ValueError("Could not interpret regularizer identifier:", identifier)
    return identifier


def get_constraint(identifier: Any) -> Any:
    """A function that projects a weight, or None; ValueError for anything else."""
    if isinstance(identifier, (str, dict)):
        raise NotImplementedError(
            f"The constraint {identifier!r}: tf.keras.constraints is not built yet; give a function."
        )
    if identifier is not None and not callable(identifier):
        raise ValueError(f"Could not interpret constraint identifier: {identifier}")
    return identifier


def _named(table: dict[str, Callable], name: str, kind: str) -> Callable:
    if name not in table:
        raise ValueError(f"Unknown {kind}:{name}")
    return table[name]


def serialize(value: Any) -> Any:
    """A layer's setting as a value that JSON can hold: a function by its name, an object by its class."""
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if inspect.isfunction(value):
        return value.__name__
    return value
