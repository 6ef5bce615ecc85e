"""Where the windows of training and evaluation begin: in the model's start state, in a given one, or in a stored one."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.contrib.timeseries.feature_keys import FilteringFeatures, State, TrainEvalFeatures
from tfcompat._src.contrib.timeseries.input_statistics import InputStatistics
from tfcompat._src.contrib.timeseries.model import ModelOutputs, TimeSeriesModel
from tfcompat._src.contrib.timeseries.state_tables import TupleOfTensorsLookup, replicate_state
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import expand_dims, shape
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys

_NO_CHUNK, _DELETED_CHUNK = -1, -2
"""Keys that the table of states keeps for itself."""


class PassthroughStateManager:
    """Begins every window in the model's start state."""

    def __init__(self) -> None:
        self._input_statistics: InputStatistics | None = None
        self._graph_initialized = False

    def initialize_graph(self, model: TimeSeriesModel, input_statistics: InputStatistics | None = None) -> None:
        """Makes what the manager needs in the default graph.

        Args:
          model: the model, whose graph is initialized.
          input_statistics: what is known of the series.
        """
        self._graph_initialized = True
        self._input_statistics = input_statistics

    def define_loss(self, model: TimeSeriesModel, features: dict[str, Any], mode: str) -> ModelOutputs:
        """The loss of windows.

        Args:
          model: the model.
          features: dict with TIMES, integers [batch, window], VALUES [batch, window, features] and what the columns need.
          mode: one of tf.estimator.ModeKeys.

        Raises:
          ValueError: the features have a state.
        """
        if State.STATE_TUPLE in features:
            raise ValueError(f"Every window begins in the model's own start state: leave out the feature '{State.STATE_TUPLE}'.")
        return model.define_loss(features, mode)


class FilteringOnlyStateManager(PassthroughStateManager):
    """Begins windows in the state among the features of an evaluation, or else in the model's start state."""

    def define_loss(self, model: TimeSeriesModel, features: dict[str, Any], mode: str) -> ModelOutputs:
        """The loss of windows; the state is taken out of the features.

        Raises:
          ValueError: the features have a state for training.
        """
        if FilteringFeatures.STATE_TUPLE not in features:
            return self._define_loss_with_saved_state(model, features, mode)
        if mode == EstimatorModeKeys.TRAIN:
            raise ValueError(
                f"Windows of a training begin in states of the model: leave out the feature '{FilteringFeatures.STATE_TUPLE}'."
            )
        start_state = features.pop(FilteringFeatures.STATE_TUPLE)
        return model.get_batch_loss(features=features, mode=mode, state=start_state)

    def _define_loss_with_saved_state(self, model: TimeSeriesModel, features: dict[str, Any], mode: str) -> ModelOutputs:
        return model.define_loss(features, mode)


class ChainingStateManager(FilteringOnlyStateManager):
    """Stores states while windows are gone through, and begins later windows in them.

    The times are cut into chunks; there is a stored state for the beginning of each. Windows of one batch do not see each other's
    states, so the states of the whole series get right after some passes over it.

    Args:
      state_saving_interval: times of a chunk.
      checkpoint_state: whether a Saver saves the stored states.
    """

    def __init__(self, state_saving_interval: int = 20, checkpoint_state: bool = False) -> None:
        super().__init__()
        self._checkpoint_state = checkpoint_state
        self._state_saving_interval = state_saving_interval
        self._start_state: Any = None
        self._cached_states: Any = None

    def initialize_graph(self, model: TimeSeriesModel, input_statistics: InputStatistics | None = None) -> None:
        """Makes the table of states in the default graph."""
        super().initialize_graph(model, input_statistics)
        self._start_state = model.get_start_state()
        self._cached_states = TupleOfTensorsLookup(
            key_dtype=dtypes.int64, default_values=self._start_state, empty_key=_NO_CHUNK, deleted_key=_DELETED_CHUNK,
            name="cached_states", checkpoint=self._checkpoint_state,
        )  # fmt: skip

    def _define_loss_with_saved_state(self, model: TimeSeriesModel, features: dict[str, Any], mode: str) -> ModelOutputs:
        if not self._graph_initialized:
            raise ValueError("A ChainingStateManager has no table of states in the default graph: call its initialize_graph() first.")
        times = features[TrainEvalFeatures.TIMES]
        loss, states, predictions = model.per_step_batch_loss(features, mode, self._stored_states(times[:, 0]))
        with control_dependencies([self._cached_states.insert(self._chunks_after(times), states)]):
            loss = identity(loss)
        return ModelOutputs(
            loss=loss,
            # A prediction goes on from the last window of an evaluation.
            end_state=nest.map_structure(lambda state: expand_dims(state[-1, -1], 0), states),
            predictions={**predictions, "observed": features[TrainEvalFeatures.VALUES]},
            prediction_times=times,
        )

    def _chunk(self, time: Any) -> Any:
        return time // self._state_saving_interval

    def _chunks_after(self, times: Tensor) -> Tensor:
        """The chunks [batch, window] that begin with the state after each time: that of the next time, and never the time's own."""
        next_times = concat([times[:, 1:], times[:, -1:] + 1], 1)
        return maximum(self._chunk(next_times), self._chunk(times) + 1)

    def _stored_states(self, times: Tensor) -> Any:
        """The states in which windows with these first times, integers [batch], begin."""
        chunks = self._chunk(times)
        stored = self._cached_states.lookup(cast(chunks, dtypes.int64))
        start_time = 0 if self._input_statistics is None else self._input_statistics.start_time
        is_first = equal(chunks, self._chunk(start_time))
        start = replicate_state(self._start_state, shape(times)[0])
        return nest.map_structure(lambda first, later: where(is_first, first, later), start, stored)
