"""How the files of a save take the place of those before, and what becomes of saves that were killed."""

from __future__ import annotations

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator

from tfcompat._src.base import errors
from tfcompat._src.checkpoint.bundle_files import KIND, begun_saves, index_name
from tfcompat._src.checkpoint.bundle_reader import BundleReader
from tfcompat._src.checkpoint.files import MovedFile, PendingFile, sync_folder
from tfcompat._src.platform import file_io, logging, temporary_files

_LOCK_MARK = temporary_files.MARK + "-lock"


class NewFiles:
    """The files of a save, from the first that is written until they have their names.

    Args:
      prefix: of the checkpoint.

    Attributes:
      data: the data files, in order of shards.
      number: of the temporary names of all.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.number = temporary_files.new_number()
        self.data: list[PendingFile | MovedFile] = []
        self._index: PendingFile | None = None
        self._begun = False

    def commit(self, index: bytes) -> None:
        """Writes the index, and gives all files their names, which finished saves of others do before or after.

        An error before the first has its name leaves things as they were. After one, what was saved is there: whoever reads it,
        or saves next, finds the other files.
        """
        self._index = PendingFile(index_name(self._prefix), self.number)
        self._index.write(index)
        self._index.finish()
        with _committing(self._prefix):
            for file in self.data:
                file.commit()
                self._begun = True
            self._index.commit()
        self.close()
        sync_folder(self._prefix)

    def close(self) -> None:
        """Gives up the locks."""
        for file in self._index_first():
            file.close()

    def abandon(self) -> None:
        """Undoes what was done, unless a file has its name: then others complete it."""
        for file in self._index_first():
            if self._begun:
                file.close()
            else:
                file.abandon()

    def _index_first(self) -> list[PendingFile | MovedFile]:
        return [*([self._index] if self._index else ()), *self.data]


@contextlib.contextmanager
def _committing(prefix: str) -> Iterator[None]:
    path = index_name(prefix) + _LOCK_MARK
    with file_io.tensorflow_errors(path), temporary_files.exclusive(path):
        yield


# ---- what killed saves left ----


def settle(prefix: str) -> None:
    """Completes or deletes what killed saves left in the folder of a prefix."""
    folder = os.path.dirname(prefix)
    saves: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in _names(folder):
        path = os.path.join(folder, name)
        found = temporary_files.NAME.search(path)
        if found is not None:
            saves[KIND.sub("", path[: found.start()]), found.group(1)].append(path)
        elif name.endswith(_LOCK_MARK):
            temporary_files.remove_unlocked(path)
    for (owner, number), paths in saves.items():
        try:
            _settle_one(owner, number, paths)
        except (OSError, errors.OpError) as error:
            logging.warning("Cannot settle what a killed save left (%s): %s", ", ".join(paths), error)


def _names(folder: str) -> Iterable[str]:
    try:
        return os.listdir(file_io.local(folder or "."))
    except (FileNotFoundError, PermissionError):
        return ()


def _settle_one(prefix: str, number: str, paths: list[str]) -> None:
    index = temporary_files.temporary_name(index_name(prefix), number)
    data = sorted(set(paths) - {index})
    with temporary_files.leftovers(paths) as dead:
        if not dead:
            return
        if index not in paths or number not in begun_saves(prefix):
            _delete(index, data)
            return
        with _committing(prefix):
            if not BundleReader(prefix, number).is_whole():
                _delete(index, data)
                return
            for path in (*data, index):
                os.replace(path, temporary_files.NAME.sub("", path))


def _delete(index: str, data: list[str]) -> None:
    """The index goes first: one without a temporary data file would be that of a checkpoint."""
    for path in (index, *data):
        temporary_files.remove(path)
