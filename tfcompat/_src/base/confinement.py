"""Limits of runs that a server does for clients in other processes: which files they may use, and no Python functions of the server.

A request enters its limits in the thread that answers it (`confined`). Threads and objects that a run makes and that outlive the call take
them along (`bound`). What opens a file, calls a Python function or connects to an address asks here at that moment, so no node, feed or
attribute of a graph can go around it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import NamedTuple, ParamSpec, TypeVar

from tfcompat._src.base import errors

_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")


class Confinement(NamedTuple):
    """The limits of a server's clients in other processes.

    Attributes:
      folders: real paths of the folders whose files they may use.
      remedy: the last sentence of errors: what lets others use more.
    """

    folders: tuple[str, ...]
    remedy: str

    def allows(self, path: str) -> bool:
        """Whether a local path is in one of the folders, after all symbolic links are followed."""
        try:
            real = os.path.realpath(path)
        except ValueError:  # a NUL character: no file
            return False
        return any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in self.folders)

    def refused(self, subject: str) -> errors.PermissionDeniedError:
        """Returns the error for something that is refused."""
        return errors.PermissionDeniedError(None, None, f"This server refuses {subject}. {self.remedy}")


class _Current(threading.local):
    confinement: Confinement | None = None


_current = _Current()


def current() -> Confinement | None:
    """Returns the limits of this thread's run; None if it may do what the process may."""
    return _current.confinement


@contextlib.contextmanager
def confined(confinement: Confinement | None) -> Iterator[None]:
    """A block whose runs have these limits; None changes nothing."""
    outer = _current.confinement
    if confinement is not None:
        _current.confinement = confinement
    try:
        yield
    finally:
        _current.confinement = outer


def bound(function: Callable[_Params, _Result]) -> Callable[_Params, _Result]:
    """Returns a function that keeps the limits of this thread's run wherever it is called: in another thread, or by another session."""
    confinement = _current.confinement
    if confinement is None:
        return function

    def call(*args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        with confined(confinement):
            return function(*args, **kwargs)

    return call


def require_file(path: str) -> None:
    """Raises errors.PermissionDeniedError if this thread's run may not use the file or folder at a local path."""
    if _current.confinement is not None and not _current.confinement.allows(path):
        raise _current.confinement.refused(f"the file {path!r}")


def require_unconfined(subject: str) -> None:
    """Raises errors.PermissionDeniedError if this thread's run is for a client in another process, which may not have `subject`."""
    if _current.confinement is not None:
        raise _current.confinement.refused(f"{subject} to graphs of other processes")
