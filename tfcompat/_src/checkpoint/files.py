"""The files of a checkpoint while they are written."""

from __future__ import annotations

import contextlib
import errno
import os

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.checkpoint.block_files import BlockWriter
from tfcompat._src.platform import file_io, temporary_files

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class PendingFile:
    """A file that is being written and has its name only once it is committed; it is locked until then.

    Args:
      path: the name that it will have.
      number: of its present name; by default a new one.

    Raises:
      errors.OpError: of the class that belongs to the system's error, here and when writing.
    """

    def __init__(self, path: str, number: str | None = None) -> None:
        self.path = path
        with file_io.tensorflow_errors(path):
            self._file, self.temporary = temporary_files.create(path, number)
        self._writer = BlockWriter(self._file)

    @property
    def size(self) -> int:
        """How many bytes were written."""
        return self._writer.size

    def write(self, data: object) -> None:
        """Appends bytes or a contiguous uint8 array."""
        with file_io.tensorflow_errors(self.temporary):
            self._writer.write(data)

    def finish(self) -> None:
        """Writes what is buffered, and waits until the disk has it all."""
        with file_io.tensorflow_errors(self.temporary):
            self._writer.finish()

    def commit(self) -> None:
        """Gives the finished file its name."""
        with file_io.tensorflow_errors(self.path):
            os.replace(self.temporary, self.path)

    def close(self) -> None:
        """Ends writing and gives up the lock."""
        self._writer.close()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def abandon(self) -> None:
        """Deletes the file, as far as it is there, and closes it."""
        temporary_files.remove(self.temporary)
        self.close()


class MovedFile:
    """A finished file that is to have another name: it gets a temporary name beside that first, and is locked.

    It keeps the name that it has, where the file system has links, until whoever moves it has committed all and deletes that.

    Args:
      source: where it is. path: the name that it will have. number: of its temporary name.

    Raises:
      errors.OpError: it cannot be moved.
    """

    def __init__(self, source: str, path: str, number: str) -> None:
        self.source, self.path, self.temporary = source, path, temporary_files.temporary_name(path, number)
        with file_io.tensorflow_errors(source):
            self._file = temporary_files.open_to_lock(source)
            try:
                temporary_files.lock(self._file)
                self._link()
            except BaseException:
                self.close()
                raise

    def _link(self) -> None:
        try:
            os.link(self.source, self.temporary)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            os.replace(self.source, self.temporary)

    def commit(self) -> None:
        """Gives the file its name."""
        with file_io.tensorflow_errors(self.path):
            os.replace(self.temporary, self.path)

    def close(self) -> None:
        """Gives up the lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def abandon(self) -> None:
        """Leaves the file where it was, and closes it."""
        if os.path.exists(self.source):
            temporary_files.remove(self.temporary)
        else:
            os.replace(self.temporary, self.source)
        self.close()


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


def as_bytes_array(array: np.ndarray) -> np.ndarray:
    """The memory of an array, in C order, as uint8."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
