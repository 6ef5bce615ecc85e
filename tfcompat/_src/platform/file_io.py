"""`tf.gfile` and `tf.io.gfile` on local files, with TensorFlow's error classes."""

from __future__ import annotations

import contextlib
import errno
import functools
import glob as python_glob
import os
import re
import shutil
import stat as python_stat
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple, cast

from tfcompat._src.base import confinement, errors
from tfcompat._src.base.export import export
from tfcompat._src.platform import compat, temporary_files

MODES = ("r", "w", "a", "r+", "w+", "a+")
ERROR_OF_ERRNO = {
    errno.ENOENT: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.EINVAL: errors.InvalidArgumentError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
}
_SYSTEM_NAMES_ARE_UTF8 = sys.getfilesystemencoding() == "utf-8"


class FileStatistics(NamedTuple):
    """What `stat` returns: size in bytes, time of the last change in ns, whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


@contextlib.contextmanager
def tensorflow_errors(path: str) -> Iterator[None]:
    """A block in which an OSError becomes the `tf.errors` class of its number."""
    try:
        yield
    except OSError as error:
        error_class = ERROR_OF_ERRNO.get(error.errno or 0, errors.UnknownError)
        raise error_class(None, None, f"{path}; {error.strerror}") from error


def local(path: object) -> str:
    """The local path that `path` (str, bytes, path object, `file://` address) names; whatever uses files asks here for each of them.

    Raises:
      UnimplementedError: it is an address on another file system.
      PermissionDeniedError: this thread runs for a client of a server that does not let it use the file, see `base/confinement`.
    """
    named = named_path(path)
    confinement.require_file(named)
    return named


def named_path(path: object) -> str:
    """The local path that `path` names, of a pattern too, whose matches are then checked one by one; raises UnimplementedError as `local`."""
    text = compat.as_text(compat.path_to_str(path))
    scheme, separator, rest = text.partition("://")
    if not separator or "/" in scheme:
        return _system_name(text)
    if scheme != "file":
        raise errors.UnimplementedError(
            None, None, f"File system scheme '{scheme}' not implemented (file: '{text}'): copy it to a local folder"
        )
    return _system_name(rest)


def _system_name(text: str) -> str:
    """The name by which Python finds a file: names are UTF-8 on the disk, as TensorFlow has it, whatever the locale says."""
    return text if _SYSTEM_NAMES_ARE_UTF8 else os.fsdecode(text.encode("utf-8", "surrogateescape"))


def _text_of(name: str) -> str:
    """The text of a name that Python found."""
    return name if _SYSTEM_NAMES_ARE_UTF8 else os.fsencode(name).decode("utf-8", "surrogateescape")


def opened(path: object, mode: str = "rb", buffering: int = -1) -> BinaryIO:
    """Opens a file for reading or writing bytes; raises the error of `tf.errors` that belongs to the system's, and those of `local`."""
    where = local(path)
    with tensorflow_errors(where):
        return cast(BinaryIO, open(where, mode, buffering))


