"""Linear estimators: logits are weighted sums of feature columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.estimator.canned.linear_sdca import LinearSDCA, UpdateWeightsHook, check_settings
from tfcompat._src.estimator.canned.optimizers import get_optimizer_instance
from tfcompat._src.estimator.canned.settings import check_features, model_fn_with, partitioner_of
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.estimator.heads.class_heads import BinaryClassHead
from tfcompat._src.estimator.heads.head import (
    _binary_logistic_or_multi_class_head,
    _BinaryLogisticHeadWithSigmoidCrossEntropyLoss,
    _regression_head,
    _RegressionHeadWithMeanSquaredErrorLoss,
)
from tfcompat._src.estimator.heads.regression_head import RegressionHead
from tfcompat._src.feature_column.base import is_feature_column_v2
from tfcompat._src.feature_column.linear_model import LinearModel, _LinearModel
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses.losses import Reduction
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.shape import size
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.math.cast import cast, to_float
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.nn.zero_fraction import zero_fraction
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.summary.summary import histogram, scalar
from tfcompat._src.train.ftrl import FtrlOptimizer
from tfcompat._src.variables.scope import variable_scope
from tfcompat._src.variables.training_util import get_global_step
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

LEARNING_RATE = 0.2
_SDCA_LOSSES = {
    (BinaryClassHead, _BinaryLogisticHeadWithSigmoidCrossEntropyLoss): "logistic_loss",
    (RegressionHead, _RegressionHeadWithMeanSquaredErrorLoss): "squared_loss",
}


def default_learning_rate(feature_columns: Any) -> float:
    """The learning rate without an optimizer: smaller for more columns."""
    return min(LEARNING_RATE, 1.0 / math.sqrt(len(feature_columns)))


def _get_expanded_variable_list(var_list: Iterable[Any]) -> list[Any]:
    """Variables, where partitioned ones are their parts."""
    found: list[Any] = []
    for variable in var_list:
        found.extend([variable] if isinstance(variable, (Variable, Tensor)) else list(variable))
    return found


def _count_zeros(variable: TensorLike, count: Tensor) -> Tensor:
    return cond(
        equal(count, constant(0, dtype=dtypes.int64)),
        true_fn=lambda: constant(0, dtype=dtypes.float32),
        false_fn=lambda: zero_fraction(variable) * to_float(count),
        name="zero_count",
    )


def _compute_fraction_of_zero(variables: object) -> Tensor:
    """The fraction of the elements of all variables that are 0; NaN where there is no element."""
    with name_scope("zero_fraction"):
        variables = nest.flatten(variables)
        with name_scope("total_size"):
            sizes = [size(variable, out_type=dtypes.int64) for variable in variables]
            total = add_n(sizes)
        with name_scope("total_zero"):
            zeros = add_n([_count_zeros(variable, count) for variable, count in zip(variables, sizes, strict=True)])
        with name_scope("compute"):
            fraction = zeros / cast(total, dtypes.float32, name="float32_size")
        return identity(fraction, name="zero_fraction_or_nan")


@export("estimator.experimental.linear_logit_fn_builder", "contrib.estimator.linear_logit_fn_builder")
def linear_logit_fn_builder(units: int, feature_columns: object, sparse_combiner: str = "sum") -> Callable:
    """The function from features to logits of a linear model.

    Args:
      units: size of the last dimension of the logits.
      feature_columns: columns.
      sparse_combiner: "sum", "mean" or "sqrtn": how the ids of a categorical column are reduced.
    """

    def linear_logit_fn(features: dict[str, Any]) -> Tensor:
        kind = LinearModel if is_feature_column_v2(feature_columns) else _LinearModel
        model = kind(
            feature_columns=feature_columns, units=units, sparse_combiner=sparse_combiner, name="linear_model"
        )
        logits = model(features)
        if kind is LinearModel:
            bias = _get_expanded_variable_list([model.bias])
            variables = [variable for variable in model.variables if variable is not model.bias]
        else:
            by_column = dict(model.cols_to_vars())
            bias, variables = by_column.pop("bias"), by_column.values()
        variables = _get_expanded_variable_list(variables)
        if units > 1:
            histogram("bias", bias)
        else:
            scalar("bias", bias[0][0])
        scalar("fraction_of_zero_weights", _compute_fraction_of_zero(variables))
        return logits

    return linear_logit_fn


def _linear_model_fn(
    features: Any, labels: Any, mode: str, head: Any, feature_columns: Any, optimizer: Any, partitioner: Any, config: object,
    sparse_combiner: str = "sum",
) -> Any:  # fmt: skip
    check_features(features)
    partitioner = partitioner or partitioner_of(config, min_slice_size=64 << 20)
    with variable_scope("linear", values=tuple(features.values()), partitioner=partitioner):
        if check_settings(optimizer, feature_columns, sparse_combiner):
            return _sdca_spec(features, labels, mode, head, feature_columns, optimizer)
        logit_fn = linear_logit_fn_builder(head.logits_dimension, feature_columns, sparse_combiner)
        logits = logit_fn(features=features)
        optimizer = get_optimizer_instance(
            optimizer or FtrlOptimizer(learning_rate=default_learning_rate(feature_columns)), LEARNING_RATE
        )
        return head.create_estimator_spec(
            features=features, mode=mode, labels=labels, optimizer=optimizer, logits=logits
        )


def _sdca_spec(features: Any, labels: Any, mode: str, head: Any, feature_columns: Any, optimizer: LinearSDCA) -> Any:
    """The EstimatorSpec of a linear model that a LinearSDCA trains; ValueError where the head has no loss for it."""
    loss_type = next((loss for heads, loss in _SDCA_LOSSES.items() if isinstance(head, heads)), None)
    if loss_type is None or head.logits_dimension != 1:
        raise ValueError(f"Unsupported head type: {head}")
    model = LinearModel(feature_columns=feature_columns, units=1, sparse_combiner="sum", name="linear_model")
    logits = model(features)
    scalar("bias", _get_expanded_variable_list([model.bias])[0][0])
    weights = [variable for variable in model.variables if variable is not model.bias]
    scalar("fraction_of_zero_weights", _compute_fraction_of_zero(_get_expanded_variable_list(weights)))
    if mode != ModeKeys.TRAIN:
        return head.create_estimator_spec(features=features, mode=mode, labels=labels, logits=logits)
    sdca_model, train_op = optimizer.get_train_step(
        model.layer._state_manager, head._weight_column, loss_type, feature_columns, features, labels, model.bias, get_global_step()
    )
    spec = head.create_estimator_spec(features=features, mode=mode, labels=labels, logits=logits, train_op_fn=lambda loss: train_op)
    return spec._replace(training_chief_hooks=(*spec.training_chief_hooks, UpdateWeightsHook(sdca_model, train_op)))


def _model_fn(head: Any, feature_columns: Any, **settings: Any) -> Callable:
    return model_fn_with(_linear_model_fn, head=head, feature_columns=tuple(feature_columns or []), **settings)


@export("estimator.LinearClassifier")
class LinearClassifier(Estimator):
    """A linear model that classifies.

    Args:
      feature_columns: columns.
      model_dir: folder of the model.
      n_classes: number of classes.
      weight_column: name or numeric column of the examples' weights.
      label_vocabulary: names of the classes, where labels are strings.
      optimizer: tf.train.Optimizer, function that gives one, its name, or a tf.estimator.experimental.LinearSDCA.
      config: a RunConfig.
      partitioner: partitioner of the weights.
      warm_start_from: path of a checkpoint, or WarmStartSettings.
      loss_reduction: one of tf.losses.Reduction but NONE.
      sparse_combiner: "sum", "mean" or "sqrtn": how the ids of a categorical column are reduced.

    Raises:
      ValueError: an argument is out of range.
    """

    def __init__(
        self, feature_columns, model_dir=None, n_classes=2, weight_column=None, label_vocabulary=None, optimizer="Ftrl",
        config=None, partitioner=None, warm_start_from=None, loss_reduction=Reduction.SUM, sparse_combiner="sum",
    ) -> None:  # fmt: skip
        if check_settings(optimizer, feature_columns, sparse_combiner) and n_classes > 2:
            raise ValueError("LinearSDCA cannot be used in a multi-class setting.")
        head = _binary_logistic_or_multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = _model_fn(
            head, feature_columns, optimizer=optimizer, partitioner=partitioner, sparse_combiner=sparse_combiner
        )
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


@export("estimator.LinearEstimator")
class LinearEstimator(Estimator):
    """A linear model with a head; arguments as LinearClassifier."""

    def __init__(
        self, head, feature_columns, model_dir=None, optimizer="Ftrl", config=None, partitioner=None,
        sparse_combiner="sum",
    ) -> None:  # fmt: skip
        model_fn = _model_fn(
            head, feature_columns, optimizer=optimizer, partitioner=partitioner, sparse_combiner=sparse_combiner
        )
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)


@export("estimator.LinearRegressor")
class LinearRegressor(Estimator):
    """A linear model of `label_dimension` numbers; arguments as LinearClassifier."""

    def __init__(
        self, feature_columns, model_dir=None, label_dimension=1, weight_column=None, optimizer="Ftrl", config=None,
        partitioner=None, warm_start_from=None, loss_reduction=Reduction.SUM, sparse_combiner="sum",
    ) -> None:  # fmt: skip
        if check_settings(optimizer, feature_columns, sparse_combiner) and label_dimension > 1:
            raise ValueError("LinearSDCA can only be used with one-dimensional label.")
        head = _regression_head(
            label_dimension=label_dimension, weight_column=weight_column, loss_reduction=loss_reduction
        )
        model_fn = _model_fn(
            head, feature_columns, optimizer=optimizer, partitioner=partitioner, sparse_combiner=sparse_combiner
        )
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)
