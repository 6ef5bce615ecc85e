"""The operations on an ensemble of tf.contrib.boosted_trees: create, save, grow and predict."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfcompat._src.contrib.boosted_trees.trees import (
    Candidate,
    Features,
    GradientTrees,
    dropped_trees,
    is_worth,
    learner_message,
    parsed,
    read_config,
)
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.ops.queues.held import Held, handle_op, held_op, is_initialized_op
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.platform import logging

_HANDLE = "tree_ensemble_handle: resource"
_FEATURES = (
    "dense_float_features: num_dense_float_features*float, "
    "sparse_float_feature_indices: num_sparse_float_features*int64, "
    "sparse_float_feature_values: num_sparse_float_features*float, "
    "sparse_float_feature_shapes: num_sparse_float_features*int64, "
    "sparse_int_feature_indices: num_sparse_int_features*int64, "
    "sparse_int_feature_values: num_sparse_int_features*int64, "
    "sparse_int_feature_shapes: num_sparse_int_features*int64"
)
_FEATURE_ATTRS = (
    "num_dense_float_features: int >= 0, num_sparse_float_features: int >= 0, num_sparse_int_features: int >= 0, "
    "use_locking: bool = False"
)

handle_op("DecisionTreeEnsembleResourceHandleOp", "N10tensorflow13boosted_trees6models28DecisionTreeEnsembleResourceE")
is_initialized_op("TreeEnsembleIsInitializedOp", "tree_ensemble_handle")


def _scalars(count: int) -> Any:
    """A shape function: all inputs and `count` outputs are scalars."""

    def shape(c: si.InferenceContext) -> list:
        for sizes in c.inputs:
            si.with_rank(sizes, 0)
        return [()] * count

    return shape


_CONFIG = f"({_HANDLE}, stamp_token: int64, tree_ensemble_config: string) -> ()"


@held_op("CreateTreeEnsembleVariable", _CONFIG, shape=_scalars(0))
def _create(context: object, handle: Held, stamp: object, config: object) -> tuple:
    handle.create(lambda: GradientTrees.parse(config, stamp))
    return ()


@held_op("TreeEnsembleDeserialize", _CONFIG, shape=_scalars(0))
def _deserialize(context: object, handle: Held, stamp: object, config: object) -> tuple:
    with handle.lock:
        handle.held()
        handle.content = GradientTrees.parse(config, stamp)
    return ()


@held_op("TreeEnsembleStampToken", f"({_HANDLE}) -> (stamp_token: int64)", shape=_scalars(1))
def _stamp(context: object, handle: Held) -> np.int64:
    with handle.lock:
        return np.int64(handle.held().stamp)


@held_op("TreeEnsembleSerialize", f"({_HANDLE}) -> (stamp_token: int64, tree_ensemble_config: string)", shape=_scalars(2))
def _serialize(context: object, handle: Held) -> tuple:
    with handle.lock:
        trees = handle.held()
        return np.int64(trees.stamp), np.array(trees.state.SerializeToString(), object)


@held_op(
    "TreeEnsembleUsedHandlers",
    f"({_HANDLE}, stamp_token: int64, *, num_all_handlers: int >= 0) -> (num_used_handlers: int64, used_handlers_mask: bool)",
    shape=lambda c: [(), (c.attr("num_all_handlers"),)],
)
def _used_handlers(context: object, handle: Held, stamp: object, *, num_all_handlers: int) -> tuple:
    with handle.lock:
        trees = handle.held()
        trees.check(stamp)
        used = list(trees.state.growing_metadata.used_handler_ids)
    return np.int64(len(used)), np.isin(np.arange(num_all_handlers), used)


@held_op(
    "TreeEnsembleStats",
    f"({_HANDLE}, stamp_token: int64) -> (num_trees: int64, num_layers: int64, active_tree: int64, active_layer: int64, "
    "attempted_trees: int64, attempted_layers: int64)",
    shape=_scalars(6),
)
def _stats(context: object, handle: Held, stamp: object) -> tuple:
    with handle.lock:
        trees = handle.held()
        trees.check(stamp)
        return trees.stats()


@held_op(
    "CenterTreeEnsembleBias",
    f"({_HANDLE}, stamp_token: int64, next_stamp_token: int64, delta_updates: float, *, learner_config: string, "
    "centering_epsilon: float = 0.01) -> (continue_centering: bool)",
    shape=lambda c: [()],
)
def _center(context: object, handle: Held, stamp: object, following: object, changes: Any, *, centering_epsilon: float) -> np.bool_:
    if np.ndim(changes) != 1:
        raise invalid(f"delta_updates must be a vector, got shape {list(np.shape(changes))}")
    with handle.lock:
        trees = handle.held()
        trees.advance(stamp, following)
        return np.bool_(trees.center(np.asarray(changes), np.float32(centering_epsilon)))


def _best_candidates(config: object, nodes: tuple, gains: tuple, splits: tuple) -> dict[int, Candidate]:
    """The best split of each node over all handlers."""
    best: dict[int, Candidate] = {}
    for handler, lists in enumerate(zip(nodes, gains, splits)):
        if len({len(each) for each in lists}) > 1:
            raise invalid("Inconsistent partition Ids, gains and splits tensors: they differ in size")
        for node, gain, split in zip(*(each.tolist() for each in lists)):
            candidate = Candidate(handler, gain, parsed(learner_message("SplitInfo"), split, "split info"))
            if is_worth(candidate, config) and (node not in best or candidate.beats(best[node])):
                best[node] = candidate
    return best


@held_op(
    "GrowTreeEnsemble",
    f"({_HANDLE}, stamp_token: int64, next_stamp_token: int64, learning_rate: float, dropout_seed: int64, max_tree_depth: int32, "
    "weak_learner_type: int32, partition_ids: num_handlers*int32, gains: num_handlers*float, splits: num_handlers*string, *, "
    "learner_config: string, num_handlers: int >= 0, center_bias: bool) -> ()",
    shape=si.no_outputs,
)
def _grow(
    context: Any, handle: Held, stamp: object, following: object, learning_rate: Any, seed: Any, max_depth: Any, learner: object, nodes: tuple,
    gains: tuple, splits: tuple,
) -> tuple:  # fmt: skip
    config = read_config(context.op.attrs["learner_config"])
    best = _best_candidates(config, nodes, gains, splits)
    with handle.lock:
        trees = handle.held()
        trees.advance(stamp, following)
        center_bias = context.op.attrs["center_bias"]
        if not trees.grow(best, config, float(learning_rate), int(max_depth), int(seed), center_bias):
            logging.warning("Not growing tree ensemble as no good splits were found.")
    return ()


def _averaged_weights(weights: np.ndarray, config: Any) -> np.ndarray:
    """The weights of trees for the mean of the last ensembles, each with a tree more than the one before."""
    kind = config.averaging_config.WhichOneof("config")
    if kind is None:
        return weights
    number = getattr(config.averaging_config, kind)
    if kind == "average_last_percent_trees":
        if not 0 < number <= 1:
            raise invalid("Average last percent must be in (0,1] interval.")
        start = len(weights) * (1.0 - number)
    else:
        if number <= 0:
            raise invalid("Average last n trees must be a positive number")
        start = len(weights) - number
    start = math.floor(max(0.0, start))
    count = len(weights) - start
    factors = np.array([count - i for i in range(count)], np.float32)
    found = weights.copy()
    found[start:] = weights[start:] * factors / np.float32(count)
    return found


def _left_out(attrs: Any, config: Any, seed: Any, state: Any) -> list[int]:
    """The trees that a prediction in training goes without."""
    if not attrs["apply_dropout"]:
        return []
    if np.ndim(seed):
        raise invalid("Seed must be a scalar.")
    kept = {0} if attrs["center_bias"] else set()
    if state.HasField("growing_metadata"):
        kept.add(len(state.trees) - 1)
    return dropped_trees(int(seed), config, kept, len(state.trees))


def _predictions(context: Any, handle: Held, seed: object, features: Features) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits [batch, n], trees left out with their weights [2, left out], and leaves by tree, int32 [batch, trees]."""
    attrs = context.op.attrs
    config = read_config(attrs["learner_config"])
    if config.num_classes < 2:
        raise invalid("Number of classes must be >=2")
    found = np.zeros((features.size, config.num_classes - bool(attrs["reduce_dim"])), np.float32)
    with handle.lock:
        state = handle.held().state
        weights = np.array(state.tree_weights, np.float32)
        if attrs["apply_averaging"]:
            weights = _averaged_weights(weights, config)
        left_out = _left_out(attrs, config, seed, state)
        dropped = np.array([left_out, [state.tree_weights[tree] for tree in left_out]], np.float32).reshape(2, -1)
        leaves = np.zeros((features.size, len(state.trees)), np.int32)
        for number, (tree, weight) in enumerate(zip(state.trees, weights)):
            unfinished = number < len(state.tree_metadata) and not state.tree_metadata[number].is_finalized
            if number in left_out:
                continue
            if config.growing_mode == config.WHOLE_TREE and unfinished and not (attrs["center_bias"] and number == 0):
                continue
            leaves[:, number] = features.leaves(tree)
            found += _leaf_logits(tree, weight, found.shape[1])[leaves[:, number]]
    return found, dropped, leaves


