"""Files and strings of bytes as Python 2 had them: `open`, `file` and `StringIO.StringIO`."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

from tfcompat._src.cli.python2.text import as_bytes, as_text


class ByteString(bytes):
    """Bytes of a binary file: a `str` of Python 2, whose elements are strings, and which equals the text of the same bytes."""

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return as_text(bytes((found,))) if isinstance(found, int) else ByteString(found)

    def __iter__(self) -> Iterator[Any]:
        return (as_text(bytes((each,))) for each in bytes(self))

    def __eq__(self, other: object) -> bool:
        return bytes(self) == as_bytes(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(as_text(self))

    def __add__(self, other: Any) -> Any:
        return ByteString(bytes(self) + as_bytes(other))

    def __radd__(self, other: Any) -> Any:
        return ByteString(as_bytes(other) + bytes(self))

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        return bytes.__repr__(self)[1:]

    def __contains__(self, part: Any) -> bool:
        return as_bytes(part) in bytes(self)


def byte_string(data: Any) -> ByteString:
    """`buffer(data)`: the bytes of text or of an array."""
    return ByteString(as_bytes(data))


class File:
    """`file` of Python 2: in text mode it reads text, places are bytes, and ends of lines are left alone.

    Args:
      name: the path, or a file of bytes, which is then read and written.
      mode: as Python 2 has it, "U" for all ends of lines included.
    """

    def __init__(self, name: Any, mode: str = "r", buffering: int = -1) -> None:
        self._is_binary = "b" in mode
        kind = "".join(char for char in mode if char not in "bUt")
        self.name, self.mode, self.encoding, self.newlines, self.softspace = name, mode, None, None, 0
        self.buffer: Any = name if hasattr(name, "read") else open(name, (kind or "r") + "b", buffering if buffering != 1 else -1)
        if "U" in mode:
            with self.buffer as file:
                self.buffer = io.BytesIO(file.read().replace(b"\r\n", b"\n").replace(b"\r", b"\n"))

    def _out(self, data: bytes) -> Any:
        return ByteString(data) if self._is_binary else as_text(data)

    def read(self, size: int = -1) -> Any:
        return self._out(self.buffer.read(size))

    def readline(self, size: int = -1) -> Any:
        return self._out(self.buffer.readline(size))

    def readlines(self, size: int = -1) -> list[Any]:
        return [self._out(line) for line in self.buffer.readlines(size)]

    def readinto(self, array: Any) -> int:
        return self.buffer.readinto(array)

    def __iter__(self) -> File:
        return self

    xreadlines = __iter__

    def __next__(self) -> Any:
        return self._out(next(self.buffer))

    next = __next__

    def write(self, data: Any) -> None:
        self.buffer.write(as_bytes(data))
        self.softspace = 0

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def seek(self, offset: int, whence: int = 0) -> None:
        self.buffer.seek(int(offset), whence)

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        """`tell`, `flush`, `close`, `closed`, `fileno`, `isatty`, `truncate`: those of the file of bytes."""
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self.buffer, name)

    def __repr__(self) -> str:
        return f"<{'closed' if self.closed else 'open'} file {self.name!r}, mode {self.mode!r} at {id(self):#x}>"


class StringIO(File):
    """`StringIO.StringIO` of Python 2: text, or bytes where the first that it gets is bytes."""

    def __init__(self, buf: Any = "") -> None:
        super().__init__(io.BytesIO(as_bytes(buf)), "rb" if isinstance(buf, (bytes, bytearray)) else "r")
        self._is_empty = not len(buf)

    def write(self, data: Any) -> None:
        if self._is_empty:
            self._is_binary, self._is_empty = isinstance(data, (bytes, bytearray, memoryview)), False
        super().write(data)

    def getvalue(self) -> Any:
        return self._out(self.buffer.getvalue())

    def reset(self) -> None:
        self.seek(0)


def open_file(name: Any, mode: str = "r", buffering: int = -1) -> File:
    """`open`."""
    return File(name, mode, buffering)


def bytes_of(file: Any) -> Any:
    """A file as one of bytes: what libraries read and write."""
    return file.buffer if isinstance(file, File) else file
