"""Internal names of `tensorflow.python.ops.metrics_impl`, by which libraries such as TF-Slim make metrics of their own."""

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
    """Returns the value of a metric's variable, aggregated over replicas in a replica context, and adds it to collections."""
    return aggregated(lambda: raw.Identity(v), collections)


def _confusion_matrix_at_thresholds(
    labels: object, predictions: TensorLike, thresholds: object, weights: TensorLike | None = None, includes: Iterable[str] | None = None
) -> tuple[Any, Any]:
    """Counts true and false positives and negatives at thresholds.

    Args:
      includes: the counts to make, of "tp", "fn", "tn" and "fp"; None means all.

    Returns:
      two dicts with these keys: the values of the counts, and the operations that update them.

    Raises:
      ValueError: a key of `includes` is none of these.
    """
    # The message for an unknown key is 1.15's.
    includes = _COUNTS if includes is None else tuple(includes)
    for include in includes:
        if include not in _COUNTS:
            raise ValueError(f"Invalid key: {include}.")
    return counts_at(labels, predictions, thresholds, weights, " ".join(includes))


def _safe_scalar_div(numerator: Tensor, denominator: Tensor, name: str) -> Tensor:
    """Divides tensors of rank 1 at most elementwise; the result is 0 where `denominator` is 0.

    Raises:
      ValueError: a rank is greater than 1.
    """
    numerator.shape.with_rank_at_most(1)
    denominator.shape.with_rank_at_most(1)
    quotient: Tensor = div_no_nan(numerator, denominator, name=name)
    return quotient