@export("gfile.GFile", "gfile.Open", "io.gfile.GFile")
class FileIO:
    """A file that is opened for reading when it is first read, and anew for writing when it is first written.

    What was written can be read after `flush` or `close`, from the start of the file.

    Args:
      name: its path.
      mode: r, w, a, r+, w+ or a+, with b for bytes; without b, reading gives str.

    Raises:
      InvalidArgumentError: the mode is none of these.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._name = name
        self._mode = mode
        self._binary = "b" in mode
        plain = mode.replace("b", "")
        if plain not in MODES:
            raise errors.InvalidArgumentError(None, None, "mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'")
        self._may_read = plain in ("r", "r+", "w+", "a+")
        self._may_write = plain in ("w", "a", "r+", "w+", "a+")
        self._write_mode = "ab" if "a" in plain else "wb"
        self._reader: BinaryIO | None = None
        self._writer: BinaryIO | None = None

    @property
    def name(self) -> Any:
        """The path that was given."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode that was given."""
        return self._mode

    def _open(self, mode: str) -> BinaryIO:
        return opened(self._name, mode)

    def _for_reading(self) -> BinaryIO:
        if not self._may_read:
            raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
        if self._reader is None:
            self._reader = self._open("rb")
        return self._reader

    def _for_writing(self) -> BinaryIO:
        if not self._may_write:
            raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
        if self._writer is None:
            self._writer = self._open(self._write_mode)
        return self._writer

    def _text(self, data: bytes) -> bytes | str:
        return data if self._binary else compat.as_text(data)

    def size(self) -> int:
        """The size of the file in bytes."""
        return stat(self._name).length

    def read(self, n: int = -1) -> Any:
        """The next `n` bytes (all that follow if negative), as str unless the mode has b."""
        file = self._for_reading()
        with tensorflow_errors(local(self._name)):
            return self._text(file.read(n))

    def readline(self) -> bytes | str:
        """The next line with its end; empty at the end of the file."""
        return self._text(self._for_reading().readline())

    def readlines(self) -> list[Any]:
        """All lines that follow."""
        return [self._text(line) for line in self._for_reading()]

    def write(self, file_content: object) -> None:
        """Appends bytes or str at the current place."""
        file = self._for_writing()
        with tensorflow_errors(local(self._name)):
            file.write(compat.as_bytes(file_content))

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Moves to byte `offset` from the start (`whence` 0), the current place (1) or the end (2).

        Raises:
          InvalidArgumentError: another `whence`.
        """
        file = self._for_reading()
        if offset is None and position is None:
            raise TypeError("seek(): offset argument required")
        if offset is not None and position is not None:
            raise TypeError("seek(): offset and position may not be set simultaneously.")
        offset = position if offset is None else offset
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(
                None, None, f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            )
        with tensorflow_errors(local(self._name)):
            file.seek(offset, whence)

    def tell(self) -> int:
        """The current place, in bytes from the start."""
        return (self._for_reading() if self._may_read else self._for_writing()).tell()

    def seekable(self) -> bool:
        """True: every file can seek."""
        return True

    def flush(self) -> None:
        """Hands what was written to the operating system."""
        if self._writer is not None:
            with tensorflow_errors(local(self._name)):
                self._writer.flush()

    def close(self) -> None:
        """Closes the file; a later read or write opens it again."""
        reader, writer, self._reader, self._writer = self._reader, self._writer, None, None
        if reader is not None:
            reader.close()
        if writer is not None:
            with tensorflow_errors(local(self._name)):
                writer.close()

    def __enter__(self) -> FileIO:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __iter__(self) -> FileIO:
        return self

    def __next__(self) -> bytes | str:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def __del__(self) -> None:
        if hasattr(self, "_writer"):
            self.close()


@export("gfile.FastGFile")
class FastGFile(FileIO):
    """GFile under the name of programs that wanted no locks."""


@export("io.gfile.exists")
def exists(path: object) -> bool:
    """Whether `path` is a file or folder."""
    return os.path.exists(local(path))


@export("io.gfile.isdir")
def isdir(path: object) -> bool:
    """Whether `path` is a folder."""
    return os.path.isdir(local(path))


@export("io.gfile.mkdir")
def mkdir(path: object) -> None:
    """Makes the folder `path`; its parent must exist.

    Raises:
      NotFoundError: the parent does not exist.
    """
    where = local(path)
    if where and not os.path.isdir(where):
        with tensorflow_errors(where):
            os.mkdir(where)


@export("io.gfile.makedirs")
def makedirs(path: object) -> None:
    """Makes the folder `path` and those above it."""
    where = local(path)
    if where:
        with tensorflow_errors(where):
            os.makedirs(where, exist_ok=True)


@export("io.gfile.glob")
def glob(pattern: Any) -> list[str]:
    """The paths that match a pattern, or any of a list of patterns, each pattern's sorted.

    Raises:
      NotFoundError: the folder before the first `*`, `?`, `[` or `\\` of a pattern does not exist.
    """
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else pattern
    return [found for each in patterns for found in sorted(map(_text_of, _matches(named_path(each))))]


def _matches(pattern: str) -> list[str]:
    """The paths that match one pattern; those below the current folder start with `./`, as in 1.15."""
    folder, slash, _ = re.split(r"[*?\[\\]", pattern, maxsplit=1)[0].rpartition("/")
    confinement.require_file(folder or slash or ".")
    if ".." in pattern.split("/"):
        confinement.require_file(pattern)
    if folder and not os.path.isdir(folder):
        raise errors.NotFoundError(None, None, f"{folder}; No such file or directory")
    limits = confinement.current()
    found = python_glob.glob(pattern) if limits is None else _confined_matches(folder + slash, pattern[len(folder + slash) :], limits)
    return found if slash else [f"./{path}" for path in found]


def _confined_matches(folder: str, pattern: str, limits: confinement.Confinement) -> list[str]:
    """The paths below a folder that match and may be used; no folder is listed that may not, as one behind a link."""
    found = [folder]
    for part in pattern.split("/"):
        bases = [path for path in found if limits.allows(path or ".")]
        found = [path for base in bases for path in python_glob.glob(os.path.join(python_glob.escape(base), part))]
    return [path for path in found if limits.allows(path)]


@export("io.gfile.listdir")
def listdir(path: object) -> list[str]:
    """The names in the folder `path`, sorted.

    Raises:
      NotFoundError: it is no folder.
    """
    where = local(path)
    if not os.path.isdir(where):
        raise errors.NotFoundError(None, None, f"Could not find directory {compat.as_text(compat.path_to_str(path))}")
    with tensorflow_errors(where):
        return sorted(map(_text_of, os.listdir(where)))


@export("io.gfile.remove")
def remove(path: object) -> None:
    """Deletes the file `path`.

    Raises:
      NotFoundError: it does not exist.
      FailedPreconditionError: it is a folder.
    """
    where = local(path)
    with tensorflow_errors(where):
        os.unlink(where)


@export("io.gfile.rmtree")
def rmtree(path: object) -> None:
    """Deletes the folder `path` and all in it.

    Raises:
      NotFoundError: it does not exist.
      FailedPreconditionError: it is a file.
    """
    where = local(path)
    if not os.path.exists(where):
        raise errors.NotFoundError(None, None, f"{where} not found")
    with tensorflow_errors(where):
        shutil.rmtree(where)


@export("io.gfile.copy")
def copy(src: object, dst: object, overwrite: bool = False) -> None:
    """Copies the bytes of file `src` to `dst`.

    Raises:
      AlreadyExistsError: `dst` exists and `overwrite` is false.
    """
    refuse_existing(dst, overwrite)
    with tensorflow_errors(local(src)):
        shutil.copyfile(local(src), local(dst))


@export("io.gfile.rename")
def rename(src: object, dst: object, overwrite: bool = False) -> None:
    """Moves a file or folder.

    Raises:
      AlreadyExistsError: `dst` exists and `overwrite` is false.
    """
    refuse_existing(dst, overwrite)
    with tensorflow_errors(local(src)):
        os.replace(local(src), local(dst))


def refuse_existing(path: object, overwrite: bool) -> None:
    if not overwrite and os.path.lexists(local(path)):
        raise errors.AlreadyExistsError(None, None, "file already exists")


@export("io.gfile.stat")
def stat(path: object) -> FileStatistics:
    """Size, time and kind of `path`.

    Raises:
      NotFoundError: it does not exist.
    """
    where = local(path)
    with tensorflow_errors(where):
        found = os.stat(where)
    return FileStatistics(found.st_size, found.st_mtime_ns, python_stat.S_ISDIR(found.st_mode))


@export("io.gfile.walk")
def walk(
    top: object, topdown: bool = True, onerror: Callable[[errors.OpError], None] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields (folder, names of folders in it, names of files in it) for `top` and all folders below it.

    Args:
      top: a folder.
      topdown: whether a folder comes before those in it.
      onerror: what to call with the error of a folder that cannot be listed.
    """
    folder = compat.as_text(compat.path_to_str(top))
    try:
        found = listdir(folder)
    except errors.NotFoundError as error:
        if onerror is not None:
            onerror(error)
        return
    folders = [name for name in found if isdir(os.path.join(folder, name))]
    here = (folder, folders, [name for name in found if name not in folders])
    if topdown:
        yield here
    for name in folders:
        yield from walk(os.path.join(folder, name), topdown, onerror)
    if not topdown:
        yield here


