"""What metrics share: how they are wrapped and reduced, and the counts of a confusion matrix at thresholds."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.distribute.default_strategy import (
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.utils.generic_utils import to_list
from tfcompat._src.keras.utils.losses_utils import squeeze_or_expand_dimensions
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.join import stack, tile
from tfcompat._src.ops.array.shape import expand_dims, reshape, size
from tfcompat._src.ops.composed.check_ops import assert_greater_equal, assert_less_equal
from tfcompat._src.ops.composed.weights_broadcast import broadcast_weights
from tfcompat._src.ops.control.groups import group, with_dependencies
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater, logical_and, logical_not
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.nn.top_k import top_k as largest
from tfcompat._src.ops.ragged.partition import assert_splits_match
from tfcompat._src.ops.ragged.tensor import RaggedTensor

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

NEG_INF = -1e10


class Reduction(enum.Enum):
    """How a metric reduces values: their sum, over their number, or over the sum of their weights."""

    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"
    WEIGHTED_MEAN = "weighted_mean"


class ConfusionMatrix(enum.Enum):
    """The four counts of a binary classification."""

    TRUE_POSITIVES = "tp"
    FALSE_POSITIVES = "fp"
    TRUE_NEGATIVES = "tn"
    FALSE_NEGATIVES = "fn"


class AUCCurve(enum.Enum):
    """True positives over false ones (ROC), or precision over recall (PR)."""

    ROC = "ROC"
    PR = "PR"

    @staticmethod
    def from_str(key: str) -> AUCCurve:
        """The curve of a name; ValueError where it is unknown."""
        if key in ("pr", "PR"):
            return AUCCurve.PR
        if key in ("roc", "ROC"):
            return AUCCurve.ROC
        raise ValueError(f'Invalid AUC curve value "{key}".')


class AUCSummationMethod(enum.Enum):
    """Which height a slice below the curve has: in the middle, the larger or the smaller one."""

    INTERPOLATION = "interpolation"
    MAJORING = "majoring"
    MINORING = "minoring"

    @staticmethod
    def from_str(key: str) -> AUCSummationMethod:
        """The method of a name; ValueError where it is unknown."""
        for method in AUCSummationMethod:
            if key in (method.value, method.value.capitalize()):
                return method
        raise ValueError(f'Invalid AUC summation method value "{key}".')


# ---- updates and results ----


def update_state_wrapper(update_state_fn: Callable) -> Callable:
    """A method that notes the update which `update_state_fn` makes."""

    @functools.wraps(update_state_fn)
    def wrapped(metric_obj: Any, *args: Any, **kwargs: Any) -> Any:
        update = update_state_fn(*args, **kwargs)
        if update is not None:
            metric_obj.add_update(update)
        return update

    return wrapped


def result_wrapper(result_fn: Callable) -> Callable:
    """A method that gives the result for all replicas together."""

    def merged(distribution: Any, merge_fn: Any, *args: Any) -> Tensor:
        return identity(distribution.experimental_local_results(merge_fn)[0](*args))

    @functools.wraps(result_fn)
    def wrapped(metric_obj: Any, *args: Any) -> Tensor:
        replica = get_replica_context()
        if has_strategy() and replica is not None:
            result = replica.merge_call(merged, args=(result_fn, *args))
        else:
            result = identity(result_fn(*args))
        metric_obj._call_result = result
        return result

    return wrapped


def call_replica_local_fn(fn: Callable, *args: object, **kwargs: object) -> Any:
    """Calls `fn`, in cross-replica context once for each replica."""
    if not (has_strategy() and in_cross_replica_context()):
        return fn(*args, **kwargs)
    strategy = get_strategy()
    with strategy.scope():
        return strategy.extended.call_for_each_replica(fn, args, kwargs)


# ---- ragged values ----


def ragged_assert_compatible_and_get_flat_values(values: object, mask: object = None) -> tuple[Any, Any]:
    """The flat values of ragged tensors and of their mask, checked to have the same rows; dense ones as they are.

    Args:
      values: a tensor or a list of them, all ragged or all dense.
      mask: a tensor, ragged only where the values are.

    Raises:
      TypeError: ragged and dense ones are mixed.
    """
    several = to_list(values)
    ragged = [isinstance(v, RaggedTensor) for v in several]
    if not any(ragged):
        if isinstance(mask, RaggedTensor):
            raise TypeError("Ragged mask is not allowed with non-ragged inputs.")
        return values, mask
    if not all(ragged) or not (mask is None or isinstance(mask, RaggedTensor)):
        raise TypeError("One of the inputs does not have acceptable types.")
    splits = [v.nested_row_splits for v in several]
    same_rows = assert_splits_match(splits)
    if mask is not None:
        mask = _flat(mask, assert_splits_match([splits[0], mask.nested_row_splits]))
    flat = [_flat(v, same_rows) for v in several]
    return (flat if isinstance(values, list) else flat[0]), mask


def _flat(ragged: RaggedTensor, checks: list[Operation]) -> Tensor:
    return expand_dims(with_dependencies(checks, ragged.flat_values), -1)


# ---- thresholds ----


def assert_thresholds_range(thresholds: Any) -> None:
    """Raises ValueError where a threshold is None or not in [0, 1]."""
    invalid = [t for t in thresholds or () if t is None or t < 0 or t > 1]
    if invalid:
        raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {invalid}")


def parse_init_thresholds(thresholds: object, default_threshold: float = 0.5) -> list[float]:
    """Thresholds as a list, with their default; ValueError where one is not in [0, 1]."""
    if thresholds is None:
        return to_list(default_threshold)
    assert_thresholds_range(to_list(thresholds))
    return to_list(thresholds)


def evenly_spaced(num_thresholds: int) -> list[float]:
    """The thresholds that cut [0, 1] into equal parts, without 0 and 1."""
    return [(i + 1) * 1.0 / (num_thresholds - 1) for i in range(num_thresholds - 2)]


def _checked_variables(variables: dict[ConfusionMatrix, Any]) -> None:
    known = list(ConfusionMatrix)
    if not any(key in known for key in variables):
        raise ValueError(
            "Please provide at least one valid confusion matrix variable to update. Valid variable key options are: "
            f'"{known}". Received: "{variables.keys()}"'
        )
    invalid = [key for key in variables if key not in known]
    if invalid:
        raise ValueError(f'Invalid keys: {invalid}. Valid variable key options are: "{known}"')


def update_confusion_matrix_variables(
    variables_to_update: dict[ConfusionMatrix, Any] | None, y_true: object, y_pred: TensorLike, thresholds: object,
    top_k: int | None = None, class_id: int | None = None, sample_weight: TensorLike | None = None,
) -> Operation | None:  # fmt: skip
    """The operation that adds to counts of a confusion matrix, one for each threshold.

    Args:
      variables_to_update: the variables [thresholds] of the counts wanted.
      y_true: labels, taken as bool; y_pred: predictions from 0 to 1, of the same shape.
      thresholds: numbers that a prediction must exceed to count as positive.
      top_k: only this many largest predictions along the last dimension may be positive.
      class_id: only this index of the last dimension counts.
      sample_weight: what can be broadcast to `y_true`.

    Raises:
      ValueError: shapes do not fit, or a key is no ConfusionMatrix.
    """
    if variables_to_update is None:
        return None
    y_true, y_pred = cast(y_true, dtypes.float32), cast(y_pred, dtypes.float32)
    (y_pred, y_true), _ = ragged_assert_compatible_and_get_flat_values([y_pred, y_true], sample_weight)
    y_pred.shape.assert_is_compatible_with(y_true.shape)
    _checked_variables(variables_to_update)
    checks = [
        assert_greater_equal(y_pred, cast(0.0, y_pred.dtype), message="predictions must be >= 0"),
        assert_less_equal(y_pred, cast(1.0, y_pred.dtype), message="predictions must be <= 1"),
    ]
    with control_dependencies(checks):
        y_pred, y_true, *fitted = squeeze_or_expand_dimensions(y_pred, y_true, sample_weight)
    if top_k is not None:
        y_pred = _filter_top_k(y_pred, top_k)
    if class_id is not None:
        y_true, y_pred = y_true[..., class_id], y_pred[..., class_id]
    thresholds = to_list(thresholds)
    labels, positive = _at_thresholds(y_true, y_pred, thresholds)
    weights = None
    if fitted:
        broadcast = broadcast_weights(cast(fitted[0], dtypes.float32), y_pred)
        weights = tile(reshape(broadcast, [1, -1]), [len(thresholds), 1])
    return group(_counted(variables_to_update, labels, positive, weights))


def _at_thresholds(y_true: Tensor, y_pred: Tensor, thresholds: list[float]) -> tuple[Tensor, Tensor]:
    """Whether each label and each prediction is positive, [thresholds, predictions]."""
    count = size(y_pred)
    predictions = reshape(y_pred, [1, -1])
    labels = reshape(cast(y_true, dtypes.bool), [1, -1])
    limits = tile(expand_dims(constant(thresholds), 1), stack([1, count]))
    positive = greater(tile(predictions, [len(thresholds), 1]), limits)
    return tile(labels, [len(thresholds), 1]), positive


def _counted(variables: dict, labels: Tensor, positive: Tensor, weights: Tensor | None) -> list[Any]:
    """The updates of the counts, in the order tp, fn, fp, tn."""
    kind = ConfusionMatrix
    pairs = {kind.TRUE_POSITIVES: (labels, positive)}
    if kind.FALSE_NEGATIVES in variables or kind.TRUE_NEGATIVES in variables:
        negative = logical_not(positive)
        pairs[kind.FALSE_NEGATIVES] = (labels, negative)
    if kind.FALSE_POSITIVES in variables or kind.TRUE_NEGATIVES in variables:
        no_labels = logical_not(labels)
        pairs[kind.FALSE_POSITIVES] = (no_labels, positive)
        if kind.TRUE_NEGATIVES in variables:
            pairs[kind.TRUE_NEGATIVES] = (no_labels, negative)
    updates = []
    for key, (label, prediction) in pairs.items():
        if key in variables:
            both = cast(logical_and(label, prediction), dtypes.float32)
            counted = both if weights is None else both * weights
            updates.append(variables[key].assign_add(reduce_sum(counted, 1)))
    return updates


def _filter_top_k(x: Tensor, k: int) -> Tensor:
    """`x` with a large negative number in place of all but the `k` largest elements of the last dimension."""
    _, indices = largest(x, k, sorted=False)
    mask = reduce_sum(one_hot(indices, x.shape[-1], axis=-1), axis=-2)
    return x * mask + NEG_INF * (1 - mask)
