"""tf.metrics of binary predictions: the four counts, precision and recall."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.metric import ARGUMENTS, aggregated, collected, fitted, graph_only, metric_variable
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import rank
from tfcompat._src.ops.composed.check_ops import assert_type
from tfcompat._src.ops.composed.rank_checks import assert_rank_in
from tfcompat._src.ops.math.binary import div, multiply
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, greater, logical_and
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def as_booleans(predictions: object, labels: object, weights: TensorLike) -> tuple[Tensor, Tensor, Any]:
    """(predictions, labels, weights) of fitting shapes, the first two as bool."""
    return fitted(cast(predictions, dtypes.bool), cast(labels, dtypes.bool), weights)


def _counted(condition: Tensor, weights: TensorLike, metrics_collections: object, updates_collections: object) -> tuple[Tensor, Tensor]:
    """The weighted number of true elements in all batches."""
    assert_type(condition, dtypes.bool)
    count = metric_variable([], dtypes.float32, name="count")
    values = cast(condition, dtypes.float32)
    if weights is not None:
        with control_dependencies((assert_rank_in(weights, (0, rank(values))),)):
            values = multiply(values, cast(weights, dtypes.float32))
    value = aggregated(lambda: raw.Identity(count), metrics_collections)
    return value, collected(assign_add(count, reduce_sum(values)), updates_collections)


def _count(name: str, what: str, label: bool, prediction: bool) -> Callable:
    """The public metric that counts examples of one label and one prediction."""
    default_name = name

    def function(
        labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
    ):  # fmt: skip
        with variable_scope(name, default_name, (predictions, labels, weights)):
            predictions, labels, weights = as_booleans(predictions, labels, weights)
            condition = logical_and(equal(labels, label), equal(predictions, prediction))
            return _counted(condition, weights, metrics_collections, updates_collections)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The weighted number of {what}; labels and predictions are taken as bool.

    {ARGUMENTS}

    Returns:
      (value, update_op): scalars float32; running the second adds a batch and gives the new value.

    Raises:
      ValueError: the shapes do not fit.
    """
    return graph_only(function)


true_positives = export("metrics.true_positives")(
    _count("true_positives", "true labels that were predicted true", True, True)
)
true_negatives = export("metrics.true_negatives")(
    _count("true_negatives", "false labels that were predicted false", False, False)
)
false_positives = export("metrics.false_positives")(
    _count("false_positives", "false labels that were predicted true", False, True)
)
false_negatives = export("metrics.false_negatives")(
    _count("false_negatives", "true labels that were predicted false", True, False)
)


def _share(name: str, what: str, missed: Callable) -> Callable:
    """The public metric true positives / (true positives + `missed`)."""
    default_name = name

    def ratio(found: Any, other: Any, name: str) -> Tensor:
        some = greater(found + other, 0)
        return where(some, div(found, found + other), 0, name)

    def function(
        labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None
    ):  # fmt: skip
        with variable_scope(name, default_name, (predictions, labels, weights)):
            predictions, labels, weights = as_booleans(predictions, labels, weights)
            found, new_found = true_positives(labels, predictions, weights)
            other, new_other = missed(labels, predictions, weights)
            value = aggregated(lambda: ratio(found, other, "value"), metrics_collections)
            return value, collected(ratio(new_found, new_other, "update_op"), updates_collections)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{what}, 0 where there are none; labels and predictions are taken as bool.

    {ARGUMENTS}

    Returns:
      (value, update_op): scalars float32; running the second adds a batch and gives the new value.

    Raises:
      ValueError: the shapes do not fit.
    """
    return graph_only(function)


precision = export("metrics.precision")(
    _share("precision", "The share of the predicted that are true", false_positives)
)
recall = export("metrics.recall")(_share("recall", "The share of the true that are predicted", false_negatives))
