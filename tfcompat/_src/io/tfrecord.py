"""TFRecord files: each record is its length (uint64), a checksum of that, the data, and a checksum of the data.

Numbers are little-endian, checksums masked CRC-32C. A compressed file is one GZIP or ZLIB stream of such records.
"""

from __future__ import annotations

import io
import os
import struct
import sys
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.platform import crc32c
from tfcompat._src.platform.file_io import local, tensorflow_errors

_LENGTH = struct.Struct("<Q")
_HEADER = struct.Struct("<QI")
_CRC = struct.Struct("<I")
_BUFFER_SIZE = 256 << 10
_LONG_PIECE = 16 << 20
_GZIP_WINDOW = zlib.MAX_WBITS + 16


@export("python_io.TFRecordCompressionType", "io.TFRecordCompressionType")
class TFRecordCompressionType:
    """How a TFRecord file is compressed."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


@export("python_io.TFRecordOptions", "io.TFRecordOptions")
class TFRecordOptions:
    """How a TFRecord file is compressed, in detail; all but the type are for writing and mean what they do in zlib.

    Args:
      compression_type: "GZIP", "ZLIB", "" or a TFRecordCompressionType.
      flush_mode: how zlib flushes whenever the input buffer was full; by default not.
      input_buffer_size: bytes that are gathered before they are compressed, 256 KiB by default.
      output_buffer_size: bytes that are gathered before they go to the file, 256 KiB by default.
      window_bits: base-two logarithm of the window, plus 16 for a GZIP header; negative for no header.
      compression_level: 0 to 9, 6 by default.
      compression_method: 8, deflate.
      mem_level: 1 to 9, 9 by default.
      compression_strategy: a strategy of zlib, Z_DEFAULT_STRATEGY by default.

    Raises:
      ValueError: an unknown compression type.
    """

    compression_type_map = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type: object = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """The type as "GZIP", "ZLIB" or "": of options, a TFRecordCompressionType, or such a string.

        Raises:
          ValueError: `options` is none of these.
        """
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return options
        raise ValueError(f'Not a valid compression_type: "{options}"')


def _given(value: int | None, default: int) -> int:
    return default if value is None else value


class _Deflated:
    """A file that is written through zlib."""

    def __init__(self, compression: str, options: TFRecordOptions) -> None:
        self._limit = _given(options.input_buffer_size, _BUFFER_SIZE)
        self._flush_mode = _given(options.flush_mode, zlib.Z_NO_FLUSH)
        self._gathered = bytearray()
        try:
            self._stream = zlib.compressobj(
                _given(options.compression_level, zlib.Z_DEFAULT_COMPRESSION),
                _given(options.compression_method, zlib.DEFLATED),
                _given(options.window_bits, _GZIP_WINDOW if compression == "GZIP" else zlib.MAX_WBITS),
                _given(options.mem_level, 9),
                _given(options.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
            )
        except ValueError as error:
            raise errors.InvalidArgumentError(None, None, f"TFRecordOptions that zlib does not know: {error}") from None

    def to(self, file: BinaryIO) -> _Deflated:
        """This, writing to `file`."""
        self._file = file
        return self

    def write(self, data: bytes) -> None:
        self._gathered += data
        if len(self._gathered) > self._limit:
            self._deflate(self._flush_mode)

    def _deflate(self, mode: int) -> None:
        self._file.write(self._stream.compress(bytes(self._gathered)))
        self._gathered.clear()
        if mode != zlib.Z_NO_FLUSH:
            self._file.write(self._stream.flush(mode))

    def flush(self) -> None:
        self._deflate(zlib.Z_PARTIAL_FLUSH)
        self._file.flush()

    def close(self) -> None:
        self._deflate(zlib.Z_FINISH)
        self._file.close()


class _Inflated(io.RawIOBase):
    """What a file holds, decompressed by zlib; it ends with its first stream, as in 1.15."""

    def __init__(self, file: BinaryIO, compression: str) -> None:
        self._file = file
        self._stream = zlib.decompressobj(_GZIP_WINDOW if compression == "GZIP" else zlib.MAX_WBITS)
        self._input = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Decompresses into `buffer`; zero bytes at the end."""
        found = b""
        while not found and not self._stream.eof:
            self._input = self._input or self._file.read(_BUFFER_SIZE)
            if not self._input:
                return 0
            try:
                found = self._stream.decompress(self._input, len(buffer))
            except zlib.error as error:
                reason = str(error).removeprefix("Error ").replace(" while decompressing data", "")
                raise errors.DataLossError(None, None, f"inflate() failed with error {reason}") from None
            self._input = self._stream.unconsumed_tail
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class RecordReader:
    """Reads the records of a file in order.

    Args:
      path: its path.
      options: how it is compressed, as for TFRecordWriter.

    Attributes:
      offset: the place of the next record, in bytes of the decompressed file.

    Raises:
      NotFoundError, PermissionDeniedError, FailedPreconditionError: the file cannot be opened.
    """

    def __init__(self, path: object, options: object = None) -> None:
        self._path = local(path)
        self.offset = 0
        compression = TFRecordOptions.get_compression_type_string(options)
        with tensorflow_errors(self._path):
            file = open(self._path, "rb", buffering=_BUFFER_SIZE)  # noqa: SIM115
        self._is_compressed = bool(compression)
        self._file = io.BufferedReader(_Inflated(file, compression), _BUFFER_SIZE) if compression else file

    def read(self) -> bytes | None:
        """The next record; None at the end, also where the file ends within the length of a record.

        Raises:
          DataLossError: a checksum does not fit or the file ends within the record.
        """
        header = self._file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return None
        length, length_crc = _HEADER.unpack(header)
        if crc32c.masked(header[: _LENGTH.size]) != length_crc:
            raise errors.DataLossError(None, None, f"corrupted record at {self.offset}")
        wanted = length + _CRC.size
        if wanted > sys.maxsize:
            raise errors.DataLossError(None, None, f"record size too large: {length}")
        body = self._file.read(wanted) if wanted <= _BUFFER_SIZE else self._read_long(wanted)
        if len(body) < wanted:
            raise errors.DataLossError(None, None, f"truncated record at {self.offset}")
        data = body[:length]
        if crc32c.masked(data) != _CRC.unpack_from(body, length)[0]:
            raise errors.DataLossError(None, None, f"corrupted record at {self.offset + _HEADER.size}")
        self.offset += _HEADER.size + wanted
        return data

    def _read_long(self, size: int) -> bytes:
        """`size` bytes, or what there is of them: a wrong length asks for no memory."""
        if not self._is_compressed:
            return self._file.read(size) if os.stat(self._path).st_size - self.offset - _HEADER.size >= size else b""
        found = bytearray()
        while len(found) < size and (piece := self._file.read(min(size - len(found), _LONG_PIECE))):
            found += piece
        return bytes(found)

    def __iter__(self) -> Iterator[bytes]:
        while (record := self.read()) is not None:
            yield record

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


