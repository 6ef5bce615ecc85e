"""The operations on an ensemble of boosted trees: create, save, grow and predict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.ops.queues.held import Held, handle_op, held_op, is_initialized_op
from tfcompat._src.ops.queues.reader_state import strings
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.ops.trees.ensemble import Ensemble, Split, message
from tfcompat._src.ops.trees.gains import LEAST_GAIN, scalar_of, weights_and_gains
from tfcompat._src.platform import logging
from tfcompat._src.proto import pool

_SERIALIZED = "(tree_ensemble_handle: resource, stamp_token: int64, tree_ensemble_serialized: string) -> ()"
_CANDIDATES = (
    "node_ids: num_features*int32, gains: num_features*float, thresholds: num_features*int32, "
    "left_node_contribs: num_features*float, right_node_contribs: num_features*float"
)
_FEATURES = "bucketized_features: num_bucketized_features*int32"
_FEATURE_ATTRS = "num_bucketized_features: int >= 1, logits_dimension: int"

_SPLIT_TYPES = pool.enum("tensorflow.boosted_trees.SplitTypeWithDefault")

handle_op("BoostedTreesEnsembleResourceHandleOp", "N10tensorflow28BoostedTreesEnsembleResourceE")
is_initialized_op("IsBoostedTreesEnsembleInitialized", "tree_ensemble_handle")


def _scalars(c: si.InferenceContext) -> list:
    for sizes in c.inputs:
        si.with_rank(sizes, 0)
    return []


@held_op("BoostedTreesCreateEnsemble", _SERIALIZED, shape=_scalars)
def _create(context: object, handle: Held, stamp: object, serialized: object) -> tuple:
    handle.create(lambda: Ensemble.parse(serialized, stamp))
    return ()


@held_op("BoostedTreesDeserializeEnsemble", _SERIALIZED, shape=_scalars)
def _deserialize(context: object, handle: Held, stamp: object, serialized: object) -> tuple:
    with handle.lock:
        handle.held()
        handle.content = Ensemble.parse(serialized, stamp)
    return ()


@held_op(
    "BoostedTreesSerializeEnsemble",
    "(tree_ensemble_handle: resource) -> (stamp_token: int64, tree_ensemble_serialized: string)",
    shape=si.scalar,
)
def _serialize(context: object, handle: Held) -> tuple:
    with handle.lock:
        ensemble = handle.held()
        return np.int64(ensemble.stamp), np.array(ensemble.serialize(), object)


@held_op(
    "BoostedTreesGetEnsembleStates",
    "(tree_ensemble_handle: resource) -> (stamp_token: int64, num_trees: int32, num_finalized_trees: int32, "
    "num_attempted_layers: int32, last_layer_nodes_range: int32)",
    shape=lambda c: [(), (), (), (), (2,)],
)
def _states(context: object, handle: Held) -> tuple:
    with handle.lock:
        return handle.held().states()


# ---- growing ----


def _candidates_shape(c: si.InferenceContext, groups: tuple[int, ...], first: int) -> list:
    """Checks lists of inputs: one tensor for each feature, of these ranks, as long as the first list's `first`."""
    count = c.attr("num_features")
    si.merge(si.with_rank(c.inputs[1], 1), (count,))
    for index in range(count):
        tensors = [c.inputs[2 + group * count + index] for group in range(len(groups))]
        length = si.with_rank(tensors[first], 1)[0]
        for group, (sizes, rank) in enumerate(zip(tensors, groups)):
            wanted = (None,) if group < first else (length, 1)[:rank]
            si.merge(si.with_rank(sizes, rank), wanted)
    return []


def _by_feature(lists: tuple) -> Iterator[list[list]]:
    """For each feature its candidates: a list of numbers from each of `lists`, which hold an array per feature."""
    for index, arrays in enumerate(zip(*lists)):
        arrays = [np.asarray(array) for array in arrays]
        if any(array.ndim not in (1, 2) or len(array) != len(arrays[0]) for array in arrays):
            raise invalid(f"The candidates of feature {index} are not vectors or matrices of one length.")
        yield [list(array[:, 0]) if array.ndim == 2 else array.tolist() for array in arrays]


def _replaces(feature: int, gain: float, known: Split) -> bool:
    if abs(gain - known.gain) < LEAST_GAIN:
        return feature < known.feature
    return gain - known.gain >= LEAST_GAIN


def _best_splits(features: Any, learning_rate: object, lists: tuple, dimensions: tuple = (), kinds: tuple = ()) -> dict[int, Split]:
    """The candidate with the largest gain of each node; of equal ones that of the feature with the lowest id."""
    if np.shape(features) != (len(lists[0]),):
        raise invalid(f"feature_ids must be a vector of {len(lists[0])} numbers, received shape {list(np.shape(features))}")
    rate = scalar_of(learning_rate, "learning_rate")
    best: dict[int, Split] = {}
    for feature, columns in zip(np.asarray(features).tolist(), _by_feature((*lists, *dimensions, *kinds))):
        for node, gain, threshold, left, right, *more in zip(*columns):
            if node in best and not _replaces(feature, gain, best[node]):
                continue
            dimension, kind = more or (0, b"INEQUALITY_DEFAULT_LEFT")
            if kind.decode() not in _SPLIT_TYPES.keys():
                raise errors.InternalError(None, None, f"Parse failed: {kind!r} is no type of split")
            best[node] = Split(
                feature, gain, threshold, rate * left, rate * right, dimension,
                is_equality=kind == b"EQUALITY_DEFAULT_RIGHT", default_right=kind == b"INEQUALITY_DEFAULT_RIGHT",
            )  # fmt: skip
    return best


