"""tf.losses: losses of predictions, weighted, reduced and collected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import control_dependencies, get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses.collected import add_loss
from tfcompat._src.losses.weights import squeeze_weights
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import stop_gradient
from tfcompat._src.ops.array.fill import ones_like, zeros_like
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import rank, shape, size
from tfcompat._src.ops.composed.confusion_matrix import remove_squeezable_dimensions
from tfcompat._src.ops.composed.weights_broadcast import assert_broadcastable, broadcast_weights
from tfcompat._src.ops.math import binary, unary
from tfcompat._src.ops.math.binary import div_no_nan, multiply, subtract
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.ops.nn.loss import sigmoid_cross_entropy_with_logits
from tfcompat._src.ops.nn.softmax import softmax_cross_entropy_with_logits_v2, sparse_softmax_cross_entropy_with_logits

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("losses.Reduction")
class Reduction:
    """How weighted losses become one number."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Every reduction."""
        return (
            cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )  # fmt: skip

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError where `key` is no reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


_BY_NONZERO = Reduction.SUM_BY_NONZERO_WEIGHTS


def _num_elements(losses: Tensor) -> Tensor:
    with name_scope(None, "num_elements", values=[losses]) as scope:
        return cast(size(losses, name=scope), dtype=losses.dtype)


def _num_present(losses: Tensor, weights: TensorLike, per_batch: bool = False) -> Tensor:
    """The number of losses whose weight is not 0, in all or for each row."""
    if isinstance(weights, float) and weights != 0.0:
        return _num_elements(losses)
    with name_scope(None, "num_present", (losses, weights)) as scope:
        weights = cast(weights, dtype=dtypes.float32)
        present = where(equal(weights, 0.0), zeros_like(weights), ones_like(weights))
        present = broadcast_weights(present, losses)
        if per_batch:
            return reduce_sum(present, axis=arange(1, rank(present)), keepdims=True, name=scope)
        return reduce_sum(present, name=scope)


def _safe_mean(losses: Tensor, num_present: Tensor) -> Tensor:
    return div_no_nan(reduce_sum(losses), num_present, name="value")


@export("losses.compute_weighted_loss")
def compute_weighted_loss(
    losses, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_NONZERO
) -> Tensor:
    """Weights `losses`, reduces them and collects the result.

    Args:
      losses: Tensor [batch, ...].
      weights: scalar, or a tensor of the same rank whose dimensions are 1 or those of `losses`.
      scope: name scope.
      loss_collection: collection that the result joins, or None.
      reduction: one of tf.losses.Reduction; by default the sum over the number of weights that are not 0.

    Returns:
      a scalar of the losses' dtype; with Reduction.NONE a tensor of their shape.

    Raises:
      ValueError: the weights cannot be broadcast to the losses, or the reduction is unknown.
    """
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", (losses, weights)):
        get_default_graph()._last_loss_reduction = reduction
        with control_dependencies((assert_broadcastable(weights, losses),)):
            losses = convert_to_tensor(losses)
            input_dtype = losses.dtype
            losses, weights = cast(losses, dtype=dtypes.float32), cast(weights, dtype=dtypes.float32)
            loss = multiply(losses, weights)
            if reduction != Reduction.NONE:
                loss = reduce_sum(loss)
            if reduction == Reduction.MEAN:
                loss = _safe_mean(loss, reduce_sum(ones_like(losses) * weights))
            elif reduction == Reduction.SUM_BY_NONZERO_WEIGHTS:
                loss = _safe_mean(loss, _num_present(losses, weights))
            elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                loss = _safe_mean(loss, _num_elements(losses))
            loss = cast(loss, input_dtype)
            add_loss(loss, loss_collection)
            return loss


def _require(**values: object) -> None:
    for name, value in values.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def _as_floats(predictions: object, labels: object) -> tuple[Tensor, Tensor]:
    """Both as float32; ValueError where their shapes differ."""
    predictions, labels = cast(predictions, dtype=dtypes.float32), cast(labels, dtype=dtypes.float32)
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    return predictions, labels


