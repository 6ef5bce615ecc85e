"""What a run may ask of whoever runs it: a session, an iteration of a dataset, an operation that runs at once."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, Protocol

import jax

from tfcompat._src.base.host_context import HostSession
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.runtime.random_state import RandomState
from tfcompat._src.runtime.variable_state import Place, VariableState

if TYPE_CHECKING:
    from tfcompat._src.runtime.place import Placer
    from tfcompat._src.runtime.plan import Plan
    from tfcompat._src.runtime.planner import Planner


class RunContext(HostSession, Protocol):
    """The state that runs share, and who makes plans.

    Attributes:
      variable_state: the values of variables. random_state: where random operations stand.
      placer: the devices of operations. planner: makes plans. loop_plans: those for parts of loops, by what they are for.
    """

    variable_state: VariableState
    random_state: RandomState
    placer: Placer
    planner: Planner

    @property
    def loop_plans(self) -> MutableMapping[tuple[Any, ...], Plan]: ...

    def large_constant(self, tensor: Tensor, value: object, place: Place) -> jax.Array:
        """A constant as an array on a device or mesh, put there once."""

    def resources_of(self, op: Operation) -> dict[str, Any]:
        """The resources (tables, queues, iterators...) by name where an operation is."""
