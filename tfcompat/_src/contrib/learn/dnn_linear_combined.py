"""tf.contrib.learn's sums of a linear model and a fully connected network."""

from __future__ import annotations

import math
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.layers.optimizers import optimize_loss
from tfcompat._src.contrib.learn import networks
from tfcompat._src.contrib.learn.canned import CannedClassifier, ScoringRegressor
from tfcompat._src.contrib.learn.estimator import Estimator
from tfcompat._src.contrib.learn.heads import multi_class_head, regression_head
from tfcompat._src.contrib.learn.model_fn import ModeKeys, ModelFnOps
from tfcompat._src.estimator.canned.dnn_linear_combined import combined_logits
from tfcompat._src.estimator.canned.settings import add_layer_summary
from tfcompat._src.graph.scopes import colocate_with, control_dependencies, get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.train.sync_replicas_optimizer import SyncReplicasOptimizer
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.scope import variable_scope
from tfcompat._src.variables.training_util import get_global_step

_DNN_LEARNING_RATE = 0.05
_LINEAR_LEARNING_RATE = 0.2
_NO_COLUMNS = "Either linear_feature_columns or dnn_feature_columns must be defined."


def _made(optimizer: object) -> Any:
    optimizer = networks.made(optimizer)
    if isinstance(optimizer, SyncReplicasOptimizer):
        raise ValueError(
            "SyncReplicasOptimizer is not supported in DNNLinearCombined model. "
            "If you want to use this optimizer, please use either DNN or Linear model."
        )
    return optimizer


def _dnn_linear_combined_model_fn(
    features: object, labels: object, mode: str, params: dict[str, Any], config: object = None
) -> ModelFnOps:
    head = params["head"]
    linear_columns, dnn_columns = params.get("linear_feature_columns"), params.get("dnn_feature_columns")
    if not linear_columns and not dnn_columns:
        raise ValueError(_NO_COLUMNS)
    if dnn_columns and not params.get("dnn_hidden_units"):
        raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
    features = networks.feature_dict(features)
    values, units = tuple(features.values()), head.logits_dimension
    linear_optimizer = _made(params.get("linear_optimizer") or "Ftrl")
    dnn_optimizer = _made(params.get("dnn_optimizer") or "Adagrad")
    dnn_logits = linear_logits = dnn_input_scope = None
    if dnn_columns:
        with variable_scope("dnn", values=values, partitioner=networks.partitioner_of(config)):
            dnn_logits, dnn_input_scope = networks.deep_logits(
                features, dnn_columns, params["dnn_hidden_units"], units, params.get("dnn_activation_fn") or relu,
                params.get("dnn_dropout") if mode == ModeKeys.TRAIN else None,
                params.get("input_layer_partitioner") or networks.partitioner_of(config, 64 << 20), add_layer_summary,
            )  # fmt: skip
    if linear_columns:
        partitioner = networks.partitioner_of(config, 64 << 20)
        with variable_scope("linear", values=values, partitioner=partitioner) as scope:
            joint_weights = params.get("joint_linear_weights")
            linear_logits = networks.linear_logits(features, linear_columns, units, joint_weights, scope)
            add_layer_summary(linear_logits, scope.name)
    counts_each = not params.get("fix_global_step_increment_bug", True)

    def _make_training_op(loss: Tensor) -> Any:
        step = get_global_step()
        common = {
            "loss": loss, "global_step": step, "clip_gradients": params.get("gradient_clip_norm"), "summaries": [],
            "increment_global_step": counts_each,
        }  # fmt: skip
        train_ops = []
        if dnn_logits is not None:
            multipliers = networks.embedding_multipliers(params.get("embedding_lr_multipliers"), "dnn", dnn_input_scope)
            train_ops.append(
                optimize_loss(
                    learning_rate=_DNN_LEARNING_RATE, optimizer=dnn_optimizer, gradient_multipliers=multipliers,
                    variables=get_collection("dnn"), name="dnn", **common,
                )
            )  # fmt: skip
        if linear_logits is not None:
            rate = min(_LINEAR_LEARNING_RATE, 1.0 / math.sqrt(len(linear_columns)))
            train_ops.append(
                optimize_loss(
                    learning_rate=rate, optimizer=linear_optimizer, variables=get_collection("linear"), name="linear",
                    **common,
                )
            )  # fmt: skip
        train_op = group(*train_ops)
        if counts_each:
            return train_op
        with control_dependencies([train_op]), colocate_with(step):
            return assign_add(step, 1).op

    return head.create_model_fn_ops(
        features=features, mode=mode, labels=labels, train_op_fn=_make_training_op,
        logits=combined_logits(dnn_logits, linear_logits),
    )  # fmt: skip


