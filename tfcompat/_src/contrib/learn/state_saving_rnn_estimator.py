"""tf.contrib.learn's StateSavingRnnEstimator: a recurrent network over segments of sequences, whose states queues keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.layers.core import fully_connected
from tfcompat._src.contrib.layers.feature_column_ops import (
    parents_of,
    sequence_input_from_feature_columns,
    sequence_types_checked,
)  # fmt: skip
from tfcompat._src.contrib.layers.optimizers import OPTIMIZER_SUMMARIES, optimize_loss
from tfcompat._src.contrib.learn import rnn_common
from tfcompat._src.contrib.learn.estimator import Estimator
from tfcompat._src.contrib.learn.model_fn import ModeKeys, ModelFnOps
from tfcompat._src.contrib.learn.rnn_common import PredictionType, RNNKeys, state_name, state_tuple_to_dict
from tfcompat._src.contrib.learn.rnn_common import multi_value_loss as _multi_value_loss
from tfcompat._src.contrib.training.batch_sequences_with_states import batch_sequences_with_states
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.join import concat, stack, tile, unstack
from tfcompat._src.ops.array.shape import expand_dims, squeeze
from tfcompat._src.rnn.basic_cells import LSTMStateTuple
from tfcompat._src.rnn.static import static_state_saving_rnn

_get_state_name = state_name


def construct_state_saving_rnn(
    cell: object, inputs: list[Tensor], num_label_columns: int, state_saver: object, state_name: object, scope: str = "rnn"
) -> tuple[Tensor, Tensor]:
    """Runs the cells from the states that `state_saver` keeps, and a linear layer on each output.

    Args:
      cell: an RNNCell.
      inputs: list of [batch, columns], one for each step.
      num_label_columns: number of outputs of a step.
      state_saver: object with methods `state(name)` and `save_state(name, value)`.
      state_name: the names of the states, in the structure of the state.
      scope: variable scope.

    Returns:
      (Tensor [batch, time, num_label_columns], the last state).
    """
    with name_scope(scope):
        outputs, final_state = static_state_saving_rnn(
            cell=cell, inputs=inputs, state_saver=state_saver, state_name=state_name, scope=scope
        )
        activations = fully_connected(
            inputs=stack(outputs, axis=1), num_outputs=num_label_columns, activation_fn=None, trainable=True
        )
        return activations, identity(final_state, name=RNNKeys.FINAL_STATE_KEY)


def _get_name_or_parent_names(column: Any) -> list[str]:
    return [parent.name for parent in parents_of(column)] or [column.name]


def _prepare_features_for_sqss(
    features: dict[str, Any], labels: object, mode: str, sequence_feature_columns: Any, context_feature_columns: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The features of steps, the labels with them, and those of sequences.

    Raises:
      ValueError: a column's feature is missing, or the column is none of steps.
    """
    sequence_types_checked(sequence_feature_columns)
    names = [name for column in sequence_feature_columns for name in _get_name_or_parent_names(column)]
    sequences = _picked(features, names, "sequence")
    context = _picked(features, [column.name for column in context_feature_columns or ()], "context")
    if mode != ModeKeys.INFER:
        sequences[RNNKeys.LABELS_KEY] = labels
    return sequences, context


def _picked(features: dict[str, Any], names: list[str], kind: str) -> dict[str, Any]:
    for name in names:
        if features.get(name) is None:
            raise ValueError(f"No key in features for {kind} feature: {name}")
    return {name: features[name] for name in names}


def _get_state_names(cell: Any) -> Any:
    """The names of the parts of a cell's state, in its structure."""
    size = cell.state_size
    if isinstance(size, TensorShape):
        raise TypeError("cell.state_size of type TensorShape is not supported.")
    if isinstance(size, int):
        return state_name(0)
    if isinstance(size, LSTMStateTuple):
        return _lstm_names(0)
    if isinstance(size[0], LSTMStateTuple):
        return [_lstm_names(i) for i in range(len(size))]
    return [state_name(i) for i in range(len(size))]


