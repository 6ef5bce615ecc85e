"""A head of tf.contrib.learn with a loss of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.contrib.learn.heads import _RegressionHead
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.reduce import reduce_mean

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class CustomLossHead(_RegressionHead):
    """A head for numbers.

    Args:
      loss_fn: function of labels, weights and logits to losses of examples and an operation.
      link_fn: function from logits to predictions.
      logit_dimension: how many logits there are.
      head_name: name, which ends the keys of metrics.
      weight_column_name: key of the examples' weights.
      metrics_fn: function of predictions, labels and weights to a dict of metrics.
    """

    def __init__(
        self, loss_fn: Callable, link_fn: Callable, logit_dimension: int, head_name: str | None = None,
        weight_column_name: str | None = None, metrics_fn: Callable | None = None,
    ) -> None:  # fmt: skip
        def losses(labels: TensorLike, logits: object, weights: object = None) -> tuple[Tensor, Tensor]:
            if weights is None:
                weights = ones(shape=[shape_of(labels)[0], 1], dtype=dtypes.float32)
            average = reduce_mean(loss_fn(labels, weights, logits)[0])
            return average, average / reduce_mean(weights)

        super().__init__(
            label_dimension=logit_dimension, loss_fn=losses, link_fn=link_fn, head_name=head_name,
            weight_column_name=weight_column_name, enable_centered_bias=False,
        )  # fmt: skip
        self._metrics_fn = metrics_fn

    def _metrics(self, eval_loss: Tensor, predictions: dict[str, Tensor], labels: object, weights: object) -> dict[str, Any]:
        return {} if self._metrics_fn is None else self._metrics_fn(predictions, labels, weights)
