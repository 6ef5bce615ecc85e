"""The optimizers that canned models take by name."""

from __future__ import annotations

import inspect
from typing import Any

from tfcompat._src.keras.optimizers import descent, moments
from tfcompat._src.keras.optimizers.optimizer_v2 import OptimizerV2
from tfcompat._src.train.adagrad import AdagradOptimizer
from tfcompat._src.train.adam import AdamOptimizer
from tfcompat._src.train.ftrl import FtrlOptimizer
from tfcompat._src.train.gradient_descent import GradientDescentOptimizer
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.train.rmsprop import RMSPropOptimizer

_OPTIMIZERS = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
_KERAS_OPTIMIZERS = {
    "Adagrad": descent.Adagrad,
    "Adam": moments.Adam,
    "Ftrl": descent.Ftrl,
    "RMSProp": descent.RMSprop,
    "SGD": descent.SGD,
}
_KERAS_LEARNING_RATE = 0.05


def _class_named(name: str, known: dict[str, Any]) -> Any:
    if name not in known:
        raise ValueError(f"Unsupported optimizer name: {name}. Supported names are: {tuple(sorted(known))}")
    return known[name]


def get_optimizer_instance(opt: object, learning_rate: float | None = None) -> Optimizer:
    """A tf.train.Optimizer.

    Args:
      opt: an Optimizer, a function that gives one, or its name: "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD".
      learning_rate: learning rate of an optimizer that is named.

    Raises:
      ValueError: the name is unknown or has no learning rate, or `opt` is something else.
    """
    if isinstance(opt, str):
        optimizer = _class_named(opt, _OPTIMIZERS)
        if not learning_rate:
            raise ValueError("learning_rate must be specified when opt is string.")
        return optimizer(learning_rate=learning_rate)
    if callable(opt):
        opt = opt()
    if not isinstance(opt, Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {opt}")
    return opt


def get_optimizer_instance_v2(opt: object, learning_rate: float | None = None) -> OptimizerV2:
    """A Keras optimizer; arguments and errors as get_optimizer_instance, but a named one has a learning rate of its own."""
    if isinstance(opt, str):
        optimizer = _class_named(opt, _KERAS_OPTIMIZERS)
        if not learning_rate and "learning_rate" in inspect.signature(optimizer).parameters:
            if inspect.signature(optimizer).parameters["learning_rate"].default is not inspect.Parameter.empty:
                return optimizer()
        return optimizer(learning_rate=learning_rate or _KERAS_LEARNING_RATE)
    if callable(opt):
        opt = opt()
    if not isinstance(opt, OptimizerV2):
        raise ValueError(f"The given object is not a tf.keras.optimizers.Optimizer instance. Given: {opt}")
    return opt
