"""`tensorflow.python.ops.metrics_impl`: functions by which libraries, such as TF-Slim, make metrics of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.metric import aggregated
from tfcompat._src.metrics.thresholds import counts_at
from tfcompat._src.nodes import raw
from tfcompat._src.ops.math.binary import div_no_nan

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_COUNTS = ("tp", "fn", "tn", "fp")


def _aggregate_variable(v: TensorLike, collections: object) -> Any:
    """The value of a metric's variable, over all replicas where one runs, added to collections."""
    return aggregated(lambda: raw.Identity(v), collections)


def _confusion_matrix_at_thresholds(
    labels: object, predictions: TensorLike, thresholds: object, weights: TensorLike | None = None, includes: Iterable[str] | None = None
) -> tuple[Any, Any]:
    """Counts at thresholds and their updates, under the keys `includes` of "tp", "fn", "tn" and "fp", by default all."""
    includes = _COUNTS if includes is None else tuple(includes)
    for include in includes:
        if include not in _COUNTS:
            raise ValueError(f"Invalid key: {include}.")
    return counts_at(labels, predictions, thresholds, weights, " ".join(includes))


def _safe_scalar_div(numerator: Tensor, denominator: Tensor, name: str) -> Tensor:
    """`numerator` / `denominator` of rank 1 at most, 0 where the latter is 0."""
    numerator.shape.with_rank_at_most(1)
    denominator.shape.with_rank_at_most(1)
    found: Tensor = div_no_nan(numerator, denominator, name=name)
    return found
