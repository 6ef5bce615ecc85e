"""StreamingFilesDataset: files that one task reads for another, as the host of a Cloud TPU cannot read those of the machine that drives it.

The reading task has a one-shot iterator over the files; the consuming task pulls its elements with RemoteCall, batched to save calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.dataset_v1 import (
    DatasetV1Adapter,
    get_legacy_output_shapes,
    get_legacy_output_types,
    make_one_shot_iterator,
)
from tfcompat._src.data.experimental.transformations import parallel_interleave
from tfcompat._src.data.iterator import Iterator
from tfcompat._src.data.readers import TextLineDatasetV1, TFRecordDatasetV1
from tfcompat._src.function.defun import Defun
from tfcompat._src.graph.scopes import device
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw

_READERS: dict[str, Callable[..., DatasetV2]] = {"tfrecord": TFRecordDatasetV1, "textline": TextLineDatasetV1, "text": TextLineDatasetV1}
_READ_BUFFER_BYTES = 8 << 20
_CONCURRENT_CALLS = 4
"""Of the consuming task where the order of elements is free, so that one call travels while another one reads."""


def _reader_of(filetype: object) -> Callable[..., Any]:
    """Returns the function that makes the dataset of a file; raises 1.15's errors for an unknown `filetype`."""
    if isinstance(filetype, str):
        if filetype not in _READERS:
            raise ValueError(f"Unexpected filetype: {filetype}")
        return lambda filename: _READERS[filetype](filename, buffer_size=_READ_BUFFER_BYTES)
    if not callable(filetype):
        raise ValueError("filetype should be a string or a callable")
    return filetype


def StreamingFilesDataset(
    files: str | DatasetV2, filetype: str | Callable[..., Any] | None = None, file_reader_job: str | None = None, worker_job: str | None = None,
    num_epochs: int | None = None, filename_shuffle_buffer_size: int | bool | None = None, num_parallel_reads: int | None = None,
    batch_transfer_size: int | bool | None = None, sloppy: bool | None = None,
) -> DatasetV2:  # fmt: skip
    """Makes a dataset for the tasks of one job of files that task 0 of another job reads.

    Args:
      files: a pattern of file names, or a dataset of them.
      filetype: "tfrecord" (the default), "textline" or "text", or a function that makes the dataset of a file from its name.
      file_reader_job: the job that reads; by default "coordinator". worker_job: the job that uses the elements; by default "worker".
      num_epochs: how often the files are read; by default without end.
      filename_shuffle_buffer_size: of the shuffled names; 0 or False for their own order, by default 4096.
      num_parallel_reads: how many files are read at a time; by default 8.
      batch_transfer_size: how many elements each call brings; 0 or False for single elements, by default 256.
      sloppy: whether elements come in any order, which is faster and the default.

    Raises:
      ValueError: `files` or `filetype` is of another type or unknown, or elements are neither a tensor nor a tuple or list of tensors.
    """
    reader = _reader_of("tfrecord" if filetype is None else filetype)
    sloppy = True if sloppy is None else sloppy
    batch_size = 256 if batch_transfer_size is None else batch_transfer_size
    shuffled = 4096 if filename_shuffle_buffer_size is None else filename_shuffle_buffer_size
    file_reader_job = file_reader_job or "coordinator"
    # Another job than the coordinator's may have several tasks, of which the session chooses one, as in 1.15.
    reading_device = "/job:coordinator/task:0" if file_reader_job == "coordinator" else f"/job:{file_reader_job}"
    with device(reading_device):
        if isinstance(files, str):
            files = DatasetV1Adapter.list_files(files)
        elif not isinstance(files, DatasetV2):
            raise ValueError(f"files was not a string or a dataset: {files}")
        source = files.shuffle(shuffled) if shuffled else files
        source = source.apply(parallel_interleave(reader, num_parallel_reads or 8, sloppy=sloppy)).repeat(num_epochs)
        source = (source.batch(batch_size) if batch_size else source).prefetch(1)
        handle = make_one_shot_iterator(source).string_handle()
    types, shapes = get_legacy_output_types(source), get_legacy_output_shapes(source)
    if not isinstance(types, (dtypes.DType, list, tuple)):
        raise ValueError("source dataset has invalid output types")
    kinds = [types] if isinstance(types, dtypes.DType) else list(types)

    @Defun(dtypes.string)
    def load(name: Tensor) -> Any:
        return Iterator.from_string_handle(name, types, shapes).get_next()

    def pull(_: Tensor) -> Any:
        elements = raw.RemoteCall(f"/job:{file_reader_job}/replica:0/task:0/cpu:0", [handle], Tout=kinds, f=load)
        return elements[0] if len(kinds) == 1 else tuple(elements)

    with device(f"/job:{worker_job or 'worker'}"):
        # Each element of the endless range is one call.
        pulled = DatasetV1Adapter.range(2).repeat().map(pull, _CONCURRENT_CALLS if sloppy else None).prefetch(1)
        return pulled.unbatch().prefetch(1) if batch_size else pulled
