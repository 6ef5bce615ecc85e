"""Estimators of fully connected networks on feature columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.estimator.canned.optimizers import get_optimizer_instance
from tfcompat._src.estimator.canned.settings import add_layer_summary, check_features, model_fn_with, partitioner_of
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.estimator.heads.head import _binary_logistic_or_multi_class_head, _regression_head
from tfcompat._src.feature_column.base import is_feature_column_v2
from tfcompat._src.feature_column.dense_features import DenseFeatures
from tfcompat._src.feature_column.input_layer import InputLayer
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.layers.core import Dense, Dropout
from tfcompat._src.layers.normalization import BatchNormalization
from tfcompat._src.layers.scoped_layer import Layer
from tfcompat._src.losses.losses import Reduction
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.variables.initializers import GlorotUniform
from tfcompat._src.variables.scope import variable_scope

_LEARNING_RATE = 0.05


def _with_resources(layer: Layer) -> Layer:
    """A layer whose variables are resources, as those of layers in a Keras model are."""
    layer._use_resource_variables = True
    return layer


def _dense(units: int, activation: Callable | None, scope: object) -> Layer:
    return _with_resources(
        Dense(units=units, activation=activation, kernel_initializer=GlorotUniform(), name=scope, _scope=scope)
    )


class _Hidden:
    """A hidden layer: weights, then dropout and normalization where wanted.

    Args:
      number: its number, in the names of its variables.
      units: its size.
      activation_fn: function of its sums.
      dropout: probability with which a value is dropped while training, or None.
      batch_norm: whether values are normalized.
    """

    def __init__(
        self, number: int, units: int, activation_fn: Callable | None, dropout: float | None, batch_norm: bool
    ) -> None:
        with variable_scope(f"hiddenlayer_{number}") as scope:
            self.name = scope.name
            self._dense = _dense(units, activation_fn, scope)
            self._dropout = None if dropout is None else Dropout(rate=dropout)
            self._batch_norm = None
            if batch_norm:
                norm = f"batchnorm_{number}"
                self._batch_norm = _with_resources(BatchNormalization(momentum=0.999, name=norm, _scope=norm))

    def __call__(self, net: Tensor, is_training: bool) -> Tensor:
        net = self._dense(net)
        if self._dropout is not None and is_training:
            net = self._dropout(net, training=True)
        if self._batch_norm is not None:
            net = self._batch_norm(net, training=is_training)
        add_layer_summary(net, self.name)
        return net


@export("estimator.experimental.dnn_logit_fn_builder", "contrib.estimator.dnn_logit_fn_builder")
def dnn_logit_fn_builder(
    units: int, hidden_units: Sequence[int], feature_columns: object, activation_fn: Callable | None, dropout: float | None,
    input_layer_partitioner: Callable | None, batch_norm: bool,
) -> Callable:  # fmt: skip
    """The function from features and mode to logits of a fully connected network.

    Args:
      units: size of the last dimension of the logits.
      hidden_units: sizes of the hidden layers.
      feature_columns: dense columns.
      activation_fn: function of the hidden layers' sums.
      dropout: probability with which a value is dropped while training, or None.
      input_layer_partitioner: partitioner of the embeddings.
      batch_norm: whether hidden layers are normalized.

    Raises:
      ValueError: `units` is no int.
    """
    if not isinstance(units, int):
        raise ValueError(f"units must be an int.  Given type: {type(units)}")

    def dnn_logit_fn(features: dict[str, Any], mode: str) -> Tensor:
        if is_feature_column_v2(feature_columns):
            input_layer = DenseFeatures(feature_columns=feature_columns, name="input_layer")
        else:
            input_layer = InputLayer(feature_columns=feature_columns, name="input_layer", create_scope_now=False)
        hidden = [_Hidden(i, size, activation_fn, dropout, batch_norm) for i, size in enumerate(hidden_units)]
        with variable_scope("logits") as scope:
            logits_layer = _dense(units, None, scope)
        with variable_scope("input_from_feature_columns", partitioner=input_layer_partitioner):
            net = input_layer(features)
        for layer in hidden:
            net = layer(net, mode == ModeKeys.TRAIN)
        logits = logits_layer(net)
        add_layer_summary(logits, scope.name)
        return logits

    return dnn_logit_fn


def _dnn_model_fn(
    features: Any, labels: object, mode: str, head: Any, hidden_units: Sequence[int], feature_columns: Any,
    optimizer: object = "Adagrad", activation_fn: Callable | None = relu, dropout: float | None = None,
    input_layer_partitioner: Callable | None = None, config: object = None, use_tpu: bool = False, batch_norm: bool = False,
) -> Any:  # fmt: skip
    optimizer = get_optimizer_instance(optimizer, _LEARNING_RATE)
    check_features(features)
    partitioner = None if use_tpu else partitioner_of(config)
    with variable_scope("dnn", values=tuple(features.values()), partitioner=partitioner):
        if input_layer_partitioner is None and not use_tpu:
            input_layer_partitioner = partitioner_of(config, min_slice_size=64 << 20)
        logit_fn = dnn_logit_fn_builder(
            head.logits_dimension, hidden_units, feature_columns, activation_fn, dropout, input_layer_partitioner,
            batch_norm,
        )  # fmt: skip
        logits = logit_fn(features=features, mode=mode)
        create = head._create_tpu_estimator_spec if use_tpu else head.create_estimator_spec
        return create(features=features, mode=mode, labels=labels, optimizer=optimizer, logits=logits)


def _model_fn(head: Any, feature_columns: Any, **settings: Any) -> Callable:
    return model_fn_with(_dnn_model_fn, head=head, feature_columns=tuple(feature_columns or []), **settings)


@export("estimator.DNNClassifier")
class DNNClassifier(Estimator):
    """A fully connected network that classifies.

    Args:
      hidden_units: sizes of the hidden layers.
      feature_columns: dense columns.
      model_dir: folder of the model.
      n_classes: number of classes.
      weight_column: name or numeric column of the examples' weights.
      label_vocabulary: names of the classes, where labels are strings.
      optimizer: tf.train.Optimizer, function that gives one, or its name.
      activation_fn: function of the hidden layers' sums.
      dropout: probability with which a value is dropped while training, or None.
      input_layer_partitioner: partitioner of the embeddings.
      config: a RunConfig.
      warm_start_from: path of a checkpoint, or WarmStartSettings.
      loss_reduction: one of tf.losses.Reduction but NONE.
      batch_norm: whether hidden layers are normalized.

    Raises:
      ValueError: an argument is out of range.
    """

    def __init__(
        self, hidden_units, feature_columns, model_dir=None, n_classes=2, weight_column=None, label_vocabulary=None,
        optimizer="Adagrad", activation_fn=relu, dropout=None, input_layer_partitioner=None, config=None,
        warm_start_from=None, loss_reduction=Reduction.SUM, batch_norm=False,
    ) -> None:  # fmt: skip
        model_fn = _model_fn(
            _binary_logistic_or_multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            feature_columns, hidden_units=hidden_units, optimizer=optimizer, activation_fn=activation_fn,
            dropout=dropout, input_layer_partitioner=input_layer_partitioner, batch_norm=batch_norm,
        )  # fmt: skip
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


@export("estimator.DNNEstimator")
class DNNEstimator(Estimator):
    """A fully connected network with a head; arguments as DNNClassifier."""

    def __init__(
        self, head, hidden_units, feature_columns, model_dir=None, optimizer="Adagrad", activation_fn=relu, dropout=None,
        input_layer_partitioner=None, config=None, warm_start_from=None, batch_norm=False,
    ) -> None:  # fmt: skip
        model_fn = _model_fn(
            head, feature_columns, hidden_units=hidden_units, optimizer=optimizer, activation_fn=activation_fn,
            dropout=dropout, input_layer_partitioner=input_layer_partitioner, batch_norm=batch_norm,
        )  # fmt: skip
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


@export("estimator.DNNRegressor")
class DNNRegressor(Estimator):
    """A fully connected network of `label_dimension` numbers; arguments as DNNClassifier."""

    def __init__(
        self, hidden_units, feature_columns, model_dir=None, label_dimension=1, weight_column=None, optimizer="Adagrad",
        activation_fn=relu, dropout=None, input_layer_partitioner=None, config=None, warm_start_from=None,
        loss_reduction=Reduction.SUM, batch_norm=False,
    ) -> None:  # fmt: skip
        head = _regression_head(
            label_dimension=label_dimension, weight_column=weight_column, loss_reduction=loss_reduction
        )
        model_fn = _model_fn(
            head, feature_columns, hidden_units=hidden_units, optimizer=optimizer, activation_fn=activation_fn,
            dropout=dropout, input_layer_partitioner=input_layer_partitioner, batch_norm=batch_norm,
        )  # fmt: skip
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)
