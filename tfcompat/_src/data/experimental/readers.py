"""tf.data.experimental: readers of CSV files, databases and tf.Example files, and a writer of TFRecord files.

`make_csv_dataset` and `make_batched_features_dataset` combine a reader with shuffling, repetition, batching and prefetching, in the order
of TensorFlow 1.15.
"""

from __future__ import annotations

import csv
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.data.convert import optional_param_to_tensor
from tfcompat._src.data.dataset import AUTOTUNE, DatasetV2, number
from tfcompat._src.data.dataset_v1 import Dataset, DatasetV1Adapter
from tfcompat._src.data.experimental.parsing import parse_example_dataset
from tfcompat._src.data.experimental.transformations import ignore_errors as ignoring_errors
from tfcompat._src.data.experimental.transformations import parallel_interleave, shuffle_and_repeat
from tfcompat._src.data.iterator import flat_attrs
from tfcompat._src.data.options import Options
from tfcompat._src.data.reader_ops import contents
from tfcompat._src.data.readers import TFRecordDatasetV1
from tfcompat._src.graph import constant_value
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.ops.queues.readers import ReaderBase
from tfcompat._src.platform import file_io

_CSV_TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)
_BUFFER_BYTES = 4 * 1024 * 1024
"""The default read buffer of CsvDataset."""


@export("data.experimental.CsvDataset", "contrib.data.CsvDataset")
class CsvDatasetV1(DatasetV1Adapter):
    """A dataset of the rows of CSV files, as tuples of scalars.

    Args:
      filenames: string tensor.
      record_defaults: list with one entry per column: a dtype if the field is required, or a tensor with the default of a missing field.
      compression_type: "", "ZLIB" or "GZIP". buffer_size: int64, bytes. header: whether the first line of each file is skipped.
      field_delim: str, one character. use_quote_delim: whether double quotes enclose fields. na_value: str that means a missing field.
      select_cols: list of the indices of the columns to read, in increasing order; all by default.
    """

    def __init__(
        self, filenames: object, record_defaults: Any, compression_type: object = None, buffer_size: object = None, header: object = False,
        field_delim: object = ",", use_quote_delim: object = True, na_value: object = "", select_cols: object = None,
    ) -> None:  # fmt: skip
        names = convert_to_tensor(filenames, dtypes.string, name="filenames")
        # An empty default of a dtype marks a required field.
        defaults = [constant([], dtype=d) if isinstance(d, (dtypes.DType, type)) else d for d in record_defaults]
        tensors = [convert_to_tensor(d, name="record_defaults") for d in defaults]
        if any(t.shape.ndims is not None and t.shape.ndims > 1 for t in tensors):
            if executing_eagerly():
                raise errors.InvalidArgumentError(None, None, "Each record default should be at most rank 1.")
            raise ValueError("Shape must be at most rank 1 but is rank 2: each record default is a scalar or a vector.")
        compression = optional_param_to_tensor("compression_type", compression_type, "", dtypes.string)
        size = optional_param_to_tensor("buffer_size", buffer_size, _BUFFER_BYTES)
        settings = (
            number(header, "header", dtypes.bool), number(field_delim, "field_delim", dtypes.string),
            number(use_quote_delim, "use_quote_delim", dtypes.bool), number(na_value, "na_value", dtypes.string),
            optional_param_to_tensor("select_cols", select_cols, []),
        )  # fmt: skip
        spec = tuple(TensorSpec([], d.dtype) for d in tensors)
        made = raw.CSVDataset(names, compression, size, *settings, tensors, output_shapes=[s.shape for s in spec])
        super().__init__(made, spec)


CsvDataset = CsvDatasetV1


@export("data.experimental.SqlDataset", "contrib.data.SqlDataset")
class SqlDatasetV1(DatasetV1Adapter):
    """A dataset of the rows of a database query, as tuples of scalars.

    Args:
      driver_name: "sqlite". data_source_name: path of the database. query: SQL statement. output_types: tuple of the columns' dtypes.
    """

    def __init__(self, driver_name: object, data_source_name: object, query: object, output_types: Any) -> None:
        parts = ((driver_name, "driver_name"), (data_source_name, "data_source_name"), (query, "query"))
        texts = [number(value, name, dtypes.string) for value, name in parts]
        spec = tuple(TensorSpec([], kind) for kind in output_types)
        super().__init__(raw.SqlDataset(*texts, **flat_attrs(spec)), spec)


SqlDataset = SqlDatasetV1


