"""The names of the files of a checkpoint of version 2, and which of them belong together while they are replaced.

A save writes its data files and then its index under temporary names with one number. When all are on the disk it names the data files,
in order, and last the index. From the first of these steps on the new checkpoint is the one that is there: its index, if it has a
temporary name still, stands without a temporary first data file.
"""

from __future__ import annotations

import os
import re

from tfcompat._src.platform import file_io, temporary_files

VERSION = 1
HEADER_KEY = b""
KIND = re.compile(r"\.(index|data-\d{5}-of-\d{5})$")


def index_name(prefix: str) -> str:
    return f"{prefix}.index"


def data_name(prefix: str, shard: int, num_shards: int) -> str:
    return f"{prefix}.data-{shard:05d}-of-{num_shards:05d}"


def begun_saves(prefix: str) -> list[str]:
    """The numbers of the saves to a prefix that have named their first data file and not their index: as a rule there are none."""
    folder, base = os.path.split(prefix)
    try:
        names = os.listdir(file_io.local(folder or "."))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    index = temporary_files.temporary_name(index_name(base), "")
    numbers = [name.removeprefix(index) for name in names if name.startswith(index) and temporary_files.NAME.search(name)]
    return [number for number in numbers if not _has_first_data_file(names, base, number)]


def _has_first_data_file(names: list[str], base: str, number: str) -> bool:
    first = re.compile(re.escape(base) + r"\.data-00000-of-\d{5}" + re.escape(temporary_files.MARK + number))
    return any(map(first.fullmatch, names))
