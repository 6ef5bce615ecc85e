"""Losses of examples that have second derivatives, for boosted trees; each gives the losses and an operation that does nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses.losses import hinge_loss
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones_like, zeros_like
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.math.binary import squared_difference
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import exp, log, sigmoid, square
from tfcompat._src.ops.nn.loss import sigmoid_cross_entropy_with_logits

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_Losses = tuple[Tensor, Operation]


def _weighted(losses: Tensor, weights: object) -> _Losses:
    return (losses if weights is None else losses * weights), no_op()


def per_example_squared_hinge_loss(labels: object, weights: object, predictions: object) -> _Losses:
    """The square of the weighted hinge loss."""
    return square(hinge_loss(labels=labels, logits=predictions, weights=weights)), no_op()


def per_example_logistic_loss(labels: object, weights: object, predictions: TensorLike) -> _Losses:
    """Logistic losses [batch, 1] of labels in [0, 1] and logits."""
    return _weighted(sigmoid_cross_entropy_with_logits(labels=cast(labels, dtypes.float32), logits=predictions), weights)


def per_example_quantile_regression_loss(labels: Any, weights: Any, predictions: Any, quantile: float) -> _Losses:
    """Losses [batch, 1] whose mean is least at a quantile; squared near 0. Their hessian may be 0: trees need regularization.

    Args:
      labels, predictions: float32 [batch, 1].
      weights: float32 [batch, 1], or None.
      quantile: in (0, 1).
    """
    error = cast(labels, dtypes.float32) - predictions
    right, left = (where(error * slope < 1, square(slope * error), slope * error) for slope in (quantile, quantile - 1))
    return _weighted(where(error > 0, right, left), weights)


def per_example_maxent_loss(labels: TensorLike, weights: object, logits: Any, num_classes: int, eps: float = 1e-15) -> _Losses:
    """Cross entropies [batch, 1] with softmax probabilities, which are held between `eps` and 1 - `eps`.

    Args:
      labels: class ids [batch] or [batch, 1].
      weights: float32 [batch, 1], or None.
      logits: float32 [batch, num_classes].
      num_classes: number of classes.
      eps: a small number.
    """
    labels = cast(labels, dtypes.int64)
    if len(labels.get_shape()) != 2:
        labels = expand_dims(labels, 1)
    is_label = cast(reduce_sum(one_hot(indices=labels, depth=num_classes), axis=[1]), dtypes.float32)
    shares = exp(logits)
    probabilities = shares / (reduce_sum(shares, 1, keepdims=True) + eps)
    of_label = reduce_sum(is_label * probabilities, 1)
    least, most = zeros_like(of_label, dtype=logits.dtype) + eps, ones_like(of_label, dtype=logits.dtype) - eps
    of_label = where(of_label >= eps, of_label, least)
    of_label = where(of_label <= 1 - eps, of_label, most)
    return _weighted(expand_dims(-log(of_label), 1), weights)


def per_example_squared_loss(labels: object, weights: object, predictions: object) -> _Losses:
    """Squared differences [batch, 1], summed over dimensions."""
    return _weighted(reduce_sum(squared_difference(predictions, labels), 1, keepdims=True), weights)


def _exp_losses(name: str | None, labels: TensorLike, logits: TensorLike, score: Callable[[Tensor], Tensor]) -> Tensor:
    """exp(-score * label), where labels above 0 are 1 and others -1."""
    labels = cast(labels, dtypes.float32)
    with name_scope(name, "exp_loss", [logits, labels]):
        logits, labels = convert_to_tensor(logits, name="logits"), convert_to_tensor(labels, name="labels")
        if not labels.get_shape().is_compatible_with(logits.get_shape()):
            raise ValueError(f"logits and labels must have the same shape ({logits.get_shape()} vs {labels.get_shape()})")
        ones = ones_like(logits, dtype=logits.dtype)
        signs = where(labels > zeros_like(logits, dtype=logits.dtype), ones, -ones)
        return exp(-score(logits) * signs)


def per_example_exp_loss(labels: TensorLike, weights: object, predictions: TensorLike, name: str | None = None, eps: float = 0.1) -> _Losses:
    """Exponential losses [batch, 1] of probabilities: a score is linear where they are within `eps` of a half, else -1 or 1."""

    def score(logits: Tensor) -> Tensor:
        ones = ones_like(logits, dtype=logits.dtype)
        linear = 1.0 / eps * sigmoid(logits) - 1.0 / 2 / eps
        above = where(linear < -1, -ones, linear)
        return where(above > 1, ones, above)

    return _weighted(_exp_losses(name, labels, predictions, score), weights)


def per_example_full_exp_loss(labels: TensorLike, weights: object, predictions: TensorLike, name: str | None = None) -> _Losses:
    """Exponential losses [batch, 1] of logits."""
    return _weighted(_exp_losses(name, labels, predictions, lambda logits: logits), weights)
