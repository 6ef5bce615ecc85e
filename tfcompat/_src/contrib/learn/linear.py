"""tf.contrib.learn's linear models."""

from __future__ import annotations

import math
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.layers.optimizers import OPTIMIZER_CLS_NAMES
from tfcompat._src.contrib.learn import networks
from tfcompat._src.contrib.learn.canned import CannedClassifier, CannedRegressor
from tfcompat._src.contrib.learn.estimator import Estimator
from tfcompat._src.contrib.learn.heads import binary_svm_head, multi_class_head, regression_head
from tfcompat._src.contrib.learn.keys import PredictionKey
from tfcompat._src.contrib.learn.model_fn import ModelFnOps
from tfcompat._src.contrib.linear_optimizer.sdca_estimator import sdca_model_fn, sdca_params
from tfcompat._src.contrib.linear_optimizer.sdca_optimizer import SDCAOptimizer
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.graph.scopes import get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.math.clip import clip_by_global_norm
from tfcompat._src.platform import logging
from tfcompat._src.train.ftrl import FtrlOptimizer
from tfcompat._src.variables.scope import variable_scope
from tfcompat._src.variables.training_util import get_global_step

_LEARNING_RATE = 0.2


def _get_optimizer(spec: object, feature_columns: Any) -> Any:
    if not spec:
        return FtrlOptimizer(learning_rate=min(_LEARNING_RATE, 1.0 / math.sqrt(len(feature_columns))))
    if isinstance(spec, str):
        return OPTIMIZER_CLS_NAMES[spec](learning_rate=_LEARNING_RATE)
    return networks.made(spec)


def _linear_model_fn(features: object, labels: object, mode: str, params: dict[str, Any], config: object = None) -> ModelFnOps:
    head, columns, features = params["head"], params["feature_columns"], networks.feature_dict(features)
    partitioner = networks.partitioner_of(config, 64 << 20)
    with variable_scope("linear", values=tuple(features.values()), partitioner=partitioner) as scope:
        joint_weights = params.get("joint_weights", False)
        logits = networks.linear_logits(features, columns, head.logits_dimension, joint_weights, scope)

        def _train_op_fn(loss: Tensor) -> Any:
            variables = get_collection("linear")
            slopes = gradients(loss, variables)
            if params.get("gradient_clip_norm"):
                slopes, _ = clip_by_global_norm(slopes, params["gradient_clip_norm"])
            optimizer = _get_optimizer(params.get("optimizer"), columns)
            return optimizer.apply_gradients(zip(slopes, variables, strict=True), global_step=get_global_step())

        return head.create_model_fn_ops(
            features=features, mode=mode, labels=labels, train_op_fn=_train_op_fn, logits=logits
        )


def _check_dual(joint_weights: bool, outputs: int, centered_bias: bool) -> None:
    """Refuses what dual coordinate ascent cannot train: AssertionError, or ValueError for a centered bias."""
    if centered_bias:
        raise ValueError("enable_centered_bias is not supported with SDCA")
    if joint_weights or outputs != 1:
        raise AssertionError("SDCAOptimizer trains one output, whose columns have weights of their own")


@export("contrib.learn.LinearClassifier")
class LinearClassifier(CannedClassifier):
    """A linear model that classifies.

    Args:
      feature_columns: columns, of contrib.layers or of tf.feature_column.
      model_dir: folder of the model.
      n_classes: number of classes.
      weight_column_name: key of the examples' weights.
      optimizer: tf.train.Optimizer, function that gives one, or its name.
      gradient_clip_norm: largest norm of all gradients, or None.
      enable_centered_bias: whether a bias is learned that is shared by all examples.
      _joint_weight: whether the weights of all columns are one variable.
      config: a RunConfig.
      feature_engineering_fn: function of features and labels that gives both, before the model.
      label_keys: names of the classes, where labels are strings.

    Raises:
      ValueError: an argument is out of range. AssertionError: there is no column.
    """

    def __init__(
        self, feature_columns, model_dir=None, n_classes=2, weight_column_name=None, optimizer=None,
        gradient_clip_norm=None, enable_centered_bias=False, _joint_weight=False, config=None,
        feature_engineering_fn=None, label_keys=None,
    ) -> None:  # fmt: skip
        self._feature_columns = tuple(feature_columns or [])
        if not self._feature_columns:
            raise AssertionError("LinearClassifier needs feature columns")
        head = multi_class_head(
            n_classes, weight_column_name=weight_column_name, enable_centered_bias=enable_centered_bias,
            label_keys=label_keys,
        )  # fmt: skip
        params = {
            "head": head, "feature_columns": feature_columns, "optimizer": optimizer,
            "gradient_clip_norm": gradient_clip_norm, "joint_weights": _joint_weight,
        }  # fmt: skip
        model_fn = _linear_model_fn
        if isinstance(optimizer, SDCAOptimizer):
            _check_dual(_joint_weight, n_classes - 1, enable_centered_bias)
            model_fn, params = sdca_model_fn, sdca_params(head, feature_columns, optimizer, weight_column_name)
        super().__init__(model_fn, model_dir, config, params, feature_engineering_fn)


