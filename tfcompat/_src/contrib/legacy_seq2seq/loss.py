"""The loss of sequences given as lists, one tensor per step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.nn.softmax import sparse_softmax_cross_entropy_with_logits

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _step_loss(logits: TensorLike, targets: TensorLike, softmax_loss_function: Callable | None) -> Tensor:
    if softmax_loss_function is not None:
        return softmax_loss_function(labels=targets, logits=logits)
    return sparse_softmax_cross_entropy_with_logits(labels=reshape(targets, [-1]), logits=logits)


@export("contrib.legacy_seq2seq.sequence_loss_by_example")
def sequence_loss_by_example(
    logits: list, targets: list, weights: list, average_across_timesteps: bool = True,
    softmax_loss_function: Callable | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Weighted cross entropy of each sequence.

    Args:
      logits: a list of float [batch, symbols].
      targets: a list of int32 [batch].
      weights: a list of float [batch].
      average_across_timesteps: whether it is divided by the sum of the weights.
      softmax_loss_function: `(labels, logits) -> loss` in place of the sparse softmax cross entropy.
      name: name scope.

    Returns:
      float [batch].

    Raises:
      ValueError: lists of different lengths.
    """
    if len(targets) != len(logits) or len(weights) != len(logits):
        counts = f"{len(logits)}, {len(weights)}, {len(targets)}"
        raise ValueError(f"Lengths of logits, weights, and targets must be the same {counts}.")
    with name_scope(name, "sequence_loss_by_example", logits + targets + weights):
        losses = [_step_loss(x, y, softmax_loss_function) * w for x, y, w in zip(logits, targets, weights)]
        total = add_n(losses)
        if average_across_timesteps:
            total /= add_n(weights) + 1e-12
    return total


@export("contrib.legacy_seq2seq.sequence_loss")
def sequence_loss(
    logits: list, targets: list, weights: list, average_across_timesteps: bool = True, average_across_batch: bool = True,
    softmax_loss_function: Callable | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Weighted cross entropy of all sequences.

    Args:
      logits, targets, weights, average_across_timesteps, softmax_loss_function: see `sequence_loss_by_example`.
      average_across_batch: whether the sum is divided by the batch size.
      name: name scope.

    Returns:
      a float scalar.
    """
    with name_scope(name, "sequence_loss", logits + targets + weights):
        cost = reduce_sum(
            sequence_loss_by_example(
                logits, targets, weights, average_across_timesteps=average_across_timesteps,
                softmax_loss_function=softmax_loss_function,
            )
        )  # fmt: skip
        if not average_across_batch:
            return cost
        return cost / cast(shape_of(targets[0])[0], cost.dtype)