def _grow(handle: Held, splits: dict[int, Split], max_depth: Any, pruning: int) -> tuple:
    if np.ndim(max_depth):
        raise invalid(f"max_depth must be a scalar, got a tensor of shape {list(np.shape(max_depth))}")
    with handle.lock:
        if not handle.held().grow(splits, int(max_depth), pruning):
            logging.warning("Not growing tree ensemble as no good splits were found.")
    return ()


@held_op(
    "BoostedTreesUpdateEnsemble",
    f"(tree_ensemble_handle: resource, feature_ids: int32, {_CANDIDATES}, max_depth: int32, learning_rate: float, *, "
    "pruning_mode: int >= 0, num_features: int >= 0) -> ()",
    shape=lambda c: _candidates_shape(c, (1, 1, 1, 2, 2), 0),
)  # fmt: skip
def _update(
    context: object, handle: Held, features: object, nodes: object, gains: object, thresholds: object, left: object, right: object, max_depth: object,
    learning_rate: object, *, pruning_mode: int,
) -> tuple:  # fmt: skip
    splits = _best_splits(features, learning_rate, (nodes, gains, thresholds, left, right))
    return _grow(handle, splits, max_depth, pruning_mode)


@held_op(
    "BoostedTreesUpdateEnsembleV2",
    f"(tree_ensemble_handle: resource, feature_ids: int32, dimension_ids: num_features*int32, {_CANDIDATES}, "
    "split_types: num_features*string, max_depth: int32, learning_rate: float, pruning_mode: int32, *, num_features: int >= 0) -> ()",
    shape=lambda c: _candidates_shape(c, (1, 1, 1, 1, 2, 2, 1), 1),
)
def _update_v2(
    context: object, handle: Held, features: object, dimensions: object, nodes: object, gains: object, thresholds: object, left: object, right: object,
    kinds: object, max_depth: object, learning_rate: object, pruning_mode: object,
) -> tuple:  # fmt: skip
    lists = (nodes, gains, thresholds, left, right)
    splits = _best_splits(features, learning_rate, lists, (dimensions,), (kinds,))
    return _grow(handle, splits, max_depth, int(scalar_of(pruning_mode, "pruning_mode")))


def _center_shape(c: si.InferenceContext) -> list:
    si.merge(si.with_rank(c.inputs[1], 2), si.with_rank(c.inputs[2], 2))
    for sizes in c.inputs[3:]:
        si.with_rank(sizes, 0)
    return [()]


@held_op(
    "BoostedTreesCenterBias",
    "(tree_ensemble_handle: resource, mean_gradients: float, mean_hessians: float, l1: float, l2: float) -> "
    "(continue_centering: bool)",
    shape=_center_shape,
)
def _center_bias(context: object, handle: Held, gradients: Any, hessians: Any, l1: object, l2: object) -> np.bool_:
    if np.shape(gradients) != (1, 1) or np.shape(hessians) != (1, 1):
        raise errors.InternalError(None, None, f"Expected logits_dim == 1, got gradients of shape {list(np.shape(gradients))}")
    penalties = scalar_of(l1, "l1"), scalar_of(l2, "l2")
    weights, _ = weights_and_gains(np.asarray(gradients)[0], np.asarray(hessians)[0], *penalties)
    with handle.lock:
        return np.bool_(handle.held().center(weights[0]))


# ---- predicting ----


def _batch(features: tuple) -> np.ndarray:
    """Features as rows of one matrix."""
    if any(np.shape(feature) != np.shape(features[0]) or np.ndim(feature) != 1 for feature in features):
        raise errors.InternalError(None, None, "Cannot use tensors as features: expected vectors of one length, received shapes "
                                   f"{[list(np.shape(feature)) for feature in features]}")  # fmt: skip
    return np.stack(features)


def _batch_size(c: si.InferenceContext, first: int) -> int | None:
    merged = None
    for sizes in c.inputs[first:]:
        merged = si.merge(merged, si.with_rank(sizes, 1))
    return merged[0]


@held_op(
    "BoostedTreesPredict",
    f"(tree_ensemble_handle: resource, {_FEATURES}, *, {_FEATURE_ATTRS}) -> (logits: float)",
    shape=lambda c: [(_batch_size(c, 1), c.attr("logits_dimension"))],
)
def _predict(context: object, handle: Held, features: tuple, *, logits_dimension: int) -> np.ndarray:
    features = _batch(features)
    examples = np.arange(features.shape[1])
    logits = np.zeros((features.shape[1], logits_dimension), np.float32)
    with handle.lock:
        ensemble = handle.held()
        for tree in range(ensemble.last + 1):
            walk = ensemble.walk(tree, logits_dimension)
            logits += ensemble.weight(tree) * walk.logits[walk.leaves(np.zeros_like(examples), features, examples)]
    return logits


