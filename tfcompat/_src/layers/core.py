"""tf.layers: Dense, Dropout and Flatten, and the functions that call them once."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.layers import core
from tfcompat._src.layers.scoped_layer import Layer
from tfcompat._src.variables.initializers import Zeros

_ZEROS = Zeros()


@export("layers.Dense")
class Dense(core.Dense, Layer):
    __doc__ = core.Dense.__doc__

    def __init__(
        self, units, activation=None, use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS,
        kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
        bias_constraint=None, trainable=True, name=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            units, activation, use_bias, kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
            activity_regularizer, kernel_constraint, bias_constraint, trainable=trainable, name=name, **kwargs,
        )  # fmt: skip


@export("layers.dense")
def dense(
    inputs, units, activation=None, use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS,
    kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
    bias_constraint=None, trainable=True, name=None, reuse=None,
) -> Tensor:  # fmt: skip
    """`activation(inputs @ kernel + bias)` with new weights of the variable scope `name`.

    Args:
      inputs: floating Tensor [..., in].
      units: number of outputs.
      activation: function of the result, its name, or None.
      use_bias: whether to add a bias.
      kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint,
        bias_constraint: of the weights.
      activity_regularizer: function of the output that gives a loss.
      trainable: whether the weights are trained.
      name: variable scope, "dense" by default.
      reuse: whether the weights must exist.

    Returns:
      a Tensor [..., units].

    Raises:
      ValueError: the last dimension is unknown, or the variables exist (or do not, with `reuse`).
    """
    return Dense(
        units, activation, use_bias, kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
        activity_regularizer, kernel_constraint, bias_constraint, trainable, name, _scope=name, _reuse=reuse,
    ).apply(inputs)  # fmt: skip


@export("layers.Dropout")
class Dropout(core.Dropout, Layer):
    __doc__ = core.Dropout.__doc__

    def __init__(self, rate=0.5, noise_shape=None, seed=None, name=None, **kwargs) -> None:
        super().__init__(rate, noise_shape, seed, name=name, **kwargs)

    def call(self, inputs: Any, training: Any = False) -> Tensor:
        return super().call(inputs, training=training)


@export("layers.dropout")
def dropout(inputs, rate=0.5, noise_shape=None, seed=None, training=False, name=None) -> Tensor:
    """Sets random elements to 0 where `training` is true, and scales the others by 1 / (1 - rate).

    Args:
      inputs: floating Tensor.
      rate: part of the elements that is dropped.
      noise_shape: shape of the random decisions, broadcast to the inputs.
      seed: op seed.
      training: bool or scalar bool Tensor.
      name: name of the layer.
    """
    return Dropout(rate, noise_shape, seed, name).apply(inputs, training=training)


@export("layers.Flatten")
class Flatten(core.Flatten, Layer):
    __doc__ = core.Flatten.__doc__


@export("layers.flatten")
def flatten(inputs, name=None, data_format="channels_last") -> Tensor:
    """All dimensions of `inputs` but the first in one; "channels_first" moves the channels to the end before."""
    return Flatten(name=name, data_format=data_format).apply(inputs)
