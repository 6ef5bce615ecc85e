"""The interface of a run that host kernels see: protocols for the runtime's classes, and HostContext, the kernels' first argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class CollectiveMembership(Protocol):
    """The membership of this process in a group of devices that spans processes.

    Attributes:
      own_devices: the devices of this process in the group.
      group: the collective operations with the other processes.
    """

    @property
    def own_devices(self) -> list[str]: ...

    @property
    def group(self) -> object: ...

    def join(self, device: str) -> bool:
        """Joins with a device, and waits for the others if this thread may wait; returns whether the whole group has joined."""


class HostLife(Protocol):
    """The lifetime of a session: hooks that run when it is closed, and a key for objects that live as long as the session."""

    def on_close(self, hook: Callable[[], None]) -> None:
        """Calls `hook` when the session is closed."""


class HostDevice(Protocol):
    """A device of a session; `name` is its full name."""

    @property
    def name(self) -> str: ...


class HostRun(Protocol):
    """A run as host kernels see it; RunContext in `runtime/state/run_context.py` implements it.

    Attributes:
      life: the lifetime of the session.
      resources: the session's own resources by name, which no other session sees.
      resources_life: the lifetime of `resources`.
      devices: the session's devices.
    """

    @property
    def life(self) -> HostLife: ...

    @property
    def resources(self) -> dict[str, Any]: ...

    @property
    def resources_life(self) -> HostLife: ...

    @property
    def devices(self) -> Sequence[HostDevice]: ...

    def resources_of(self, op: Any) -> dict[str, Any]:
        """Returns the resources (tables, queues, iterators ...) by name on the device of an operation."""

    def is_initialized(self, variable: Any) -> bool:
        """Returns whether a variable, given as a ref or resource tensor or as the op that makes it, has a value."""

    def destroy_variable(self, variable: Any) -> None:
        """Deletes the value of a variable, given as a ref or resource tensor or as the op that makes it."""

    def collective_membership(self, key: int, size: int) -> CollectiveMembership | None:
        """Returns the membership of this process in the group `key` of `size` devices; None if it is in no cluster."""

    def leave_collective(self, key: int) -> None:
        """Leaves the group `key`."""


@dataclass(frozen=True)
class HostContext:
    """The first argument of host kernels with `OpSpec.context`: the run and the node."""

    run: HostRun
    op: Any

    @property
    def resources(self) -> dict[str, Any]:
        """The resources (tables, queues, iterators ...) by name on the node's device."""
        return self.run.resources_of(self.op)

    def is_initialized(self, variable: Any) -> bool:
        """Returns whether a variable, given as a ref or resource tensor or as the op that makes it, has a value."""
        return self.run.is_initialized(variable)
