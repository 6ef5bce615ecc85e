"""NumPy's promotion rule, a state of each thread.

TensorFlow 1 programs were written for the rule before NumPy 2 (NEP 50): a NumPy scalar does not widen an array, so that
`np.ones(3, np.float32) * np.float64(2)` is float32. NumPy 2.1 has both rules, later versions only the new one. If a program gets the
old rule, code of tfcompat and JAX still runs under the new one, for which it is written.
"""

from __future__ import annotations

import threading

import numpy as np

_OLD, _OF_TODAY = "legacy", "weak"
CAN_BE_OLD = hasattr(np, "_set_promotion_state") and np.lib.NumpyVersion(np.__version__) >= "2.1.0"
"""Whether this NumPy has the old rule as a state of each thread (in 2.0 it is one state for the process)."""


class Program:
    """`has_old_rule`: whether the program's own code computes by the old rule."""

    has_old_rule = False


def be_old() -> None:
    """Makes this thread, and threads that the program starts from now on, compute by the old rule."""
    Program.has_old_rule = True
    swap(_OLD)
    # A new thread starts with NumPy's default rule, so each thread of the program sets the old one first.
    begin = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]  # no public name

    def begin_by_old_rule(self: threading.Thread) -> None:
        # Threads of tfcompat compute by the new rule.
        if not _is_ours(self):
            swap(_OLD)
        begin(self)

    threading.Thread._bootstrap_inner = begin_by_old_rule  # type: ignore[attr-defined]  # as above


def _is_ours(thread: threading.Thread) -> bool:
    """Returns whether the target of a thread is a function of tfcompat."""
    return str(getattr(getattr(thread, "_target", None), "__module__", "")).startswith("tfcompat.")


def swap(rule: str) -> str:
    """Sets the rule of this thread; returns the previous one."""
    before: str = np._get_promotion_state()  # type: ignore[attr-defined, unused-ignore]  # in the types of 2.1 alone
    np._set_promotion_state(rule)  # type: ignore[attr-defined, unused-ignore]  # in the types of 2.1 alone
    return before


def begin_of_today() -> str:
    """Sets the new rule for this thread; returns the previous one, which the caller restores with `swap`."""
    return swap(_OF_TODAY)


class OfProgram:
    """A context that sets the program's rule again, for calls of its Python code (py_func, callbacks) inside a part of the new rule."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = swap(_OLD) if Program.has_old_rule else ""

    def __exit__(self, *raised: object) -> None:
        if self._before:
            swap(self._before)
