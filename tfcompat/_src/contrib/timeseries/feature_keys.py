"""tf.contrib.timeseries: the names of features, of what models give, and of the signatures of exported models."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.saved_model.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY


class State:
    """Where a model's state is found: as one nested structure, or as tensors of their own whose names begin with a prefix."""

    STATE_TUPLE = "start_tuple"
    STATE_PREFIX = "model_state"


class Times:
    """The times of a series, increasing integers."""

    TIMES = "times"


class Values:
    """The values of a series, floating point numbers for each time."""

    VALUES = "values"


@export("contrib.timeseries.TrainEvalFeatures")
class TrainEvalFeatures(Times, Values):
    """Names of the features for training and evaluation."""


class PredictionFeatures(Times, State):
    """Names of the features for prediction."""


class FilteringFeatures(Times, Values, State):
    """Names of the features for filtering."""


class PredictionResults(Times):
    """Names that a prediction has whatever the model."""


@export("contrib.timeseries.FilteringResults")
class FilteringResults(Times, State):
    """Names of what an evaluation gives that a prediction goes on from."""


class SavedModelLabels:
    """Names of the signatures of exported models."""

    PREDICT = DEFAULT_SERVING_SIGNATURE_DEF_KEY
    FILTER = "filter"
    COLD_START_FILTER = "cold_start_filter"
