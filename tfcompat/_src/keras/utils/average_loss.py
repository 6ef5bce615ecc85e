"""tf.nn.compute_average_loss and scale_regularization_loss: losses of one replica as parts of the whole batch's."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.utils.losses_utils import scale_losses_by_sample_weight
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.shape import rank, shape
from tfcompat._src.ops.composed.check_ops import assert_greater_equal
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_sum

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_NO_SCALAR = "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1"


def check_per_example_loss_rank(per_example_loss: Tensor) -> contextlib.AbstractContextManager:
    """A block in which the loss of examples is no scalar.

    Raises:
      ValueError: it is one. errors.InvalidArgumentError: it turns out to be one in a run.
    """
    if per_example_loss.shape.ndims == 0:
        raise ValueError(f"{_NO_SCALAR}, received: {per_example_loss}")
    if per_example_loss.shape.ndims is not None:
        return contextlib.nullcontext()
    found, least = rank(per_example_loss), cast(1, dtype=dtypes.int32)
    return control_dependencies([assert_greater_equal(found, least, message=f"{_NO_SCALAR}.")])


def _replicas(caller: str) -> int:
    strategy = distribution_context.strategy_in_use()
    if strategy is None:
        return 1
    if distribution_context.current().replica_context is None:
        raise RuntimeError(
            f"You are calling `{caller}` in cross replica context, while it was expected to be called in replica context."
        )
    return strategy.num_replicas_in_sync


@export("nn.compute_average_loss")
def compute_average_loss(per_example_loss: TensorLike, sample_weight: object = None, global_batch_size: object = None) -> Tensor:
    """The weighted sum of the losses of examples, divided by the size of the batch on all replicas.

    Args:
      per_example_loss: tensor [b, ...].
      sample_weight: weights that broadcast to the losses.
      global_batch_size: the size of the whole batch; by default b times the number of replicas.

    Returns:
      a scalar of the dtype of the losses.

    Raises:
      ValueError: the losses are a scalar. RuntimeError: called outside of a replica without the size of the batch.
    """
    losses = convert_to_tensor(per_example_loss)
    dtype = losses.dtype
    with check_per_example_loss_rank(losses):
        if sample_weight is not None:
            losses = scale_losses_by_sample_weight(losses, sample_weight)
        losses = cast(losses, dtype)
        if global_batch_size is None:
            replicas = _replicas("compute_average_loss")
            global_batch_size = cast(shape(losses)[0] * replicas, dtype)
        return reduce_sum(losses) / global_batch_size


@export("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss: object) -> Tensor:
    """The sum of losses divided by the number of replicas.

    Raises:
      RuntimeError: called outside of a replica.
    """
    replicas = _replicas("scale_regularization_loss")
    return reduce_sum(regularization_loss) / replicas
