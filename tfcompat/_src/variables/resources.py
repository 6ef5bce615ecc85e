"""Resources that are initialized like variables but are none: ensembles of trees, accumulators."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import add_to_collection, get_collection, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.variables.collections import names_of_false


class _Resource(NamedTuple):
    handle: Tensor
    create: Operation
    is_initialized: Tensor


def register_resource(handle: Tensor, create_op: Operation, is_initialized_op: Tensor, is_shared: bool = True) -> None:
    """Adds a resource to those that are initialized with the global variables, or the local ones if not `is_shared`."""
    key = GraphKeys.RESOURCES if is_shared else GraphKeys.LOCAL_RESOURCES
    add_to_collection(key, _Resource(handle, create_op, is_initialized_op))


def shared_resources() -> list[_Resource]:
    """The resources that are initialized with the global variables."""
    return get_collection(GraphKeys.RESOURCES)


def local_resources() -> list[_Resource]:
    """The resources that are initialized with the local variables."""
    return get_collection(GraphKeys.LOCAL_RESOURCES)


def report_uninitialized_resources(
    resource_list: list[Any] | None = None, name: str = "report_uninitialized_resources"
) -> Tensor:
    """A string vector: the names of those resources that are not initialized when it runs.

    Args:
      resource_list: resources; by default all.
      name: name scope.
    """
    if resource_list is None:
        resource_list = shared_resources() + local_resources()
    with name_scope(name):
        return names_of_false([r.handle.name for r in resource_list], [r.is_initialized for r in resource_list])


def initialize_resources(resource_list: list[Any], name: str = "init") -> Operation:
    """An operation that initializes resources."""
    return group(*[r.create for r in resource_list], name=name) if resource_list else no_op(name=name)
