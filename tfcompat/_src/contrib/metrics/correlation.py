"""tf.contrib.metrics of two variables: covariance, Pearson correlation, Cohen's kappa; accuracy of one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.metric import collected, fitted, metric_variable
from tfcompat._src.ops.array.diagonal import diag_part
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import size, squeeze
from tfcompat._src.ops.composed.confusion_matrix import confusion_matrix
from tfcompat._src.ops.composed.weights_broadcast import broadcast_weights
from tfcompat._src.ops.math.binary import div, div_no_nan, multiply, truediv
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, less_equal
from tfcompat._src.ops.math.reduce import reduce_mean, reduce_sum
from tfcompat._src.ops.math.unary import sqrt
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Metric = tuple[Tensor, Tensor]


def _moved_mean(mean: TensorLike, weighted: Tensor, batch_count: Tensor, new_count: Tensor) -> tuple[Tensor, Tensor]:
    """(mean of the batch, mean of the batches before it); moves the variable `mean` to the mean of all."""
    batch_mean = div_no_nan(reduce_sum(weighted), batch_count)
    step = div_no_nan((batch_mean - mean) * batch_count, new_count)
    new_mean = assign_add(mean, step)
    return batch_mean, new_mean - step


def _unbiased(comoment: Any, count: Any, name: str) -> Tensor:
    return where(less_equal(count, 1.0), float("nan"), truediv(comoment, count - 1), name=name)


@export("contrib.metrics.streaming_covariance")
def streaming_covariance(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The unbiased sample covariance of predictions and labels in all batches (Chan, Golub and LeVeque 1983).

    Args:
      predictions, labels: float32 tensors of one shape.
      weights: what each pair counts, 1 by default; its shape can be broadcast to that of the labels.
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: variable scope.

    Returns:
      (value, update_op): scalars float32, NaN below two pairs; running the second adds a batch and gives the new value.

    Raises:
      ValueError: the shapes do not fit.
    """
    with variable_scope(name, "covariance", (predictions, labels, weights)):
        predictions, labels, weights = fitted(predictions, labels, weights)
        count, mean_prediction, mean_label, comoment = (
            metric_variable([], dtypes.float32, name=part)
            for part in ("count", "mean_prediction", "mean_label", "comoment")
        )
        if weights is None:
            batch_count = cast(size(labels), dtypes.float32)
            weighted = predictions, labels
        else:
            weights = broadcast_weights(weights, labels)
            batch_count = reduce_sum(weights)
            weighted = multiply(predictions, weights), multiply(labels, weights)
        new_count = assign_add(count, batch_count)
        before = new_count - batch_count
        batch_prediction, old_prediction = _moved_mean(mean_prediction, weighted[0], batch_count, new_count)
        batch_label, old_label = _moved_mean(mean_label, weighted[1], batch_count, new_count)
        residuals = (predictions - batch_prediction) * (labels - batch_label)
        batch_comoment = reduce_sum(residuals if weights is None else residuals * weights)
        between = (old_prediction - batch_prediction) * (old_label - batch_label) * (before * batch_count / new_count)
        new_comoment = assign_add(comoment, batch_comoment + between)
        value = _unbiased(comoment, count, "covariance")
        with control_dependencies([new_comoment]):
            update = _unbiased(comoment, count, "update_op")
    return collected(value, metrics_collections), collected(update, updates_collections)


