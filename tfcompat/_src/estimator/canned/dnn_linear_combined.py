"""Estimators of a linear model and a fully connected network whose logits are added."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.estimator.canned.dnn import dnn_logit_fn_builder
from tfcompat._src.estimator.canned.linear import linear_logit_fn_builder
from tfcompat._src.estimator.canned.optimizers import get_optimizer_instance
from tfcompat._src.estimator.canned.settings import add_layer_summary, check_features, model_fn_with, partitioner_of
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.estimator.heads.head import _binary_logistic_or_multi_class_head, _regression_head
from tfcompat._src.graph.scopes import control_dependencies, get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses.losses import Reduction
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.train.sync_replicas_optimizer import SyncReplicasOptimizer
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.scope import variable_scope
from tfcompat._src.variables.training_util import get_global_step

DNN_LEARNING_RATE = 0.001
_LINEAR_LEARNING_RATE = 0.005
_NO_COLUMNS = "Either linear_feature_columns or dnn_feature_columns must be defined."


def linear_learning_rate(num_linear_feature_columns: int) -> float:
    """The learning rate of the linear part without an optimizer: smaller for more columns."""
    return min(_LINEAR_LEARNING_RATE, 1.0 / math.sqrt(num_linear_feature_columns))


def check_no_sync_replicas_optimizer(optimizer: object) -> Any:
    """The optimizer; ValueError where it is a SyncReplicasOptimizer."""
    if isinstance(optimizer, SyncReplicasOptimizer):
        raise ValueError(
            "SyncReplicasOptimizer does not support multi optimizers case. Therefore, it is not supported in DNNLinearCombined "
            "model. If you want to use this optimizer, please use either DNN or Linear model."
        )
    return optimizer


def checked_columns(linear_feature_columns: Any, dnn_feature_columns: Any) -> list[Any]:
    """All columns; ValueError where there is none."""
    columns = [*(linear_feature_columns or ()), *(dnn_feature_columns or ())]
    if not columns:
        raise ValueError(_NO_COLUMNS)
    return columns


def combined_logits(dnn_logits: Tensor | None, linear_logits: Tensor | None) -> Tensor:
    """The sum of the parts' logits; a part may be missing."""
    if dnn_logits is None or linear_logits is None:
        return linear_logits if dnn_logits is None else dnn_logits
    return dnn_logits + linear_logits


class _Part:
    """The logits of one part of the model, the scope of its variables and their optimizer."""

    def __init__(self, logits: Tensor, scope: str, optimizer: Any) -> None:
        self.logits, self._scope, self._optimizer = logits, scope, optimizer

    def minimize(self, loss: Tensor) -> Any:
        variables = get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=self._scope)
        return self._optimizer.minimize(loss, var_list=variables)


def _dnn_linear_combined_model_fn(
    features: Any, labels: object, mode: str, head: Any, linear_feature_columns: Any = None, linear_optimizer: object = "Ftrl",
    dnn_feature_columns: Any = None, dnn_optimizer: object = "Adagrad", dnn_hidden_units: Sequence[int] | None = None,
    dnn_activation_fn: Callable | None = relu, dnn_dropout: float | None = None,
    input_layer_partitioner: Callable | None = None, config: object = None, batch_norm: bool = False,
    linear_sparse_combiner: str = "sum",
) -> Any:  # fmt: skip
    check_features(features)
    if not linear_feature_columns and not dnn_feature_columns:
        raise ValueError(_NO_COLUMNS)
    input_layer_partitioner = input_layer_partitioner or partitioner_of(config, min_slice_size=64 << 20)
    values, parts = tuple(features.values()), []
    dnn_logits = linear_logits = None
    if dnn_feature_columns:
        optimizer = check_no_sync_replicas_optimizer(get_optimizer_instance(dnn_optimizer, DNN_LEARNING_RATE))
        if not dnn_hidden_units:
            raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
        with variable_scope("dnn", values=values, partitioner=partitioner_of(config)) as scope:
            logit_fn = dnn_logit_fn_builder(
                head.logits_dimension, dnn_hidden_units, dnn_feature_columns, dnn_activation_fn, dnn_dropout,
                input_layer_partitioner, batch_norm,
            )  # fmt: skip
            dnn_logits = logit_fn(features=features, mode=mode)
            parts.append(_Part(dnn_logits, scope.name, optimizer))
    if linear_feature_columns:
        rate = linear_learning_rate(len(linear_feature_columns))
        optimizer = check_no_sync_replicas_optimizer(get_optimizer_instance(linear_optimizer, rate))
        with variable_scope("linear", values=values, partitioner=input_layer_partitioner) as scope:
            logit_fn = linear_logit_fn_builder(head.logits_dimension, linear_feature_columns, linear_sparse_combiner)
            linear_logits = logit_fn(features=features)
            add_layer_summary(linear_logits, scope.name)
            parts.append(_Part(linear_logits, scope.name, optimizer))

    def _train_op_fn(loss: Tensor) -> Any:
        step = get_global_step()
        with control_dependencies([group(*[part.minimize(loss) for part in parts])]):
            return assign_add(step, 1).op

    return head.create_estimator_spec(
        features=features, mode=mode, labels=labels, train_op_fn=_train_op_fn,
        logits=combined_logits(dnn_logits, linear_logits),
    )  # fmt: skip


