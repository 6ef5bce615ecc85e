"""contrib.learn's composable models: a linear one and a network, with their training steps."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.contrib.layers.core import dropout, fully_connected
from tfcompat._src.contrib.layers.feature_column_ops import (
    check_feature_columns,
    input_from_feature_columns,
    joint_weighted_sum_from_feature_columns,
    weighted_sum_from_feature_columns,
)  # fmt: skip
from tfcompat._src.contrib.layers.optimizers import OPTIMIZER_CLS_NAMES
from tfcompat._src.estimator.canned.settings import add_layer_summary
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.graph.scopes import get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.math.clip import clip_by_global_norm
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.train.checkpoint_utils import list_variables, load_variable
from tfcompat._src.variables.partitioners import min_max_variable_partitioner
from tfcompat._src.variables.scope import variable_scope


class _ComposableModel:
    """A part of a model: subclasses give its logits.

    Args:
      num_label_columns: size of the last dimension of the logits.
      optimizer: tf.train.Optimizer, function that gives one, or its name.
      gradient_clip_norm: largest norm of all gradients, or None.
      num_ps_replicas: number of parameter servers.
      scope: variable scope, and name of the collection of its variables.
      trainable: whether variables are trained.
    """

    _OPTIMIZER = ""

    def __init__(
        self, num_label_columns: int, optimizer: Any, gradient_clip_norm: float | None, num_ps_replicas: int, scope: str,
        trainable: bool = True,
    ) -> None:  # fmt: skip
        self._num_label_columns, self._optimizer = num_label_columns, optimizer
        self._gradient_clip_norm, self._num_ps_replicas = gradient_clip_norm, num_ps_replicas
        self._scope, self._trainable, self._feature_columns = scope, trainable, None

    def get_scope_name(self) -> str:
        """The variable scope."""
        return self._scope

    def build_model(self, features: dict[str, Any], feature_columns: Any, is_training: bool) -> Tensor:
        """The logits for features."""
        raise NotImplementedError

    def get_train_step(self, loss: Tensor) -> list[Any]:
        """The operations that make the loss smaller; none where the model has no columns."""
        variables = self._get_vars()
        if not (self._get_feature_columns() or variables):
            return []
        slopes = gradients(loss, variables)
        if self._gradient_clip_norm:
            slopes, _ = clip_by_global_norm(slopes, self._gradient_clip_norm)
        return [self._get_optimizer().apply_gradients(zip(slopes, variables, strict=True))]

    def _get_feature_columns(self) -> list[Any] | None:
        if not self._feature_columns:
            return None
        check_feature_columns(self._feature_columns)
        return sorted(set(self._feature_columns), key=lambda column: column.key)

    def _get_vars(self) -> list[Any]:
        return get_collection(self._scope) if self._get_feature_columns() else []

    def _get_optimizer(self) -> Any:
        if self._optimizer is None or isinstance(self._optimizer, str):
            return OPTIMIZER_CLS_NAMES[self._optimizer or self._OPTIMIZER](learning_rate=self._learning_rate())
        return self._optimizer() if callable(self._optimizer) else self._optimizer

    def _learning_rate(self) -> float:
        raise NotImplementedError


class LinearComposableModel(_ComposableModel):
    """A linear model; `_joint_weights`: whether the weights of all columns are one variable."""

    _OPTIMIZER = "Ftrl"

    def __init__(
        self, num_label_columns: int, optimizer: object = None, _joint_weights: bool = False,
        gradient_clip_norm: float | None = None, num_ps_replicas: int = 0, scope: str | None = None,
        trainable: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_label_columns, optimizer, gradient_clip_norm, num_ps_replicas, scope or "linear", trainable
        )
        self._joint_weights = _joint_weights

    def get_weights(self, model_dir: str) -> Any:
        """The weights in the latest checkpoint, by name; the only one as it is."""
        slots = re.compile(".*/" + self._get_optimizer().get_name() + r"(_\d)?$")
        values = {
            name: load_variable(model_dir, name)
            for name, _ in list_variables(model_dir)
            if name.startswith(self._scope + "/") and name != self._scope + "/bias_weight" and not slots.match(name)
        }
        return next(iter(values.values())) if len(values) == 1 else values

    def get_bias(self, model_dir: str) -> Any:
        """The bias in the latest checkpoint."""
        return load_variable(model_dir, name=self._scope + "/bias_weight")

    def build_model(self, features: dict[str, Any], feature_columns: Any, is_training: bool) -> Tensor:
        self._feature_columns = feature_columns
        partitioner = min_max_variable_partitioner(max_partitions=self._num_ps_replicas, min_slice_size=64 << 20)
        weigh = joint_weighted_sum_from_feature_columns if self._joint_weights else weighted_sum_from_feature_columns
        with variable_scope(self._scope, values=features.values(), partitioner=partitioner) as scope:
            logits, _, _ = weigh(
                columns_to_tensors=features, feature_columns=self._get_feature_columns(),
                num_outputs=self._num_label_columns, weight_collections=[self._scope], trainable=self._trainable,
                scope=scope,
            )  # fmt: skip
        return logits

    def _learning_rate(self) -> float:
        return min(0.2, 1.0 / math.sqrt(len(self._get_feature_columns())))


class DNNComposableModel(_ComposableModel):
    """A fully connected network; `hidden_units`, `activation_fn`, `dropout` as DNNClassifier."""

    _OPTIMIZER = "Adagrad"

    def __init__(
        self, num_label_columns: int, hidden_units: Sequence[int], optimizer: object = None,
        activation_fn: Callable | None = relu, dropout: float | None = None, gradient_clip_norm: float | None = None,
        num_ps_replicas: int = 0, scope: str | None = None, trainable: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_label_columns, optimizer, gradient_clip_norm, num_ps_replicas, scope or "dnn", trainable)
        self._hidden_units, self._activation_fn, self._dropout = hidden_units, activation_fn, dropout

    def _of_layers(self, model_dir: str, what: str) -> list[Any]:
        names = [f"hiddenlayer_{i}" for i in range(len(self._hidden_units))] + ["logits"]
        return [load_variable(model_dir, name=f"{self._scope}/{name}/{what}") for name in names]

    def get_weights(self, model_dir: str) -> list[Any]:
        """The weights of each layer in the latest checkpoint."""
        return self._of_layers(model_dir, "weights")

    def get_bias(self, model_dir: str) -> list[Any]:
        """The biases of each layer in the latest checkpoint."""
        return self._of_layers(model_dir, "biases")

    def build_model(self, features: dict[str, Any], feature_columns: Any, is_training: bool) -> Tensor:
        self._feature_columns = feature_columns
        collections = [self._scope]
        partitioner = min_max_variable_partitioner(max_partitions=self._num_ps_replicas, min_slice_size=64 << 20)
        name = self._scope + "/input_from_feature_columns"
        with variable_scope(name, values=features.values(), partitioner=partitioner) as scope:
            net = input_from_feature_columns(
                features, self._get_feature_columns(), weight_collections=collections, trainable=self._trainable,
                scope=scope,
            )  # fmt: skip
        partitioner = min_max_variable_partitioner(max_partitions=self._num_ps_replicas)
        common = {"variables_collections": collections, "trainable": self._trainable}
        for number, size in enumerate(self._hidden_units):
            name = f"{self._scope}/hiddenlayer_{number}"
            with variable_scope(name, values=[net], partitioner=partitioner) as scope:
                net = fully_connected(net, size, activation_fn=self._activation_fn, scope=scope, **common)
                if self._dropout is not None and is_training:
                    net = dropout(net, keep_prob=1.0 - self._dropout)
            add_layer_summary(net, scope.name)
        with variable_scope(self._scope + "/logits", values=[net], partitioner=partitioner) as scope:
            logits = fully_connected(net, self._num_label_columns, activation_fn=None, scope=scope, **common)
        add_layer_summary(logits, "logits")
        return logits

    def _learning_rate(self) -> float:
        return 0.05