def read_file_to_string(filename: object, binary_mode: bool = False) -> Any:
    """The whole content of a file, as bytes if `binary_mode`."""
    with FileIO(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: object, file_content: object) -> None:
    """Writes a file of the given content."""
    with FileIO(filename, "w") as file:
        file.write(file_content)


def atomic_write_string_to_file(filename: object, contents: object, overwrite: bool = True) -> None:
    """Writes a file so that no reader sees a part of it.

    Raises:
      AlreadyExistsError: the file exists and `overwrite` is false.
    """
    path = local(filename)
    with tensorflow_errors(path):
        temporary_files.write_whole(
            path, compat.as_bytes(contents), functools.partial(refuse_existing, filename, overwrite)
        )


def filecmp(filename_a: object, filename_b: object) -> bool:
    """Whether two files have the same content."""
    return stat(filename_a).length == stat(filename_b).length and file_crc32(filename_a) == file_crc32(filename_b)


def file_crc32(filename: object, block_size: int = 16 * 1024 * 1024) -> str:
    """The CRC-32 of a file's content in hexadecimal, read in blocks of `block_size` bytes."""
    crc = 0
    with FileIO(filename, "rb") as file:
        while chunk := file.read(block_size):
            crc = zlib.crc32(chunk, crc)
    return hex(crc & 0xFFFFFFFF)