@export("python_io.tf_record_iterator", "io.tf_record_iterator")
def tf_record_iterator(path: object, options: object = None) -> Iterator[bytes]:
    """Yields the records of a TFRecord file, as bytes.

    Args:
      path: its path.
      options: a TFRecordOptions, TFRecordCompressionType or "GZIP", "ZLIB", "".

    Raises:
      NotFoundError: there is no such file. DataLossError: it is damaged; the records before the damage were yielded.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"Expected binary or unicode string, got {path!r}")
    reader = RecordReader(path, options)
    try:
        yield from reader
    finally:
        reader.close()


@export("python_io.TFRecordWriter", "io.TFRecordWriter")
class TFRecordWriter:
    """Writes a new TFRecord file; usable in a `with` block.

    Args:
      path: its path; a file that is there is replaced.
      options: a TFRecordOptions, TFRecordCompressionType or "GZIP", "ZLIB", "".

    Raises:
      NotFoundError, PermissionDeniedError, FailedPreconditionError: the file cannot be made.
      ValueError: an unknown compression type.
    """

    def __init__(self, path: object, options: object = None) -> None:
        details = options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)
        compression = TFRecordOptions.get_compression_type_string(details)
        self._path = local(path)
        deflated = _Deflated(compression, details) if compression else None
        with tensorflow_errors(self._path):
            file = open(self._path, "wb", buffering=max(_given(details.output_buffer_size, _BUFFER_SIZE), 2))  # noqa: SIM115
        self._file: Any = deflated.to(file) if deflated else file

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()

    def write(self, record: bytes) -> None:
        """Appends a record.

        Raises:
          TypeError: it is not bytes. FailedPreconditionError: the file is closed.
        """
        if not isinstance(record, bytes):
            raise TypeError(f"expected bytes, {type(record).__name__} found")
        length = _LENGTH.pack(len(record))
        framed = b"".join((length, _CRC.pack(crc32c.masked(length)), record, _CRC.pack(crc32c.masked(record))))
        with tensorflow_errors(self._path):
            self._open_file().write(framed)

    def flush(self) -> None:
        """Hands what was written to the operating system; FailedPreconditionError where the file is closed."""
        with tensorflow_errors(self._path):
            self._open_file().flush()

    def close(self) -> None:
        """Writes what is left and closes the file; a second call does nothing."""
        if self._file is not None:
            file, self._file = self._file, None
            with tensorflow_errors(self._path):
                file.close()

    def _open_file(self) -> Any:
        if self._file is None:
            raise errors.FailedPreconditionError(None, None, "Writer not initialized or previously closed")
        return self._file
