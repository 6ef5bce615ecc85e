"""The Python stack as lists of frames, and blocks in which frames are renamed or left out of it."""

from __future__ import annotations

import collections
import inspect
import linecache
import sys
import threading
import types
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self, overload

from tfcompat._src.base.node_like import Frame

TB_FILENAME, TB_LINENO, TB_FUNCNAME, TB_CODEDICT = range(4)


class StackFrame(NamedTuple):
    """One frame: where it stands, in which function, the names there, and the first line of the function."""

    filename: str
    lineno: int
    name: str
    globals: dict[str, Any] | None
    func_start_lineno: int


class StackTraceTransform:
    """A block in which `extract_stack` of this thread shows other frames; the innermost block of a kind counts."""

    _active: ClassVar[dict[int, list[Any]]]  # of the kind that has it
    parent: StackTraceTransform | None = None

    def __enter__(self) -> StackTraceTransform:
        self.reset()
        stack = self._active[threading.get_ident()]
        self.parent = stack[-1] if stack else None
        stack.append(self)
        return self

    def __exit__(self, *unused: object) -> None:
        self._active[threading.get_ident()].pop()

    def reset(self) -> None:
        """Forgets what was computed in an earlier block."""

    @classmethod
    def _innermost(cls) -> Self | None:
        stack = cls._active.get(threading.get_ident())
        return stack[-1] if stack else None


class StackTraceMapper(StackTraceTransform):
    """A block in which frames stand elsewhere; a subclass says where."""

    _active = collections.defaultdict(list)

    def get_effective_source_map(self) -> Mapping[tuple[str, int], tuple[str, int, str]]:
        """(file, line) to (file, line, function)."""
        raise NotImplementedError("subclasses need to override this")


class StackTraceFilter(StackTraceTransform):
    """A block in which frames of some files are left out; a subclass says of which."""

    _active = collections.defaultdict(list)

    def get_filtered_filenames(self) -> frozenset[str]:
        """The files."""
        raise NotImplementedError("subclasses need to override this")


class CurrentModuleFilter(StackTraceFilter):
    """A block in which the frames of the file that makes it are left out."""

    def __init__(self) -> None:
        self._filename = inspect.getsourcefile(sys._getframe(1))

    def get_filtered_filenames(self) -> frozenset[str]:
        outer = self.parent.get_filtered_filenames() if isinstance(self.parent, StackTraceFilter) else frozenset()
        return outer if self._filename is None else outer | {self._filename}


def extract_stack(limit: int = -1) -> list[StackFrame]:
    """The frames of the caller, outermost first; with a limit only so many of the innermost."""
    return frames_from(sys._getframe(1), limit)


def frames_from(frame: types.FrameType | None, limit: int) -> list[StackFrame]:
    """A frame and those around it, outermost first."""
    mapper, leaving_out = StackTraceMapper._innermost(), StackTraceFilter._innermost()
    places: Mapping[tuple[str, int], tuple[str, int, str]] = mapper.get_effective_source_map() if mapper else {}
    hidden = leaving_out.get_filtered_filenames() if leaving_out else frozenset()
    found: list[StackFrame] = []
    while frame is not None and len(found) != limit:
        code = frame.f_code
        if not found or code.co_filename not in hidden:
            here = (code.co_filename, frame.f_lineno, code.co_name)
            file, line, name = places.get(here[:2], here)
            found.append(StackFrame(file, line, name, frame.f_globals, code.co_firstlineno))
        frame = frame.f_back
    return found[::-1]


@overload
def convert_stack(stack: Iterable[StackFrame], include_func_start_lineno: Literal[False] = False) -> tuple[Frame, ...]: ...


@overload
def convert_stack(stack: Iterable[StackFrame], include_func_start_lineno: bool) -> tuple[tuple[Any, ...], ...]: ...


def convert_stack(stack: Iterable[StackFrame], include_func_start_lineno: bool = False) -> tuple[tuple[Any, ...], ...]:
    """Frames as (file, line, function, source line) tuples, on demand with the first line of the function."""
    return tuple(
        (*frame[:3], linecache.getline(frame.filename, frame.lineno, frame.globals).strip() or None)
        + ((frame.func_start_lineno,) if include_func_start_lineno else ())
        for frame in stack
    )