def _shuffled_and_repeated(dataset: DatasetV2, num_epochs: object, shuffle: bool, buffer_size: object, seed: object) -> DatasetV2:
    if num_epochs != 1 and shuffle:
        return dataset.apply(shuffle_and_repeat(buffer_size, num_epochs, seed))
    if shuffle:
        return dataset.shuffle(buffer_size, seed)
    return dataset if num_epochs == 1 else dataset.repeat(num_epochs)


@export("data.experimental.make_batched_features_dataset", "contrib.data.make_batched_features_dataset")
def make_batched_features_dataset_v1(
    file_pattern: object, batch_size: object, features: dict[Any, Any], reader: Any = TFRecordDatasetV1, label_key: str | None = None, reader_args: Any = None,
    num_epochs: object = None, shuffle: bool = True, shuffle_buffer_size: object = 10000, shuffle_seed: object = None, prefetch_buffer_size: object = None,
    reader_num_threads: object = None, parser_num_threads: object = None, sloppy_ordering: bool = False, drop_final_batch: bool = False,
) -> DatasetV2:  # fmt: skip
    """Makes a dataset of batches of parsed tf.Example messages from files.

    Args:
      file_pattern: file names or glob patterns. batch_size: int. features: dict of features, as for `tf.io.parse_example`.
      reader: function or class that makes a dataset of serialized examples from a file name and `reader_args`.
      label_key: name of a feature that elements hold apart: (features, label). num_epochs: int, or None for no end.
      shuffle, shuffle_buffer_size, shuffle_seed: whether and how files and examples are shuffled.
      prefetch_buffer_size: batches computed ahead. reader_num_threads: files read in turn. parser_num_threads: concurrent parsing calls.
      sloppy_ordering: whether examples may come in any order of files. drop_final_batch: whether a smaller last batch is dropped.

    Raises:
      TypeError: `reader` is a tf.ReaderBase. ValueError: `label_key` is not one of `features`.
    """
    # The order of the steps is that of TensorFlow 1.15: names of files, reading, shuffling and repetition, batching, parsing, prefetching.
    threads = 1 if reader_num_threads is None else reader_num_threads
    dataset = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    if isinstance(reader, type) and issubclass(reader, ReaderBase):
        raise TypeError(
            "The `reader` argument must return a `Dataset` object. `tf.ReaderBase` subclasses are not supported. For example, pass "
            "`tf.data.TFRecordDataset` instead of `tf.TFRecordReader`."
        )
    arguments = list(reader_args or ())

    def read(filename: Tensor) -> Any:
        return reader(filename, *arguments)

    if threads == AUTOTUNE:
        options = Options()
        options.experimental_deterministic = not sloppy_ordering
        dataset = dataset.interleave(read, num_parallel_calls=threads).with_options(options)
    else:
        dataset = dataset.apply(parallel_interleave(read, cycle_length=threads, sloppy=sloppy_ordering))
    # A reader of (key, value) pairs: the key is dropped.
    if dataset._flat_types == [dtypes.string, dtypes.string]:
        dataset = dataset.map(lambda _, value: value)
    dataset = _shuffled_and_repeated(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = dataset.apply(parse_example_dataset(features, 2 if parser_num_threads is None else parser_num_threads))
    if label_key:
        if label_key not in features:
            raise ValueError("The `label_key` provided (%r) must be one of the `features` keys." % label_key)
        dataset = dataset.map(lambda x: (x, x.pop(label_key)))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


make_batched_features_dataset = make_batched_features_dataset_v1


def make_tf_record_dataset(
    file_pattern: object, batch_size: object, parser_fn: Callable[..., Any] | None = None, num_epochs: object = None, shuffle: bool = True, shuffle_buffer_size: object = None,
    shuffle_seed: object = None, prefetch_buffer_size: object = None, num_parallel_reads: object = None, num_parallel_parser_calls: object = None,
    drop_final_batch: bool = False,
) -> DatasetV2:  # fmt: skip
    """Makes a dataset of batches of the records of TFRecord files.

    Args:
      parser_fn: maps a record to a structure of tensors whose shapes do not vary; None: elements are the records.
      num_parallel_reads: files read in turn, 24 by default. num_parallel_parser_calls: `batch_size` by default.
      Other arguments: as for `make_batched_features_dataset`.
    """
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    dataset: DatasetV2 = TFRecordDatasetV1(files, num_parallel_reads=24 if num_parallel_reads is None else num_parallel_reads)
    buffered = 10000 if shuffle_buffer_size is None else shuffle_buffer_size
    dataset = _shuffled_and_repeated(dataset, num_epochs, shuffle, buffered, shuffle_seed)
    if parser_fn is not None:
        dataset = dataset.map(parser_fn, batch_size if num_parallel_parser_calls is None else num_parallel_parser_calls)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    size = AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size
    return dataset if size == 0 else dataset.prefetch(size)


# ---- CSV with names ----


def _file_names(file_pattern: object, shuffle: bool) -> list[str]:
    patterns = file_pattern if isinstance(file_pattern, list) else [file_pattern]
    if not patterns:
        raise ValueError("File pattern is empty.")
    names = [name for pattern in patterns for name in file_io.glob(pattern)]
    if not names:
        raise ValueError("No files match %s." % file_pattern)
    return names if shuffle else sorted(names)


def _rows(names: list[str], field_delim: str, use_quote_delim: bool, header: bool, compression: str) -> Any:
    """Yields the rows of files as lists of str; skips the first row of each if `header`."""
    for name in names:
        file = contents(name, compression)
        lines = file.read().decode().splitlines(keepends=True)
        file.close()
        rows = csv.reader(lines, delimiter=field_delim, quoting=csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE)
        if header:
            next(rows)
        yield from rows


def _column_names(names: list[str], field_delim: str, use_quote_delim: bool, compression: str) -> list[str]:
    """Returns the header row, which must be the same in all files."""
    columns = None
    for name in names:
        header = next(_rows([name], field_delim, use_quote_delim, False, compression))
        if columns is not None and header != columns:
            raise ValueError("Files have different column names in the header row.")
        columns = header
    return columns or []


_INT32 = np.iinfo(np.int32)
_INT64 = np.iinfo(np.int64)


def _inferred_type(text: str, na_value: str, before: dtypes.DType | None) -> dtypes.DType | None:
    """Returns the first of int32, int64, float32, float64 and string that can hold a field, and is not before `before` in this list."""
    if text in ("", na_value):
        return before
    candidates = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
    # A column's dtype only ever moves towards string, so that it holds all fields before this one too.
    for kind in candidates[candidates.index(before) if before in candidates else len(candidates) if before else 0 :]:
        if _is_of(text, kind):
            return kind
    return dtypes.string


def _is_of(text: str, kind: dtypes.DType) -> bool:
    try:
        if kind.is_integer:
            limits = _INT32 if kind == dtypes.int32 else _INT64
            return limits.min <= int(text) <= limits.max
        # A finite number beyond float32's range needs float64.
        value = float(text)
        return not (kind == dtypes.float32 and np.isfinite(value) and abs(value) > np.finfo(np.float32).max)
    except ValueError:
        return False


def _inferred_defaults(rows: Any, columns: list[int], total: int, na_value: str, most: int | None) -> list[Tensor]:
    """Returns the default of each column, 0 or "" in the dtype that holds its fields in the first `most` rows (None: all rows)."""
    kinds: list[dtypes.DType | None] = [None] * len(columns)
    for row_index, row in enumerate(rows):
        if most is not None and row_index >= most:
            break
        if len(row) != total:
            raise ValueError("Problem inferring types: CSV row has different number of fields than expected.")
        kinds = [_inferred_type(row[column], na_value, kind) for column, kind in zip(columns, kinds)]
    return [constant([""] if kind in (None, dtypes.string) else [0], dtype=kind or dtypes.string) for kind in kinds]


def _selected(select_columns: list[Any], column_names: list[str]) -> list[int]:
    """Returns the sorted indices of the selected columns; ValueError if one does not exist or is there twice."""
    if all(isinstance(c, int) for c in select_columns):
        indices = list(select_columns)
        if any(c < 0 or c >= len(column_names) for c in indices):
            raise ValueError("Indices in `select_columns` must be in range.")
    elif all(isinstance(c, str) for c in select_columns):
        for name in select_columns:
            if name not in column_names:
                raise ValueError(f"`select_columns` contains {name!r}, which is not a column. The columns are {column_names}.")
        indices = [column_names.index(c) for c in select_columns]
    else:
        raise ValueError("Elements of `select_columns` must all be integers or all be column names.")
    if len(set(indices)) != len(indices):
        raise ValueError("Cannot have duplicate columns in `select_columns`.")
    return sorted(indices)


@export("data.experimental.make_csv_dataset", "contrib.data.make_csv_dataset")
def make_csv_dataset_v1(
    file_pattern: object, batch_size: object, column_names: Any = None, column_defaults: Any = None, label_name: str | None = None,
    select_columns: Any = None, field_delim: str = ",", use_quote_delim: bool = True, na_value: str = "", header: bool = True,
    num_epochs: object = None, shuffle: bool = True, shuffle_buffer_size: object = 10000, shuffle_seed: object = None, prefetch_buffer_size: object = None,
    num_parallel_reads: object = None, sloppy: bool = False, num_rows_for_inference: int | None = 100, compression_type: object = None,
    ignore_errors: bool = False,
) -> DatasetV2:  # fmt: skip
    """Makes a dataset of batches of the rows of CSV files: dicts of columns, or (dict, label) if `label_name` is given.

    Args:
      file_pattern: file names or glob patterns. batch_size: int. column_names: list of str; by default read from the header.
      column_defaults: as `record_defaults` of CsvDataset; by default inferred from the first `num_rows_for_inference` rows.
      select_columns: names or indices of the columns to read. ignore_errors: whether rows that cannot be parsed are skipped.
      Other arguments: as for CsvDataset and `make_batched_features_dataset`.

    Raises:
      ValueError: no file matches, headers differ between files, or a column does not exist or is there twice.
    """
    # Names and types of columns are needed while the graph is built, so headers and first rows are read now.
    names = _file_names(file_pattern, False)
    dataset = Dataset.from_tensor_slices(names)
    if shuffle:
        dataset = dataset.shuffle(len(names), shuffle_seed)
    compression = "" if column_names is not None and column_defaults is not None else _probed_compression(compression_type)
    if column_names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        column_names = _column_names(names, field_delim, use_quote_delim, compression)
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    columns = None if select_columns is None else _selected(select_columns, column_names)
    if column_defaults is not None:
        defaults = [constant([], dtype=d) if d in _CSV_TYPES else d for d in column_defaults]
    else:
        rows = _rows(names, field_delim, use_quote_delim, header, compression)
        wanted = list(range(len(column_names))) if columns is None else columns
        defaults = _inferred_defaults(rows, wanted, len(column_names), na_value, num_rows_for_inference)
    # From here on, names and defaults are those of the selected columns.
    if columns is not None and len(defaults) != len(columns):
        raise ValueError("If specified, column_defaults and select_columns must have same length.")
    if columns is not None:
        column_names = [column_names[i] for i in columns]
    if label_name is not None and label_name not in column_names:
        raise ValueError("`label_name` provided must be one of the columns.")

    def filename_to_dataset(filename: Tensor) -> DatasetV2:
        rows = CsvDatasetV1(
            filename, record_defaults=defaults, field_delim=field_delim, use_quote_delim=use_quote_delim, na_value=na_value,
            select_cols=columns, header=header, compression_type=compression_type,
        )  # fmt: skip
        return rows.apply(ignoring_errors()) if ignore_errors else rows

    def map_fn(*fields: Tensor) -> Any:
        features = OrderedDict(zip(column_names, fields))
        return features if label_name is None else (features, features.pop(label_name))

    if num_parallel_reads == AUTOTUNE:
        dataset = dataset.interleave(filename_to_dataset, num_parallel_calls=AUTOTUNE)
    else:
        dataset = dataset.apply(parallel_interleave(filename_to_dataset, cycle_length=num_parallel_reads or 1, sloppy=sloppy))
    dataset = _shuffled_and_repeated(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(map_fn)
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _probed_compression(compression_type: object) -> str:
    """Returns the compression of files whose columns are inferred; ValueError unless it is known and "" or "GZIP"."""
    value = constant_value.constant_value(compression_type) if isinstance(compression_type, Tensor) else compression_type
    if isinstance(compression_type, Tensor) and value is None:
        raise ValueError("Received unkown compression_type")
    text = "" if value is None else value if isinstance(value, str) else np.asarray(value).item().decode()
    if text not in ("", "GZIP"):
        raise ValueError(f"compression_type ({text}) is not supported{' for probing columns' if text == 'ZLIB' else ''}")
    return text


make_csv_dataset = make_csv_dataset_v1


@export("data.experimental.TFRecordWriter", "contrib.data.TFRecordWriter")
class TFRecordWriter:
    """A writer of a dataset of strings to a TFRecord file.

    Args:
      filename: string scalar. compression_type: "", "ZLIB" or "GZIP".
    """

    def __init__(self, filename: object, compression_type: object = None) -> None:
        self._filename = convert_to_tensor(filename, dtypes.string, name="filename")
        self._compression_type = optional_param_to_tensor("compression_type", compression_type, "", dtypes.string)

    def write(self, dataset: DatasetV2) -> Any:
        """Returns the operation that writes all elements of `dataset` to the file; TypeError if they are not string scalars."""
        if not isinstance(dataset, DatasetV2):
            raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
        if dataset._flat_types != [dtypes.string] or not dataset._flat_shapes[0].is_compatible_with([]):
            raise TypeError("`dataset` must produce scalar `DT_STRING` tensors whereas it produces shape %s and types %s" % (dataset._flat_shapes, dataset._flat_types))
        return raw.DatasetToTFRecord(dataset._variant_tensor, self._filename, self._compression_type)
