"""tf.layers: batch normalization, and the function that calls it once."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.layers import normalization
from tfcompat._src.layers.scoped_layer import Layer
from tfcompat._src.variables.initializers import Ones, Zeros

_ZEROS = Zeros()
_ONES = Ones()


@export("layers.BatchNormalization")
class BatchNormalization(normalization.BatchNormalization, Layer):
    __doc__ = normalization.BatchNormalization.__doc__

    def __init__(
        self, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, beta_initializer=_ZEROS,
        gamma_initializer=_ONES, moving_mean_initializer=_ZEROS, moving_variance_initializer=_ONES,
        beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, renorm=False,
        renorm_clipping=None, renorm_momentum=0.99, fused=None, trainable=True, virtual_batch_size=None,
        adjustment=None, name=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(
            axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer, moving_mean_initializer,
            moving_variance_initializer, beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint, renorm,
            renorm_clipping, renorm_momentum, fused, trainable, virtual_batch_size, adjustment, name, **kwargs,
        )  # fmt: skip

    def call(self, inputs: Any, training: Any = False) -> Tensor:
        return super().call(inputs, training=training)


@export("layers.batch_normalization")
def batch_normalization(
    inputs, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True, beta_initializer=_ZEROS,
    gamma_initializer=_ONES, moving_mean_initializer=_ZEROS, moving_variance_initializer=_ONES, beta_regularizer=None,
    gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, training=False, trainable=True, name=None,
    reuse=None, renorm=False, renorm_clipping=None, renorm_momentum=0.99, fused=None, virtual_batch_size=None,
    adjustment=None,
) -> Tensor:  # fmt: skip
    """Normalizes `inputs` by the statistics of the batch where `training` is true, and by their moving averages else.

    The updates of the moving averages join the collection UPDATE_OPS.

    Args:
      inputs: floating Tensor.
      axis: the axis or list of axes that keep statistics of their own, usually the channels.
      momentum: of the moving averages.
      epsilon: added to the variance.
      center, scale: whether to add `beta` and multiply by `gamma`.
      beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer: of the variables.
      beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint: of the weights.
      training: bool or scalar bool Tensor.
      trainable: whether weights are trained and moving averages updated.
      name: variable scope, "batch_normalization" by default.
      reuse: whether the variables must exist.
      renorm, renorm_clipping, renorm_momentum: batch renormalization.
      fused: None or True for the fused operation where it can be used, False never.
      virtual_batch_size: size of the parts of a batch that are normalized on their own.
      adjustment: function of the inputs' shape that gives a scale and a bias for training.

    Returns:
      a Tensor like `inputs`.

    Raises:
      TypeError: `axis` is neither an int nor a list. ValueError: another argument does not fit, or a size is unknown.
    """
    return BatchNormalization(
        axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer, moving_mean_initializer,
        moving_variance_initializer, beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint, renorm,
        renorm_clipping, renorm_momentum, fused, trainable, virtual_batch_size, adjustment, name, _reuse=reuse,
        _scope=name,
    ).apply(inputs, training=training)  # fmt: skip
