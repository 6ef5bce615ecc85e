"""How arrays and iterators are fed to estimators of contrib.learn."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.learn.pandas_io import (
    HAS_PANDAS,
    extract_pandas_data,
    extract_pandas_labels,
    extract_pandas_matrix,
    pd,
)  # fmt: skip
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.platform import logging

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.graph.tensor import Tensor

this_module = export("contrib.learn.io.data_feeder")(sys.modules[__name__])


def _each(fn: Callable, value: object, *others: object) -> Any:
    """`fn` of a value, or of each in a dict (with the same key of the other arguments where these are dicts)."""
    if value is None:
        return None
    if not isinstance(value, dict):
        return fn(value, *others)
    return {
        key: fn(item, *(other.get(key) if isinstance(other, dict) else other for other in others))
        for key, item in value.items()
    }


def _check_batch_size(batch_size: int | None) -> None:
    if batch_size is not None and batch_size <= 0:
        raise ValueError(f"Invalid batch_size {batch_size}.")


def _get_in_out_shape(x_shape: Any, y_shape: object, n_classes: object, batch_size: int | None = None) -> tuple[Any, Any, int]:
    """The shapes of a batch of features and of labels, and the batch size: by default all examples."""
    _check_batch_size(batch_size)
    if batch_size is None:
        batch_size = (next(iter(x_shape.values())) if isinstance(x_shape, dict) else x_shape)[0]

    def output_shape(shape: Any, classes: int | None) -> list[int]:
        inner = list(shape[1:])
        if inner and inner[0] == 1:
            inner = inner[1:]
        return [batch_size, *inner, *([classes] if classes is not None and classes > 1 else [])]

    inputs = _each(lambda shape: [batch_size, *(list(shape[1:]) or [1])], x_shape)
    return inputs, _each(output_shape, y_shape, n_classes), batch_size


def _is_iterator(x: object) -> bool:
    return hasattr(x, "next") or hasattr(x, "__next__")


def setup_train_data_feeder(
    x: object, y: object, n_classes: object, batch_size: int | None = None, shuffle: bool = True, epochs: int | None = None
) -> DataFeeder:
    """The feeder of features and labels.

    Args:
      x, y: array, dict of arrays, DataFrame or iterator of examples; `y` may be None.
      n_classes: number of classes (or a dict) where labels become one-hot; None for labels as they are.
      batch_size: examples in a batch.
      shuffle: whether arrays are shuffled.
      epochs: how often arrays are fed; None for ever.

    Raises:
      ValueError: only `x` is an iterator, or the batch size is not positive.
    """
    x, y = extract_pandas_data(x), extract_pandas_labels(y)
    if _is_iterator(x):
        if y is not None and not _is_iterator(y):
            raise ValueError("Both x and y should be iterators for streaming learning to work.")
        return StreamingDataFeeder(x, y, n_classes, batch_size)
    return DataFeeder(x, y, n_classes, batch_size, shuffle=shuffle, epochs=epochs)


def _batch_data(x: Iterator[Any], batch_size: int | None = None) -> Iterator[Any]:
    """The examples of an iterator in batches, matrices [batch, size] or dicts of them."""
    _check_batch_size(batch_size)
    while chunk := list(itertools.islice(x, batch_size)):
        if isinstance(chunk[0], dict):
            yield {key: np.asmatrix([example[key] for example in chunk]) for key in chunk[0]}
        else:
            yield np.asmatrix(chunk)


def setup_predict_data_feeder(x: Any, batch_size: int | None = None) -> Any:
    """The batches of features, as an iterable; ValueError where the batch size is not positive."""
    x = extract_pandas_data(x)
    if _is_iterator(x):
        return _batch_data(x, batch_size)
    if len(x.shape) == 1:
        x = np.reshape(x, (-1, 1))
    _check_batch_size(batch_size)
    if batch_size is None:
        return [x]
    return [x[i * batch_size : (i + 1) * batch_size] for i in range(math.ceil(len(x) / batch_size))]


@export("contrib.learn.preprocessing.setup_processor_data_feeder")
def setup_processor_data_feeder(x: object) -> Any:
    """The matrix of a DataFrame; other data as they are."""
    return extract_pandas_matrix(x)


def check_array(array: Any, dtype: Any) -> Any:
    """A list or array as an array of a type; other data as they are."""
    return np.asarray(array, dtype=dtype) if isinstance(array, (np.ndarray, list)) else array


def _access(data: Any, iloc: Any) -> Any:
    return data.iloc[iloc] if HAS_PANDAS and isinstance(data, (pd.Series, pd.DataFrame)) else data[iloc]


def _check_dtype(dtype: DTypeLike) -> Any:
    if dtypes.as_dtype(dtype) == dtypes.float64:
        logging.warning("float64 is not supported by many models, consider casting to float32.")
    return dtype


def _first(value: object) -> Any:
    return next(iter(value.values())) if isinstance(value, dict) else value


class DataFeeder:
    """Feeds arrays.

    Args:
      x, y: array or dict of arrays; `y` may be None.
      n_classes: number of classes (or a dict) where labels become one-hot.
      batch_size: examples in a batch.
      shuffle: whether examples are shuffled.
      random_state: a np.random.RandomState that shuffles.
      epochs: how often the examples are fed; None for ever.
    """

    def __init__(
        self, x: Any, y: Any, n_classes: Any, batch_size: int | None = None, shuffle: bool = True,
        random_state: Any = None, epochs: int | None = None,
    ) -> None:  # fmt: skip
        self._x = _each(lambda value: check_array(value, value.dtype), x)
        self._y = _each(lambda value: check_array(value, value.dtype), np.array(y) if isinstance(y, list) else y)
        self.n_classes, self.max_epochs = n_classes, epochs
        if n_classes is not None and not isinstance(y, dict) and y is not None:
            self._y = check_array(y, np.int64 if n_classes > 1 else np.float32)
        shapes = (_each(lambda value: value.shape, data) for data in (self._x, self._y))
        self.input_shape, self.output_shape, self._batch_size = _get_in_out_shape(*shapes, n_classes, batch_size)
        self._input_dtype = _each(lambda value: _check_dtype(value.dtype), self._x)
        self._output_dtype = np.float32 if y is None else _each(lambda value: _check_dtype(value.dtype), self._y)
        if n_classes is not None and isinstance(y, dict):
            self._output_dtype.update({key: np.float32 for key in n_classes if key in self._output_dtype})
        self._shuffle = shuffle
        self.random_state = np.random.RandomState(42) if random_state is None else random_state
        self._length = int(_first(self._x).shape[0])
        self.indices = self._order()
        self.offset = self.epoch = 0
        self._epoch_placeholder: Any = None

    def _order(self) -> np.ndarray:
        return self.random_state.permutation(self._length) if self._shuffle else np.arange(self._length)

    @property
    def x(self) -> Any:
        return self._x

    @property
    def y(self) -> Any:
        return self._y

    @property
    def shuffle(self) -> bool:
        return self._shuffle

    @property
    def input_dtype(self) -> Any:
        return self._input_dtype

    @property
    def output_dtype(self) -> Any:
        return self._output_dtype

    @property
    def batch_size(self) -> int:
        return self._batch_size

    def make_epoch_variable(self) -> Tensor:
        """A placeholder that is fed the number of the epoch."""
        self._epoch_placeholder = placeholder(dtypes.int32, [1], name="epoch")
        return self._epoch_placeholder

    def input_builder(self) -> tuple[Any, Any]:
        """The placeholders of features and labels: an input function."""

        def made(shape: Any, dtype: Any, prefix: str) -> Any:
            if isinstance(shape, dict):
                return {
                    key: placeholder(dtypes.as_dtype(dtype[key]), [None, *size[1:]], name=f"{prefix}_{key}")
                    for key, size in shape.items()
                }
            return None if shape is None else placeholder(dtypes.as_dtype(dtype), [None, *shape[1:]], name=prefix)

        self.set_placeholders(
            made(self.input_shape, self._input_dtype, "input"), made(self.output_shape, self._output_dtype, "output")
        )
        return self._input_placeholder, self._output_placeholder

    def set_placeholders(self, input_placeholder: object, output_placeholder: object) -> None:
        """Says what is fed."""
        self._input_placeholder, self._output_placeholder = input_placeholder, output_placeholder

    def get_feed_params(self) -> dict[str, int]:
        """Where the feeder is."""
        return {"epoch": self.epoch, "offset": self.offset, "batch_size": self._batch_size}

    def get_feed_dict_fn(self) -> Callable:
        """A function that gives the feed_dict of the next batch, and raises StopIteration after the last epoch."""

        def _feed_dict_fn() -> dict[str, Any]:
            if self.max_epochs is not None and self.epoch + 1 > self.max_epochs:
                raise StopIteration
            feed_dict: dict[str, Any] = {}
            if self._epoch_placeholder is not None:
                feed_dict[self._epoch_placeholder.name] = [self.epoch]
            chosen = self.indices[self.offset : min(self._length, self.offset + self._batch_size)]
            feed_dict.update(_fed(self._input_placeholder, _each(_rows, self._x, chosen)))
            self.offset += self._batch_size
            if self.offset >= self._length:
                self.indices, self.offset, self.epoch = self._order(), 0, self.epoch + 1
            if self._output_placeholder is not None:
                labels = _each(_labels, self._y, self.output_shape, self._output_dtype, self.n_classes, chosen)
                feed_dict.update(_fed(self._output_placeholder, labels))
            return feed_dict

        return _feed_dict_fn


def _fed(placeholders: Any, values: Any) -> dict[str, Any]:
    if isinstance(placeholders, dict):
        return {placeholders[key].name: values[key] for key in placeholders}
    return {placeholders.name: values}


def _rows(data: Any, indices: np.ndarray) -> Any:
    rows = _access(data, indices)
    return np.array(rows).reshape((indices.shape[0], 1)) if len(data.shape) == 1 else rows


def _put_label(out: np.ndarray, i: int, label: Any, n_classes: int | None, rank: int) -> None:
    """Writes a label into row i: as it is, or one-hot."""
    if n_classes is None or n_classes <= 1:
        out[i] = label
    elif rank == 2:
        out[i, int(label)] = 1.0
    else:
        for j, value in enumerate(label):
            out[i, j, value] = 1.0


def _labels(data: Any, shape: Any, dtype: Any, n_classes: int | None, indices: np.ndarray) -> np.ndarray:
    out = np.zeros([indices.shape[0], *shape[1:]], dtype=dtype)
    for i, sample in enumerate(indices):
        _put_label(out, i, _access(data, sample), n_classes, len(shape))
    return out


def _element_dtype(element: object) -> Any:
    if isinstance(element, np.ndarray):
        return element.dtype
    if isinstance(element, list):
        return _element_dtype(element[0])
    return _check_dtype(np.dtype(type(element)))


def _element_shape(element: Any) -> list[int]:
    return [1, *(element[0].shape if isinstance(element, list) else element.shape)]


class StreamingDataFeeder(DataFeeder):
    """Feeds the examples of iterators; arguments as DataFeeder."""

    def __init__(self, x: Iterator[Any], y: Iterator[Any] | None, n_classes: Any, batch_size: int | None) -> None:
        first_x = next(x)
        self._x = itertools.chain([first_x], x)
        first_y = None if y is None else next(y)
        self._y = None if y is None else itertools.chain([first_y], y)
        self.n_classes, self.stopped = n_classes, False
        shapes = (_each(_element_shape, first) for first in (first_x, first_y))
        self.input_shape, self.output_shape, self._batch_size = _get_in_out_shape(*shapes, n_classes, batch_size)
        self._input_dtype = _each(lambda value: _check_dtype(value.dtype), first_x)
        if n_classes is not None and not isinstance(first_y, dict) and n_classes > 0:
            self._output_dtype = np.float32
        else:
            self._output_dtype = _each(_element_dtype, first_y)

    def get_feed_params(self) -> dict[str, int]:
        return {"batch_size": self._batch_size}

    def get_feed_dict_fn(self) -> Callable:
        """A function that gives the feed_dict of the next batch, and raises StopIteration after the last example."""
        self.stopped = False

        def _feed_dict_fn() -> dict[str, Any]:
            if self.stopped:
                raise StopIteration
            inputs = list(itertools.islice(self._x, self._batch_size))
            self.stopped = len(inputs) < self._batch_size
            if not inputs:
                raise StopIteration
            feed_dict = _fed(self._input_placeholder, self._batch(inputs, self.input_shape, self._input_dtype, None))
            if self._y is not None:
                outputs = list(itertools.islice(self._y, len(inputs)))
                labels = self._batch(outputs, self.output_shape, self._output_dtype, self.n_classes)
                feed_dict.update(_fed(self._output_placeholder, labels))
            return feed_dict

        return _feed_dict_fn

    def _batch(self, examples: list[Any], shape: Any, dtype: Any, n_classes: Any) -> Any:
        if isinstance(shape, dict):
            classes = n_classes or {}
            return {
                key: _stacked([example[key] for example in examples], shape[key], dtype[key], classes.get(key))
                for key in shape
            }
        return _stacked(examples, shape, dtype, n_classes)


def _stacked(examples: list[Any], shape: Any, dtype: Any, n_classes: int | None) -> np.ndarray:
    out = np.zeros([len(examples), *shape[1:]], dtype=dtype)
    for i, example in enumerate(examples):
        if out.ndim == 1 and isinstance(example, list):
            example = example[0]
        _put_label(out, i, example, n_classes, len(shape))
    return out


class DaskDataFeeder:
    """Feeds dask collections, which is not done here."""

    def __init__(
        self, x: Any, y: Any, n_classes: Any, batch_size: int, shuffle: bool = True, random_state: Any = None,
        epochs: int | None = None,
    ) -> None:  # fmt: skip
        raise NotImplementedError("DaskDataFeeder: give pandas or NumPy data (`x.compute()`)")
