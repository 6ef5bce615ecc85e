"""tf.CriticalSection: parts of a graph of which only one runs at a time."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import (
    add_to_collection,
    colocate_with,
    control_dependencies,
    executing_eagerly,
    get_collection,
    get_default_graph,
    init_scope,
    name_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.control.groups import group, tuple_
from tfcompat._src.ops.flow.tensor_array import TensorArray

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

CRITICAL_SECTIONS = "critical_sections"
CRITICAL_SECTION_EXECUTIONS = "critical_section_executions"

_Execution = collections.namedtuple("_Execution", ("op", "handle", "resources", "exclusive_resource_access"))


def _copy(value: TensorLike) -> Any:
    if isinstance(value, TensorArray):
        return value.identity()
    if value is None and executing_eagerly():  # an operation that ran
        return None
    return group(value) if isinstance(value, Operation) else identity(value)


@export("CriticalSection")
class CriticalSection:
    """A lock of a graph: the functions given to `execute` run one after another, in all runs of all threads of a session.

    Args:
      name: node name.
      shared_name: sections of one name share a lock; by default the node name.
      critical_section_def, import_scope: not supported in 1.15 either.
    """

    def __init__(
        self, name: str | None = None, shared_name: str | None = None, critical_section_def: object = None, import_scope: str | None = None
    ) -> None:
        if critical_section_def and name is not None:
            raise ValueError("critical_section_def and shared_name are mutually exclusive.")
        if critical_section_def:
            raise NotImplementedError("tfcompat does not make a CriticalSection from a critical_section_def.")
        with name_scope(name, "CriticalSection", []) as scope, init_scope():
            container = get_default_graph()._container or ""
            self._handle = raw.MutexV2(shared_name=shared_name or scope, container=container, name=scope)
        add_to_collection(CRITICAL_SECTIONS, self)

    @property
    def name(self) -> str:
        return self._handle.op.name

    def execute(self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None) -> Any:
        """The results of `fn()`, whose operations run while the lock is held.

        Args:
          fn: makes operations; returns a nest of tensors and operations.
          exclusive_resource_access: whether no other section may use the resources that `fn` uses.
          name: name scope.

        Raises:
          ValueError: `fn` would wait for this section itself, or uses a resource that belongs to another.
        """
        with name_scope(name, "critical_section_execute", []):
            lock = raw.MutexLock(self._handle)
            graph = get_default_graph()
            before = graph._last_id
            with control_dependencies([lock]):
                result = fn()
            created = [op for op in graph.get_operations() if op._id > before]
            _wait_for_arguments(lock.op, created)
            resources = list(dict.fromkeys(t for op in created for t in op.inputs if t.dtype == dtypes.resource))
            self._check_resources(resources, exclusive_resource_access)
            with control_dependencies([_copy(x) for x in nest.flatten(result)]):
                with colocate_with(self._handle):
                    consumed = raw.ConsumeMutexLock(lock)
                result = nest.pack_sequence_as(result, tuple_(nest.flatten(result)))
            with control_dependencies([consumed]):
                outputs = nest.map_structure(_copy, result)
            add_to_collection(
                CRITICAL_SECTION_EXECUTIONS, _Execution(lock.op, self._handle, resources, exclusive_resource_access)
            )
            return outputs

    def _is_own(self, handle: Tensor) -> bool:
        """Whether a handle is of this section's mutex."""
        mine, other = self._handle.op, handle.op
        if other.type != "MutexV2" or not other.get_attr("shared_name"):
            return False
        same_place = other.device == mine.device or other.colocation_groups() == mine.colocation_groups()
        return other.get_attr("shared_name") == mine.get_attr("shared_name") and same_place

    def _check_resources(self, resources: list[Tensor], exclusive: bool) -> None:
        if any(self._is_own(t) for t in resources):
            raise ValueError(
                "The function fn attempts to directly access the CriticalSection in which it would be running.  "
                "This is illegal and would cause deadlocks."
            )
        for other in get_collection(CRITICAL_SECTION_EXECUTIONS):
            if self._is_own(other.handle) or not (exclusive or other.exclusive_resource_access):
                continue
            both = [t for t in resources if t in other.resources]
            if both:
                raise ValueError(
                    f"This execution would access resources: {both}.  Either this lock (CriticalSection: {self._handle}) or lock "
                    f"'{other}' (CriticalSection: {other.handle}) requested exclusive resource access of this resource.  Did you "
                    "mean to call execute with keyword argument exclusive_resource_access=False?"
                )


def _wait_for_arguments(lock: Operation, created: Iterable[Operation]) -> None:
    """Lets a lock wait for all that the operations it guards take from outside, so that nothing waits for them under the lock."""
    inside = {*created, lock}
    known = {*inside, *lock.control_inputs, *(t.op for t in lock.inputs)}
    used = {t.op for op in created for t in op.inputs} | {c for op in created for c in op.control_inputs}
    outside = sorted(used - known, key=lambda op: op._id)
    if outside:
        lock._add_control_input(group(*outside))
