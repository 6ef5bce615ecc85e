"""tf.contrib.estimator.multi_head: several heads on one model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.estimator.heads import joined
from tfcompat._src.estimator.heads.head import LossSpec, _Head, minimized
from tfcompat._src.estimator.heads.keys import MetricKeys, keyed
from tfcompat._src.estimator.model_fn import EstimatorSpec
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.mean import mean
from tfcompat._src.ops.math.binary import multiply
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.summary.summary import scalar

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.estimator.multi_head")
def multi_head(heads: Iterable[_Head], head_weights: Iterable[float] | None = None) -> _Head:
    """A head of several heads; logits are a dict by head name or are split, labels a dict by head name.

    Args:
      heads: heads with names.
      head_weights: weight of each head's loss.

    Raises:
      ValueError: there is no head, one has no name, or the weights are not one for each head.
    """
    joined.check_heads(heads, head_weights)
    return _MultiHead(heads=tuple(heads), head_weights=tuple(head_weights or ()))


def _merge_losses(losses: Iterable[Tensor], head_weights: tuple[float, ...]) -> Tensor:
    losses = tuple(losses)
    with name_scope("merge_losses", values=losses + head_weights):
        if head_weights:
            losses = tuple(multiply(loss, weight) for loss, weight in zip(losses, head_weights, strict=True))
        return add_n(losses)


class _MultiHead(_Head):
    """Several heads; arguments as multi_head has them."""

    def __init__(self, heads: tuple[_Head, ...], head_weights: tuple[float, ...]) -> None:
        self._heads, self._head_weights = heads, head_weights
        self._logits_dimension = sum(head.logits_dimension for head in heads)

    @property
    def name(self) -> str:
        return "_".join(head.name for head in self._heads)

    @property
    def logits_dimension(self) -> int:
        return self._logits_dimension

    def _logits_of_heads(self, logits: TensorLike) -> dict[str, Tensor]:
        return logits if isinstance(logits, dict) else joined.split_logits(logits, self._heads)

    def create_loss(self, features: Any, mode: str, logits: Any, labels: Any) -> LossSpec:
        logits = self._logits_of_heads(logits)
        specs = []
        for i, head in enumerate(self._heads):
            spec = head.create_loss(features, mode, logits[head.name], labels[head.name])
            if self._head_weights:
                weight = self._head_weights[i]
                spec = spec._replace(
                    unreduced_loss=multiply(spec.unreduced_loss, weight), weights=multiply(spec.weights, weight)
                )
            specs.append(spec)
        loss = _merge_losses((spec.training_loss for spec in specs), self._head_weights)
        names = [head.name for head in self._heads]
        parts = (dict(zip(names, values, strict=True)) for values in list(zip(*specs, strict=True))[1:])
        return LossSpec(loss, *parts)

    def create_estimator_spec(
        self, features: Any, mode: str, logits: Any, labels: Any = None, optimizer: object = None,
        train_op_fn: Callable | None = None,
    ) -> EstimatorSpec:  # fmt: skip
        logits = self._logits_of_heads(logits)
        if labels and not isinstance(labels, dict):
            raise ValueError(f"labels must be a dict. Given: {labels}")
        specs = [
            head.create_estimator_spec(
                features=features, mode=mode, logits=logits[head.name], labels=labels[head.name] if labels else None,
                train_op_fn=joined.no_training,
            )
            for head in self._heads
        ]  # fmt: skip
        if mode == ModeKeys.TRAIN:
            return self._merge_train(specs, optimizer, train_op_fn)
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(
                mode=mode, predictions=self._merge_predictions(specs),
                export_outputs=joined.merged_export_outputs(self._heads, specs),
            )  # fmt: skip
        if mode == ModeKeys.EVAL:
            return self._merge_eval(specs)
        raise ValueError(f"mode={mode} unrecognized")

    def _merge_predictions(self, specs: list[EstimatorSpec]) -> dict[Any, Tensor]:
        return {
            (head.name, key): tensor
            for head, spec in zip(self._heads, specs, strict=True)
            for key, tensor in spec.predictions.items()
        }

    def _merge_train(self, specs: list[EstimatorSpec], optimizer: object, train_op_fn: Callable | None) -> EstimatorSpec:
        loss = _merge_losses((spec.loss for spec in specs), self._head_weights)
        merged = EstimatorSpec(
            mode=ModeKeys.TRAIN, loss=loss, train_op=minimized(loss, optimizer, train_op_fn),
            predictions=self._merge_predictions(specs),
            eval_metric_ops={key: value for spec in specs for key, value in spec.eval_metric_ops.items()},
        )  # fmt: skip
        with name_scope(""):
            scalar(MetricKeys.LOSS, merged.loss)
        return merged

    def _merge_eval(self, specs: list[EstimatorSpec]) -> EstimatorSpec:
        metrics: dict[str, Any] = {}
        with name_scope("merge_eval"):
            for head, spec in zip(self._heads, specs, strict=True):
                loss_key = keyed(MetricKeys.LOSS, head.name)
                metrics[loss_key] = mean(spec.loss, name=loss_key)
                metrics.update(spec.eval_metric_ops)
            loss = _merge_losses((spec.loss for spec in specs), self._head_weights)
        return EstimatorSpec(
            mode=ModeKeys.EVAL, predictions=self._merge_predictions(specs), loss=loss, eval_metric_ops=metrics
        )
