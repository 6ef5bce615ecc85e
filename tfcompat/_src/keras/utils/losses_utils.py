"""How the losses of examples become one number, and how labels and weights are fitted to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.scopes import get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.shape import expand_dims, rank, shape, size, squeeze
from tfcompat._src.ops.composed.confusion_matrix import remove_squeezable_dimensions
from tfcompat._src.ops.composed.weights_broadcast import broadcast_weights
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.math.binary import div_no_nan, multiply
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_sum

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("compat.v2.keras.losses.Reduction")
class ReductionV2:
    """How the weighted losses of a batch become one number."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Every reduction."""
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError where `key` is no reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def squeeze_or_expand_dimensions(y_pred: Tensor, y_true: Any = None, sample_weight: TensorLike | None = None) -> tuple:
    """Predictions, labels and weights whose ranks fit: a last dimension of 1 is dropped, or given to the weights.

    Args:
      y_pred, y_true, sample_weight: tensors; a scalar weight stays one.

    Returns:
      The three; the first two where `sample_weight` is None.
    """
    pred_rank = y_pred.shape.ndims
    if y_true is not None:
        y_true, y_pred = _fitted_labels(y_true, y_pred)
    if sample_weight is None:
        return y_pred, y_true
    return y_pred, y_true, _fitted_weights(convert_to_tensor(sample_weight), y_pred, pred_rank)


def _fitted_labels(y_true: Tensor, y_pred: Tensor) -> tuple[Tensor, Tensor]:
    true_rank, pred_rank = y_true.shape.ndims, y_pred.shape.ndims
    if true_rank is not None and pred_rank is not None:
        if pred_rank - true_rank != 1 or y_pred.shape[-1] == 1:
            return remove_squeezable_dimensions(y_true, y_pred)
        return y_true, y_pred

    def squeezed() -> tuple[Tensor, Tensor]:
        return remove_squeezable_dimensions(y_true, y_pred)

    rank_diff = rank(y_pred) - rank(y_true)
    is_last_1 = equal(1, shape(y_pred)[-1])
    return cond(equal(1, rank_diff), lambda: cond(is_last_1, squeezed, lambda: (y_true, y_pred)), squeezed)


def _fitted_weights(weights: Tensor, y_pred: Tensor, pred_rank: int | None) -> Tensor:
    weights_rank = weights.shape.ndims
    if weights_rank == 0:
        return weights
    if pred_rank is not None and weights_rank is not None:
        if weights_rank - pred_rank == 1:
            return squeeze(weights, [-1])
        return expand_dims(weights, [-1]) if pred_rank - weights_rank == 1 else weights
    rank_of_weights = rank(weights)
    rank_diff = rank_of_weights - rank(y_pred)

    def expanded() -> Tensor:
        return cond(equal(rank_diff, -1), lambda: expand_dims(weights, [-1]), lambda: weights)

    def fitted() -> Tensor:
        return cond(equal(rank_diff, 1), lambda: squeeze(weights, [-1]), expanded)

    return cond(equal(rank_of_weights, 0), lambda: weights, fitted)


def scale_losses_by_sample_weight(losses: TensorLike, sample_weight: object) -> Tensor:
    """`losses` times their weights, as float32."""
    losses, weights = cast(losses, dtypes.float32), cast(sample_weight, dtypes.float32)
    losses, _, weights = squeeze_or_expand_dimensions(losses, None, weights)
    return multiply(losses, broadcast_weights(weights, losses))


def reduce_weighted_loss(weighted_losses: Tensor, reduction: str = ReductionV2.SUM_OVER_BATCH_SIZE) -> Tensor:
    """The sum of losses, their mean, or themselves."""
    if reduction == ReductionV2.NONE:
        return weighted_losses
    loss = reduce_sum(weighted_losses)
    if reduction != ReductionV2.SUM_OVER_BATCH_SIZE:
        return loss
    with name_scope("num_elements") as scope:
        count = cast(size(weighted_losses, name=scope), dtype=weighted_losses.dtype)
    return div_no_nan(reduce_sum(loss), count, name="value")


def compute_weighted_loss(
    losses: TensorLike, sample_weight: object = None, reduction: str = ReductionV2.SUM_OVER_BATCH_SIZE, name: str | None = None
) -> Tensor:
    """Weights losses and reduces them.

    Args:
      losses: tensor [batch, ...].
      sample_weight: a scalar, or what can be broadcast to `losses`; 1 by default.
      reduction: one of ReductionV2; AUTO is SUM_OVER_BATCH_SIZE.
      name: name scope.

    Raises:
      ValueError: the reduction is unknown, or the weights do not fit.
    """
    ReductionV2.validate(reduction)
    if reduction == ReductionV2.AUTO:
        reduction = ReductionV2.SUM_OVER_BATCH_SIZE
    with name_scope(name or "weighted_loss"):
        get_default_graph()._last_loss_reduction = reduction
        losses = convert_to_tensor(losses)
        weighted = scale_losses_by_sample_weight(losses, 1.0 if sample_weight is None else sample_weight)
        return cast(reduce_weighted_loss(weighted, reduction), losses.dtype)


def scale_loss_for_distribution(loss_value: Any) -> Any:
    """The loss over the number of replicas."""
    strategy = distribution_context.strategy_in_use()
    replicas = 1 if strategy is None else strategy.num_replicas_in_sync
    return loss_value * (1.0 / replicas) if replicas > 1 else loss_value
