"""A head of tf.contrib.learn whose loss is the negative log likelihood under any distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.learn.head import Head
from tfcompat._src.contrib.learn.head_losses import weighted
from tfcompat._src.contrib.learn.heads import _RegressionHead
from tfcompat._src.distributions.distribution import Distribution
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import reshape, shape

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _joined(*vectors: object) -> Any:
    """The vectors one after another, as a list where all are known."""
    known = [constant_value(convert_to_tensor(v)) for v in vectors]
    return concat(vectors, axis=0) if any(v is None for v in known) else [n for v in known for n in v]


class _DistributionHead(_RegressionHead):
    def __init__(
        self, make_distribution_fn: Callable[[Tensor], Distribution], label_dimension: int, logits_dimension: int | None, **settings: Any
    ) -> None:
        if not callable(make_distribution_fn):
            raise TypeError("`make_distribution_fn` must be a callable function.")
        self.distributions: dict[Tensor, Distribution] = {}
        self._make_distribution_fn = make_distribution_fn
        size = label_dimension if logits_dimension is None else logits_dimension
        super().__init__(size, self._loss, lambda logits: self.distribution(logits).mean(), **settings)

    def distribution(self, logits: Tensor, name: str | None = None) -> Distribution:
        """The distribution of these logits, made once."""
        with name_scope(name, "distribution", [logits]):
            if logits not in self.distributions:
                self.distributions[logits] = self._make_distribution_fn(logits)
            return self.distributions[logits]

    def _loss(self, labels: Tensor, logits: Tensor, weights: TensorLike | None = None) -> tuple[Tensor, Tensor]:
        distribution = self.distribution(logits)
        batch = labels.shape.with_rank_at_least(1)[:-1]
        sizes = batch.as_list() if batch.is_fully_defined() else shape(labels)[:-1]
        labels = reshape(labels, shape=_joined(sizes, distribution.event_shape_tensor()))
        return weighted(-distribution.log_prob(labels), weights)


@export("contrib.distributions.estimator_head_distribution_regression")
def estimator_head_distribution_regression(
    make_distribution_fn: Callable[[Tensor], Distribution], label_dimension: int = 1, logits_dimension: int | None = None,
    label_name: str | None = None, weight_column_name: str | None = None, enable_centered_bias: bool = False,
    head_name: str | None = None,
) -> Head:  # fmt: skip
    """A head for numbers of any distribution: its mean is predicted, the loss is the negative log likelihood of the labels.

    Args:
      make_distribution_fn: function from logits [batch, logits_dimension] to a Distribution of the labels.
      label_dimension: how many numbers an example has.
      logits_dimension: how many parameters it has; by default as many.
      label_name: key of the labels where they are a dict.
      weight_column_name: key of the examples' weights.
      enable_centered_bias: whether a bias is learned that is shared by all examples.
      head_name: name, which ends the keys of metrics.

    Raises:
      TypeError: `make_distribution_fn` cannot be called. ValueError: a dimension is not positive.
    """
    return _DistributionHead(
        make_distribution_fn, label_dimension, logits_dimension, label_name=label_name, weight_column_name=weight_column_name,
        enable_centered_bias=enable_centered_bias, head_name=head_name,
    )  # fmt: skip
