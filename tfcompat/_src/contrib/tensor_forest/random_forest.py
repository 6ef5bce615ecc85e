"""tf.contrib.tensor_forest.client.random_forest: estimators of forests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.contrib.estimator import head as core_heads
from tfcompat._src.contrib.layers.feature_column_ops import transform_features
from tfcompat._src.contrib.learn import estimator, heads
from tfcompat._src.contrib.learn.keys import ProblemType
from tfcompat._src.contrib.learn.model_fn import ModeKeys, ModelFnOps
from tfcompat._src.contrib.tensor_forest import eval_metrics, tensor_forest
from tfcompat._src.estimator import estimator as core_estimator
from tfcompat._src.feature_column import input_layer
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses.losses import Reduction
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import log
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.export_output import PredictOutput
from tfcompat._src.summary import summary
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunHook
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.scope import variable_scope
from tfcompat._src.variables.training_util import get_global_step

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation

KEYS_NAME = "keys"
LOSS_NAME = "rf_training_loss"
TREE_PATHS_PREDICTION_KEY = "tree_paths"
VARIANCE_PREDICTION_KEY = "prediction_variance"
ALL_SERVING_KEY = "tensorforest_all"
EPSILON = 0.000001


@export("contrib.tensor_forest.client.random_forest.ModelBuilderOutputType")
class ModelBuilderOutputType:
    """What a model_fn gives: a ModelFnOps of contrib.learn or an EstimatorSpec."""

    MODEL_FN_OPS = 0
    ESTIMATOR_SPEC = 1


@export("contrib.tensor_forest.client.random_forest.TensorForestRunOpAtEndHook")
class TensorForestRunOpAtEndHook(SessionRunHook):
    """Runs and logs operations, given by name, when training ends."""

    def __init__(self, op_dict: dict[str, Any]) -> None:
        self._ops = op_dict

    def end(self, session: SessionLike) -> None:
        """Runs the operations in the order of their names."""
        for name in sorted(self._ops):
            logging.info("%s: %s", name, session.run(self._ops[name]))


@export("contrib.tensor_forest.client.random_forest.TensorForestLossHook")
class TensorForestLossHook(SessionRunHook):
    """Stops training when the loss has not fallen for a number of steps.

    Args:
      early_stopping_rounds: int, that number.
      early_stopping_loss_threshold: the share of the loss by which it must fall to count.
      loss_op: scalar; by default the output of the operation "rf_training_loss".
    """

    def __init__(
        self, early_stopping_rounds: int, early_stopping_loss_threshold: float | None = None, loss_op: object = None
    ) -> None:
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_loss_threshold = early_stopping_loss_threshold
        self.loss_op = loss_op
        self.min_loss = None
        self.last_step = -1
        self.steps = 0

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for the loss and the step."""
        loss = self.loss_op
        if loss is None:
            loss = run_context.session.graph.get_operation_by_name(LOSS_NAME).outputs[0]
        return SessionRunArgs({"global_step": get_global_step(), "current_loss": loss})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Asks to stop where the loss has not fallen for long."""
        loss, step = run_values.results["current_loss"], run_values.results["global_step"]
        self.steps += 1
        if self.last_step == -1 or self.last_step > step:
            logging.info("TensorForestLossHook resetting last_step.")
            self.last_step, self.steps, self.min_loss = step, 0, None
            return
        self.last_step = step
        if self.min_loss is None or loss < self.min_loss - self.min_loss * self.early_stopping_loss_threshold:
            self.min_loss, self.steps = loss, 0
        if self.steps > self.early_stopping_rounds:
            logging.info("TensorForestLossHook requesting stop.")
            run_context.request_stop()


def _default_head(params: Any, weights_name: str | None, output_type: int, name: str | None = None) -> Any:
    """The head of regression or of classes."""
    if output_type == ModelBuilderOutputType.MODEL_FN_OPS:
        shared = {"weight_column_name": weights_name, "enable_centered_bias": False, "head_name": name}
        if params.regression:
            return heads.regression_head(label_dimension=params.num_outputs, **shared)
        return heads.multi_class_head(params.num_classes, **shared)
    shared = {"weight_column": weights_name, "name": name, "loss_reduction": Reduction.SUM_OVER_BATCH_SIZE}
    if params.regression:
        return core_heads.regression_head(label_dimension=params.num_outputs, **shared)
    if params.num_classes == 2:
        return core_heads.binary_classification_head(**shared)
    return core_heads.multi_class_head(n_classes=params.num_classes, **shared)


def _with_columns(features: dict, feature_columns: Any, output_type: int) -> dict:
    """The features, and the feature columns of them."""
    features = features.copy()
    if output_type == ModelBuilderOutputType.MODEL_FN_OPS:
        features.update(transform_features(features, feature_columns))
    else:
        for column in feature_columns:
            features[column.name] = input_layer._transform_features(features, [column])[column]
    return features


def _logits(params: Any, probabilities: Tensor) -> Tensor:
    """What a head takes: with two classes, the logarithm of the odds."""
    if params.regression or params.num_classes != 2:
        return probabilities
    second = slice_(probabilities, [0, 1], [-1, 1])
    return log(maximum(second / maximum(1.0 - second, EPSILON), EPSILON))


def _all_predictions(model: Any, extra: dict[str, Any], include_all_in_serving: bool) -> Any:
    """The model with further predictions, and a serving signature of all of them where it is wanted."""
    model.predictions.update(extra)
    if not include_all_in_serving:
        return model
    if isinstance(model, ModelFnOps):
        alternatives = dict(model.output_alternatives or {})
        alternatives[ALL_SERVING_KEY] = ProblemType.UNSPECIFIED, model.predictions
        return model._replace(output_alternatives=alternatives)
    return model._replace(export_outputs={ALL_SERVING_KEY: PredictOutput(model.predictions)})


@export("contrib.tensor_forest.client.random_forest.get_model_fn")
def get_model_fn(
    params, graph_builder_class, device_assigner, feature_columns=None, weights_name=None, model_head=None, keys_name=None,
    early_stopping_rounds=100, early_stopping_loss_threshold=0.001, num_trainers=1, trainer_id=0, report_feature_importances=False,
    local_eval=False, head_scope=None, include_all_in_serving=False, output_type=ModelBuilderOutputType.MODEL_FN_OPS,
) -> Callable:  # fmt: skip
    """The model_fn of a forest.

    Args:
      params: a filled ForestHParams.
      graph_builder_class: RandomForestGraphs, or a class like it.
      device_assigner: what `tf.device` takes, for training.
      feature_columns: feature columns that are added to the features.
      weights_name: key of the examples' weights.
      model_head: a head; by default that of `params`.
      keys_name: key of names of examples, which become predictions.
      early_stopping_rounds: for how many steps the loss may not fall; 0 for no limit.
      early_stopping_loss_threshold: by which share it must fall to count.
      num_trainers: among how many trainers the trees are divided.
      trainer_id: which one this is.
      report_feature_importances: whether they are logged at the end.
      local_eval: whether evaluation is on this machine.
      head_scope: variable scope of the head.
      include_all_in_serving: whether there is a signature with all predictions.
      output_type: what it gives, of ModelBuilderOutputType.

    Returns:
      A function of features (a dict, a Tensor or a SparseTensor), labels and mode.
    """
    if model_head is None:
        model_head = _default_head(params, weights_name, output_type)

    def train_op(builder: Any, probabilities: Tensor, features: object, labels: object, weights: object) -> Operation | None:
        with control_dependencies([probabilities.op]):
            trained = builder.training_graph(
                features, labels, input_weights=weights, num_trainers=num_trainers, trainer_id=trainer_id
            )
            return group(trained, assign_add(get_global_step(), 1))

    def hooks(builder: Any, loss: object) -> list[SessionRunHook]:
        cleaned = group(*[raw.DestroyResourceOp(handle) for handle in builder.get_all_resource_handles()])
        at_end = {"9: clean up resources": cleaned}
        if report_feature_importances:
            at_end["1: feature_importances"] = builder.feature_importances()
        found: list[SessionRunHook] = [TensorForestRunOpAtEndHook(at_end)]
        if early_stopping_rounds:
            found.append(TensorForestLossHook(early_stopping_rounds, early_stopping_loss_threshold, loss))
        return found

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        if isinstance(features, (Tensor, SparseTensor)):
            features = {"features": features}
        if feature_columns:
            features = _with_columns(features, feature_columns, output_type)
        weights = features.pop(weights_name) if weights_name and weights_name in features else None
        keys = features.pop(keys_name) if keys_name and keys_name in features else None
        is_local = mode == ModeKeys.INFER or (local_eval and mode == ModeKeys.EVAL)
        builder = graph_builder_class(params, device_assigner=None if is_local else device_assigner)
        probabilities, tree_paths, variance = builder.inference_graph(features)
        summary.scalar("average_tree_size", builder.average_size())
        logits = _logits(params, probabilities)
        training = None
        if labels is not None and mode == ModeKeys.TRAIN:
            training = train_op(builder, logits, features, labels, weights)
        if weights is not None:
            features[weights_name] = weights
        extra = {} if keys is None else {keys_name: keys}
        if params.inference_tree_paths:
            extra[TREE_PATHS_PREDICTION_KEY] = tree_paths
        extra[VARIANCE_PREDICTION_KEY] = variance
        shared = {
            "features": features,
            "labels": labels,
            "mode": mode,
            "train_op_fn": lambda loss: training,
            "logits": logits,
        }
        if output_type == ModelBuilderOutputType.MODEL_FN_OPS:
            model = model_head.create_model_fn_ops(scope=head_scope, **shared)
            model.training_hooks.extend(hooks(builder, model.loss))
        else:
            model = model_head.create_estimator_spec(**shared)
            model = model._replace(training_hooks=[*hooks(builder, model.loss), *model.training_hooks])
        return _all_predictions(model, extra, include_all_in_serving)

    return model_fn


def _trainers(num_trainers: int, config: Any) -> int:
    """The number of trainers: that of the workers of the cluster, where it is not given."""
    return max(1, config.num_worker_replicas) if num_trainers == 1 and config is not None else num_trainers


@export("contrib.tensor_forest.client.random_forest.TensorForestEstimator")
class TensorForestEstimator(estimator.Estimator):
    """A forest as an estimator of contrib.learn.

    Args:
      params: a ForestHParams.
      device_assigner: what `tf.device` takes; says where each tree is.
      model_dir: folder of checkpoints and events.
      feature_columns: feature columns that are added to the features.
      graph_builder_class: builds the forest.
      config: a RunConfig.
      weight_column: key of the examples' weights.
      keys_column: key of names of examples.
      feature_engineering_fn: function of features and labels to both.
      early_stopping_rounds, early_stopping_loss_threshold, num_trainers, trainer_id, report_feature_importances, local_eval,
        include_all_in_serving: as in `get_model_fn`.
      version: not used.
      head: a head of contrib.learn.
    """

    def __init__(
        self, params, device_assigner=None, model_dir=None, feature_columns=None, graph_builder_class=tensor_forest.RandomForestGraphs,
        config=None, weight_column=None, keys_column=None, feature_engineering_fn=None, early_stopping_rounds=100,
        early_stopping_loss_threshold=0.001, num_trainers=1, trainer_id=0, report_feature_importances=False, local_eval=False,
        version=None, head=None, include_all_in_serving=False,
    ) -> None:  # fmt: skip
        model_fn = get_model_fn(
            params.fill(), graph_builder_class, device_assigner,
            feature_columns=feature_columns, model_head=head, weights_name=weight_column, keys_name=keys_column,
            early_stopping_rounds=early_stopping_rounds, early_stopping_loss_threshold=early_stopping_loss_threshold,
            num_trainers=_trainers(num_trainers, config), trainer_id=trainer_id, local_eval=local_eval,
            report_feature_importances=report_feature_importances, include_all_in_serving=include_all_in_serving,
        )  # fmt: skip
        super().__init__(
            model_fn=model_fn, model_dir=model_dir, config=config, feature_engineering_fn=feature_engineering_fn
        )


@export("contrib.tensor_forest.client.random_forest.get_combined_model_fn")
def get_combined_model_fn(model_fns: list[Callable]) -> Callable:
    """The model_fn of several forests, one for each column of the labels."""

    def model_fn(features: object, labels: TensorLike, mode: str) -> ModelFnOps:
        models = []
        for i, each in enumerate(model_fns):
            with variable_scope(f"label_{i}"):
                models.append(each(features, slice_(labels, [0, i], [-1, 1]), mode))
        predictions = {}
        if mode in (ModeKeys.EVAL, ModeKeys.INFER):
            probabilities, classes = eval_metrics.INFERENCE_PROB_NAME, eval_metrics.INFERENCE_PRED_NAME
            predictions[probabilities] = concat([model.predictions[probabilities] for model in models], axis=1)
            predictions[classes] = stack([model.predictions[classes] for model in models], axis=1)
        loss = train_op = None
        if mode in (ModeKeys.EVAL, ModeKeys.TRAIN):
            loss = reduce_sum(stack([model.loss for model in models])) / len(models)
        if mode == ModeKeys.TRAIN:
            train_op = group(*[model.train_op for model in models])
        hooks = [hook for model in models for hook in model.training_hooks]
        return ModelFnOps(mode=mode, predictions=predictions, loss=loss, train_op=train_op, training_hooks=hooks)

    return model_fn


@export("contrib.tensor_forest.client.random_forest.MultiForestMultiHeadEstimator")
class MultiForestMultiHeadEstimator(estimator.Estimator):
    """Forests that share features, one for each column of the labels; `params_list` has a ForestHParams for each.

    The other arguments are those of TensorForestEstimator, but `feature_columns` is not used.
    """

    def __init__(
        self, params_list, device_assigner=None, model_dir=None, feature_columns=None,
        graph_builder_class=tensor_forest.RandomForestGraphs, config=None, weight_column=None, keys_column=None,
        feature_engineering_fn=None, early_stopping_rounds=100, num_trainers=1, trainer_id=0, report_feature_importances=False,
        local_eval=False,
    ) -> None:  # fmt: skip
        model_fns = []
        for i, params in enumerate(params_list):
            params.fill()
            head = _default_head(params, weight_column, ModelBuilderOutputType.MODEL_FN_OPS, name=f"head{i}")
            model_fns.append(
                get_model_fn(
                    params, graph_builder_class, device_assigner,
                    model_head=head, weights_name=weight_column, keys_name=keys_column, early_stopping_rounds=early_stopping_rounds,
                    num_trainers=_trainers(num_trainers, config), trainer_id=trainer_id, local_eval=local_eval,
                    report_feature_importances=report_feature_importances, head_scope=f"output{i}",
                )
            )  # fmt: skip
        combined = get_combined_model_fn(model_fns)
        super().__init__(
            model_fn=combined, model_dir=model_dir, config=config, feature_engineering_fn=feature_engineering_fn
        )


@export("contrib.tensor_forest.client.random_forest.CoreTensorForestEstimator")
class CoreTensorForestEstimator(core_estimator.Estimator):
    """A forest as a `tf.estimator.Estimator`.

    The arguments are those of TensorForestEstimator, but `head` is one of contrib.estimator, and `feature_engineering_fn` is not used.
    """

    def __init__(
        self, params, device_assigner=None, model_dir=None, feature_columns=None, graph_builder_class=tensor_forest.RandomForestGraphs,
        config=None, weight_column=None, keys_column=None, feature_engineering_fn=None, early_stopping_rounds=100,
        early_stopping_loss_threshold=0.001, num_trainers=1, trainer_id=0, report_feature_importances=False, local_eval=False,
        version=None, head=None, include_all_in_serving=False,
    ) -> None:  # fmt: skip
        if trainer_id == 0 and config is not None:
            trainer_id = config.global_id_in_cluster
        model_fn = get_model_fn(
            params.fill(), graph_builder_class, device_assigner,
            feature_columns=feature_columns, model_head=head, weights_name=weight_column, keys_name=keys_column,
            early_stopping_rounds=early_stopping_rounds, early_stopping_loss_threshold=early_stopping_loss_threshold,
            num_trainers=_trainers(num_trainers, config), trainer_id=trainer_id, local_eval=local_eval,
            report_feature_importances=report_feature_importances, include_all_in_serving=include_all_in_serving,
            output_type=ModelBuilderOutputType.ESTIMATOR_SPEC,
        )  # fmt: skip
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)