def _lstm_names(i: int) -> list[str]:
    return [f"{state_name(i)}_c", f"{state_name(i)}_h"]


def _get_initial_states(cell: Any) -> dict[str, Tensor]:
    zeros = nest.flatten(cell.zero_state(1, dtype=dtypes.float32))
    return {
        name: squeeze(value, axis=0) for name, value in zip(nest.flatten(_get_state_names(cell)), zeros, strict=True)
    }


def _read_batch(
    cell: object, features: dict[str, Any], labels: object, mode: str, num_unroll: int, batch_size: int,
    sequence_feature_columns: object, context_feature_columns: object = None, num_threads: int = 3, queue_capacity: int = 1000,
    seed: int | None = None,
) -> Any:  # fmt: skip
    """A batch of segments of sequences with their states; arguments as of StateSavingRnnEstimator."""
    states = _get_initial_states(cell)
    sequences, context = _prepare_features_for_sqss(
        features, labels, mode, sequence_feature_columns, context_feature_columns
    )
    return batch_sequences_with_states(
        input_key="key", input_sequences=sequences, input_context=context, input_length=None, initial_states=states,
        num_unroll=num_unroll, batch_size=batch_size, pad=True, make_keys_unique=True, make_keys_unique_seed=seed,
        num_threads=num_threads, capacity=queue_capacity,
    )  # fmt: skip


def _prepare_inputs_for_rnn(
    sequence_features: dict[str, Any], context_features: dict[str, Any], sequence_feature_columns: object, num_unroll: int
) -> list[Tensor]:
    """The input [batch, columns] of each step; features of sequences are repeated behind those of steps, by their names."""
    for feature in sequence_features.values():
        if isinstance(feature, SparseTensor):
            feature.dense_shape.set_shape([3])
    steps = sequence_input_from_feature_columns(
        columns_to_tensors=sequence_features, feature_columns=sequence_feature_columns, weight_collections=None, scope=None
    )
    steps.set_shape([None, num_unroll, None])
    if context_features:
        repeated = [
            squeeze(tile(expand_dims(context_features[name], 1), [1, num_unroll, 1]), axis=2)
            for name in sorted(context_features)
        ]
        steps = concat([steps, stack(repeated, 2)], axis=2)
    return unstack(steps, axis=1)


def _get_rnn_model_fn(
    cell_type: Any, target_column: Any, problem_type: int, optimizer: object, num_unroll: int, num_units: Any,
    num_threads: int, queue_capacity: int, batch_size: int, sequence_feature_columns: Any,
    context_feature_columns: Any = None, predict_probabilities: bool = False, learning_rate: object = None,
    gradient_clipping_norm: float | None = None, dropout_keep_probabilities: Any = None,
    name: str = "StateSavingRNNModel", seed: int | None = None,
) -> Callable:  # fmt: skip
    rnn_common.check_problem(problem_type, predict_probabilities)
    if num_unroll <= 0:
        raise ValueError(f"num_unroll must be positive; got {num_unroll}.")

    def _rnn_model_fn(features: dict[str, Any], labels: Any, mode: str) -> ModelFnOps:
        with name_scope(name):
            dropout = dropout_keep_probabilities if mode == ModeKeys.TRAIN else None
            cell = rnn_common.construct_rnn_cell(num_units, cell_type, dropout)
            batch = _read_batch(
                cell, features, labels, mode, num_unroll, batch_size, sequence_feature_columns, context_feature_columns,
                num_threads, queue_capacity, seed,
            )  # fmt: skip
            sequences = batch.sequences
            if mode != ModeKeys.INFER:
                labels = sequences.pop(RNNKeys.LABELS_KEY)
            inputs = _prepare_inputs_for_rnn(sequences, batch.context, sequence_feature_columns, num_unroll)
            activations, final_state = construct_state_saving_rnn(
                cell, inputs, target_column.num_label_columns, state_saver=batch, state_name=_get_state_names(cell)
            )
            predictions = rnn_common.multi_value_predictions(
                activations, target_column, problem_type, predict_probabilities
            )
            loss = metrics = train_op = None
            if mode != ModeKeys.INFER:
                loss = _multi_value_loss(activations, labels, batch.length, target_column, features)
                metrics = rnn_common.get_eval_metric_ops(
                    problem_type, PredictionType.MULTIPLE_VALUE, batch.length, predictions, labels
                )
            predictions.update(state_tuple_to_dict(final_state))
            if mode == ModeKeys.TRAIN:
                train_op = optimize_loss(
                    loss=loss, global_step=None, learning_rate=learning_rate, optimizer=optimizer,
                    clip_gradients=gradient_clipping_norm, summaries=OPTIMIZER_SUMMARIES,
                )  # fmt: skip
        return ModelFnOps(mode=mode, predictions=predictions, loss=loss, train_op=train_op, eval_metric_ops=metrics)

    return _rnn_model_fn


