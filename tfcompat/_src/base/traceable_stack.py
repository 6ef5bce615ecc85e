"""`tensorflow.python.framework.traceable_stack`: stacks whose entries record the source line that pushed them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base.tf_stack import frames_from

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class TraceableObject:
    """An object with the file and line of its origin."""

    SUCCESS, HEURISTIC_USED, FAILURE = 0, 1, 2

    def __init__(self, obj: Any, filename: str | None = None, lineno: int | None = None) -> None:
        self.obj, self.filename, self.lineno = obj, filename, lineno

    def set_filename_and_line_from_caller(self, offset: int = 0) -> int:
        """Sets file and line to those of the caller, or of the frame `offset` calls further out.

        Returns:
          SUCCESS, HEURISTIC_USED if the stack is shorter (the outermost frame is used), or FAILURE if there is no frame.
        """
        frames = frames_from(sys._getframe(1), offset + 1)
        if not frames:
            return self.FAILURE
        self.filename, self.lineno = frames[0].filename, frames[0].lineno
        return self.SUCCESS if len(frames) > offset else self.HEURISTIC_USED

    def copy_metadata(self) -> TraceableObject:
        """Returns a copy with file and line, but without the object."""
        return type(self)(None, self.filename, self.lineno)


def from_program(obj: Any) -> TraceableObject:
    """Returns an object with the innermost source line outside tfcompat and `contextlib`: the line of the program."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        frame = frame.f_back
    return TraceableObject(obj, frame.f_code.co_filename, frame.f_lineno)


def _is_inside(filename: str) -> bool:
    return filename.startswith(_OWN) or filename.endswith("contextlib.py")


class TraceableStack:
    """A stack of objects that records the source line of each push."""

    def __init__(self, existing_stack: list[TraceableObject] | None = None) -> None:
        self._stack = list(existing_stack or ())

    def push_obj(self, obj: Any, offset: int = 0) -> int:
        """Pushes an object with the file and line of the caller, or of the frame `offset` calls further out; returns a status."""
        pushed = TraceableObject(obj)
        self._stack.append(pushed)
        return pushed.set_filename_and_line_from_caller(offset + 1)

    def pop_obj(self) -> Any:
        """Removes and returns the last object."""
        return self._stack.pop().obj

    def peek_top_obj(self) -> Any:
        """Returns the last object."""
        return self._stack[-1].obj

    def peek_objs(self) -> Iterator[Any]:
        """Returns an iterator over the objects, the last first."""
        return (each.obj for each in reversed(self._stack))

    def peek_traceable_objs(self) -> Iterator[TraceableObject]:
        """Returns an iterator over the TraceableObjects, the last first."""
        return reversed(self._stack)

    def __len__(self) -> int:
        return len(self._stack)

    def copy(self) -> TraceableStack:
        """Returns another stack with the same objects."""
        return TraceableStack(self._stack)
