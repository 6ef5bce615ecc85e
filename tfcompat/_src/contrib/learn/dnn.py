"""tf.contrib.learn's fully connected networks."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.layers.optimizers import optimize_loss
from tfcompat._src.contrib.learn import networks
from tfcompat._src.contrib.learn.canned import CannedClassifier, ScoringRegressor
from tfcompat._src.contrib.learn.estimator import Estimator
from tfcompat._src.contrib.learn.heads import multi_class_head, regression_head
from tfcompat._src.contrib.learn.model_fn import ModeKeys, ModelFnOps
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.math.unary import sigmoid, tanh
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.ops.nn.zero_fraction import zero_fraction
from tfcompat._src.summary.summary import histogram, scalar
from tfcompat._src.variables.scope import variable_scope
from tfcompat._src.variables.training_util import get_global_step

_LEARNING_RATE = 0.05
_ACTIVATION_FUNCTIONS = {"relu": relu, "tanh": tanh, "sigmoid": sigmoid}


def _get_activation_fn(activation_fn: object) -> Any:
    """A function, from itself or its name; ValueError where that is unknown."""
    if not isinstance(activation_fn, str):
        return activation_fn
    if activation_fn not in _ACTIVATION_FUNCTIONS:
        raise ValueError(
            f"Activation name should be one of [{', '.join(_ACTIVATION_FUNCTIONS)}], you provided {activation_fn}."
        )
    return _ACTIVATION_FUNCTIONS[activation_fn]


def _add_hidden_layer_summary(value: Tensor, tag: str) -> None:
    scalar(f"{tag}_fraction_of_zero_values", zero_fraction(value))
    histogram(f"{tag}_activation", value)


def _dnn_model_fn(features: object, labels: object, mode: str, params: dict[str, Any], config: object = None) -> ModelFnOps:
    head, features = params["head"], networks.feature_dict(features)
    slice_size = params.get("input_layer_min_slice_size") or 64 << 20
    with variable_scope("dnn", values=tuple(features.values()), partitioner=networks.partitioner_of(config)):
        logits, input_scope = networks.deep_logits(
            features, params["feature_columns"], params["hidden_units"], head.logits_dimension,
            _get_activation_fn(params.get("activation_fn")), params.get("dropout") if mode == ModeKeys.TRAIN else None,
            networks.partitioner_of(config, slice_size), _add_hidden_layer_summary,
        )  # fmt: skip

        def _train_op_fn(loss: Tensor) -> Tensor:
            return optimize_loss(
                loss=loss, global_step=get_global_step(), learning_rate=_LEARNING_RATE,
                optimizer=networks.made(params.get("optimizer") or "Adagrad"),
                gradient_multipliers=networks.embedding_multipliers(
                    params.get("embedding_lr_multipliers"), "dnn", input_scope
                ),
                clip_gradients=params.get("gradient_clip_norm"), name="dnn", summaries=[],
            )  # fmt: skip

        return head.create_model_fn_ops(
            features=features, mode=mode, labels=labels, train_op_fn=_train_op_fn, logits=logits
        )


@export("contrib.learn.DNNClassifier")
class DNNClassifier(CannedClassifier):
    """A fully connected network that classifies.

    Args:
      hidden_units: sizes of the hidden layers.
      feature_columns: dense columns, of contrib.layers or of tf.feature_column.
      model_dir: folder of the model.
      n_classes: number of classes.
      weight_column_name: key of the examples' weights.
      optimizer: tf.train.Optimizer, function that gives one, or its name.
      activation_fn: function of the hidden layers' sums, or "relu", "tanh", "sigmoid".
      dropout: probability with which a value is dropped while training, or None.
      gradient_clip_norm: largest norm of all gradients, or None.
      enable_centered_bias: whether a bias is learned that is shared by all examples.
      config: a RunConfig.
      feature_engineering_fn: function of features and labels that gives both, before the model.
      embedding_lr_multipliers: dict of factors of the learning rate by embedding column.
      input_layer_min_slice_size: smallest part of an embedding, in bytes.
      label_keys: names of the classes, where labels are strings.

    Raises:
      ValueError: an argument is out of range.
    """

    def __init__(
        self, hidden_units, feature_columns, model_dir=None, n_classes=2, weight_column_name=None, optimizer=None,
        activation_fn=relu, dropout=None, gradient_clip_norm=None, enable_centered_bias=False, config=None,
        feature_engineering_fn=None, embedding_lr_multipliers=None, input_layer_min_slice_size=None, label_keys=None,
    ) -> None:  # fmt: skip
        self._feature_columns = tuple(feature_columns or [])
        head = multi_class_head(
            n_classes, weight_column_name=weight_column_name, enable_centered_bias=enable_centered_bias,
            label_keys=label_keys,
        )  # fmt: skip
        params = {
            "head": head, "hidden_units": hidden_units, "feature_columns": self._feature_columns, "optimizer": optimizer,
            "activation_fn": activation_fn, "dropout": dropout, "gradient_clip_norm": gradient_clip_norm,
            "embedding_lr_multipliers": embedding_lr_multipliers,
            "input_layer_min_slice_size": input_layer_min_slice_size,
        }  # fmt: skip
        super().__init__(_dnn_model_fn, model_dir, config, params, feature_engineering_fn)


@export("contrib.learn.DNNRegressor")
class DNNRegressor(ScoringRegressor):
    """A fully connected network of `label_dimension` numbers; arguments as DNNClassifier."""

    def __init__(
        self, hidden_units, feature_columns, model_dir=None, weight_column_name=None, optimizer=None, activation_fn=relu,
        dropout=None, gradient_clip_norm=None, enable_centered_bias=False, config=None, feature_engineering_fn=None,
        label_dimension=1, embedding_lr_multipliers=None, input_layer_min_slice_size=None,
    ) -> None:  # fmt: skip
        self._feature_columns = tuple(feature_columns or [])
        head = regression_head(
            label_dimension=label_dimension, weight_column_name=weight_column_name,
            enable_centered_bias=enable_centered_bias,
        )  # fmt: skip
        params = {
            "head": head, "hidden_units": hidden_units, "feature_columns": self._feature_columns, "optimizer": optimizer,
            "activation_fn": activation_fn, "dropout": dropout, "gradient_clip_norm": gradient_clip_norm,
            "embedding_lr_multipliers": embedding_lr_multipliers,
            "input_layer_min_slice_size": input_layer_min_slice_size,
        }  # fmt: skip
        super().__init__(_dnn_model_fn, model_dir, config, params, feature_engineering_fn)


@export("contrib.learn.DNNEstimator")
class DNNEstimator(Estimator):
    """A fully connected network with a head; arguments as DNNClassifier."""

    def __init__(
        self, head, hidden_units, feature_columns, model_dir=None, optimizer=None, activation_fn=relu, dropout=None,
        gradient_clip_norm=None, config=None, feature_engineering_fn=None, embedding_lr_multipliers=None,
        input_layer_min_slice_size=None,
    ) -> None:  # fmt: skip
        params = {
            "head": head, "hidden_units": hidden_units, "feature_columns": feature_columns, "optimizer": optimizer,
            "activation_fn": activation_fn, "dropout": dropout, "gradient_clip_norm": gradient_clip_norm,
            "embedding_lr_multipliers": embedding_lr_multipliers,
            "input_layer_min_slice_size": input_layer_min_slice_size,
        }  # fmt: skip
        super().__init__(_dnn_model_fn, model_dir, config, params, feature_engineering_fn)
