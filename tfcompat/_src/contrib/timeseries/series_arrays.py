"""Series given as arrays, brought to the shapes that models take."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.contrib.timeseries.feature_keys import TrainEvalFeatures


def arrays_of_series(data: dict[str, Any], require_single_batch: bool) -> dict[str, np.ndarray]:
    """The features of series as arrays with a dimension of the batch and one of the time.

    Args:
      data: dict with TIMES, integers [], [time] or [batch, time], and VALUES and further features whose shapes begin with that of
        the times; the values may lack the dimension of the features where they have only one.
      require_single_batch: whether a batch of more than one series is an error.

    Returns:
      dict with TIMES [batch, time], VALUES [batch, time, features] and the other features [batch, time, ...].

    Raises:
      ValueError: times or values are missing, or shapes do not fit.
    """
    features = {key: np.array(value) for key, value in data.items()}
    times_key, values_key = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES
    if not {times_key, values_key} <= set(features):
        raise ValueError(f"A series needs '{times_key}' and '{values_key}', got {sorted(features)}.")
    sizes = features[times_key].shape
    for key, value in features.items():
        if value.shape[: len(sizes)] != sizes:
            raise ValueError(
                f"The shape of every feature has to begin with that of '{times_key}', {sizes}: got {value.shape} for '{key}'."
            )
    if len(sizes) > 2:
        raise ValueError(f"'{times_key}' have the shape [time] or [batch, time], got {sizes}.")
    if len(sizes) < 2:
        features[values_key] = _with_feature_dimension(features[values_key], len(sizes))
        features = {key: value.reshape((1,) * (2 - len(sizes)) + value.shape) for key, value in features.items()}
    if require_single_batch and features[times_key].shape[0] != 1:
        raise ValueError(f"A reader takes one series, got a batch of {features[times_key].shape[0]}.")
    return features


def _with_feature_dimension(values: np.ndarray, dimensions_of_times: int) -> np.ndarray:
    if values.ndim == dimensions_of_times:
        return values[..., None]
    if values.ndim > dimensions_of_times + 1:
        wanted = ("[] or [features]", "[time] or [time, features]")[dimensions_of_times]
        raise ValueError(
            f"Where '{TrainEvalFeatures.TIMES}' have {dimensions_of_times} dimensions, '{TrainEvalFeatures.VALUES}' have the shape "
            f"{wanted}: got {values.shape}."
        )
    return values
