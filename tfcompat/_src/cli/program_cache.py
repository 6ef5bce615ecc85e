"""The compiled programs of `tfcompat run`, kept on disk from one run to the next.

They are native code: what is loaded lies in a folder and a file that belong to the user and that nobody else can write, and is what
was written. JAX's own cache checks neither, writes in place, never writes a damaged entry again, and drops nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tfcompat._src.base import jax_compat

LIMIT = 2**30
"""Bytes kept, for all versions together; what was used least recently goes first."""
UNUSED = 30 * 24 * 3600
"""Seconds after which a program that nothing has used goes, as those of other versions of JAX."""
_FORMAT = b"tfcompat program 1\n"
_DIGEST_BYTES = hashlib.sha256().digest_size


def keep_programs(least_seconds: float = 0.3) -> None:
    """Lets this process find the programs that earlier ones compiled on a machine like this.

    They lie in $TFCOMPAT_CACHE_DIR (nowhere where that is empty), or in the user's cache folder. JAX's own settings win.

    Args:
      least_seconds: how long compiling a program must take for it to be kept.
    """
    found = store(_machine())
    if found is not None:
        _drop_unused(found.base)
        jax_compat.keep_programs(str(found.folder), found, least_seconds)


def store(name: str) -> ProgramStore | None:
    """The store of compiled programs in the folder of a name, 16 hexadecimal digits; None where nothing can be kept."""
    base = _base()
    if base is None:
        return None
    folder = base / name
    with contextlib.suppress(OSError):  # one that is there but cannot be written is read
        base.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    try:
        status = os.lstat(folder)
    except OSError:
        return None  # no such folder can be made
    wrong = _distrust(status) if stat.S_ISDIR(status.st_mode) else "is not a folder"
    if wrong:
        sys.stderr.write(f"tfcompat run: compiled programs are not kept, because {folder} {wrong}\n")
        return None
    return ProgramStore(base, folder)


def _base() -> Path | None:
    """The folder of the programs of all versions."""
    chosen = os.environ.get("TFCOMPAT_CACHE_DIR")
    if chosen is not None:
        return Path(chosen).absolute() if chosen else None
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "tfcompat"
    except RuntimeError:
        return None  # a user without a home


def _machine() -> str:
    """A name that processes share where one can run what the other has compiled, and read what it has compressed."""
    processor = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            found = re.findall(r"^(?:model name|flags|Features)\s*:.*$", file.read(), re.MULTILINE)
        processor = "\n".join(sorted(set(found))) or processor
    python = ".".join(map(str, sys.version_info[:2]))
    return name_of("\n".join((platform.system(), platform.machine(), processor, jax_compat.VERSIONS, python)))


def name_of(text: str) -> str:
    """The name of the folder of a kind of programs."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _distrust(status: os.stat_result) -> str | None:
    """Why a file, or what lies in a folder, could be somebody else's."""
    if status.st_uid != os.geteuid():
        return f"belongs to another user ({status.st_uid})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by other users"
    return None


class ProgramStore:
    """Where JAX keeps compiled programs and finds them: a file for each.

    Args:
      base: the folder of all versions.
      folder: the folder of this one.
    """

    def __init__(self, base: Path, folder: Path) -> None:
        self.base, self.folder = base, folder

    def get(self, key: str) -> bytes | None:
        """The program with a key; None where there is none, or none that can be trusted."""
        try:
            file = os.open(self.folder / f"{key}-cache", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        with open(file, "rb") as opened:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode) or _distrust(status):
                return None
            head, digest, value = opened.read(len(_FORMAT)), opened.read(_DIGEST_BYTES), opened.read()
            if head != _FORMAT or digest != _digest(key, value):
                return None
            with contextlib.suppress(OSError):  # in a folder that cannot be written
                os.utime(file)
        return value

    def put(self, key: str, value: bytes) -> None:
        """Keeps a program, in place of one that could not be used; a full disk or a folder that cannot be written keeps none."""
        with contextlib.suppress(OSError):
            file, name = tempfile.mkstemp(suffix="-cache", prefix=".", dir=self.folder)
            try:
                with open(file, "wb") as opened:
                    opened.write(_FORMAT + _digest(key, value) + value)
                os.replace(name, self.folder / f"{key}-cache")
            except OSError:
                os.unlink(name)
                raise
            _drop_unused(self.base)


def _digest(key: str, value: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + value).digest()


def _drop_unused(base: Path) -> None:
    """Deletes what nothing has used for long, and what goes over the limit; other processes may do the same meanwhile."""
    total, oldest = 0, time.time() - UNUSED
    for used, size, file in sorted(_files(base), reverse=True):
        total += size
        if total > LIMIT or used < oldest:
            with contextlib.suppress(OSError):
                os.unlink(file)
                os.rmdir(os.path.dirname(file))  # where that was the last


def _files(base: Path) -> Iterator[tuple[float, int, str]]:
    """(time of last use, bytes, path) of the files that hold programs, of all versions."""
    for folder in _entries(base):
        if re.fullmatch("[0-9a-f]{16}", folder.name) and folder.is_dir(follow_symlinks=False):
            for file in _entries(folder):
                with contextlib.suppress(OSError):  # another process has deleted it
                    status = file.stat(follow_symlinks=False)
                    if status.st_uid == os.geteuid():
                        yield status.st_mtime, status.st_size, file.path


def _entries(folder: str | os.PathLike) -> list[os.DirEntry]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []  # it is gone, or cannot be read
