"""tf.contrib.learn's models that learn the mean of the labels and use no feature, to check inputs with."""

from __future__ import annotations

from typing import Any

from tfcompat._src.contrib.layers.optimizers import optimize_loss
from tfcompat._src.contrib.learn import networks
from tfcompat._src.contrib.learn.estimator import Estimator
from tfcompat._src.contrib.learn.heads import multi_class_head, regression_head
from tfcompat._src.contrib.learn.keys import PredictionKey
from tfcompat._src.contrib.learn.model_fn import ModelFnOps
from tfcompat._src.estimator.canned.baseline import batch_size_and_checks
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.fill import zeros


def debug_model_fn(features: object, labels: object, mode: str, params: dict[str, Any], config: object = None) -> ModelFnOps:
    """A model whose logits are 0, so that only the centered bias of `params["head"]` learns; ValueError without features."""
    features = networks.feature_dict(features)
    if not features:
        raise ValueError("Features cannot be empty.")
    head = params["head"]
    batch, checks = batch_size_and_checks(features, None)
    with control_dependencies(checks):
        logits = zeros([batch, head.logits_dimension])

    def train_op_fn(loss: Tensor) -> Tensor:
        return optimize_loss(loss, global_step=None, learning_rate=0.3, optimizer="Adagrad")

    return head.create_model_fn_ops(
        features=features, labels=labels, mode=mode, train_op_fn=train_op_fn, logits=logits
    )


class _Debug(Estimator):
    def _one(self, key: str, input_fn: Any, batch_size: Any) -> Any:
        found = self.predict(input_fn=input_fn, batch_size=batch_size, outputs=[key])
        return (prediction[key] for prediction in found)


class DebugClassifier(_Debug):
    """Learns how frequent each class is; arguments as DNNClassifier."""

    def __init__(
        self, model_dir=None, n_classes=2, weight_column_name=None, config=None, feature_engineering_fn=None,
        label_keys=None,
    ) -> None:  # fmt: skip
        head = multi_class_head(
            n_classes=n_classes, weight_column_name=weight_column_name, enable_centered_bias=True, label_keys=label_keys
        )
        super().__init__(debug_model_fn, model_dir, config, {"head": head}, feature_engineering_fn)

    def predict_classes(self, input_fn=None, batch_size=None) -> Any:
        """The class of each example."""
        return self._one(PredictionKey.CLASSES, input_fn, batch_size)

    def predict_proba(self, input_fn=None, batch_size=None) -> Any:
        """The probabilities of each example's classes."""
        return self._one(PredictionKey.PROBABILITIES, input_fn, batch_size)


class DebugRegressor(_Debug):
    """Learns the mean of `label_dimension` numbers; arguments as DNNRegressor."""

    def __init__(
        self, model_dir=None, label_dimension=1, weight_column_name=None, config=None, feature_engineering_fn=None
    ) -> None:
        head = regression_head(
            weight_column_name=weight_column_name, label_dimension=label_dimension, enable_centered_bias=True
        )
        super().__init__(debug_model_fn, model_dir, config, {"head": head}, feature_engineering_fn)

    def predict_scores(self, input_fn=None, batch_size=None) -> Any:
        """The numbers of each example."""
        return self._one(PredictionKey.SCORES, input_fn, batch_size)
