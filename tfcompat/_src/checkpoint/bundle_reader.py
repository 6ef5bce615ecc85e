"""Reads checkpoints of version 2."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import dtypes, errors
from tfcompat._src.checkpoint import block_files, slices, string_tensors, table, variants
from tfcompat._src.checkpoint.bundle_files import HEADER_KEY, VERSION, begun_saves, data_name, index_name
from tfcompat._src.checkpoint.reading import SavedTensors, TensorInfo, check_version, tensor_info
from tfcompat._src.platform import crc32c, file_io, temporary_files
from tfcompat._src.proto import messages
from tfcompat._src.proto.messages import BundleEntryProto


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """What tells a file from others that have had its name."""
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def _read_index(path: str) -> tuple[dict[bytes, bytes], tuple[int, ...]]:
    """The entries of an index, header included, and the identity of the file.

    Raises:
      errors.NotFoundError: there is none. errors.DataLossError: it is damaged.
    """
    with file_io.opened(path) as file:
        data, identity = file.read(), _identity(os.fstat(file.fileno()))
    try:
        found = dict(table.Table(data).items())
        header = messages.BundleHeaderProto.FromString(found[HEADER_KEY])
    except (table.DamagedTable, KeyError, DecodeError) as e:
        raise errors.DataLossError(None, None, f"Unable to read checkpoint index {path}: {e!r}") from None
    check_version(header.version, VERSION)
    return found, identity


_MOST_DIMENSIONS = 64  # NumPy's limit


class BundleReader(SavedTensors):
    """The tensors of a checkpoint of version 2, as it is now: its files are open, so that later saves do not change it.

    Args:
      prefix: what the names of its files begin with.
      number: of the temporary names of a save that is to be read; by default what is there.

    Raises:
      errors.NotFoundError: there is none. errors.DataLossError: its index is damaged.
    """

    def __init__(self, prefix: str, number: str | None = None) -> None:
        self._prefix = prefix
        self._files: dict[int, int] = {}
        if number is None:
            self._open_present()
        else:
            self._open(number)

    def __del__(self) -> None:
        self._close()

    def _close(self) -> None:
        while self._files:
            os.close(self._files.popitem()[1])

    # ---- opening ----

    def _open_present(self) -> None:
        """Opens index and data files of one save, though others may save meanwhile, or have been killed."""
        before: Any = None
        while True:
            index = self._open_if_whole()
            begun = begun_saves(self._prefix)
            if index is not None and not begun and index == self._index_identity():
                return
            for number in (*begun, None):
                if self._open_if_whole(number) is not None and self.is_whole():
                    return
            present = begun, self._index_identity()
            if present == before:  # it does not change: what is there is missing or damaged
                self._open()
                return
            before = present

    def _open_if_whole(self, number: str | None = None) -> tuple[int, ...] | None:
        """The identity of the index; None where it is missing or damaged."""
        try:
            return self._open(number)
        except (errors.NotFoundError, errors.DataLossError):
            return None

    def _index_identity(self) -> tuple[int, ...] | None:
        try:
            return _identity(os.stat(index_name(self._prefix)))
        except FileNotFoundError:
            return None

    def _open(self, number: str | None = None) -> tuple[int, ...]:
        """Opens the files of one save; gives the identity of its index."""
        self._close()
        path = index_name(self._prefix)
        if number is not None:
            path = temporary_files.temporary_name(path, number)
        self._entries: dict[bytes, BundleEntryProto] = {}
        self._infos: dict[str, TensorInfo] = {}
        self._index, identity = _read_index(path)
        header = messages.BundleHeaderProto.FromString(self._index.pop(HEADER_KEY))
        self._num_shards = header.num_shards
        self._swap = header.endianness == messages.BundleHeaderProto.BIG
        with contextlib.suppress(errors.NotFoundError):  # raised where a tensor of it is read
            for shard in range(self._num_shards):
                self._files[shard] = self._open_shard(shard, number)
        return identity

    def _open_shard(self, shard: int, number: str | None = None) -> int:
        path = data_name(self._prefix, shard, self._num_shards)
        with file_io.tensorflow_errors(path):
            if number is not None:
                with contextlib.suppress(FileNotFoundError):  # it has its name
                    return block_files.open_to_read(temporary_files.temporary_name(path, number))
            return block_files.open_to_read(path)

    def is_whole(self) -> bool:
        """Whether all that the index names can be read."""
        try:
            for key in self._index:
                entry = self._entry(key)
                if not entry.slices:
                    self._values(key.decode("latin-1"), entry)
        except errors.OpError:
            return False
        return True

    # ---- tensors ----

    def _entry(self, key: bytes) -> Any:
        entry = self._entries.get(key)
        if entry is None and key in self._index:
            try:
                entry = self._entries[key] = BundleEntryProto.FromString(self._index[key])
            except DecodeError as e:
                raise self._damaged(self._text(key), str(e)) from None
        return entry

    def _text(self, key: bytes) -> str:
        """The name of a tensor."""
        try:
            return key.decode()
        except UnicodeDecodeError as e:
            raise self._damaged(repr(key), f"its name is not UTF-8: {e}") from None

    def names(self) -> list[str]:
        inner = set()
        for key in self._index:
            entry = self._entry(key)
            inner.update(slices.encode_key(self._text(key), slices.TensorSlice.from_proto(s)) for s in entry.slices)
        return [self._text(key) for key in sorted(self._index) if key not in inner]

    def info(self, name: str) -> TensorInfo | None:
        if name not in self._infos:
            entry = self._entry(name.encode())
            if entry is None:
                return None
            try:
                self._infos[name] = tensor_info(entry.dtype, entry.shape, entry.slices)
            except ValueError as e:
                raise self._damaged(name, str(e)) from None
        return self._infos[name]

    def not_found(self, name: str) -> errors.NotFoundError:
        return errors.NotFoundError(None, None, f"Key {name} not found in checkpoint")

    def piece(self, name: str, part: slices.TensorSlice | None) -> np.ndarray:
        entry = self._entry(name.encode() if part is None else slices.encode_key(name, part))
        if entry is None:
            raise self._damaged(name, f"the index has no entry for its slice {part.text}")
        return self._values(name, entry)

    def _values(self, name: str, entry: BundleEntryProto) -> np.ndarray:
        try:
            dtype, shape, _ = tensor_info(entry.dtype, entry.shape, ())
        except ValueError as e:
            raise self._damaged(name, str(e)) from None
        if len(shape) > _MOST_DIMENSIONS:
            raise errors.InternalError(None, None, f"Could not allocate ndarray of {len(shape)} dimensions: {name}")
        if not dtype.is_numpy_compatible and dtype != dtypes.variant:
            raise NotImplementedError(f"tfcompat does not restore tensors of type {dtype.name} ({name})")
        if dtype in (dtypes.string, dtypes.variant):
            return self._objects(name, entry, shape, string_tensors.decode if dtype == dtypes.string else variants.decode)
        numpy_dtype = np.dtype(dtype.as_numpy_dtype)
        expected = math.prod(shape) * numpy_dtype.itemsize
        if entry.size != expected:
            raise self._damaged(
                name, f"Invalid size in bundle entry: key {name}; stored size {entry.size}; expected size {expected}"
            )
        if self._available(entry) < expected:
            raise self._cut_off(name, entry)
        found = np.empty(shape, numpy_dtype)
        data = found.reshape(-1).view(np.uint8)
        self._read_into(name, entry, data)
        self._check(name, entry, crc32c.value(data))
        return found.byteswap() if self._swap and numpy_dtype.itemsize > 1 else found

    def _objects(self, name: str, entry: BundleEntryProto, shape: tuple[int, ...], decode: Callable[[bytes, int], tuple[list, int]]) -> np.ndarray:
        count = math.prod(shape)
        data = np.empty(max(min(entry.size, self._available(entry)), 0), np.uint8)
        if count > data.size:
            raise self._damaged(name, f"Invalid size in bundle entry: key {name}; stored size {entry.size}; expected size at least {count}")
        self._read_into(name, entry, data)
        found = np.empty(shape, object)
        try:
            values, crc = decode(data.tobytes(), count)
        except EOFError:
            raise self._cut_off(name, entry) from None
        except ValueError as e:
            raise self._damaged(name, str(e)) from None
        self._check(name, entry, crc)
        found.reshape(-1)[:] = values
        return found

    def _read_into(self, name: str, entry: BundleEntryProto, target: np.ndarray) -> None:
        if block_files.read(self._file(entry.shard_id), target, entry.offset) != target.size:
            raise self._cut_off(name, entry)

    def _available(self, entry: BundleEntryProto) -> int:
        """How many bytes stand in the data file of an entry from its place on."""
        if entry.offset < 0:
            raise errors.InvalidArgumentError(None, None, f"Seeking to a negative position: {entry.offset}")
        return os.fstat(self._file(entry.shard_id)).st_size - entry.offset

    def _cut_off(self, name: str, entry: BundleEntryProto) -> errors.OutOfRangeError:
        return errors.OutOfRangeError(
            None, None, f"Read less bytes than requested: the data file of tensor {name} of checkpoint {self._prefix} ends "
            f"before byte {entry.offset + entry.size}",
        )  # fmt: skip

    def _file(self, shard: int) -> int:
        if shard not in self._files:
            self._files[shard] = self._open_shard(shard)
        return self._files[shard]

    def _check(self, name: str, entry: BundleEntryProto, crc: int) -> None:
        stored = crc32c.unmask(entry.crc32c)
        if stored != crc:
            raise self._damaged(
                name, f"Checksum does not match: stored {stored:08d} vs. calculated on the restored bytes {crc}"
            )

    def _damaged(self, name: str, what: str) -> errors.DataLossError:
        return errors.DataLossError(None, None, f"Tensor {name} of checkpoint {self._prefix} is damaged: {what}")
