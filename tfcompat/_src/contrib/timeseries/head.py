"""Heads of time series estimators: what a model computes in training, evaluation, prediction and serving."""

from __future__ import annotations

import re
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.timeseries.feature_keys import (
    FilteringFeatures,
    FilteringResults,
    PredictionFeatures,
    PredictionResults,
    SavedModelLabels,
    State,
    TrainEvalFeatures,
)
from tfcompat._src.contrib.timeseries.input_statistics import InputStatisticsFromMiniBatch
from tfcompat._src.contrib.timeseries.model import ModelOutputs, TimeSeriesModel
from tfcompat._src.contrib.timeseries.state_management import PassthroughStateManager
from tfcompat._src.estimator.heads.head import _Head
from tfcompat._src.estimator.heads.keys import MetricKeys, keyed
from tfcompat._src.estimator.model_fn import EstimatorSpec
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.metrics.mean import mean
from tfcompat._src.nodes.sparse_tensor import convert_to_tensor_or_sparse_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.saved_model.model_utils.export_output import PredictOutput
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables.assign import assign
from tfcompat._src.variables.scope import variable_scope
from tfcompat._src.variables.training_util import get_global_step
from tfcompat._src.variables.variable import Variable

_FLAT_STATE = re.compile(rf"^{State.STATE_PREFIX}_(\d+)$")


class _PredictOutputWithoutState(PredictOutput):
    """Outputs of a signature that takes no state."""

    def as_signature_def(self, receiver_tensors: dict[str, Tensor]) -> Any:
        return super().as_signature_def(_without_state(receiver_tensors))


def _without_state(features: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in features.items() if not key.startswith(State.STATE_PREFIX)}