def _leaf_logits(tree: Any, weight: np.float32, size: int) -> np.ndarray:
    """Weighted logits of all nodes [nodes, size]; zeros for those that are no leaves."""
    found = np.zeros((len(tree.nodes), size), np.float32)
    for at, node in enumerate(tree.nodes):
        values = node.leaf.vector.value
        places: Any = range(len(values))
        if node.leaf.WhichOneof("leaf") == "sparse_vector":
            values, places = node.leaf.sparse_vector.value, list(node.leaf.sparse_vector.index)
        if len(places) != len(values) or not all(0 <= place < size for place in places):
            raise invalid(f"A leaf has logits {list(places)}, and predictions have {size}.")
        found[at, list(places)] = weight * np.array(values, np.float32)
    return found


def _batch_size(c: si.InferenceContext) -> int | None:
    first = 2 if c.op.type.startswith("GradientTreesPrediction") else 1
    return si.with_rank(c.inputs[first], 2)[0] if c.attr("num_dense_float_features") else None


def _columns(c: si.InferenceContext) -> int | None:
    return read_config(c.attr("learner_config")).num_classes - bool(c.attr("reduce_dim"))


_PREDICTION = (
    f"({_HANDLE}, seed: int64, {_FEATURES}, *, learner_config: string, {_FEATURE_ATTRS}, apply_dropout: bool, "
    "apply_averaging: bool, center_bias: bool, reduce_dim: bool) -> (predictions: float, drop_out_tree_indices_weights: float"
)


