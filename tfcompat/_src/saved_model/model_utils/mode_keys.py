"""What a graph is built for: training, evaluation or prediction, under the names of Keras and of estimators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.saved_model.model_utils.keras_mode_keys import ModeKeys as KerasModeKeys


@export("estimator.ModeKeys", "compat.v2.estimator.ModeKeys")
class EstimatorModeKeys:
    """The modes of estimators."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


def is_predict(mode: str) -> bool:
    return mode in (KerasModeKeys.PREDICT, EstimatorModeKeys.PREDICT)


def is_eval(mode: str) -> bool:
    return mode in (KerasModeKeys.TEST, EstimatorModeKeys.EVAL)


def is_train(mode: str) -> bool:
    return mode in (KerasModeKeys.TRAIN, EstimatorModeKeys.TRAIN)


def _meaning(mode: str) -> str:
    """The name of Keras for a mode of either kind; ValueError where there is none."""
    for is_mode, name in ((is_train, KerasModeKeys.TRAIN), (is_eval, KerasModeKeys.TEST), (is_predict, KerasModeKeys.PREDICT)):
        if is_mode(mode):
            return name
    raise ValueError(f"Invalid mode key: {mode}.")


class ModeKeyMap(Mapping):
    """An unchangeable dict by mode, whose keys mean the same under either name.

    Args:
      **kwargs: values by mode.

    Raises:
      ValueError: a key is no mode, or two mean the same.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._keys, self._values = list(kwargs), {}
        for key, value in kwargs.items():
            mode = _meaning(key)
            if mode in self._values:
                raise ValueError(f"Error creating ModeKeyMap. Multiple keys/values found for {mode} mode.")
            self._values[mode] = value

    def __getitem__(self, key: str) -> Any:
        return self._values[_meaning(key)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
