"""tf.contrib.sparsemax: probabilities with zeros, and their loss (Martins and Astudillo 2016, arXiv:1602.02068)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import fill, zeros_like
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, logical_and, logical_or
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.scan import cumsum
from tfcompat._src.ops.math.sequence import arange as number_range
from tfcompat._src.ops.math.unary import is_inf, is_nan
from tfcompat._src.ops.nn.top_k import top_k

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.sparsemax.sparsemax")
def sparsemax(logits: TensorLike, name: str | None = None) -> Tensor:
    """The probabilities nearest to the logits.

    Args:
      logits: floating Tensor [batch, classes].
      name: name scope, "sparsemax" by default.

    Returns:
      Tensor [batch, classes]; NaN in rows with NaN, with infinity, or with nothing but minus infinity.
    """
    with name_scope(name, "sparsemax", [logits]):
        logits = convert_to_tensor(logits, name="logits")
        rows, classes = shape(logits)[0], shape(logits)[1]
        descending, _ = top_k(logits, k=classes)
        sums = cumsum(descending, axis=1)
        rank = number_range(1, cast(classes, logits.dtype) + 1, dtype=logits.dtype)
        support = reduce_sum(cast(1 + rank * descending > sums, dtypes.int32), axis=1)
        positive = maximum(support, 1)
        last = stack([number_range(0, rows), positive - 1], axis=1)
        threshold = (gather_nd(sums, last) - 1) / cast(support, logits.dtype)
        result = maximum(cast(0, logits.dtype), logits - threshold[:, None])
        undefined = logical_or(equal(support, 0), is_nan(sums[:, -1]))
        return where(undefined, fill([rows, classes], cast(float("nan"), logits.dtype)), result)


@export("contrib.sparsemax.sparsemax_loss")
def sparsemax_loss(logits: TensorLike, sparsemax: TensorLike, labels: TensorLike, name: str | None = None) -> Tensor:
    """The loss whose gradient is sparsemax less the labels.

    Args:
      logits: floating Tensor [batch, classes].
      sparsemax: what `sparsemax` gives for them.
      labels: Tensor [batch, classes] of probabilities.
      name: name scope, "sparsemax_loss" by default.

    Returns:
      Tensor [batch].
    """
    with name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        logits = convert_to_tensor(logits, name="logits")
        sparsemax = convert_to_tensor(sparsemax, name="sparsemax")
        labels = convert_to_tensor(labels, name="labels")
        in_support = logical_or(sparsemax > 0, is_nan(sparsemax))
        support = where(in_support, sparsemax * (logits - 0.5 * sparsemax), zeros_like(sparsemax))
        of_labels = labels * (0.5 * labels - logits)
        unused = logical_and(equal(labels, 0), is_inf(logits))
        return reduce_sum(support + where(unused, zeros_like(logits), of_labels), axis=1)
