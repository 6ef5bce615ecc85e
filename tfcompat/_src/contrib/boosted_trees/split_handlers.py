"""Handlers of features: each accumulates what its feature tells about splits, and proposes the best split of each node."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.contrib.boosted_trees.resources import QuantileAccumulator, StatsAccumulator
from tfcompat._src.contrib.boosted_trees.trees import LearnerConfig
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import fill, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack, unstack
from tfcompat._src.ops.array.search import unique, where
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.shape import size
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import logical_and, logical_or
from tfcompat._src.ops.math.segment import unsorted_segment_sum

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_BIAS = -1
"""The number of the feature that stands for all examples of a node."""


_DROPPED = -1
"""A stamp that nothing has: what is added with it is dropped."""


def _sums_by_node(values: Tensor, places: Tensor, nodes: Tensor) -> Tensor:
    """Sums of rows in double precision, as float32."""
    return cast(unsorted_segment_sum(cast(values, dtypes.float64), places, size(nodes)), dtypes.float32)


class Batch:
    """What handlers get of a batch.

    Args:
      nodes: int32 [batch], the node of each example.
      gradients, hessians: float32 [batch, ...].
      weights: float32 [batch], the weights of examples in quantiles.
    """

    def __init__(self, nodes: object, gradients: object, hessians: object, weights: object) -> None:
        converted = [convert_to_tensor(each) for each in (nodes, gradients, hessians, weights)]
        self.nodes, self.gradients, self.hessians, self.weights = converted
        self._sums: tuple[Tensor, ...] | None = None

    def sums(self) -> tuple[Tensor, ...]:
        """The nodes that have examples, and the sums of their gradients and hessians; made once for all handlers."""
        if self._sums is None:
            nodes, places = unique(self.nodes)
            self._sums = nodes, *(_sums_by_node(each, places, nodes) for each in (self.gradients, self.hessians))
        return self._sums


def handler_stamps(handlers: list[BaseSplitHandler], stamp: Any, active: Any) -> list[tuple[Tensor, Tensor]]:
    """The stamps that handlers add statistics and quantiles with: `stamp`, or one that drops what is not wanted.

    Numbers of rows would depend on what is wanted otherwise, and each would be compiled for.

    Args:
      handlers: the handlers; their buckets are read.
      stamp: int64 scalar.
      active: bool [handlers, 2], whether each counts for this layer, and for the next one.
    """
    ready = [handler.read_buckets(stamp) for handler in handlers]
    counts = logical_or(active[:, 0], constant([handler.COUNTS_ALWAYS for handler in handlers]))
    now = logical_and(stack(ready), counts)
    stamps = fill([len(handlers)], cast(stamp, dtypes.int64))
    dropped = fill([len(handlers)], constant(_DROPPED, dtypes.int64))
    kept = [unstack(where(wanted, stamps, dropped), num=len(handlers)) for wanted in (now, active[:, 1])]
    return list(zip(*kept))


class BaseSplitHandler(abc.ABC):
    """What handlers share.

    Args:
      l1_regularization, l2_regularization, tree_complexity_regularization: penalties, float32 scalars.
      min_node_weight: the hessian that a node needs.
      feature_column_group_id: the number of the feature among those of its kind.
      gradient_shape, hessian_shape: TensorShapes of what an example has.
      multiclass_strategy: a LearnerConfig.MultiClassStrategy.
      init_stamp_token: the first stamp.
      loss_uses_sum_reduction: whether the loss is a sum, not a mean.
      name: name of the feature.
    """

    def __init__(
        self, l1_regularization: Any, l2_regularization: Any, tree_complexity_regularization: Any, min_node_weight: Any,
        feature_column_group_id: Any, gradient_shape: Any, hessian_shape: Any, multiclass_strategy: Any, init_stamp_token: Any = 0,
        loss_uses_sum_reduction: Any = False, name: str | None = None,
    ) -> None:  # fmt: skip
        self._name, self._column, self._strategy = name or "", feature_column_group_id, multiclass_strategy
        self._penalties = l1_regularization, l2_regularization, tree_complexity_regularization, min_node_weight
        self._gradient_shape, self._hessian_shape = gradient_shape, hessian_shape
        self._loss_uses_sum_reduction = loss_uses_sum_reduction
        self._stats_accumulator = StatsAccumulator(
            init_stamp_token, gradient_shape, hessian_shape, name=f"StatsAccumulator/{self._name}"
        )

    COUNTS_ALWAYS = False
    """Whether it adds statistics though it does not count for this layer."""

    def read_buckets(self, stamp_token: Any) -> Tensor:
        """Reads the buckets that statistics are by; a bool scalar, whether there are any."""
        return constant(True)

    @abc.abstractmethod
    def add(self, stamp: Any, later: Any, batch: Batch) -> Operation:
        """Adds a batch after its buckets were read: statistics with one stamp, quantiles with the other."""

    def update_stats_sync(
        self, stamp_token: object, example_partition_ids: object, gradients: object, hessians: object, empty_gradients: object,
        empty_hessians: object, weights: object, is_active: TensorLike,
    ) -> Operation:  # fmt: skip
        """Adds a batch.

        Args:
          stamp_token: int64 scalar; what comes with another one than the present one is dropped.
          example_partition_ids, gradients, hessians, weights: those of Batch.
          empty_gradients, empty_hessians: not needed here, but for the signature.
          is_active: bool [2], whether the feature counts for this layer, and for the next one.
        """
        ((now, later),) = handler_stamps([self], stamp_token, convert_to_tensor(is_active)[None])
        return self.add(now, later, Batch(example_partition_ids, gradients, hessians, weights))

    @abc.abstractmethod
    def make_splits(self, stamp_token: Any, next_stamp_token: Any, class_id: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Empties the handler: whether it is ready (bool scalar), nodes [n], gains [n], and serialized SplitInfos [n]."""

    def reset(self, stamp_token: Any, next_stamp_token: Any) -> Operation:
        """Forgets all."""
        return group(self._stats_accumulator.flush(stamp_token, next_stamp_token))

    def _flushed_stats(self, stamp_token: object, next_stamp_token: object) -> tuple[Tensor, ...]:
        """Number of batches (1 for a sum), nodes, (bucket, dimension) pairs, gradients and hessians."""
        batches, *stats = self._stats_accumulator.flush(stamp_token, next_stamp_token)
        uses_sum = convert_to_tensor(self._loss_uses_sum_reduction)
        known, one = constant_value(uses_sum), constant(1, dtypes.int64)
        if known is None:
            return where(uses_sum, one, batches), *stats
        return (one if known else batches), *stats

    def _add_with_bias(self, stamp: object, batch: Batch, examples: Tensor, features: Tensor) -> Operation:
        """Adds entries (feature, dimension) of `examples`, and for each node the sums over all its examples."""
        nodes, *sums = batch.sums()
        bias = cast(fill(shape_of(nodes), _BIAS), dtypes.int64)
        entries = [concat([each, gather(of_all, examples)], 0) for each, of_all in zip(sums, (batch.gradients, batch.hessians))]
        return self._stats_accumulator.add(
            stamp, concat([nodes, gather(batch.nodes, examples)], 0),
            concat([stack([bias, zeros_like(bias)], axis=1), features], 0), *entries,
        )  # fmt: skip