@export("losses.absolute_difference")
def absolute_difference(
    labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_NONZERO
) -> Tensor:
    """The mean of |predictions - labels|; the other arguments are those of `compute_weighted_loss`."""
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "absolute_difference", (predictions, labels, weights)) as scope:
        predictions, labels = _as_floats(predictions, labels)
        losses = unary.absolute(subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.cosine_distance")
def cosine_distance(
    labels,
    predictions,
    axis=None,
    weights=1.0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=_BY_NONZERO,
    dim=None,
) -> Tensor:
    """1 less the sum of predictions * labels along `axis`, both of unit length; see `compute_weighted_loss`.

    Raises:
      ValueError: `axis` (or its old name `dim`) is missing, or shapes differ.
    """
    axis = deprecated_argument_lookup("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "cosine_distance_loss", (predictions, labels, weights)) as scope:
        predictions, labels = _as_floats(predictions, labels)
        losses = 1 - reduce_sum(multiply(predictions, labels), axis=(axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.hinge_loss")
def hinge_loss(
    labels, logits, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_NONZERO
) -> Tensor:
    """The mean of max(0, 1 - (2 labels - 1) logits), for labels 0 and 1; see `compute_weighted_loss`."""
    _require(labels=labels, logits=logits)
    with name_scope(scope, "hinge_loss", (logits, labels, weights)) as scope:
        logits, labels = _as_floats(logits, labels)
        all_ones = ones_like(labels)
        labels = subtract(2 * labels, all_ones)
        losses = relu(subtract(all_ones, multiply(labels, logits)))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


def huber(predictions: Tensor, labels: Tensor, delta: float) -> Tensor:
    """error^2 / 2, linear where |error| > delta, for each element."""
    error = unary.absolute(subtract(predictions, labels))
    quadratic = binary.minimum(error, delta)
    linear = subtract(error, quadratic)
    half = convert_to_tensor(0.5, dtype=quadratic.dtype)
    return binary.add(multiply(half, multiply(quadratic, quadratic)), multiply(delta, linear))


@export("losses.huber_loss")
def huber_loss(
    labels, predictions, weights=1.0, delta=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_NONZERO
) -> Tensor:
    """The mean of error^2 / 2, linear where |error| > delta (Huber 1964); see `compute_weighted_loss`."""
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "huber_loss", (predictions, labels, weights)) as scope:
        predictions, labels = _as_floats(predictions, labels)
        losses = huber(predictions, labels, delta)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.log_loss")
def log_loss(
    labels, predictions, weights=1.0, epsilon=1e-7, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_NONZERO
) -> Tensor:
    """The cross entropy of probabilities, epsilon added inside the logarithms; see `compute_weighted_loss`."""
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "log_loss", (predictions, labels, weights)) as scope:
        predictions, labels = _as_floats(predictions, labels)
        positive = -multiply(labels, unary.log(predictions + epsilon))
        losses = positive - multiply(1 - labels, unary.log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.mean_squared_error")
def mean_squared_error(
    labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_NONZERO
) -> Tensor:
    """The mean of (predictions - labels)^2; the other arguments are those of `compute_weighted_loss`."""
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_squared_error", (predictions, labels, weights)) as scope:
        predictions, labels = _as_floats(predictions, labels)
        losses = binary.squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.mean_pairwise_squared_error")
def mean_pairwise_squared_error(
    labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES
) -> Tensor:
    """The mean over all pairs of elements of a row of the squared difference of their errors.

    Args:
      labels, predictions: tensors [batch, ...] of one shape.
      weights: scalar or [batch].
      scope: name scope.
      loss_collection: collection that the result joins, or None.

    Returns:
      a scalar float32 Tensor.
    """
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_pairwise_squared_error", (predictions, labels, weights)) as scope:
        weights, labels = cast(weights, dtype=dtypes.float32), cast(labels, dtype=dtypes.float32)
        with control_dependencies((assert_broadcastable(weights, labels),)):
            predictions = cast(predictions, dtype=dtypes.float32)
            predictions.get_shape().assert_is_compatible_with(labels.get_shape())
            diffs = subtract(predictions, labels)
            axis = arange(1, rank(diffs))
            sum_of_squares = reduce_sum(unary.square(diffs), axis=axis, keepdims=True)
            count = _num_present(diffs, weights, per_batch=True)
            term1 = 2.0 * div_no_nan(sum_of_squares, binary.maximum(count - 1, 0), name="value")
            sums = reduce_sum(diffs, axis=axis, keepdims=True)
            squares = unary.square(sums)
            term2 = 2.0 * div_no_nan(squares, binary.maximum(multiply(count, count - 1), 0), name="value")
            loss = reduce_sum(multiply(term1 - term2, weights))
            mean_loss = where(reduce_sum(count) > 0, loss, zeros_like(loss), name="value")
            add_loss(mean_loss, loss_collection)
            return mean_loss


@export("losses.sigmoid_cross_entropy")
def sigmoid_cross_entropy(
    multi_class_labels, logits, weights=1.0, label_smoothing=0, scope=None, loss_collection=GraphKeys.LOSSES,
    reduction=_BY_NONZERO,
) -> Tensor:  # fmt: skip
    """The mean cross entropy of independent classes.

    Args:
      multi_class_labels: 0 or 1 for each class, of the shape of `logits`.
      logits: floating Tensor.
      label_smoothing: how far labels are moved to 0.5.
      weights, scope, loss_collection, reduction: see `compute_weighted_loss`.
    """
    _require(multi_class_labels=multi_class_labels, logits=logits)
    with name_scope(scope, "sigmoid_cross_entropy_loss", (logits, multi_class_labels, weights)) as scope:
        logits = convert_to_tensor(logits)
        labels = cast(multi_class_labels, logits.dtype)
        logits.get_shape().assert_is_compatible_with(labels.get_shape())
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.softmax_cross_entropy")
def softmax_cross_entropy(
    onehot_labels,
    logits,
    weights=1.0,
    label_smoothing=0,
    scope=None,
    loss_collection=GraphKeys.LOSSES,
    reduction=_BY_NONZERO,
) -> Tensor:
    """The mean cross entropy of classes that exclude each other.

    Args:
      onehot_labels: the probability of each class, of the shape of `logits`; no gradient flows to it.
      logits: floating Tensor [..., classes].
      label_smoothing: how far labels are moved to 1 / classes.
      weights, scope, loss_collection, reduction: see `compute_weighted_loss`.
    """
    _require(onehot_labels=onehot_labels, logits=logits)
    with name_scope(scope, "softmax_cross_entropy_loss", (logits, onehot_labels, weights)) as scope:
        logits = convert_to_tensor(logits)
        labels = cast(onehot_labels, logits.dtype)
        logits.get_shape().assert_is_compatible_with(labels.get_shape())
        if label_smoothing > 0:
            classes = cast(shape(labels)[-1], logits.dtype)
            smooth_negatives = label_smoothing / classes
            labels = labels * (1.0 - label_smoothing) + smooth_negatives
        labels = stop_gradient(labels, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export("losses.sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(
    labels, logits, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES, reduction=_BY_NONZERO
) -> Tensor:
    """The mean cross entropy of classes that exclude each other, the true one given as a number.

    Args:
      labels: int32 or int64 Tensor [...] or [..., 1].
      logits: floating Tensor [..., classes].
      weights, scope, loss_collection, reduction: see `compute_weighted_loss`.
    """
    _require(labels=labels, logits=logits)
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", (logits, labels, weights)) as scope:
        labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
        weights = squeeze_weights(labels, weights)
        losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)
