"""tf.estimator.Head: the heads of the second API, whose losses, predictions and metrics can be had one by one."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.estimator.heads import checks, metrics
from tfcompat._src.estimator.heads.keys import MetricKeys, keyed
from tfcompat._src.estimator.model_fn import EstimatorSpec, _TPUEstimatorSpec
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.metrics.metric import Mean, Metric
from tfcompat._src.keras.optimizers.optimizer_v2 import OptimizerV2
from tfcompat._src.keras.utils.losses_utils import ReductionV2, compute_weighted_loss, scale_loss_for_distribution
from tfcompat._src.ops.composed.weights_broadcast import broadcast_weights
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import to_float
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.summary.summary import scalar

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

MEAN = ReductionV2.SUM_OVER_BATCH_SIZE
_LOSS_FN_ARGS = ("labels", "logits", "features", "loss_reduction")


@export("estimator.Head")
class Head(abc.ABC):
    """What stands on the logits of a model."""

    @property
    @abc.abstractmethod
    def name(self) -> str | None:
        """The name, which ends the keys of metrics."""

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> Any:
        """The size of the last dimension of the logits."""

    @property
    @abc.abstractmethod
    def loss_reduction(self) -> str:
        """How the losses of examples become one number: one of tf.losses.Reduction."""

    @abc.abstractmethod
    def loss(
        self, labels: Any, logits: Any, features: Any = None, mode: str | None = None, regularization_losses: Any = None
    ) -> Tensor:
        """The loss.

        Args:
          labels: tensor, or dict of tensors.
          logits: tensor [D0, ..., DN, logits_dimension].
          features: dict of tensors, in which the examples' weights are.
          mode: one of ModeKeys.
          regularization_losses: scalars that are added.
        """

    @abc.abstractmethod
    def predictions(self, logits: Any, keys: Iterable[str] | None = None) -> dict[Any, Tensor]:
        """The predictions for logits, those with `keys` or all; ValueError where a key is unknown."""

    @abc.abstractmethod
    def metrics(self, regularization_losses: Any = None) -> dict[str, Metric]:
        """New Keras metrics by key."""

    @abc.abstractmethod
    def update_metrics(
        self, eval_metrics: dict[str, Metric], features: Any, logits: Any, labels: Any, mode: str | None = None,
        regularization_losses: Any = None,
    ) -> dict[str, Metric]:  # fmt: skip
        """The metrics, updated with a batch."""

    def _summary_key(self, key: str) -> str:
        return keyed(key, self.name)

    def create_estimator_spec(
        self, features: Any, mode: str, logits: Any, labels: Any = None, optimizer: Any = None,
        trainable_variables: Any = None, train_op_fn: Callable | None = None, update_ops: Any = None,
        regularization_losses: Any = None,
    ) -> EstimatorSpec:  # fmt: skip
        """The EstimatorSpec of a model.

        Args:
          features: dict of tensors.
          mode: one of ModeKeys.
          logits: tensor [D0, ..., DN, logits_dimension].
          labels: tensor, or dict of tensors.
          optimizer: a Keras optimizer that minimizes the loss.
          trainable_variables: the variables that it changes.
          train_op_fn: function from the loss to a training operation, instead of `optimizer`.
          update_ops: operations that run with each training step.
          regularization_losses: scalars that are added to the loss.

        Raises:
          ValueError: for training, neither or both of `optimizer` and `train_op_fn` are given, or the variables are missing.
        """
        try:
            spec = self._create_tpu_estimator_spec(
                features=features, mode=mode, logits=logits, labels=labels, optimizer=optimizer,
                trainable_variables=trainable_variables, train_op_fn=train_op_fn, update_ops=update_ops,
                regularization_losses=regularization_losses,
            )  # fmt: skip
            return spec.as_estimator_spec()
        except NotImplementedError as error:
            raise NotImplementedError(
                "Subclasses of Head must implement `create_estimator_spec()` or _create_tpu_estimator_spec()."
            ) from error

    def _create_tpu_estimator_spec(
        self, features: Any, mode: str, logits: Any, labels: Any = None, optimizer: Any = None,
        trainable_variables: Any = None, train_op_fn: Callable | None = None, update_ops: Any = None,
        regularization_losses: Any = None,
    ) -> _TPUEstimatorSpec:  # fmt: skip
        raise NotImplementedError("TPUEstimatorSpec not available for this model head.")


def validate_loss_reduction(loss_reduction: str) -> None:
    """ValueError where the reduction is unknown or NONE."""
    if loss_reduction not in ReductionV2.all() or loss_reduction == ReductionV2.NONE:
        raise ValueError(f"Invalid loss_reduction: {loss_reduction}. See `tf.losses.Reduction` for valid options.")


def _check_sequence(name: str, value: object) -> None:
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{name} should be a list or a tuple. Given type: {type(value)}.")


def create_estimator_spec_train_op(
    optimizer: Any, trainable_variables: Any, train_op_fn: Callable | None, update_ops: Any, loss: Tensor,
    loss_reduction: str,
) -> Any:  # fmt: skip
    """The operation of a training step; ValueError where it is not clear which."""
    if update_ops is not None:
        _check_sequence("update_ops", update_ops)
    with name_scope(""), name_scope("training"):
        if optimizer is not None:
            if train_op_fn is not None:
                raise ValueError("train_op_fn and optimizer cannot both be set.")
            if not isinstance(optimizer, OptimizerV2):
                raise ValueError(
                    f"The given optimizer is not a tf.keras.optimizers.Optimizer instance. Given: {optimizer}"
                )
            if trainable_variables is None:
                raise ValueError("trainable_variables cannot be None. Given None")
            _check_sequence("trainable_variables", trainable_variables)
            if loss_reduction == MEAN:
                loss = scale_loss_for_distribution(loss)
            train_op = optimizer.get_updates(loss, trainable_variables)[0]
        elif train_op_fn is not None:
            train_op = train_op_fn(loss)
        else:
            raise ValueError("train_op_fn and optimizer cannot both be None.")
        return train_op if update_ops is None else group(train_op, *update_ops)


def create_estimator_spec_summary(loss: Tensor, regularization_losses: object = None, key: Callable[[str], str] = str) -> None:
    """Summaries of the loss and the regularization loss."""
    with name_scope(""):
        scalar(key(MetricKeys.LOSS), loss)
        if regularization_losses is not None:
            scalar(key(MetricKeys.LOSS_REGULARIZATION), add_n(regularization_losses))


def update_with_broadcast_weights(metric: Mean, values: TensorLike, weights: TensorLike) -> None:
    """Updates a mean of floats."""
    values = to_float(values)
    metric.update_state(values=values, sample_weight=None if weights is None else broadcast_weights(weights, values))


class OneHead(Head):
    """One head: subclasses say what predictions, labels, losses and metrics are.

    Args:
      logits_dimension: size of the last dimension of the logits.
      weight_column: name or numeric column of the examples' weights.
      loss_reduction: one of tf.losses.Reduction but NONE.
      loss_fn: function of `labels`, `logits` and perhaps `features` to losses [D0, ..., DN, last dimension].
      name: name of the head, which ends the keys of its metrics.
    """

    _PER_LOGIT = False

    def __init__(
        self, logits_dimension: Any, weight_column: Any, loss_reduction: str, loss_fn: Callable | None, name: str | None
    ) -> None:
        validate_loss_reduction(loss_reduction)
        checks.check_loss_fn(loss_fn, _LOSS_FN_ARGS)
        self._logits_dimension, self._weight_column, self._name = logits_dimension, weight_column, name
        self._loss_reduction, self._loss_fn = loss_reduction, loss_fn

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def logits_dimension(self) -> Any:
        return self._logits_dimension

    @property
    def loss_reduction(self) -> str:
        return self._loss_reduction

    def _processed_labels(self, logits: Tensor, labels: Any) -> Tensor:
        raise NotImplementedError

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        """Losses [D0, ..., DN, last dimension] where the head has no loss function of the user."""
        raise NotImplementedError

    def _export_outputs(self, predictions: dict[str, Tensor]) -> dict[str, Any]:
        raise NotImplementedError

    def _checked_logits(self, logits: TensorLike) -> Tensor:
        return checks.float_logits(logits, self._logits_dimension, cast_name=None)

    def _unweighted_loss_and_weights(self, logits: Tensor, labels: Tensor, features: Any) -> tuple[Tensor, Any]:
        if self._loss_fn:
            last_dimension = self._logits_dimension if self._PER_LOGIT else 1
            losses = checks.call_loss_fn(self._loss_fn, labels, logits, features, last_dimension)
        else:
            losses = self._losses(labels, logits)
        return losses, checks.example_weights(features, self._weight_column, logits, per_logit=self._PER_LOGIT)

    def loss(
        self, labels: object, logits: object, features: object = None, mode: str | None = None, regularization_losses: object = None
    ) -> Tensor:
        with name_scope("losses", values=(logits, labels, regularization_losses, features)):
            logits = self._checked_logits(logits)
            labels = self._processed_labels(logits, labels)
            losses, weights = self._unweighted_loss_and_weights(logits, labels, features)
            loss = compute_weighted_loss(losses, sample_weight=weights, reduction=self._loss_reduction)
            return loss if regularization_losses is None else loss + add_n(regularization_losses)

    def _regularization_metric(self, regularization_losses: object) -> dict[str, Metric]:
        if regularization_losses is None:
            return {}
        return {self._summary_key(MetricKeys.LOSS_REGULARIZATION): Mean(name=MetricKeys.LOSS_REGULARIZATION)}

    def _update_regularization(self, eval_metrics: dict[str, Metric], regularization_losses: object) -> None:
        if regularization_losses is not None:
            metric = eval_metrics[self._summary_key(MetricKeys.LOSS_REGULARIZATION)]
            metric.update_state(values=add_n(regularization_losses))

    def _create_tpu_estimator_spec(
        self, features: object, mode: str, logits: object, labels: object = None, optimizer: object = None,
        trainable_variables: object = None, train_op_fn: Callable | None = None, update_ops: object = None,
        regularization_losses: object = None,
    ) -> _TPUEstimatorSpec:  # fmt: skip
        with name_scope(self._name, "head"):
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                exported = self._export_outputs(predictions)
                return _TPUEstimatorSpec(mode=mode, predictions=predictions, export_outputs=exported)
            loss = self.loss(
                logits=logits, labels=labels, features=features, mode=mode, regularization_losses=regularization_losses
            )
            if mode == ModeKeys.EVAL:
                values = {
                    "eval_metrics": self.metrics(regularization_losses=regularization_losses), "features": features,
                    "logits": logits, "labels": labels, "regularization_losses": regularization_losses,
                }  # fmt: skip
                of_tensors = metrics.of_tensors(self.update_metrics, values)
                return _TPUEstimatorSpec(mode=mode, predictions=predictions, loss=loss, eval_metrics=of_tensors)
            train_op = create_estimator_spec_train_op(
                optimizer, trainable_variables, train_op_fn, update_ops, loss, self._loss_reduction
            )
        create_estimator_spec_summary(loss, regularization_losses, self._summary_key)
        return _TPUEstimatorSpec(mode=ModeKeys.TRAIN, predictions=predictions, loss=loss, train_op=train_op)


def wanted_keys(keys: Iterable[str] | None, known: Iterable[str]) -> list[str]:
    """`keys`, or all known ones; ValueError where one is unknown."""
    known = list(known)
    for key in keys or ():
        if key not in known:
            raise ValueError(
                f"Prediction key must be in PredictionKeys, given: {key}.Valid prediction keys include {known}."
            )
    return list(keys) if keys else known