@export("estimator.DNNLinearCombinedClassifier")
class DNNLinearCombinedClassifier(Estimator):
    """A linear model and a fully connected network that classify together.

    Args:
      model_dir: folder of the model.
      linear_feature_columns, linear_optimizer: columns and optimizer of the linear part.
      dnn_feature_columns, dnn_optimizer: dense columns and optimizer of the network.
      dnn_hidden_units, dnn_activation_fn, dnn_dropout: sizes, function and dropout of the hidden layers.
      n_classes: number of classes.
      weight_column: name or numeric column of the examples' weights.
      label_vocabulary: names of the classes, where labels are strings.
      input_layer_partitioner: partitioner of weights and embeddings.
      config: a RunConfig.
      warm_start_from: path of a checkpoint, or WarmStartSettings.
      loss_reduction: one of tf.losses.Reduction but NONE.
      batch_norm: whether hidden layers are normalized.
      linear_sparse_combiner: "sum", "mean" or "sqrtn": how the ids of a categorical column are reduced.

    Raises:
      ValueError: there is no column, or an argument is out of range.
    """

    def __init__(
        self, model_dir=None, linear_feature_columns=None, linear_optimizer="Ftrl", dnn_feature_columns=None,
        dnn_optimizer="Adagrad", dnn_hidden_units=None, dnn_activation_fn=relu, dnn_dropout=None, n_classes=2,
        weight_column=None, label_vocabulary=None, input_layer_partitioner=None, config=None, warm_start_from=None,
        loss_reduction=Reduction.SUM, batch_norm=False, linear_sparse_combiner="sum",
    ) -> None:  # fmt: skip
        self._feature_columns = checked_columns(linear_feature_columns, dnn_feature_columns)
        model_fn = model_fn_with(
            _dnn_linear_combined_model_fn,
            head=_binary_logistic_or_multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            linear_feature_columns=linear_feature_columns, linear_optimizer=linear_optimizer,
            dnn_feature_columns=dnn_feature_columns, dnn_optimizer=dnn_optimizer, dnn_hidden_units=dnn_hidden_units,
            dnn_activation_fn=dnn_activation_fn, dnn_dropout=dnn_dropout,
            input_layer_partitioner=input_layer_partitioner, batch_norm=batch_norm,
            linear_sparse_combiner=linear_sparse_combiner,
        )  # fmt: skip
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


@export("estimator.DNNLinearCombinedEstimator")
class DNNLinearCombinedEstimator(Estimator):
    """A linear model and a fully connected network with a head; arguments as DNNLinearCombinedClassifier."""

    def __init__(
        self, head, model_dir=None, linear_feature_columns=None, linear_optimizer="Ftrl", dnn_feature_columns=None,
        dnn_optimizer="Adagrad", dnn_hidden_units=None, dnn_activation_fn=relu, dnn_dropout=None,
        input_layer_partitioner=None, config=None, linear_sparse_combiner="sum",
    ) -> None:  # fmt: skip
        self._feature_columns = checked_columns(linear_feature_columns, dnn_feature_columns)
        model_fn = model_fn_with(
            _dnn_linear_combined_model_fn, head=head, linear_feature_columns=linear_feature_columns,
            linear_optimizer=linear_optimizer, dnn_feature_columns=dnn_feature_columns, dnn_optimizer=dnn_optimizer,
            dnn_hidden_units=dnn_hidden_units, dnn_activation_fn=dnn_activation_fn, dnn_dropout=dnn_dropout,
            input_layer_partitioner=input_layer_partitioner, linear_sparse_combiner=linear_sparse_combiner,
        )  # fmt: skip
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)


@export("estimator.DNNLinearCombinedRegressor")
class DNNLinearCombinedRegressor(Estimator):
    """A linear model and a network of `label_dimension` numbers; arguments as DNNLinearCombinedClassifier."""

    def __init__(
        self, model_dir=None, linear_feature_columns=None, linear_optimizer="Ftrl", dnn_feature_columns=None,
        dnn_optimizer="Adagrad", dnn_hidden_units=None, dnn_activation_fn=relu, dnn_dropout=None, label_dimension=1,
        weight_column=None, input_layer_partitioner=None, config=None, warm_start_from=None,
        loss_reduction=Reduction.SUM, batch_norm=False, linear_sparse_combiner="sum",
    ) -> None:  # fmt: skip
        self._feature_columns = checked_columns(linear_feature_columns, dnn_feature_columns)
        head = _regression_head(
            label_dimension=label_dimension, weight_column=weight_column, loss_reduction=loss_reduction
        )
        model_fn = model_fn_with(
            _dnn_linear_combined_model_fn, head=head, linear_feature_columns=linear_feature_columns,
            linear_optimizer=linear_optimizer, dnn_feature_columns=dnn_feature_columns, dnn_optimizer=dnn_optimizer,
            dnn_hidden_units=dnn_hidden_units, dnn_activation_fn=dnn_activation_fn, dnn_dropout=dnn_dropout,
            input_layer_partitioner=input_layer_partitioner, batch_norm=batch_norm,
            linear_sparse_combiner=linear_sparse_combiner,
        )  # fmt: skip
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)
