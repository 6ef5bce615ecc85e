"""tf.contrib.losses: losses with predictions before labels, weighted by example and averaged over weights that are not 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.framework.arg_scope import add_arg_scope
from tfcompat._src.graph.scopes import add_to_collection, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses import collected
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones, ones_like, zeros_like
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import reshape, shape, size, squeeze
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.math.binary import div, div_no_nan, multiply, squared_difference, subtract
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, not_equal
from tfcompat._src.ops.math.reduce import reduce_prod, reduce_sum
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.math.unary import absolute, log, square
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.ops.nn.loss import sigmoid_cross_entropy_with_logits
from tfcompat._src.ops.nn.softmax import softmax_cross_entropy_with_logits, sparse_softmax_cross_entropy_with_logits

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.losses.add_loss")
@add_arg_scope
def add_loss(loss: object, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds `loss` to a collection, in eager mode too; None adds it to none."""
    if loss_collection:
        add_to_collection(loss_collection, loss)


get_losses = export("contrib.losses.get_losses")(collected.get_losses)
get_regularization_losses = export("contrib.losses.get_regularization_losses")(collected.get_regularization_losses)


@export("contrib.losses.get_total_loss")
def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss") -> Tensor:
    """The sum of the collected losses, with those of regularizers by default; ValueError where there are none."""
    losses = get_losses()
    if add_regularization_losses:
        losses += get_regularization_losses()
    return add_n(losses, name=name)


# ---- the weighted mean ----


def _scaled_sum(losses: Tensor, weights: Tensor) -> Tensor:
    """The sum of `losses`, those beyond the dimensions of `weights` summed first, times `weights`."""
    reduced = reduce_sum(losses, axis=list(range(weights.shape.ndims, losses.shape.ndims)))
    return reduce_sum(multiply(reduced, weights))


def _num_present(losses: Tensor, weights: Tensor, per_batch: bool = False) -> Tensor:
    """The number of losses whose weight is not 0, in all or for each example."""
    rank = weights.shape.ndims
    if rank == 0:
        batch = reshape(slice_(shape(losses), [0], [1]), [])
        each = div(cast(size(losses), dtypes.float32), cast(batch, dtypes.float32))
        each = where(equal(weights, 0), 0.0, each)
        each = multiply(ones(reshape(batch, [1])), each)
    else:
        present = reduce_sum(cast(not_equal(weights, 0), dtypes.float32), axis=list(range(1, rank)))
        others = slice_(shape(losses), [rank], [-1])
        each = multiply(present, cast(reduce_prod(others), dtypes.float32))
    return each if per_batch else reduce_sum(each)


@export("contrib.losses.compute_weighted_loss")
def compute_weighted_loss(losses: TensorLike, weights: TensorLike = 1.0, scope: str | None = None) -> Tensor:
    """The weighted mean of `losses` over those whose weight is not 0; it joins the collection of losses.

    Args:
      losses: Tensor [batch, ...] of known rank.
      weights: scalar, or a tensor of the first dimensions of `losses` (a last dimension of 1 is dropped).
      scope: name scope.

    Returns:
      a scalar of the dtype of `losses`.

    Raises:
      ValueError: a rank is unknown or the weights do not fit.
    """
    with name_scope(scope, "weighted_loss", [losses, weights]):
        losses = convert_to_tensor(losses)
        input_dtype = losses.dtype
        losses, weights = cast(losses, dtypes.float32), cast(convert_to_tensor(weights), dtypes.float32)
        _require_ranks(losses=losses, weights=weights)
        if weights.shape.ndims > 1 and weights.shape.dims[-1].is_compatible_with(1):
            weights = squeeze(weights, [-1])
        total = _scaled_sum(losses, weights)
        count = _num_present(losses, weights)
        mean = cast(div_no_nan(reduce_sum(total), count, name="value"), input_dtype)
        add_loss(mean)
        return mean


def _require_ranks(**tensors: Tensor) -> None:
    for name, tensor in tensors.items():
        if tensor.shape.ndims is None:
            raise ValueError(f"{name}.get_shape().ndims cannot be None")


