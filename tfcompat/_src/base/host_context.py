"""What a host kernel may ask of the run it is part of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class HostSession(Protocol):
    """Whoever runs a host kernel: a session, or an iteration of a dataset.

    Attributes:
      resources: those of the session itself, by name.
    """

    resources: dict[str, Any]

    def resources_of(self, op: Any) -> dict[str, Any]:
        """The resources (tables, queues, iterators...) by name where an operation is."""

    def is_initialized(self, handle: Any) -> bool:
        """Whether the variable behind a ref or resource tensor has a value."""

    def destroy_variable(self, handle: Any) -> None:
        """Forgets the value of the variable behind a ref or resource tensor."""

    def on_close(self, hook: Callable[[], None]) -> None:
        """Calls `hook` when the session is closed."""


@dataclass(frozen=True)
class HostContext:
    """The session and the node of a host kernel that has `context=True`."""

    session: HostSession
    op: Any

    @property
    def resources(self) -> dict[str, Any]:
        """The resources (tables, queues, iterators...) by name where the node is."""
        return self.session.resources_of(self.op)

    def is_initialized(self, handle: Any) -> bool:
        """Whether the variable behind a ref or resource tensor has a value."""
        return self.session.is_initialized(handle)
