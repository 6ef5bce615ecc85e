"""Estimators of boosted trees."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.estimator.canned.boosted_trees_explanations import explanation, feature_importances, sums_by_column
from tfcompat._src.estimator.canned.boosted_trees_features import names_of_features, number_of_features
from tfcompat._src.estimator.canned.boosted_trees_growth import TreeHParams
from tfcompat._src.estimator.canned.boosted_trees_model import DEBUG_KEY, explanations_fn, model_fn
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.estimator.heads.checks import dense_labels
from tfcompat._src.estimator.heads.head import (
    _binary_logistic_head_with_sigmoid_cross_entropy_loss,
    _BinaryLogisticHeadWithSigmoidCrossEntropyLoss,
    _MultiClassHeadWithSoftmaxCrossEntropyLoss,
    _regression_head,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses.losses import Reduction
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.shape import size
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.unary import exp, reciprocal
from tfcompat._src.train.checkpoint_utils import load_checkpoint
from tfcompat._src.variables.store import enable_resource_variables

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_ONE = object()
"""The only number of classes or labels so far: what arguments are by default, for others are refused."""


def _log_loss_derivatives(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """First and second derivatives of the mean logistic loss."""
    predictions = reciprocal(exp(-logits) + 1.0)
    normalizer = reciprocal(cast(size(predictions), dtypes.float32))
    labels = dense_labels(cast(labels, dtypes.float32), logits, 1)
    return (predictions - labels) * normalizer, predictions * (1.0 - predictions) * normalizer


def _create_classification_head(n_classes: object, weight_column: object = None, label_vocabulary: object = None) -> Any:
    """The head of a classifier."""
    if n_classes not in (_ONE, 2):
        raise ValueError(f"For now only binary classification is supported.n_classes given as {n_classes}")
    return _binary_logistic_head_with_sigmoid_cross_entropy_loss(
        weight_column=weight_column, label_vocabulary=label_vocabulary, loss_reduction=Reduction.SUM_OVER_BATCH_SIZE
    )


def _create_classification_head_and_closed_form(
    n_classes: object, weight_column: object, label_vocabulary: object
) -> tuple[Any, Callable | None]:
    """The head of a classifier, and the derivatives of its loss where they have a formula."""
    head = _create_classification_head(n_classes, weight_column, label_vocabulary)
    return head, _log_loss_derivatives if weight_column is None and label_vocabulary is None else None


def _create_regression_head(label_dimension: object, weight_column: object = None) -> Any:
    """The head of a regressor."""
    if label_dimension not in (_ONE, 1):
        raise ValueError(f"For now only 1 dimension regression is supported.label_dimension given as {label_dimension}")
    return _regression_head(
        label_dimension=1, weight_column=weight_column, loss_reduction=Reduction.SUM_OVER_BATCH_SIZE
    )


class _BoostedTreesBase(Estimator):
    """What estimators of boosted trees share.

    Args:
      head: a head with one logit.
      feature_columns: dense, bucketized and indicator columns.
      hparams: how trees grow.
      n_batches_per_layer: how many batches a layer is grown from.
      is_classification: whether explanations are of probabilities.
      model_dir, config: tf.estimator.Estimator's.
      model: further arguments of the model function.
    """

    def __init__(
        self, head: Any, feature_columns: Iterable[Any], hparams: TreeHParams, n_batches_per_layer: Any, is_classification: bool,
        model_dir: Any, config: Any, **model: Any,
    ) -> None:  # fmt: skip
        enable_resource_variables()  # also for the global step, which branches change

        def _model_fn(features: object, labels: TensorLike, mode: str, config: object) -> Any:
            return model_fn(features, labels, mode, head, feature_columns, hparams, n_batches_per_layer, config, **model)

        super().__init__(model_fn=_model_fn, model_dir=model_dir, config=config)
        self._sorted_feature_columns = sorted(feature_columns, key=lambda column: column.name)
        self._head, self._hparams, self._is_classification = head, hparams, is_classification
        self._n_features = number_of_features(self._sorted_feature_columns)
        self._feature_col_names = names_of_features(self._sorted_feature_columns)

    def experimental_feature_importances(self, normalize: bool = False) -> OrderedDict:
        """How much the features of each column gain.

        Args:
          normalize: whether gains are divided by their sum.

        Returns:
          From name to gain, the largest first.

        Raises:
          ValueError: nothing was trained. AssertionError: gains that are to be normalized are negative or all zero.
        """
        serialized = load_checkpoint(self._model_dir).get_tensor("boosted_trees:0_serialized")
        if not serialized:
            raise ValueError(
                "Found empty serialized string for TreeEnsemble.You should only call this method after training."
            )
        found = feature_importances(serialized, self._n_features, normalize)
        return sums_by_column(self._feature_col_names, found)

    def experimental_predict_with_explanations(
        self, input_fn: Callable, predict_keys: Any = None, hooks: Any = None, checkpoint_path: Any = None
    ) -> Iterator[dict[str, Any]]:
        """Predicts, and says what each prediction is made of.

        Args:
          input_fn, predict_keys, hooks, checkpoint_path: those of `predict`.

        Yields:
          Predictions with "bias", the prediction without any feature, and "dfc", an OrderedDict from the name of a column
          to what its features change, the largest changes first.

        Raises:
          ValueError: the bias is not centered, or the head changes logits by another function than a logistic one.
        """
        if not self._hparams.center_bias:
            raise ValueError(
                "center_bias must be enabled during estimator instantiation when using experimental_predict_with_explanations."
            )
        if not self._is_classification and self._head._inverse_link_fn not in (None, identity):
            raise ValueError(
                "For now only identity inverse_link_fn in regression_head is supported for experimental_predict_with_explanations."
            )

        def _model_fn(features: object, labels: object, mode: str) -> Any:
            return explanations_fn(features, self._head, self._sorted_feature_columns, self._hparams.quantile_sketch_epsilon)

        explaining = Estimator(
            model_fn=_model_fn, model_dir=self.model_dir, config=self.config, warm_start_from=self._warm_start_settings
        )
        keys = None if predict_keys is None else {*predict_keys, DEBUG_KEY}
        for found in explaining.predict(input_fn, predict_keys=keys, hooks=hooks, checkpoint_path=checkpoint_path):
            found["bias"], found["dfc"] = explanation(found.pop(DEBUG_KEY), self._feature_col_names, self._is_classification)
            yield found


@export("estimator.BoostedTreesClassifier")
class BoostedTreesClassifier(_BoostedTreesBase):
    """A classifier of boosted trees, for two classes.

    Args:
      feature_columns: dense, bucketized and indicator columns.
      n_batches_per_layer: how many batches a layer is grown from.
      model_dir: folder of the model.
      n_classes: 2.
      weight_column: key or numeric column of the weights of examples.
      label_vocabulary: names of the classes, where labels are strings.
      n_trees: number of trees; training stops with them.
      max_depth: number of layers of a tree.
      learning_rate: what the logits of leaves are multiplied by.
      l1_regularization, l2_regularization: penalties on the absolute values and squares of logits of leaves.
      tree_complexity: what a split must gain, with pruning.
      min_node_weight: the hessian that a node needs to be split, by the mean loss of the batches.
      config: a RunConfig.
      center_bias: whether the first tree begins with the logit of the labels' mean.
      pruning_mode: "none", "pre" (no split that loses) or "post" (full trees are cut back).
      quantile_sketch_epsilon: relative error of the quantiles of float columns; they get 1 / epsilon buckets.
      train_in_memory: whether `input_fn` gives the whole data in each batch; `n_batches_per_layer` must be 1.

    Raises:
      ValueError: arguments are wrong or not supported.
    """

    def __init__(
        self, feature_columns, n_batches_per_layer, model_dir=None, n_classes=_ONE, weight_column=None, label_vocabulary=None,
        n_trees=100, max_depth=6, learning_rate=0.1, l1_regularization=0.0, l2_regularization=0.0, tree_complexity=0.0,
        min_node_weight=0.0, config=None, center_bias=False, pruning_mode="none", quantile_sketch_epsilon=0.01,
        train_in_memory=False,
    ) -> None:  # fmt: skip
        if n_classes is not _ONE and n_classes > 2 and pruning_mode is not None:
            raise ValueError("For now pruning is not supported with multi class.")
        head, closed_form = _create_classification_head_and_closed_form(n_classes, weight_column, label_vocabulary)
        hparams = TreeHParams(
            n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight,
            center_bias, pruning_mode, quantile_sketch_epsilon,
        )  # fmt: skip
        super().__init__(
            head, feature_columns, hparams, n_batches_per_layer, True, model_dir, config,
            closed_form=closed_form, weight_column=weight_column, train_in_memory=train_in_memory,
        )  # fmt: skip


@export("estimator.BoostedTreesRegressor")
class BoostedTreesRegressor(_BoostedTreesBase):
    """A regressor of boosted trees, for one number.

    Args:
      label_dimension: 1.
      others: BoostedTreesClassifier's.

    Raises:
      ValueError: arguments are wrong or not supported.
    """

    def __init__(
        self, feature_columns, n_batches_per_layer, model_dir=None, label_dimension=_ONE, weight_column=None, n_trees=100,
        max_depth=6, learning_rate=0.1, l1_regularization=0.0, l2_regularization=0.0, tree_complexity=0.0,
        min_node_weight=0.0, config=None, center_bias=False, pruning_mode="none", quantile_sketch_epsilon=0.01,
        train_in_memory=False,
    ) -> None:  # fmt: skip
        if label_dimension is not _ONE and label_dimension > 1 and pruning_mode is not None:
            raise ValueError("For now pruning is not supported with multi-dimensionregression.")
        hparams = TreeHParams(
            n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight,
            center_bias, pruning_mode, quantile_sketch_epsilon,
        )  # fmt: skip
        super().__init__(
            _create_regression_head(label_dimension, weight_column), feature_columns, hparams, n_batches_per_layer, False, model_dir,
            config, weight_column=weight_column, train_in_memory=train_in_memory,
        )  # fmt: skip


@export("estimator.BoostedTreesEstimator")
class BoostedTreesEstimator(_BoostedTreesBase):
    """Boosted trees with a head.

    Args:
      head: a head with one logit.
      weight_column: has no effect, as in 1.15: the head has the weights of examples.
      others: BoostedTreesClassifier's.

    Raises:
      ValueError: arguments are wrong or not supported.
    """

    def __init__(
        self, feature_columns, n_batches_per_layer, head, model_dir=None, weight_column=None, n_trees=100, max_depth=6,
        learning_rate=0.1, l1_regularization=0.0, l2_regularization=0.0, tree_complexity=0.0, min_node_weight=0.0,
        config=None, center_bias=False, pruning_mode="none", quantile_sketch_epsilon=0.01,
    ) -> None:  # fmt: skip
        hparams = TreeHParams(
            n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight,
            center_bias, pruning_mode, quantile_sketch_epsilon,
        )  # fmt: skip
        heads = (_BinaryLogisticHeadWithSigmoidCrossEntropyLoss, _MultiClassHeadWithSoftmaxCrossEntropyLoss)
        super().__init__(head, feature_columns, hparams, n_batches_per_layer, isinstance(head, heads), model_dir, config)


def _trained_in_memory(
    train_input_fn: Callable, train_hooks: object, head: Any, feature_columns: Any, is_classification: bool, model_dir: Any,
    config: Any, hparams: TreeHParams, **model: Any,
) -> _BoostedTreesBase:  # fmt: skip
    """An estimator that is trained with the one batch of a Dataset, or with those of a function that gives tensors."""
    estimator = _BoostedTreesBase(
        head, feature_columns, hparams, 1, is_classification, model_dir, config, train_in_memory=True, **model
    )

    def input_fn() -> Any:
        found = train_input_fn()
        return found.repeat() if isinstance(found, DatasetV2) else found

    estimator.train(input_fn=input_fn, hooks=train_hooks)
    return estimator


@export("contrib.estimator.boosted_trees_classifier_train_in_memory")
def boosted_trees_classifier_train_in_memory(
    train_input_fn: Callable, feature_columns: object, model_dir: object = None, n_classes: object = _ONE, weight_column: object = None,
    label_vocabulary: object = None, n_trees: int = 100, max_depth: int = 6, learning_rate: float = 0.1,
    l1_regularization: float = 0.0, l2_regularization: float = 0.0, tree_complexity: float = 0.0,
    min_node_weight: float = 0.0, config: object = None, train_hooks: object = None, center_bias: bool = False,
    pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01,
) -> Any:  # fmt: skip
    """Trains a classifier of boosted trees with all data in each step.

    Args:
      train_input_fn: gives a Dataset of one batch that holds all data.
      train_hooks: hooks of the training.
      others: BoostedTreesClassifier's.

    Returns:
      The trained estimator.

    Raises:
      ValueError: arguments are wrong or not supported.
    """
    head, closed_form = _create_classification_head_and_closed_form(n_classes, weight_column, label_vocabulary)
    hparams = TreeHParams(
        n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight, center_bias,
        pruning_mode, quantile_sketch_epsilon,
    )  # fmt: skip
    return _trained_in_memory(
        train_input_fn, train_hooks, head, feature_columns, True, model_dir, config, hparams, closed_form=closed_form
    )


@export("contrib.estimator.boosted_trees_regressor_train_in_memory")
def boosted_trees_regressor_train_in_memory(
    train_input_fn: Callable, feature_columns: object, model_dir: object = None, label_dimension: object = _ONE,
    weight_column: object = None, n_trees: int = 100, max_depth: int = 6, learning_rate: float = 0.1,
    l1_regularization: float = 0.0, l2_regularization: float = 0.0, tree_complexity: float = 0.0,
    min_node_weight: float = 0.0, config: object = None, train_hooks: object = None, center_bias: bool = False,
    pruning_mode: str = "none", quantile_sketch_epsilon: float = 0.01,
) -> Any:  # fmt: skip
    """Trains a regressor of boosted trees with all data in each step.

    Args:
      train_input_fn: gives a Dataset of one batch that holds all data.
      train_hooks: hooks of the training.
      others: BoostedTreesRegressor's.

    Returns:
      The trained estimator.

    Raises:
      ValueError: arguments are wrong or not supported.
    """
    head = _create_regression_head(label_dimension, weight_column)
    hparams = TreeHParams(
        n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity, min_node_weight, center_bias,
        pruning_mode, quantile_sketch_epsilon,
    )  # fmt: skip
    return _trained_in_memory(train_input_fn, train_hooks, head, feature_columns, False, model_dir, config, hparams)
