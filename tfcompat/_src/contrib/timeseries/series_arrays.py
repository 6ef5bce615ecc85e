"""Series given as arrays, brought to the shapes that models take."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.contrib.timeseries.feature_keys import TrainEvalFeatures


def _canonicalize_numpy_data(data: dict[str, Any], require_single_batch: bool) -> dict[str, np.ndarray]:
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
        raise ValueError(f"{times_key} and {values_key} are required features.")
    sizes = features[times_key].shape
    for key, value in features.items():
        if value.shape[: len(sizes)] != sizes:
            raise ValueError(
                "All features must have their shapes prefixed by the shape of the times feature. "
                f"Got shape {value.shape} for feature '{key}', but shape {sizes} for '{times_key}'"
            )
    if len(sizes) > 2:
        raise ValueError(
            "Got an unexpected number of dimensions for times. Was expecting at most two ([batch size, series length]), "
            f"but got shape {sizes}."
        )
    if len(sizes) < 2:
        features[values_key] = _with_feature_dimension(features[values_key], len(sizes))
        features = {key: value.reshape((1,) * (2 - len(sizes)) + value.shape) for key, value in features.items()}
    if require_single_batch and features[times_key].shape[0] != 1:
        raise ValueError("Got batch input, was expecting unbatched input.")
    return features


def _with_feature_dimension(values: np.ndarray, dimensions_of_times: int) -> np.ndarray:
    if values.ndim == dimensions_of_times:
        return values[..., None]
    if values.ndim > dimensions_of_times + 1:
        wanted, lacks = (
            ("1 dimension ([number of features])", "batch or time"),
            ("2 dimensions ([series length, number of features])", "batch"),
        )[dimensions_of_times]
        raise ValueError(
            f"Got an unexpected number of dimensions for the '{TrainEvalFeatures.VALUES}' feature. Was expecting at most {wanted} "
            f"since '{TrainEvalFeatures.TIMES}' does not have a {lacks} dimension, but got shape {values.shape}"
        )
    return values
