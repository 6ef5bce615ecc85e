"""The base of models that go through a series time by time, each step with a prediction and a correction."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.contrib.timeseries.feature_keys import PredictionFeatures, TrainEvalFeatures
from tfcompat._src.contrib.timeseries.model import ModelOutputs, TimeSeriesModel, exogenous_features
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import rank, shape
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import less
from tfcompat._src.ops.math.reduce import reduce_prod, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.variables.functional import map_fn
from tfcompat._src.variables.scope import variable_scope

_LOSS = "loss"


class SequentialTimeSeriesModel(TimeSeriesModel):
    """A model whose state follows the times of a window.

    At each time the state is brought to that time, changed by what is known besides the series, predicted from, and, where the value
    is known, corrected by it.

    Args:
      train_output_names: names of what `_filtering_step` gives besides the loss.
      predict_output_names: names of what `_prediction_step` gives.
      num_features: features of the series.
      normalize_features: whether values are scaled by what is known of the series.
      dtype: floating point dtype that the model computes in.
      exogenous_feature_columns: feature columns of what is known besides the series.
      exogenous_update_condition: function of `times`, integers [batch], and `features`, dict of Tensors [batch, ...], that gives bool
        [batch]: where it is false the features do not change the state.
      static_unrolling_window_size_threshold: windows known to be no longer have nodes for every time instead of a loop.
    """

    def __init__(
        self, train_output_names, predict_output_names, num_features, normalize_features=False, dtype=dtypes.float32,
        exogenous_feature_columns=None, exogenous_update_condition=None, static_unrolling_window_size_threshold=None,
    ) -> None:  # fmt: skip
        super().__init__(num_features, exogenous_feature_columns, dtype)
        self._exogenous_update_condition = exogenous_update_condition
        self._train_output_names = train_output_names
        self._predict_output_names = predict_output_names
        self._normalize_features = normalize_features
        self._static_unrolling_window_size_threshold = static_unrolling_window_size_threshold

    def _scale_back_predictions(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """Predictions in the scale of the series."""
        raise NotImplementedError(
            f"{type(self).__name__} was made with normalize_features=True: define _scale_back_predictions, "
            "which brings predictions back to the scale of the input."
        )

    @abc.abstractmethod
    def _filtering_step(self, current_times: Tensor, current_values: Tensor, state: Any, predictions: dict) -> tuple[Any, dict]:
        """The state corrected by values, and the outputs.

        Args:
          current_times: integers [batch].
          current_values: [batch, features].
          state: the state, at the current times.
          predictions: what `_prediction_step` gave.

        Returns:
          The state, and a dict with "loss" [batch] and the outputs of training [batch, ...].
        """

    @abc.abstractmethod
    def _prediction_step(self, current_times: Tensor, state: Any) -> tuple[Any, dict]:
        """The state, and a dict of predictions [batch, ...] for `current_times`, integers [batch]."""

    @abc.abstractmethod
    def _imputation_step(self, current_times: Tensor, state: Any) -> Any:
        """The state brought to `current_times`, integers [batch], over times without values."""

    @abc.abstractmethod
    def _exogenous_input_step(self, current_times: Tensor, current_exogenous_regressors: Tensor, state: Any) -> Any:
        """The state changed by what is known besides the series, [batch, size of what the columns make]."""

    def _loss_additions(self, times: Tensor, values: Tensor, mode: str) -> Any:
        """What is added to the mean loss of windows, such as a regularization."""
        return 0.0

    def _window_initializer(self, times: Tensor, state: Any) -> None:
        """Prepares for windows of `times`, integers [batch, window], that begin in `state`."""

    def get_batch_loss(self, features: dict[str, Any], mode: str, state: object) -> ModelOutputs:
        """The loss of windows that begin in `state`, whose tensors are [batch, ...]."""
        loss, states, outputs = self.per_step_batch_loss(features, mode, state)
        outputs["observed"] = features[TrainEvalFeatures.VALUES]
        return ModelOutputs(
            loss=loss,
            end_state=nest.map_structure(lambda tensor: tensor[:, -1], states),
            predictions=outputs,
            prediction_times=features[TrainEvalFeatures.TIMES],
        )

    def per_step_batch_loss(self, features: dict[str, Any], mode: str, state: object) -> tuple[Tensor, Any, dict[str, Tensor]]:
        """The mean loss of a time, the states after each time, and the outputs.

        Args:
          features: dict with TIMES, integers [batch, window], VALUES [batch, window, features] and what the columns need.
          mode: one of tf.estimator.ModeKeys.
          state: state before the windows, of tensors [batch, ...].

        Returns:
          The loss, the states as one of tensors [batch, window, ...], and a dict of Tensors [batch, window, ...].

        Raises:
          ValueError: `initialize_graph` has not been called.
        """
        self._check_graph_initialized()
        times = cast(features[TrainEvalFeatures.TIMES], dtypes.int64)
        values = cast(features[TrainEvalFeatures.VALUES], self.dtype)
        if self._normalize_features:
            values = self._scale_data(values)
        informed = self._exogenous_update(times, features)

        def filter_step(step: Tensor, current_times: Tensor, state: object) -> tuple[Any, dict]:
            state, predictions = self._prediction_step(current_times, informed(step, current_times, state))
            return self._filtering_step(current_times, values[:, step, :], state, predictions)

        states, outputs = self._state_update_loop(times, state, filter_step, [_LOSS, *self._train_output_names])
        # The window's additions belong to no single time, so the losses of the times are not given.
        losses = outputs.pop(_LOSS)
        losses.set_shape(times.shape)
        loss = reduce_sum(losses) / cast(reduce_prod(shape(times)), self.dtype)
        loss += self._loss_additions(times, values, mode)
        return loss, states, self._scale_back_predictions(outputs) if self._normalize_features else outputs

    def predict(self, features: dict[str, Any]) -> dict[str, Any]:
        """Predictions [batch, window, ...] for TIMES, integers [batch, window], from the STATE_TUPLE on."""
        times = convert_to_tensor(features[PredictionFeatures.TIMES], dtypes.int64)
        informed = self._exogenous_update(times, features)

        def predict_step(step: Tensor, current_times: Tensor, state: object) -> tuple[Any, dict]:
            return self._prediction_step(current_times, informed(step, current_times, state))

        _, predictions = self._state_update_loop(
            times, features[PredictionFeatures.STATE_TUPLE], predict_step, self._predict_output_names
        )
        return self._scale_back_predictions(predictions) if self._normalize_features else predictions

    def _exogenous_update(self, times: Tensor, features: dict[str, Any]) -> Callable[[Tensor, Tensor, Any], Any]:
        """A function of a step, its times [batch] and a state, which gives the state changed by the features of that step."""
        raw = exogenous_features(features)
        embedded = self._process_exogenous_features(times, raw)
        if embedded is None:
            return lambda step, current_times, state: state

        condition = self._exogenous_update_condition
        # The condition may look at strings, which a compiled loop cannot; it knows all it needs before the loop.
        chosen = None if condition is None else _of_all_steps(condition, times, raw)

        def update(step: Tensor, current_times: Tensor, state: object) -> Any:
            changed = self._exogenous_input_step(current_times, embedded[:, step, :], state)
            if chosen is None:
                return changed
            return nest.map_structure(lambda after, before: where(chosen[step], after, before), changed, state)

        return update

    def _unrolls(self, times: Tensor) -> bool:
        threshold, window = self._static_unrolling_window_size_threshold, dimension_value(times.shape[1])
        return threshold is not None and window is not None and window <= threshold

    def _state_update_loop(
        self, times: Tensor, state: object, state_update_fn: Callable, outputs: Sequence[str]
    ) -> tuple[Any, dict[str, Tensor]]:
        """Goes through the times of windows.

        Args:
          times: integers [batch, window].
          state: the state before, of tensors [batch, ...].
          state_update_fn: function of the step, its times [batch] and the state at those, which gives the next state and a dict of
            outputs [batch, ...].
          outputs: the names of the outputs.

        Returns:
          The states after each time, of tensors [batch, window, ...], and a dict of outputs [batch, window, ...].
        """
        times = convert_to_tensor(times, dtype=dtypes.int64)
        self._window_initializer(times, state)
        flat_state = [convert_to_tensor(each) for each in nest.flatten(state)]

        def take_step(step: Tensor, flat: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
            current_times = times[:, step]
            before = self._imputation_step(current_times=current_times, state=nest.pack_sequence_as(state, flat))
            after, found = state_update_fn(step, current_times, before)
            if set(found) != set(outputs):
                raise ValueError(f"A step of {type(self).__name__} gave {sorted(found)} instead of {sorted(outputs)}.")
            flat_after = nest.flatten(after)
            for new, old in zip(flat_after, nest.flatten(before)):
                new.set_shape(old.shape)
            return flat_after, [found[name] for name in outputs]

        collect = _unrolled if self._unrolls(times) else _looped
        states, found = collect(take_step, times, flat_state, [self.dtype] * len(outputs))
        return nest.pack_sequence_as(state, states), dict(zip(outputs, found))


def _of_all_steps(condition: Callable[..., Tensor], times: Tensor, features: dict[str, Tensor]) -> Tensor:
    """What a function of the times and features of one step gives for every step of windows, [window, ...]."""

    def of_step(step: Tensor) -> Tensor:
        return condition(times=times[:, step], features={name: value[:, step] for name, value in features.items()})

    return map_fn(of_step, arange(shape(times)[1]), dtype=dtypes.bool)


def _unrolled(take_step: Callable, times: Tensor, state: list[Tensor], dtypes_of_outputs: list) -> tuple[list, list]:
    """The states and outputs [batch, window, ...] of all steps, each with its own nodes and the variables of the first."""
    states, outputs = [], []
    for number in range(dimension_value(times.shape[1])):
        with variable_scope("state_update_step", reuse=number > 0):
            state, found = take_step(constant(number, dtypes.int32), state)
        states.append(state)
        outputs.append(found)
    return [stack(each, axis=1) for each in zip(*states)], [stack(each, axis=1) for each in zip(*outputs)]


def _looped(take_step: Callable, times: Tensor, state: list[Tensor], dtypes_of_outputs: list) -> tuple[list, list]:
    """The states and outputs [batch, window, ...] of all steps of a loop."""
    window = shape(times)[1]

    def body(step: Tensor, state: list[Tensor], states: list[TensorArray], outputs: list[TensorArray]) -> tuple:
        with variable_scope("state_update_step"):
            state, found = take_step(step, state)
            states = [array.write(step, value) for array, value in zip(states, state)]
            outputs = [array.write(step, value) for array, value in zip(outputs, found)]
        return step + 1, state, states, outputs

    def arrays(of: Iterable[Any]) -> list[TensorArray]:
        return [TensorArray(dtype, size=window) for dtype in of]

    start = [zeros([], dtypes.int32), state, arrays(each.dtype for each in state), arrays(dtypes_of_outputs)]
    _, _, states, outputs = while_loop(lambda step, *_: less(step, window), body, start)
    return [_batch_first(array) for array in states], [_batch_first(array) for array in outputs]


def _batch_first(array: TensorArray) -> Tensor:
    stacked = array.stack()
    return transpose(stacked, concat([[1, 0], arange(2, rank(stacked))], 0))
