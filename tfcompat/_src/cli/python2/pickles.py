"""Pickles of Python 2: from files in text mode, with strings that were bytes, and of the protocols that Python 2 reads."""

from __future__ import annotations

import codecs
import io
import pickle
from typing import Any

from tfcompat._src.cli.python2.files import bytes_of
from tfcompat._src.cli.python2.text import as_bytes, as_text

_ENCODING = "tfcompat_python2"


def _decode(data: Any, errors: str = "strict") -> tuple[str, int]:
    """Text of the bytes of a pickled string: UTF-8, or a character for each byte where they are none."""
    data = bytes(data)
    try:
        return data.decode("utf-8"), len(data)
    except UnicodeDecodeError:
        return data.decode("latin-1"), len(data)


def _codec(name: str) -> codecs.CodecInfo | None:
    return codecs.CodecInfo(codecs.latin_1_encode, _decode, name=_ENCODING) if name == _ENCODING else None  # type: ignore[arg-type]


codecs.register(_codec)


def load(file: Any) -> Any:
    """`pickle.load(file)`."""
    file = bytes_of(file)
    start = file.tell() if file.seekable() else None
    try:
        return pickle.load(file, encoding=_ENCODING)
    except (ValueError, UnicodeError):
        if start is None:
            raise
        file.seek(start)  # an array whose bytes happen to be UTF-8
        return pickle.load(file, encoding="latin-1")


def loads(data: Any) -> Any:
    """`pickle.loads(data)`."""
    return load(io.BytesIO(as_bytes(data)))


def dump(obj: Any, file: Any, protocol: int | None = 0) -> None:
    """`pickle.dump`, by protocol 0 unless another is given: Python 2 has those up to 2."""
    bytes_of(file).write(_dumped(obj, protocol))


def dumps(obj: Any, protocol: int | None = 0) -> Any:
    """`pickle.dumps`: text by protocol 0, which is ASCII, and bytes by others."""
    data = _dumped(obj, protocol)
    return as_text(data) if data.isascii() else data


def _dumped(obj: Any, protocol: int | None) -> bytes:
    return pickle.dumps(obj, 0 if protocol is None else 2 if protocol < 0 else min(protocol, 2))


class Unpickler(pickle.Unpickler):
    """`pickle.Unpickler`."""

    def __init__(self, file: Any) -> None:
        super().__init__(bytes_of(file), encoding="latin-1")


class Pickler(pickle._Pickler):  # type: ignore[name-defined]
    """`pickle.Pickler`."""

    def __init__(self, file: Any, protocol: int | None = 0) -> None:
        super().__init__(bytes_of(file), 0 if protocol is None else 2 if protocol < 0 else min(protocol, 2))


NAMES = {
    "load": load, "loads": loads, "dump": dump, "dumps": dumps, "Unpickler": Unpickler, "Pickler": Pickler,
    "HIGHEST_PROTOCOL": 2, "DEFAULT_PROTOCOL": 0,
}  # fmt: skip
