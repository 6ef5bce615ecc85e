"""h5py: what 3.0 gives in another way than 2.10: text, `Dataset.value`, `File.fid`, a file opened without a mode."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from tfcompat._src.cli.legacy.keywords import Tables

Names = dict[Any, dict[str, Any]]


def _attributes(h5py: Any) -> Names:
    manager = h5py.AttributeManager
    get = manager.__getitem__

    @functools.wraps(get)
    def with_ascii_as_bytes(self: Any, name: str) -> Any:
        value = get(self, name)
        is_array = isinstance(value, np.ndarray) and value.dtype == np.object_
        kind = h5py.check_string_dtype(self.get_id(name).dtype) if is_array or isinstance(value, str) else None
        if kind is None or kind.encoding != "ascii":
            return value
        return np.char.encode(value.astype(str)).astype(np.object_) if is_array else value.encode()

    return {manager: dict(__getitem__=with_ascii_as_bytes)}


def _datasets(h5py: Any) -> Names:
    get = h5py.Dataset.__getitem__

    @functools.wraps(get)
    def with_text(self: Any, args: object, *more: Any, **options: Any) -> Any:
        value = get(self, args, *more, **options)
        kind = h5py.check_string_dtype(self.dtype)
        if kind is None or kind.length is not None or kind.encoding != "utf-8":
            return value
        if isinstance(value, bytes):
            return value.decode()
        return np.vectorize(_decoded, otypes=[object])(value) if isinstance(value, np.ndarray) and value.size else value

    return {h5py.Dataset: dict(__getitem__=with_text)}


def _decoded(value: object) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def _files(h5py: Any) -> Names:
    begin = h5py.File.__init__

    @functools.wraps(begin)
    def with_any_mode(self: Any, name: object, mode: str | None = None, *more: Any, **options: Any) -> None:
        if mode is None:
            is_path = isinstance(name, (str, bytes, os.PathLike))
            mode = "r" if is_path and os.path.exists(name) and not os.access(name, os.W_OK) else "a"
        begin(self, name, mode, *more, **options)

    return {h5py.File: dict(__init__=with_any_mode)}


def _removed(h5py: Any) -> Names:
    return {h5py.Dataset: dict(value=property(lambda self: self[()])), h5py.File: dict(fid=property(lambda self: self.id))}


ADDED: Tables = {"h5py": _removed}
REPLACED: Tables = {"h5py": lambda h5py: _attributes(h5py) | _datasets(h5py) | _files(h5py)}
MOVED: dict[str, str] = {}
