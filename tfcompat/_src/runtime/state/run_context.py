"""The state that the runs of a session share, as one record that is passed along with each plan."""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import jax

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.base.host_context import CollectiveMembership, HostContext
from tfcompat._src.base.recent import SHAPES
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.interpreter.limit import OverLimit
from tfcompat._src.runtime.passes.plan_guards import GuardedCaches
from tfcompat._src.runtime.state.random_state import RandomState
from tfcompat._src.runtime.state.variable_state import Place, VariableState, required_variable_op, variable_key

if TYPE_CHECKING:
    from tfcompat._src.proto import messages
    from tfcompat._src.runtime.devices.devices import Device
    from tfcompat._src.runtime.devices.local_servers import LocalServer
    from tfcompat._src.runtime.devices.placer import Placer
    from tfcompat._src.runtime.ir.plan import Plan
    from tfcompat._src.runtime.passes.pipeline import Planner


class RemoteCalls(Protocol):
    """Calls functions on other tasks; `cluster/remote_calls.py` implements it."""

    def call(self, node: Operation, target: str, arguments: Sequence[object]) -> list[NDArray]:
        """Calls the function that a node names on the device `target`; returns the results."""


class SessionLife:
    """The lifetime of a session: whether it is closed, and the hooks to call then. Also the key of data that lives as long as the session."""

    def __init__(self) -> None:
        self.is_over = False
        self._hooks: list[Callable[[], None]] = []

    def on_close(self, hook: Callable[[], None]) -> None:
        """Calls `hook` when the session is closed, or now if it is: queues and readers then release waiting threads."""
        self._hooks.append(hook)
        if self.is_over:
            hook()

    def end(self) -> None:
        """Marks the session as closed and calls the hooks."""
        self.is_over = True
        for hook in self._hooks:
            hook()


class PlacedConstants:
    """Large constants as arrays on devices or meshes, each transferred at its first use and kept for as long as its NumPy array exists."""

    def __init__(self) -> None:
        # By identity: a tensor may have one value in one plan and another in the next. A constant of the graph is one array in all plans.
        self._placed: dict[tuple[int, Place], tuple[weakref.ref[NDArray], jax.Array]] = {}

    def __len__(self) -> int:
        return len(self._placed)

    def get(self, value: NDArray, place: Place) -> jax.Array:
        """Returns a constant, which nobody changes, as an array on a device or mesh."""
        key = id(value), place
        placed = self._placed.get(key)
        if placed is None or placed[0]() is not value:
            forget = functools.partial(_forget, weakref.ref(self), key)
            placed = self._placed[key] = weakref.ref(value, forget), jax.device_put(value, place)
        return placed[1]

    def clear(self) -> None:
        self._placed.clear()


def _forget(constants: weakref.ref[PlacedConstants], key: tuple[int, Place], gone: weakref.ref[NDArray]) -> None:
    """Drops the array of a constant that no longer exists, unless another one has its place in memory by now."""
    kept = constants()
    if kept is not None and kept._placed.get(key, (None,))[0] is gone:
        del kept._placed[key]


@dataclass
class Tally:
    """How many operations host steps have run, and after how many a run is abandoned."""

    nodes: int = 0
    limit: float = math.inf

    def add(self, nodes: int) -> None:
        """Counts operations. Raises OverLimit where there are too many."""
        self.nodes += nodes
        if self.nodes > self.limit:
            raise OverLimit


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class RunContext:
    """The state that the runs of a session share. Use `dataclasses.replace` for runs with another state in some part.

    Attributes:
      life: of the session. config: its ConfigProto. server: the server whose devices it has, or None.
      variable_state: the values of variables. random_state: the counters of random operations.
      devices: those of the session. placer: the devices of operations. planner: makes plans.
      resources: tables, queues, iterators... of the session itself, by name.
      resources_life: the lifetime of `resources`: `life`, or that of the master's session of which a part of a graph is run.
      task_resources: resources by task name, if servers share them; else empty.
      shares_state: whether variables and the resources in `task_resources` outlive the session.
      remote_calls: calls functions on other tasks, in parts of graphs that run in several processes; else None.
      loop_plans: cached plans for parts of loops. large_constants: device arrays of large constants. tally: counts the work of host steps.
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
    resources_life: SessionLife
    task_resources: Mapping[str, dict[str, Any]]
    shares_state: bool
    remote_calls: RemoteCalls | None = None
    loop_plans: GuardedCaches[tuple[Any, ...], Plan] = field(default_factory=lambda: GuardedCaches(4 * SHAPES))
    large_constants: PlacedConstants = field(default_factory=PlacedConstants)
    tally: Tally = field(default_factory=Tally)

    def is_initialized(self, variable: Tensor | Operation) -> bool:
        """Whether a variable has a value; it is given by a ref or resource tensor, or by the op that creates it."""
        return _key(variable) in self.variable_state.values

    def destroy_variable(self, variable: Tensor | Operation) -> None:
        """Deletes the value of a variable, given as for `is_initialized`."""
        with self.variable_state.lock:
            self.variable_state.values.pop(_key(variable), None)

    def resources_of(self, op: Operation) -> dict[str, Any]:
        """Returns the resources, by name, that an operation uses: those of its task's server if servers share them, else the session's."""
        # With one task, which is the usual case, the operation's device need not be found.
        by_task = self.task_resources
        if not by_task:
            return self.resources
        return next(iter(by_task.values())) if len(by_task) == 1 else by_task[self.placer.task_of(op)]

    def host_device_of(self, op: Operation) -> str:
        """Returns the full name of the device of an operation that runs on the host: without a device type, the task's first CPU."""
        if DeviceSpec.from_string(op._device).device_type:
            return self.placer.device_of(op).name
        return f"{self.placer.task_of(op)}/device:CPU:0"

    def collective_membership(self, key: int, size: int) -> CollectiveMembership | None:
        """Returns the membership of the server's task in a collective group of several processes; None outside of a cluster."""
        if self.server is None or len(self.server.addresses) < 2:
            return None
        membership: CollectiveMembership = self.server.services.collectives.membership(key, size, self.config)
        return membership

    def leave_collective(self, key: int) -> None:
        """Leaves a collective group of several processes."""
        if self.server is not None:
            self.server.services.collectives.leave(key)


def context_of(kernel: HostContext) -> RunContext:
    """Returns the context of the run that a kernel is part of.

    Raises:
      TypeError: the kernel runs outside of a session's run.
    """
    if not isinstance(kernel.run, RunContext):
        raise TypeError(f"{kernel.op.name} needs the RunContext of a session's run, and was run with {kernel.run!r}.")
    return kernel.run


def _key(variable: Tensor | Operation) -> str:
    return variable_key(variable if isinstance(variable, Operation) else required_variable_op(variable))