def _floats(predictions: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Both as float32; ValueError where their shapes differ."""
    predictions.shape.assert_is_compatible_with(labels.shape)
    return cast(predictions, dtypes.float32), cast(labels, dtypes.float32)


# ---- the losses ----


@export("contrib.losses.absolute_difference")
def absolute_difference(predictions: Any, labels: Any = None, weights: TensorLike = 1.0, scope: str | None = None) -> Tensor:
    """The mean of |predictions - labels|; the other arguments are those of `compute_weighted_loss`."""
    with name_scope(scope, "absolute_difference", [predictions, labels, weights]) as scope:
        predictions, labels = _floats(predictions, labels)
        return compute_weighted_loss(absolute(subtract(predictions, labels)), weights, scope=scope)


@export("contrib.losses.sigmoid_cross_entropy")
def sigmoid_cross_entropy(
    logits: Any, multi_class_labels: Any, weights: TensorLike = 1.0, label_smoothing: float = 0, scope: str | None = None
) -> Tensor:
    """The mean of the cross entropy of labels in [0, 1] with sigmoid(logits); see `compute_weighted_loss`.

    Labels move towards 1/2 by the share `label_smoothing`.
    """
    with name_scope(scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]) as scope:
        logits.shape.assert_is_compatible_with(multi_class_labels.shape)
        labels = cast(multi_class_labels, logits.dtype)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.softmax_cross_entropy")
def softmax_cross_entropy(
    logits: Any, onehot_labels: Any, weights: TensorLike = 1.0, label_smoothing: float = 0, scope: str | None = None
) -> Tensor:
    """The mean of the cross entropy of label distributions [batch, classes] with softmax(logits); see `compute_weighted_loss`.

    Labels move towards 1/classes by the share `label_smoothing`.
    """
    with name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as scope:
        logits.shape.assert_is_compatible_with(onehot_labels.shape)
        labels = cast(onehot_labels, logits.dtype)
        if label_smoothing > 0:
            classes = cast(shape(labels)[1], logits.dtype)
            added = label_smoothing / classes
            labels = labels * (1.0 - label_smoothing) + added
        losses = softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(logits: TensorLike, labels: TensorLike, weights: TensorLike = 1.0, scope: str | None = None) -> Tensor:
    """The mean of the cross entropy of classes [batch] or [batch, 1] with softmax(logits); see `compute_weighted_loss`."""
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as scope:
        labels = reshape(labels, shape=[shape(labels)[0]])
        losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.log_loss")
def log_loss(
    predictions: Any, labels: Any = None, weights: TensorLike = 1.0, epsilon: float = 1e-7, scope: str | None = None
) -> Tensor:
    """The mean of -labels log(predictions + epsilon) - (1 - labels) log(1 - predictions + epsilon); see `compute_weighted_loss`."""
    with name_scope(scope, "log_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _floats(predictions, labels)
        of_true = -multiply(labels, log(predictions + epsilon))
        losses = of_true - multiply(1 - labels, log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, scope=scope)


@export("contrib.losses.hinge_loss")
def hinge_loss(logits: Any, labels: Any = None, scope: str | None = None) -> Tensor:
    """max(0, 1 - (2 labels - 1) logits) for labels 0 and 1: a tensor of the shape of `logits`, in no collection."""
    with name_scope(scope, "hinge_loss", [logits, labels]) as scope:
        logits.shape.assert_is_compatible_with(labels.shape)
        labels = cast(labels, dtypes.float32)
        all_ones = ones_like(labels)
        labels = subtract(2 * labels, all_ones)
        return relu(subtract(all_ones, multiply(labels, logits)))


@export("contrib.losses.mean_squared_error")
def mean_squared_error(predictions: Any, labels: Any = None, weights: TensorLike = 1.0, scope: str | None = None) -> Tensor:
    """The mean of (predictions - labels)^2; the other arguments are those of `compute_weighted_loss`."""
    with name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as scope:
        predictions, labels = _floats(predictions, labels)
        return compute_weighted_loss(squared_difference(predictions, labels), weights, scope=scope)


@export("contrib.losses.mean_pairwise_squared_error")
def mean_pairwise_squared_error(
    predictions: Any, labels: Any = None, weights: TensorLike = 1.0, scope: str | None = None
) -> Tensor:
    """The squared differences between the pairwise differences of predictions and of labels within each example.

    The other arguments are those of `compute_weighted_loss`.
    """
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]) as scope:
        predictions, labels = _floats(predictions, labels)
        weights = cast(convert_to_tensor(weights), dtypes.float32)
        differences = subtract(predictions, labels)
        _require_ranks(diffs=differences, weights=weights)
        axes = list(range(1, differences.shape.ndims))
        sum_of_squares = reduce_sum(square(differences), axis=axes)
        count = _num_present(differences, weights, per_batch=True)
        first = 2.0 * div_no_nan(sum_of_squares, count, name="value")
        total = reduce_sum(differences, axis=axes)
        second = 2.0 * div_no_nan(square(total), square(count), name="value")
        loss = _scaled_sum(first - second, weights)
        loss = where(reduce_sum(count) > 0, loss, zeros_like(loss), name="value")
        add_loss(loss)
        return loss


@export("contrib.losses.cosine_distance")
def cosine_distance(
    predictions: Any, labels: Any = None, axis: int | None = None, weights: TensorLike = 1.0, scope: str | None = None,
    dim: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of 1 less the sum of predictions * labels along `axis`, both of unit length; see `compute_weighted_loss`.

    Raises:
      ValueError: `axis` (or its old name `dim`) is missing, or shapes differ.
    """
    axis = deprecated_argument_lookup("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _floats(predictions, labels)
        losses = 1 - reduce_sum(multiply(predictions, labels), axis=[axis])
        return compute_weighted_loss(losses, weights, scope=scope)
