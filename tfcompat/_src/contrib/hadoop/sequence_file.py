"""tf.contrib.hadoop: the records of Hadoop's sequence files, version 6, with keys and values of `org.apache.hadoop.io.Text`.

A file is `SEQ`, the version, the names of the two classes, two flags of compression, a count of pairs of metadata with the pairs, and a mark
of 16 bytes. A record is its length and its key's, four bytes each, the key and the value; the length -1 stands before a mark. Texts have
their length before them: a byte, or for lengths past 127 a byte that says how many bytes of length follow.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.export import export
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.dataset_classes import DatasetSource
from tfcompat._src.data.reader_ops import contents, file_names, files_in_turn
from tfcompat._src.data.values import DatasetValue, Element, dataset_op, text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.ops.queues.resource import invalid

_TEXT = b"org.apache.hadoop.io.Text"
_MARK_BYTES = 16
_MAX_METADATA = 1024
_BEFORE_MARK = 0xFFFFFFFF


class _Reader:
    """Reads a sequence file; EOFError where it ends."""

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._file, self._path, self._size = file, path, os.fstat(file.fileno()).st_size

    def read_header(self) -> None:
        """Reads what stands before the records.

        Raises:
          InvalidArgumentError: It is no sequence file of version 6.
          UnimplementedError: It is compressed, or has keys or values of another class.
        """
        magic = self._bytes(4)
        if magic != b"SEQ\x06":
            raise invalid(f"{self._path} is no sequence file of version 6: it must start with b'SEQ\\x06', but starts with {magic!r}")
        classes = self._text(), self._text()
        if classes != (_TEXT, _TEXT):
            names = "/".join(name.decode("utf-8", "replace") for name in classes)
            raise errors.UnimplementedError(None, None, f"{self._path} has keys/values of {names}; only {_TEXT.decode()} can be read")
        if any(self._bytes(2)):
            raise errors.UnimplementedError(None, None, f"{self._path} is compressed; write it with SequenceFile.CompressionType.NONE")
        pairs = self._number()
        if pairs > _MAX_METADATA:
            raise invalid(f"{self._path} says that it has {pairs} pairs of metadata; {_MAX_METADATA} are possible")
        for _ in range(2 * pairs):
            self._text()
        self._mark = self._bytes(_MARK_BYTES)

    def read_record(self) -> tuple[bytes, bytes]:
        """The next key and value; InvalidArgumentError where the file is not as it should be."""
        while (length := self._number()) == _BEFORE_MARK:
            mark = self._bytes(_MARK_BYTES)
            if mark != self._mark:
                at = self._file.tell() - _MARK_BYTES
                raise invalid(f"{self._path} should have the mark {self._mark!r} at byte {at}, but has {mark!r}")
        key_length = self._number()
        if key_length > length:
            raise invalid(f"{self._path} has a record of {length} bytes with a key of {key_length}; the key must not be longer")
        return self._text(), self._text()

    def _bytes(self, count: int) -> bytes:
        if self._file.tell() + count > self._size:
            raise EOFError
        return self._file.read(count)

    def _number(self) -> int:
        return int.from_bytes(self._bytes(4), "big")

    def _text(self) -> bytes:
        first = int.from_bytes(self._bytes(1), "big", signed=True)
        length = first if first >= -112 else int.from_bytes(self._bytes(-112 - first), "big") if first >= -120 else -1
        if length < 0:
            raise invalid(f"{self._path} has a text of a negative length before byte {self._file.tell()}")
        return self._bytes(length)


def _records(path: str) -> Iterator[Element]:
    """Keys and values of a file; one that is cut off ends with its last whole record, as in 1.15."""
    with contents(path, "") as file:
        reader = _Reader(file, path)
        try:
            reader.read_header()
        except EOFError:
            raise errors.InternalError(None, None, f"{path} ends within the header of a sequence file") from None
        while True:
            try:
                key, value = reader.read_record()
            except EOFError:
                return
            yield text(key), text(value)


@dataset_op("SequenceFileDataset", "filenames: string", "output_types: list(type) >= 1")
def _sequence_files(context: HostContext, filenames: NDArray) -> DatasetValue:
    return files_in_turn(file_names(filenames), _records)


@export("contrib.hadoop.SequenceFileDataset")
class SequenceFileDataset(DatasetSource):
    """The keys and values, two strings, of the records of Hadoop's sequence files.

    Args:
      filenames: string tensor with one or more names.
    """

    def __init__(self, filenames: object) -> None:
        names = convert_to_tensor(filenames, dtypes.string, name="filenames")
        super().__init__(raw.SequenceFileDataset(names, output_types=[dtypes.string, dtypes.string]), self.element_spec)

    @property
    def element_spec(self) -> tuple[TensorSpec, TensorSpec]:
        return TensorSpec([], dtypes.string), TensorSpec([], dtypes.string)
