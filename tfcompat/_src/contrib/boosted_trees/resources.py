"""Ensembles, statistics and quantiles of tf.contrib.boosted_trees as resources of a graph, which Savers save."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.boosted_trees import (  # noqa: F401  (the ops)
    ensemble_kernels,
    quantile_kernels,
    split_kernels,
    stats_kernels,
)
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import add_to_collection, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.train.resource_saveable import ResourceSaveable
from tfcompat._src.train.saveable_object import SaveableObject
from tfcompat._src.train.tracking import TrackableResource
from tfcompat._src.variables.resources import register_resource

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _word(name: str | None) -> str | None:
    """The letters and digits of a name."""
    return None if name is None else re.sub(r"[\W_]+", "", name)


class _Accumulator(TrackableResource):
    """What StatsAccumulator and QuantileAccumulator share: how they are made, initialized and saved."""

    _KIND = ""

    def __init__(self, name: str | None, container: str | None) -> None:
        super().__init__()
        self._container = container or ""
        with name_scope(_word(name), self._KIND) as self._name:
            self._resource_handle = self._create_resource()
            self._init_op = self._initialize()
            is_initialized = self.is_initialized()
        register_resource(self.resource_handle, self._init_op, is_initialized)
        self._saveable = self._saved()
        add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    def _saved(self) -> SaveableObject:
        raise NotImplementedError

    def is_initialized(self) -> Tensor:
        """A bool scalar: whether it is created."""
        raise NotImplementedError

    @property
    def initializer(self) -> Operation:
        """The operation that creates it."""
        return self._init_op

    @property
    def saveable(self) -> SaveableObject:
        """It for a Saver."""
        return self._saveable

    def _gather_saveables_for_checkpoint(self) -> dict[str, SaveableObject]:
        return {self._KIND: self._saveable}


class StatsAccumulator(_Accumulator):
    """Sums of gradients and hessians by node and feature.

    Args:
      stamp_token: what additions and flushes must come with; others are dropped.
      gradient_shape, hessian_shape: TensorShapes of one entry.
      name: a name.
      container: where the resource lives.
    """

    _KIND = "StatsAccumulator"

    def __init__(
        self, stamp_token: Any, gradient_shape: Any, hessian_shape: Any, name: str | None = None, container: str | None = None
    ) -> None:
        self._stamp_token, self._gradient_shape, self._hessian_shape = stamp_token, gradient_shape, hessian_shape
        self._is_scalar = gradient_shape.rank == 0 and hessian_shape.rank == 0
        super().__init__(name, container)

    def op(self, verb: str) -> Callable:
        """The operation of its type of statistics that does `verb`."""
        return getattr(raw, f"StatsAccumulator{'Scalar' if self._is_scalar else 'Tensor'}{verb}")

    def _create_resource(self) -> Tensor:
        return self.op("ResourceHandleOp")(self._container, self._name, name=self._name)

    def _initialize(self) -> Operation:
        if self._is_scalar:
            return raw.CreateStatsAccumulatorScalar(self.resource_handle, self._stamp_token)
        shapes = self._gradient_shape.as_list(), self._hessian_shape.as_list()
        return raw.CreateStatsAccumulatorTensor(self.resource_handle, self._stamp_token, *shapes)

    def is_initialized(self) -> Tensor:
        return self.op("IsInitialized")(self.resource_handle)

    def _saved(self) -> SaveableObject:
        return StatsAccumulatorSaveable(self)

    def add(self, stamp_token: object, partition_ids: object, feature_ids: object, gradients: object, hessians: object) -> Operation:
        """Adds entries: nodes [n], (feature, dimension) [n, 2], gradients and hessians [n, ...]."""
        sums = self._make_summary(partition_ids, feature_ids, gradients, hessians)
        return self.op("Add")([self.resource_handle], stamp_token, *([each] for each in sums))

    def _make_summary(self, partition_ids: object, feature_ids: object, gradients: object, hessians: object) -> tuple[Tensor, ...]:
        return self.op("MakeSummary")(partition_ids, feature_ids, gradients, hessians)

    def flush(self, stamp_token: object, next_stamp_token: object) -> tuple[Tensor, ...]:
        """Empties it: number of updates, nodes, (feature, dimension) pairs, gradients and hessians."""
        return self.op("Flush")(self.resource_handle, stamp_token, next_stamp_token)


class StatsAccumulatorSaveable(ResourceSaveable):
    """The sums of a StatsAccumulator in a checkpoint."""

    _SUFFIXES = ("_stamp", "_num_updates", "_partition_ids", "_feature_ids", "_gradients", "hessians")

    def __init__(self, accumulator: StatsAccumulator) -> None:
        self._accumulator, handle = accumulator, accumulator.resource_handle
        tensors = {handle.name + suffix: tensor for suffix, tensor in zip(self._SUFFIXES, self.serialize(), strict=True)}
        put_back = lambda found: self.deserialize(*found)  # noqa: E731
        super().__init__(handle, tensors, accumulator.initializer, put_back, accumulator._name)

    def serialize(self) -> tuple[Tensor, ...]:
        """Stamp, number of updates, nodes, (feature, dimension) pairs, gradients and hessians."""
        return self._accumulator.op("Serialize")(self._accumulator.resource_handle)

    def deserialize(
        self, stamp_token: object, num_updates: object, partition_ids: object, feature_ids: object, gradients: object, hessians: object
    ) -> Operation:
        """Replaces the sums by what `serialize` gave."""
        sums = partition_ids, feature_ids, gradients, hessians
        return self._accumulator.op("Deserialize")(self._accumulator.resource_handle, stamp_token, num_updates, *sums)


class QuantileAccumulator(_Accumulator):
    """A stream of values, and buckets by the quantiles of those before the last flush.

    Args:
      init_stamp_token: what additions and flushes must come with; others are dropped.
      epsilon: relative error of quantiles.
      num_quantiles: about how many buckets there are.
      max_elements: a bound on how many values will be added.
      name: a name.
      container: where the resource lives.
      generate_quantiles: whether there are exactly that many buckets.
    """

    _KIND = "QuantileAccumulator"

    def __init__(
        self, init_stamp_token: object, epsilon: float, num_quantiles: int, max_elements: int | None = None, name: str | None = None,
        container: str | None = None, generate_quantiles: bool = False,
    ) -> None:  # fmt: skip
        self._init_stamp_token, self._epsilon = init_stamp_token, epsilon
        self._settings = {"epsilon": epsilon, "num_quantiles": num_quantiles, "generate_quantiles": generate_quantiles}
        if max_elements is not None:
            self._settings["max_elements"] = max_elements
        super().__init__(name, container)

    def _create_resource(self) -> Tensor:
        return raw.QuantileStreamResourceHandleOp(self._container, self._name, name=self._name)

    def _initialize(self) -> Operation:
        return raw.CreateQuantileAccumulator(self.resource_handle, self._init_stamp_token, **self._settings)

    def is_initialized(self) -> Tensor:
        return raw.QuantileAccumulatorIsInitialized(self.resource_handle)

    def _saved(self) -> SaveableObject:
        suffixes = ("_stamp", "_state", "_are_buckets_ready", "buckets")
        found = raw.QuantileAccumulatorSerialize(self.resource_handle)
        tensors = {self._name + suffix: tensor for suffix, tensor in zip(suffixes, found, strict=True)}
        put_back = lambda restored: raw.QuantileAccumulatorDeserialize(self.resource_handle, *restored)  # noqa: E731
        return ResourceSaveable(self.resource_handle, tensors, self._init_op, put_back, self._name)

    def get_buckets(self, stamp_token: TensorLike) -> tuple[Tensor, Tensor]:
        """Whether there are buckets (bool scalar), and their ends (float32 vector)."""
        ready, buckets = raw.QuantileAccumulatorGetBuckets([self.resource_handle], stamp_token)
        return ready[0], buckets[0]

    def make_summary(self, column: object, example_weights: object) -> Tensor:
        """The summary of a column, a Tensor [batch, 1] or a SparseTensor, as a string scalar."""
        sparse = [[column.indices], [column.values], [column.dense_shape]] if isinstance(column, SparseTensor) else [[], [], []]
        dense = [] if sparse[0] else [column]
        found = raw.MakeQuantileSummaries(dense, *sparse, example_weights, epsilon=self._epsilon / 2)
        return (found.sparse_summaries if sparse[0] else found.dense_summaries)[0]

    def add_summary(self, stamp_token: object, column: object, example_weights: object) -> Operation:
        """Adds a column with the weights [batch] of its examples."""
        return self.add_prebuilt_summary(stamp_token, self.make_summary(column, example_weights))

    def add_prebuilt_summary(self, stamp_token: TensorLike, summary: object) -> Operation:
        """Adds a summary."""
        return raw.QuantileAccumulatorAddSummaries([self.resource_handle], stamp_token, [summary])

    def flush(self, stamp_token: TensorLike, next_stamp_token: TensorLike) -> Operation:
        """Makes buckets of what was added, which is forgotten."""
        return raw.QuantileAccumulatorFlush(self.resource_handle, stamp_token, next_stamp_token)

    def flush_summary(self, stamp_token: TensorLike, next_stamp_token: TensorLike) -> Tensor:
        """The summary of what was added, which is forgotten."""
        return raw.QuantileAccumulatorFlushSummary(self.resource_handle, stamp_token, next_stamp_token)


class TreeEnsembleVariable(TrackableResource):
    """An ensemble of trees.

    Args:
      stamp_token: the number that its changes are counted from.
      tree_ensemble_config: a serialized DecisionTreeEnsembleConfig that it begins with.
      name: name of the node.
      container: where the resource lives.
    """

    def __init__(self, stamp_token: Any, tree_ensemble_config: Any, name: str, container: str | None = None) -> None:
        self._stamp_token, self._config, self._name, self._container = stamp_token, tree_ensemble_config, name, container
        self._init_op: Operation | None = None
        super().__init__()

    def _create_resource(self) -> Tensor:
        return raw.DecisionTreeEnsembleResourceHandleOp(self._container or "", shared_name=self._name, name=self._name)

    def _initialize(self) -> Operation:
        return raw.CreateTreeEnsembleVariable(self.resource_handle, self._stamp_token, self._config)

    @property
    def initializer(self) -> Operation:
        """The operation that creates the ensemble."""
        if self._init_op is None:
            self._init_op = self._initialize()
        return self._init_op

    def is_initialized(self) -> Tensor:
        """A bool scalar: whether the ensemble is created."""
        return raw.TreeEnsembleIsInitializedOp(self.resource_handle)

    def saved(self, name: str) -> SaveableObject:
        """The ensemble for a Saver."""
        handle = self.resource_handle
        stamp, config = raw.TreeEnsembleSerialize(handle)
        put_back = lambda found: raw.TreeEnsembleDeserialize(handle, *found)  # noqa: E731
        return ResourceSaveable(handle, {name + "_stamp": stamp, name + "_config": config}, self.initializer, put_back, name)

    def _gather_saveables_for_checkpoint(self) -> dict[str, Callable[[str], SaveableObject]]:
        return {self.resource_handle.op.name + "/tree_ensemble_variable": self.saved}


def tree_ensemble_variable(stamp_token: object, tree_ensemble_config: object, name: str, container: str | None = None) -> Tensor:
    """Makes an ensemble of trees; arguments as TreeEnsembleVariable has them.

    Returns:
      The handle, a resource scalar.
    """
    with name_scope(name, "TreeEnsembleVariable") as scope:
        variable = TreeEnsembleVariable(stamp_token, tree_ensemble_config, scope, container)
        handle, create, is_initialized = variable.resource_handle, variable.initializer, variable.is_initialized()
        add_to_collection(GraphKeys.SAVEABLE_OBJECTS, variable.saved(handle.name))
        register_resource(handle, create, is_initialized)
        return handle
