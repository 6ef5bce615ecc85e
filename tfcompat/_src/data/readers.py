"""tf.data's datasets of files: TFRecords, text lines and fixed-length records.

Each maps a dataset of file names to the datasets of single files, and concatenates or interleaves these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.data import reader_ops  # noqa: F401  (the ops)
from tfcompat._src.data.convert import optional_param_to_tensor
from tfcompat._src.data.dataset import DatasetV2, number
from tfcompat._src.data.dataset_v1 import DatasetV1Adapter
from tfcompat._src.data.iterator import flat_attrs
from tfcompat._src.data.structured_function import StructuredFunctionWrapper
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.ops.array.shape import reshape

_BUFFER_BYTES = 256 * 1024
"""The default read buffer."""
_STRING = TensorSpec([], dtypes.string)


def filenames_dataset(filenames: object) -> DatasetV2:
    """Returns file names as a dataset of string scalars; TypeError if `filenames` is a dataset of something else.

    Args:
      filenames: string tensor, or a dataset of string scalars.
    """
    if isinstance(filenames, DatasetV2):
        if filenames._flat_types != [dtypes.string]:
            raise TypeError("`filenames` must be a `tf.data.Dataset` of `tf.string` elements.")
        if not filenames._flat_shapes[0].is_compatible_with([]):
            raise TypeError("`filenames` must be a `tf.data.Dataset` of scalar `tf.string` elements.")
        return filenames
    names = convert_to_tensor(filenames, dtypes.string)
    dataset: DatasetV2 = DatasetV1Adapter.from_tensor_slices(reshape(names, [-1], name="flat_filenames"))
    return dataset


def per_file(filenames: object, num_parallel_reads: object, read_one_file: Callable[..., Any]) -> tuple[Tensor, DatasetV2]:
    """Returns the dataset of the elements of all files, as a variant tensor, and the dataset of the file names.

    Args:
      num_parallel_reads: files that are read in turn; None: one after the other. read_one_file: maps a file name to a dataset.
    """
    files = filenames_dataset(filenames)
    if num_parallel_reads is None:
        return files.flat_map(read_one_file)._variant_tensor, files
    if num_parallel_reads == -1:
        return files.interleave(read_one_file, num_parallel_calls=-1)._variant_tensor, files
    return parallel_interleaved(files, read_one_file, num_parallel_reads, 1, False, None, None, "Dataset.flat_map()")._variant_tensor, files


def parallel_interleaved(
    dataset: DatasetV2, map_func: Callable[..., Any], cycle_length: object, block_length: object, sloppy: object, buffer_output_elements: object,
    prefetch_input_elements: object, transformation_name: str = "tf.data.experimental.parallel_interleave()",
) -> DatasetV2:  # fmt: skip
    """Interleaves the datasets that `map_func` returns, reading them in threads; TypeError if it does not return a dataset.

    The other arguments are those of tf.data.experimental.parallel_interleave.
    """
    function = StructuredFunctionWrapper(map_func, transformation_name, dataset=dataset)
    inner = function.output_structure
    if not hasattr(inner, "_element_spec"):
        raise TypeError(f"`map_func` must return a `Dataset` object. Got {type(inner)}")
    # By default, a dataset buffers two blocks, and twice as many datasets are started as are read in turn.
    cycle, block = number(cycle_length, "cycle_length"), number(block_length, "block_length")
    is_sloppy = number(sloppy, "sloppy", dtypes.bool)
    buffered = optional_param_to_tensor("buffer_output_elements", buffer_output_elements, 2 * block_length if isinstance(block_length, int) else 2)
    prefetched = optional_param_to_tensor("prefetch_input_elements", prefetch_input_elements, 2 * cycle_length if isinstance(cycle_length, int) else 2)
    made = raw.ParallelInterleaveDataset(
        dataset._variant_tensor, function.captured_inputs, cycle, block, is_sloppy, buffered, prefetched, f=function.reference,
        **flat_attrs(inner._element_spec),
    )  # fmt: skip
    return dataset._made(made, inner._element_spec)


class _FileDataset(DatasetV1Adapter):
    """Base of datasets of strings from files; `make(filename)` returns the dataset of one file as a variant tensor."""

    def __init__(self, filenames: object, num_parallel_reads: object, make: Callable[[Any], Tensor]) -> None:
        def read_one_file(filename: Tensor) -> DatasetV2:
            return DatasetV1Adapter(make(filename), _STRING)

        variant_tensor, files = per_file(filenames, num_parallel_reads, read_one_file)
        super().__init__(variant_tensor, _STRING, (files,))


@export("data.TFRecordDataset", "compat.v2.data.TFRecordDataset")
class TFRecordDatasetV1(_FileDataset):
    """A dataset of the records of TFRecord files.

    Args:
      filenames: string tensor, or a dataset of file names.
      compression_type: "", "ZLIB" or "GZIP".
      buffer_size: int64, bytes of the read buffer.
      num_parallel_reads: int64, files that are read in turn; by default one after the other.
    """

    def __init__(self, filenames: object, compression_type: object = None, buffer_size: object = None, num_parallel_reads: object = None) -> None:
        def make(filename: Tensor) -> Tensor:
            compression = optional_param_to_tensor("compression_type", compression_type, "", dtypes.string)
            made: Tensor = raw.TFRecordDataset(filename, compression, optional_param_to_tensor("buffer_size", buffer_size, _BUFFER_BYTES))
            return made

        super().__init__(filenames, num_parallel_reads, make)


@export("data.TextLineDataset", "compat.v2.data.TextLineDataset")
class TextLineDatasetV1(_FileDataset):
    """A dataset of the lines of text files, without their line ends; arguments are those of TFRecordDataset."""

    def __init__(self, filenames: object, compression_type: object = None, buffer_size: object = None, num_parallel_reads: object = None) -> None:
        def make(filename: Tensor) -> Tensor:
            compression = optional_param_to_tensor("compression_type", compression_type, "", dtypes.string)
            made: Tensor = raw.TextLineDataset(filename, compression, optional_param_to_tensor("buffer_size", buffer_size, _BUFFER_BYTES))
            return made

        super().__init__(filenames, num_parallel_reads, make)


@export("data.FixedLengthRecordDataset", "compat.v2.data.FixedLengthRecordDataset")
class FixedLengthRecordDatasetV1(_FileDataset):
    """A dataset of the records of binary files.

    Args:
      record_bytes: int64, the length of a record. header_bytes, footer_bytes: int64, bytes to skip at both ends of a file; 0 by default.
      Other arguments: as for TFRecordDataset.
    """

    def __init__(
        self, filenames: object, record_bytes: object, header_bytes: object = None, footer_bytes: object = None, buffer_size: object = None,
        compression_type: object = None, num_parallel_reads: object = None,
    ) -> None:  # fmt: skip
        def make(filename: Tensor) -> Tensor:
            size = number(record_bytes, "record_bytes")
            header, footer = optional_param_to_tensor("header_bytes", header_bytes, 0), optional_param_to_tensor("footer_bytes", footer_bytes, 0)
            buffered = optional_param_to_tensor("buffer_size", buffer_size, _BUFFER_BYTES)
            compression = optional_param_to_tensor("compression_type", compression_type, "", dtypes.string)
            made: Tensor = raw.FixedLengthRecordDatasetV2(filename, header, size, footer, buffered, compression)
            return made

        super().__init__(filenames, num_parallel_reads, make)


class MatchingFilesDataset(DatasetV1Adapter):
    """A dataset of the names of the files that match patterns (string scalar or vector); a run raises NotFoundError if none does."""

    def __init__(self, patterns: object) -> None:
        super().__init__(raw.MatchingFilesDataset(convert_to_tensor(patterns, dtypes.string, name="patterns")), _STRING)


class _TFRecordDataset(DatasetV1Adapter):
    """A dataset of the records of TFRecord files that is a single node; arguments are those of TFRecordDataset."""

    def __init__(self, filenames: object, compression_type: object = None, buffer_size: object = None) -> None:
        compression = optional_param_to_tensor("compression_type", compression_type, "", dtypes.string)
        super().__init__(raw.TFRecordDataset(filenames, compression, optional_param_to_tensor("buffer_size", buffer_size, _BUFFER_BYTES)), _STRING)


TFRecordDataset, TextLineDataset, FixedLengthRecordDataset = TFRecordDatasetV1, TextLineDatasetV1, FixedLengthRecordDatasetV1
