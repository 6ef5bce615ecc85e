"""The trees of a forest and their statistics as resources of a graph, which Savers save."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import add_to_collection, executing_eagerly, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.train.resource_saveable import ResourceSaveable
from tfcompat._src.train.saveable_object import SaveableObject
from tfcompat._src.train.tracking import TrackableResource
from tfcompat._src.variables.resources import register_resource

_numbers = itertools.count()


class _ForestResource(TrackableResource):
    """What TreeVariable and FertileStatsVariable share: the names of their op types.

    Args:
      params: a ForestHParams with `serialized_params_proto`.
      config: serialized, what the resource holds at first; "" for a tree that is a leaf.
      name: name of the node.
      container: where the resource lives.
    """

    _HANDLE = _INITIALIZED = _CREATE = _EAGER_NAME = KEY = ""

    def __init__(self, params: Any, config: Any, name: str, container: str | None = None) -> None:
        self._params, self._config, self._name, self._container = params, config, name, container
        self._init_op: Operation | None = None
        super().__init__()
        self._resource_handle = self._create_resource()

    def _create_resource(self) -> Tensor:
        shared_name = f"{self._EAGER_NAME}_{next(_numbers)}" if executing_eagerly() else self._name
        return getattr(raw, self._HANDLE)(container=self._container or "", shared_name=shared_name, name=self._name)

    def _initialize(self) -> Operation:
        return getattr(raw, self._CREATE)(
            self.resource_handle, self._config, params=self._params.serialized_params_proto
        )

    @property
    def initializer(self) -> Operation:
        """The operation that creates what the resource holds."""
        if self._init_op is None:
            self._init_op = self._initialize()
        return self._init_op

    def is_initialized(self) -> Tensor:
        """A bool scalar: whether the resource holds anything."""
        return getattr(raw, self._INITIALIZED)(self.resource_handle)

    def _saveable(self, name: str) -> SaveableObject:
        raise NotImplementedError

    def _gather_saveables_for_checkpoint(self) -> dict[str, Callable[[str], SaveableObject]]:
        return {self.KEY: self._saveable}


class TreeVariable(_ForestResource):
    """A tree."""

    _HANDLE, _INITIALIZED, _CREATE = "DecisionTreeResourceHandleOp", "TreeIsInitializedOp", "CreateTreeVariable"
    _EAGER_NAME = KEY = "tree_variable"

    def __init__(
        self, params: object, tree_config: object, stats_handle: Tensor | None, name: str, container: str | None = None
    ) -> None:
        super().__init__(params, tree_config, name, container)

    def _saveable(self, name: str) -> SaveableObject:
        params, handle = self._params.serialized_params_proto, self.resource_handle

        def deserialize(config: list[Tensor]) -> Operation:
            return raw.TreeDeserialize(handle, config[0], params=params)

        return ResourceSaveable(handle, {name: raw.TreeSerialize(handle)}, self.initializer, deserialize, name)


class FertileStatsVariable(_ForestResource):
    """The statistics of the leaves of a tree."""

    _HANDLE, _INITIALIZED, _CREATE = (
        "FertileStatsResourceHandleOp",
        "FertileStatsIsInitializedOp",
        "CreateFertileStatsVariable",
    )
    _EAGER_NAME = KEY = "fertile_stats_variable"

    def _saveable(self, name: str) -> SaveableObject:
        params, handle = self._params.serialized_params_proto, self.resource_handle

        def deserialize(config: list[Tensor]) -> Operation:
            return raw.FertileStatsDeserialize(handle, config[0], params=params)

        serialized = raw.FertileStatsSerialize(handle, params=params)
        return ResourceSaveable(handle, {name: serialized}, self.initializer, deserialize, name)


def _registered(resource: _ForestResource) -> Tensor:
    """The handle of a resource that is now initialized, reported and saved with the others of the graph."""
    handle = resource.resource_handle
    create, is_initialized = resource.initializer, resource.is_initialized()
    saveable = resource._gather_saveables_for_checkpoint()[resource.KEY](handle.name)
    add_to_collection(GraphKeys.SAVEABLE_OBJECTS, saveable)
    register_resource(handle, create, is_initialized)
    return handle


def tree_variable(
    params: object, tree_config: object, stats_handle: Tensor | None, name: str, container: str | None = None
) -> Tensor:
    """Makes a tree.

    Args:
      params: a ForestHParams with `serialized_params_proto`.
      tree_config: a serialized decision_trees.Model, "" for a leaf.
      stats_handle: the handle of its statistics.
      name: name of the node.
      container: where the resource lives.

    Returns:
      The handle, a resource scalar.
    """
    with name_scope(name, "TreeVariable") as scope:
        return _registered(TreeVariable(params, tree_config, stats_handle, scope, container))


def fertile_stats_variable(params: object, stats_config: object, name: str, container: str | None = None) -> Tensor:
    """Makes the statistics of a tree's leaves.

    Args:
      params: a ForestHParams with `serialized_params_proto`.
      stats_config: a serialized FertileStats, "" for those of a leaf.
      name: name of the node.
      container: where the resource lives.

    Returns:
      The handle, a resource scalar.
    """
    with name_scope(name, "FertileStatsVariable") as scope:
        return _registered(FertileStatsVariable(params, stats_config, scope, container))
