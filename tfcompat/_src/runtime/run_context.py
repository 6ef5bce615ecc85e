"""What a run has beside its plan: the state that runs share, in one record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax

from tfcompat._src.base.host_context import CollectiveMembership, HostContext
from tfcompat._src.base.recent import SHAPES, Recent
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.runtime.random_state import RandomState
from tfcompat._src.runtime.variable_state import Place, VariableState, required_variable_op, variable_key

if TYPE_CHECKING:
    from tfcompat._src.proto import messages
    from tfcompat._src.runtime.devices import Device
    from tfcompat._src.runtime.local_servers import LocalServer
    from tfcompat._src.runtime.place import Placer
    from tfcompat._src.runtime.plan import Plan
    from tfcompat._src.runtime.planner import Planner


class SessionLife:
    """Whether a session is closed, and what happens then. It stands for the session where something is kept as long as that lives."""

    def __init__(self) -> None:
        self.is_over = False
        self._hooks: list[Callable[[], None]] = []

    def on_close(self, hook: Callable[[], None]) -> None:
        """Calls `hook` when the session is closed: queues and readers let go of waiting threads."""
        self._hooks.append(hook)
        if self.is_over:
            hook()

    def end(self) -> None:
        """Calls the hooks."""
        self.is_over = True
        for hook in self._hooks:
            hook()


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class RunContext:
    """The state that the runs of a session share. `dataclasses.replace` gives the context of runs that have another state in some part.

    Attributes:
      life: of the session. config: its ConfigProto. server: whose devices it has, or None.
      variable_state: the values of variables. random_state: where random operations stand.
      devices: those of the session. placer: the devices of operations. planner: makes plans.
      resources: tables, queues, iterators... of the session itself, by name.
      task_resources: those by the name of a task where the servers of tasks share them, else none.
      shares_state: whether variables and resources outlive the session.
      loop_plans: the plans for parts of loops, by what they are for. large_constants: those that are on a device or mesh, by both.
    """

    life: SessionLife
    config: messages.ConfigProto
    server: LocalServer | None
    variable_state: VariableState
    random_state: RandomState
    devices: list[Device]
    placer: Placer
    planner: Planner
    resources: dict[str, Any]
    task_resources: Mapping[str, dict[str, Any]]
    shares_state: bool
    loop_plans: MutableMapping[tuple[Any, ...], Plan] = field(default_factory=lambda: Recent(4 * SHAPES))
    large_constants: dict[tuple[Tensor, Place], jax.Array] = field(default_factory=dict)

    def large_constant(self, tensor: Tensor, value: object, place: Place) -> jax.Array:
        """A constant as an array on a device or mesh, put there once."""
        found = self.large_constants.get((tensor, place))
        if found is None:
            found = self.large_constants[tensor, place] = jax.device_put(value, place)
        return found

    def is_initialized(self, variable: Tensor | Operation) -> bool:
        """Whether a variable has a value: the one behind a ref or resource tensor, or the one that an op makes."""
        return _key(variable) in self.variable_state.values

    def destroy_variable(self, variable: Tensor | Operation) -> None:
        """Forgets the value of the variable behind a ref or resource tensor, or of the one that an op makes."""
        with self.variable_state.lock:
            self.variable_state.values.pop(_key(variable), None)

    def resources_of(self, op: Operation) -> dict[str, Any]:
        """The resources by name where an operation is: those of the server of its task, where that shares them, else the session's."""
        by_task = self.task_resources
        if not by_task:
            return self.resources
        return next(iter(by_task.values())) if len(by_task) == 1 else by_task[self.placer.task_of(op)]

    def collective_membership(self, key: int, size: int) -> CollectiveMembership | None:
        """The part of its server's task in a group of devices of several processes; None where it is in no cluster."""
        if self.server is None or len(self.server.addresses) < 2:
            return None
        found: CollectiveMembership = self.server.services.collectives.membership(key, size, self.config)
        return found

    def leave_collective(self, key: int) -> None:
        """Lets go of a group of devices of several processes."""
        if self.server is not None:
            self.server.services.collectives.leave(key)


def context_of(kernel: HostContext) -> RunContext:
    """The context of the run that a kernel is part of."""
    if not isinstance(kernel.run, RunContext):
        raise TypeError(f"{kernel.run} is no RunContext")
    return kernel.run


def _key(variable: Tensor | Operation) -> str:
    return variable_key(variable if isinstance(variable, Operation) else required_variable_op(variable))
