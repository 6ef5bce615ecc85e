"""tf.estimator.inputs.numpy_input_fn."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.estimator.inputs import feeding_functions

_TARGET_KEY = "__target_key__"
_DIRECT_KEY = "__direct_np_input__"


def _get_unique_target_key(features: dict[str, Any]) -> str:
    """A key for labels that no feature has."""
    key = _TARGET_KEY
    while key in features:
        key += "_n"
    return key


def _validate_and_convert_features(x: object) -> collections.OrderedDict[str, Any]:
    """An array or a dict of arrays as an OrderedDict, sorted by key.

    Raises:
      ValueError: it is empty. TypeError: it is of another type.
    """
    if isinstance(x, dict):
        if not x:
            raise ValueError("x cannot be an empty dict")
        return collections.OrderedDict(sorted(x.items()))
    if not isinstance(x, np.ndarray):
        raise TypeError(f"x must be a dict or array; got {type(x).__name__}")
    if x.size == 0:
        raise ValueError("x cannot be an empty array")
    return collections.OrderedDict({_DIRECT_KEY: x})


def require_shuffle(shuffle: object) -> None:
    """Raises ValueError where `shuffle` is no bool."""
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for "
            f"training); got {shuffle}"
        )


@export("estimator.inputs.numpy_input_fn")
def numpy_input_fn(
    x: object, y: object = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool | None = None,
    queue_capacity: int = 1000, num_threads: int = 1,
) -> Callable[[], Any]:  # fmt: skip
    """An input function that gives batches of arrays.

    Args:
      x: array or dict of arrays with the same first dimension: the features.
      y: the same for labels, or None.
      batch_size: size of a batch; the last one may be smaller, where there is an end.
      num_epochs: how often all examples come, None for no end.
      shuffle: whether they come in random order; must be given.
      queue_capacity: how many examples wait in the queue.
      num_threads: how many threads fill it.

    Raises:
      ValueError: no `shuffle`; when called, where an array is empty, lengths differ or `x` and `y` share a key.
      TypeError: when called, where `x` is of another type.
    """
    require_shuffle(shuffle)

    def input_fn() -> Any:
        data = _validate_and_convert_features(x)
        feature_keys = list(data)
        target_keys = _add_targets(data, y)
        _require_one_length(data, feature_keys, target_keys, y)
        queue = feeding_functions._enqueue_data(
            data,
            queue_capacity,
            shuffle=shuffle,
            num_threads=num_threads,
            enqueue_size=batch_size,
            num_epochs=num_epochs,
        )
        batch = queue.dequeue_many(batch_size) if num_epochs is None else queue.dequeue_up_to(batch_size)
        columns = batch[1:]
        features = columns[0] if isinstance(x, np.ndarray) else dict(zip(feature_keys, columns))
        if target_keys is None:
            return features
        if isinstance(target_keys, str):
            return features, columns[-1]
        return features, dict(zip(target_keys, columns[-len(target_keys) :]))

    return input_fn


def _add_targets(data: dict[str, Any], y: object) -> str | list[str] | None:
    """Puts labels among the features; gives their keys, or that of a single array."""
    if y is None:
        return None
    if not isinstance(y, dict):
        key = _get_unique_target_key(data)
        data[key] = y
        return key
    if not y:
        raise ValueError("y cannot be empty dict, use None instead.")
    duplicates = set(data) & set(y)
    if duplicates:
        raise ValueError(f"{len(duplicates)} duplicate keys are found in both x and y: {duplicates}")
    keys = sorted(y)
    data.update((key, y[key]) for key in keys)
    return keys


def _require_one_length(data: dict[str, Any], feature_keys: list[str], target_keys: object, y: object) -> None:
    if len({column.shape[0] for column in data.values()}) == 1:
        return
    shapes = {key: data[key].shape for key in feature_keys}
    shape_of_y = (
        {key: data[key].shape for key in target_keys} if isinstance(target_keys, list) else getattr(y, "shape", None)
    )
    raise ValueError(
        "Length of tensors in x and y is mismatched. All elements in x and y must have the same length.\n"
        f"Shapes in x: {shapes}\nShapes in y: {shape_of_y}\n"
    )
