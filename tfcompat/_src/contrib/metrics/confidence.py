"""tf.contrib.metrics.auc_with_confidence_intervals: the area under the ROC curve by placement values."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.metrics.concat import require_binary, streaming_concat
from tfcompat._src.distributions.normal import Normal
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.metric import collected, fitted
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import ones_like, zeros, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.reorder import reverse
from tfcompat._src.ops.array.search import unique, where
from tfcompat._src.ops.array.shape import reshape, size
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.binary import squared_difference
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, greater_equal, less, logical_and, logical_or
from tfcompat._src.ops.math.reduce import reduce_max, reduce_min, reduce_sum
from tfcompat._src.ops.math.scan import cumsum
from tfcompat._src.ops.math.segment import segment_sum
from tfcompat._src.ops.math.unary import exp, log, negative, sqrt, square
from tfcompat._src.ops.nn.top_k import top_k
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_EPSILON = 1e-7
AucData = namedtuple("AucData", "auc lower upper")


def _placements(weights: Tensor, groups: Tensor) -> Tensor:
    """For each element, the share of `weights` in groups before its own, half of its own counted."""
    totals = segment_sum(weights, groups)
    before = cumsum(totals, exclusive=True)
    return gather((before + totals / 2.0) / (reduce_sum(totals) + _EPSILON), groups)


def _area_and_deviation(labels: Tensor, predictions: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The area under the curve and its standard error, from placement values (Hanley and Hajian-Tilaki 1997)."""
    count = size(predictions, out_type=dtypes.int32)
    total_0 = reduce_sum(cast(1 - labels, weights.dtype) * weights)
    total_1 = reduce_sum(cast(labels, weights.dtype) * weights)
    ordered, order = top_k(predictions, k=count, sorted=True)
    ordered = reverse(ordered, axis=zeros(1, dtypes.int32))
    order = reverse(order, axis=zeros(1, dtypes.int32))
    labels, weights = gather(labels, order), gather(weights, order)
    _, groups = unique(ordered)
    is_1 = cast(labels, dtypes.float32)
    is_0 = 1.0 - is_1
    placements = _placements(weights * is_0, groups) * is_1 + _placements(weights * is_1, groups) * is_0
    placements_0, weights_0 = placements * is_0, weights * is_0
    placements_1, weights_1 = placements * is_1, weights * is_1
    area_0 = reduce_sum(weights_0 * (1.0 - placements_0)) / (total_0 + _EPSILON)
    area_1 = reduce_sum(weights_1 * placements_1) / (total_1 + _EPSILON)
    area = where(less(total_0, total_1), area_1, area_0)
    variance_0 = reduce_sum(weights_0 * square(1.0 - placements_0 - area_0)) / (total_0 - 1.0 + _EPSILON)
    variance_1 = reduce_sum(weights_1 * squared_difference(placements_1, area_1)) / (total_1 - 1.0 + _EPSILON)
    return area, sqrt(variance_0 / (total_0 + _EPSILON) + variance_1 / (total_1 + _EPSILON))


def _interval(area: Tensor, deviation: Tensor, alpha: float, logit: bool) -> tuple[Tensor, Tensor]:
    z = Normal(loc=0.0, scale=1.0).quantile((1.0 - alpha) / 2.0)
    if not logit:
        return area + z * deviation, area - z * deviation
    estimate = log(area / (1.0 - area + _EPSILON))
    deviation = deviation / (area * (1.0 - area + _EPSILON))

    def probability(x: Tensor) -> Tensor:
        return 1.0 / (1.0 + exp(negative(x)) + _EPSILON)

    return probability(estimate + z * deviation), probability(estimate - z * deviation)


def _auc_data(labels: Tensor, predictions: Tensor, weights: Tensor, alpha: float, logit: bool, is_valid: Tensor) -> AucData:
    area, deviation = _area_and_deviation(labels, predictions, weights)
    ends = [
        where(logical_or(equal(area, ones_like(area)), equal(area, zeros_like(area))), area, end)
        for end in _interval(area, deviation, alpha, logit)
    ]
    trivial = constant(0.0)
    return AucData(*cond(is_valid, lambda: [area, *ends], lambda: [trivial] * 3))


@export("contrib.metrics.auc_with_confidence_intervals")
def auc_with_confidence_intervals(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, alpha: float = 0.95, logit_transformation: bool = True,
    metrics_collections: object = (), updates_collections: object = (), name: str | None = None,
) -> tuple[AucData, Any]:  # fmt: skip
    """The area under the ROC curve of all scores seen, with a confidence interval.

    Args:
      labels: tensor of 0 and 1.
      predictions: float scores of the shape of `labels`.
      weights: what each score counts, 1 by default.
      alpha: confidence level in (0, 1).
      logit_transformation: whether the interval is one of the logit, so that it lies in [0, 1].
      metrics_collections, updates_collections: names of collections for the value and the update operation.
      name: variable scope.

    Returns:
      (AucData(auc, lower, upper) of float32 scalars, 0 where a class is missing; operation that adds a batch).

    Raises:
      ValueError: `alpha` is out of range, or shapes differ. InvalidArgumentError: a run has other labels.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; currently {alpha:.02f}")
    if weights is None:
        weights = ones_like(predictions)
    with variable_scope(
        name, default_name="auc_with_confidence_intervals", values=[labels, predictions, weights]
    ):
        predictions, labels, weights = fitted(predictions, labels, weights)
        total = reduce_sum(weights)
        weights = reshape(weights, [-1])
        predictions = reshape(cast(predictions, dtypes.float64), [-1])
        labels = reshape(cast(labels, dtypes.int64), [-1])
        with control_dependencies(require_binary(labels)):
            all_predictions, new_predictions = streaming_concat(predictions, name="concat_preds")
            all_labels, new_labels = streaming_concat(labels, name="concat_labels")
            all_weights, new_weights = streaming_concat(weights, name="concat_weights")
            append = group(new_labels, new_predictions, new_weights)
            has_both = logical_and(equal(reduce_min(labels), 0), equal(reduce_max(labels), 1))
            is_enough = greater_equal(total, 1.0)
            is_valid = logical_and(has_both, is_enough)
            update = cond(is_enough, lambda: append, no_op)
            value = _auc_data(all_labels, all_predictions, all_weights, alpha, logit_transformation, is_valid)
            update = collected(update, updates_collections)
            return collected(value, metrics_collections), update
