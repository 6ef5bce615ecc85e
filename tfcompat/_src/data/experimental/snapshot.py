"""The transformation `snapshot` of tensorflow.python.data.experimental.ops.snapshot; data/snapshot_ops.py describes the files."""

from __future__ import annotations

from collections.abc import Callable

from tfcompat._src.base import dtypes
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.dataset_classes import UnaryUnchangedStructureDataset
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor

COMPRESSION_GZIP = "GZIP"
COMPRESSION_NONE = None


def _or_default(value: int | None) -> int:
    return -1 if value is None else value


class _SnapshotDataset(UnaryUnchangedStructureDataset):
    """The dataset of `snapshot`."""

    def __init__(
        self, input_dataset: DatasetV2, path: object, compression: str | None = None, reader_path_prefix: str | None = None,
        writer_path_prefix: str | None = None, shard_size_bytes: int | None = None, pending_snapshot_expiry_seconds: int | None = None,
        num_reader_threads: int | None = None, reader_buffer_size: int | None = None, num_writer_threads: int | None = None,
        writer_buffer_size: int | None = None,
    ) -> None:  # fmt: skip
        made = raw.SnapshotDataset(
            input_dataset._variant_tensor, convert_to_tensor(path, dtypes.string, name="path"), compression=compression or "",
            reader_path_prefix=reader_path_prefix or "", writer_path_prefix=writer_path_prefix or "",
            shard_size_bytes=_or_default(shard_size_bytes), pending_snapshot_expiry_seconds=_or_default(pending_snapshot_expiry_seconds),
            num_reader_threads=_or_default(num_reader_threads), reader_buffer_size=_or_default(reader_buffer_size),
            num_writer_threads=_or_default(num_writer_threads), writer_buffer_size=_or_default(writer_buffer_size),
            **input_dataset._flat_structure,
        )  # fmt: skip
        super().__init__(input_dataset, made)


def snapshot(
    path: object, compression: str | None = None, reader_path_prefix: str | None = None, writer_path_prefix: str | None = None,
    shard_size_bytes: int | None = None, pending_snapshot_expiry_seconds: int | None = None, num_reader_threads: int | None = None,
    reader_buffer_size: int | None = None, num_writer_threads: int | None = None, writer_buffer_size: int | None = None,
) -> Callable[[DatasetV2], DatasetV2]:  # fmt: skip
    """For `apply`: writes the elements to files in the first complete iteration, and reads them from there in later ones.

    Args:
      path: folder. compression: None or "GZIP". reader_path_prefix, writer_path_prefix: prepended to the paths of files read or written.
      shard_size_bytes: the largest size of a file; at least 1 MiB, by default 10 GiB.
      pending_snapshot_expiry_seconds: after this time, an incomplete snapshot counts as abandoned and is written again; a day by default.
      num_reader_threads, reader_buffer_size, num_writer_threads, writer_buffer_size: accepted without effect; elements keep their order.
    """
    return lambda dataset: _SnapshotDataset(
        dataset, path, compression, reader_path_prefix, writer_path_prefix, shard_size_bytes, pending_snapshot_expiry_seconds,
        num_reader_threads, reader_buffer_size, num_writer_threads, writer_buffer_size,
    )  # fmt: skip
