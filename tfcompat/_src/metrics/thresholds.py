"""tf.metrics of scores: counts, precision and recall at thresholds, and the area under a curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.metric import aggregated, collected, fitted, graph_only, metric_variable
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.join import stack, tile
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.composed.check_ops import assert_greater_equal, assert_less_equal
from tfcompat._src.ops.composed.weights_broadcast import broadcast_weights
from tfcompat._src.ops.math.binary import div, div_no_nan, maximum, minimum, multiply
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, greater, logical_and, logical_not
from tfcompat._src.ops.math.reduce import argmax, argmin, reduce_min, reduce_sum
from tfcompat._src.ops.math.scan import cumsum
from tfcompat._src.ops.math.unary import absolute
from tfcompat._src.platform import logging
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_EPSILON = 1e-7
_KINDS = {
    "tp": ("true_positives", True, True), "fn": ("false_negatives", True, False),
    "tn": ("true_negatives", False, False), "fp": ("false_positives", False, True),
}  # fmt: skip
Counts = dict[str, Any]


def even_thresholds(count: int, last: float = 1.0 + _EPSILON) -> list[float]:
    """`count` thresholds over [0, 1], the first just below it."""
    return [-_EPSILON, *((i + 1) * 1.0 / (count - 1) for i in range(count - 2)), last]


def counts_at(labels: object, predictions: Any, thresholds: object, weights: TensorLike, kinds: str = "tp fn tn fp") -> tuple[Counts, Counts]:
    """`fitted_counts_at` of scores and labels of any dtype and fitting shapes.

    Raises:
      InvalidArgumentError: in a run with predictions outside [0, 1].
    """
    in_range = [
        assert_greater_equal(
            predictions, cast(0.0, dtype=predictions.dtype), message="predictions must be in [0, 1]"
        ),
        assert_less_equal(predictions, cast(1.0, dtype=predictions.dtype), message="predictions must be in [0, 1]"),
    ]
    with control_dependencies(in_range):
        predictions, labels, weights = fitted(
            cast(predictions, dtypes.float32), cast(labels, dtypes.bool), weights
        )
    return fitted_counts_at(labels, predictions, thresholds, weights, kinds)


def fitted_counts_at(
    labels: object, predictions: TensorLike, thresholds: Any, weights: TensorLike, kinds: str = "tp fn tn fp"
) -> tuple[Counts, Counts]:
    """The variables of the counts of `kinds` at thresholds, and the operations that add a batch to them."""
    wanted, count = kinds.split(), len(thresholds)
    column, row = reshape(predictions, [-1, 1]), reshape(cast(labels, dtypes.bool), [1, -1])
    examples = column.shape.as_list()[0]
    if examples is None:
        examples = shape(column)[0]
    tiled_thresholds = tile(expand_dims(constant(thresholds), [1]), stack([1, examples]))
    predicted = {True: greater(tile(transpose(column), [count, 1]), tiled_thresholds)}
    if "fn" in wanted or "tn" in wanted:
        predicted[False] = logical_not(predicted[True])
    labelled = {True: tile(row, [count, 1])}
    if "fp" in wanted or "tn" in wanted:
        labelled[False] = logical_not(labelled[True])
    tiled_weights = None
    if weights is not None:
        weights = broadcast_weights(cast(weights, dtypes.float32), predictions)
        tiled_weights = tile(reshape(weights, [1, -1]), [count, 1])
        tiled_thresholds.shape.assert_is_compatible_with(tiled_weights.shape)
    values, updates = {}, {}
    for kind, (name, label, prediction) in _KINDS.items():
        if kind not in wanted:
            continue
        values[kind] = metric_variable([count], dtypes.float32, name=name)
        matching = cast(logical_and(labelled[label], predicted[prediction]), dtypes.float32)
        if tiled_weights is not None:
            matching = matching * tiled_weights
        updates[kind] = assign_add(values[kind], reduce_sum(matching, 1))
    return values, updates


# ---- counts, precision and recall at thresholds ----


def _count_at_thresholds(kind: str) -> Callable:
    """The public metric of one kind of count."""
    scope, label, prediction = _KINDS[kind]

    def function(
        labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None, name=None
    ):  # fmt: skip
        with variable_scope(name, scope, (predictions, labels, weights)):
            values, updates = counts_at(labels, predictions, thresholds, weights, kind)
            value = aggregated(lambda: raw.Identity(values[kind]), metrics_collections)
            return value, collected(updates[kind], updates_collections)

    function.__name__ = function.__qualname__ = f"{scope}_at_thresholds"
    function.__doc__ = f"""The weighted number of {label} labels whose prediction is {prediction} at each threshold.

    Args:
      labels: the true values, taken as bool.
      predictions: scores in [0, 1], of the shape of `labels`.
      thresholds: list of numbers; a score above one is true.
      weights: what each value counts, 1 by default; its shape can be broadcast to that of the values.
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: variable scope.

    Returns:
      (value, update_op): float32 vectors; running the second adds a batch and gives the new value.

    Raises:
      ValueError: the shapes do not fit. InvalidArgumentError: a run has predictions outside [0, 1].
    """
    return graph_only(function)


true_positives_at_thresholds = export("metrics.true_positives_at_thresholds")(_count_at_thresholds("tp"))
true_negatives_at_thresholds = export("metrics.true_negatives_at_thresholds")(_count_at_thresholds("tn"))
false_positives_at_thresholds = export("metrics.false_positives_at_thresholds")(_count_at_thresholds("fp"))
false_negatives_at_thresholds = export("metrics.false_negatives_at_thresholds")(_count_at_thresholds("fn"))


def _share_at_thresholds(name: str, missed: str) -> Callable:
    """The public metric true positives / (true positives + `missed`) at thresholds."""
    default_scope = f"{name}_at_thresholds"

    def ratio(counts: Counts, part: str) -> Tensor:
        return div(counts["tp"], _EPSILON + counts["tp"] + counts[missed], name=f"{function.kind}_{part}")

    def function(
        labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None, name=None
    ):  # fmt: skip
        with variable_scope(name, default_scope, (predictions, labels, weights)):
            values, updates = counts_at(labels, predictions, thresholds, weights, f"tp {missed}")
            value = aggregated(lambda: ratio(values, "value"), metrics_collections)
            return value, collected(ratio(updates, "update_op"), updates_collections)

    function.kind = name
    function.__name__ = function.__qualname__ = default_scope
    function.__doc__ = f"""The {name} at each threshold; arguments, result and errors are those of `true_positives_at_thresholds`."""
    return graph_only(function)


precision_at_thresholds = export("metrics.precision_at_thresholds")(_share_at_thresholds("precision", "fp"))
recall_at_thresholds = export("metrics.recall_at_thresholds")(_share_at_thresholds("recall", "fn"))


# ---- one rate where the other has a value ----


def _fraction(indices: object, hit: Any, missed: Any, name: str) -> Tensor:
    at = cast(indices, dtypes.int32)
    return div(hit[at], hit[at] + missed[at] + _EPSILON, name)


def _sensitivity(counts: Counts, specificity: float, name: str) -> Tensor:
    found = div(counts["tn"], counts["tn"] + counts["fp"] + _EPSILON)
    return _fraction(argmin(absolute(found - specificity), 0), counts["tp"], counts["fn"], name)


def _specificity(counts: Counts, sensitivity: float, name: str) -> Tensor:
    found = div(counts["tp"], counts["tp"] + counts["fn"] + _EPSILON)
    least = reduce_min(absolute(found - sensitivity))
    is_least = equal(absolute(found - sensitivity), least)
    last = argmax(cumsum(cast(is_least, dtypes.int64)), 0)
    return _fraction(last, counts["tn"], counts["fp"], name)


def _rate_at(
    scope: str, compute: Callable, thresholds: list[float], labels: object, predictions: TensorLike, given: float, weights: TensorLike,
    metrics_collections: object, updates_collections: object, name: str | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    with variable_scope(name, scope, (predictions, labels, weights)):
        values, updates = counts_at(labels, predictions, thresholds, weights)
        value = aggregated(lambda: compute(values, given, "value"), metrics_collections)
        return value, collected(compute(updates, given, "update_op"), updates_collections)


@export("metrics.sensitivity_at_specificity")
@graph_only
def sensitivity_at_specificity(
    labels: object, predictions: TensorLike, specificity: float, weights: TensorLike | None = None, num_thresholds: int = 200,
    metrics_collections: object = None, updates_collections: object = None, name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """TP / (TP + FN) at the threshold where TN / (TN + FP) is nearest to `specificity`, a number in [0, 1].

    Other arguments, the result (scalars) and errors are those of `auc`; ValueError for another `specificity`.
    """
    if not 0 <= specificity <= 1:
        raise ValueError("`specificity` must be in the range [0, 1].")
    return _rate_at(
        "sensitivity_at_specificity", _sensitivity, even_thresholds(num_thresholds), labels, predictions, specificity,
        weights, metrics_collections, updates_collections, name,
    )  # fmt: skip


@export("metrics.specificity_at_sensitivity")
@graph_only
def specificity_at_sensitivity(
    labels: object, predictions: TensorLike, sensitivity: float, weights: TensorLike | None = None, num_thresholds: int = 200,
    metrics_collections: object = None, updates_collections: object = None, name: str | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """TN / (TN + FP) at the threshold where TP / (TP + FN) is nearest to `sensitivity`, a number in [0, 1].

    Other arguments, the result (scalars) and errors are those of `auc`; ValueError for another `sensitivity`.
    """
    if not 0 <= sensitivity <= 1:
        raise ValueError("`sensitivity` must be in the range [0, 1].")
    return _rate_at(
        "specificity_at_sensitivity", _specificity, even_thresholds(num_thresholds, 1.0 - _EPSILON), labels,
        predictions, sensitivity, weights, metrics_collections, updates_collections, name,
    )  # fmt: skip


# ---- area under a curve ----


def _interpolated_pr_area(counts: Counts, last: int) -> Tensor:
    """Davis and Goadrich, "The relationship between precision-recall and ROC curves", 2006: between two thresholds
    true positives and predicted positives change in one ratio."""
    tp, fp, fn = counts["tp"], counts["fp"], counts["fn"]
    step = tp[:last] - tp[1:]
    p = tp + fp
    slope = div_no_nan(step, maximum(p[:last] - p[1:], 0), name="prec_slope")
    intercept = tp[1:] - multiply(slope, p[1:])
    are_positive = logical_and(p[:last] > 0, p[1:] > 0)
    ratio = div_no_nan(p[:last], maximum(p[1:], 0), name="recall_relative_ratio")
    safe_ratio = where(are_positive, ratio, ones_like(p[1:]))
    area = slope * (step + intercept * raw.Log(safe_ratio))
    increments = div_no_nan(area, maximum(tp[1:] + fn[1:], 0), name="pr_auc_increment")
    return reduce_sum(increments, name="interpolate_pr_auc")


_HEIGHTS = {
    "trapezoidal": lambda y, last: (y[:last] + y[1:]) / 2.0,
    "careful_interpolation": lambda y, last: (y[:last] + y[1:]) / 2.0,
    "minoring": lambda y, last: minimum(y[:last], y[1:]),
    "majoring": lambda y, last: maximum(y[:last], y[1:]),
}


def _area(counts: Counts, curve: str, method: str, last: int, name: str) -> Tensor:
    epsilon = 1e-6
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated_pr_area(counts, last)
    if curve == "PR" and method == "trapezoidal":
        logging.warning(
            "Trapezoidal rule is known to produce incorrect PR-AUCs; "
            'please switch to "careful_interpolation" instead.'
        )
    recall = div(counts["tp"] + epsilon, counts["tp"] + counts["fn"] + epsilon)
    if curve == "ROC":
        x, y = div(counts["fp"], counts["fp"] + counts["tn"] + epsilon), recall
    else:
        x, y = recall, div(counts["tp"] + epsilon, counts["tp"] + counts["fp"] + epsilon)
    if method not in _HEIGHTS:
        raise ValueError(f"Invalid summation_method: {method}")
    return reduce_sum(multiply(x[:last] - x[1:], _HEIGHTS[method](y, last)), name=name)


@export("metrics.auc")
@graph_only
def auc(
    labels: object, predictions: TensorLike, weights: TensorLike | None = None, num_thresholds: int = 200, metrics_collections: object = None,
    updates_collections: object = None, curve: str = "ROC", name: str | None = None,
    summation_method: str = "trapezoidal", thresholds: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The area under the ROC or precision-recall curve, from counts at thresholds.

    Args:
      labels: the true values, taken as bool.
      predictions: scores in [0, 1], of the shape of `labels`.
      weights: what each value counts, 1 by default; its shape can be broadcast to that of the values.
      num_thresholds: number of thresholds, evenly over [0, 1].
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      curve: "ROC" or "PR".
      name: variable scope.
      summation_method: "trapezoidal", "careful_interpolation" (for PR), "minoring" or "majoring".
      thresholds: list of numbers in place of `num_thresholds`.

    Returns:
      (value, update_op): scalars float32; running the second adds a batch and gives the new value.

    Raises:
      ValueError: the shapes do not fit, or `curve` or `summation_method` is another.
      InvalidArgumentError: a run has predictions outside [0, 1].
    """
    with variable_scope(name, "auc", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        if thresholds is None:
            thresholds = even_thresholds(num_thresholds)
        else:
            thresholds = [-_EPSILON, *sorted(thresholds), 1.0 + _EPSILON]
        last = len(thresholds) - 1
        values, updates = counts_at(labels, predictions, thresholds, weights)
        value = aggregated(lambda: _area(values, curve, summation_method, last, "value"), metrics_collections)
        return value, collected(_area(updates, curve, summation_method, last, "update_op"), updates_collections)
