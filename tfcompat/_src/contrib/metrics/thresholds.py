"""tf.contrib.metrics of scores at thresholds."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.metric import collected, fitted, metric_variable
from tfcompat._src.metrics.thresholds import Counts, counts_at, even_thresholds, fitted_counts_at
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.composed.check_ops import assert_greater_equal, assert_less_equal, assert_type
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.binary import div, maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater_equal
from tfcompat._src.ops.math.reduce import argmax, argmin, reduce_max, reduce_sum
from tfcompat._src.ops.math.scan import cumsum
from tfcompat._src.ops.math.sequence import linspace
from tfcompat._src.ops.math.unary import absolute, floor
from tfcompat._src.variables.assign import scatter_add
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_EPSILON = 1e-7
Metric = tuple[Tensor, Tensor]


def counts_at_thresholds(
    predictions: TensorLike, labels: TensorLike, thresholds: object, weights: TensorLike, kinds: str = "tp fn tn fp"
) -> tuple[Counts, Counts]:
    """The variables of counts at thresholds of scores of any range, and the operations that add a batch to them."""
    predictions, labels, weights = fitted(predictions, labels, weights)
    return fitted_counts_at(labels, predictions, thresholds, weights, kinds)


# ---- counts and rates at thresholds ----


def _count(kind: str, what: str) -> Callable:
    def function(predictions, labels, thresholds, weights=None):
        values, updates = counts_at_thresholds(predictions, labels, thresholds, weights, kind)
        return values[kind], updates[kind]

    function.__name__ = function.__qualname__ = f"streaming_{what}_at_thresholds"
    function.__doc__ = f"""The weighted number of {what} at each threshold in all batches.

    Args:
      predictions: float scores; one above a threshold is true.
      labels: tensor of the shape of `predictions`, taken as bool.
      thresholds: list of numbers.
      weights: what each value counts, 1 by default; its shape can be broadcast to that of the values.

    Returns:
      (variable, update_op): float32 vectors; running the second adds a batch and gives the new value.
    """
    return function


streaming_true_positives_at_thresholds = export("contrib.metrics.streaming_true_positives_at_thresholds")(
    _count("tp", "true_positives")
)
streaming_false_negatives_at_thresholds = export("contrib.metrics.streaming_false_negatives_at_thresholds")(
    _count("fn", "false_negatives")
)
streaming_false_positives_at_thresholds = export("contrib.metrics.streaming_false_positives_at_thresholds")(
    _count("fp", "false_positives")
)
streaming_true_negatives_at_thresholds = export("contrib.metrics.streaming_true_negatives_at_thresholds")(
    _count("tn", "true_negatives")
)


def _rate(what: str, short: str, wrong: str, right: str) -> Callable:
    scope = f"{what}_rate_at_thresholds"

    def ratio(counts: Counts, part: str) -> Tensor:
        return div(counts[wrong], _EPSILON + counts[wrong] + counts[right], name=f"{short}_{part}")

    def function(
        predictions, labels, thresholds, weights=None, metrics_collections=None, updates_collections=None, name=None
    ):  # fmt: skip
        with variable_scope(name, scope, (predictions, labels, weights)):
            values, updates = counts_at_thresholds(predictions, labels, thresholds, weights, f"{wrong} {right}")
            value = collected(ratio(values, "value"), metrics_collections)
            return value, collected(ratio(updates, "update_op"), updates_collections)

    function.__name__ = function.__qualname__ = f"streaming_{scope}"
    function.__doc__ = f"""The {what} rate {wrong} / ({wrong} + {right}) at each threshold in all batches.

    Args:
      predictions: float scores; one above a threshold is true.
      labels: tensor of the shape of `predictions`, taken as bool.
      thresholds: list of numbers.
      weights: what each value counts, 1 by default; its shape can be broadcast to that of the values.
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: variable scope.

    Returns:
      (value, update_op): float32 vectors; running the second adds a batch and gives the new value.
    """
    return function


streaming_false_positive_rate_at_thresholds = export("contrib.metrics.streaming_false_positive_rate_at_thresholds")(
    _rate("false_positive", "fpr", "fp", "tn")
)
streaming_false_negative_rate_at_thresholds = export("contrib.metrics.streaming_false_negative_rate_at_thresholds")(
    _rate("false_negative", "fnr", "fn", "tp")
)


@export("contrib.metrics.streaming_curve_points")
def streaming_curve_points(
    labels: TensorLike | None = None, predictions: TensorLike | None = None, weights: TensorLike | None = None, num_thresholds: int = 200,
    metrics_collections: object = None, updates_collections: object = None, curve: str = "ROC", name: str | None = None,
) -> Metric:  # fmt: skip
    """The points of the ROC or precision-recall curve at evenly spaced thresholds.

    Args:
      labels: tensor of the shape of `predictions`, taken as bool.
      predictions: float scores in [0, 1].
      weights: what each value counts, 1 by default; its shape can be broadcast to that of the values.
      num_thresholds: number of thresholds.
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      curve: "ROC" (false positive rate, recall) or "PR" (recall, precision).
      name: variable scope.

    Returns:
      (points, update_op): float32 [num_thresholds, 2], and the operation that adds a batch.

    Raises:
      ValueError: `curve` is another.
    """
    with variable_scope(name, "curve_points", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        values, updates = counts_at_thresholds(predictions, labels, even_thresholds(num_thresholds), weights)
        epsilon = 1e-6
        recall = div(values["tp"] + epsilon, values["tp"] + values["fn"] + epsilon)
        if curve == "ROC":
            x, y = div(values["fp"], values["fp"] + values["tn"] + epsilon), recall
        else:
            x, y = recall, div(values["tp"] + epsilon, values["tp"] + values["fp"] + epsilon)
        points = stack([x, y], axis=1)
        update = group(*updates.values())
        return collected(points, metrics_collections), collected(update, updates_collections)


# ---- one share where the other has a value ----


def _recall_at(counts: Counts, precision: float, name: str, strict_mode: bool) -> Tensor:
    tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
    precisions = div(tp, tp + fp + _EPSILON)

    def recall_at(place: Tensor) -> Tensor:
        return div(tp[place], tp[place] + fn[place] + _EPSILON, name)

    if not strict_mode:
        return recall_at(argmin(absolute(precisions - precision), 0, output_type=dtypes.int32))
    place = argmax(div(1.0, precisions - precision + _EPSILON), 0, output_type=dtypes.int32)
    return cond(precisions[place] >= precision, lambda: recall_at(place), lambda: 0.0)


@export("contrib.metrics.recall_at_precision")
def recall_at_precision(
    labels: TensorLike, predictions: TensorLike, precision: float, weights: TensorLike | None = None, num_thresholds: int = 200,
    metrics_collections: object = None, updates_collections: object = None, name: str | None = None,
    strict_mode: bool = False,
) -> Metric:  # fmt: skip
    """The recall at the threshold whose precision is nearest to `precision`.

    Args:
      labels: tensor of the shape of `predictions`, taken as bool.
      predictions: float scores in [0, 1].
      precision: number in [0, 1].
      weights: what each value counts, 1 by default; its shape can be broadcast to that of the values.
      num_thresholds: number of evenly spaced thresholds.
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: variable scope.
      strict_mode: whether the precision must not be below `precision`; the recall is 0 where none is as large.

    Returns:
      (value, update_op): scalars float32; running the second adds a batch and gives the new value.

    Raises:
      ValueError: `precision` is outside [0, 1], or shapes do not fit.
    """
    if not 0 <= precision <= 1:
        raise ValueError("`precision` must be in the range [0, 1].")
    with variable_scope(name, "recall_at_precision", (predictions, labels, weights)):
        values, updates = counts_at_thresholds(predictions, labels, even_thresholds(num_thresholds), weights)
        value = collected(_recall_at(values, precision, "value", strict_mode), metrics_collections)
        return value, collected(_recall_at(updates, precision, "update_op", strict_mode), updates_collections)


def _precision_at(counts: Counts, target: float, name: str) -> Tensor:
    tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
    recalls = div(tp, tp + fn + _EPSILON)
    place = reduce_sum(cast(greater_equal(recalls, target), dtypes.int64)) - 1
    return div(tp[place] + _EPSILON, tp[place] + fp[place] + _EPSILON, name)


@export("contrib.metrics.precision_at_recall")
def precision_at_recall(
    labels: TensorLike, predictions: TensorLike, target_recall: float, weights: TensorLike | None = None, num_thresholds: int = 200,
    metrics_collections: object = None, updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The precision at the largest threshold whose recall is at least `target_recall`, a number in [0, 1].

    The other arguments, the result and the errors are those of `recall_at_precision`.
    """
    if target_recall < 0 or target_recall > 1:
        raise ValueError("`target_recall` must be in the range [0, 1].")
    with variable_scope(name, "precision_at_recall", (predictions, labels, weights)):
        values, updates = counts_at_thresholds(predictions, labels, even_thresholds(num_thresholds), weights)
        value = collected(_precision_at(values, target_recall, "value"), metrics_collections)
        return value, collected(_precision_at(updates, target_recall, "update_op"), updates_collections)


