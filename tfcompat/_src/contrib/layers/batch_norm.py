"""tf.contrib.layers.batch_norm: batch normalization whose updates are collected, or run with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.framework.arg_scope import add_arg_scope
from tfcompat._src.contrib.framework.variables import model_variable
from tfcompat._src.contrib.layers import common
from tfcompat._src.graph.scopes import add_to_collections, control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.utils.smart_cond import constant_value, smart_cond
from tfcompat._src.layers import normalization as tf_layers
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.nn.batch_norm import fused_batch_norm
from tfcompat._src.ops.nn.moments import batch_normalization, moments, weighted_moments
from tfcompat._src.train.moving_averages import assign_moving_average
from tfcompat._src.variables.initializers import Ones, Zeros
from tfcompat._src.variables.scope import get_variable_scope, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_DEFAULTS = {"beta": Zeros(), "gamma": Ones(), "moving_mean": Zeros(), "moving_variance": Ones()}


class _Params:
    """Makes the variables of one normalization."""

    def __init__(self, shape: Any, dtype: Any, initializers: Any, collections: Any, trainable: bool) -> None:
        self.shape, self.dtype, self.trainable = shape, dtype, trainable
        self.initializers, self.collections = {**_DEFAULTS, **(initializers or {})}, collections

    def make(self, name: str, regularizer: object = None, trainable: bool | None = None) -> Any:
        return model_variable(
            name, shape=self.shape, dtype=self.dtype, initializer=self.initializers[name], regularizer=regularizer,
            collections=common.collections_for(self.collections, name),
            trainable=self.trainable if trainable is None else trainable,
        )  # fmt: skip

    def make_moving(self) -> tuple[Any, Any]:
        """The moving mean and variance, which are never partitioned."""
        with variable_scope(get_variable_scope()) as local_scope:
            local_scope.set_partitioner(None)
            return self.make("moving_mean", trainable=False), self.make("moving_variance", trainable=False)


@export("contrib.layers.batch_norm", "contrib.slim.batch_norm")
@add_arg_scope
def batch_norm(
    inputs, decay=0.999, center=True, scale=False, epsilon=0.001, activation_fn=None, param_initializers=None,
    param_regularizers=None, updates_collections=GraphKeys.UPDATE_OPS, is_training=True, reuse=None,
    variables_collections=None, outputs_collections=None, trainable=True, batch_weights=None, fused=None,
    data_format="NHWC", zero_debias_moving_mean=False, scope=None, renorm=False, renorm_clipping=None,
    renorm_decay=0.99, adjustment=None,
) -> Tensor:  # fmt: skip
    """Normalizes `inputs` by the statistics of the batch while training, and by their moving averages else.

    Args:
      inputs: floating Tensor, of any rank from 2 on.
      decay: of the moving averages.
      center, scale: whether to add `beta` and multiply by `gamma`.
      epsilon: added to the variance.
      activation_fn: function of the result, or None.
      param_initializers, param_regularizers: dicts from "beta", "gamma", "moving_mean" and "moving_variance".
      updates_collections: collections that the updates join; None makes the result wait for them.
      is_training: bool or scalar bool Tensor.
      reuse: whether the variables must exist.
      variables_collections: collections of the variables, a list, or a dict from their names to lists.
      outputs_collections: collections of the output.
      trainable: whether the weights are trained.
      batch_weights: a weight for each example.
      fused: None or True for the fused operation where it can be used.
      data_format: "NHWC" or "NCHW".
      zero_debias_moving_mean: whether the moving mean is corrected for its start at 0.
      scope: variable scope, "BatchNorm" by default.
      renorm, renorm_clipping, renorm_decay: batch renormalization.
      adjustment: function of the inputs' shape that gives a scale and a bias for training.

    Raises:
      ValueError: an argument does not fit, or the channels of `inputs` are unknown.
    """
    fused = True if fused is None else fused
    inputs = convert_to_tensor(inputs)
    rank = inputs.shape.ndims
    collected = updates_collections == GraphKeys.UPDATE_OPS
    possible = batch_weights is None and not renorm and rank in (2, 4) and adjustment is None
    if fused and possible and (zero_debias_moving_mean or rank == 2 or not collected):
        return _fused_batch_norm(
            inputs, decay, center, scale, epsilon, activation_fn, param_initializers, param_regularizers,
            updates_collections, is_training, reuse, variables_collections, outputs_collections, trainable,
            data_format, zero_debias_moving_mean, scope,
        )  # fmt: skip
    layout = common.check_format(data_format, "NCHW", "NHWC")
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=common._build_variable_getter()) as sc:
        if batch_weights is None and collected and not zero_debias_moving_mean:
            initializers = {f"{k}_initializer": v for k, v in {**_DEFAULTS, **(param_initializers or {})}.items()}
            regularizers = param_regularizers or {}
            layer = tf_layers.BatchNormalization(
                axis=1 if layout == "channels_first" else -1, momentum=decay, epsilon=epsilon, center=center,
                scale=scale, beta_regularizer=regularizers.get("beta"), gamma_regularizer=regularizers.get("gamma"),
                trainable=trainable, renorm=renorm, renorm_clipping=renorm_clipping, renorm_momentum=renorm_decay,
                adjustment=adjustment, name=sc.name, _scope=sc, _reuse=reuse, fused=fused, **initializers,
            )  # fmt: skip
            outputs = layer.apply(inputs, training=is_training)
            for name in ("moving_mean", "moving_variance", "beta", "gamma"):
                if getattr(layer, name) is not None:
                    common._add_variable_to_collections(getattr(layer, name), variables_collections, name)
            return common.finish(outputs, None, None, activation_fn, outputs_collections, sc.name)
        if renorm:
            raise ValueError(
                "renorm is not supported with batch_weights, updates_collections or zero_debias_moving_mean"
            )
        outputs = _composed(
            inputs, decay, center, scale, epsilon, param_initializers, updates_collections, is_training,
            variables_collections, trainable, batch_weights, layout == "channels_first", zero_debias_moving_mean,
        )  # fmt: skip
        return common.finish(outputs, None, None, activation_fn, outputs_collections, sc.name)


def _updates(moving_mean, mean, moving_variance, variance, decay, zero_debias) -> tuple[Any, Any]:
    return (
        assign_moving_average(moving_mean, mean, decay, zero_debias=zero_debias),
        assign_moving_average(moving_variance, variance, decay, zero_debias=False),
    )


def _fused_batch_norm(
    inputs, decay, center, scale, epsilon, activation_fn, param_initializers, param_regularizers, updates_collections,
    is_training, reuse, variables_collections, outputs_collections, trainable, data_format, zero_debias, scope,
) -> Tensor:  # fmt: skip
    """With the fused operation, for inputs of rank 2 or 4."""
    first = common.check_format(data_format, "NCHW", "NHWC") == "channels_first"
    regularizers = param_regularizers or {}
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as sc:
        original = inputs
        if inputs.shape.ndims == 2:
            count = inputs.shape.as_list()[-1]
            if count is None:
                raise ValueError("`C` dimension must be known but is None")
            inputs = reshape(inputs, [-1, count, 1, 1] if first else [-1, 1, 1, count])
        shape = inputs.shape[1:2] if first else inputs.shape[-1:]
        if not shape.is_fully_defined():
            raise ValueError(f"Inputs {inputs.name} has undefined `C` dimension {shape}.")
        params = _Params(shape, dtypes.float32, param_initializers, variables_collections, trainable)
        beta = (
            params.make("beta", regularizers.get("beta"))
            if center
            else constant(0.0, dtype=dtypes.float32, shape=shape)
        )
        gamma = (
            params.make("gamma", regularizers.get("gamma"))
            if scale
            else constant(1.0, dtype=dtypes.float32, shape=shape)
        )
        moving_mean, moving_variance = params.make_moving()
        outputs, mean, variance = smart_cond(
            is_training,
            lambda: fused_batch_norm(inputs, gamma, beta, epsilon=epsilon, data_format=data_format),
            lambda: fused_batch_norm(
                inputs, gamma, beta, mean=moving_mean, variance=moving_variance, epsilon=epsilon, is_training=False,
                data_format=data_format,
            ),
        )  # fmt: skip
        known = constant_value(is_training)
        if known is None or known:
            outputs = _with_updates(
                outputs, lambda: _updates(moving_mean, mean, moving_variance, variance, decay, zero_debias),
                is_training, updates_collections, lambda: (moving_mean, moving_variance),
            )  # fmt: skip
        outputs.set_shape(inputs.shape)
        if original.shape.ndims == 2:
            outputs = reshape(outputs, shape_of(original))
        return common.finish(outputs, None, None, activation_fn, outputs_collections, sc.name)


def _with_updates(outputs: TensorLike, update: Callable, is_training: TensorLike, collections: Any, moving: Callable) -> Any:
    """`outputs`; after the updates where there are no collections for them."""
    if collections is not None:
        for updated in smart_cond(is_training, update, moving):
            add_to_collections(collections, updated)
        return outputs

    def updated_first() -> Tensor:
        with control_dependencies(list(update())):
            return identity(outputs)

    return smart_cond(is_training, updated_first, lambda: outputs)


def _composed(
    inputs, decay, center, scale, epsilon, param_initializers, updates_collections, is_training, variables_collections,
    trainable, batch_weights, first, zero_debias,
) -> Tensor:  # fmt: skip
    """Made of several operations."""
    rank = inputs.shape.ndims
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    if batch_weights is not None:
        batch_weights = convert_to_tensor(batch_weights)
        inputs.shape[0:1].assert_is_compatible_with(batch_weights.shape)
        batch_weights = reshape(batch_weights, [-1] + [1] * (rank - 1))
    shape = inputs.shape[1:2] if first else inputs.shape[-1:]
    if not shape.is_fully_defined():
        raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {shape}.")
    params = _Params(shape, inputs.dtype.base_dtype, param_initializers, variables_collections, trainable)
    beta = params.make("beta") if center else None
    gamma = params.make("gamma") if scale else None
    moving_mean, moving_variance = params.make_moving()
    mean, variance = moving_mean, moving_variance
    known = constant_value(is_training)
    if known is None or known:
        mean, variance = _batch_moments(inputs, batch_weights, first)
        mean, variance = _moments_with_updates(
            mean, variance, moving_mean, moving_variance, decay, zero_debias, is_training, updates_collections
        )
    if first:
        broadcast = [1, shape.as_list()[0]] + [1] * (rank - 2)
        mean, variance = reshape(mean, broadcast), reshape(variance, broadcast)
        beta = None if beta is None else reshape(beta, broadcast)
        gamma = None if gamma is None else reshape(gamma, broadcast)
    outputs = batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
    outputs.set_shape(inputs.shape)
    return outputs


def _batch_moments(inputs: Tensor, batch_weights: TensorLike, first: bool) -> tuple[Tensor, Tensor]:
    rank = inputs.shape.ndims
    axes = [0, *range(2, rank)] if first else list(range(rank - 1))
    if batch_weights is None:
        mean, variance = moments(inputs, axes, keep_dims=True) if first else moments(inputs, axes)
    elif first:
        mean, variance = weighted_moments(inputs, axes, batch_weights, keepdims=True)
    else:
        mean, variance = weighted_moments(inputs, axes, batch_weights)
    return (reshape(mean, [-1]), reshape(variance, [-1])) if first else (mean, variance)


def _moments_with_updates(
    mean, variance, moving_mean, moving_variance, decay, zero_debias, is_training, collections
) -> tuple[Any, Any]:
    """The statistics to normalize by, and the updates of the moving averages."""

    def update() -> tuple[Any, Any]:
        return _updates(moving_mean, mean, moving_variance, variance, decay, zero_debias)

    def moving() -> tuple[Any, Any]:
        return moving_mean, moving_variance

    if collections is not None:
        for updated in smart_cond(is_training, update, moving):
            add_to_collections(collections, updated)
        return smart_cond(is_training, lambda: (mean, variance), moving)

    def updated_first() -> tuple[Tensor, Tensor]:
        with control_dependencies(list(update())):
            return identity(mean), identity(variance)

    return smart_cond(is_training, updated_first, moving)