class InequalitySplitHandler(BaseSplitHandler):
    """A handler of floats, which are put into buckets by the quantiles of the layer before.

    Args:
      epsilon: relative error of quantiles.
      num_quantiles: about how many buckets there are.
      others: BaseSplitHandler's.
    """

    def __init__(self, epsilon: float, num_quantiles: int, init_stamp_token: Any = 0, name: str | None = None, **settings: Any) -> None:
        super().__init__(init_stamp_token=init_stamp_token, name=name, **settings)
        self._quantile_accumulator = QuantileAccumulator(
            init_stamp_token, epsilon=epsilon, num_quantiles=num_quantiles, name=f"QuantileAccumulator/{self._name}"
        )

    def reset(self, stamp_token: object, next_stamp_token: object) -> Operation:
        return group(
            super().reset(stamp_token, next_stamp_token), self._quantile_accumulator.flush(stamp_token, next_stamp_token)
        )

    def read_buckets(self, stamp_token: object) -> Tensor:
        is_ready, self._buckets = self._quantile_accumulator.get_buckets(stamp_token)
        return logical_and(is_ready, size(self._buckets) > 0)

    def _flushed(self, stamp_token: object, next_stamp_token: object) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
        """Whether there were buckets, their ends, and the statistics; those of the next layer are made."""
        is_ready, buckets = self._quantile_accumulator.get_buckets(stamp_token)
        with control_dependencies([buckets]):
            flush = self._quantile_accumulator.flush(stamp_token, next_stamp_token)
        stats = self._flushed_stats(stamp_token, next_stamp_token)
        with control_dependencies([flush, stats[1]]):
            return identity(is_ready), buckets, stats


