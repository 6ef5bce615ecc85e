"""Handlers of features: each accumulates what its feature tells about splits, and proposes the best split of each node."""

from __future__ import annotations

import abc
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.contrib.boosted_trees.resources import QuantileAccumulator, StatsAccumulator
from tfcompat._src.contrib.boosted_trees.trees import LearnerConfig
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import fill, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.search import unique, where
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.array.shape import size
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import logical_and
from tfcompat._src.ops.math.segment import unsorted_segment_sum

_BIAS = -1
"""The number of the feature that stands for all examples of a node."""


def _count_if(wanted: Any, values: Tensor) -> Tensor:
    """How many rows `values` has, or 0."""
    count = shape_of(values)[0]
    return where(wanted, count, zeros_like(count))


def _sums_by_node(values: Tensor, places: Tensor, nodes: Tensor) -> Tensor:
    """Sums of rows in double precision, as float32."""
    return cast(unsorted_segment_sum(cast(values, dtypes.float64), places, size(nodes)), dtypes.float32)


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

    @abc.abstractmethod
    def update_stats_sync(
        self, stamp_token: Any, example_partition_ids: Tensor, gradients: Tensor, hessians: Tensor, empty_gradients: Tensor,
        empty_hessians: Tensor, weights: Tensor, is_active: Tensor,
    ) -> Operation:  # fmt: skip
        """Adds a batch.

        Args:
          stamp_token: int64 scalar; what comes with another one than the present one is dropped.
          example_partition_ids: int32 [batch], the node of each example.
          gradients, hessians: float32 [batch, ...].
          empty_gradients, empty_hessians: not needed here, but for the signature.
          weights: float32 [batch], the weights of examples in quantiles.
          is_active: bool [2], whether the feature counts for this layer, and for the next one.
        """

    @abc.abstractmethod
    def make_splits(self, stamp_token: Any, next_stamp_token: Any, class_id: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Empties the handler: whether it is ready (bool scalar), nodes [n], gains [n], and serialized SplitInfos [n]."""

    def reset(self, stamp_token: Any, next_stamp_token: Any) -> Operation:
        """Forgets all."""
        return group(self._stats_accumulator.flush(stamp_token, next_stamp_token))

    def _flushed_stats(self, stamp_token: Any, next_stamp_token: Any) -> tuple[Tensor, ...]:
        """Number of batches (1 for a sum), nodes, (bucket, dimension) pairs, gradients and hessians."""
        batches, *stats = self._stats_accumulator.flush(stamp_token, next_stamp_token)
        uses_sum = convert_to_tensor(self._loss_uses_sum_reduction)
        return where(uses_sum, constant(1, dtypes.int64), batches), *stats

    def _add_with_bias(
        self, stamp_token: Any, is_wanted: Any, nodes: Tensor, gradients: Tensor, hessians: Tensor, examples: Tensor, features: Tensor
    ) -> Operation:
        """Adds entries (feature, dimension) of `examples`, and for each node the sums over all its examples."""
        nodes, gradients, hessians = (convert_to_tensor(each) for each in (nodes, gradients, hessians))
        whole, entries = _count_if(is_wanted, nodes), _count_if(is_wanted, examples)
        nodes, gradients, hessians = nodes[:whole], gradients[:whole], hessians[:whole]
        examples, features = examples[:entries], features[:entries]
        different, places = unique(nodes)
        bias = cast(fill(shape_of(different), _BIAS), dtypes.int64)
        return self._stats_accumulator.add(
            stamp_token,
            concat([different, gather(nodes, examples)], 0),
            concat([stack([bias, zeros_like(bias)], axis=1), features], 0),
            *(concat([_sums_by_node(each, places, different), gather(each, examples)], 0) for each in (gradients, hessians)),
        )


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

    def reset(self, stamp_token: Any, next_stamp_token: Any) -> Operation:
        return group(
            super().reset(stamp_token, next_stamp_token), self._quantile_accumulator.flush(stamp_token, next_stamp_token)
        )

    def _flushed(self, stamp_token: Any, next_stamp_token: Any) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
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
        self, dense_float_column: Tensor, weak_learner_type: Any = LearnerConfig.NORMAL_DECISION_TREE, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._dense_float_column, self._weak_learner_type = dense_float_column, weak_learner_type

    def update_stats_sync(
        self, stamp_token: Any, example_partition_ids: Tensor, gradients: Tensor, hessians: Tensor, empty_gradients: Tensor,
        empty_hessians: Tensor, weights: Tensor, is_active: Tensor,
    ) -> Operation:  # fmt: skip
        column = convert_to_tensor(self._dense_float_column)
        is_ready, buckets = self._quantile_accumulator.get_buckets(stamp_token)
        later = _count_if(is_active[1], column)
        add_quantiles = self._quantile_accumulator.add_summary(stamp_token, column[:later], weights[:later])
        now = _count_if(logical_and(logical_and(is_ready, size(buckets) > 0), is_active[0]), column)
        quantized = raw.Quantiles([column[:now]], [], [buckets], [], [])[0][0]
        add_stats = self._stats_accumulator.add(
            stamp_token, example_partition_ids[:now], cast(quantized, dtypes.int64), gradients[:now], hessians[:now]
        )
        return group(add_quantiles, add_stats)

    def make_splits(self, stamp_token: Any, next_stamp_token: Any, class_id: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
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

    def update_stats_sync(
        self, stamp_token: Any, example_partition_ids: Tensor, gradients: Tensor, hessians: Tensor, empty_gradients: Tensor,
        empty_hessians: Tensor, weights: Tensor, is_active: Tensor,
    ) -> Operation:  # fmt: skip
        column = self._sparse_float_column
        is_ready, buckets = self._quantile_accumulator.get_buckets(stamp_token)
        later, entries = _count_if(is_active[1], weights), _count_if(is_active[1], column.values)
        shape = stack([cast(later, dtypes.int64), column.dense_shape[1]])
        kept = SparseTensor(column.indices[:entries], column.values[:entries], shape)
        add_quantiles = self._quantile_accumulator.add_summary(stamp_token, kept, weights[:later])
        is_wanted = logical_and(is_ready, size(buckets) > 0)
        now = _count_if(is_wanted, column.values)
        quantized = raw.Quantiles([], [column.values[:now]], [], [buckets], [column.indices[:now]])[1][0]
        add_stats = self._add_with_bias(
            stamp_token, is_wanted, example_partition_ids, gradients, hessians, column.indices[:, 0], cast(quantized, dtypes.int64)
        )
        return group(add_quantiles, add_stats)

    def make_splits(self, stamp_token: Any, next_stamp_token: Any, class_id: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
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
        self, sparse_int_column: SparseTensor, weak_learner_type: Any = LearnerConfig.NORMAL_DECISION_TREE, **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._sparse_int_column, self._weak_learner_type = sparse_int_column, weak_learner_type

    def update_stats_sync(
        self, stamp_token: Any, example_partition_ids: Tensor, gradients: Tensor, hessians: Tensor, empty_gradients: Tensor,
        empty_hessians: Tensor, weights: Tensor, is_active: Tensor,
    ) -> Operation:  # fmt: skip
        column = self._sparse_int_column
        features = stack([column.values, zeros_like(column.values)], axis=1)
        return self._add_with_bias(
            stamp_token, is_active[0], example_partition_ids, gradients, hessians, column.indices[:, 0], features
        )

    def make_splits(self, stamp_token: Any, next_stamp_token: Any, class_id: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        stats = self._flushed_stats(stamp_token, next_stamp_token)
        return constant(True), *raw.BuildCategoricalEqualitySplits(
            *stats, class_id, self._column, _BIAS, *self._penalties, self._strategy, self._weak_learner_type
        )