@held_op("GradientTreesPrediction", _PREDICTION + ")", shape=lambda c: [(_batch_size(c), _columns(c)), (2, None)])
def _predict(context: object, handle: Held, seed: object, dense: tuple, *sparse: tuple) -> tuple:
    return _predictions(context, handle, seed, Features(dense, sparse[:3], sparse[3:]))[:2]


@held_op(
    "GradientTreesPredictionVerbose", _PREDICTION + ", leaf_index: int32)",
    shape=lambda c: [(_batch_size(c), _columns(c)), (2, None), (_batch_size(c), None)],
)  # fmt: skip
def _predict_verbose(context: object, handle: Held, seed: object, dense: tuple, *sparse: tuple) -> tuple:
    return _predictions(context, handle, seed, Features(dense, sparse[:3], sparse[3:]))


@held_op(
    "GradientTreesPartitionExamples",
    f"({_HANDLE}, {_FEATURES}, *, {_FEATURE_ATTRS}) -> (partition_ids: int32)",
    shape=lambda c: [(_batch_size(c),)],
)
def _partition(context: object, handle: Held, dense: tuple, *sparse: tuple) -> np.ndarray:
    features = Features(dense, sparse[:3], sparse[3:])
    with handle.lock:
        trees = handle.held()
        return np.zeros(features.size, np.int32) if trees.is_finished else features.leaves(trees.state.trees[-1])