class DenseSplitHandler(InequalitySplitHandler):
    """A handler of a dense feature.

    Args:
      dense_float_column: float32 Tensor [batch, 1].
      weak_learner_type: a LearnerConfig.WeakLearnerType.
      others: InequalitySplitHandler's.
    """

    def __init__(
        self, dense_float_column: Tensor, weak_learner_type: object = LearnerConfig.NORMAL_DECISION_TREE, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._dense_float_column, self._weak_learner_type = dense_float_column, weak_learner_type

    def add(self, stamp: object, later: object, batch: Batch) -> Operation:
        column = self._dense_float_column
        add_quantiles = self._quantile_accumulator.add_summary(later, column, batch.weights)
        quantized = cast(raw.Quantiles([column], [], [self._buckets], [], [])[0][0], dtypes.int64)
        return group(add_quantiles, self._stats_accumulator.add(stamp, batch.nodes, quantized, batch.gradients, batch.hessians))

    def make_splits(self, stamp_token: object, next_stamp_token: object, class_id: object) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        is_ready, buckets, stats = self._flushed(stamp_token, next_stamp_token)
        return is_ready, *raw.BuildDenseInequalitySplits(
            *stats, buckets, class_id, self._column, *self._penalties, self._strategy, self._weak_learner_type
        )


class SparseSplitHandler(InequalitySplitHandler):
    """A handler of a sparse float feature.

    Args:
      sparse_float_column: SparseTensor [batch, dimensions].
      others: InequalitySplitHandler's.
    """

    def __init__(self, sparse_float_column: SparseTensor, **settings: Any) -> None:
        super().__init__(**settings)
        self._sparse_float_column = sparse_float_column

    COUNTS_ALWAYS = True

    def add(self, stamp: object, later: object, batch: Batch) -> Operation:
        column = self._sparse_float_column
        add_quantiles = self._quantile_accumulator.add_summary(later, column, batch.weights)
        quantized = cast(raw.Quantiles([], [column.values], [], [self._buckets], [column.indices])[1][0], dtypes.int64)
        return group(add_quantiles, self._add_with_bias(stamp, batch, column.indices[:, 0], quantized))

    def make_splits(self, stamp_token: object, next_stamp_token: object, class_id: object) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        is_ready, buckets, stats = self._flushed(stamp_token, next_stamp_token)
        return is_ready, *raw.BuildSparseInequalitySplits(
            *stats, buckets, class_id, self._column, _BIAS, *self._penalties, self._strategy
        )


class EqualitySplitHandler(BaseSplitHandler):
    """A handler of a sparse feature of ids.

    Args:
      sparse_int_column: int64 SparseTensor [batch, values].
      weak_learner_type: a LearnerConfig.WeakLearnerType.
      others: BaseSplitHandler's.
    """

    def __init__(
        self, sparse_int_column: SparseTensor, weak_learner_type: object = LearnerConfig.NORMAL_DECISION_TREE, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._sparse_int_column, self._weak_learner_type = sparse_int_column, weak_learner_type

    def add(self, stamp: object, later: object, batch: Batch) -> Operation:
        column = self._sparse_int_column
        features = stack([column.values, zeros_like(column.values)], axis=1)
        return self._add_with_bias(stamp, batch, column.indices[:, 0], features)

    def make_splits(self, stamp_token: object, next_stamp_token: object, class_id: object) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        stats = self._flushed_stats(stamp_token, next_stamp_token)
        return constant(True), *raw.BuildCategoricalEqualitySplits(
            *stats, class_id, self._column, _BIAS, *self._penalties, self._strategy, self._weak_learner_type
        )
