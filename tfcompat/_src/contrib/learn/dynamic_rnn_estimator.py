"""tf.contrib.learn.DynamicRnnEstimator: a recurrent network over whole sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.contrib.layers.core import fully_connected
from tfcompat._src.contrib.layers.feature_column_ops import (
    input_from_feature_columns,
    sequence_input_from_feature_columns,
    transform_features,
)  # fmt: skip
from tfcompat._src.contrib.layers.optimizers import OPTIMIZER_SUMMARIES, optimize_loss
from tfcompat._src.contrib.learn import rnn_common
from tfcompat._src.contrib.learn.estimator import Estimator
from tfcompat._src.contrib.learn.keys import PredictionKey
from tfcompat._src.contrib.learn.model_fn import ModeKeys, ModelFnOps
from tfcompat._src.contrib.learn.rnn_common import PredictionType, RNNKeys, state_name, state_tuple_to_dict
from tfcompat._src.contrib.learn.rnn_common import multi_value_loss as _multi_value_loss
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.shape import expand_dims, shape
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_type
from tfcompat._src.ops.composed.rank_checks import assert_rank
from tfcompat._src.ops.math.reduce import argmax
from tfcompat._src.rnn.dynamic import dynamic_rnn

_get_state_name = state_name


def dict_to_state_tuple(input_dict: dict[str, Any], cell: Any) -> Any:
    """The state of a cell from its parts among features, or None where none is there.

    Raises:
      ValueError: some parts are there and some not.
    """
    sizes = nest.flatten(cell.state_size)
    with name_scope("dict_to_state_tuple"):
        parts = []
        for i, size in enumerate(sizes):
            part = input_dict.get(state_name(i))
            if part is None:
                continue
            checks = [
                assert_rank(part, 2, name=f"check_state_{i}_rank"),
                assert_equal(shape(part)[1], size, name=f"check_state_{i}_shape"),
            ]
            with control_dependencies(checks):
                parts.append(identity(part, name=state_name(i)))
        if not parts:
            return None
        if len(parts) != len(sizes):
            raise ValueError(
                f"RNN state was partially specified. Expected zero or {len(sizes)} state Tensors; got {len(parts)}"
            )
        return nest.pack_sequence_as(cell.zero_state(batch_size=1, dtype=dtypes.bool), parts)


def _concatenate_context_input(sequence_input: Tensor, context_input: Tensor) -> Tensor:
    """[batch, time, columns of both] of sequences [batch, time, columns] and their contexts [batch, columns]."""
    checks = []
    for name, value, rank in (("sequence_input", sequence_input, 3), ("context_input", context_input, 2)):
        checks.append(assert_rank(value, rank, message=f"{name} must have rank {rank}", data=[shape(value)]))
        checks.append(
            assert_type(value, dtypes.float32, message=f"{name} must have dtype float32; got {value.dtype}.")
        )
    with control_dependencies(checks):
        times = concat([[1], [shape(sequence_input)[1]], [1]], 0)
        tiled = tile(expand_dims(context_input, 1), times)
    return concat([sequence_input, tiled], 2)


def build_sequence_input(
    features: dict[Any, Any], sequence_feature_columns: Any, context_feature_columns: Any, weight_collections: object = None,
    scope: object = None,
) -> Tensor:  # fmt: skip
    """The input of the cells, [batch, time, columns].

    Args:
      features: dict of tensors.
      sequence_feature_columns: columns that differ from step to step.
      context_feature_columns: columns of a sequence as a whole, or None; they are repeated for each step.
      weight_collections: further collections of the variables.
      scope: variable scope.
    """
    columns = [*sequence_feature_columns, *(context_feature_columns or ())]
    features = {**features, **transform_features(features, columns)}
    settings = {"columns_to_tensors": features, "weight_collections": weight_collections, "scope": scope}
    steps = sequence_input_from_feature_columns(feature_columns=sequence_feature_columns, **settings)
    if context_feature_columns is None:
        return steps
    context = input_from_feature_columns(feature_columns=context_feature_columns, **settings)
    return _concatenate_context_input(steps, context)


def construct_rnn(
    initial_state: object, sequence_input: Tensor, cell: object, num_label_columns: int, dtype: object = dtypes.float32,
    parallel_iterations: int | None = 32, swap_memory: bool = True,
) -> tuple[Tensor, Any]:  # fmt: skip
    """Runs the cells, and a linear layer on each output.

    Args:
      initial_state: state of the cell, or None.
      sequence_input: [batch, time, columns].
      cell: an RNNCell.
      num_label_columns: number of outputs of a step.
      dtype, parallel_iterations, swap_memory: as of tf.nn.dynamic_rnn.

    Returns:
      (Tensor [batch, time, num_label_columns], the last state).
    """
    with name_scope("RNN"):
        outputs, final_state = dynamic_rnn(
            cell=cell, inputs=sequence_input, initial_state=initial_state, dtype=dtype,
            parallel_iterations=parallel_iterations, swap_memory=swap_memory, time_major=False,
        )  # fmt: skip
        activations = fully_connected(
            inputs=outputs, num_outputs=num_label_columns, activation_fn=None, trainable=True
        )
        return activations, final_state


def _single_value_predictions(
    activations: Tensor, sequence_length: object, target_column: Any, problem_type: int, predict_probabilities: bool
) -> dict[str, Tensor]:
    """A prediction for each sequence: classes or scores [batch], and where asked for probabilities [batch, classes]."""
    with name_scope("SingleValuePrediction"):
        last = rnn_common.select_last_activations(activations, sequence_length)
        name = rnn_common.predictions_name(problem_type)
        if not predict_probabilities:
            return {name: target_column.logits_to_predictions(last, proba=False)}
        probabilities = target_column.logits_to_predictions(last, proba=True)
        return {PredictionKey.PROBABILITIES: probabilities, name: argmax(probabilities, 1)}


def _single_value_loss(
    activations: Tensor, labels: Tensor, sequence_length: object, target_column: Any, features: dict[str, Any]
) -> Tensor:
    with name_scope("SingleValueLoss"):
        last = rnn_common.select_last_activations(activations, sequence_length)
        return target_column.loss(last, labels, features)


def _get_output_alternatives(
    prediction_type: int, problem_type: int, prediction_dict: dict[str, Any]
) -> dict[str, Any] | None:
    """What an exported model gives: the predictions without the states."""
    if prediction_type == PredictionType.MULTIPLE_VALUE:
        return None
    if prediction_type != PredictionType.SINGLE_VALUE:
        raise ValueError(f"Unrecognized prediction_type: {prediction_type}")
    outputs = {key: value for key, value in prediction_dict.items() if RNNKeys.STATE_PREFIX not in key}
    return {"dynamic_rnn_output": (problem_type, outputs)}


def _get_dynamic_rnn_model_fn(
    cell_type: Any, num_units: Any, target_column: Any, problem_type: int, prediction_type: int, optimizer: object,
    sequence_feature_columns: object, context_feature_columns: object = None, predict_probabilities: bool = False,
    learning_rate: object = None, gradient_clipping_norm: float | None = None, dropout_keep_probabilities: Any = None,
    sequence_length_key: str = RNNKeys.SEQUENCE_LENGTH_KEY, dtype: Any = dtypes.float32,
    parallel_iterations: int | None = None, swap_memory: bool = True, name: str = "DynamicRNNModel",
) -> Callable:  # fmt: skip
    rnn_common.check_problem(problem_type, predict_probabilities)
    if prediction_type not in (PredictionType.SINGLE_VALUE, PredictionType.MULTIPLE_VALUE):
        raise ValueError(
            "prediction_type must be PredictionType.MULTIPLE_VALUEs or PredictionType.SINGLE_VALUE; "
            f"got {prediction_type}"
        )
    each_step = prediction_type == PredictionType.MULTIPLE_VALUE

    def _predictions(activations: Tensor, sequence_length: object) -> dict[str, Any]:
        if each_step:
            return rnn_common.multi_value_predictions(
                activations, target_column, problem_type, predict_probabilities
            )
        return _single_value_predictions(
            activations, sequence_length, target_column, problem_type, predict_probabilities
        )

    def _dynamic_rnn_model_fn(features: dict[Any, Any], labels: Any, mode: str) -> ModelFnOps:
        with name_scope(name):
            sequence_length = features.get(sequence_length_key)
            sequence_input = build_sequence_input(features, sequence_feature_columns, context_feature_columns)
            dropout = dropout_keep_probabilities if mode == ModeKeys.TRAIN else None
            cell = rnn_common.construct_rnn_cell(num_units, cell_type, dropout)
            activations, final_state = construct_rnn(
                dict_to_state_tuple(features, cell), sequence_input, cell, target_column.num_label_columns, dtype=dtype,
                parallel_iterations=parallel_iterations, swap_memory=swap_memory,
            )  # fmt: skip
            predictions, loss, metrics, train_op = _predictions(activations, sequence_length), None, None, None
            if mode != ModeKeys.INFER:
                loss_fn = _multi_value_loss if each_step else _single_value_loss
                loss = loss_fn(activations, labels, sequence_length, target_column, features)
            predictions.update(state_tuple_to_dict(final_state))
            if mode != ModeKeys.INFER:
                metrics = rnn_common.get_eval_metric_ops(
                    problem_type, prediction_type, sequence_length, predictions, labels
                )
            if mode == ModeKeys.TRAIN:
                train_op = optimize_loss(
                    loss=loss, global_step=None, learning_rate=learning_rate, optimizer=optimizer,
                    clip_gradients=gradient_clipping_norm, summaries=OPTIMIZER_SUMMARIES,
                )  # fmt: skip
        return ModelFnOps(
            mode=mode, predictions=predictions, loss=loss, train_op=train_op, eval_metric_ops=metrics,
            output_alternatives=_get_output_alternatives(prediction_type, problem_type, predictions),
        )  # fmt: skip

    return _dynamic_rnn_model_fn


@export("contrib.learn.DynamicRnnEstimator")
class DynamicRnnEstimator(Estimator):
    """A recurrent network that predicts one value of each sequence, or one of each step.

    Args:
      problem_type: ProblemType.CLASSIFICATION or LINEAR_REGRESSION.
      prediction_type: 1 for one value of a sequence, 2 for one of each step.
      sequence_feature_columns: columns that differ from step to step.
      context_feature_columns: columns of a sequence as a whole, or None.
      num_classes: number of classes.
      num_units: the size of the cell, or a list of sizes for cells on top of each other.
      cell_type: "basic_rnn", "lstm", "gru" or a class of cells.
      optimizer: a tf.train.Optimizer, or the name of one.
      learning_rate: of the optimizer; a Momentum optimizer has also `momentum`.
      predict_probabilities: whether a classifier gives probabilities too.
      gradient_clipping_norm: largest norm of all gradients.
      dropout_keep_probabilities: the share of inputs kept of each cell, and of the outputs of the last.
      model_dir: folder of the model.
      feature_engineering_fn: function of features and labels that gives both, before the model.
      config: a RunConfig.

    Raises:
      ValueError: an argument is out of range, or `num_classes` is missing.
    """

    def __init__(
        self, problem_type, prediction_type, sequence_feature_columns, context_feature_columns=None, num_classes=None,
        num_units=None, cell_type="basic_rnn", optimizer="SGD", learning_rate=0.1, predict_probabilities=False,
        momentum=None, gradient_clipping_norm=5.0, dropout_keep_probabilities=None, model_dir=None,
        feature_engineering_fn=None, config=None,
    ) -> None:  # fmt: skip
        names = {
            PredictionType.MULTIPLE_VALUE: "MultiValueDynamicRNN",
            PredictionType.SINGLE_VALUE: "SingleValueDynamicRNN",
        }
        if prediction_type not in names:
            raise ValueError(
                "prediction_type must be one of PredictionType.MULTIPLE_VALUE or PredictionType.SINGLE_VALUE; "
                f"got {prediction_type}"
            )
        target_column, kind = rnn_common.target_of(problem_type, num_classes)
        model_fn = _get_dynamic_rnn_model_fn(
            cell_type=cell_type, num_units=num_units, target_column=target_column, problem_type=problem_type,
            prediction_type=prediction_type, optimizer=rnn_common.momentum_optimizer(optimizer, learning_rate, momentum),
            sequence_feature_columns=sequence_feature_columns, context_feature_columns=context_feature_columns,
            predict_probabilities=predict_probabilities, learning_rate=learning_rate,
            gradient_clipping_norm=gradient_clipping_norm, dropout_keep_probabilities=dropout_keep_probabilities,
            name=names[prediction_type] + kind,
        )  # fmt: skip
        super().__init__(
            model_fn=model_fn, model_dir=model_dir, config=config, feature_engineering_fn=feature_engineering_fn
        )
