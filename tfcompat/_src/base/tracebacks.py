"""Folding of tracebacks: hides the frames of tfcompat and JAX, which tell the author of a program nothing."""

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
"""Library files through which tfcompat calls and is called: their frames are folded only next to those of tfcompat or JAX."""


def is_own(file: str) -> bool:
    """Returns whether a file belongs to tfcompat or JAX."""
    return file.startswith(_OWN)


@contextlib.contextmanager
def folded(error: BaseException) -> Iterator[str]:
    """Removes the frames of tfcompat and JAX from the tracebacks of an exception, its causes and contexts, and the members of groups.

    The tracebacks are restored after the block, so that a debugger sees all frames. Nothing is removed if TFCOMPAT_TRACEBACK is "full",
    or if the traceback of `error` itself has no other frames.

    Args:
      error: an exception that was raised.

    Yields:
      a line that tells how many frames are hidden; "" if none is.
    """
    chain = _chain(error)
    whole = [each.__traceback__ for each in chain]
    short = [_split(trace) for trace in whole]
    # If all frames are those of tfcompat and JAX, hiding them would leave no traceback.
    if os.environ.get(VARIABLE) == "full" or not short[0][0]:
        yield ""
        return
    # New traceback objects replace the old ones; the old ones are not changed, and return after the block.
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
    """Returns an exception, its causes and contexts, and the members of groups, each once, the exception itself first."""
    visited: dict[int, BaseException] = {}
    ahead: list[BaseException | None] = [error]
    while ahead:
        each = ahead.pop()
        if each is None or id(each) in visited:
            continue
        visited[id(each)] = each
        members = each.exceptions if isinstance(each, BaseExceptionGroup) else ()
        ahead += (each.__cause__, each.__context__, *members)
    return list(visited.values())


def _split(trace: types.TracebackType | None) -> tuple[list[types.TracebackType], int]:
    """Returns the entries of a traceback that are shown, and the number of hidden ones."""
    entries = []
    # Tracebacks are linked lists, outermost frame first.
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    files = [entry.tb_frame.f_code.co_filename for entry in entries]
    own = [file.startswith(_OWN) for file in files]
    # Marks helpers that are called from hidden frames (forward pass), then those that call hidden frames (backward pass).
    for positions, step in ((range(1, len(own)), -1), (range(len(own) - 2, -1, -1), 1)):
        for i in positions:
            own[i] = own[i] or (own[i + step] and files[i].startswith(_HELPERS))
    kept = [entry for entry, is_own in zip(entries, own) if not is_own]
    return kept, len(entries) - len(kept)


def _joined(entries: list[types.TracebackType]) -> types.TracebackType | None:
    """Links entries to a new traceback."""
    trace = None
    for entry in reversed(entries):
        trace = types.TracebackType(trace, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return trace
