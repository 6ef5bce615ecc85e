"""`tensorflow.python.distribute.single_loss_example`: small models, without a word about distribution, that tests of strategies train."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tfcompat as tf
from tfcompat._src.contrib.distribute.strategies import StandardSingleLossStep
from tfcompat._src.keras.optimizers.optimizer_v2 import OptimizerV2


def _distance_of_one(layer: Callable[[Any], Any], x: object) -> Any:
    return tf.square(tf.reshape(layer(x), []) - 1.0)


def _minimize(optimizer: Any, loss_fn: Callable[[], Any], layer: Any) -> Any:
    """A step of an optimizer of Keras, which wants the variables, or of tf.train."""
    if isinstance(optimizer, OptimizerV2):
        return optimizer.minimize(loss_fn, lambda: layer.trainable_variables)
    return optimizer.minimize(loss_fn)


def single_loss_example(
    optimizer_fn: Callable[[], Any], distribution: Any, use_bias: bool = False, iterations_per_step: int = 1
) -> tuple[StandardSingleLossStep, Any]:
    """A step that moves the output of one dense unit for the input 1 towards 1, and that unit.

    Arguments:
      optimizer_fn: gives the optimizer.
      distribution: the strategy.
      use_bias: whether the unit adds a bias.
      iterations_per_step: how many updates one call of the step makes.
    """
    layer = tf.layers.Dense(1, use_bias=use_bias)
    step = StandardSingleLossStep(
        lambda: tf.data.Dataset.from_tensors([[1.0]]).repeat(), lambda context, x: _distance_of_one(layer, x), optimizer_fn(), distribution,
        iterations_per_step
    )  # fmt: skip
    return step, layer


def minimize_loss_example(optimizer: Any, use_bias: bool = False, use_callable_loss: bool = True) -> tuple[Callable, Callable, Any]:
    """The same model as a function of a batch, with the function that gives its dataset, and the unit.

    Arguments:
      optimizer: an optimizer of tf.train or of Keras.
      use_bias: whether the unit adds a bias.
      use_callable_loss: whether an optimizer of tf.train gets the loss as a function.
    """
    layer = tf.layers.Dense(1, use_bias=use_bias)

    def model_fn(x: Any) -> Any:
        if use_callable_loss or isinstance(optimizer, OptimizerV2):
            return _minimize(optimizer, lambda: _distance_of_one(layer, x), layer)
        return optimizer.minimize(_distance_of_one(layer, x))

    return model_fn, lambda: tf.data.Dataset.from_tensors([[1.0]]).repeat().batch(1, drop_remainder=True), layer


def batchnorm_example(
    optimizer_fn: Callable[[], Any], batch_per_epoch: int = 1, momentum: float = 0.9, renorm: bool = False,
    update_ops_in_replica_mode: bool = False
) -> tuple[Callable, Callable, Any]:  # fmt: skip
    """A model with batch normalization: its function of a batch, the function that gives its dataset, and the normalizing layer.

    Arguments:
      optimizer_fn: gives the optimizer.
      batch_per_epoch: how many batches, of shape [16, 8], come before the first one comes again; each is 100 above the one before.
      momentum: that of the moving averages.
      renorm: whether the layer renormalizes.
      update_ops_in_replica_mode: whether the loss waits for the updates of the moving averages.
    """
    values = [[[float(8 * row + column + 100 * batch) for column in range(8)] for row in range(16)] for batch in range(batch_per_epoch)]
    optimizer = optimizer_fn()
    normalized = tf.layers.BatchNormalization(renorm=renorm, momentum=momentum, fused=False)
    layer = tf.layers.Dense(1, use_bias=False)

    def model_fn(x: object) -> Any:
        def loss_fn() -> Any:
            y = normalized(x, training=True)
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS) if update_ops_in_replica_mode else []):
                return tf.reduce_mean(tf.reduce_sum(layer(y)) - 1.0)

        return _minimize(optimizer, loss_fn, layer)

    return model_fn, lambda: tf.data.Dataset.from_tensor_slices(values).repeat(), normalized
