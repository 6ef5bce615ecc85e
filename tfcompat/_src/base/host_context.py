"""What a host kernel may ask of the run it is part of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class CollectiveMembership(Protocol):
    """The part of this process in a group of devices of several processes.

    Attributes:
      own_devices: those of this process. group: the operations with the other processes.
    """

    @property
    def own_devices(self) -> list[str]: ...

    @property
    def group(self) -> object: ...

    def join(self, device: str) -> bool:
        """Joins with a device; whether all of the group have joined. Waits for that where this thread may wait."""


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

    def collective_membership(self, key: int, size: int) -> CollectiveMembership | None:
        """The part of this process in a group of devices of several processes; None where it is in no cluster."""

    def leave_collective(self, key: int) -> None:
        """Lets go of a group of devices of several processes."""

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
