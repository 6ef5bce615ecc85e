"""Training of tf.contrib.boosted_trees: predictions by the ensemble so far, what a batch adds, and how layers grow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.boosted_trees.features import extract_features
from tfcompat._src.contrib.boosted_trees.resources import StatsAccumulator
from tfcompat._src.contrib.boosted_trees.split_handlers import (
    Batch,
    DenseSplitHandler,
    EqualitySplitHandler,
    SparseSplitHandler,
    handler_stamps,
)
from tfcompat._src.contrib.boosted_trees.trees import LearnerConfig, read_config
from tfcompat._src.contrib.learn.model_fn import ModeKeys
from tfcompat._src.gradients.gradients import gradients as gradients_of
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses.losses import Reduction
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import ones, zeros, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack, unstack
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import reshape, squeeze
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import logical_and
from tfcompat._src.ops.math.contraction import trace
from tfcompat._src.ops.math.reduce import reduce_all, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.random.stateless import stateless_random_uniform
from tfcompat._src.platform import logging
from tfcompat._src.summary.summary import scalar
from tfcompat._src.variables.variable import Variable

ENSEMBLE_STAMP = "ensemble_stamp"
PREDICTIONS = "predictions"
PARTITION_IDS = "partition_ids"
NUM_LAYERS_ATTEMPTED = "num_layers"
NUM_TREES_ATTEMPTED = "num_trees"
NUM_USED_HANDLERS = "num_used_handlers"
USED_HANDLERS_MASK = "used_handlers_mask"
LEAF_INDEX = "leaf_index"


class GBDTTrainingState(NamedTuple):
    """What steps of a training count and accumulate."""

    num_layer_examples: Any
    num_layer_steps: Any
    num_layers: Any
    active_tree: Any
    active_layer: Any
    continue_centering: Any
    bias_stats_accumulator: StatsAccumulator
    steps_accumulator: StatsAccumulator
    handlers: list[Any]


def _counter(name: str) -> Any:
    return Variable(initial_value=zeros([], dtypes.int64), name=name, trainable=False)


def _with_defaults(config: Any, logits_dimension: int) -> Any:
    """Fills in what a LearnerConfig leaves open, in place; ValueError for what does not go together."""
    if config.num_classes < 2:
        raise ValueError("Number of classes must be >=2")
    if config.multi_class_strategy == config.MULTI_CLASS_STRATEGY_UNSPECIFIED:
        config.multi_class_strategy = config.TREE_PER_CLASS if logits_dimension == 1 else config.DIAGONAL_HESSIAN
    if config.growing_mode == config.GROWING_MODE_UNSPECIFIED:
        config.growing_mode = config.LAYER_BY_LAYER
    is_oblivious = config.weak_learner_type == config.OBLIVIOUS_DECISION_TREE
    if config.pruning_mode == config.PRUNING_MODE_UNSPECIFIED:
        config.pruning_mode = config.PRE_PRUNE if is_oblivious else config.POST_PRUNE
    if is_oblivious and config.pruning_mode == config.POST_PRUNE:
        raise ValueError("Post pruning is not implmented for oblivious decision trees.")
    if config.constraints.max_tree_depth == 0:
        config.constraints.max_tree_depth = 6
    if not config.learning_rate_tuner.WhichOneof("tuner"):
        config.learning_rate_tuner.fixed.learning_rate = 0.1
    read_config(config.SerializeToString())
    return config


def _column_of(tensor: Tensor, index: Tensor) -> Tensor:
    """The column of a matrix that a scalar names, as a vector."""
    return gather(tensor, index, axis=1)


class GradientBoostedDecisionTreeModel:
    """The operations of a model of boosted trees.

    Args:
      is_chief: whether this task grows trees.
      num_ps_replicas: has no effect: resources are not spread over parameter servers here.
      ensemble_handle: the handle of the ensemble.
      center_bias: whether the first tree is the bias of all examples.
      examples_per_layer: how many examples a layer is grown from, or a function from the number of the layer to that.
      learner_config: a LearnerConfig; what it leaves open is filled in.
      features: dict from name to Tensor or SparseTensor.
      logits_dimension: how many logits there are.
      loss_reduction: Reduction.SUM_OVER_NONZERO_WEIGHTS (a mean) or Reduction.SUM.
      feature_columns: columns; by default features are taken as they are.
      use_core_columns: whether columns are those of tf.feature_column.
      output_leaf_index: whether predictions have the leaves of each example.
      output_leaf_index_modes: the ModeKeys that they do in, by default INFER.
      num_quantiles: about how many buckets floats get.

    Raises:
      ValueError: arguments are missing, or do not go together. errors.UnimplementedError: the config asks for what is not done.
    """

    def __init__(
        self, is_chief: bool, num_ps_replicas: int, ensemble_handle: Tensor, center_bias: bool, examples_per_layer: Any,
        learner_config: Any, features: dict[str, Any], logits_dimension: int,
        loss_reduction: str = Reduction.SUM_OVER_NONZERO_WEIGHTS, feature_columns: Any = None, use_core_columns: bool = False,
        output_leaf_index: bool = False, output_leaf_index_modes: Any = None, num_quantiles: int = 100,
    ) -> None:  # fmt: skip
        if ensemble_handle is None:
            raise ValueError("ensemble_handle must be specified.")
        if learner_config is None:
            raise ValueError("learner_config must be specified.")
        if loss_reduction not in (Reduction.SUM, Reduction.SUM_OVER_NONZERO_WEIGHTS):
            raise ValueError(f"Invalid loss reduction is provided: {loss_reduction}.")
        self._logits_dimension, self._is_chief, self._handle = logits_dimension, is_chief, ensemble_handle
        self._center_bias, self._examples_per_layer, self._num_quantiles = center_bias, examples_per_layer, num_quantiles
        self._uses_sum = loss_reduction == Reduction.SUM
        self._config = _with_defaults(learner_config, logits_dimension)
        self._serialized_config = self._config.SerializeToString()
        self._gradient_shape, self._hessian_shape = self._shapes()
        self._max_tree_depth = Variable(initial_value=int(self._config.constraints.max_tree_depth))
        self._attempted_trees, self._finalized_trees = _counter("attempted_trees"), _counter("finalized_trees")
        if not features:
            raise ValueError("Features dictionary must be specified.")
        self._features = extract_features(features, feature_columns, use_core_columns)
        logging.info("Active Feature Columns: %s", self._features.names)
        logging.info("Learner config: %s", self._config)
        modes = [ModeKeys.INFER] if output_leaf_index_modes is None else output_leaf_index_modes
        if not all(mode in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.INFER) for mode in modes):
            raise ValueError("output_leaf_index_modes should only contain ModeKeys.")
        self._leaf_index_modes = modes if output_leaf_index else []

    @property
    def _is_per_class(self) -> bool:
        return self._config.multi_class_strategy == LearnerConfig.TREE_PER_CLASS

    def _shapes(self) -> tuple[TensorShape, TensorShape]:
        """Of the gradients and hessians of an example, as splits see them."""
        if self._logits_dimension == 1 or self._is_per_class:
            return TensorShape([]), TensorShape([])
        if self._center_bias:
            raise ValueError("Center bias should be False for multiclass.")
        size = self._logits_dimension
        is_full = self._config.multi_class_strategy == LearnerConfig.FULL_HESSIAN
        return TensorShape([size]), TensorShape([size, size] if is_full else [size])

    def predict(self, mode: str) -> dict[str, Tensor]:
        """What the ensemble says of the features: logits, and where growing it is.

        Args:
          mode: one of ModeKeys.
        """
        inputs = self._features.inputs()
        stamp = raw.TreeEnsembleStampToken(self._handle)
        stats = raw.TreeEnsembleStats(self._handle, stamp)
        count, mask = raw.TreeEnsembleUsedHandlers(self._handle, stamp, num_all_handlers=len(self._features.names))
        is_training = mode == ModeKeys.TRAIN
        settings = {
            "learner_config": self._serialized_config, "apply_dropout": is_training, "apply_averaging": not is_training,
            "use_locking": True, "center_bias": self._center_bias,
            "reduce_dim": self._is_per_class and self._config.num_classes == 2,
        }  # fmt: skip
        with_leaves = mode in self._leaf_index_modes
        predict = raw.GradientTreesPredictionVerbose if with_leaves else raw.GradientTreesPrediction
        with control_dependencies(stats):
            found = predict(self._handle, stats.attempted_trees if is_training else -1, *inputs, **settings)
            nodes = raw.GradientTreesPartitionExamples(self._handle, *inputs, use_locking=True)
        result = {
            ENSEMBLE_STAMP: stamp, PREDICTIONS: found[0], PARTITION_IDS: nodes, NUM_LAYERS_ATTEMPTED: stats.attempted_layers,
            NUM_TREES_ATTEMPTED: stats.attempted_trees, NUM_USED_HANDLERS: count, USED_HANDLERS_MASK: mask,
        }  # fmt: skip
        return {**result, LEAF_INDEX: found[2]} if with_leaves else result

    # ---- what a batch adds ----

    def _class_id(self, predictions: dict[str, Tensor]) -> Tensor:
        """The class whose tree is grown, -1 where trees are for all."""
        if self._is_per_class and self._logits_dimension != 1:
            return cast(predictions[NUM_TREES_ATTEMPTED] % self._logits_dimension, dtypes.int32)
        return constant(-1, dtype=dtypes.int32)

    def _second_derivatives(self, gradients: Tensor, logits: Tensor) -> Tensor:
        """Hessians [batch, logits, logits], or their diagonals [batch, logits]."""
        rows = []
        for row, column in enumerate(unstack(gradients, num=self._logits_dimension, axis=1)):
            (found,) = gradients_of(column, logits, name=f"Hessian_{row}")
            is_full = self._config.multi_class_strategy == LearnerConfig.FULL_HESSIAN
            rows.append(found if is_full else found[:, row])
        return stack(rows, axis=1)

    def _derivatives(self, predictions: dict[str, Tensor], gradients: Tensor, hessians: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients and hessians as splits see them, and the hessians of all logits."""
        logits = predictions[PREDICTIONS]
        if self._is_per_class and self._logits_dimension == 1:
            if hessians is None:
                (hessians,) = gradients_of(gradients, logits, name="Hessian")
            return squeeze(gradients, axis=[1]), squeeze(hessians, axis=[1]), hessians
        if hessians is not None:
            raise ValueError("Providing hessians is not yet supported here.")
        hessians = self._second_derivatives(gradients, logits)
        if not self._is_per_class:
            return gradients, hessians, hessians
        class_id = self._class_id(predictions)
        return _column_of(gradients, class_id), _column_of(hessians, class_id), hessians

    def _weights(self, hessians: Tensor) -> Tensor:
        """The weights of examples in quantiles."""
        if self._hessian_shape.rank == 0:
            return hessians
        return reduce_sum(hessians, axis=1) if self._hessian_shape.rank == 1 else trace(hessians)

    def _handlers(self) -> list[Any]:
        """A handler for each feature."""
        config, features = self._config, self._features
        common = {
            "l1_regularization": config.regularization.l1, "l2_regularization": config.regularization.l2,
            "tree_complexity_regularization": config.regularization.tree_complexity,
            "min_node_weight": config.constraints.min_node_weight, "gradient_shape": self._gradient_shape,
            "hessian_shape": self._hessian_shape, "multiclass_strategy": config.multi_class_strategy,
            "init_stamp_token": constant(0, dtype=dtypes.int64), "loss_uses_sum_reduction": self._uses_sum,
        }  # fmt: skip
        floats = {"epsilon": 1.0 / self._num_quantiles, "num_quantiles": self._num_quantiles}
        names = iter(features.names)
        return [
            *(DenseSplitHandler(column, name=next(names), feature_column_group_id=i, **floats, **common)
              for i, column in enumerate(features.dense_floats)),
            *(SparseSplitHandler(column, name=next(names), feature_column_group_id=i, **floats, **common)
              for i, column in enumerate(features.sparse_floats)),
            *(EqualitySplitHandler(column, name=next(names), feature_column_group_id=i, **common)
              for i, column in enumerate(features.sparse_ints)),
        ]  # fmt: skip

    def _active_handlers(self, predictions: dict[str, Tensor], count: int) -> Tensor:
        """For each handler whether it counts for this layer, and for the next one: bool [handlers, 2]."""
        config, kind = self._config, self._config.WhichOneof("feature_fraction")
        everything = ones([count, 2], dtype=dtypes.bool)
        active = everything
        if kind == "feature_fraction_per_level":
            seed = predictions[NUM_LAYERS_ATTEMPTED]
            drawn = [stateless_random_uniform(shape=[count], seed=[seed + later, 1]) for later in (0, 1)]
            active = stack(drawn, axis=1) < config.feature_fraction_per_level
        elif kind == "feature_fraction_per_tree":
            drawn = stateless_random_uniform(shape=[count], seed=[predictions[NUM_TREES_ATTEMPTED], 2])
            active = stack([drawn < config.feature_fraction_per_tree, everything[:, 1]], axis=1)
        most = config.constraints.max_number_of_unique_feature_columns
        if most:
            used = reshape(predictions[USED_HANDLERS_MASK], [-1, 1])
            only_used = logical_and(concat([used, used], axis=1), active)
            active = cond(predictions[NUM_USED_HANDLERS] >= most, lambda: only_used, lambda: active)
        return active

    def update_stats(
        self, loss: Tensor, predictions_dict: dict[str, Tensor], gradients: Any = None, hessians: Any = None
    ) -> tuple[list[Operation], Operation, GBDTTrainingState]:
        """Adds a batch.

        Args:
          loss: scalar Tensor.
          predictions_dict: what `predict` gave.
          gradients, hessians: of the loss by logits, [batch, logits]; by default tf.gradients finds them.

        Returns:
          Operations that add it, an operation that removes all trees, and what the training counts.
        """
        logits, stamp = predictions_dict[PREDICTIONS], predictions_dict[ENSEMBLE_STAMP]
        if gradients is None:
            (gradients,) = gradients_of(loss, logits, name="Gradients")
        for_splits, hessians_for_splits, hessians = self._derivatives(predictions_dict, gradients, hessians)
        weights = self._weights(hessians_for_splits)
        state = self._training_state()
        scalar("layer_stats/num_examples", state.num_layer_examples)
        scalar("layer_stats/num_steps", state.num_layer_steps)
        scalar("ensemble_stats/active_tree", state.active_tree)
        scalar("ensemble_stats/active_layer", state.active_layer)

        def add_bias() -> Operation:
            sums = reduce_sum(gradients, 0), reduce_sum(hessians, 0)
            places = zeros([self._logits_dimension, 2], dtype=dtypes.int64)
            return group(state.bias_stats_accumulator.add(stamp, arange(self._logits_dimension), places, *sums))

        updates = [cond(state.continue_centering, add_bias, no_op)]
        batch = Batch(predictions_dict[PARTITION_IDS], for_splits, hessians_for_splits, weights)
        stamps = handler_stamps(state.handlers, stamp, self._active_handlers(predictions_dict, len(state.handlers)))
        updates += [handler.add(now, later, batch) for handler, (now, later) in zip(state.handlers, stamps, strict=True)]
        return updates, self._reset(state), state

    def _training_state(self) -> GBDTTrainingState:
        names = ("num_layer_examples", "num_layer_steps", "num_layers", "active_tree", "active_layer")
        handlers, counters = self._handlers(), [_counter(name) for name in names]
        centering = Variable(initial_value=self._center_bias, name="continue_centering", trainable=False)
        bias = StatsAccumulator(0, self._gradient_shape, self._hessian_shape, name="BiasAccumulator")
        steps = StatsAccumulator(0, TensorShape([]), TensorShape([]), name="StepsAccumulator")
        return GBDTTrainingState(*counters, centering, bias, steps, handlers)

    def _reset(self, state: GBDTTrainingState) -> Operation:
        """Removes all trees and statistics, and drops what is on its way from workers."""
        if not self._is_chief:
            return no_op()
        stamp, _ = raw.TreeEnsembleSerialize(self._handle)
        following = stamp + 1
        done = [handler.reset(stamp, following) for handler in state.handlers]
        if self._center_bias:
            done += state.bias_stats_accumulator.flush(stamp, following)
        done += state.steps_accumulator.flush(stamp, following)
        done += [counter.assign(0).op for counter in (self._finalized_trees, self._attempted_trees)]
        with control_dependencies(done):
            forget = raw.TreeEnsembleDeserialize(self._handle, following, "", name="reset_gbdt")
        return group(*done, forget)

    # ---- growing ----

    def increment_step_counter_and_maybe_update_ensemble(
        self, predictions_dict: dict[str, Tensor], training_state: GBDTTrainingState
    ) -> Operation:
        """Counts a batch, and grows a layer when there are enough examples."""
        stamp, steps = predictions_dict[ENSEMBLE_STAMP], training_state.steps_accumulator
        batch_size = cast(shape_of(predictions_dict[PREDICTIONS])[0], dtypes.float32)
        add_step = steps.add(stamp, [0], [[0, 0]], [batch_size], [1.0])
        if not self._is_chief:
            return add_step
        with control_dependencies([add_step]):
            *_, examples, count = steps.saveable.serialize()
            examples, count = cast(examples[0], dtypes.int64), cast(count[0], dtypes.int64)
            wanted = self._examples_per_layer
            if callable(wanted):
                wanted = wanted(training_state.active_layer)
            update = self.make_update_ensemble_fn(
                stamp, training_state, predictions_dict[NUM_TREES_ATTEMPTED], self._class_id(predictions_dict)
            )
            return group(
                add_step, training_state.num_layer_examples.assign(examples), training_state.num_layer_steps.assign(count),
                cond(examples >= wanted, update, no_op),
            )  # fmt: skip

    def make_update_ensemble_fn(
        self, ensemble_stamp: Tensor, training_state: GBDTTrainingState, dropout_seed: Tensor, class_id: Tensor
    ) -> Callable[[], Operation]:
        """The function that makes the operation which grows a layer, or centers the bias."""
        kind = self._config.learning_rate_tuner.WhichOneof("tuner")
        if kind not in ("fixed", "dropout"):
            raise ValueError("Line search learning rate is not yet supported.")
        grow = functools.partial(self._grow, ensemble_stamp, dropout_seed)

        def update_ensemble() -> Operation:
            state, following = training_state, ensemble_stamp + 1
            *_, bias_gradients, bias_hessians = state.bias_stats_accumulator.flush(ensemble_stamp, following)
            splits = [handler.make_splits(ensemble_stamp, following, class_id) for handler in state.handlers]
            ready, nodes, gains, infos = (list(each) for each in zip(*splits))
            are_ready = reduce_all(stack(ready, axis=0, name="stack_handler_readiness"))

            def center_bias() -> Tensor:
                changes = where(bias_hessians > 0, -bias_gradients / bias_hessians, zeros_like(bias_gradients))
                goes_on = raw.CenterTreeEnsembleBias(
                    self._handle, ensemble_stamp, following, changes, learner_config=self._serialized_config
                )
                return state.continue_centering.assign(goes_on).op

            def grow_ensemble() -> Operation:
                learning_rate = getattr(self._config.learning_rate_tuner, kind).learning_rate
                return cond(are_ready, lambda: grow(learning_rate, nodes, gains, infos), lambda: grow(0.0, [], [], []))

            with control_dependencies(infos):
                update = cond(state.continue_centering, center_bias, grow_ensemble) if self._center_bias else grow_ensemble()
            with control_dependencies([update]):
                stats = raw.TreeEnsembleStats(self._handle, following)
                counted = {
                    self._finalized_trees: stats.num_trees, self._attempted_trees: stats.attempted_trees,
                    state.num_layers: stats.num_layers, state.active_tree: stats.active_tree,
                    state.active_layer: stats.active_layer,
                }  # fmt: skip
                done = [counter.assign(number) for counter, number in counted.items()]
            done += state.steps_accumulator.flush(ensemble_stamp, following)
            return group(are_ready, update, *done, name="update_ensemble")

        return update_ensemble

    def _grow(self, stamp: Tensor, seed: Tensor, learning_rate: float, nodes: list, gains: list, infos: list) -> Operation:
        return raw.GrowTreeEnsemble(
            self._handle, stamp, stamp + 1, learning_rate, seed, self._max_tree_depth, self._config.weak_learner_type, nodes, gains,
            infos, learner_config=self._serialized_config, center_bias=self._center_bias,
        )  # fmt: skip

    def get_number_of_trees_tensor(self) -> tuple[Any, Any]:
        """Variables that count finished and attempted trees."""
        return self._finalized_trees, self._attempted_trees

    def get_max_tree_depth(self) -> Any:
        """The variable that says how deep trees grow."""
        return self._max_tree_depth

    def train(
        self, loss: Tensor, predictions_dict: dict[str, Tensor], labels: Any, gradients: Any = None, hessians: Any = None
    ) -> Operation:
        """The operation of a step; arguments as `update_stats` has them, and labels, which have no effect."""
        updates, _, state = self.update_stats(loss, predictions_dict, gradients, hessians)
        with control_dependencies(updates):
            return self.increment_step_counter_and_maybe_update_ensemble(predictions_dict, state)
