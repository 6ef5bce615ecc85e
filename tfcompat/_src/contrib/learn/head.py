"""tf.contrib.learn's heads: from logits to predictions, loss, metrics and training operation."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.layers.core import linear
from tfcompat._src.contrib.learn import head_losses
from tfcompat._src.contrib.learn.head_parts import centered_bias, train_op
from tfcompat._src.contrib.learn.keys import MetricKey
from tfcompat._src.contrib.learn.model_fn import ModeKeys, ModelFnOps
from tfcompat._src.estimator.heads.keys import keyed
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.mean import mean
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.summary.summary import scalar
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.learn.Head")
class Head(abc.ABC):
    """What stands on the last layer of a model."""

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> int:
        """The size of the last dimension of the logits."""

    @abc.abstractmethod
    def create_model_fn_ops(
        self, features: Any, mode: str, labels: Any = None, train_op_fn: Callable | None = None, logits: Any = None,
        logits_input: Any = None, scope: Any = None,
    ) -> ModelFnOps:  # fmt: skip
        """The parts of a model.

        Args:
          features: dict of tensors.
          mode: one of ModeKeys.
          labels: tensor, or dict of tensors.
          train_op_fn: function from the loss to a training operation, for TRAIN.
          logits: tensor [batch, logits_dimension].
          logits_input: tensor [batch, size] from which a linear layer makes the logits, instead of `logits`.
          scope: variable scope.

        Raises:
          ValueError: the mode is unknown, neither or both of `logits` and `logits_input` are given, or shapes do not fit.
        """


@export("contrib.learn.no_op_train_fn")
def no_op_train_fn(loss: Tensor) -> Operation:
    """A training operation that does nothing."""
    return no_op()


def check_mode(mode: str) -> None:
    """ValueError where the mode is unknown."""
    if mode not in (ModeKeys.TRAIN, ModeKeys.INFER, ModeKeys.EVAL):
        raise ValueError(f"mode={mode} unrecognized.")


class SingleHead(Head):
    """One head: subclasses say how logits become predictions and which metrics there are.

    Args:
      problem_type: a ProblemType.
      logits_dimension: size of the last dimension of the logits.
      loss_fn: function of labels, logits and weights, as in head_losses.
      label_name: key of the labels where they are a dict.
      weight_column_name: key of the examples' weights.
      enable_centered_bias: whether a bias is learned that is shared by all examples.
      head_name: name, which ends the keys of metrics.

    Raises:
      ValueError: the dimension is not positive.
    """

    _DEFAULT_SCOPE = ""

    def __init__(
        self, problem_type: int, logits_dimension: int, loss_fn: Callable, label_name: str | None = None,
        weight_column_name: str | None = None, enable_centered_bias: bool = False, head_name: str | None = None,
    ) -> None:  # fmt: skip
        if problem_type is None:
            raise ValueError(f"Invalid problem_type {problem_type}.")
        if logits_dimension is None or logits_dimension < 1:
            raise ValueError(f"Invalid logits_dimension {logits_dimension}.")
        self._problem_type, self._logits_dimension, self._loss_fn = problem_type, logits_dimension, loss_fn
        self._label_name, self._weight_column_name, self._head_name = label_name, weight_column_name, head_name
        self._enable_centered_bias = enable_centered_bias

    @property
    def logits_dimension(self) -> int:
        return self._logits_dimension

    @property
    def label_name(self) -> str | None:
        return self._label_name

    @property
    def weight_column_name(self) -> str | None:
        return self._weight_column_name

    @property
    def head_name(self) -> str | None:
        return self._head_name

    def _key(self, key: str) -> str:
        return keyed(key, self._head_name)

    def _labels_tensor(self, labels: Any) -> Any:
        """The labels of this head; ValueError where they are sparse."""
        labels = convert_to_tensor_or_sparse_tensor(labels[self._label_name] if isinstance(labels, dict) else labels)
        if isinstance(labels, SparseTensor):
            raise ValueError("SparseTensor is not supported.")
        return labels

    def _transform_labels(self, mode: str, labels: Any) -> Any:
        return None if mode == ModeKeys.INFER or labels is None else self._labels_tensor(labels)

    def _logits_to_predictions(self, logits: Tensor) -> dict[str, Tensor]:
        raise NotImplementedError

    def _metrics(self, eval_loss: Tensor, predictions: dict[str, Tensor], labels: Any, weights: Any) -> dict[str, Any]:
        raise NotImplementedError

    def _create_output_alternatives(self, predictions: dict[str, Tensor]) -> dict[Any, Any]:
        return {self._head_name: (self._problem_type, predictions)}

    def _loss_metric(self, eval_loss: Tensor) -> dict[str, Any]:
        return {self._key(MetricKey.LOSS): mean(eval_loss)}

    def _logits(self, logits_input: object, logits: TensorLike) -> Tensor:
        if logits is None:
            if logits_input is None:
                raise ValueError("Neither logits nor logits_input supplied.")
            return linear(logits_input, self._logits_dimension, scope="logits")
        if logits_input is not None:
            raise ValueError("Both logits and logits_input supplied.")
        logits = convert_to_tensor(logits, name="logits")
        if logits.get_shape().dims is not None:
            logits.get_shape().dims[-1].assert_is_compatible_with(self._logits_dimension)
        return logits

    def create_model_fn_ops(
        self, features: Any, mode: str, labels: Any = None, train_op_fn: Callable | None = None, logits: Any = None,
        logits_input: Any = None, scope: object = None,
    ) -> ModelFnOps:  # fmt: skip
        values = (*features.values(), labels, logits, logits_input)
        with variable_scope(scope, default_name=self._head_name or self._DEFAULT_SCOPE, values=values):
            labels = self._transform_labels(mode, labels)
            return self._model_fn_ops(features, mode, labels, train_op_fn, self._logits(logits_input, logits))

    def _model_fn_ops(
        self, features: Any, mode: str, labels: object, train_op_fn: Callable | None, logits: Tensor
    ) -> ModelFnOps:
        check_mode(mode)
        bias = None
        if self._enable_centered_bias:
            bias = centered_bias(self._logits_dimension, self._head_name)
            logits = bias_add(logits, bias)
        predictions = self._logits_to_predictions(logits)
        loss = step = metrics = None
        if mode != ModeKeys.INFER and labels is not None:
            weights = head_losses.example_weights(features, self._weight_column_name)
            loss, average = self._loss_fn(labels, logits, weights)
            with name_scope(""):
                scalar(self._key(MetricKey.LOSS), identity(average))
            if mode == ModeKeys.TRAIN:
                if train_op_fn is None:
                    raise ValueError("train_op_fn can not be None in TRAIN mode")
                step = train_op(loss, labels, train_op_fn, bias, shape(logits)[0], self._loss_fn, weights)
            metrics = self._metrics(average, predictions, labels, weights)
        return ModelFnOps(
            mode=mode, predictions=predictions, loss=loss, train_op=step, eval_metric_ops=metrics,
            output_alternatives=self._create_output_alternatives(predictions),
        )  # fmt: skip
