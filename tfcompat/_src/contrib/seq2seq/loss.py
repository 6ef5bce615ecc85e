"""The loss of sequences: weighted cross entropy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.binary import div_no_nan
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import count_nonzero, reduce_sum
from tfcompat._src.ops.nn.softmax import sparse_softmax_cross_entropy_with_logits

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _check(logits: Any, targets: Any, weights: Any, time: tuple[bool, bool], batch: tuple[bool, bool]) -> None:
    if len(logits.shape) != 3:
        raise ValueError("Logits must be a [batch_size x sequence_length x logits] tensor")
    if len(targets.shape) != 2:
        raise ValueError("Targets must be a [batch_size x sequence_length] tensor")
    if len(weights.shape) != 2:
        raise ValueError("Weights must be a [batch_size x sequence_length] tensor")
    for over, both in (("timesteps", time), ("batch", batch)):
        if all(both):
            averaged = "average_across_" + over
            raise ValueError(f"{averaged} and sum_over_{over} cannot be set to True at same time.")


@export("contrib.seq2seq.sequence_loss")
def sequence_loss(
    logits: TensorLike, targets: TensorLike, weights: TensorLike, average_across_timesteps: bool = True, average_across_batch: bool = True,
    sum_over_timesteps: bool = False, sum_over_batch: bool = False, softmax_loss_function: Callable | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Weighted cross entropy of sequences of classes.

    Args:
      logits: float [batch, time, classes].
      targets: int [batch, time].
      weights: float [batch, time].
      average_across_timesteps, average_across_batch: whether the sum over this dimension is divided by that of the weights.
      sum_over_timesteps, sum_over_batch: whether the sum over this dimension is divided by the number of non-zero weights.
      softmax_loss_function: function `(labels, logits) -> loss` to use in place of the sparse softmax cross entropy.
      name: name scope.

    Returns:
      a float Tensor: a scalar, [batch], [time] or [batch, time], by what is summed.

    Raises:
      ValueError: an argument of another rank, or both kinds of reduction for one dimension.
    """
    _check(
        logits, targets, weights, (average_across_timesteps, sum_over_timesteps), (average_across_batch, sum_over_batch)
    )
    loss_function = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
    with name_scope(name, "sequence_loss", [logits, targets, weights]):
        rows = reshape(logits, [-1, shape_of(logits)[2]])
        loss = loss_function(labels=reshape(targets, [-1]), logits=rows)
        loss *= reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return _averaged(loss, weights)
        if sum_over_timesteps and sum_over_batch:
            return _per_entry(loss, weights)
        loss = reshape(loss, shape_of(logits)[0:2])
        if average_across_timesteps or average_across_batch:
            return _averaged(loss, weights, [0] if average_across_batch else [1])
        if sum_over_timesteps or sum_over_batch:
            return _per_entry(loss, weights, [0] if sum_over_batch else [1])
        return loss


def _averaged(loss: Tensor, weights: object, axis: list[int] | None = None) -> Tensor:
    """The sum of `loss`, divided by that of the weights."""
    loss = reduce_sum(loss, axis=axis)
    return div_no_nan(loss, reduce_sum(weights, axis=axis))


def _per_entry(loss: Tensor, weights: object, axis: list[int] | None = None) -> Tensor:
    """The sum of `loss`, divided by the number of non-zero weights."""
    loss = reduce_sum(loss, axis=axis)
    return div_no_nan(loss, cast(count_nonzero(weights, axis=axis), loss.dtype))


class SequenceLoss:
    """`sequence_loss` as a loss function `(y_true, y_pred, sample_weight) -> loss`.

    Args:
      average_across_timesteps, average_across_batch, sum_over_timesteps, sum_over_batch, softmax_loss_function, name: see
        `sequence_loss`.
    """

    def __init__(
        self, average_across_timesteps: bool = False, average_across_batch: bool = False, sum_over_timesteps: bool = True,
        sum_over_batch: bool = True, softmax_loss_function: Callable | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self.average_across_timesteps, self.average_across_batch = average_across_timesteps, average_across_batch
        self.sum_over_timesteps, self.sum_over_batch = sum_over_timesteps, sum_over_batch
        self.softmax_loss_function, self.name = softmax_loss_function, name

    def __call__(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None) -> Tensor:
        """The loss of logits `y_pred` for targets `y_true` with weights `sample_weight`: see `sequence_loss`."""
        return sequence_loss(
            y_pred, y_true, sample_weight, self.average_across_timesteps, self.average_across_batch,
            self.sum_over_timesteps, self.sum_over_batch, self.softmax_loss_function, self.name,
        )  # fmt: skip