class TimeSeriesRegressionHead(_Head):
    """The head of models that filter and predict.

    Args:
      model: the model.
      state_manager: says where windows begin.
      optimizer: the optimizer.
      input_statistics_generator: makes what the model knows of the series; None for nothing.
      name: name of the head, which ends the key of its summary.
    """

    def __init__(
        self, model: TimeSeriesModel, state_manager: PassthroughStateManager, optimizer: Optimizer,
        input_statistics_generator: InputStatisticsFromMiniBatch | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self.model = model
        self.state_manager = state_manager
        self.optimizer = optimizer
        self.input_statistics_generator = input_statistics_generator
        self._name = name

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def logits_dimension(self) -> int:
        """1, though a model has no logits."""
        return 1

    def create_loss(self, features: dict[str, Any], mode: str, logits: object = None, labels: object = None) -> ModelOutputs:
        """What the model gives for windows, with a summary of the loss.

        Args:
          features: dict of tensors.
          mode: one of tf.estimator.ModeKeys.
          logits, labels: what the interface of heads has and a time series has not.
        """
        outputs = self.state_manager.define_loss(self.model, features, mode)
        scalar(keyed(MetricKeys.LOSS, self._name), outputs.loss)
        return outputs

    def create_estimator_spec(self, features: dict[str, Any], mode: str, labels: object = None) -> EstimatorSpec:
        """The EstimatorSpec of a model; with the tensors of a state among the features, that of an exported one.

        Args:
          features: dict of tensors.
          mode: one of tf.estimator.ModeKeys.
          labels: None or an empty dict.

        Raises:
          ValueError: there are labels, features are missing or their shapes do not fit, or the mode is unknown.
        """
        with name_scope(self._name, "head"):
            if labels is not None and labels != {}:
                raise ValueError(
                    "A time series model received a `labels`: what an input function gives for them has to be None, and "
                    f"'{TrainEvalFeatures.TIMES}' and '{TrainEvalFeatures.VALUES}' are among the features."
                )
            features = {name: self._as_tensor(name, value) for name, value in features.items()}
            statistics = None
            if self.input_statistics_generator is not None:
                statistics = self.input_statistics_generator.initialize_graph(
                    features, update_statistics=mode == EstimatorModeKeys.TRAIN
                )
            self.model.initialize_graph(input_statistics=statistics)
            features, has_flat_state = self._gather_state(features)
            if mode in (EstimatorModeKeys.TRAIN, EstimatorModeKeys.EVAL):
                _check_train_eval_features(features, self.model)
            elif mode == EstimatorModeKeys.PREDICT:
                self._check_predict_features(features)
            else:
                raise ValueError(f"Unknown mode '{mode}': a time series model has TRAIN, EVAL and PREDICT.")
            self.state_manager.initialize_graph(model=self.model, input_statistics=statistics)
            if mode == EstimatorModeKeys.TRAIN:
                return self._train_ops(features)
            if mode == EstimatorModeKeys.EVAL:
                return self._evaluate_ops(features)
            return self._serving_ops(features) if has_flat_state else self._predict_ops(features)

    def _train_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        with variable_scope("model", use_resource=True):
            outputs = self.create_loss(features, EstimatorModeKeys.TRAIN)
        train_op = self.optimizer.minimize(outputs.loss, global_step=get_global_step())
        return EstimatorSpec(loss=outputs.loss, mode=EstimatorModeKeys.TRAIN, train_op=train_op)

    def _evaluate_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        """Evaluation gives, as metrics, the predictions, their times and the state at the end of the last batch."""
        with variable_scope("model", use_resource=True):
            outputs = self.create_loss(features, EstimatorModeKeys.EVAL)
        metrics = {name: _last_value(name, value) for name, value in outputs.predictions.items()}
        metrics[FilteringResults.TIMES] = _last_value(FilteringResults.TIMES, outputs.prediction_times)
        metrics[FilteringResults.STATE_TUPLE] = _last_values(FilteringResults.STATE_TUPLE, outputs.end_state)
        metrics[MetricKeys.LOSS_MEAN] = mean(outputs.loss, name="average_loss")
        return EstimatorSpec(
            loss=outputs.loss, mode=EstimatorModeKeys.EVAL, eval_metric_ops=metrics, predictions=outputs.predictions
        )

    def _predict_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        with variable_scope("model", use_resource=True):
            predictions = self.model.predict(features=features)
        predictions[PredictionResults.TIMES] = features[PredictionFeatures.TIMES]
        return EstimatorSpec(predictions=predictions, mode=EstimatorModeKeys.PREDICT)

    def _serving_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        """An exported model predicts from a state, filters from a state, and filters from the start state."""
        with variable_scope("model", use_resource=True):
            predicted = self.model.predict(features=features)
        with variable_scope("model", reuse=True):
            filtered = self.create_loss(features, EstimatorModeKeys.EVAL)
        with variable_scope("model", reuse=True):
            cold = self.model.define_loss(features=_without_state(features), mode=EstimatorModeKeys.EVAL)
        outputs = {
            SavedModelLabels.PREDICT: PredictOutput(predicted),
            SavedModelLabels.FILTER: PredictOutput(state_to_dictionary(filtered.end_state)),
            SavedModelLabels.COLD_START_FILTER: _PredictOutputWithoutState(state_to_dictionary(cold.end_state)),
        }
        return EstimatorSpec(mode=EstimatorModeKeys.PREDICT, export_outputs=outputs, predictions={})

    def _as_tensor(self, name: str, value: object) -> Any:
        if name == TrainEvalFeatures.TIMES:
            return cast(value, dtypes.int64)
        if name == TrainEvalFeatures.VALUES:
            return cast(value, self.model.dtype)
        return value if name == PredictionFeatures.STATE_TUPLE else convert_to_tensor_or_sparse_tensor(value)

    def _gather_state(self, features: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """The features with the numbered tensors of a state as one structure, and whether there are any."""
        numbered = {int(found[1]): name for name in features if (found := _FLAT_STATE.search(name))}
        if not numbered:
            return features, False
        gathered = {name: value for name, value in features.items() if name not in numbered.values()}
        flat = [features[numbered[number]] for number in sorted(numbered)]
        gathered[State.STATE_TUPLE] = nest.pack_sequence_as(self.model.get_start_state(), flat)
        return gathered, True

    def _check_predict_features(self, features: dict[str, Any]) -> None:
        _require(features, (PredictionFeatures.TIMES, PredictionFeatures.STATE_TUPLE), "prediction")
        _check_windows(features, ignored=(PredictionFeatures.STATE_TUPLE,))


@export("contrib.timeseries.OneShotPredictionHead")
class OneShotPredictionHead(TimeSeriesRegressionHead):
    """A head whose exported model takes the values of a series and gives the predictions after them, with no state between.

    Args: as TimeSeriesRegressionHead.
    """

    def _check_predict_features(self, features: dict[str, Any]) -> None:
        wanted = (PredictionFeatures.TIMES, TrainEvalFeatures.VALUES, PredictionFeatures.STATE_TUPLE)
        _require(features, wanted, "prediction")
        _check_windows(features, ignored=wanted[1:])

    def _evaluate_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        spec = super()._evaluate_ops(features)
        del spec.eval_metric_ops[State.STATE_TUPLE]
        return spec

    def _serving_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        """An exported model filters over the times that have values and predicts for those after them."""
        values = features[FilteringFeatures.VALUES]
        others = {key: value for key, value in features.items() if key not in (FilteringFeatures.VALUES, State.STATE_TUPLE)}
        with variable_scope("model", use_resource=True):
            known = shape(values)[1]
            past = {key: value[:, :known] for key, value in others.items()} | {FilteringFeatures.VALUES: values}
            future = {key: value[:, known:] for key, value in others.items()}
            filtered = self.model.define_loss(features=past, mode=EstimatorModeKeys.EVAL)
        with variable_scope("model", reuse=True):
            predicted = self.model.predict(features={**future, State.STATE_TUPLE: filtered.end_state})
        outputs = {SavedModelLabels.PREDICT: _PredictOutputWithoutState(predicted)}
        return EstimatorSpec(mode=EstimatorModeKeys.PREDICT, export_outputs=outputs, predictions={})


def _require(features: dict[str, Any], names: tuple[str, ...], purpose: str) -> None:
    for name in names:
        if name not in features:
            raise ValueError(f"Expected a '{name}' feature for {purpose}, got {sorted(features)}.")


def _check_train_eval_features(features: dict[str, Any], model: TimeSeriesModel) -> None:
    _require(features, (TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES), "training/evaluation")
    _shape_of_times(features)
    values = features[TrainEvalFeatures.VALUES]
    if not values.shape.is_compatible_with([None, None, model.num_features]):
        raise ValueError(
            f"Expected shape [batch, window, {model.num_features}] for feature '{TrainEvalFeatures.VALUES}' of a model with "
            f"num_features={model.num_features}, got {values.shape}."
        )
    _check_windows(features, ignored=(State.STATE_TUPLE,))


def _shape_of_times(features: dict[str, Any]) -> TensorShape:
    """The shape of the times; a ValueError where it is not [batch, window]."""
    name, times = TrainEvalFeatures.TIMES, features[TrainEvalFeatures.TIMES].shape
    if not times.is_compatible_with([None, None]):
        raise ValueError(f"Expected shape [batch, window] for feature '{name}', got {times}.")
    return times


def _check_windows(features: dict[str, Any], ignored: tuple[str, ...]) -> None:
    """Raises a ValueError where the times are no [batch, window], or another feature does not begin with their dimensions."""
    times = _shape_of_times(features)
    for name, value in features.items():
        found = None if name in ignored else value.shape
        if found is None or found.ndims is None:
            continue
        if found.ndims < 2:
            raise ValueError(f"Features must have shape [batch, window, ...], got {found} for feature '{name}'.")
        if not found[:2].is_compatible_with(times):
            raise ValueError(
                f"Features must have shape [batch, window, ...] with the batch and window of '{TrainEvalFeatures.TIMES}', which has "
                f"{times}: got {found} for feature '{name}'."
            )


def _last_value(name: str, tensor: Tensor) -> tuple[Tensor, Any]:
    """A metric that is the tensor of the last batch."""
    variable = Variable(
        zeros([], dtype=tensor.dtype), name=f"{name}_identity_metric", collections=[GraphKeys.LOCAL_VARIABLES],
        validate_shape=False,
    )  # fmt: skip
    update = assign(variable, tensor, validate_shape=False)
    # Batches differ in size; the shape says what is known of all of them.
    variable.set_shape(tensor.shape)
    return variable.value(), update


def _last_values(name: str, tensors: object) -> tuple[Any, Any]:
    """A metric that is the structure of tensors of the last batch."""
    metrics = [_last_value(f"{name}_{number}", tensor) for number, tensor in enumerate(nest.flatten(tensors))]
    return nest.pack_sequence_as(tensors, [value for value, _ in metrics]), group(*(update for _, update in metrics))


def state_to_dictionary(state_tuple: object) -> dict[str, Any]:
    """A state as a dict of its parts under numbered names.

    Args:
      state_tuple: nested structure of tensors or arrays.
    """
    return {f"{State.STATE_PREFIX}_{number:02d}": part for number, part in enumerate(nest.flatten(state_tuple))}
