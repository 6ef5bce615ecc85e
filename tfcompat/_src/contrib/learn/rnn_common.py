"""What the estimators of sequences of tf.contrib.learn have in common: cells, outputs of steps, predictions, states and targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.contrib.layers.target_column import multi_class_target, regression_target
from tfcompat._src.contrib.learn.keys import PredictionKey, ProblemType
from tfcompat._src.contrib.metrics.streaming import streaming_accuracy
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.composed.masks import boolean_mask, sequence_mask
from tfcompat._src.ops.math.reduce import argmax
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.rnn.basic_cells import BasicRNNCell, GRUCell, LSTMCell
from tfcompat._src.rnn.cell import RNNCell
from tfcompat._src.rnn.wrappers import DropoutWrapper, MultiRNNCell
from tfcompat._src.train.momentum import MomentumOptimizer

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class RNNKeys:
    """Keys of features and predictions."""

    FINAL_STATE_KEY = "final_state"
    LABELS_KEY = "__labels__"
    SEQUENCE_LENGTH_KEY = "sequence_length"
    STATE_PREFIX = "rnn_cell_state"


class PredictionType:
    """Whether a sequence has one label, or each of its steps has one."""

    SINGLE_VALUE = 1
    MULTIPLE_VALUE = 2


_CELL_TYPES = {"basic_rnn": BasicRNNCell, "lstm": LSTMCell, "gru": GRUCell}


def _get_single_cell(cell_type: Any, num_units: int) -> RNNCell:
    cell_class = _CELL_TYPES.get(cell_type, cell_type)
    if not cell_class or not issubclass(cell_class, RNNCell):
        raise ValueError(f"The supported cell types are {list(_CELL_TYPES)}; got {cell_class}")
    return cell_class(num_units=num_units)


def construct_rnn_cell(
    num_units: Any, cell_type: Any = "basic_rnn", dropout_keep_probabilities: Sequence[Any] | None = None
) -> RNNCell:
    """A cell, or several on top of each other.

    Args:
      num_units: the size of the cell, or a list of sizes.
      cell_type: "basic_rnn", "lstm", "gru" or a class of cells.
      dropout_keep_probabilities: the share of inputs kept of each cell, and of the outputs of the last.

    Raises:
      ValueError: an unknown type of cell, or a number of probabilities that does not fit.
    """
    sizes = num_units if isinstance(num_units, (list, tuple)) else (num_units,)
    cells = [_get_single_cell(cell_type, size) for size in sizes]
    if dropout_keep_probabilities:
        cells = apply_dropout(cells, dropout_keep_probabilities)
    return cells[0] if len(cells) == 1 else MultiRNNCell(cells)


def apply_dropout(
    cells: list[RNNCell], dropout_keep_probabilities: Sequence[Any], random_seed: int | None = None
) -> list[RNNCell]:
    """Cells with dropout of their inputs, and of the last one's outputs."""
    if len(dropout_keep_probabilities) != len(cells) + 1:
        raise ValueError(
            "The number of dropout probabilities must be one greater than the number of cells. "
            f"Got {len(cells)} cells and {len(dropout_keep_probabilities)} dropout probabilities."
        )
    *inputs, last_input, last_output = dropout_keep_probabilities
    wrapped = [DropoutWrapper(cell, kept, 1.0, seed=random_seed) for cell, kept in zip(cells, inputs)]
    return [*wrapped, DropoutWrapper(cells[-1], last_input, last_output)]


def get_eval_metric_ops(
    problem_type: int, prediction_type: int, sequence_length: object, prediction_dict: dict[str, Any], labels: Any
) -> dict[str, Any]:
    """The accuracy of a classifier as (value, update), by name; regressions have no metric but their loss."""
    if problem_type != ProblemType.CLASSIFICATION:
        return {}
    classes = prediction_dict[PredictionKey.CLASSES]
    if prediction_type == PredictionType.MULTIPLE_VALUE:
        classes, labels = mask_activations_and_labels(classes, labels, sequence_length)
    return {"accuracy": streaming_accuracy(predictions=classes, labels=labels)}


def select_last_activations(activations: Tensor, sequence_lengths: object) -> Tensor:
    """What each sequence has at its last step.

    Args:
      activations: [batch, time, columns].
      sequence_lengths: [batch], or None: all have the whole length.

    Returns:
      Tensor [batch, columns].
    """
    with name_scope("select_last_activations", values=[activations, sequence_lengths]):
        sizes = shape(activations)
        batch_size, padded_length, columns = sizes[0], sizes[1], sizes[2]
        lengths = padded_length if sequence_lengths is None else sequence_lengths
        rows = reshape(activations, [-1, columns])
        last = gather(rows, arange(batch_size) * padded_length + lengths - 1)
        last.set_shape([activations.get_shape()[0], activations.get_shape()[2]])
        return last


