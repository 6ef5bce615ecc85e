"""Files that appear whole or not at all: written under another name, synced, renamed."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np

from tfcompat._src.checkpoint.block_files import BlockWriter
from tfcompat._src.framework import errors
from tfcompat._src.platform import file_io


class PendingFile:
    """A file that is being written and has its name only once it is committed.

    Args:
      path: the name that it will have.
      mark, number: what its present name has in addition; by default the number is random.

    Raises:
      errors.OpError: of the class that belongs to the system's error, here and when writing.
    """

    def __init__(self, path: str, mark: str = ".tempstate", number: str = "") -> None:
        self.path = path
        self.temporary = path + mark + (number or str(int.from_bytes(os.urandom(8), "little")))
        with file_io.tensorflow_errors(self.temporary):
            self._writer = BlockWriter(self.temporary)

    @property
    def size(self) -> int:
        """How many bytes were written."""
        return self._writer.size

    def write(self, data: Any) -> None:
        """Appends bytes or a contiguous uint8 array."""
        with file_io.tensorflow_errors(self.temporary):
            self._writer.write(data)

    def finish(self) -> None:
        """Writes what is buffered, waits until the disk has it all, and closes the file."""
        with file_io.tensorflow_errors(self.temporary):
            self._writer.finish()

    def commit(self) -> None:
        """Gives the finished file its name."""
        with file_io.tensorflow_errors(self.path):
            os.replace(self.temporary, self.path)

    def abandon(self) -> None:
        """Deletes the file, as far as it is there."""
        self._writer.close()
        if os.path.exists(self.temporary):
            os.unlink(self.temporary)


def make_folder(path: str) -> None:
    """Makes the folder of `path` where it is missing; its own parent must exist."""
    folder = os.path.dirname(path)
    if folder and not os.path.exists(folder):
        with contextlib.suppress(errors.AlreadyExistsError):  # another writer was faster
            file_io.mkdir(folder)


def sync_folder(path: str) -> None:
    """Waits until the disk has the names in the folder of `path`."""
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_whole(path: str, data: bytes) -> None:
    """Writes a file so that no reader, and no crash, sees a part of it."""
    file = PendingFile(path)
    try:
        file.write(data)
        file.finish()
        file.commit()
    except BaseException:
        file.abandon()
        raise


def as_bytes_array(array: np.ndarray) -> np.ndarray:
    """The memory of an array, in C order, as uint8."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