class StateSavingRnnEstimator(Estimator):
    """A recurrent network that predicts a value of each step, trained on segments of long sequences.

    Args:
      problem_type: ProblemType.CLASSIFICATION or LINEAR_REGRESSION.
      num_unroll: steps of a segment.
      batch_size: segments of a batch.
      sequence_feature_columns: columns that differ from step to step.
      context_feature_columns: columns of a sequence as a whole, or None.
      num_classes: number of classes.
      num_units: the size of the cell, or a list of sizes for cells on top of each other.
      cell_type: "basic_rnn", "lstm", "gru" or a class of cells.
      optimizer_type: a tf.train.Optimizer, or the name of one.
      learning_rate: of the optimizer; a Momentum optimizer has also `momentum`.
      predict_probabilities: whether a classifier gives probabilities too.
      gradient_clipping_norm: largest norm of all gradients.
      dropout_keep_probabilities: the share of inputs kept of each cell, and of the outputs of the last.
      model_dir: folder of the model.
      config: a RunConfig.
      feature_engineering_fn: function of features and labels that gives both, before the model.
      num_threads: threads that put sequences into the queue.
      queue_capacity: sequences in the queue.
      seed: seed of the sequences' keys.

    Raises:
      ValueError: an argument is out of range, or `num_classes` is missing.
    """

    def __init__(
        self, problem_type, num_unroll, batch_size, sequence_feature_columns, context_feature_columns=None,
        num_classes=None, num_units=None, cell_type="basic_rnn", optimizer_type="SGD", learning_rate=0.1,
        predict_probabilities=False, momentum=None, gradient_clipping_norm=5.0, dropout_keep_probabilities=None,
        model_dir=None, config=None, feature_engineering_fn=None, num_threads=3, queue_capacity=1000, seed=None,
    ) -> None:  # fmt: skip
        target_column, kind = rnn_common.target_of(problem_type, num_classes)
        model_fn = _get_rnn_model_fn(
            cell_type=cell_type, target_column=target_column, problem_type=problem_type,
            optimizer=rnn_common.momentum_optimizer(optimizer_type, learning_rate, momentum), num_unroll=num_unroll,
            num_units=num_units, num_threads=num_threads, queue_capacity=queue_capacity, batch_size=batch_size,
            sequence_feature_columns=sequence_feature_columns, context_feature_columns=context_feature_columns,
            predict_probabilities=predict_probabilities, learning_rate=learning_rate,
            gradient_clipping_norm=gradient_clipping_norm, dropout_keep_probabilities=dropout_keep_probabilities,
            name="MultiValueStateSavingRNN" + kind, seed=seed,
        )  # fmt: skip
        super().__init__(
            model_fn=model_fn, model_dir=model_dir, config=config, feature_engineering_fn=feature_engineering_fn
        )