def _best_f1(counts: Counts, name: str) -> Tensor:
    precision = div(counts["tp"], _EPSILON + counts["tp"] + counts["fp"], name="precision_" + name)
    recall = div(counts["tp"], _EPSILON + counts["tp"] + counts["fn"], name="recall_" + name)
    return reduce_max(2.0 * precision * recall / (precision + recall + _EPSILON))


@export("contrib.metrics.f1_score")
def f1_score(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, num_thresholds: int = 200, metrics_collections: object = None,
    updates_collections: object = None, name: str | None = None,
) -> Metric:  # fmt: skip
    """The largest F1 score, the harmonic mean of precision and recall, over evenly spaced thresholds.

    Args:
      labels: tensor of the shape of `predictions`, taken as bool.
      predictions: float scores in [0, 1].
      weights: what each value counts, 1 by default; its shape can be broadcast to that of the values.
      num_thresholds: number of thresholds.
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: variable scope.

    Returns:
      (value, update_op): scalars float32; running the second adds a batch and gives the new value.
    """
    with variable_scope(name, "f1", (labels, predictions, weights)):
        predictions, labels, weights = fitted(predictions, labels, weights)
        values, updates = counts_at(labels, predictions, even_thresholds(num_thresholds), weights, "tp fp fn")
        value = collected(_best_f1(values, "value"), metrics_collections)
        return value, collected(_best_f1(updates, "update"), updates_collections)