@export("contrib.metrics.streaming_pearson_correlation")
def streaming_pearson_correlation(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """Pearson's correlation of predictions and labels in all batches; arguments are those of `streaming_covariance`."""
    with variable_scope(name, "pearson_r", (predictions, labels, weights)):
        predictions, labels, weights = fitted(predictions, labels, weights)
        if weights is not None:
            weights = broadcast_weights(weights, labels)
        both = streaming_covariance(predictions, labels, weights=weights, name="covariance")
        of_predictions = streaming_covariance(predictions, predictions, weights=weights, name="variance_predictions")
        of_labels = streaming_covariance(labels, labels, weights=weights, name="variance_labels")
        value, update = (
            truediv(cov, multiply(sqrt(first), sqrt(second)), name=part)
            for cov, first, second, part in zip(both, of_predictions, of_labels, ("pearson_r", "update_op"))
        )
    return collected(value, metrics_collections), collected(update, updates_collections)


def _kappa(agreed: object, rows: Any, columns: Any, name: str) -> Tensor:
    agreement = reduce_sum(agreed)
    total = reduce_sum(rows)
    by_chance = reduce_sum(div_no_nan(cast(rows * columns, dtypes.float64), cast(total, dtypes.float64)))
    agreement, by_chance = cast(agreement, dtypes.float64), cast(by_chance, dtypes.float64)
    total = cast(total, dtypes.float64)
    return div_no_nan(agreement - by_chance, total - by_chance, name=name)


@export("contrib.metrics.cohen_kappa")
def cohen_kappa(
    labels: Any, predictions_idx: TensorLike, num_classes: int, weights: TensorLike | None = None, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """Cohen's kappa (1960): agreement of two raters beyond what chance gives.

    Args:
      labels: integer Tensor [batch] or [batch, 1] of classes.
      predictions_idx: integer Tensor of predicted classes, of the same size.
      num_classes: number of classes, at least 2.
      weights: what each example counts, 1 by default.
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: variable scope.

    Returns:
      (value, update_op): scalars float64; running the second adds a batch and gives the new value.

    Raises:
      ValueError: `num_classes` is below 2, or the shapes do not fit.
    """
    if num_classes < 2:
        raise ValueError(f"`num_classes` must be >= 2.Found: {num_classes}")
    with variable_scope(name, "cohen_kappa", (labels, predictions_idx, weights)):
        labels.shape.with_rank_at_most(2)
        if labels.shape.ndims == 2:
            labels = squeeze(labels, axis=[-1])
        predictions_idx, labels, weights = fitted(predictions_idx, labels, weights)
        dtype = dtypes.int64 if weights is None or weights.dtype.is_integer else dtypes.float32
        variables = [metric_variable((num_classes,), dtype, name=part) for part in ("po", "pe_row", "pe_col")]
        table = confusion_matrix(
            labels, predictions_idx, num_classes=num_classes, weights=weights, dtype=dtype, name="counts_in_table"
        )
        added = diag_part(table), reduce_sum(table, axis=0), reduce_sum(table, axis=1)
        updates = [assign_add(variable, value) for variable, value in zip(variables, added)]
        value, update = _kappa(*variables, name="value"), _kappa(*updates, name="update_op")
        return collected(value, metrics_collections), collected(update, updates_collections)


@export("contrib.metrics.accuracy")
def accuracy(predictions: Any, labels: Any, weights: object = None, name: str | None = None) -> Tensor:
    """The share of predictions that equal labels, in one batch.

    Args:
      predictions, labels: tensors of one shape and dtype: bool, integer or string.
      weights: what each counts, 1 by default.
      name: name scope.

    Returns:
      a float32 scalar.

    Raises:
      ValueError: dtypes differ or are others.
    """
    if not (labels.dtype.is_integer or labels.dtype in (dtypes.bool, dtypes.string)):
        raise ValueError(f"Labels should have bool, integer, or string dtype, not {labels.dtype!r}")
    if not labels.dtype.is_compatible_with(predictions.dtype):
        raise ValueError(
            f"Dtypes of predictions and labels should match. Given: predictions ({predictions.dtype!r}) "
            f"and labels ({labels.dtype!r})"
        )
    with name_scope(name, "accuracy", values=[predictions, labels]):
        correct = cast(equal(predictions, labels), dtypes.float32)
        if weights is None:
            return reduce_mean(correct)
        correct = multiply(correct, weights)
        count = multiply(weights, ones_like(correct))
        return div(reduce_sum(correct), reduce_sum(count))
