"""NumPy's rule of promotion, which each thread has.

TensorFlow 1 programs were written for the rule before NumPy 2: a NumPy scalar does not widen an array, so that
`np.ones(3, np.float32) * np.float64(2)` is float32. NumPy 2.1 has both rules, later ones today's alone. Where a program is to have the
old one, what runs operations and JAX keep today's: their own arithmetic is written for it.
"""

from __future__ import annotations

import threading

import numpy as np

_OLD, _OF_TODAY = "legacy", "weak"
CAN_BE_OLD = hasattr(np, "_set_promotion_state") and np.lib.NumpyVersion(np.__version__) >= "2.1.0"
"""Whether NumPy has the old rule, for one thread and not for others (in 2.0 it is one for all)."""


class Program:
    """Attributes: has_old_rule: whether the program computes by the old rule."""

    has_old_rule = False


def be_old() -> None:
    """Lets this thread, and threads that the program starts from now on, compute by the old rule."""
    Program.has_old_rule = True
    swap(_OLD)
    begin = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]  # no public name

    def begin_by_old_rule(self: threading.Thread) -> None:
        if not _is_ours(self):
            swap(_OLD)
        begin(self)

    threading.Thread._bootstrap_inner = begin_by_old_rule  # type: ignore[attr-defined]  # as above


def _is_ours(thread: threading.Thread) -> bool:
    """Whether a function of tfcompat is what the thread calls."""
    return str(getattr(getattr(thread, "_target", None), "__module__", "")).startswith("tfcompat.")


def swap(rule: str) -> str:
    """Gives this thread a rule; the rule that it had."""
    before: str = np._get_promotion_state()  # type: ignore[attr-defined, unused-ignore]  # in the types of 2.1 alone
    np._set_promotion_state(rule)  # type: ignore[attr-defined, unused-ignore]  # in the types of 2.1 alone
    return before


def begin_of_today() -> str:
    """Begins a part in which this thread computes by today's rule: the rule before."""
    return swap(_OF_TODAY)


class OfProgram:
    """A block, inside such a part, in which Python code of the program is called."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = swap(_OLD) if Program.has_old_rule else ""

    def __exit__(self, *raised: object) -> None:
        if self._before:
            swap(self._before)
