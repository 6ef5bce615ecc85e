"""Files appear whole or not at all: they are written under a temporary name and then renamed.

Each temporary file is locked (`flock`) by who writes it, so that the leftovers of a killed process can be told from the files of a
living one. The lock goes with the process, whatever namespace its PID is in; a forked child holds it too. Where the file system has
no locks, nothing is taken for a leftover. The number in a temporary name also says which running kernel made it: a lock on a network
drive may be known to one machine alone, so the files of another are leftovers only if they are a day old.
"""

from __future__ import annotations

import _thread
import contextlib
import errno
import fcntl
import functools
import os
import pathlib
import platform
import re
import shutil
import stat
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from tfcompat._src.base import confinement

MARK = ".tempstate"
NAME = re.compile(re.escape(MARK) + r"(\d+)$")
_RANDOM_BITS = 40
_FOREIGN_LEFTOVER_SECONDS = 24 * 3600
_NO_LOCKS = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENOLCK, errno.EINVAL, errno.EBADF}

_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")


def uninterrupted(function: Callable[_Params, _Result]) -> Callable[_Params, _Result]:
    """A function that, once begun, goes to its end before what a signal's handler raises reaches its caller.

    Python runs handlers in the main thread alone, so there the function runs in another one.
    """

    @functools.wraps(function)
    def call(*args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        if threading.current_thread() is not threading.main_thread():
            return function(*args, **kwargs)
        outcome = _in_a_thread(lambda: function(*args, **kwargs))
        if outcome is None:
            return function(*args, **kwargs)
        result, error = outcome
        if error is not None:
            raise error
        return result  # type: ignore[return-value]

    return call


def _in_a_thread(function: Callable[[], _Result]) -> tuple[_Result | None, BaseException | None] | None:
    """What a function returned or raised in a thread of its own; None where none can start, as when Python exits.

    Handlers may raise between any two steps here. Locks are taken by single calls, and whoever takes `turn` decides whether it runs.
    """
    outcome: list[tuple[_Result | None, BaseException | None]] = []
    turn, done = threading.Lock(), threading.Lock()
    done.acquire()
    function = confinement.bound(function)

    def run() -> None:
        if turn.acquire(blocking=False):
            try:
                outcome.append((function(), None))
            except BaseException as error:  # noqa: BLE001  (raised again in the caller's thread)
                outcome.append((None, error))
            done.release()

    interrupt: BaseException | None = None
    tried = False
    while not outcome:
        try:
            if not tried:
                tried = True
                _thread.start_new_thread(run, ())
            done.acquire()
        except BaseException as error:
            if turn.acquire(blocking=False):
                if isinstance(error, RuntimeError) and error.__traceback__.tb_next is None:  # type: ignore[union-attr]
                    return None
                raise
            interrupt = interrupt or error
    if interrupt is not None:
        raise interrupt
    return outcome[0]


# ---- locks ----


def lock(file: int, wait: bool = True) -> bool | None:
    """Locks an open file; false where another holds its lock, None where the file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return None
    return True


def open_to_lock(path: str) -> int:
    """The descriptor of a file for `lock`: some network drives lock only what is open for writing."""
    confinement.require_file(path)
    try:
        return os.open(path, os.O_RDWR)
    except PermissionError:
        return os.open(path, os.O_RDONLY)


def is_named(file: int, path: str) -> bool:
    """Whether a name is that of an open file."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def exclusive(path: str) -> Iterator[None]:
    """A block that one writer at a time is in, of all that name this lock file, which goes at the end."""
    confinement.require_file(path)
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except PermissionError:  # another user's
            file = open_to_lock(path)
        try:
            locked = lock(file)
            if locked is None or is_named(file, path):
                try:
                    yield
                finally:
                    with contextlib.suppress(FileNotFoundError, PermissionError):
                        os.unlink(path)
                return
        finally:
            os.close(file)


# ---- temporary names ----


@functools.cache
def _this_kernel() -> int:
    try:
        identity = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        identity = platform.node()
    return zlib.crc32(identity.encode()) >> 8


def new_number() -> str:
    """What makes a temporary name one of its own."""
    return str(_this_kernel() << _RANDOM_BITS | int.from_bytes(os.urandom(_RANDOM_BITS // 8), "little"))


def temporary_name(path: str, number: str) -> str:
    return path + MARK + number


def create(path: str, number: str | None = None) -> tuple[int, str]:
    """A new locked file, open for writing, under a temporary name; by default with a new number."""
    confinement.require_file(path)
    while True:
        temporary = temporary_name(path, number or new_number())
        file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            lock(file)
            if is_named(file, temporary):  # none took it for a leftover before it was locked
                return file, temporary
        except BaseException:
            remove(temporary)
            os.close(file)
            raise
        os.close(file)


@contextlib.contextmanager
def leftovers(paths: list[str]) -> Iterator[bool]:
    """Whether these temporary files are all leftovers; nobody else finds them so during the block."""
    with contextlib.ExitStack() as claims:
        yield all([_claim(path, claims) for path in paths])


def _claim(path: str, claims: contextlib.ExitStack) -> bool:
    try:
        file = os.open(path, os.O_RDWR)
    except (FileNotFoundError, PermissionError):
        return False
    claims.callback(os.close, file)
    if not lock(file, wait=False) or not is_named(file, path):
        return False
    number = int(NAME.search(path).group(1))  # type: ignore[union-attr]
    return number >> _RANDOM_BITS == _this_kernel() or time.time() - os.fstat(file).st_mtime > _FOREIGN_LEFTOVER_SECONDS


def remove_unlocked(path: str) -> None:
    """Deletes a file that nobody has locked."""
    with contextlib.suppress(FileNotFoundError, PermissionError):
        file = os.open(path, os.O_RDWR)
        try:
            if lock(file, wait=False) and is_named(file, path):
                os.unlink(path)
        finally:
            os.close(file)


def remove(path: str) -> None:
    """Deletes a file, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


# ---- whole files ----


@uninterrupted
def write_whole(path: str, data: bytes, check: Callable[[], Any] = lambda: None) -> None:
    """Writes a file so that no reader, and no crash, sees a part of it.

    Args:
      path: its name. data: its content.
      check: called before the file gets its name; it may raise, and then there is no file.

    Raises:
      OSError: it cannot be written.
    """
    file, temporary = create(path)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        check()
        os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise
    finally:
        os.close(file)


@contextlib.contextmanager
def replacing(path: str) -> Iterator[str]:
    """A block that writes a file to the name that it is given; at its end that is renamed, or deleted where it raises.

    A link leads to the file that is replaced, which keeps its permissions; what is no regular file is written to directly.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        yield path
        return
    temporary = f"{target}.tmp{new_number()}"  # not a leftover for others, as it is not locked
    try:
        yield temporary
        if os.path.exists(target):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        remove(temporary)
        raise
