"""The best split of each node by a feature, as tf.contrib.boosted_trees proposes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.contrib.boosted_trees.trees import LearnerConfig, learner_message
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.ops.queues.reader_state import strings
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.ops.trees.gains import vector_weights_and_gains, weights_and_gains

_NO_GRADIENT = NotDifferentiable("the growth of trees is no function of numbers", raises=True)
_EPSILON = np.float32(1e-6)
_PENALTIES = (
    "l1_regularization: float, l2_regularization: float, tree_complexity_regularization: float, min_node_weight: float, "
    "multiclass_strategy: int32"
)
_OUTPUTS = "output_partition_ids: int32, gains: float, split_infos: string"


def _squares(values: np.ndarray) -> np.ndarray:
    """Sums of squares [n] of [n, ...]."""
    return np.sum(np.square(values.reshape(len(values), -1), dtype=np.float32), axis=1, dtype=np.float64)


@dataclass
class _Leaves:
    """Candidates for leaves: weights [n, logits], gains [n], and which have weights at all."""

    weights: np.ndarray
    gains: np.ndarray
    has_weights: np.ndarray

    def fill(self, at: int, leaf: Any, class_id: int) -> None:
        """Writes the weights of a candidate to a message; one without any stays empty."""
        if not self.has_weights[at]:
            return
        values = self.weights[at].tolist()
        if class_id == -1:
            leaf.vector.value.extend(values)
        elif len(values) != 1:
            raise invalid(f"A leaf for class {class_id} must have one weight, got {len(values)}")
        else:
            leaf.sparse_vector.index.append(class_id)
            leaf.sparse_vector.value.extend(values)


@dataclass
class _Learner:
    """How splits are rated."""

    l1: np.float32
    l2: np.float32
    complexity: np.float32
    least: np.float32
    strategy: int
    class_id: int
    column: int
    ratio: np.float32
    """What statistics are multiplied by: one over the number of batches."""

    @classmethod
    def of(cls, batches: Any, class_id: Any, column: Any, l1: Any, l2: Any, complexity: Any, least: Any, strategy: Any) -> _Learner:
        if int(strategy) not in LearnerConfig.MultiClassStrategy.values():
            raise invalid("Wrong multiclass strategy passed.")
        if np.ndim(class_id):
            raise invalid("class_id must be a scalar.")
        with np.errstate(divide="ignore"):
            ratio = np.float32(1) / np.float32(batches)
        penalties = (np.float32(each) for each in (l1, l2, complexity, least))
        return cls(*penalties, int(strategy), int(class_id), int(column), ratio)

    def leaves(self, gradients: np.ndarray, hessians: np.ndarray) -> _Leaves:
        """The leaves for statistics [n, ...], with zero weight where there is next to none or too little hessian."""
        first, second = _squares(gradients), _squares(hessians)
        is_scalar = self.strategy == LearnerConfig.TREE_PER_CLASS
        magnitude = hessians.reshape(len(hessians), -1)[:, 0] if is_scalar else np.sqrt(second).astype(np.float32)
        is_zero = (first <= _EPSILON * _EPSILON) & (second <= _EPSILON * _EPSILON)
        counts = ~(is_zero | (magnitude <= self.least))
        with np.errstate(all="ignore"):
            if is_scalar:
                weights, gains = self._scalar(gradients.reshape(len(gradients), -1)[:, 0], magnitude)
            else:
                flat = gradients.reshape(len(gradients), -1), hessians.reshape(len(hessians), -1)
                weights = np.zeros_like(flat[0])
                gains = np.zeros(len(weights), np.float32)
                weights[counts], gains[counts] = vector_weights_and_gains(flat[0][counts], flat[1][counts], np.float32(0), self.l2)
        weights = np.where(counts[:, None], weights, np.float32(0))
        return _Leaves(weights, np.where(counts, gains, np.float32(0)), np.full(len(counts), True) if is_scalar else counts)

    def _scalar(self, gradients: np.ndarray, hessians: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weights, gains = weights_and_gains(gradients, hessians, self.l1, self.l2)
        return weights[:, None], gains


def _require_trees(learner_type: Any) -> None:
    if int(learner_type) != LearnerConfig.NORMAL_DECISION_TREE:
        raise errors.UnimplementedError(None, None, "tf.contrib.boosted_trees: OBLIVIOUS_DECISION_TREE is not done")


def _segments(nodes: np.ndarray) -> Iterator[tuple[int, int]]:
    """Start and end of the entries of each node, which must be sorted."""
    nodes = np.asarray(nodes)
    if np.any(np.diff(nodes) < 0):
        raise invalid("Input should be sorted by partition ids.")
    starts = np.flatnonzero(np.diff(nodes, prepend=nodes[:1] - 1)) if len(nodes) else np.zeros(0, int)
    yield from zip(starts, [*starts[1:], len(nodes)])


def _running(values: np.ndarray) -> np.ndarray:
    return np.cumsum(values, axis=0, dtype=np.float32)


def _check_entries(*arrays: Any) -> None:
    if len(arrays[0]) and len({len(array) for array in arrays}) > 1:
        raise invalid(f"Partition ids, feature ids, gradients and hessians differ in number: {[len(array) for array in arrays]}")


@dataclass
class _Best:
    """The best of the candidates that were offered: what goes left and right, and which it is."""

    learner: _Learner
    gain: np.float32 = np.finfo(np.float32).min
    leaves: tuple[_Leaves, _Leaves] | None = None
    at: int = 0
    name: Any = None

    def offer(self, left: tuple, right: tuple, names: list) -> None:
        """Candidates with statistics (gradients, hessians) for both leaves; the first of equal ones counts."""
        if not names:
            return
        leaves = self.learner.leaves(*left), self.learner.leaves(*right)
        gains = leaves[0].gains + leaves[1].gains
        at = int(np.argmax(np.where(np.isnan(gains), -np.inf, gains)))
        if gains[at] > self.gain:
            self.gain, self.leaves, self.at, self.name = gains[at], leaves, at, names[at]

    def info(self) -> Any:
        """A SplitInfo with both leaves, for a split that the caller describes."""
        found = learner_message("SplitInfo")()
        found.left_child.SetInParent()
        found.right_child.SetInParent()
        if self.leaves is not None:
            for leaves, leaf in zip(self.leaves, (found.left_child, found.right_child)):
                leaves.fill(self.at, leaf, self.learner.class_id)
        return found


def _outputs(rows: list[tuple]) -> tuple:
    nodes, gains, infos = zip(*rows) if rows else ((), (), ())
    return np.array(nodes, np.int32), np.array(gains, np.float32), strings(info.SerializeToString() for info in infos)


def _boundary(boundaries: np.ndarray, bucket: int) -> float:
    if not 0 <= bucket < len(boundaries):
        raise invalid(f"bucket_ids has bucket {bucket}, of which there are {len(boundaries)}.")
    return boundaries[bucket]


def _shapes(c: object) -> list:
    return [(None,)] * 3


@op(
    "BuildDenseInequalitySplits",
    "(num_minibatches: int64, partition_ids: int32, bucket_ids: int64, gradients: float, hessians: float, bucket_boundaries: float, "
    f"class_id: int32, feature_column_group_id: int32, {_PENALTIES}, weak_learner_type: int32) -> ({_OUTPUTS})",
    shape=_shapes, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _dense(
    batches: Any, nodes: Any, buckets: Any, gradients: Any, hessians: Any, boundaries: Any, class_id: Any, column: Any, l1: Any,
    l2: Any, complexity: Any, least: Any, strategy: Any, learner_type: object,
) -> tuple:  # fmt: skip
    _require_trees(learner_type)
    learner = _Learner.of(batches, class_id, column, l1, l2, complexity, least, strategy)
    _check_entries(nodes, buckets, gradients, hessians)
    rows = []
    for start, end in _segments(nodes) if len(boundaries) else ():
        part = slice(start, end)
        total = [_running(each[part])[-1:] * learner.ratio for each in (gradients, hessians)]
        left = [_running(each[part] * learner.ratio) for each in (gradients, hessians)]
        best = _Best(learner)
        best.offer(tuple(left), tuple(t - each for t, each in zip(total, left)), buckets[part, 0].tolist())
        info = best.info()
        split = info.split_node.dense_float_binary_split
        split.feature_column, split.threshold = learner.column, _boundary(boundaries, best.name if best.name is not None else 0)
        gain = best.gain - learner.leaves(*total).gains[0] - learner.complexity
        rows.append((nodes[start], gain, info))
    return _outputs(rows)


def _check_bias(ids: np.ndarray, start: int, bias: object) -> None:
    if ids[start, 0] != bias or ids[start, 1] != 0:
        raise invalid("Bias feature ID missing, or not with dimension 0.")


@op(
    "BuildSparseInequalitySplits",
    "(num_minibatches: int64, partition_ids: int32, bucket_ids: int64, gradients: float, hessians: float, bucket_boundaries: float, "
    f"class_id: int32, feature_column_group_id: int32, bias_feature_id: int64, {_PENALTIES}) -> ({_OUTPUTS})",
    shape=_shapes, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _sparse(
    batches: Any, nodes: Any, buckets: Any, gradients: Any, hessians: Any, boundaries: Any, class_id: Any, column: Any, bias: Any,
    l1: Any, l2: Any, complexity: Any, least: Any, strategy: Any,
) -> tuple:  # fmt: skip
    """Examples without a value go left or right; the first entry of a node has the statistics of all its examples."""
    learner = _Learner.of(batches, class_id, column, l1, l2, complexity, least, strategy)
    _check_entries(nodes, buckets, gradients, hessians)
    rows = []
    for start, end in _segments(nodes):
        if end - start < 2:
            continue
        _check_bias(buckets, start, bias)
        total = [each[start : start + 1] * learner.ratio for each in (gradients, hessians)]
        best = _Best(learner)
        for first, last in _segments(buckets[start + 1 : end, 1]):
            part = slice(start + 1 + first, start + 1 + last)
            _offer_dimension(best, total, [gradients[part], hessians[part]], buckets[part])
        (bucket, dimension), default_right = best.name if best.name is not None else (buckets[start + 1], False)
        info = best.info()
        node = info.split_node
        kind = node.sparse_float_binary_split_default_right if default_right else node.sparse_float_binary_split_default_left
        kind.split.feature_column, kind.split.dimension_id = learner.column, int(dimension)
        kind.split.threshold = _boundary(boundaries, bucket)
        gain = best.gain - learner.leaves(*total).gains[0] - learner.complexity
        rows.append((nodes[start], gain, info))
    return _outputs(rows)


def _offer_dimension(best: _Best, total: list, stats: list, places: np.ndarray) -> None:
    """Offers the buckets of a dimension, each with what is missing to the left, then to the right."""
    present = [_running(each)[-1:] * best.learner.ratio for each in stats]
    left = [_running(each * best.learner.ratio) for each in stats]
    right = [all_present - each for all_present, each in zip(present, left)]
    first, second = (_squares(all_of_node - there) <= _EPSILON * _EPSILON for all_of_node, there in zip(total, present))
    has_missing = not (first[0] and second[0])
    lefts, rights, names = [], [], []
    for at, place in enumerate(places.tolist()):
        row = slice(at, at + 1)
        lefts.append([t - r[row] for t, r in zip(total, right)])
        rights.append([r[row] for r in right])
        names.append((place, False))
        if has_missing:
            lefts.append([each[row] for each in left])
            rights.append([t - each[row] for t, each in zip(total, left)])
            names.append((place, True))
    sides = (tuple(np.concatenate(each) for each in zip(*side)) for side in (lefts, rights))
    best.offer(*sides, names)


@op(
    "BuildCategoricalEqualitySplits",
    "(num_minibatches: int64, partition_ids: int32, feature_ids: int64, gradients: float, hessians: float, class_id: int32, "
    f"feature_column_group_id: int32, bias_feature_id: int64, {_PENALTIES}, weak_learner_type: int32) -> ({_OUTPUTS})",
    shape=_shapes, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _categorical(
    batches: Any, nodes: Any, ids: Any, gradients: Any, hessians: Any, class_id: Any, column: Any, bias: Any, l1: Any, l2: Any,
    complexity: Any, least: Any, strategy: Any, learner_type: object,
) -> tuple:  # fmt: skip
    """Examples with an id go left; the first entry of a node has the statistics of all its examples."""
    _require_trees(learner_type)
    learner = _Learner.of(batches, class_id, column, l1, l2, complexity, least, strategy)
    _check_entries(nodes, ids, gradients, hessians)
    rows = []
    for start, end in _segments(nodes):
        if end - start < 2:
            continue
        _check_bias(ids, start, bias)
        total = [each[start : start + 1] * learner.ratio for each in (gradients, hessians)]
        left = [each[start + 1 : end] * learner.ratio for each in (gradients, hessians)]
        best = _Best(learner)
        best.offer(tuple(left), tuple(t - each for t, each in zip(total, left)), ids[start + 1 : end, 0].tolist())
        info = best.info()
        split = info.split_node.categorical_id_binary_split
        split.feature_column, split.feature_id = learner.column, best.name if best.name is not None else ids[start + 1, 0]
        gain = best.gain - learner.leaves(*total).gains[0] - learner.complexity
        rows.append((nodes[start], gain, info))
    return _outputs(rows)
