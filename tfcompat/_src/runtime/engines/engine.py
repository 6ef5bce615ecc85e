"""What an engine is: it prepares an executable of a traced cluster, which makes calls.

A new engine is one class in one file beside this, a word of `ENGINES` that forces it, and a place in the rule `engine_for` (both in
`choice.py`). docs/architecture.md has an example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tfcompat._src.runtime.cluster_trace import Arguments, Tracing


class Call(Protocol):
    """One call that an executable is to make: its arguments, and three ways to have a function called with them.

    The function is called with `Arguments`, and returns a tree as that of `tracing.trace(arguments).out_info`: (outputs, new values of
    variables, which checks hold, how far random operations have moved on). A call that was not made leaves no results, and is made again.
    """

    @property
    def updates_variables(self) -> bool:
        """Whether there are updated variables among the arguments, which a function may write to or take away."""

    def at_once(self, function: Callable[..., Any]) -> bool:
        """Calls a jitted function as one call into C, which no handler of a signal can divide; false where JAX would run Python code."""

    def apart(self, function: Callable[..., Any], prepare: Callable[[Arguments], object] | None = None) -> None:
        """Calls a function, after `prepare`, in a helper thread: a handler of a signal can end the waiting, but not the call."""

    def here(self, function: Callable[..., Any]) -> None:
        """Calls a function that changes no argument: a handler of a signal may end it, or run operations meanwhile."""


class Executable(Protocol):
    """What computes a cluster for inputs of one set of shapes.

    Attributes:
      tracing: the cluster as a function, and what its trace has found.
      takes_kept: whether variables may be NumPy arrays, or on any device; else `make` gets arrays of JAX, where the cluster runs.
    """

    tracing: Tracing
    takes_kept: bool

    @property
    def is_used_up(self) -> bool:
        """Whether another is to be prepared in its place before the next call."""

    def fits(self, arguments: Arguments) -> bool:
        """Whether it computes for variables of these shapes, which an assignment without `validate_shape` changes; else another is prepared."""

    def make(self, call: Call) -> None:
        """Makes a call in one of the three ways."""

    def describe(self) -> str:
        """What it does at the next call, and why, in words."""


class Engine(Protocol):
    """A way to compute clusters."""

    def prepare(self, tracing: Tracing, arguments: Arguments) -> Executable:
        """Makes ready what computes a cluster for arguments of these shapes. The trace is `tracing.trace(arguments)`.

        Raises:
          errors.ResourceExhaustedError: memory does not suffice.
        """
