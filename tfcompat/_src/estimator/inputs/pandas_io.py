"""tf.estimator.inputs.pandas_input_fn."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.estimator.inputs import feeding_functions
from tfcompat._src.estimator.inputs.feeding_functions import HAS_PANDAS, pd
from tfcompat._src.estimator.inputs.numpy_io import require_shuffle


def _get_unique_target_key(features: Any, target_column_name: str) -> str:
    """A name for a column of labels that no feature has."""
    return f"{target_column_name}_{uuid.uuid4()}" if target_column_name in features else target_column_name


@export("estimator.inputs.pandas_input_fn")
def pandas_input_fn(
    x: Any, y: object = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool | None = None,
    queue_capacity: int | None = 1000, num_threads: int = 1, target_column: str = "target",
) -> Callable[[], Any]:  # fmt: skip
    """An input function that gives batches of a pandas DataFrame.

    Args:
      x: DataFrame of the features, which come as a dict of columns.
      y: Series or DataFrame of the labels with the same index, or None.
      batch_size: size of a batch; the last one may be smaller, where there is an end.
      num_epochs: how often all examples come, None for no end.
      shuffle: whether they come in random order; must be given.
      queue_capacity: how many examples wait in the queue, None for all.
      num_threads: how many threads fill it.
      target_column: name of the labels inside the queue.

    Raises:
      TypeError: pandas is not installed, or `target_column` is no str.
      ValueError: no `shuffle`, a column of `x` is called `target_column`, or the indices differ.
    """
    if not HAS_PANDAS:
        raise TypeError("pandas_input_fn should not be called without pandas installed")
    require_shuffle(shuffle)
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")
    x = x.copy()
    targets = _add_targets(x, y, target_column)
    if queue_capacity is None:
        queue_capacity = 4 * len(x) if shuffle else len(x)
    min_after_dequeue = max(queue_capacity / 4, 1)

    def input_fn() -> Any:
        queue = feeding_functions._enqueue_data(
            x, queue_capacity, shuffle=shuffle, min_after_dequeue=min_after_dequeue, num_threads=num_threads,
            enqueue_size=batch_size, num_epochs=num_epochs,
        )  # fmt: skip
        batch = queue.dequeue_many(batch_size) if num_epochs is None else queue.dequeue_up_to(batch_size)
        features = dict(zip(x.columns, batch[1:]))
        if targets is None:
            return features
        if isinstance(targets, dict):
            return features, {name: features.pop(column) for name, column in targets.items()}
        target = features.pop(targets)
        return features, target

    return input_fn


def _add_targets(x: Any, y: Any, target_column: str) -> Any:
    """Puts labels among the columns of `x`; gives the name of theirs, or a dict of names by column of `y`."""
    if y is None:
        return None
    if target_column in x:
        raise ValueError(
            f"Cannot use name {target_column} for target column: DataFrame already has a column with that name: "
            f"{x.columns}"
        )
    if not np.array_equal(x.index, y.index):
        raise ValueError(f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n")
    if not isinstance(y, pd.DataFrame):
        x[target_column] = y
        return target_column
    targets = {column: _get_unique_target_key(x, column) for column in y}
    x[list(targets.values())] = y
    return targets
