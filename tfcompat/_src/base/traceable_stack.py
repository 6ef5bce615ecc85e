"""Objects with the place in the program where they were put on a stack."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base.tf_stack import frames_from

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class TraceableObject:
    """An object, and the file and line that it comes from."""

    SUCCESS, HEURISTIC_USED, FAILURE = 0, 1, 2

    def __init__(self, obj: Any, filename: str | None = None, lineno: int | None = None) -> None:
        self.obj, self.filename, self.lineno = obj, filename, lineno

    def set_filename_and_line_from_caller(self, offset: int = 0) -> int:
        """Takes file and line of the caller, or of one `offset` calls further out; HEURISTIC_USED where that is too far."""
        frames = frames_from(sys._getframe(1), offset + 1)
        if not frames:
            return self.FAILURE
        self.filename, self.lineno = frames[0].filename, frames[0].lineno
        return self.SUCCESS if len(frames) > offset else self.HEURISTIC_USED

    def copy_metadata(self) -> TraceableObject:
        """File and line without the object."""
        return type(self)(None, self.filename, self.lineno)


def from_program(obj: Any) -> TraceableObject:
    """An object with the innermost line outside of tfcompat and `contextlib`."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame.f_code.co_filename):
        frame = frame.f_back
    return TraceableObject(obj, frame.f_code.co_filename, frame.f_lineno)


def _is_inside(filename: str) -> bool:
    return filename.startswith(_OWN) or filename.endswith("contextlib.py")


class TraceableStack:
    """A stack of objects with the places they were pushed at."""

    def __init__(self, existing_stack: list[TraceableObject] | None = None) -> None:
        self._stack = list(existing_stack or ())

    def push_obj(self, obj: Any, offset: int = 0) -> int:
        """Pushes an object with file and line of the caller, or of one `offset` calls further out."""
        pushed = TraceableObject(obj)
        self._stack.append(pushed)
        return pushed.set_filename_and_line_from_caller(offset + 1)

    def pop_obj(self) -> Any:
        """Takes the last object off."""
        return self._stack.pop().obj

    def peek_top_obj(self) -> Any:
        """The last object."""
        return self._stack[-1].obj

    def peek_objs(self) -> Iterator[Any]:
        """The objects, the last first."""
        return (each.obj for each in reversed(self._stack))

    def peek_traceable_objs(self) -> Iterator[TraceableObject]:
        """The objects with their places, the last first."""
        return reversed(self._stack)

    def __len__(self) -> int:
        return len(self._stack)

    def copy(self) -> TraceableStack:
        """Another stack with the same objects."""
        return TraceableStack(self._stack)