def _input_partitioner(config: object, min_slice_size: int | None) -> Any:
    return None if min_slice_size is None else networks.partitioner_of(config, min_slice_size)


@export("contrib.learn.DNNLinearCombinedEstimator")
class DNNLinearCombinedEstimator(Estimator):
    """A linear model and a fully connected network with a head.

    Args:
      head: the head.
      model_dir: folder of the model.
      linear_feature_columns, linear_optimizer: columns and optimizer of the linear part.
      _joint_linear_weights: whether the weights of all linear columns are one variable.
      dnn_feature_columns, dnn_optimizer: dense columns and optimizer of the network.
      dnn_hidden_units, dnn_activation_fn, dnn_dropout: sizes, function and dropout of the hidden layers.
      gradient_clip_norm: largest norm of all gradients, or None.
      config: a RunConfig.
      feature_engineering_fn: function of features and labels that gives both, before the model.
      embedding_lr_multipliers: dict of factors of the learning rate by embedding column.
      fix_global_step_increment_bug: whether a step counts once; else once for each part.
      input_layer_partitioner: partitioner of the embeddings.

    Raises:
      ValueError: there is no column.
    """

    def __init__(
        self, head, model_dir=None, linear_feature_columns=None, linear_optimizer=None, _joint_linear_weights=False,
        dnn_feature_columns=None, dnn_optimizer=None, dnn_hidden_units=None, dnn_activation_fn=None, dnn_dropout=None,
        gradient_clip_norm=None, config=None, feature_engineering_fn=None, embedding_lr_multipliers=None,
        fix_global_step_increment_bug=False, input_layer_partitioner=None,
    ) -> None:  # fmt: skip
        linear_columns, dnn_columns = tuple(linear_feature_columns or []), tuple(dnn_feature_columns or [])
        if not linear_columns + dnn_columns:
            raise ValueError(_NO_COLUMNS)
        params = {
            "head": head, "linear_feature_columns": linear_columns, "linear_optimizer": linear_optimizer,
            "joint_linear_weights": _joint_linear_weights, "dnn_feature_columns": dnn_columns,
            "dnn_optimizer": dnn_optimizer, "dnn_hidden_units": dnn_hidden_units, "dnn_activation_fn": dnn_activation_fn,
            "dnn_dropout": dnn_dropout, "gradient_clip_norm": gradient_clip_norm,
            "embedding_lr_multipliers": embedding_lr_multipliers, "input_layer_partitioner": input_layer_partitioner,
            "fix_global_step_increment_bug": fix_global_step_increment_bug,
        }  # fmt: skip
        super().__init__(_dnn_linear_combined_model_fn, model_dir, config, params, feature_engineering_fn)


_DNNLinearCombinedEstimator = DNNLinearCombinedEstimator


