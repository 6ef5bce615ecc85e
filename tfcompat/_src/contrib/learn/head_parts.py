"""What contrib.learn's heads are made of: the centered bias, the training operation, the outputs of a classifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.contrib.learn.keys import PredictionKey
from tfcompat._src.estimator.heads.keys import keyed
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import tile
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.reduce import reduce_mean
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.strings.numbers import as_string
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train.adagrad import AdagradOptimizer
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def centered_bias(logits_dimension: int, head_name: str | None = None) -> Any:
    """The variable of the bias that all examples share, with a summary of each element."""
    bias = Variable(name="centered_bias_weight", initial_value=zeros(shape=(logits_dimension,)), trainable=True)
    for dimension in range(logits_dimension):
        scalar(keyed(f"centered_bias/bias_{dimension}", head_name), bias[dimension])
    return bias


def _centered_bias_step(bias: TensorLike, batch: Tensor, labels: object, loss_fn: Callable, weights: object) -> Any:
    """The operation that makes the bias alone a better model."""
    of_labels = tuple(labels.values()) if isinstance(labels, dict) else (labels,)
    with name_scope(None, "centered_bias_step", of_labels) as name:
        dimension = shape(bias)[0]
        logits = reshape(tile(bias, (batch,)), (batch, dimension))
        with name_scope(None, "centered_bias", (*of_labels, logits)):
            loss = reduce_mean(loss_fn(labels, logits, weights), name="training_loss")
    return AdagradOptimizer(0.1).minimize(loss, var_list=(bias,), name=name)


def train_op(
    loss: Tensor, labels: object, train_op_fn: Callable, bias: TensorLike, batch: Tensor, loss_fn: Callable, weights: object
) -> Any:
    """The operation of a training step, with a step of the centered bias where there is one."""
    bias_step = None if bias is None else _centered_bias_step(bias, batch, labels, loss_fn, weights)
    with name_scope(None, "train_op"):
        step = train_op_fn(loss)
        return step if bias_step is None else group(step, bias_step)


def classification_output(
    predictions: dict[str, Tensor], head_name: str | None, problem_type: int, label_keys: TensorLike | None = None
) -> dict[Any, Any]:
    """What an exported classifier gives: probabilities, and the names of the classes [batch, classes]."""
    probabilities = predictions.get(PredictionKey.PROBABILITIES)
    if probabilities is None:
        raise ValueError(f"{PredictionKey.PROBABILITIES} missing in predictions")
    with name_scope(None, "_classification_output_alternatives", (probabilities,)):
        batch = shape(probabilities)[0]
        if label_keys:
            classes = tile(expand_dims(label_keys, axis=0), [batch, 1], name="classes_tensor")
        else:
            ids = tile(expand_dims(arange(shape(probabilities)[1]), axis=0), [batch, 1])
            classes = as_string(ids, name="classes_tensor")
    outputs = {PredictionKey.PROBABILITIES: probabilities, PredictionKey.CLASSES: classes}
    return {head_name: (problem_type, outputs)}
