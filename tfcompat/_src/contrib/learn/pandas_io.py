"""tf.contrib.learn's inputs from pandas and NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.estimator.inputs import numpy_io
from tfcompat._src.estimator.inputs import pandas_io as core
from tfcompat._src.estimator.inputs.feeding_functions import HAS_PANDAS as _HAS_PANDAS
from tfcompat._src.estimator.inputs.feeding_functions import pd

this_module = export("contrib.learn.io.pandas_io")(sys.modules[__name__])

HAS_PANDAS = export("contrib.learn.io.HAS_PANDAS")(_HAS_PANDAS)
_NUMBERS = frozenset((
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bool",
))  # fmt: skip


@export("contrib.learn.io.numpy_input_fn")
def numpy_input_fn(
    x: object, y: object = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool = True,
    queue_capacity: int = 1000, num_threads: int = 1,
) -> Callable:  # fmt: skip
    """tf.estimator.inputs.numpy_input_fn, which shuffles by default."""
    return numpy_io.numpy_input_fn(
        x=x, y=y, batch_size=batch_size, shuffle=shuffle, num_epochs=num_epochs, queue_capacity=queue_capacity,
        num_threads=num_threads,
    )  # fmt: skip


@export("contrib.learn.io.pandas_input_fn")
def pandas_input_fn(
    x: object, y: object = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool = True,
    queue_capacity: int = 1000, num_threads: int = 1, target_column: str = "target",
) -> Callable:  # fmt: skip
    """tf.estimator.inputs.pandas_input_fn, which shuffles by default."""
    return core.pandas_input_fn(
        x=x, y=y, batch_size=batch_size, shuffle=shuffle, num_epochs=num_epochs, queue_capacity=queue_capacity,
        num_threads=num_threads, target_column=target_column,
    )  # fmt: skip


def _is_frame(data: object) -> bool:
    return HAS_PANDAS and isinstance(data, pd.DataFrame)


def _numbers(frame: Any, what: str) -> Any:
    """The values of a DataFrame; ValueError where a column holds no numbers."""
    bad = [f"'{column}' type='{frame[column].dtype.name}'" for column in frame if frame[column].dtype.name not in _NUMBERS]
    if bad:
        raise ValueError(f"Data types for extracting {what} must be int, float, or bool. Found: " + ", ".join(bad))
    return frame.values


@export("contrib.learn.io.extract_pandas_data")
def extract_pandas_data(data: object) -> Any:
    """The values of a DataFrame as floats, other data as they are; ValueError where a column holds no numbers."""
    return _numbers(data, "pandas data").astype("float") if _is_frame(data) else data


@export("contrib.learn.io.extract_pandas_matrix")
def extract_pandas_matrix(data: Any) -> Any:
    """The values of a DataFrame, other data as they are."""
    return data.values if _is_frame(data) else data


@export("contrib.learn.io.extract_pandas_labels")
def extract_pandas_labels(labels: Any) -> Any:
    """The values of a DataFrame with one column, other data as they are; ValueError where it has several or no numbers."""
    if not _is_frame(labels):
        return labels
    if len(labels.columns) > 1:
        raise ValueError("Only one column for labels is allowed.")
    return _numbers(labels, "labels")


HAS_DASK = export("contrib.learn.io.HAS_DASK")(False)


@export("contrib.learn.io.extract_dask_data")
def extract_dask_data(data: object) -> Any:
    """Data that are no dask collection, as they are; NotImplementedError for one that is."""
    if type(data).__module__.startswith("dask"):
        raise NotImplementedError("dask collections: give pandas data (`data.compute()`)")
    return data


@export("contrib.learn.io.extract_dask_labels")
def extract_dask_labels(labels: object) -> Any:
    """Labels that are no dask collection, as they are; NotImplementedError for one that is."""
    return extract_dask_data(labels)