@export("contrib.learn.LinearRegressor")
class LinearRegressor(CannedRegressor):
    """A linear model of `label_dimension` numbers; arguments as LinearClassifier."""

    def __init__(
        self, feature_columns, model_dir=None, weight_column_name=None, optimizer=None, gradient_clip_norm=None,
        enable_centered_bias=False, label_dimension=1, _joint_weights=False, config=None, feature_engineering_fn=None,
    ) -> None:  # fmt: skip
        self._feature_columns = tuple(feature_columns or [])
        if not self._feature_columns:
            raise AssertionError("LinearRegressor needs feature columns")
        if isinstance(optimizer, SDCAOptimizer) and enable_centered_bias:
            enable_centered_bias = False
            logging.warning("centered_bias is not supported with SDCA, please disable it explicitly.")
        head = regression_head(
            weight_column_name=weight_column_name, label_dimension=label_dimension,
            enable_centered_bias=enable_centered_bias,
        )  # fmt: skip
        params = {
            "head": head, "feature_columns": feature_columns, "optimizer": optimizer,
            "gradient_clip_norm": gradient_clip_norm, "joint_weights": _joint_weights,
        }  # fmt: skip
        model_fn = _linear_model_fn
        if isinstance(optimizer, SDCAOptimizer):
            _check_dual(_joint_weights, label_dimension, enable_centered_bias)
            model_fn, params = sdca_model_fn, sdca_params(head, feature_columns, optimizer, weight_column_name)
        super().__init__(model_fn, model_dir, config, params, feature_engineering_fn)


@export("contrib.learn.LinearEstimator")
class LinearEstimator(Estimator):
    """A linear model with a head; arguments as LinearClassifier."""

    def __init__(
        self, feature_columns, head, model_dir=None, weight_column_name=None, optimizer=None, gradient_clip_norm=None,
        _joint_weights=False, config=None, feature_engineering_fn=None,
    ) -> None:  # fmt: skip
        if not feature_columns:
            raise AssertionError("LinearEstimator needs feature columns")
        if isinstance(optimizer, SDCAOptimizer):
            raise ValueError("LinearEstimator does not support SDCA optimizer.")
        params = {
            "head": head, "feature_columns": feature_columns, "optimizer": optimizer,
            "gradient_clip_norm": gradient_clip_norm, "joint_weights": _joint_weights,
        }  # fmt: skip
        super().__init__(_linear_model_fn, model_dir, config, params, feature_engineering_fn)


@export("contrib.learn.SVM")
class SVM(Estimator):
    """A linear support vector machine for two classes, trained by dual coordinate ascent.

    Args:
      example_id_column: the feature with the ids of examples, a string vector.
      feature_columns: columns of contrib.layers.
      weight_column_name: key of the examples' weights.
      model_dir: folder of the model.
      l1_regularization, l2_regularization: weights of the penalties.
      num_loss_partitions: how many models are trained at once.
      kernels: None: there are no others than the linear one.
      config: a RunConfig.
      feature_engineering_fn: function of features and labels that gives both, before the model.

    Raises:
      ValueError: `kernels` are given. AssertionError: there is no column.
    """

    def __init__(
        self, example_id_column, feature_columns, weight_column_name=None, model_dir=None, l1_regularization=0.0,
        l2_regularization=0.0, num_loss_partitions=1, kernels=None, config=None, feature_engineering_fn=None,
    ) -> None:  # fmt: skip
        if kernels is not None:
            raise ValueError("Kernel SVMs are not currently supported.")
        if not feature_columns:
            raise AssertionError("SVM needs feature columns")
        optimizer = SDCAOptimizer(
            example_id_column, num_loss_partitions, symmetric_l1_regularization=l1_regularization,
            symmetric_l2_regularization=l2_regularization,
        )  # fmt: skip
        head = binary_svm_head(weight_column_name=weight_column_name, enable_centered_bias=False)
        params = sdca_params(head, feature_columns, optimizer, weight_column_name)
        super().__init__(sdca_model_fn, model_dir, config, params, feature_engineering_fn)

    def predict_classes(self, x=None, input_fn=None, batch_size=None, as_iterable=True) -> Any:
        """The class of each example; arguments as Estimator.predict."""
        key = PredictionKey.CLASSES
        found = self.predict(x=x, input_fn=input_fn, batch_size=batch_size, outputs=[key], as_iterable=as_iterable)
        return (each[key] for each in found) if as_iterable else found[key]
