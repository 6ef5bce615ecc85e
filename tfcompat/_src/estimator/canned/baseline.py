"""Baseline estimators: models that learn the mean of the labels and use no feature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.estimator.canned.optimizers import get_optimizer_instance
from tfcompat._src.estimator.canned.settings import model_fn_with
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.estimator.heads.head import _binary_logistic_or_multi_class_head, _regression_head
from tfcompat._src.feature_column.numeric import NumericColumn, _NumericColumn
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses.losses import Reduction
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.composed.check_ops import assert_equal
from tfcompat._src.ops.math.binary import multiply
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import get_variable, variable_scope
from tfcompat._src.variables.training_util import get_global_step

_LEARNING_RATE = 0.3


def weight_key(weight_column: object) -> str | None:
    """The name of the feature that holds the examples' weights."""
    if weight_column is None or isinstance(weight_column, str):
        return weight_column
    if not isinstance(weight_column, (NumericColumn, _NumericColumn)):
        raise TypeError(f"Weight column must be either a string or _NumericColumn. Given type: {type(weight_column)}.")
    return weight_column.key


def batch_size_and_checks(features: dict[str, Any], weight_column_key: str | None) -> tuple[Any, list[Any]]:
    """The number of examples, and the checks that all features but the weights have it."""
    batch, checks = None, []
    for key, feature in features.items():
        if key == weight_column_key:
            continue
        size = shape(feature)[0]
        if batch is None:
            batch = size
        else:
            checks.append(assert_equal(batch, size))
    return batch, checks


def _baseline_logit_fn_builder(num_outputs: int, weight_column: object = None) -> Callable:
    """The function from features to logits, which are the same for each example."""

    def baseline_logit_fn(features: dict[str, Any]) -> Tensor:
        batch, checks = batch_size_and_checks(features, weight_key(weight_column))
        with control_dependencies(checks), variable_scope("baseline"):
            bias = get_variable("bias", shape=[num_outputs], initializer=Zeros)
            return multiply(bias, ones([batch, num_outputs]))

    return baseline_logit_fn


def _baseline_model_fn(
    features: Any, labels: object, mode: str, head: Any, optimizer: object, weight_column: Any = None, config: object = None
) -> Any:
    logits = _baseline_logit_fn_builder(head.logits_dimension, weight_column)(features)

    def train_op_fn(loss: Tensor) -> Any:
        return get_optimizer_instance(optimizer, _LEARNING_RATE).minimize(loss, global_step=get_global_step())

    return head.create_estimator_spec(
        features=features, mode=mode, logits=logits, labels=labels, train_op_fn=train_op_fn
    )


@export("estimator.BaselineClassifier")
class BaselineClassifier(Estimator):
    """Learns how frequent each class is.

    Args:
      model_dir: folder of the model.
      n_classes: number of classes.
      weight_column: name or numeric column of the examples' weights.
      label_vocabulary: names of the classes, where labels are strings.
      optimizer: tf.train.Optimizer or its name.
      config: a RunConfig.
      loss_reduction: one of tf.losses.Reduction but NONE.

    Raises:
      ValueError: an argument is out of range.
    """

    def __init__(
        self, model_dir=None, n_classes=2, weight_column=None, label_vocabulary=None, optimizer="Ftrl", config=None,
        loss_reduction=Reduction.SUM,
    ) -> None:  # fmt: skip
        head = _binary_logistic_or_multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = model_fn_with(_baseline_model_fn, head=head, optimizer=optimizer, weight_column=weight_column)
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)


@export("estimator.BaselineEstimator")
class BaselineEstimator(Estimator):
    """Learns the best constant logits for a head; arguments as BaselineClassifier."""

    def __init__(self, head, model_dir=None, optimizer="Ftrl", config=None) -> None:
        model_fn = model_fn_with(_baseline_model_fn, head=head, optimizer=optimizer)
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)


@export("estimator.BaselineRegressor")
class BaselineRegressor(Estimator):
    """Learns the mean of `label_dimension` numbers; arguments as BaselineClassifier."""

    def __init__(
        self, model_dir=None, label_dimension=1, weight_column=None, optimizer="Ftrl", config=None,
        loss_reduction=Reduction.SUM,
    ) -> None:  # fmt: skip
        head = _regression_head(
            label_dimension=label_dimension, weight_column=weight_column, loss_reduction=loss_reduction
        )
        model_fn = model_fn_with(_baseline_model_fn, head=head, optimizer=optimizer)
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)
