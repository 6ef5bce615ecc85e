"""Ensembles of boosted trees and quantiles of features as resources of a graph, which Savers save."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import add_to_collection, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.trees import ensemble
from tfcompat._src.train.resource_saveable import ResourceSaveable
from tfcompat._src.train.saveable_object import SaveableObject
from tfcompat._src.train.tracking import TrackableResource
from tfcompat._src.variables.resources import register_resource

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class PruningMode:
    """How trees are cut back: not at all, while they grow, or when they are finished."""

    NO_PRUNING, PRE_PRUNING, POST_PRUNING = ensemble.NO_PRUNING, ensemble.PRE_PRUNING, ensemble.POST_PRUNING
    _map = {"none": NO_PRUNING, "pre": PRE_PRUNING, "post": POST_PRUNING}

    @classmethod
    def from_str(cls, mode: str) -> int:
        """The mode called "none", "pre" or "post"; ValueError for other words."""
        if mode not in cls._map:
            raise ValueError(f"pruning_mode mode must be one of: {', '.join(sorted(cls._map))}")
        return cls._map[mode]


class QuantileAccumulator(TrackableResource):
    """Summaries of float features, and the bucket boundaries that are made of them.

    Args:
      epsilon: relative error of quantiles.
      num_streams: number of features.
      num_quantiles: about how many buckets a feature gets.
      name: name of the node, by default "QuantileAccumulator".
      max_elements: has no effect, as in 1.15.
    """

    def __init__(
        self, epsilon: float, num_streams: int, num_quantiles: int, name: str | None = None, max_elements: int | None = None
    ) -> None:
        self._eps, self._num_streams, self._num_quantiles = epsilon, num_streams, num_quantiles
        super().__init__()
        with name_scope(name, "QuantileAccumulator") as self._name:
            self._resource_handle = self._create_resource()
            self._init_op = self._initialize()
            is_initialized = self.is_initialized()
        register_resource(self.resource_handle, self._init_op, is_initialized)
        self._saveable = self._saved(self.resource_handle.name)
        add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    def _create_resource(self) -> Tensor:
        return raw.BoostedTreesQuantileStreamResourceHandleOp(container="", shared_name=self._name, name=self._name)

    def _initialize(self) -> Operation:
        return raw.BoostedTreesCreateQuantileStreamResource(self.resource_handle, self._eps, self._num_streams)

    def _saved(self, name: str) -> SaveableObject:
        found = self.get_bucket_boundaries()
        tensors = {f"{name}_bucket_boundaries_{i}": tensor for i, tensor in enumerate(found)}
        put_back = lambda tensors: raw.BoostedTreesQuantileStreamResourceDeserialize(self.resource_handle, tensors)  # noqa: E731
        return ResourceSaveable(self.resource_handle, tensors, self._init_op, put_back, name)

    @property
    def initializer(self) -> Operation:
        """The operation that creates the streams."""
        return self._init_op

    def is_initialized(self) -> Tensor:
        """A bool scalar: whether the streams are created."""
        return raw.IsBoostedTreesQuantileStreamResourceInitialized(self.resource_handle)

    @property
    def saveable(self) -> SaveableObject:
        """The boundaries for a Saver."""
        return self._saveable

    def _gather_saveables_for_checkpoint(self) -> dict[str, SaveableObject]:
        return {"quantile_accumulator": self._saveable}

    def add_summaries(self, float_columns: list[Tensor], example_weights: Tensor) -> Operation:
        """Adds features (float32 vectors) with the weights of their examples (a vector, or one weight for all)."""
        summaries = raw.BoostedTreesMakeQuantileSummaries(float_columns, example_weights, self._eps)
        return raw.BoostedTreesQuantileStreamResourceAddSummaries(self.resource_handle, summaries)

    def flush(self) -> Operation:
        """Makes boundaries of what was added, which is forgotten."""
        return raw.BoostedTreesQuantileStreamResourceFlush(self.resource_handle, self._num_quantiles)

    def get_bucket_boundaries(self) -> list[Tensor]:
        """The boundaries of each feature, float32 vectors."""
        return raw.BoostedTreesQuantileStreamResourceGetBucketBoundaries(
            self.resource_handle, num_features=self._num_streams
        )


class TreeEnsemble(TrackableResource):
    """An ensemble of trees.

    Args:
      name: name of the node.
      stamp_token: the number that its changes are counted from.
      is_local: whether it is a copy that no Saver saves.
      serialized_proto: a serialized boosted_trees.TreeEnsemble that it begins with.
    """

    def __init__(self, name: str | None, stamp_token: int = 0, is_local: bool = False, serialized_proto: object = "") -> None:
        self._stamp_token, self._serialized_proto, self._is_local = stamp_token, serialized_proto, is_local
        super().__init__()
        with name_scope(name, "TreeEnsemble") as self._name:
            self._resource_handle = self._create_resource()
            self._init_op = self._initialize()
            is_initialized = self.is_initialized()
            if not is_local:
                self._saveable = self._saved(self.resource_handle.name)
                add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable)
            register_resource(self.resource_handle, self._init_op, is_initialized, is_shared=not is_local)

    def _create_resource(self) -> Tensor:
        return raw.BoostedTreesEnsembleResourceHandleOp(container="", shared_name=self._name, name=self._name)

    def _initialize(self) -> Operation:
        return raw.BoostedTreesCreateEnsemble(
            self.resource_handle, self._stamp_token, tree_ensemble_serialized=self._serialized_proto
        )

    def _saved(self, name: str) -> SaveableObject:
        stamp, serialized = self.serialize()
        tensors = {name + "_stamp": stamp, name + "_serialized": serialized}
        return ResourceSaveable(self.resource_handle, tensors, self._init_op, lambda found: self.deserialize(*found), name)

    @property
    def initializer(self) -> Operation:
        """The operation that creates the ensemble."""
        return self._init_op

    def is_initialized(self) -> Tensor:
        """A bool scalar: whether the ensemble is created."""
        return raw.IsBoostedTreesEnsembleInitialized(self.resource_handle)

    def _gather_saveables_for_checkpoint(self) -> dict[str, SaveableObject]:
        return {} if self._is_local else {"tree_ensemble": self._saveable}

    def get_stamp_token(self) -> Tensor:
        """How often the ensemble was changed, an int64 scalar."""
        return raw.BoostedTreesGetEnsembleStates(self.resource_handle)[0]

    def get_states(self) -> tuple[Tensor, ...]:
        """Stamp (int64), numbers of trees, of finished trees and of tried layers (int32), and the last layer's range of nodes (int32 [2])."""
        names = ("stamp_token", "num_trees", "num_finalized_trees", "num_attempted_layers", "last_layer_nodes_range")
        states = raw.BoostedTreesGetEnsembleStates(self.resource_handle)
        return tuple(identity(state, name=name) for state, name in zip(states, names))

    def serialize(self) -> tuple[Tensor, Tensor]:
        """The stamp (int64), and the ensemble as a serialized boosted_trees.TreeEnsemble (string)."""
        return raw.BoostedTreesSerializeEnsemble(self.resource_handle)

    def deserialize(self, stamp_token: TensorLike, serialized_proto: TensorLike) -> Operation:
        """Replaces the ensemble by a serialized one and its stamp."""
        return raw.BoostedTreesDeserializeEnsemble(self.resource_handle, stamp_token, serialized_proto)