# ---- counts in buckets of equal width ----

PrecisionRecallData = namedtuple("PrecisionRecallData", "tp fp tn fn precision recall thresholds")


@export("contrib.metrics.precision_recall_at_equal_thresholds")
def precision_recall_at_equal_thresholds(
    labels: TensorLike, predictions: Any, weights: TensorLike | None = None, num_thresholds: int | None = None,
    use_locking: bool | None = None, name: str | None = None,
) -> tuple[PrecisionRecallData, Any]:  # fmt: skip
    """Counts, precision and recall at thresholds i / (num_thresholds - 1), in time independent of their number.

    Args:
      labels: bool Tensor of the shape of `predictions`.
      predictions: float Tensor of scores in [0, 1].
      weights: what each value counts, 1 by default; its shape can be broadcast to that of the values.
      num_thresholds: 201 by default.
      use_locking: whether updates take a lock, by default true.
      name: variable scope.

    Returns:
      (PrecisionRecallData of vectors of the dtype of `predictions`, operation that adds a batch).

    Raises:
      TypeError: labels are not bool. InvalidArgumentError: a run has predictions outside [0, 1].
    """
    count = 201 if num_thresholds is None else num_thresholds
    weights = 1.0 if weights is None else weights
    use_locking = True if use_locking is None else use_locking
    assert_type(labels, dtypes.bool)
    with variable_scope(name, "precision_recall_at_equal_thresholds", (labels, predictions, weights)):
        message = "predictions must be in [0, 1]"
        in_range = [
            assert_greater_equal(predictions, cast(0.0, dtype=predictions.dtype), message=message),
            assert_less_equal(predictions, cast(1.0, dtype=predictions.dtype), message=message),
        ]
        with control_dependencies(in_range):
            predictions, labels, weights = fitted(predictions, labels, weights)
        of_labels, weights = cast(labels, dtypes.float64), cast(weights, dtypes.float64)
        true_labels = of_labels * weights
        false_labels = (1.0 - of_labels) * weights
        predictions = reshape(predictions, [-1])
        true_labels, false_labels = reshape(true_labels, [-1]), reshape(false_labels, [-1])
        buckets = cast(floor(predictions * (count - 1)), dtypes.int32)
        with name_scope("variables"):
            true_counts = metric_variable([count], dtypes.float64, name="tp_buckets")
            false_counts = metric_variable([count], dtypes.float64, name="fp_buckets")
        with name_scope("update_op"):
            new_true = scatter_add(true_counts, buckets, true_labels, use_locking=use_locking)
            new_false = scatter_add(false_counts, buckets, false_labels, use_locking=use_locking)
        tp = cumsum(true_counts, reverse=True, name="tp")
        fp = cumsum(false_counts, reverse=True, name="fp")
        tn, fn = fp[0] - fp, tp[0] - tp
        epsilon = convert_to_tensor(1e-7, dtype=dtypes.float64)
        precision = tp / maximum(epsilon, tp + fp)
        recall = tp / maximum(epsilon, tp + fn)
        found = [cast(each, predictions.dtype) for each in (tp, fp, tn, fn, precision, recall)]
        found.append(cast(linspace(0.0, 1.0, count), predictions.dtype))
        return PrecisionRecallData(*found), group(new_true, new_false)
