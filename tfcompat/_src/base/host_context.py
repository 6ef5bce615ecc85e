"""What a host kernel may ask of the run it is part of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


class HostLife(Protocol):
    """Whether a session is closed, and what happens then. It stands for the session where something is kept as long as that lives."""

    def on_close(self, hook: Callable[[], None]) -> None:
        """Calls `hook` when the session is closed."""


class HostDevice(Protocol):
    """A device of a session, by its full name."""

    @property
    def name(self) -> str: ...


class HostRun(Protocol):
    """The context of a run, as host kernels see it: the RunContext of `runtime/run_context.py`.

    Attributes:
      life: of the session. resources: those of the session itself, by name. devices: of the session.
      shares_state: whether variables and resources outlive the session.
    """

    @property
    def life(self) -> HostLife: ...

    @property
    def resources(self) -> dict[str, Any]: ...

    @property
    def devices(self) -> Sequence[HostDevice]: ...

    @property
    def shares_state(self) -> bool: ...

    def resources_of(self, op: Any) -> dict[str, Any]:
        """The resources (tables, queues, iterators...) by name where an operation is."""

    def is_initialized(self, variable: Any) -> bool:
        """Whether a variable has a value: the one behind a ref or resource tensor, or the one that an op makes."""

    def destroy_variable(self, variable: Any) -> None:
        """Forgets the value of the variable behind a ref or resource tensor, or of the one that an op makes."""

    def collective_membership(self, key: int, size: int) -> CollectiveMembership | None:
        """The part of this process in a group of devices of several processes; None where it is in no cluster."""

    def leave_collective(self, key: int) -> None:
        """Lets go of a group of devices of several processes."""


@dataclass(frozen=True)
class HostContext:
    """What a host kernel that has `context=True` gets first: the context of its run, and its node."""

    run: HostRun
    op: Any

    @property
    def resources(self) -> dict[str, Any]:
        """The resources (tables, queues, iterators...) by name where the node is."""
        return self.run.resources_of(self.op)

    def is_initialized(self, variable: Any) -> bool:
        """Whether a variable has a value: the one behind a ref or resource tensor, or the one that an op makes."""
        return self.run.is_initialized(variable)
