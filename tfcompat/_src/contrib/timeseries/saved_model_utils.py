"""tf.contrib.timeseries.saved_model_utils: filtering and prediction by exported models in a session."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.contrib.timeseries import model_utils
from tfcompat._src.contrib.timeseries.feature_keys import (
    FilteringFeatures,
    FilteringResults,
    PredictionFeatures,
    SavedModelLabels,
)
from tfcompat._src.contrib.timeseries.head import state_to_dictionary
from tfcompat._src.contrib.timeseries.series_arrays import arrays_of_series


def _run(signatures: Any, label: str, session: SessionLike, features: dict[str, Any], continue_from: dict[str, Any] | None) -> dict[str, Any]:
    """What a signature gives for features, and for the state that an evaluation or an exported model has given."""
    signature, graph = signatures.signature_def[label], session.graph
    state = continue_from or {}
    if FilteringResults.STATE_TUPLE in state:
        state = state_to_dictionary(state[FilteringResults.STATE_TUPLE])
    inputs = {key: graph.as_graph_element(info.name) for key, info in signature.inputs.items()}
    outputs = {key: graph.as_graph_element(info.name) for key, info in signature.outputs.items()}
    fed = {key: value for key, value in state.items() if key != FilteringResults.TIMES} | features
    return session.run(outputs, feed_dict={inputs[key]: value for key, value in fed.items()})


@export("contrib.timeseries.saved_model_utils.predict_continuation")
def predict_continuation(
    continue_from: dict[str, Any], signatures: object, session: SessionLike, steps: int | None = None, times: object = None,
    exogenous_features: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Predicts after an evaluation or a filtering.

    Args:
      continue_from: what Estimator.evaluate or one of the filtering functions of this module gives.
      signatures: the MetaGraphDef that tf.saved_model.loader.load gives.
      session: the session into which the model was loaded.
      steps: how many times after the last one are predicted; this or `times`.
      times: integers [batch, window], or [window] for a batch of one, after those of `continue_from`.
      exogenous_features: dict of arrays [batch, window, ...].

    Returns:
      dict of arrays: the predictions [batch, window, ...] and their TIMES.

    Raises:
      ValueError: both or neither of `steps` and `times` are given, or the times do not fit.
    """
    at = model_utils.canonicalize_times_or_steps_from_output(times, steps, continue_from)
    features = {PredictionFeatures.TIMES: at, **(exogenous_features or {})}
    return {**_run(signatures, SavedModelLabels.PREDICT, session, features, continue_from), PredictionFeatures.TIMES: at}


@export("contrib.timeseries.saved_model_utils.cold_start_filter")
def cold_start_filter(signatures: object, session: SessionLike, features: dict[str, Any]) -> dict[str, Any]:
    """Brings the model's start state over the values of series.

    Args:
      signatures: the MetaGraphDef that tf.saved_model.loader.load gives.
      session: the session into which the model was loaded.
      features: dict of TIMES, integers [batch, window], VALUES [batch, window, features] and further features; dimensions of the batch, of the
        time and of the features that are missing are taken as 1.

    Returns:
      dict of the state and the TIMES, from which a prediction or filtering can go on.

    Raises:
      ValueError: times or values are missing, or shapes do not fit.
    """
    return _filter(signatures, SavedModelLabels.COLD_START_FILTER, session, features, None)


@export("contrib.timeseries.saved_model_utils.filter_continuation")
def filter_continuation(continue_from: dict[str, Any], signatures: object, session: SessionLike, features: dict[str, Any]) -> dict[str, Any]:
    """Brings the state of an evaluation or a filtering over the values of series that go on from it.

    Args:
      continue_from: what Estimator.evaluate or one of the filtering functions of this module gives.
      others: as cold_start_filter.

    Returns:
      dict of the state and the TIMES, from which a prediction or filtering can go on.

    Raises:
      ValueError: times or values are missing, or shapes do not fit.
    """
    return _filter(signatures, SavedModelLabels.FILTER, session, features, continue_from)


def _filter(
    signatures: object, label: str, session: SessionLike, features: dict[str, Any], continue_from: dict[str, Any] | None
) -> dict[str, Any]:
    arrays = arrays_of_series(features, require_single_batch=False)
    found = _run(signatures, label, session, arrays, continue_from)
    return {**found, FilteringResults.TIMES: arrays[FilteringFeatures.TIMES]}
