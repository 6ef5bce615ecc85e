"""The losses of contrib.learn's heads: functions of labels, logits and weights to (loss to minimize, mean loss of the weights)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.estimator.util import fn_args
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses.losses import Reduction, hinge_loss
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.shape import expand_dims, rank, reshape, squeeze
from tfcompat._src.ops.composed.weights_broadcast import broadcast_weights
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.binary import div, multiply, squared_difference
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import less_equal
from tfcompat._src.ops.math.reduce import reduce_mean, reduce_sum
from tfcompat._src.ops.nn.loss import log_poisson_loss, sigmoid_cross_entropy_with_logits
from tfcompat._src.ops.nn.softmax import sparse_softmax_cross_entropy_with_logits
from tfcompat._src.ops.sparse.layout import sparse_reshape
from tfcompat._src.platform import logging

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Losses = tuple[Tensor, Tensor]


def weighted(losses: Tensor, weight: TensorLike, name: str = "loss") -> Losses:
    """The mean of the weighted losses, and their sum over the sum of the weights."""
    with name_scope(name, values=(losses, weight)) as scope:
        if weight is None:
            loss = reduce_mean(losses, name=scope)
            return loss, loss
        weight = broadcast_weights(weight, losses)
        with name_scope(None, "weighted_loss", (losses, weight)) as inner:
            weighted_losses = multiply(losses, weight, name=inner)
        loss = reduce_mean(weighted_losses, name=scope)
        total = cast(reduce_sum(weight), dtypes.float32)
        return loss, div(reduce_sum(weighted_losses), total, name="weighted_average_loss")


def _column(values: Tensor) -> Tensor:
    """[batch] as [batch, 1]."""
    return expand_dims(values, axis=1) if len(values.get_shape()) == 1 else values


def _columns(labels: TensorLike, logits: TensorLike) -> tuple[Tensor, Tensor]:
    logits, labels = convert_to_tensor(logits), convert_to_tensor(labels)
    labels, logits = _column(labels), _column(logits)
    logits.get_shape().assert_is_compatible_with(labels.get_shape())
    return labels, logits


def mean_squared(labels: TensorLike, logits: TensorLike, weights: TensorLike | None = None) -> Losses:
    """The squared differences."""
    with name_scope(None, "mean_squared_loss", (logits, labels)) as name:
        labels, logits = _columns(labels, logits)
        return weighted(squared_difference(logits, cast(labels, dtypes.float32), name=name), weights)


def poisson(labels: TensorLike, logits: TensorLike, weights: TensorLike | None = None) -> Losses:
    """The negative log-likelihood of counts."""
    with name_scope(None, "_poisson_loss", (logits, labels)) as name:
        labels, logits = _columns(labels, logits)
        return weighted(log_poisson_loss(labels, logits, compute_full_loss=True, name=name), weights)


def two_classes(labels: TensorLike, logits: TensorLike, weights: TensorLike | None = None) -> Losses:
    """The cross entropy of one of two classes."""
    with name_scope(None, "log_loss_with_two_classes", (logits, labels)) as name:
        logits = convert_to_tensor(logits)
        labels = _column(cast(labels, dtypes.float32))
        return weighted(sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name=name), weights)


def softmax(labels: TensorLike, logits: TensorLike, weights: TensorLike | None = None) -> Losses:
    """The cross entropy of one of several classes; ValueError where labels are no integers."""
    with name_scope(None, "softmax_cross_entropy_loss", (logits, labels)) as name:
        labels = convert_to_tensor(labels)
        if not labels.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer Instead got {labels.dtype}.")
        is_column = len(labels.get_shape()) == 2
        if is_column:
            labels = squeeze(labels, axis=(1,))
        loss = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)
        return weighted(expand_dims(loss, axis=(1,)) if is_column else loss, weights)


def sigmoid(labels: TensorLike, logits: TensorLike, weights: TensorLike | None = None) -> Losses:
    """The cross entropy of several labels."""
    with name_scope(None, "sigmoid_cross_entropy_loss", (logits, labels)) as name:
        labels = cast(labels, dtypes.float32)
        return weighted(sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name=name), weights)


def hinge(labels: TensorLike, logits: object, weights: TensorLike | None = None) -> Losses:
    """The hinge loss of one of two classes."""
    with name_scope(None, "hinge_loss", (logits, labels)) as name:
        message = "labels shape should be either [batch_size, 1] or [batch_size]"
        with control_dependencies((Assert(less_equal(rank(labels), 2), (message,)),)):
            labels = reshape(labels, shape=(-1, 1))
        losses = hinge_loss(labels=labels, logits=logits, scope=name, reduction=Reduction.NONE)
        return weighted(losses, weights)


def custom(loss_fn: Callable | None) -> Callable | None:
    """A user's loss function as one of these; None stays None. ValueError where it lacks an argument."""
    if not loss_fn:
        return None
    names = fn_args(loss_fn)
    for name in ("labels", "logits", "weights"):
        if name not in names:
            raise ValueError(f"Argument {name} not found in loss_fn.")

    def wrapped(labels: object, logits: object, weights: object = None) -> Losses:
        loss = loss_fn(labels, logits) if weights is None else loss_fn(labels, logits, weights)
        return loss, loss

    return wrapped


def example_weights(features: dict[str, Any], weight_column_name: str | None) -> Any:
    """The examples' weights as floats [batch, 1]; None without a column. ValueError where the feature is missing."""
    if not weight_column_name:
        return None
    if weight_column_name not in features:
        raise ValueError(f"Weights {weight_column_name} missing from features.")
    with name_scope(None, "weight_tensor", tuple(features.values())):
        weights = cast(features[weight_column_name], dtypes.float32)
        if weights.get_shape().ndims != 1:
            return weights
        logging.warning(f"Weights {weight_column_name} has shape {weights.get_shape()}, expanding to make it 2d.")
        return (sparse_reshape if isinstance(weights, SparseTensor) else reshape)(weights, (-1, 1))