def mask_activations_and_labels(activations: Tensor, labels: Tensor, sequence_lengths: TensorLike) -> tuple[Tensor, Tensor]:
    """The steps of all sequences one after the other, without what lies behind their ends.

    Args:
      activations: [batch, time, ...].
      labels: [batch, time].
      sequence_lengths: [batch], or None: all have the whole length.

    Returns:
      (activations [steps, ...], labels [steps]).
    """
    with name_scope("mask_activations_and_labels", values=[activations, labels, sequence_lengths]):
        sizes = shape(labels)
        batch_size, padded_length = sizes[0], sizes[1]
        if sequence_lengths is None:
            steps = padded_length * batch_size
            return reshape(activations, [steps, -1]), reshape(labels, [steps])
        mask = sequence_mask(sequence_lengths, padded_length)
        return boolean_mask(activations, mask), boolean_mask(labels, mask)


def multi_value_loss(
    activations: Tensor, labels: Tensor, sequence_length: object, target_column: Any, features: dict[str, Any]
) -> Tensor:
    """The loss of all steps."""
    with name_scope("MultiValueLoss"):
        activations, labels = mask_activations_and_labels(activations, labels, sequence_length)
        return target_column.loss(activations, labels, features)


def predictions_name(problem_type: int) -> str:
    """The key of what a model of this kind predicts."""
    return PredictionKey.CLASSES if problem_type == ProblemType.CLASSIFICATION else PredictionKey.SCORES


def multi_value_predictions(
    activations: Tensor, target_column: Any, problem_type: int, predict_probabilities: bool
) -> dict[str, Tensor]:
    """A prediction for each step: classes or scores [batch, time], and where asked for probabilities [batch, time, classes]."""
    with name_scope("MultiValuePrediction"):
        sizes, found = shape(activations), {}
        rows = reshape(activations, [-1, sizes[2]])
        if predict_probabilities:
            row_probabilities = target_column.logits_to_predictions(rows, proba=True)
            row_predictions = argmax(row_probabilities, 1)
            wanted = concat([sizes[:2], [2]], 0) if target_column.num_label_columns == 1 else sizes
            found[PredictionKey.PROBABILITIES] = reshape(row_probabilities, wanted, name=PredictionKey.PROBABILITIES)
        else:
            row_predictions = target_column.logits_to_predictions(rows, proba=False)
        name = predictions_name(problem_type)
        found[name] = reshape(row_predictions, [sizes[0], sizes[1]], name=name)
        return found


def state_name(i: int) -> str:
    """The key of the i-th part of a state."""
    return f"{RNNKeys.STATE_PREFIX}_{i}"


def state_tuple_to_dict(state: object) -> dict[str, Any]:
    """The parts of a state by their keys."""
    with name_scope("state_tuple_to_dict"):
        return {
            state_name(i): None if part is None else identity(part, name=state_name(i))
            for i, part in enumerate(nest.flatten(state))
        }


def check_problem(problem_type: int, predict_probabilities: bool) -> None:
    """ValueError where sequences are not predicted this way."""
    if problem_type not in (ProblemType.CLASSIFICATION, ProblemType.LINEAR_REGRESSION):
        raise ValueError(
            f"problem_type must be ProblemType.LINEAR_REGRESSION or ProblemType.CLASSIFICATION; got {problem_type}"
        )
    if problem_type != ProblemType.CLASSIFICATION and predict_probabilities:
        raise ValueError(
            "predict_probabilities can only be set to True for problem_type ProblemType.CLASSIFICATION; "
            f"got {problem_type}."
        )


def target_of(problem_type: int, num_classes: int | None) -> tuple[Any, str]:
    """The target column of a problem, and what a model of it is called.

    Raises:
      ValueError: another problem, or a classification without a number of classes.
    """
    if problem_type == ProblemType.LINEAR_REGRESSION:
        return regression_target(), "Regressor"
    if problem_type != ProblemType.CLASSIFICATION:
        raise ValueError(
            "problem_type must be either ProblemType.LINEAR_REGRESSION or ProblemType.CLASSIFICATION; "
            f"got {problem_type}"
        )
    if not num_classes:
        raise ValueError("For CLASSIFICATION problem_type, num_classes must be specified.")
    return multi_class_target(n_classes=num_classes), "Classifier"


def momentum_optimizer(optimizer: object, learning_rate: object, momentum: object) -> Any:
    """The optimizer; "Momentum" is one with this momentum."""
    return MomentumOptimizer(learning_rate, momentum) if optimizer == "Momentum" else optimizer
