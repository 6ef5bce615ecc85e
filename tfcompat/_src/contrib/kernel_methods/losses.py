"""tf.contrib.kernel_methods.sparse_multiclass_hinge_loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses.losses import Reduction, compute_weighted_loss
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.composed.check_ops import assert_less
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_max
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.nn.activation import relu

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.kernel_methods.sparse_multiclass_hinge_loss")
def sparse_multiclass_hinge_loss(
    labels: Tensor, logits: Tensor, weights: TensorLike = 1.0, scope: str | None = None, loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:  # fmt: skip
    """The hinge loss of several classes: the greatest of logits[k] - logits[label] + (k != label) (Crammer and Singer 2001).

    Args:
      labels: int32 or int64 Tensor [batch] or [batch, 1], below the number of classes.
      logits: floating Tensor [batch, classes].
      weights: number, or Tensor [batch] or [batch, 1].
      scope: name scope.
      loss_collection: collection that gets the loss.
      reduction: one of tf.losses.Reduction.

    Returns:
      float32 scalar; Tensor [batch] for Reduction.NONE.

    Raises:
      ValueError: another rank or dtype. InvalidArgumentError: a label is out of range, in a run.
    """
    with name_scope(scope, "sparse_multiclass_hinge_loss", (logits, labels)) as scope:
        rank = logits.get_shape().ndims
        if rank != 2:
            raise ValueError(f"logits should have rank 2 ([batch_size, num_classes]). Given rank is {rank}")
        sizes = shape(logits)
        batch, classes = sizes[0], sizes[1]
        logits = cast(logits, dtypes.float32)
        if labels.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError(f"Invalid dtype for labels: {labels.dtype}. Acceptable dtypes: int32 and int64")
        rank = labels.get_shape().ndims
        if rank not in (1, 2):
            raise ValueError(f"labels should have rank 1 ([batch_size]) or 2 ([batch_size, 1]). Given rank is {rank}")
        with control_dependencies([assert_less(labels, cast(classes, labels.dtype))]):
            labels = reshape(labels, shape=[-1])
        weights = convert_to_tensor(weights)
        if weights.get_shape().ndims not in (0, 1, 2):
            raise ValueError(
                f"non-scalar weights should have rank 1 ([batch_size]) or 2 ([batch_size, 1]). Given rank is {rank}"
            )
        if weights.get_shape().ndims > 0:
            weights = reshape(weights, shape=[-1])
            weights.get_shape().assert_is_compatible_with(labels.get_shape())
        rows = reshape(arange(batch), shape=[batch, 1])
        places = concat([rows, reshape(cast(labels, rows.dtype), shape=[batch, 1])], axis=1)
        of_labels = reshape(gather_nd(params=logits, indices=places), shape=[batch, 1])
        is_other = one_hot(indices=labels, depth=classes, on_value=0.0, off_value=1.0)
        loss = reduce_max(relu(logits - of_labels + is_other), axis=1)
        return compute_weighted_loss(loss, weights, scope, loss_collection, reduction=reduction)
