"""tf.contrib.losses.metric_learning: losses of embeddings that bring examples of one class together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.diagonal import diag
from tfcompat._src.ops.array.fill import ones, ones_like, zeros
from tfcompat._src.ops.array.join import tile
from tfcompat._src.ops.array.pad import pad
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape, size
from tfcompat._src.ops.control.printing import Print
from tfcompat._src.ops.math.binary import add, maximum, multiply, squared_difference, truediv
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, greater, less_equal, logical_and, logical_not
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_max, reduce_mean, reduce_min, reduce_sum
from tfcompat._src.ops.math.unary import exp, log, sqrt, square
from tfcompat._src.ops.nn.softmax import softmax_cross_entropy_with_logits
from tfcompat._src.ops.sparse.combine import sparse_minimum
from tfcompat._src.ops.sparse.reduce import sparse_reduce_sum

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def pairwise_distance(feature: TensorLike, squared: bool = False) -> Tensor:
    """The Euclidean distances [n, n] of the rows of `feature`, 0 on the diagonal; their squares where asked for."""
    norms = add(
        reduce_sum(square(feature), axis=[1], keepdims=True),
        reduce_sum(square(transpose(feature)), axis=[0], keepdims=True),
    )
    squares = maximum(norms - 2.0 * matmul(feature, transpose(feature)), 0.0)
    is_zero = less_equal(squares, 0.0)
    distances = squares if squared else sqrt(squares + cast(is_zero, dtypes.float32) * 1e-16)
    distances = multiply(distances, cast(logical_not(is_zero), dtypes.float32))
    count = shape(feature)[0]
    return multiply(distances, ones_like(distances) - diag(ones([count])))


def _column(labels: TensorLike) -> Tensor:
    """The vector `labels` as a column."""
    return reshape(labels, [shape(labels)[0], 1])


def masked_maximum(data: object, mask: object, dim: int = 1) -> Tensor:
    """The largest elements of `data` along `dim` where the float `mask` is 1."""
    least = reduce_min(data, dim, keepdims=True)
    return reduce_max(multiply(data - least, mask), dim, keepdims=True) + least


def masked_minimum(data: object, mask: object, dim: int = 1) -> Tensor:
    """The smallest elements of `data` along `dim` where the float `mask` is 1."""
    largest = reduce_max(data, dim, keepdims=True)
    return reduce_min(multiply(data - largest, mask), dim, keepdims=True) + largest


@export("contrib.losses.metric_learning.contrastive_loss")
def contrastive_loss(labels: object, embeddings_anchor: object, embeddings_positive: object, margin: float = 1.0) -> Tensor:
    """The mean of d^2 for pairs of one class and max(margin - d, 0)^2 for others (Hadsell et al. 2006).

    Args:
      labels: Tensor [batch]: 1 where the pair is of one class, else 0.
      embeddings_anchor, embeddings_positive: float Tensors [batch, n], whose rows have distance d.
      margin: beyond which others cost nothing.

    Returns:
      a scalar.
    """
    distances = sqrt(reduce_sum(squared_difference(embeddings_anchor, embeddings_positive), 1))
    same = cast(labels, distances.dtype) * square(distances)
    other = 1.0 - cast(labels, distances.dtype)
    return reduce_mean(same + other * square(maximum(margin - distances, 0.0)), name="contrastive_loss")


@export("contrib.losses.metric_learning.triplet_semihard_loss")
def triplet_semihard_loss(labels: TensorLike, embeddings: TensorLike, margin: float = 1.0) -> Tensor:
    """The triplet loss with the nearest negative beyond each positive (Schroff et al. 2015).

    Args:
      labels: integer vector [batch].
      embeddings: float Tensor [batch, n] of unit rows.
      margin: by how much a negative has to be further away.

    Returns:
      a scalar.
    """
    labels = _column(labels)
    distances = pairwise_distance(embeddings, squared=True)
    adjacency = equal(labels, transpose(labels))
    other = logical_not(adjacency)
    batch = size(labels)
    tiled = tile(distances, [batch, 1])
    others = tile(other, [batch, 1])
    mask = logical_and(others, greater(tiled, reshape(transpose(distances), [-1, 1])))
    some = greater(reduce_sum(cast(mask, dtypes.float32), 1, keepdims=True), 0.0)
    some = transpose(reshape(some, [batch, batch]))
    other, mask = cast(other, dtypes.float32), cast(mask, dtypes.float32)
    outside = transpose(reshape(masked_minimum(tiled, mask), [batch, batch]))
    inside = tile(masked_maximum(distances, other), [1, batch])
    losses = add(margin, distances - where(some, outside, inside))
    positives = cast(adjacency, dtypes.float32) - diag(ones([batch]))
    count = reduce_sum(positives)
    total = reduce_sum(maximum(multiply(losses, positives), 0.0))
    return truediv(total, count, name="triplet_semihard_loss")


def _npairs(adjacency: Tensor, l2: Tensor, similarity: Tensor, print_losses: bool) -> Tensor:
    """`l2` and the cross entropy of the similarities with the rows of `adjacency` as distributions."""
    targets = adjacency / reduce_sum(adjacency, 1, keepdims=True)
    entropy = reduce_mean(softmax_cross_entropy_with_logits(logits=similarity, labels=targets), name="xentropy")
    if print_losses:
        entropy = Print(entropy, ["cross entropy:", entropy, "l2loss:", l2])
    return l2 + entropy


def _l2_and_similarity(anchor: object, positive: object, reg_lambda: float) -> tuple[Tensor, Tensor]:
    of_anchor = reduce_mean(reduce_sum(square(anchor), 1))
    of_positive = reduce_mean(reduce_sum(square(positive), 1))
    l2 = multiply(0.25 * reg_lambda, of_anchor + of_positive, name="l2loss")
    return l2, matmul(anchor, positive, transpose_a=False, transpose_b=True)


@export("contrib.losses.metric_learning.npairs_loss")
def npairs_loss(
    labels: TensorLike, embeddings_anchor: object, embeddings_positive: object, reg_lambda: float = 0.002, print_losses: bool = False
) -> Tensor:
    """The n-pairs loss (Sohn 2016): each anchor against the positives of all.

    Args:
      labels: integer vector [batch].
      embeddings_anchor, embeddings_positive: float Tensors [batch, n].
      reg_lambda: weight of the mean squared length of the embeddings.
      print_losses: whether both parts are printed.

    Returns:
      a scalar.
    """
    l2, similarity = _l2_and_similarity(embeddings_anchor, embeddings_positive, reg_lambda)
    labels = _column(labels)
    return _npairs(cast(equal(labels, transpose(labels)), dtypes.float32), l2, similarity, print_losses)


def _shared_labels(sparse_labels: list) -> Tensor:
    """How many labels each two examples share, [n, n]."""
    count = len(sparse_labels)
    total = zeros([count, count])
    for i, first in enumerate(sparse_labels):
        for j, second in enumerate(sparse_labels):
            shared = cast(sparse_reduce_sum(sparse_minimum(first, second)), dtypes.float32)
            shared = expand_dims(expand_dims(shared, 0), 1)
            total += pad(shared, [[i, count - i - 1], [j, count - j - 1]], "CONSTANT")
    return total


@export("contrib.losses.metric_learning.npairs_loss_multilabel")
def npairs_loss_multilabel(
    sparse_labels: Any, embeddings_anchor: object, embeddings_positive: object, reg_lambda: float = 0.002,
    print_losses: bool = False,
) -> Tensor:  # fmt: skip
    """`npairs_loss` where each example has several labels: a list of SparseTensors of one shape.

    Raises:
      TypeError: a label is no SparseTensor.
    """
    if not all(isinstance(each, SparseTensor) for each in sparse_labels):
        raise TypeError(f"sparse_labels must be a list of SparseTensors, but got {sparse_labels}")
    with name_scope("NpairsLossMultiLabel"):
        l2, similarity = _l2_and_similarity(embeddings_anchor, embeddings_positive, reg_lambda)
        adjacency = cast(_shared_labels(sparse_labels), dtypes.float32)
        return _npairs(adjacency, l2, similarity, print_losses)


@export("contrib.losses.metric_learning.lifted_struct_loss")
def lifted_struct_loss(labels: TensorLike, embeddings: TensorLike, margin: float = 1.0) -> Tensor:
    """The lifted structured loss (Song et al. 2016): each positive pair against all negatives of both.

    Args:
      labels: integer vector [batch].
      embeddings: float Tensor [batch, n].
      margin: by how much negatives have to be further away.

    Returns:
      a scalar.
    """
    labels = _column(labels)
    distances = pairwise_distance(embeddings)
    adjacency = equal(labels, transpose(labels))
    other = logical_not(adjacency)
    batch = size(labels)
    near = margin - distances
    mask = cast(other, dtypes.float32)
    largest = masked_maximum(near, mask)
    largest = maximum(largest, transpose(largest))
    tiled, tiled_mask = tile(near, [batch, 1]), tile(mask, [batch, 1])
    column = reshape(transpose(largest), [-1, 1])
    exponentials = reduce_sum(multiply(exp(tiled - column), tiled_mask), 1, keepdims=True)
    exponentials = reshape(exponentials, [batch, batch])
    losses = largest + log(exponentials + transpose(exponentials))
    losses += distances
    positives = cast(adjacency, dtypes.float32) - diag(ones([batch]))
    count = reduce_sum(positives) / 2.0
    total = reduce_sum(square(maximum(multiply(losses, positives), 0.0)))
    return truediv(0.25 * total, count, name="liftedstruct_loss")
