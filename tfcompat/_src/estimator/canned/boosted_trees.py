"""Boosted trees, which are not done here: each name says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tfcompat._src.base.export import export
from tfcompat._src.estimator.estimator import Estimator


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"tf.estimator.{name}: boosted trees are not done; scikit-learn's HistGradientBoosting* are near")


@export("estimator.BoostedTreesClassifier")
class BoostedTreesClassifier(Estimator):
    """A classifier of boosted trees, which is not done here."""

    def __init__(
        self, feature_columns, n_batches_per_layer, model_dir=None, n_classes=2, weight_column=None, label_vocabulary=None,
        n_trees=100, max_depth=6, learning_rate=0.1, l1_regularization=0.0, l2_regularization=0.0, tree_complexity=0.0,
        min_node_weight=0.0, config=None, center_bias=False, pruning_mode="none", quantile_sketch_epsilon=0.01,
        train_in_memory=False,
    ) -> None:  # fmt: skip
        _refuse("BoostedTreesClassifier")


@export("estimator.BoostedTreesRegressor")
class BoostedTreesRegressor(Estimator):
    """A regressor of boosted trees, which is not done here."""

    def __init__(
        self, feature_columns, n_batches_per_layer, model_dir=None, label_dimension=1, weight_column=None, n_trees=100,
        max_depth=6, learning_rate=0.1, l1_regularization=0.0, l2_regularization=0.0, tree_complexity=0.0,
        min_node_weight=0.0, config=None, center_bias=False, pruning_mode="none", quantile_sketch_epsilon=0.01,
        train_in_memory=False,
    ) -> None:  # fmt: skip
        _refuse("BoostedTreesRegressor")


@export("estimator.BoostedTreesEstimator")
class BoostedTreesEstimator(Estimator):
    """Boosted trees with a head, which are not done here."""

    def __init__(
        self, feature_columns, n_batches_per_layer, head, model_dir=None, weight_column=None, n_trees=100, max_depth=6,
        learning_rate=0.1, l1_regularization=0.0, l2_regularization=0.0, tree_complexity=0.0, min_node_weight=0.0,
        config=None, center_bias=False, pruning_mode="none", quantile_sketch_epsilon=0.01,
    ) -> None:  # fmt: skip
        _refuse("BoostedTreesEstimator")


@export(
    "estimator.experimental.boosted_trees_classifier_train_in_memory",
    "contrib.estimator.boosted_trees_classifier_train_in_memory",
)
def boosted_trees_classifier_train_in_memory(
    train_input_fn: Callable, feature_columns: Any, model_dir: Any = None, n_classes: Any = 2, weight_column: Any = None,
    label_vocabulary: Any = None, n_trees: int = 100, max_depth: int = 6, learning_rate: float = 0.1,
    l1_regularization: float = 0.0, l2_regularization: float = 0.0, tree_complexity: float = 0.0,
    min_node_weight: float = 0.0, config: Any = None, train_hooks: Any = None, center_bias: bool = False,
    pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01,
) -> Any:  # fmt: skip
    """A training of boosted trees, which is not done here."""
    _refuse("experimental.boosted_trees_classifier_train_in_memory")


@export(
    "estimator.experimental.boosted_trees_regressor_train_in_memory",
    "contrib.estimator.boosted_trees_regressor_train_in_memory",
)
def boosted_trees_regressor_train_in_memory(
    train_input_fn: Callable, feature_columns: Any, model_dir: Any = None, label_dimension: int = 1,
    weight_column: Any = None, n_trees: int = 100, max_depth: int = 6, learning_rate: float = 0.1,
    l1_regularization: float = 0.0, l2_regularization: float = 0.0, tree_complexity: float = 0.0,
    min_node_weight: float = 0.0, config: Any = None, train_hooks: Any = None, center_bias: bool = False,
    pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01,
) -> Any:  # fmt: skip
    """A training of boosted trees, which is not done here."""
    _refuse("experimental.boosted_trees_regressor_train_in_memory")
