"""tf.estimator.EstimatorSpec: what a model function gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.estimator.util import call_with_known, fn_args
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import add_to_collection, executing_eagerly, get_collection, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import is_dense_tensor_like
from tfcompat._src.keras.metrics.metric import Metric
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils import export_utils
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.train.scaffold import Scaffold
from tfcompat._src.train.session_run_hook import SessionRunHook
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

LOSS_METRIC_KEY = "loss"
AVERAGE_LOSS_METRIC_KEY = "average_loss"
_VALID_MODEL_FN_ARGS = frozenset(("features", "labels", "mode", "params", "self", "config"))


class _Spec(NamedTuple):
    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Any = None
    export_outputs: Any = None
    training_chief_hooks: Any = None
    training_hooks: Any = None
    scaffold: Any = None
    evaluation_hooks: Any = None
    prediction_hooks: Any = None


@export("estimator.EstimatorSpec", "compat.v2.estimator.EstimatorSpec")
class EstimatorSpec(_Spec):
    """The parts of a model that an Estimator runs.

    Args:
      mode: one of ModeKeys.
      predictions: tensor or dict of tensors; needed for PREDICT.
      loss: tensor with one element; needed for TRAIN and EVAL.
      train_op: operation of a training step; needed for TRAIN.
      eval_metric_ops: dict of (value, update operation), or of Keras metrics that were updated.
      export_outputs: dict of ExportOutput by signature name.
      training_chief_hooks, training_hooks, evaluation_hooks, prediction_hooks: SessionRunHooks.
      scaffold: a Scaffold.

    Raises:
      ValueError: a needed part is missing, of another graph, or the loss has several elements.
      TypeError: a part is of another type.
    """

    def __new__(
        cls, mode: str, predictions: object = None, loss: TensorLike | None = None, train_op: object = None, eval_metric_ops: object = None,
        export_outputs: object = None, training_chief_hooks: Any = None, training_hooks: Any = None, scaffold: object = None,
        evaluation_hooks: Any = None, prediction_hooks: Any = None,
    ) -> EstimatorSpec:  # fmt: skip
        train_op = _validate_estimator_spec_train_op(train_op, mode)
        loss = _validate_estimator_spec_loss(loss, mode)
        predictions = _validate_estimator_spec_predictions(predictions, mode)
        export_outputs = _validate_estimator_spec_export_outputs(export_outputs, predictions, mode)
        training_hooks = _validate_estimator_spec_hooks(training_hooks)
        evaluation_hooks = _validate_estimator_spec_hooks(evaluation_hooks)
        prediction_hooks = _validate_estimator_spec_hooks(prediction_hooks)
        training_chief_hooks = _validate_estimator_spec_hooks(training_chief_hooks)
        eval_metric_ops = _validate_eval_metric_ops(eval_metric_ops)
        scaffold = scaffold or Scaffold()
        if not isinstance(scaffold, Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
        return super().__new__(
            cls, mode, predictions, loss, train_op, eval_metric_ops, export_outputs, training_chief_hooks,
            training_hooks, scaffold, evaluation_hooks, prediction_hooks,
        )  # fmt: skip

    def _replace(self, **kwds: Any) -> EstimatorSpec:
        """A copy with other parts, which are checked again; ValueError where it changes the mode."""
        if kwds.get("mode", self.mode) != self.mode:
            raise ValueError("mode of EstimatorSpec cannot be changed.")
        return EstimatorSpec(**{**self._asdict(), **kwds})


class _TPUSpec(NamedTuple):
    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metrics: Any = None
    export_outputs: Any = None
    scaffold_fn: Any = None
    host_call: Any = None
    training_hooks: Any = None
    evaluation_hooks: Any = None
    prediction_hooks: Any = None


class _TPUEstimatorSpec(_TPUSpec):
    """The parts of a model whose metrics are made later: `eval_metrics` is a function of tensors, and these in a dict.

    Args:
      as EstimatorSpec has them, but `eval_metrics`.
      scaffold_fn: function that gives the Scaffold.
      host_call: function of tensors that runs on the host, and these.

    Raises:
      ValueError, TypeError: as EstimatorSpec.
    """

    def __new__(
        cls, mode: str, predictions: Any = None, loss: Any = None, train_op: Any = None, eval_metrics: Any = None,
        export_outputs: Any = None, scaffold_fn: Any = None, host_call: Any = None, training_hooks: Any = None,
        evaluation_hooks: Any = None, prediction_hooks: Any = None,
    ) -> _TPUEstimatorSpec:  # fmt: skip
        train_op = _validate_estimator_spec_train_op(train_op, mode)
        loss = _validate_estimator_spec_loss(loss, mode)
        predictions = _validate_estimator_spec_predictions(predictions, mode)
        export_outputs = _validate_estimator_spec_export_outputs(export_outputs, predictions, mode)
        hooks = (
            _validate_estimator_spec_hooks(given) for given in (training_hooks, evaluation_hooks, prediction_hooks)
        )
        return super().__new__(
            cls, mode, predictions, loss, train_op, eval_metrics, export_outputs, scaffold_fn, host_call, *hooks
        )

    def as_estimator_spec(self) -> EstimatorSpec:
        """The EstimatorSpec with the same parts, whose metrics are made now."""
        eval_metric_ops = None
        if self.eval_metrics:
            metric_fn, tensors = self.eval_metrics
            eval_metric_ops = metric_fn(**tensors)
        return EstimatorSpec(
            mode=self.mode, predictions=self.predictions, loss=self.loss, train_op=self.train_op,
            eval_metric_ops=eval_metric_ops, export_outputs=self.export_outputs, training_hooks=self.training_hooks,
            evaluation_hooks=self.evaluation_hooks, prediction_hooks=self.prediction_hooks,
        )  # fmt: skip


def _require_default_graph(value: Any, what: str, prefix: str = "") -> None:
    """Raises ValueError where `value` is of another graph than the default one; `prefix` stands before its name in the
    message.
    """
    if not executing_eagerly() and value.graph is not get_default_graph():
        raise ValueError(
            f'{what} with "{prefix}{value.name}" must be from the default graph. Possible causes of this error include: '
            f"\n\n1) {what} was created outside the context of the default graph.\n\n2) The object passed through to "
            'EstimatorSpec was not created in the most recent call to "model_fn".'
        )


def _validate_estimator_spec_train_op(train_op: object, mode: str) -> Any:
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        return None
    _check_is_tensor_or_operation(train_op, "train_op")
    if isinstance(train_op, Variable):
        train_op = train_op.op
    _require_default_graph(train_op, "train_op")
    return train_op


def _validate_estimator_spec_loss(loss: Any, mode: str) -> Any:
    """The loss as a scalar."""
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    _check_is_tensor(loss, "loss")
    if loss.get_shape().num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    if not loss.get_shape().is_compatible_with([]):
        loss = reshape(loss, [])
    _require_default_graph(loss, "loss")
    return loss


def _validate_estimator_spec_predictions(predictions: object, mode: str) -> Any:
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise ValueError("Missing predictions.")
        return {}
    if not isinstance(predictions, dict):
        _check_is_tensor(predictions, "predictions")
        _require_default_graph(predictions, "prediction values")
        return predictions
    for key, value in predictions.items():
        _check_is_tensor(value, f"predictions[{key}]")
    for key, value in predictions.items():
        _require_default_graph(value, "prediction values", f"{key}: ")
    return dict(predictions)


def _validate_estimator_spec_export_outputs(export_outputs: Any, predictions: Any, mode: str) -> Any:
    if mode == ModeKeys.PREDICT:
        return export_utils.get_export_outputs(export_outputs, predictions)
    return export_outputs


def _validate_estimator_spec_hooks(hooks: Iterable[Any] | None) -> tuple:
    hooks = tuple(hooks or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
    return hooks


def _validate_eval_metric_ops(eval_metric_ops: object) -> dict[str, tuple]:
    """The metrics as (value, update operation); variables of Keras metrics become local ones."""
    if eval_metric_ops is None:
        return {}
    if not isinstance(eval_metric_ops, dict):
        raise TypeError(f"eval_metric_ops must be a dict, given: {eval_metric_ops}")
    for key, value in eval_metric_ops.items():
        if isinstance(value, Metric):
            if not value.updates:
                raise ValueError(f'Please call update_state(...) on the "{value.name}" metric')
        elif not isinstance(value, tuple) or len(value) != 2:
            raise TypeError(
                f"Values of eval_metric_ops must be (metric_value, update_op) tuples, given: {value} for key: {key}"
            )
    for key, value in eval_metric_ops.items():
        parts = [*value.updates, value.result()] if isinstance(value, Metric) else nest.flatten(value)
        for part in parts:
            _require_default_graph(part, "eval_metric_ops", f"{key}: ")
    metrics = {key: value for key, value in eval_metric_ops.items() if isinstance(value, Metric)}
    eval_metric_ops.update({key: (metric.result(), metric.updates[0]) for key, metric in metrics.items()})
    for collection in (GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES):
        known = {id(variable) for variable in get_collection(collection)}
        for variable in (v for metric in metrics.values() for v in metric.variables):
            if id(variable) not in known:
                known.add(id(variable))
                add_to_collection(collection, variable)
    return eval_metric_ops


def _check_is_tensor_or_operation(x: object, name: str) -> None:
    if not (isinstance(x, Operation) or is_dense_tensor_like(x)):
        raise TypeError(f"{name} must be Operation or Tensor, given: {x}")


def _check_is_tensor(x: object, tensor_name: str) -> Any:
    if not is_dense_tensor_like(x):
        raise TypeError(f"{tensor_name} must be Tensor, given: {x}")
    return x


@export(
    "estimator.experimental.call_logit_fn",
    "contrib.estimator.call_logit_fn",
    "compat.v2.estimator.experimental.call_logit_fn",
)
def call_logit_fn(logit_fn: Callable, features: object, mode: str, params: object, config: object) -> Any:
    """Calls a function that computes logits, with those of the arguments that it takes.

    Args:
      logit_fn: function of `features` and any of `mode`, `params`, `config`.
      features, mode, params, config: its arguments.

    Returns:
      a tensor, or a dict of tensors by str.

    Raises:
      ValueError: it gives anything else.
    """
    logits = call_with_known(logit_fn, features=features, mode=mode, params=params, config=config)
    is_dict = isinstance(logits, dict) and all(isinstance(k, str) and isinstance(v, Tensor) for k, v in logits.items())
    if not is_dict and not isinstance(logits, Tensor):
        raise ValueError(
            f"logit_fn should return a Tensor or a dictionary mapping strings to Tensors.  logit_fn returned: {logits}"
        )
    return logits


def verify_model_fn_args(model_fn: Callable, params: object) -> None:
    """Raises ValueError where a model function takes no `features`, no `params` although there are some, or anything
    unknown.
    """
    names = set(fn_args(model_fn))
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to Estimator."
        )
    if params is None and "params" in names:
        logging.warning(
            "Estimator's model_fn (%s) includes params argument, but params are not passed to Estimator.", model_fn
        )
    unknown = list(names - _VALID_MODEL_FN_ARGS)
    if unknown:
        raise ValueError(f"model_fn ({model_fn}) has following not expected args: {unknown}")
