"""tf.estimator.MultiHead: several heads on one model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.estimator.heads import joined
from tfcompat._src.estimator.heads.base_head import (
    Head,
    create_estimator_spec_summary,
    create_estimator_spec_train_op,
)  # fmt: skip
from tfcompat._src.estimator.heads.keys import MetricKeys, keyed
from tfcompat._src.estimator.model_fn import EstimatorSpec
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.metrics.metric import Mean, Metric
from tfcompat._src.ops.math.binary import multiply
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("estimator.MultiHead")
class MultiHead(Head):
    """Several heads; logits are a dict by head name or are split, labels a dict by head name.

    Args:
      heads: heads with names.
      head_weights: weight of each head's loss.

    Raises:
      ValueError: there is no head, one has no name, or the weights are not one for each head.
    """

    def __init__(self, heads, head_weights=None) -> None:
        joined.check_heads(heads, head_weights)
        self._heads, self._head_weights = tuple(heads), tuple(head_weights or ())
        self._logits_dimension = sum(head.logits_dimension for head in self._heads)

    @property
    def name(self) -> str:
        return "_".join(head.name for head in self._heads)

    @property
    def logits_dimension(self) -> int:
        return self._logits_dimension

    @property
    def loss_reduction(self) -> str:
        reductions = [head.loss_reduction for head in self._heads]
        if len(set(reductions)) > 1:
            raise ValueError(f"The loss_reduction must be the same for different heads. Given: {reductions}")
        return reductions[0]

    def _logits_of_heads(self, logits: TensorLike, labels: object = None) -> dict[str, Tensor]:
        """The logits by head name; ValueError where logits or labels lack a head."""
        names = {head.name for head in self._heads}
        if isinstance(logits, dict):
            if names - set(logits):
                raise ValueError(f"logits has missing values for head(s): {list(names - set(logits))}")
        else:
            logits = joined.split_logits(logits, self._heads)
        if labels is not None:
            if not isinstance(labels, dict):
                raise ValueError(f"labels must be a dict. Given: {labels}")
            if names - set(labels):
                raise ValueError(f"labels has missing values for head(s): {list(names - set(labels))}")
        return logits

    def loss(
        self, labels: Any, logits: Any, features: Any = None, mode: str | None = None, regularization_losses: object = None
    ) -> Tensor:
        by_head = self._logits_of_heads(logits, labels)
        losses = tuple(
            head.loss(logits=by_head[head.name], labels=labels[head.name], features=features, mode=mode)
            for head in self._heads
        )
        with name_scope("merge_losses", values=losses + self._head_weights):
            if self._head_weights:
                losses = tuple(multiply(loss, weight) for loss, weight in zip(losses, self._head_weights, strict=True))
            loss = add_n(losses)
            return loss if regularization_losses is None else loss + add_n(regularization_losses)

    def predictions(self, logits: object, keys: Iterable[str] | None = None) -> dict[Any, Tensor]:
        by_head = self._logits_of_heads(logits)
        with name_scope("merge_pred"):
            return {
                (head.name, key): value
                for head in self._heads
                for key, value in head.predictions(logits=by_head[head.name]).items()
            }

    def metrics(self, regularization_losses: object = None) -> dict[str, Metric]:
        found = {}
        if regularization_losses is not None:
            found[self._summary_key(MetricKeys.LOSS_REGULARIZATION)] = Mean(name=MetricKeys.LOSS_REGULARIZATION)
        with name_scope("merge_eval"):
            for key in (keyed(MetricKeys.LOSS, head.name) for head in self._heads):
                found[key] = Mean(name=key)
        return found

    def update_metrics(
        self, eval_metrics: dict[str, Metric], features: object, logits: object, labels: Any, mode: str | None = None,
        regularization_losses: object = None,
    ) -> dict[str, Metric]:  # fmt: skip
        by_head = self._logits_of_heads(logits, labels)
        if regularization_losses is not None:
            metric = eval_metrics[self._summary_key(MetricKeys.LOSS_REGULARIZATION)]
            metric.update_state(values=add_n(regularization_losses))
        for head in self._heads:
            of_head = by_head[head.name], labels[head.name]
            loss = head.loss(logits=of_head[0], labels=of_head[1], features=features)
            eval_metrics[keyed(MetricKeys.LOSS, head.name)].update_state(values=loss)
            eval_metrics.update(head.update_metrics(head.metrics(), features, *of_head) or {})
        return eval_metrics

    def create_estimator_spec(
        self, features: object, mode: str, logits: object, labels: Any = None, optimizer: object = None,
        trainable_variables: object = None, train_op_fn: Callable | None = None, update_ops: object = None,
        regularization_losses: object = None,
    ) -> EstimatorSpec:  # fmt: skip
        with name_scope(self.name, "multi_head"):
            by_head = self._logits_of_heads(logits, labels)
            specs = [
                head.create_estimator_spec(
                    features=features, mode=mode, logits=by_head[head.name], train_op_fn=joined.no_training,
                    labels=labels[head.name] if labels else None,
                )
                for head in self._heads
            ]  # fmt: skip
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                exported = joined.merged_export_outputs(self._heads, specs)
                return EstimatorSpec(mode=mode, predictions=predictions, export_outputs=exported)
            loss = self.loss(labels, logits, features, mode, regularization_losses)
            if mode == ModeKeys.EVAL:
                found = self.update_metrics(
                    self.metrics(regularization_losses=regularization_losses), features, logits, labels,
                    regularization_losses=regularization_losses,
                )  # fmt: skip
                return EstimatorSpec(mode=mode, predictions=predictions, loss=loss, eval_metric_ops=found)
            if mode != ModeKeys.TRAIN:
                raise ValueError(f"mode={mode} unrecognized")
            train_op = create_estimator_spec_train_op(
                optimizer, trainable_variables, train_op_fn, update_ops, loss, self.loss_reduction
            )
            create_estimator_spec_summary(loss, regularization_losses)
            return EstimatorSpec(
                mode=mode, loss=loss, train_op=train_op, predictions=predictions,
                eval_metric_ops={key: value for spec in specs for key, value in spec.eval_metric_ops.items()},
            )  # fmt: skip