def _training_shape(c: si.InferenceContext) -> list:
    size = _batch_size(c, 1)
    return [(size, c.attr("logits_dimension")), (size,), (size,)]


@held_op(
    "BoostedTreesTrainingPredict",
    f"(tree_ensemble_handle: resource, cached_tree_ids: int32, cached_node_ids: int32, {_FEATURES}, *, {_FEATURE_ATTRS}) -> "
    "(partial_logits: float, tree_ids: int32, node_ids: int32)",
    shape=_training_shape,
)
def _training_predict(context: object, handle: Held, trees: Any, nodes: Any, features: tuple, *, logits_dimension: int) -> tuple:
    """What is to be added to the logits that examples had at a node of a tree: that of later nodes and trees."""
    features = _batch(features)
    size = features.shape[1]
    if np.shape(trees) != (size,) or np.shape(nodes) != (size,):
        raise invalid(f"cached_tree_ids and cached_node_ids must be vectors of {size} numbers")
    with handle.lock:
        ensemble = handle.held()
        if ensemble.last < 0:
            return np.zeros((size, logits_dimension), np.float32), trees, np.zeros(size, np.int32)
        if size and not 0 <= trees.min() <= trees.max() <= ensemble.last:
            raise invalid(f"cached_tree_ids must be in [0, {ensemble.last}]")
        return _continued(ensemble, trees, nodes, features, logits_dimension)


def _continued(ensemble: Ensemble, trees: np.ndarray, nodes: np.ndarray, features: np.ndarray, logits_dimension: int) -> tuple:
    size = features.shape[1]
    logits, ends = np.zeros((size, logits_dimension), np.float32), np.zeros(size, np.int64)
    for tree in range(int(trees.min(initial=ensemble.last)), ensemble.last + 1):
        walk = ensemble.walk(tree, logits_dimension)
        examples = np.flatnonzero(trees <= tree)
        is_kept = (trees[examples] == tree) & (nodes[examples] >= 0)
        at, change = ensemble.after_pruning(tree, np.where(is_kept, nodes[examples], -1), logits_dimension)
        start = np.where(is_kept, at, 0)
        change -= np.where(is_kept[:, None], walk.logits[start], np.float32(0))
        ends[examples] = leaves = walk.leaves(start, features, examples)
        logits[examples] += ensemble.weight(tree) * (change + walk.logits[leaves])
    return logits, np.full(size, ensemble.last, np.int32), ends.astype(np.int32)


@held_op(
    "BoostedTreesExampleDebugOutputs",
    f"(tree_ensemble_handle: resource, {_FEATURES}, *, {_FEATURE_ATTRS}) -> (examples_debug_outputs_serialized: string)",
    shape=lambda c: [(_batch_size(c, 1),)],
)
def _debug_outputs(context: object, handle: Held, features: tuple, *, logits_dimension: int) -> np.ndarray:
    """For every example a DebugOutput: the features that it is split by, and the logits on its way."""
    if logits_dimension != 1:
        raise invalid("Currently only one dimensional outputs are supported.")
    with handle.lock:
        return strings(path.SerializeToString() for path in _paths(handle.held(), _batch(features)))


def _paths(ensemble: Ensemble, features: np.ndarray) -> Iterator[Any]:
    size = features.shape[1]
    if ensemble.last < 0 or not ensemble.walk(0, 1).has_logits[0]:
        raise errors.InternalError(None, None, "Expected tree_logits.size() == 1 at the root of the first tree, got 0: "
                                   "explanations need an ensemble with a centered bias.")  # fmt: skip
    now = np.repeat(ensemble.weight(0) * ensemble.walk(0, 1).logits[0], size)
    past, bias = np.zeros(size, np.float32), now
    steps: list[tuple[np.ndarray, np.ndarray]] = []
    for tree in range(ensemble.last + 1):
        walk, nodes = ensemble.walk(tree, 1), np.zeros(size, np.int64)
        while (on_way := np.flatnonzero(~walk.is_leaf[nodes])).size:
            split_by = np.full(size, -1)
            split_by[on_way] = walk.feature[nodes[on_way]]
            nodes[on_way] = walk.step(nodes[on_way], features, on_way)
            now = np.where(split_by >= 0, ensemble.weight(tree) * walk.logits[nodes, 0], now)
            steps.append((split_by, now + past))
        past = past + np.where((tree == 0) | (nodes > 0), now, np.float32(0))
    split_by = np.array([step[0] for step in steps], np.int64).reshape(-1, size).T
    logits = np.array([step[1] for step in steps], np.float32).reshape(-1, size).T
    for first, row, values in zip(bias, split_by, logits):
        yield message("DebugOutput")(feature_ids=row[row >= 0].tolist(), logits_path=[first, *values[row >= 0].tolist()])
