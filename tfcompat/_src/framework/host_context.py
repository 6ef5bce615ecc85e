"""What a host kernel may ask of the run it is part of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class HostContext:
    """The session and the node of a host kernel that has `context=True`."""

    session: Any
    op: Any

    @property
    def resources(self) -> dict[str, Any]:
        """The resources (tables, queues, iterators...) by name where the node is."""
        return self.session.resources_of(self.op)

    def is_initialized(self, handle: Any) -> bool:
        """Whether the variable behind a ref or resource tensor has a value."""
        return self.session.is_initialized(handle)
