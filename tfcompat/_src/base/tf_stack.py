"""`tensorflow.python.util.tf_stack`: the Python stack as lists of frames, and contexts that map frames to other sources or hide them."""

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
    """One frame: file, line, function, the module's globals, and the first line of the function."""

    filename: str
    lineno: int
    name: str
    globals: dict[str, Any] | None
    func_start_lineno: int


class StackTraceTransform:
    """A context that changes what `extract_stack` returns in this thread; of nested ones of a kind, the innermost counts."""

    _active: ClassVar[dict[int, list[Any]]]  # thread id -> open contexts; each kind of transform has its own
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
        """Clears what a subclass cached in an earlier block."""

    @classmethod
    def _innermost(cls) -> Self | None:
        stack = cls._active.get(threading.get_ident())
        return stack[-1] if stack else None


class StackTraceMapper(StackTraceTransform):
    """A context in which frames are mapped to other source lines; a subclass defines the map."""

    _active = collections.defaultdict(list)

    def get_effective_source_map(self) -> Mapping[tuple[str, int], tuple[str, int, str]]:
        """Returns the map from (file, line) to (file, line, function)."""
        raise NotImplementedError("subclasses need to override this")


class StackTraceFilter(StackTraceTransform):
    """A context in which the frames of some files are hidden; a subclass defines the files."""

    _active = collections.defaultdict(list)

    def get_filtered_filenames(self) -> frozenset[str]:
        """Returns the names of the hidden files."""
        raise NotImplementedError("subclasses need to override this")


class CurrentModuleFilter(StackTraceFilter):
    """A context in which the frames of the file that makes it are hidden."""

    def __init__(self) -> None:
        self._filename = inspect.getsourcefile(sys._getframe(1))

    def get_filtered_filenames(self) -> frozenset[str]:
        # Nested filters add up.
        outer = self.parent.get_filtered_filenames() if isinstance(self.parent, StackTraceFilter) else frozenset()
        return outer if self._filename is None else outer | {self._filename}


def extract_stack(limit: int = -1) -> list[StackFrame]:
    """Returns the stack of the caller, outermost frame first; with a limit, only that many innermost frames."""
    return frames_from(sys._getframe(1), limit)


def frames_from(frame: types.FrameType | None, limit: int) -> list[StackFrame]:
    """Returns a frame and its callers, outermost first, mapped and filtered by the open contexts; a filter keeps the innermost frame."""
    mapper, leaving_out = StackTraceMapper._innermost(), StackTraceFilter._innermost()
    sources: Mapping[tuple[str, int], tuple[str, int, str]] = mapper.get_effective_source_map() if mapper else {}
    hidden = leaving_out.get_filtered_filenames() if leaving_out else frozenset()
    frames: list[StackFrame] = []
    while frame is not None and len(frames) != limit:
        code = frame.f_code
        # The innermost frame stays, even if its file is hidden.
        if not frames or code.co_filename not in hidden:
            own = (code.co_filename, frame.f_lineno, code.co_name)
            file, line, name = sources.get(own[:2], own)
            frames.append(StackFrame(file, line, name, frame.f_globals, code.co_firstlineno))
        frame = frame.f_back
    return frames[::-1]


@overload
def convert_stack(stack: Iterable[StackFrame], include_func_start_lineno: Literal[False] = False) -> tuple[Frame, ...]: ...


@overload
def convert_stack(stack: Iterable[StackFrame], include_func_start_lineno: bool) -> tuple[tuple[Any, ...], ...]: ...


def convert_stack(stack: Iterable[StackFrame], include_func_start_lineno: bool = False) -> tuple[tuple[Any, ...], ...]:
    """Returns frames as (file, line, function, source line) tuples, optionally followed by the first line of the function."""
    return tuple(
        (*frame[:3], linecache.getline(frame.filename, frame.lineno, frame.globals).strip() or None)
        + ((frame.func_start_lineno,) if include_func_start_lineno else ())
        for frame in stack
    )
