"""The shape of the weights of losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.shape import rank, squeeze
from tfcompat._src.ops.composed.confusion_matrix import squeezed_where

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def squeeze_weights(labels: Tensor, weights: TensorLike) -> Tensor:
    """`weights` without a last dimension of 1 that `labels` lacks."""
    weights = convert_to_tensor(weights)
    labels_rank, weights_rank = labels.shape.ndims, weights.shape.ndims
    if labels_rank is not None and weights_rank is not None:
        return squeeze(weights, [-1]) if weights_rank == labels_rank + 1 else weights
    rank_diff = rank(weights) - rank(labels)
    return weights if weights_rank == 0 else squeezed_where(1, rank_diff, weights)
