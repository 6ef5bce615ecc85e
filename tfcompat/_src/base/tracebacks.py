"""Tracebacks without the frames of tfcompat and JAX, which say nothing to whoever wrote the program."""

from __future__ import annotations

import contextlib
import os
import threading
import types
from collections.abc import Iterator
from concurrent import futures

from absl import app

from tfcompat._src.base import jax_compat

VARIABLE = "TFCOMPAT_TRACEBACK"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_OWN = (_PACKAGE + os.sep, *jax_compat.FOLDERS)
_HELPERS = (contextlib.__file__, threading.__file__, os.path.dirname(futures.__file__) + os.sep, app.__file__)
"""Libraries through which tfcompat calls and is called: their frames are folded beside its own."""


def is_own(file: str) -> bool:
    """Whether a file is one of tfcompat or JAX."""
    return file.startswith(_OWN)


@contextlib.contextmanager
def folded(error: BaseException) -> Iterator[str]:
    """Takes the frames of tfcompat and JAX out of the tracebacks of an exception, of those that led to it, and of its group.

    Tracebacks are whole again behind the block, so that a debugger finds everything. Nothing is taken out where TFCOMPAT_TRACEBACK is
    "full", or where the traceback of `error` itself has no other frames.

    Args:
      error: an exception that was raised.

    Yields:
      A line that says how many frames are missing; "" where none is.
    """
    chain = _chain(error)
    whole = [each.__traceback__ for each in chain]
    short = [_split(trace) for trace in whole]
    if os.environ.get(VARIABLE) == "full" or not short[0][0]:
        yield ""
        return
    for each, (kept, _) in zip(chain, short):
        each.__traceback__ = _joined(kept)
    count = sum(hidden for _, hidden in short)
    frames = "1 frame" if count == 1 else f"{count} frames"
    try:
        yield f"tfcompat: {frames} of tfcompat and JAX folded; {VARIABLE}=full shows all\n" if count else ""
    finally:
        for each, trace in zip(chain, whole):
            each.__traceback__ = trace


def _chain(error: BaseException) -> list[BaseException]:
    """An exception, what led to it, and the members of groups, each once."""
    found: dict[int, BaseException] = {}
    ahead: list[BaseException | None] = [error]
    while ahead:
        each = ahead.pop()
        if each is None or id(each) in found:
            continue
        found[id(each)] = each
        members = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        ahead += (each.__cause__, each.__context__, *members)
    return list(found.values())


def _split(trace: types.TracebackType | None) -> tuple[list[types.TracebackType], int]:
    """The entries of a traceback to be shown, and how many others there are."""
    entries = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    files = [entry.tb_frame.f_code.co_filename for entry in entries]
    own = [file.startswith(_OWN) for file in files]
    for positions, step in ((range(1, len(own)), -1), (range(len(own) - 2, -1, -1), 1)):
        for i in positions:
            own[i] = own[i] or (own[i + step] and files[i].startswith(_HELPERS))
    kept = [entry for entry, is_own in zip(entries, own) if not is_own]
    return kept, len(entries) - len(kept)


def _joined(entries: list[types.TracebackType]) -> types.TracebackType | None:
    trace = None
    for entry in reversed(entries):
        trace = types.TracebackType(trace, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return trace
