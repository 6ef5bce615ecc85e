"""Writes checkpoints of version 2 ("tensor bundles"): `PREFIX.index` and `PREFIX.data-00000-of-00001`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.checkpoint import files, slices, string_tensors, table, variants
from tfcompat._src.checkpoint.bundle_files import HEADER_KEY, VERSION, data_name, index_name
from tfcompat._src.checkpoint.commit import NewFiles, settle
from tfcompat._src.platform import crc32c, file_io, temporary_files
from tfcompat._src.proto import messages


class BundleWriter:
    """Collects tensors and writes them as one checkpoint with one shard.

    Args:
      prefix: the path that the names of the files begin with; its folder is made where it is missing.

    Raises:
      errors.OpError: a file cannot be written.
    """

    def __init__(self, prefix: str) -> None:
        prefix = self._prefix = file_io.local(prefix)
        files.make_folder(prefix)
        settle(prefix)
        self._entries: dict[bytes, Any] = {}
        self._files = NewFiles(prefix)
        self._data = files.PendingFile(data_name(prefix, 0, 1), self._files.number)
        self._files.data.append(self._data)

    def add(self, key: str | bytes, array: np.ndarray, dtype: dtypes.DType) -> None:
        """Adds a tensor.

        Raises:
          errors.InvalidArgumentError: there is one of that name already.
          NotImplementedError: its type is none that tfcompat can save.
        """
        name = key.encode() if isinstance(key, str) else key
        if name in self._entries:
            raise errors.InvalidArgumentError(None, None, f"Adding duplicate key: {name.decode('latin-1')}")
        if not dtype.is_numpy_compatible and dtype != dtypes.variant:
            raise NotImplementedError(f"tfcompat does not save tensors of type {dtype.name} ({name.decode('latin-1')})")
        if dtype == dtypes.string:
            data, crc = string_tensors.encode(array)
        elif dtype == dtypes.variant:
            data, crc = variants.encode(array)
        else:
            data = files.as_bytes_array(array)
            crc = crc32c.value(data)
        entry = messages.BundleEntryProto(
            dtype=dtype.as_datatype_enum, offset=self._data.size, size=len(data), crc32c=crc32c.mask(crc)
        )
        entry.shape.SetInParent()
        for size in array.shape:
            entry.shape.dim.add(size=size)
        self._entries[name] = entry
        self._data.write(data)

    def add_slice(
        self, name: str, shape: tuple[int, ...], part: slices.TensorSlice, array: np.ndarray, dtype: dtypes.DType
    ) -> None:
        """Adds a part of a tensor of the given shape."""
        if part.sizes(shape) == shape:
            self.add(name, array, dtype)
            return
        whole = self._entries.get(name.encode())
        if whole is None:
            whole = self._entries[name.encode()] = messages.BundleEntryProto(dtype=dtype.as_datatype_enum)
            whole.shape.SetInParent()
            for size in shape:
                whole.shape.dim.add(size=size)
        whole.slices.add().CopyFrom(part.to_proto())
        self.add(slices.encode_key(name, part), array, dtype)

    def finish(self) -> None:
        """Writes the index, syncs both files and gives them their names."""
        self._data.finish()
        self._files.commit(_index(self._entries, 1))

    def abandon(self) -> None:
        """Deletes what was written."""
        self._files.abandon()


def _index(entries: dict[bytes, Any], num_shards: int) -> bytes:
    header = messages.BundleHeaderProto(num_shards=num_shards, version=messages.VersionDef(producer=VERSION))
    found = [(key, entry.SerializeToString(deterministic=True)) for key, entry in sorted(entries.items())]
    return table.build([(HEADER_KEY, header.SerializeToString(deterministic=True)), *found])


@contextlib.contextmanager
def writing(prefix: str) -> Iterator[BundleWriter]:
    """A BundleWriter that is finished at the end of the block, or abandoned where the block raises."""
    writer = BundleWriter(prefix)
    try:
        yield writer
        writer.finish()
    except BaseException:
        writer.abandon()
        raise


# ---- shards ----


def merge(prefixes: list[str], destination: str, delete_old_dirs: bool) -> None:
    """Makes one checkpoint of several: their data files are renamed, their indexes become one.

    Args:
      prefixes: the checkpoints to merge, in order of shards.
      destination: prefix of the result.
      delete_old_dirs: whether the folders of the old ones are removed, where they are empty afterwards.

    Raises:
      errors.InvalidArgumentError: two of them hold the same tensor.
      errors.OpError: a file cannot be read or written.
    """
    prefixes, destination = [file_io.local(p) for p in prefixes], file_io.local(destination)
    merged: dict[bytes, Any] = {}
    sources: list[str] = []
    for prefix in prefixes:
        entries, num_shards = _read_index(prefix)
        for key, entry in entries.items():
            entry.shard_id += len(sources)
            known = merged.get(key)
            if known is None:
                merged[key] = entry
            elif entry.slices and known.slices and known.shape == entry.shape and known.dtype == entry.dtype:
                known.slices.extend(entry.slices)
            else:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"Duplicate tensor keyed by {key.decode('latin-1')} encountered, when merging prefix: {prefix}",
                )
        sources += [data_name(prefix, i, num_shards) for i in range(num_shards)]
    for entry in merged.values():
        if entry.slices:
            entry.shard_id = 0
    files.make_folder(destination)
    settle(destination)
    new = NewFiles(destination)
    try:
        for shard, source in enumerate(sources):
            new.data.append(files.MovedFile(source, data_name(destination, shard, len(sources)), new.number))
        new.commit(_index(merged, len(sources)))
    except BaseException:
        new.abandon()
        raise
    _remove_sources(prefixes, sources, delete_old_dirs)


def _read_index(prefix: str) -> tuple[dict[bytes, Any], int]:
    data = file_io.read_file_to_string(index_name(prefix), binary_mode=True)
    try:
        entries = dict(table.Table(data).items())
        header = messages.BundleHeaderProto.FromString(entries.pop(HEADER_KEY))
    except (table.DamagedTable, KeyError) as e:
        raise errors.DataLossError(None, None, f"{index_name(prefix)}: {e}") from None
    return {key: messages.BundleEntryProto.FromString(value) for key, value in entries.items()}, header.num_shards


def _remove_sources(prefixes: list[str], data: list[str], delete_old_dirs: bool) -> None:
    for path in (*map(index_name, prefixes), *data):
        temporary_files.remove(path)
    if delete_old_dirs:
        for folder in sorted({os.path.dirname(p) for p in prefixes}):
            with contextlib.suppress(OSError):  # it holds files of others
                os.rmdir(folder)
