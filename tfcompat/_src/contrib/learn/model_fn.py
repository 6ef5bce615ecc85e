"""tf.contrib.learn.ModeKeys and ModelFnOps: what a model function of contrib.learn is asked for and gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.framework.aliases import get_graph_from_inputs
from tfcompat._src.contrib.learn.keys import MetricKey, PredictionKey, ProblemType
from tfcompat._src.estimator.model_fn import EstimatorSpec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import convert_to_tensor_or_sparse_tensor
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.export_output import (
    ClassificationOutput,
    ExportOutput,
    PredictOutput,
    RegressionOutput,
)  # fmt: skip
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys
from tfcompat._src.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from tfcompat._src.train.session_run_hook import SessionRunHook

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.tensor import Tensor


@export("contrib.learn.ModeKeys")
class ModeKeys:
    """The modes of models."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError where `key` is no mode."""
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}.")


_CORE_MODES = {
    ModeKeys.TRAIN: EstimatorModeKeys.TRAIN,
    ModeKeys.EVAL: EstimatorModeKeys.EVAL,
    ModeKeys.INFER: EstimatorModeKeys.PREDICT,
}


class _Ops(NamedTuple):
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: Any
    output_alternatives: Any
    training_chief_hooks: Any
    training_hooks: Any
    scaffold: Any
    mode: Any


@export("contrib.learn.ModelFnOps")
class ModelFnOps(_Ops):
    """The parts of a model.

    Args:
      mode: one of ModeKeys.
      predictions: tensor or dict of tensors; needed but for TRAIN.
      loss: tensor with one element; needed but for INFER.
      train_op: operation of a training step; needed for TRAIN.
      eval_metric_ops: dict of (value, update operation).
      output_alternatives: dict of (ProblemType, dict of tensors) by signature name.
      training_chief_hooks, training_hooks: SessionRunHooks.
      scaffold: a Scaffold.

    Raises:
      ValueError: a needed part is missing, of another graph or shape. TypeError: a hook is none.
    """

    def __new__(
        cls, mode: str, predictions: object = None, loss: TensorLike | None = None, train_op: TensorLike | None = None, eval_metric_ops: object = None,
        output_alternatives: object = None, training_chief_hooks: Any = None, training_hooks: Any = None,
        scaffold: object = None,
    ) -> ModelFnOps:  # fmt: skip
        ModeKeys.validate(mode)
        get_graph_from_inputs((predictions, loss, train_op))
        if eval_metric_ops is not None and not isinstance(eval_metric_ops, dict):
            raise ValueError("eval_metric_ops must be a dict.")
        hooks, chief_hooks = training_hooks or [], training_chief_hooks or []
        train_op, loss = _train_op(train_op, mode), _scalar_loss(loss, mode)
        predictions = _predictions(predictions, mode)
        for hook in [*hooks, *chief_hooks]:
            if not isinstance(hook, SessionRunHook):
                raise TypeError(
                    "All hooks returned from model_fn must be SessionRunHook instances, "
                    f"got instance of {type(hook)}: {hook}"
                )
        return super().__new__(
            cls, predictions, loss, train_op, eval_metric_ops or {}, output_alternatives, chief_hooks, hooks, scaffold, mode
        )

    def estimator_spec(self, default_serving_output_alternative_key: str | None = None) -> EstimatorSpec:
        """The EstimatorSpec with the same parts.

        Args:
          default_serving_output_alternative_key: which of several outputs is the default signature.
        """
        outputs = self.output_alternatives
        if outputs and len(outputs) > 1 and DEFAULT_SERVING_SIGNATURE_DEF_KEY not in outputs:
            outputs = {**outputs, DEFAULT_SERVING_SIGNATURE_DEF_KEY: outputs[default_serving_output_alternative_key]}
        return EstimatorSpec(
            mode=_CORE_MODES[self.mode], predictions=self.predictions, loss=self.loss, train_op=self.train_op,
            eval_metric_ops={key: value for key, value in self.eval_metric_ops.items() if key != MetricKey.LOSS},
            export_outputs={key: _export_output(*value) for key, value in outputs.items()} if outputs else None,
            training_chief_hooks=self.training_chief_hooks, training_hooks=self.training_hooks, scaffold=self.scaffold,
        )  # fmt: skip


def _train_op(train_op: TensorLike, mode: str) -> Operation | None:
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        return None
    return train_op if isinstance(train_op, Operation) else convert_to_tensor(train_op).op


def _scalar_loss(loss: TensorLike, mode: str) -> Tensor | None:
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    loss = convert_to_tensor(loss)
    if loss.get_shape().num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar: {loss}.")
    return loss if loss.get_shape().is_compatible_with([]) else reshape(loss, [])


def _predictions(predictions: object, mode: str) -> Any:
    if predictions is None:
        if mode in (ModeKeys.INFER, ModeKeys.EVAL):
            raise ValueError("Missing predictions.")
        return None
    if isinstance(predictions, dict):
        return {key: convert_to_tensor_or_sparse_tensor(value) for key, value in predictions.items()}
    return convert_to_tensor_or_sparse_tensor(predictions)


def _export_output(problem_type: int, predictions: dict[str, Any]) -> ExportOutput:
    """What an exported model gives for an output of this type."""
    scores = predictions.get(PredictionKey.SCORES)
    if scores is None:
        scores = predictions.get(PredictionKey.PROBABILITIES)
    if problem_type == ProblemType.LINEAR_REGRESSION:
        return RegressionOutput(scores)
    if problem_type in (ProblemType.CLASSIFICATION, ProblemType.LOGISTIC_REGRESSION):
        return ClassificationOutput(scores=scores, classes=_class_names(predictions))
    if problem_type == ProblemType.UNSPECIFIED:
        return PredictOutput(predictions)
    raise ValueError(f"Unknown problem_type={problem_type}")


def _class_names(predictions: dict[str, Any]) -> Any:
    classes = predictions.get(PredictionKey.CLASSES)
    if classes is None:
        logging.warning("classes is None, Servo inference will not have class ids.")
    elif classes.dtype != dtypes.string:
        logging.warning("classes is not string, Servo inference will not have class ids.")
        return None
    return classes
