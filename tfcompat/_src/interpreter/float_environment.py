"""Sets the processor's floating-point mode as XLA's CPU programs have it, so that both engines treat denormal numbers alike."""

from __future__ import annotations

import ctypes
import platform
from types import TracebackType

import numpy as np

_FLUSH_BOTH = 0x8040  # MXCSR bits FTZ and DAZ: denormal results and denormal operands become zero
_WORDS, _CONTROL_WORD = 8, 7  # size of glibc's fenv_t in 32-bit words, and the index of MXCSR in it
_IS_KNOWN = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"
_C = ctypes.PyDLL("libm.so.6") if _IS_KNOWN else None
_Environment = ctypes.c_uint32 * _WORDS


class _Mode:
    """A block in which the thread's floating-point mode has some bits set and others cleared."""

    __slots__ = ("_outer",)
    _set, _clear = 0, 0

    def __enter__(self) -> None:
        if _C is not None:
            self._outer = _Environment()
            _C.fegetenv(self._outer)
            inside = _Environment.from_buffer_copy(self._outer)
            inside[_CONTROL_WORD] = inside[_CONTROL_WORD] & ~self._clear | self._set
            _C.fesetenv(inside)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if _C is not None:
            _C.fesetenv(self._outer)


class AsInPython(_Mode):
    """A block in which denormal floats are numbers, as everywhere in Python: for code that computes limits of types, as JAX does while it traces."""

    __slots__ = ()
    _clear = _FLUSH_BOTH


class AsInPrograms(_Mode):
    """A block in which denormal floats are zero (with glibc on x86-64; elsewhere they stay) and NumPy gives no floating-point warnings.

    The mode belongs to the thread: each thread that computes enters a block of its own.
    """

    __slots__ = ("_errors",)
    _set = _FLUSH_BOTH

    def __enter__(self) -> None:
        self._errors = np.errstate(all="ignore")
        self._errors.__enter__()
        super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        super().__exit__(kind, error, traceback)
        self._errors.__exit__(kind, error, traceback)
