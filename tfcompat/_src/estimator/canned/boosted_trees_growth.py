"""How boosted trees grow in training: from one batch that holds all data, or from batches that are accumulated."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.function.control_flow_v2 import cond_v2
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.join import stack, unstack
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.compare import greater_equal
from tfcompat._src.ops.math.reduce import reduce_mean, reduce_min
from tfcompat._src.ops.queues.accumulators import ConditionalAccumulator
from tfcompat._src.train.boosted_trees_ops import PruningMode, QuantileAccumulator, TreeEnsemble
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook, SessionRunValues

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class TreeHParams(NamedTuple):
    """The arguments of the estimators that say how trees grow."""

    n_trees: int
    max_depth: int
    learning_rate: float
    l1: float
    l2: float
    tree_complexity: float
    min_node_weight: float
    center_bias: bool
    pruning_mode: str
    quantile_sketch_epsilon: float

    @property
    def max_splits(self) -> int:
        """How many splits a tree can have."""
        return (1 << self.max_depth) - 1

    def pruning(self) -> int:
        """The mode of pruning; ValueError where the complexity of trees does not go with it."""
        mode = PruningMode.from_str(self.pruning_mode)
        if self.tree_complexity > 0 and mode == PruningMode.NO_PRUNING:
            raise ValueError("Tree complexity have no effect unless pruning mode is chosen.")
        if self.tree_complexity <= 0 and mode != PruningMode.NO_PRUNING:
            raise ValueError("For pruning, tree_complexity must be positive.")
        return mode


class StopAtAttemptsHook(SessionRunHook):
    """Stops when there are enough trees, or too many layers were tried for them.

    The numbers of a step are those before it, so that they are asked for again when the end is near.

    Args:
      num_finalized_trees, num_attempted_layers: int32 scalars.
      max_trees, max_depth: how large the ensemble is to be.
    """

    def __init__(self, num_finalized_trees: Tensor, num_attempted_layers: Tensor, max_trees: int, max_depth: int) -> None:
        self._numbers = [num_finalized_trees, num_attempted_layers]
        self._max_trees, self._max_layers = max_trees, 2 * max_trees * max_depth

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._numbers)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        trees, layers = run_values.results
        if trees >= self._max_trees - 1 or layers > self._max_layers - 1:
            trees, layers = run_context.session.run(self._numbers)
        if trees >= self._max_trees or layers > self._max_layers:
            run_context.request_stop()


class GrowerInitializationHook(SessionRunHook):
    """Runs an operation when a session was made."""

    def __init__(self, init_op: Operation) -> None:
        self._init_op = init_op

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        session.run(self._init_op)


class EnsembleGrower(abc.ABC):
    """Makes the operations that grow trees.

    Args:
      ensemble: the trees.
      quantiles: the quantiles of float features, None where there are none.
      hparams: how trees grow.
      feature_ids_list: for each number of buckets the features that have it.
    """

    def __init__(
        self, ensemble: TreeEnsemble, quantiles: QuantileAccumulator | None, hparams: TreeHParams, feature_ids_list: list[list[int]]
    ) -> None:
        self._ensemble, self._quantiles, self._hparams = ensemble, quantiles, hparams
        self._feature_ids_list = feature_ids_list
        self._pruning = hparams.pruning()

    @abc.abstractmethod
    def accumulate_quantiles(self, features: list[Tensor], weights: Tensor, are_boundaries_ready: Any) -> Operation:
        """Adds float features to the quantiles; `are_boundaries_ready`, a bool variable, becomes true when that is enough."""

    @abc.abstractmethod
    def center_bias(self, center_bias_var: Any, gradients: Tensor, hessians: Tensor) -> Operation:
        """Centers the bias by gradients and hessians [batch, 1]; the bool variable becomes false when that is done."""

    @abc.abstractmethod
    def grow_tree(self, stats_summaries_list: list[list[Tensor]], last_layer_nodes_range: Tensor) -> Operation:
        """Grows a layer.

        Args:
          stats_summaries_list: for each number of buckets the statistics [nodes, buckets, 2] of its features.
          last_layer_nodes_range: int32 [2], the nodes that may be split.
        """

    def chief_init_op(self) -> Operation:
        """What the chief runs when a session was made."""
        return no_op()

    def _center(self, center_bias_var: Any, mean_gradients: Tensor, mean_hessians: Tensor) -> Any:
        goes_on = raw.BoostedTreesCenterBias(
            self._ensemble.resource_handle, mean_gradients, mean_hessians, self._hparams.l1, self._hparams.l2
        )
        return center_bias_var.assign(goes_on)

    def _grow(self, stats_summaries_list: list[list[Tensor]], last_layer_nodes_range: Tensor) -> Operation:
        hparams, feature_ids, lists = self._hparams, [], [[], [], [], [], []]
        for ids, summaries in zip(self._feature_ids_list, stats_summaries_list, strict=True):
            found = raw.BoostedTreesCalculateBestGainsPerFeature(
                last_layer_nodes_range, summaries, hparams.l1, hparams.l2, hparams.tree_complexity, hparams.min_node_weight,
                max_splits=hparams.max_splits,
            )  # fmt: skip
            feature_ids += ids
            for each, tensors in zip(lists, found):
                each += tensors
        return raw.BoostedTreesUpdateEnsemble(
            self._ensemble.resource_handle, feature_ids, *lists, hparams.max_depth, hparams.learning_rate, pruning_mode=self._pruning
        )


class InMemoryEnsembleGrower(EnsembleGrower):
    """Grows a layer with each batch, which holds all data."""

    def accumulate_quantiles(self, features: list[Tensor], weights: Tensor, are_boundaries_ready: Any) -> Operation:
        with control_dependencies([self._quantiles.add_summaries(features, weights)]):
            flush = self._quantiles.flush()
            with control_dependencies([flush]):
                return are_boundaries_ready.assign(True).op

    def center_bias(self, center_bias_var: object, gradients: Tensor, hessians: Tensor) -> Any:
        mean_gradients, mean_hessians = (expand_dims(reduce_mean(each, 0), 0) for each in (gradients, hessians))
        return self._center(center_bias_var, mean_gradients, mean_hessians)

    def grow_tree(self, stats_summaries_list: list[list[Tensor]], last_layer_nodes_range: Tensor) -> Operation:
        return self._grow(stats_summaries_list, last_layer_nodes_range)


class AccumulatorEnsembleGrower(EnsembleGrower):
    """Grows a layer when enough batches are accumulated.

    Args:
      stamp_token: how often the ensemble was changed; accumulators drop what was computed before a change.
      n_batches_per_layer: how many batches are enough.
      bucket_size_list: numbers of buckets.
      is_chief: whether this task changes the trees.
      others: see EnsembleGrower.
    """

    def __init__(
        self, ensemble: TreeEnsemble, quantiles: QuantileAccumulator | None, hparams: TreeHParams, stamp_token: Tensor,
        n_batches_per_layer: object, bucket_size_list: list[int], is_chief: bool, feature_ids_list: list[list[int]],
    ) -> None:  # fmt: skip
        super().__init__(ensemble, quantiles, hparams, feature_ids_list)
        self._stamp_token, self._n_batches_per_layer, self._is_chief = stamp_token, n_batches_per_layer, is_chief
        self._init_ops: list[Operation] = []
        self._growing = [
            self._accumulator(
                [len(ids), hparams.max_splits, buckets, 2], f"numeric_stats_summary_accumulator_{i}"
            )
            for i, (ids, buckets) in enumerate(zip(feature_ids_list, bucket_size_list))
        ]
        self._bias = self._accumulator([2, 1], "bias_accumulator") if hparams.center_bias else None

    def _accumulator(self, shape: list[int], shared_name: str) -> ConditionalAccumulator:
        made = ConditionalAccumulator(dtypes.float32, shape=shape, shared_name=shared_name)
        self._init_ops.append(made.set_global_step(self._stamp_token))
        return made

    def _when_enough(self, number: Tensor, then: Callable, name: str) -> Any:
        return cond_v2(greater_equal(number, self._n_batches_per_layer), then, no_op, name=name)

    def accumulate_quantiles(self, features: list[Tensor], weights: Tensor, are_boundaries_ready: Any) -> Operation:
        added = self._quantiles.add_summaries(features, weights)
        batches = ConditionalAccumulator(dtypes.float32, shape={}, shared_name="quantile_summary_accum")
        step = batches.set_global_step(self._stamp_token)
        update = group(added, step, batches.apply_grad(constant(0.0), self._stamp_token))
        if not self._is_chief:
            return update

        def flush() -> Operation:
            taken = batches.take_grad(1)
            flushed = self._quantiles.flush()
            return group(flushed, taken, are_boundaries_ready.assign(True).op)

        with control_dependencies([update]):
            return self._when_enough(batches.num_accumulated(), flush, "wait_until_quaniles_accumulated")

    def center_bias(self, center_bias_var: TensorLike, gradients: Tensor, hessians: Tensor) -> Any:
        if self._bias is None:
            raise RuntimeError("center_bias called but bias centering is disabled.")
        means = reduce_mean(stack([gradients, hessians], axis=0), axis=1)

        def restart_growing() -> Operation:
            return group([each.set_global_step(self._stamp_token + 1) for each in self._growing])

        def center() -> Any:
            mean_gradients, mean_hessians = unstack(self._bias.take_grad(1), axis=0)
            first, second = expand_dims(mean_gradients, 0), expand_dims(mean_hessians, 0)
            with control_dependencies([self._center(center_bias_var, first, second)]):
                return cond_v2(center_bias_var, no_op, restart_growing, name=None)

        with control_dependencies([self._bias.apply_grad(means, self._stamp_token)]):
            if not self._is_chief:
                return no_op()
            return self._when_enough(self._bias.num_accumulated(), center, "wait_until_n_batches_for_bias_accumulated")

    def grow_tree(self, stats_summaries_list: list[list[Tensor]], last_layer_nodes_range: Tensor) -> Any:
        added = [
            accumulator.apply_grad(stack(summaries, axis=0), self._stamp_token)
            for accumulator, summaries in zip(self._growing, stats_summaries_list)
        ]

        def grow() -> Operation:
            summaries = [unstack(accumulator.take_grad(1), axis=0) for accumulator in self._growing]
            return self._grow(summaries, last_layer_nodes_range)

        with control_dependencies(added):
            if not self._is_chief:
                return no_op()
            least = reduce_min(stack([accumulator.num_accumulated() for accumulator in self._growing]))
            return self._when_enough(least, grow, "wait_until_n_batches_accumulated")

    def chief_init_op(self) -> Operation:
        return group(self._init_ops)
