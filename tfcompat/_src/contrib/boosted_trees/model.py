"""The model functions of tf.contrib.boosted_trees."""

from __future__ import annotations

from typing import Any

from tfcompat._src.contrib.boosted_trees.gbdt_batch import LEAF_INDEX, PREDICTIONS, GradientBoostedDecisionTreeModel
from tfcompat._src.contrib.boosted_trees.resources import tree_ensemble_variable
from tfcompat._src.contrib.boosted_trees.trainer_hooks import StopAfterNTrees
from tfcompat._src.contrib.learn.model_fn import ModeKeys, ModelFnOps
from tfcompat._src.estimator.model_fn import EstimatorSpec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.training_util import get_global_step


class ModelBuilderOutputType:
    """What a model function gives: tf.contrib.learn's ModelFnOps, or tf.estimator's EstimatorSpec."""

    MODEL_FN_OPS = 0
    ESTIMATOR_SPEC = 1


_LEARN_MODES = {EstimatorModeKeys.TRAIN: ModeKeys.TRAIN, EstimatorModeKeys.EVAL: ModeKeys.EVAL, EstimatorModeKeys.PREDICT: ModeKeys.INFER}


def estimator_spec_to_model_fn_ops(estimator_spec: EstimatorSpec) -> ModelFnOps:
    """The ModelFnOps with the parts of an EstimatorSpec; it has no outputs for exports."""
    return ModelFnOps(
        mode=_LEARN_MODES[estimator_spec.mode], predictions=estimator_spec.predictions, loss=estimator_spec.loss,
        train_op=estimator_spec.train_op, eval_metric_ops=estimator_spec.eval_metric_ops, output_alternatives=[],
    )  # fmt: skip


class _Builder:
    """The ensemble and what models are made with, for one call of a model function."""

    def __init__(self, features: Any, mode: str, params: dict[str, Any], config: Any) -> None:
        if features is None:
            raise ValueError("At least one feature must be specified.")
        if config is None:
            raise ValueError("Missing estimator RunConfig.")
        self.features = {features.name: features} if isinstance(features, Tensor) else features
        self.training_features = {key: value for key, value in self.features.items() if key != params["weight_column_name"]}
        self.mode, self._params, self._config = mode, params, config
        self._ensemble = tree_ensemble_variable(stamp_token=0, tree_ensemble_config="", name="ensemble_model")

    def model(self, features: dict[str, Any], **settings: Any) -> GradientBoostedDecisionTreeModel:
        params, config = self._params, self._config
        return GradientBoostedDecisionTreeModel(
            is_chief=config.is_chief, num_ps_replicas=config.num_ps_replicas, ensemble_handle=self._ensemble, features=features,
            center_bias=params["center_bias"], examples_per_layer=params["examples_per_layer"],
            learner_config=params["learner_config"], feature_columns=params["feature_columns"],
            logits_dimension=params["head"].logits_dimension, use_core_columns=params["use_core_libs"],
            output_leaf_index=params["output_leaf_index"], num_quantiles=params["num_quantiles"], **settings,
        )  # fmt: skip

    def modified(self, logits: Tensor) -> Tensor:
        """Logits after the function that the user gave for them."""
        modify = self._params["logits_modifier_function"]
        return modify(logits, self.features, self.mode) if modify else logits

    def output(self, model: Any, predictions: dict[str, Tensor], labels: Any, logits: Tensor, output_type: int) -> Any:
        """What the head makes of logits, with leaves among the predictions and a hook that counts trees."""

        def train_op(loss: Tensor) -> Operation:
            with control_dependencies([model.train(loss, predictions, labels)]):
                return assign_add(get_global_step(), 1).op

        params, head = self._params, self._params["head"]
        parts = {"features": self.features, "mode": self.mode, "labels": labels, "train_op_fn": train_op, "logits": logits}
        is_spec = output_type == ModelBuilderOutputType.ESTIMATOR_SPEC
        if is_spec or (params["use_core_libs"] and callable(getattr(head, "create_estimator_spec", None))):
            found = head.create_estimator_spec(**parts)
            found = found if is_spec else estimator_spec_to_model_fn_ops(found)
        else:
            found = head.create_model_fn_ops(**parts)
        if params["output_leaf_index"] and LEAF_INDEX in predictions:
            found.predictions[LEAF_INDEX] = predictions[LEAF_INDEX]
        return found._replace(training_hooks=[*self._hooks(model), *found.training_hooks])

    def _hooks(self, model: Any) -> list[StopAfterNTrees]:
        trees = self._params["num_trees"]
        if not trees:
            return []
        finished, attempted = model.get_number_of_trees_tensor()
        trees += bool(self._params["center_bias"])
        return [StopAfterNTrees(trees, attempted, finished, self._params.get("override_global_step_value"))]


def model_builder(
    features: object, labels: object, mode: str, params: dict[str, Any], config: object,
    output_type: int = ModelBuilderOutputType.MODEL_FN_OPS,
) -> Any:  # fmt: skip
    """The model function of boosted trees.

    Args:
      features: Tensor, or dict of Tensors and SparseTensors.
      labels: labels.
      mode: one of ModeKeys.
      params: the arguments of the estimator, and its "head".
      config: the RunConfig.
      output_type: a ModelBuilderOutputType.

    Raises:
      ValueError: features or the config are missing.
    """
    builder = _Builder(features, mode, params, config)
    model = builder.model(builder.training_features)
    with name_scope("gbdt", "gbdt_optimizer"):
        predictions = model.predict(mode)
        logits = builder.modified(predictions[PREDICTIONS])
    return builder.output(model, predictions, labels, logits, output_type)


def _pair(features: dict[str, Any], keys: Any) -> list[dict[str, Any]]:
    """The features of both parts of pairs, by names without the part's key."""
    if len(keys) != 2:
        raise ValueError("You must provide keys for ranking.")
    if None in keys:
        raise ValueError("Both pair keys should be provided for ranking.")
    found: list[dict[str, Any]] = [{}, {}]
    for name, feature in features.items():
        part = [name.startswith(f"{key}.") for key in keys]
        if not any(part):
            raise AssertionError(f"The feature {name} belongs to neither {keys[0]} nor {keys[1]}.")
        found[part.index(True)][name[2:]] = feature
    return found


def ranking_model_builder(
    features: object, labels: object, mode: str, params: dict[str, Any], config: object,
    output_type: int = ModelBuilderOutputType.MODEL_FN_OPS,
) -> Any:  # fmt: skip
    """The model function of boosted trees for ranking: it trains with differences between the logits of pairs.

    Args:
      params: as `model_builder` has them, and "ranking_model_pair_keys", what names of features of both parts begin with.
      others: as `model_builder` has them.

    Raises:
      ValueError: features, keys or the config are missing.
    """
    builder = _Builder(features, mode, params, config)
    if mode == ModeKeys.INFER:
        parts = [builder.training_features]
    else:
        parts = _pair(builder.training_features, params["ranking_model_pair_keys"])
    main = builder.model(parts[0])
    with name_scope("gbdt", "gbdt_optimizer"):
        if mode == ModeKeys.INFER:
            predictions = main.predict(mode)
        else:
            other = builder.model(parts[1])
            predictions, others = main.predict(mode), other.predict(mode)
            predictions = {**predictions, PREDICTIONS: predictions[PREDICTIONS] - others[PREDICTIONS]}
        logits = builder.modified(predictions[PREDICTIONS])
        predictions = {**predictions, PREDICTIONS: logits}
    return builder.output(main, predictions, labels, logits, output_type)
