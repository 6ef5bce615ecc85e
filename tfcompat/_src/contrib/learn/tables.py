"""tf.contrib.learn.datasets.base: tables in CSV files, and files that are fetched.

Data: R. A. Fisher, "The use of multiple measurements in taxonomic problems", 1936 (iris); D. Harrison and D. L. Rubinfeld,
"Hedonic prices and the demand for clean air", 1978 (Boston house prices).
"""

from __future__ import annotations

import csv
import os
import pathlib
import random
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.platform import file_io

_DATA = pathlib.Path(__file__).with_name("data")
_TIMED_OUT = 110


@export("contrib.learn.datasets.base.Dataset")
class Dataset(NamedTuple):
    """Features [examples, ...] and targets [examples]."""

    data: Any
    target: Any


@export("contrib.learn.datasets.base.Datasets")
class Datasets(NamedTuple):
    """The three parts of a data set."""

    train: Any
    validation: Any
    test: Any


def _split(row: list[str], target_column: int, features_dtype: Any) -> tuple[str, np.ndarray]:
    target = row.pop(target_column)
    return target, np.asarray(row, dtype=features_dtype)


@export("contrib.learn.datasets.base.load_csv_with_header")
def load_csv_with_header(filename: object, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Dataset:
    """The table of a CSV file whose first line begins with the numbers of examples and of features.

    Args:
      filename: path.
      target_dtype, features_dtype: types of the targets and of the features.
      target_column: the column of the target.
    """
    with file_io.FileIO(str(filename)) as file:
        rows = csv.reader(file)
        examples, features = (int(number) for number in next(rows)[:2])
        data = np.zeros((examples, features), dtype=features_dtype)
        target = np.zeros((examples,), dtype=target_dtype)
        for i, row in enumerate(rows):
            label, data[i] = _split(row, target_column, features_dtype)
            target[i] = np.asarray(label, dtype=target_dtype)
    return Dataset(data=data, target=target)


@export("contrib.learn.datasets.base.load_csv_without_header")
def load_csv_without_header(filename: object, target_dtype: Any, features_dtype: Any, target_column: int = -1) -> Dataset:
    """The table of a CSV file without a header; arguments as load_csv_with_header."""
    with file_io.FileIO(str(filename)) as file:
        rows = [_split(row, target_column, features_dtype) for row in csv.reader(file)]
    return Dataset(data=np.array([data for _, data in rows]), target=np.array([t for t, _ in rows], dtype=target_dtype))


@export("contrib.learn.datasets.base.shrink_csv")
def shrink_csv(filename: str, ratio: int) -> None:
    """Writes each `ratio`-th line of name.csv to name_small.csv."""
    with file_io.FileIO(filename.replace(".", "_small."), "w") as small, file_io.FileIO(filename) as file:
        writer = csv.writer(small)
        for i, row in enumerate(csv.reader(file)):
            if i % ratio == 0:
                writer.writerow(row)


@export("contrib.learn.datasets.load_iris", "contrib.learn.datasets.base.load_iris")
def load_iris(data_path: str | None = None) -> Dataset:
    """150 irises: lengths and widths of sepals and petals [150, 4], and their kind."""
    path = data_path or _DATA / "iris.txt"
    return load_csv_with_header(path, target_dtype=np.int64, features_dtype=np.float64)


@export("contrib.learn.datasets.load_boston", "contrib.learn.datasets.base.load_boston")
def load_boston(data_path: str | None = None) -> Dataset:
    """506 districts of Boston: 13 numbers [506, 13], and the median price of a house."""
    path = data_path or _DATA / "boston_house_prices.txt"
    return load_csv_with_header(path, target_dtype=np.float64, features_dtype=np.float64)


@export("contrib.learn.datasets.base.retry")
def retry(
    initial_delay: float, max_delay: float, factor: float = 2.0, jitter: float = 0.25,
    is_retriable: Callable | None = None,
) -> Callable:  # fmt: skip
    """A decorator that calls a function again where it raises.

    Args:
      initial_delay, max_delay: seconds before the first and the last retry.
      factor: by how much a delay is longer than the one before.
      jitter: the fraction by which a delay differs at random.
      is_retriable: function of an exception: whether to wait and retry; by default always, without waiting.

    Raises:
      ValueError: `factor` is below 1 or `jitter` not.
    """
    if factor < 1:
        raise ValueError(f"factor must be >= 1; was {factor:f}")
    if jitter >= 1:
        raise ValueError(f"jitter must be < 1; was {jitter:f}")

    def delays() -> Iterator[float]:
        delay = initial_delay
        while delay <= max_delay:
            yield delay * random.uniform(1 - jitter, 1 + jitter)
            delay *= factor

    def wrap(fn: Callable) -> Callable:
        def wrapped_fn(*args: Any, **kwargs: Any) -> Any:
            for delay in delays():
                try:
                    return fn(*args, **kwargs)
                except Exception as error:
                    if is_retriable is None:
                        continue
                    if not is_retriable(error):
                        raise
                    time.sleep(delay)
            return fn(*args, **kwargs)

        return wrapped_fn

    return wrap


def _is_retriable(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno == _TIMED_OUT


@export("contrib.learn.datasets.base.urlretrieve_with_retry")
@retry(initial_delay=1.0, max_delay=16.0, is_retriable=_is_retriable)
def urlretrieve_with_retry(url: str, filename: str | None = None) -> Any:
    """urllib's urlretrieve, tried again where it times out."""
    return urllib.request.urlretrieve(url, filename)


@export("contrib.learn.datasets.base.maybe_download")
def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """The path of a file in a folder, fetched from `source_url` where it is not there."""
    file_io.makedirs(work_directory)
    path = os.path.join(work_directory, filename)
    if not file_io.exists(path):
        temporary, _ = urlretrieve_with_retry(source_url)
        file_io.copy(temporary, path)
        print("Successfully downloaded", filename, os.path.getsize(path), "bytes.")
    return path
