"""Readers of time series: arrays, CSV files and files of Examples, as dicts of Tensors [records, ...]."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.timeseries.feature_keys import TrainEvalFeatures
from tfcompat._src.contrib.timeseries.series_arrays import arrays_of_series
from tfcompat._src.estimator.inputs.numpy_io import numpy_input_fn
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.shape import reshape, squeeze
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.compare import not_equal
from tfcompat._src.ops.parsing.csv import decode_csv
from tfcompat._src.ops.parsing.functions import parse_example
from tfcompat._src.ops.queues.readers import TextLineReader, TFRecordReader
from tfcompat._src.train.input_producers import string_input_producer
from tfcompat._src.variables.assign import assign, is_variable_initialized
from tfcompat._src.variables.variable import Variable

_RECORDS_AT_ONCE = 4096


class TimeSeriesReader:
    """What a TimeSeriesInputFn takes the records of a series from."""

    def check_dataset_size(self, minimum_dataset_size: int) -> None:
        """Raises a ValueError where the series is known to have fewer records."""

    @abc.abstractmethod
    def read(self) -> dict[str, Any]:
        """Some records that follow each other, as a dict of Tensors [records, ...]; after the last comes the first."""

    @abc.abstractmethod
    def read_full(self) -> dict[str, Any]:
        """All records of the series, as a dict of Tensors [records, ...]."""


@export("contrib.timeseries.NumpyReader")
class NumpyReader(TimeSeriesReader):
    """Reads a series from arrays, which do not become constants of the graph.

    Args:
      data: dict with TIMES, integers [time], VALUES [time] or [time, features], and further features [time, ...].
      read_num_records_hint: how many records are read at once.

    Raises:
      ValueError: times or values are missing, or shapes do not fit.
    """

    def __init__(self, data: dict[str, Any], read_num_records_hint: int = _RECORDS_AT_ONCE) -> None:
        self._features = arrays_of_series(data, require_single_batch=True)
        self._read_num_records_hint = read_num_records_hint

    def check_dataset_size(self, minimum_dataset_size: int) -> None:
        """Raises a ValueError where the series has fewer records."""
        records = self._features[TrainEvalFeatures.TIMES].shape[1]
        if records < minimum_dataset_size:
            raise ValueError(
                f"Windows of {minimum_dataset_size} times are asked of a series of which only {records} records were available: make "
                "the windows shorter or give more records."
            )

    def read(self) -> dict[str, Any]:
        """`read_num_records_hint` records."""
        series = {key: np.squeeze(value, axis=0) for key, value in self._features.items()}
        return numpy_input_fn(series, batch_size=self._read_num_records_hint, num_epochs=None, shuffle=False)()

    def read_full(self) -> dict[str, Any]:
        """The whole series."""
        # Each element of the queue is a copy of the series.
        series = numpy_input_fn(self._features, batch_size=1, num_epochs=None, queue_capacity=2, shuffle=False)()
        return {key: squeeze(value, axis=[0]) for key, value in series.items()}


class ReaderBaseTimeSeriesParser(TimeSeriesReader):
    """Reads a series from the records of files; subclasses say how a file is read and what a record means.

    Args:
      filenames: string, or list of strings.
      read_num_records_hint: how many records are read at once.
    """

    def __init__(self, filenames: Any, read_num_records_hint: int = _RECORDS_AT_ONCE) -> None:
        self._filenames = filenames
        self._read_num_records_hint = read_num_records_hint

    @abc.abstractmethod
    def _get_reader(self) -> Any:
        """The tf.ReaderBase that reads the files."""

    @abc.abstractmethod
    def _process_records(self, lines: Tensor) -> dict[str, Any]:
        """The features, as a dict of Tensors [records, ...], of records, string [records]."""

    def _get_filename_queue(self, epoch_limit: int) -> tuple[Any, Any]:
        """The queue of file names, and the local variable that counts how often all names have been put into it.

        A reader that finds no record in any file would ask for names for ever; from the count `epoch_limit` on the queue ends.
        Who reads sets the variable to zero.
        """
        count = Variable(
            constant(0, dtype=dtypes.int64), trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], name="epoch_limiter"
        )
        names = reshape(convert_to_tensor(self._filenames), [-1])
        # A queue's thread may begin before the local variables have values.
        counted = cond(
            is_variable_initialized(count), lambda: count.count_up_to(epoch_limit), lambda: constant(0, dtype=dtypes.int64)
        )
        with control_dependencies([counted]):
            names = identity(names)
        return string_input_producer(names, shuffle=False, capacity=1), count

    def read(self) -> dict[str, Any]:
        """Up to `read_num_records_hint` records."""
        names, count = self._get_filename_queue(epoch_limit=self._read_num_records_hint)
        reader = self._get_reader()
        with control_dependencies([assign(count, 0)]):
            _, records = reader.read_up_to(names, self._read_num_records_hint)
        return self._process_records(records)

    def read_full(self) -> dict[str, Any]:
        """All records of the files: those read one by one until the first comes again."""
        reader = self._get_reader()
        names, count = self._get_filename_queue(epoch_limit=2)
        with control_dependencies([assign(count, 0)]):
            first_key, first_record = reader.read_up_to(names, 1)

        def read_next(key: Tensor, record: Tensor, index: Tensor, collected: TensorArray) -> tuple:
            next_key, next_record = reader.read_up_to(names, 1)
            next_key.set_shape([1])
            next_record.set_shape([1])
            return next_key, next_record, index + 1, collected.write(index, record)

        *_, collected = while_loop(
            lambda key, *_: not_equal(squeeze(key, axis=[0]), squeeze(first_key, axis=[0])),
            read_next,
            [constant([""]), first_record, 0, TensorArray(dtypes.string, size=0, dynamic_size=True)],
        )
        records = collected.concat()
        # The first record of the next reading has to be the first of the files.
        with control_dependencies([records]):
            reset = reader.reset()
        with control_dependencies([reset]):
            records = identity(records)
        return self._process_records(records)


@export("contrib.timeseries.CSVReader")
class CSVReader(ReaderBaseTimeSeriesParser):
    """Reads a series from CSV files, one record a line.

    Args:
      filenames: string, or list of strings.
      column_names: names of the columns; those with one name together are one feature, [records, columns].
      column_dtypes: dtypes of the columns; by default int64 for the times and float32 for the others.
      skip_header_lines: how many lines at the beginning of a file are no records.
      read_num_records_hint: how many records are read at once.

    Raises:
      ValueError: there is not one column of times, no column of values, or a number of dtypes that is not that of the columns.
    """

    def __init__(
        self, filenames, column_names=(TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES), column_dtypes=None,
        skip_header_lines=None, read_num_records_hint=_RECORDS_AT_ONCE,
    ) -> None:  # fmt: skip
        _require(column_names)
        if column_dtypes is not None and len(column_dtypes) != len(column_names):
            raise ValueError(
                f"There has to be one dtype for each column: got {len(column_dtypes)} column_dtypes, {column_dtypes}, for "
                f"{len(column_names)} column_names, {column_names}."
            )
        if list(column_names).count(TrainEvalFeatures.TIMES) != 1:
            raise ValueError(f"Exactly one column has to be called '{TrainEvalFeatures.TIMES}', got column_names={column_names}.")
        self._column_names = column_names
        self._column_dtypes = column_dtypes
        self._skip_header_lines = skip_header_lines
        super().__init__(filenames, read_num_records_hint)

    def _get_reader(self) -> Any:
        return TextLineReader(skip_header_lines=self._skip_header_lines)

    def _process_records(self, lines: Tensor) -> dict[str, Any]:
        columns: dict[str, list[Tensor]] = {}
        for name, column in zip(self._column_names, decode_csv(lines, self._defaults())):
            columns.setdefault(name, []).append(column)
        return {
            name: found[0] if name == TrainEvalFeatures.TIMES else stack(found, axis=1) for name, found in columns.items()
        }

    def _defaults(self) -> list[Any]:
        """What decode_csv takes for the columns: a zero, which says the dtype too, or nothing for a required float32."""
        if self._column_dtypes is not None:
            return [(zeros([], dtype),) for dtype in self._column_dtypes]
        of_times = (zeros([], dtypes.int64),)
        return [of_times if name == TrainEvalFeatures.TIMES else () for name in self._column_names]


class TFExampleReader(ReaderBaseTimeSeriesParser):
    """Reads a series from TFRecord files of Examples, one record an Example.

    Args:
      filenames: string, or list of strings.
      features: dict of features by name, as tf.parse_example takes it.

    Raises:
      ValueError: no feature of times or of values.
    """

    def __init__(self, filenames: object, features: dict[str, Any]) -> None:
        _require(features)
        self._features = features
        super().__init__(filenames)

    def _get_reader(self) -> Any:
        return TFRecordReader()

    def _process_records(self, examples: Tensor) -> dict[str, Any]:
        return parse_example(examples, self._features)


def _require(names: Any) -> None:
    for name in (TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES):
        if name not in names:
            raise ValueError(f"No column is called '{name}': there are {list(names)}.")
