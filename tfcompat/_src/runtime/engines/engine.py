"""The protocols of engines. An `Engine` prepares an `Executable` of a traced cluster, which makes `Call`s.

A new engine is a class in a file beside this one. docs/architecture.md says where it is registered (`choice.py`) and has an example.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tfcompat._src.runtime.lowering.cluster_trace import Arguments, Tracing


class Call(Protocol):
    """One call that an executable is to make: the arguments, and three ways to call a function with them, which differ in signal handling.

    The function takes `Arguments` and returns a pytree as `tracing.trace(arguments).out_info`: (outputs, new values of variables, which
    checks hold, advances of random counters). If none of the ways has been used, there are no results, and another call is made.
    """

    @property
    def updates_variables(self) -> bool:
        """Whether the arguments include updated variables, whose buffers a function may overwrite or donate."""

    def at_once(self, function: Callable[..., Any]) -> bool:
        """Calls a jitted function as one call into C, which no signal handler can interrupt. False, without a call, if JAX would run Python."""

    def apart(self, function: Callable[..., Any], prepare: Callable[[Arguments], object] | None = None) -> None:
        """Calls `prepare` and a function in a helper thread: a signal handler that raises ends the waiting for it, but not the call."""

    def here(self, function: Callable[..., Any]) -> None:
        """Calls a function that changes no argument in this thread: a signal handler may raise in it, or run operations meanwhile."""


class Executable(Protocol):
    """A cluster prepared for inputs of one set of shapes.

    Attributes:
      tracing: the cluster as a function, with the notes of its trace.
      takes_kept: whether `make` accepts variables as they are stored: NumPy arrays, or on any device. Else they are converted to JAX arrays
        on the cluster's device first.
    """

    tracing: Tracing
    takes_kept: bool

    @property
    def is_used_up(self) -> bool:
        """Whether another executable is to be prepared before the next call."""

    def fits(self, arguments: Arguments) -> bool:
        """Whether it accepts variables of these shapes; else another is prepared. tf.assign(validate_shape=False) changes shapes."""

    def make(self, call: Call) -> None:
        """Makes a call in one of the three ways."""

    def describe(self) -> str:
        """Says in words what the next call does, and why, for `explain`."""


class Engine(Protocol):
    """A way to compute clusters."""

    def prepare(self, tracing: Tracing, arguments: Arguments) -> Executable:
        """Prepares an executable for arguments of these shapes. The trace is `tracing.trace(arguments)`.

        Raises:
          errors.ResourceExhaustedError: a call would need more memory than the device has.
        """
