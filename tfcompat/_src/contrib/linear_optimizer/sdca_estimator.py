"""Linear estimators of contrib.learn trained by dual coordinate ascent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfcompat._src.contrib.layers.feature_column_ops import transform_features, weighted_sum_from_feature_columns
from tfcompat._src.contrib.layers.real_valued_columns import real_valued_column
from tfcompat._src.contrib.learn.estimator import Estimator
from tfcompat._src.contrib.learn.heads import (
    _BinaryLogisticHead,
    _BinarySvmHead,
    _RegressionHead,
    multi_class_head,
    regression_head,
)
from tfcompat._src.contrib.learn.keys import PredictionKey
from tfcompat._src.contrib.learn.model_fn import ModelFnOps
from tfcompat._src.contrib.linear_optimizer.sdca_optimizer import SDCAOptimizer
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunHook
from tfcompat._src.variables.scope import variable_scope
from tfcompat._src.variables.training_util import get_global_step

_BIAS = "tf_virtual_bias_column"
_LOSS_OF_HEAD = {_BinarySvmHead: "hinge_loss", _BinaryLogisticHead: "logistic_loss", _RegressionHead: "squared_loss"}


def _loss_type(head: object) -> str:
    """The loss that belongs to a head; ValueError where there is none."""
    for kind, loss in _LOSS_OF_HEAD.items():
        if isinstance(head, kind):
            return loss
    raise ValueError(f"head type: {type(head)} is not supported. Supported head types: {', '.join(k.__name__ for k in _LOSS_OF_HEAD)}.")


def _with_bias(columns: Any, features: dict, bias: object, columns_to_variables: dict) -> None:
    """Adds a column of ones for the bias."""
    if any(c.name == _BIAS for c in columns):
        raise ValueError(f"{_BIAS} is a reserved column name.")
    tensor = next(iter(features.values()))
    tensor = tensor[0] if isinstance(tensor, tuple) else tensor
    count = tensor.dense_shape[0] if isinstance(tensor, SparseTensor) else shape(tensor)[0]
    column = real_valued_column(_BIAS)
    features[column], columns_to_variables[column] = ones([count, 1]), [bias]


def sdca_model_fn(features: dict, labels: Any, mode: str, params: dict[str, Any], config: Any = None) -> ModelFnOps:
    """The model_fn of linear models that are trained by dual coordinate ascent.

    Args:
      features: tensors by name.
      labels: the labels.
      mode: "train", "eval" or "infer".
      params: `head`, `feature_columns`, `weight_column_name`, `update_weights_hook`, and either `optimizer`, an SDCAOptimizer,
        or `example_id_column`, `l1_regularization`, `l2_regularization`, `num_loss_partitions` (None: the number of workers)
        and `partitioner`.
      config: a RunConfig.

    Raises:
      ValueError: a head without a loss here, or a column of a kind that is not supported.
    """
    head, columns, hook = params["head"], params["feature_columns"], params.get("update_weights_hook")
    loss_type = _loss_type(head)
    optimizer = params.get("optimizer") or SDCAOptimizer(
        params["example_id_column"], params["num_loss_partitions"] or max(1, config.num_worker_replicas),
        symmetric_l1_regularization=params["l1_regularization"], symmetric_l2_regularization=params["l2_regularization"],
        partitioner=params["partitioner"],
    )  # fmt: skip
    with variable_scope("linear", values=features.values(), partitioner=optimizer.partitioner) as scope:
        features = {**features, **transform_features(features, columns)}
        logits, columns_to_variables, bias = weighted_sum_from_feature_columns(features, columns, 1, scope=scope)
        _with_bias(columns, features, bias, columns_to_variables)

    def train_op_fn(_: Tensor) -> Any:
        model, train_op = optimizer.get_train_step(
            columns_to_variables, params["weight_column_name"], loss_type, features, labels, get_global_step()
        )
        if hook is not None:
            hook.set_parameters(model, train_op)
        return train_op

    found = head.create_model_fn_ops(features=features, labels=labels, mode=mode, train_op_fn=train_op_fn, logits=logits)
    return found if hook is None else found._replace(training_chief_hooks=[*found.training_chief_hooks, hook])


def sdca_params(head: object, feature_columns: object, optimizer: SDCAOptimizer, weight_column_name: str | None) -> dict[str, Any]:
    """The params of `sdca_model_fn` for an optimizer; ValueError where the head has no loss here."""
    _loss_type(head)
    return {
        "head": head, "feature_columns": feature_columns, "optimizer": optimizer, "weight_column_name": weight_column_name,
        "update_weights_hook": _SdcaUpdateWeightsHook(),
    }  # fmt: skip


class _SdcaUpdateWeightsHook(SessionRunHook):
    """Makes the weights from what was trained, in each step."""

    def set_parameters(self, sdca_model: Any, train_op: Any) -> None:
        self._sdca_model, self._train_op = sdca_model, train_op

    def begin(self) -> None:
        self._update_op = self._sdca_model.update_weights(self._train_op)

    def before_run(self, run_context: object) -> SessionRunArgs:
        return SessionRunArgs(self._update_op)


class _SDCAEstimator(Estimator):
    """What the two estimators share.

    Args:
      example_id_column: the feature with the ids of examples, a string vector.
      feature_columns: columns of contrib.layers.
      weight_column_name: the feature with the weights of examples, or None.
      model_dir: folder of the model.
      head: the head.
      l1_regularization, l2_regularization: weights of the penalties.
      num_loss_partitions: how many models are trained at once; None: the number of workers.
      config: a RunConfig.
      feature_engineering_fn: changes features and labels before the model gets them.
      partitioner: divides the weights, or None.

    Raises:
      ValueError: a head that cannot be trained so. AssertionError: no columns.
    """

    def __init__(
        self, example_id_column: str, feature_columns: Any, weight_column_name: str | None = None, model_dir: str | None = None,
        head: Any = None, l1_regularization: float = 0.0, l2_regularization: float = 1.0,
        num_loss_partitions: int | None = None, config: Any = None, feature_engineering_fn: Any = None, partitioner: Any = None,
    ) -> None:  # fmt: skip
        if not feature_columns:
            raise AssertionError("feature_columns can't be empty.")
        _loss_type(head)
        params = {
            "head": head, "feature_columns": feature_columns, "example_id_column": example_id_column,
            "num_loss_partitions": num_loss_partitions, "l1_regularization": l1_regularization,
            "l2_regularization": l2_regularization, "weight_column_name": weight_column_name,
            "update_weights_hook": _SdcaUpdateWeightsHook(), "partitioner": partitioner,
        }  # fmt: skip
        super().__init__(sdca_model_fn, model_dir, config, params, feature_engineering_fn)

    def _predicted(self, input_fn: object, key: str) -> Iterator[Any]:
        return (found[key] for found in self.predict(input_fn=input_fn, outputs=[key]))


class SDCALogisticClassifier(_SDCAEstimator):
    """Logistic regression of two classes; arguments as those of `_SDCAEstimator`, without a head."""

    def __init__(
        self, example_id_column: str, feature_columns: object, weight_column_name: str | None = None, model_dir: str | None = None,
        l1_regularization: float = 0.0, l2_regularization: float = 1.0, num_loss_partitions: int | None = None,
        config: object = None, feature_engineering_fn: object = None, partitioner: object = None,
    ) -> None:  # fmt: skip
        head = multi_class_head(n_classes=2, weight_column_name=weight_column_name)
        super().__init__(
            example_id_column, feature_columns, weight_column_name, model_dir, head, l1_regularization, l2_regularization,
            num_loss_partitions, config, feature_engineering_fn, partitioner,
        )  # fmt: skip

    def predict_classes(self, input_fn: object = None) -> Iterator[Any]:
        """The class of each example."""
        return self._predicted(input_fn, PredictionKey.CLASSES)

    def predict_proba(self, input_fn: object = None) -> Iterator[Any]:
        """The probabilities of the classes of each example."""
        return self._predicted(input_fn, PredictionKey.PROBABILITIES)


class SDCALinearRegressor(_SDCAEstimator):
    """Linear regression; arguments as those of `_SDCAEstimator`, without a head."""

    def __init__(
        self, example_id_column: str, feature_columns: object, weight_column_name: str | None = None, model_dir: str | None = None,
        l1_regularization: float = 0.0, l2_regularization: float = 1.0, num_loss_partitions: int | None = None,
        config: object = None, feature_engineering_fn: object = None, partitioner: object = None,
    ) -> None:  # fmt: skip
        head = regression_head(weight_column_name=weight_column_name)
        super().__init__(
            example_id_column, feature_columns, weight_column_name, model_dir, head, l1_regularization, l2_regularization,
            num_loss_partitions, config, feature_engineering_fn, partitioner,
        )  # fmt: skip

    def predict_scores(self, input_fn: object) -> Iterator[Any]:
        """The prediction of each example."""
        return self._predicted(input_fn, PredictionKey.SCORES)
