"""Estimators of gradient boosted decision trees (tf.contrib.boosted_trees.estimator_batch.estimator)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.boosted_trees.custom_loss_head import CustomLossHead
from tfcompat._src.contrib.boosted_trees.losses import per_example_maxent_loss, per_example_quantile_regression_loss
from tfcompat._src.contrib.boosted_trees.model import ModelBuilderOutputType, model_builder, ranking_model_builder
from tfcompat._src.contrib.learn.estimator import Estimator as LearnEstimator
from tfcompat._src.contrib.learn.heads import multi_class_head, regression_head
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.estimator.heads.head import _multi_class_head_with_softmax_cross_entropy_loss, _regression_head
from tfcompat._src.losses.losses import Reduction
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.math.reduce import reduce_mean

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.tensor import Tensor


def _one_quantile(quantiles: Any) -> float:
    if len(quantiles) > 1:
        raise ValueError("For now, just one quantile per estimator is supported")
    return quantiles[0]


class _GradientBoostedTrees(LearnEstimator):
    """What estimators of the earlier interface share.

    Args:
      builder: the model function.
      settings: its params; the others are tf.contrib.learn.Estimator's.
    """

    def __init__(self, builder: Callable, model_dir: Any, config: Any, feature_engineering_fn: Any, **settings: Any) -> None:
        super().__init__(
            model_fn=builder, params=settings, model_dir=model_dir, config=config, feature_engineering_fn=feature_engineering_fn
        )


@export("contrib.boosted_trees.estimator_batch.estimator.GradientBoostedDecisionTreeClassifier")
class GradientBoostedDecisionTreeClassifier(_GradientBoostedTrees):
    """A classifier.

    Args:
      learner_config: a LearnerConfig of tensorflow.contrib.boosted_trees.proto.learner_pb2.
      examples_per_layer: how many examples a layer is grown from, or a function from the number of the layer to that.
      n_classes: number of classes.
      num_trees: number of trees; training stops with them. By default it goes on.
      feature_columns: columns; by default features are taken as they are.
      weight_column_name: key of the examples' weights.
      model_dir, config, feature_engineering_fn: tf.contrib.learn.Estimator's.
      label_keys: names of the classes, where labels are strings.
      logits_modifier_function: function of logits, features and mode to logits.
      center_bias: whether the first tree is the bias of all examples.
      use_core_libs: whether columns and head are those of tf.feature_column and tf.estimator.
      output_leaf_index: whether predictions have the leaf of each example in every tree.
      override_global_step_value: what the global step becomes when training stops.
      num_quantiles: about how many buckets floats get.

    Raises:
      ValueError: arguments do not go together.
    """

    def __init__(
        self, learner_config, examples_per_layer, n_classes=2, num_trees=None, feature_columns=None, weight_column_name=None,
        model_dir=None, config=None, label_keys=None, feature_engineering_fn=None, logits_modifier_function=None, center_bias=True,
        use_core_libs=False, output_leaf_index=False, override_global_step_value=None, num_quantiles=100,
    ) -> None:  # fmt: skip
        def twice_differentiable(labels: TensorLike, logits: object, weights: object = None) -> Any:
            losses, _ = per_example_maxent_loss(labels=labels, logits=logits, weights=weights, num_classes=n_classes)
            return reduce_mean(losses)

        head = multi_class_head(
            n_classes=n_classes, weight_column_name=weight_column_name, enable_centered_bias=False,
            loss_fn=twice_differentiable if n_classes > 2 else None, label_keys=label_keys,
        )  # fmt: skip
        if learner_config.num_classes not in (0, n_classes):
            raise ValueError(f"n_classes ({n_classes}) doesn't match learner_config ({learner_config.num_classes}).")
        learner_config.num_classes = n_classes
        super().__init__(
            model_builder, model_dir, config, feature_engineering_fn, head=head, feature_columns=feature_columns,
            learner_config=learner_config, num_trees=num_trees, weight_column_name=weight_column_name,
            examples_per_layer=examples_per_layer, center_bias=center_bias, logits_modifier_function=logits_modifier_function,
            use_core_libs=use_core_libs, output_leaf_index=output_leaf_index,
            override_global_step_value=override_global_step_value, num_quantiles=num_quantiles,
        )  # fmt: skip


@export("contrib.boosted_trees.estimator_batch.estimator.GradientBoostedDecisionTreeRegressor")
class GradientBoostedDecisionTreeRegressor(_GradientBoostedTrees):
    """A regressor.

    Args:
      label_dimension: how many numbers an example has.
      label_name: key of the labels where they are a dict.
      output_leaf_index: has no effect, as in TensorFlow 1.
      others: GradientBoostedDecisionTreeClassifier's.
    """

    def __init__(
        self, learner_config, examples_per_layer, label_dimension=1, num_trees=None, feature_columns=None, label_name=None,
        weight_column_name=None, model_dir=None, config=None, feature_engineering_fn=None, logits_modifier_function=None,
        center_bias=True, use_core_libs=False, output_leaf_index=False, override_global_step_value=None, num_quantiles=100,
    ) -> None:  # fmt: skip
        head = regression_head(
            label_name=label_name, label_dimension=label_dimension, weight_column_name=weight_column_name, enable_centered_bias=False
        )
        learner_config.num_classes = max(2, label_dimension)
        super().__init__(
            model_builder, model_dir, config, feature_engineering_fn, head=head, feature_columns=feature_columns,
            learner_config=learner_config, num_trees=num_trees, weight_column_name=weight_column_name,
            examples_per_layer=examples_per_layer, center_bias=center_bias, logits_modifier_function=logits_modifier_function,
            use_core_libs=use_core_libs, output_leaf_index=False,
            override_global_step_value=override_global_step_value, num_quantiles=num_quantiles,
        )  # fmt: skip


@export("contrib.boosted_trees.estimator_batch.estimator.GradientBoostedDecisionTreeEstimator")
class GradientBoostedDecisionTreeEstimator(_GradientBoostedTrees):
    """Trees with a head.

    Args:
      head: a head of tf.contrib.learn.
      output_leaf_index: has no effect, as in TensorFlow 1.
      others: GradientBoostedDecisionTreeClassifier's.
    """

    def __init__(
        self, learner_config, examples_per_layer, head, num_trees=None, feature_columns=None, weight_column_name=None,
        model_dir=None, config=None, feature_engineering_fn=None, logits_modifier_function=None, center_bias=True,
        use_core_libs=False, output_leaf_index=False, override_global_step_value=None, num_quantiles=100,
    ) -> None:  # fmt: skip
        super().__init__(
            model_builder, model_dir, config, feature_engineering_fn, head=head, feature_columns=feature_columns,
            learner_config=learner_config, num_trees=num_trees, weight_column_name=weight_column_name,
            examples_per_layer=examples_per_layer, center_bias=center_bias, logits_modifier_function=logits_modifier_function,
            use_core_libs=use_core_libs, output_leaf_index=False,
            override_global_step_value=override_global_step_value, num_quantiles=num_quantiles,
        )  # fmt: skip


@export("contrib.boosted_trees.estimator_batch.estimator.GradientBoostedDecisionTreeRanker")
class GradientBoostedDecisionTreeRanker(_GradientBoostedTrees):
    """A ranker, which trains with pairs.

    Args:
      head: a head of tf.contrib.learn.
      ranking_model_pair_keys: what the names of the features of both parts of a pair begin with, before a dot.
      label_keys: has no effect, as in TensorFlow 1.
      others: GradientBoostedDecisionTreeClassifier's.
    """

    def __init__(
        self, learner_config, examples_per_layer, head, ranking_model_pair_keys, num_trees=None, feature_columns=None,
        weight_column_name=None, model_dir=None, config=None, label_keys=None, feature_engineering_fn=None,
        logits_modifier_function=None, center_bias=False, use_core_libs=False, output_leaf_index=False,
        override_global_step_value=None, num_quantiles=100,
    ) -> None:  # fmt: skip
        super().__init__(
            ranking_model_builder, model_dir, config, feature_engineering_fn, head=head, feature_columns=feature_columns,
            learner_config=learner_config, num_trees=num_trees, weight_column_name=weight_column_name,
            examples_per_layer=examples_per_layer, center_bias=center_bias, logits_modifier_function=logits_modifier_function,
            use_core_libs=use_core_libs, output_leaf_index=output_leaf_index,
            ranking_model_pair_keys=ranking_model_pair_keys, override_global_step_value=override_global_step_value,
            num_quantiles=num_quantiles,
        )  # fmt: skip


@export("contrib.boosted_trees.estimator_batch.estimator.GradientBoostedDecisionTreeQuantileRegressor")
class GradientBoostedDecisionTreeQuantileRegressor(_GradientBoostedTrees):
    """A regressor of a quantile; its hessian may be 0, so that it needs L2 regularization or a minimal weight of nodes.

    Args:
      quantiles: a list of one quantile.
      others: GradientBoostedDecisionTreeRegressor's.

    Raises:
      ValueError: there are several quantiles.
    """

    def __init__(
        self, learner_config, examples_per_layer, quantiles, label_dimension=1, num_trees=None, feature_columns=None,
        weight_column_name=None, model_dir=None, config=None, feature_engineering_fn=None, logits_modifier_function=None,
        center_bias=True, use_core_libs=False, output_leaf_index=False, override_global_step_value=None, num_quantiles=100,
    ) -> None:  # fmt: skip
        loss_fn = functools.partial(per_example_quantile_regression_loss, quantile=_one_quantile(quantiles))
        learner_config.num_classes = max(2, label_dimension)
        super().__init__(
            model_builder, model_dir, config, feature_engineering_fn,
            head=CustomLossHead(loss_fn=loss_fn, link_fn=identity, logit_dimension=label_dimension),
            feature_columns=feature_columns, learner_config=learner_config, num_trees=num_trees,
            weight_column_name=weight_column_name, examples_per_layer=examples_per_layer, center_bias=center_bias,
            logits_modifier_function=logits_modifier_function, use_core_libs=use_core_libs, output_leaf_index=False,
            override_global_step_value=override_global_step_value, num_quantiles=num_quantiles,
        )  # fmt: skip


@export("contrib.boosted_trees.estimator_batch.estimator.core_multiclass_head")
def core_multiclass_head(
    n_classes: int, weight_column: object = None, loss_reduction: str = Reduction.SUM_OVER_NONZERO_WEIGHTS
) -> Any:
    """A head of tf.estimator for classes, whose loss has second derivatives."""

    def loss_fn(labels: TensorLike, logits: object) -> Tensor:
        return per_example_maxent_loss(labels=labels, logits=logits, weights=None, num_classes=n_classes)[0]

    return _multi_class_head_with_softmax_cross_entropy_loss(
        n_classes=n_classes, loss_fn=loss_fn, loss_reduction=loss_reduction, weight_column=weight_column
    )


@export("contrib.boosted_trees.estimator_batch.estimator.core_quantile_regression_head")
def core_quantile_regression_head(
    quantiles: float, label_dimension: int = 1, weight_column: object = None,
    loss_reduction: str = Reduction.SUM_OVER_NONZERO_WEIGHTS,
) -> Any:  # fmt: skip
    """A head of tf.estimator for a quantile."""

    def loss_fn(labels: object, logits: object) -> Tensor:
        return per_example_quantile_regression_loss(labels=labels, predictions=logits, weights=None, quantile=quantiles)[0]

    return _regression_head(
        label_dimension=label_dimension, loss_fn=loss_fn, loss_reduction=loss_reduction, weight_column=weight_column
    )


class _CoreGradientBoostedTrees(Estimator):
    """What estimators of the newer interface share; arguments as _GradientBoostedTrees has them."""

    def __init__(self, builder: Callable, model_dir: Any, config: Any, **settings: Any) -> None:
        params = {"use_core_libs": True, "override_global_step_value": None, **settings}

        def _model_fn(features: object, labels: object, mode: str, config: object) -> Any:
            return builder(features, labels, mode, params, config, ModelBuilderOutputType.ESTIMATOR_SPEC)

        super().__init__(model_fn=_model_fn, model_dir=model_dir, config=config)


@export("contrib.boosted_trees.estimator_batch.estimator.CoreGradientBoostedDecisionTreeEstimator")
class CoreGradientBoostedDecisionTreeEstimator(_CoreGradientBoostedTrees):
    """Trees with a head of tf.estimator.

    Args:
      head: the head.
      label_keys, feature_engineering_fn: have no effect, as in TensorFlow 1.
      others: GradientBoostedDecisionTreeClassifier's.
    """

    def __init__(
        self, learner_config, examples_per_layer, head, num_trees=None, feature_columns=None, weight_column_name=None,
        model_dir=None, config=None, label_keys=None, feature_engineering_fn=None, logits_modifier_function=None, center_bias=True,
        output_leaf_index=False, num_quantiles=100,
    ) -> None:  # fmt: skip
        super().__init__(
            model_builder, model_dir, config, head=head, feature_columns=feature_columns, learner_config=learner_config,
            num_trees=num_trees, weight_column_name=weight_column_name, examples_per_layer=examples_per_layer,
            center_bias=center_bias, logits_modifier_function=logits_modifier_function, output_leaf_index=output_leaf_index,
            num_quantiles=num_quantiles,
        )  # fmt: skip


@export("contrib.boosted_trees.estimator_batch.estimator.CoreGradientBoostedDecisionTreeRanker")
class CoreGradientBoostedDecisionTreeRanker(_CoreGradientBoostedTrees):
    """A ranker with a head of tf.estimator; arguments as GradientBoostedDecisionTreeRanker has them."""

    def __init__(
        self, learner_config, examples_per_layer, head, ranking_model_pair_keys, num_trees=None, feature_columns=None,
        weight_column_name=None, model_dir=None, config=None, label_keys=None, logits_modifier_function=None, center_bias=False,
        output_leaf_index=False, num_quantiles=100,
    ) -> None:  # fmt: skip
        super().__init__(
            ranking_model_builder, model_dir, config, head=head, feature_columns=feature_columns, learner_config=learner_config,
            num_trees=num_trees, weight_column_name=weight_column_name, examples_per_layer=examples_per_layer,
            center_bias=center_bias, logits_modifier_function=logits_modifier_function, output_leaf_index=output_leaf_index,
            ranking_model_pair_keys=ranking_model_pair_keys, num_quantiles=num_quantiles,
        )  # fmt: skip


@export("contrib.boosted_trees.estimator_batch.estimator.CoreGradientBoostedDecisionTreeQuantileRegressor")
class CoreGradientBoostedDecisionTreeQuantileRegressor(_CoreGradientBoostedTrees):
    """A regressor of a quantile with tf.estimator; arguments as GradientBoostedDecisionTreeQuantileRegressor has them."""

    def __init__(
        self, learner_config, examples_per_layer, quantiles, label_dimension=1, num_trees=None, feature_columns=None,
        weight_column_name=None, model_dir=None, config=None, label_keys=None, feature_engineering_fn=None,
        logits_modifier_function=None, center_bias=True, output_leaf_index=False, num_quantiles=100,
    ) -> None:  # fmt: skip
        head = core_quantile_regression_head(
            _one_quantile(quantiles), label_dimension=label_dimension, weight_column=weight_column_name
        )
        super().__init__(
            model_builder, model_dir, config, head=head, feature_columns=feature_columns, learner_config=learner_config,
            num_trees=num_trees, weight_column_name=weight_column_name, examples_per_layer=examples_per_layer,
            center_bias=center_bias, logits_modifier_function=logits_modifier_function, output_leaf_index=output_leaf_index,
            num_quantiles=num_quantiles,
        )  # fmt: skip