@export("contrib.learn.DNNLinearCombinedClassifier")
class DNNLinearCombinedClassifier(CannedClassifier):
    """A linear model and a fully connected network that classify together.

    Args:
      n_classes, weight_column_name, enable_centered_bias, label_keys: as DNNClassifier.
      input_layer_min_slice_size: smallest part of an embedding, in bytes.
      others: as DNNLinearCombinedEstimator.

    Raises:
      ValueError: there is no column, or an argument is out of range.
    """

    def __init__(
        self, model_dir=None, n_classes=2, weight_column_name=None, linear_feature_columns=None, linear_optimizer=None,
        _joint_linear_weights=False, dnn_feature_columns=None, dnn_optimizer=None, dnn_hidden_units=None,
        dnn_activation_fn=relu, dnn_dropout=None, gradient_clip_norm=None, enable_centered_bias=False, config=None,
        feature_engineering_fn=None, embedding_lr_multipliers=None, input_layer_min_slice_size=None, label_keys=None,
        fix_global_step_increment_bug=False,
    ) -> None:  # fmt: skip
        head = multi_class_head(
            n_classes=n_classes, weight_column_name=weight_column_name, enable_centered_bias=enable_centered_bias,
            label_keys=label_keys,
        )  # fmt: skip
        linear_columns, dnn_columns = tuple(linear_feature_columns or []), tuple(dnn_feature_columns or [])
        self._feature_columns = linear_columns + dnn_columns
        if not self._feature_columns:
            raise ValueError(_NO_COLUMNS)
        params = {
            "head": head, "linear_feature_columns": linear_columns, "linear_optimizer": linear_optimizer,
            "joint_linear_weights": _joint_linear_weights, "dnn_feature_columns": dnn_columns,
            "dnn_optimizer": dnn_optimizer, "dnn_hidden_units": dnn_hidden_units, "dnn_activation_fn": dnn_activation_fn,
            "dnn_dropout": dnn_dropout, "gradient_clip_norm": gradient_clip_norm,
            "embedding_lr_multipliers": embedding_lr_multipliers,
            "input_layer_partitioner": _input_partitioner(config, input_layer_min_slice_size),
            "fix_global_step_increment_bug": fix_global_step_increment_bug,
        }  # fmt: skip
        super().__init__(_dnn_linear_combined_model_fn, model_dir, config, params, feature_engineering_fn)


@export("contrib.learn.DNNLinearCombinedRegressor")
class DNNLinearCombinedRegressor(ScoringRegressor):
    """A linear model and a network of `label_dimension` numbers; arguments as DNNLinearCombinedClassifier."""

    def __init__(
        self, model_dir=None, weight_column_name=None, linear_feature_columns=None, linear_optimizer=None,
        _joint_linear_weights=False, dnn_feature_columns=None, dnn_optimizer=None, dnn_hidden_units=None,
        dnn_activation_fn=relu, dnn_dropout=None, gradient_clip_norm=None, enable_centered_bias=False, label_dimension=1,
        config=None, feature_engineering_fn=None, embedding_lr_multipliers=None, input_layer_min_slice_size=None,
        fix_global_step_increment_bug=False,
    ) -> None:  # fmt: skip
        linear_columns, dnn_columns = linear_feature_columns or [], dnn_feature_columns or []
        self._feature_columns = linear_columns + dnn_columns
        if not self._feature_columns:
            raise ValueError(_NO_COLUMNS)
        head = regression_head(
            weight_column_name=weight_column_name, label_dimension=label_dimension,
            enable_centered_bias=enable_centered_bias,
        )  # fmt: skip
        params = {
            "head": head, "linear_feature_columns": linear_columns, "linear_optimizer": linear_optimizer,
            "joint_linear_weights": _joint_linear_weights, "dnn_feature_columns": dnn_columns,
            "dnn_optimizer": dnn_optimizer, "dnn_hidden_units": dnn_hidden_units, "dnn_activation_fn": dnn_activation_fn,
            "dnn_dropout": dnn_dropout, "gradient_clip_norm": gradient_clip_norm,
            "embedding_lr_multipliers": embedding_lr_multipliers,
            "input_layer_partitioner": _input_partitioner(config, input_layer_min_slice_size),
            "fix_global_step_increment_bug": fix_global_step_increment_bug,
        }  # fmt: skip
        super().__init__(_dnn_linear_combined_model_fn, model_dir, config, params, feature_engineering_fn)
