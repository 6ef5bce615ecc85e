"""Sums of gradients and hessians by node and bucket, and the best split of each node by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.ops.queues.reader_state import strings
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.ops.trees.gains import first_best, scalar_of, vector_weights_and_gains, weights_and_gains

_NO_GRADIENT = NotDifferentiable("the growth of trees is no function of numbers", raises=True)
_PENALTIES = "l1: float, l2: float, tree_complexity: float, min_node_weight: float"
_BEST_SPLITS = (
    "node_ids: int32, gains: float, feature_dimensions: int32, thresholds: int32, left_node_contribs: float, "
    "right_node_contribs: float, split_with_default_directions: string"
)
_DEFAULT_LEFT, _DEFAULT_RIGHT, _EQUALITY = b"INEQUALITY_DEFAULT_LEFT", b"INEQUALITY_DEFAULT_RIGHT", b"EQUALITY_DEFAULT_RIGHT"


def _penalties(*values: object) -> list[np.float32]:
    names = ("l1", "l2", "tree_complexity", "min_node_weight")
    return [scalar_of(value, name) for value, name in zip(values, names)]


def _check_penalties(c: si.InferenceContext, first: int) -> None:
    for sizes in c.inputs[first : first + 3]:
        si.with_rank(sizes, 0)


def _node_range(nodes: np.ndarray, count: int) -> tuple[int, int]:
    """First node and end of a range, which must be within `count` nodes."""
    if np.shape(nodes) != (2,):
        raise invalid(f"node_id_range must be a rank 1 tensor with shape=[2], but given node_id_range has shape {list(np.shape(nodes))}")
    first, end = (int(node) for node in nodes)
    if not (first >= end or 0 <= first < end <= count):
        raise invalid(f"node_id_range [{first}, {end}) is not within the {count} nodes of the statistics.")
    return first, max(first, end)


def _within(values: np.ndarray, end: int, what: str) -> np.ndarray:
    if values.size and not 0 <= values.min() <= values.max() < end:
        raise invalid(f"{what} must be in [0, {end}), got one of {values.min()} to {values.max()}")
    return values.astype(np.int64)


def _sums(places: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Sums of the rows of `values` [n, d] by place, in double precision: float32 [count, d]."""
    columns = [np.bincount(places, weights=column, minlength=count) for column in values.T]
    return np.stack(columns, -1).astype(np.float32)


def _as_many(values: np.ndarray, count: int, rank: int, name: str) -> np.ndarray:
    values = np.asarray(values)
    if values.ndim != rank or len(values) != count:
        raise invalid(f"{name} must have rank {rank} and {count} rows as node_ids, got shape {list(values.shape)}")
    return values


# ---- statistics ----


def _summary_shape(c: si.InferenceContext) -> list:
    nodes, gradients, hessians = (si.with_rank(sizes, rank) for sizes, rank in zip(c.inputs, (1, 2, 2)))
    si.merge_size(nodes[0], gradients[0])
    si.merge(gradients, hessians)
    for sizes in c.inputs[3:]:
        si.merge_size(nodes[0], si.with_rank(sizes, 1)[0])
    return [(c.attr("num_features"), c.attr("max_splits"), c.attr("num_buckets"), 2)]


@op(
    "BoostedTreesMakeStatsSummary",
    "(node_ids: int32, gradients: float, hessians: float, bucketized_features_list: num_features*int32, *, "
    "max_splits: int >= 1, num_buckets: int >= 1, num_features: int >= 1) -> (stats_summary: float)",
    shape=_summary_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _stats_summary(nodes: Any, gradients: Any, hessians: Any, features: tuple, *, max_splits: int, num_buckets: int) -> np.ndarray:
    """Sums by node and bucket.

    Sketches give a bucket more than they are asked for; as in 1.15 that one counts as the first of the next node. That of
    the last node, which 1.15 writes past the end, is left out.
    """
    nodes = _within(np.asarray(nodes).reshape(-1), max_splits, "node_ids")
    gradients, hessians = (_as_many(v, len(nodes), 2, n) for v, n in ((gradients, "gradients"), (hessians, "hessians")))
    values = np.stack([gradients[:, 0], hessians[:, 0]], -1)
    found = np.empty((len(features), max_splits, num_buckets, 2), np.float32)
    for index, buckets in enumerate(features):
        buckets = _within(_as_many(buckets, len(nodes), 1, f"feature {index}"), num_buckets + 2, f"buckets of feature {index}")
        size = max_splits * num_buckets
        sums = _sums(np.minimum(nodes * num_buckets + buckets, size), values, size + 1)
        found[index] = sums[:size].reshape(found.shape[1:])
    return found


def _batch_sizes(c: si.InferenceContext, ranks: tuple) -> tuple:
    found = [si.with_rank(sizes, rank) for sizes, rank in zip(c.inputs, ranks)]
    for sizes in found[1:]:
        si.merge_size(sizes[0], found[0][0])
    return tuple(found)


def _aggregate_shape(c: si.InferenceContext) -> list:
    """1.15 says buckets before dimensions here, and without the bucket for what is missing; its values have them otherwise."""
    _, gradients, hessians, features = _batch_sizes(c, (1, 2, 2, 2))
    return [(c.attr("max_splits"), c.attr("num_buckets"), features[1], si.add_sizes(gradients[1], hessians[1]))]


@op(
    "BoostedTreesAggregateStats",
    "(node_ids: int32, gradients: float, hessians: float, feature: int32, *, max_splits: int >= 1, num_buckets: int >= 1) -> "
    "(stats_summary: float)",
    shape=_aggregate_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _aggregate(nodes: Any, gradients: Any, hessians: Any, feature: Any, *, max_splits: int, num_buckets: int) -> np.ndarray:
    nodes = _within(np.asarray(nodes).reshape(-1), max_splits, "node_ids")
    gradients, hessians, feature = (
        _as_many(v, len(nodes), 2, n) for v, n in ((gradients, "gradients"), (hessians, "hessians"), (feature, "feature"))
    )
    buckets = _within(np.where(feature == -1, num_buckets, feature), num_buckets + 1, "feature")
    values, dimensions = np.concatenate([gradients, hessians], 1), feature.shape[1]
    found = np.empty((max_splits, dimensions, num_buckets + 1, values.shape[1]), np.float32)
    for dimension in range(dimensions):
        places = nodes * (num_buckets + 1) + buckets[:, dimension]
        sums = _sums(places, values, max_splits * (num_buckets + 1))
        found[:, dimension] = sums.reshape(max_splits, num_buckets + 1, -1)
    return found


def _sparse_aggregate_shape(c: si.InferenceContext) -> list:
    nodes, gradients, hessians, indices, values, sizes = (
        si.with_rank(s, rank) for s, rank in zip(c.inputs, (1, 2, 2, 2, 1, 1))
    )
    si.merge_size(gradients[0], nodes[0])
    si.merge_size(hessians[0], nodes[0])
    si.merge_size(indices[0], values[0])
    si.with_size(sizes[0], 2)
    return [(None, 4), (None,), (4,)]


@op(
    "BoostedTreesSparseAggregateStats",
    "(node_ids: int32, gradients: float, hessians: float, feature_indices: int32, feature_values: int32, feature_shape: int32, *, "
    "max_splits: int >= 1, num_buckets: int >= 1) -> "
    "(stats_summary_indices: int32, stats_summary_values: float, stats_summary_shape: int32)",
    shape=_sparse_aggregate_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _sparse_aggregate(
    nodes: Any, gradients: Any, hessians: Any, indices: Any, values: Any, sizes: Any, *, max_splits: int, num_buckets: int,
) -> tuple:  # fmt: skip
    """Adds up in float32, example by example; what is missing goes to the bucket after the last."""
    nodes = _within(np.asarray(nodes).reshape(-1), max_splits, "node_ids")
    gradients, hessians = (_as_many(v, len(nodes), 2, n) for v, n in ((gradients, "gradients"), (hessians, "hessians")))
    if np.ndim(indices) != 2 or np.shape(indices)[1] != 2 or len(indices) != np.size(values) or np.shape(sizes) != (2,):
        raise invalid("feature_indices must be [entries, 2], with as many feature_values, and feature_shape two numbers.")
    dimensions = int(sizes[1])
    if np.any(np.diff(indices[:, 0]) < 0):
        raise invalid("feature_indices should be increasing")
    buckets = np.full((len(nodes), dimensions), num_buckets, np.int64)
    places = _within(indices[:, 0], len(nodes), "examples of feature_indices"), _within(indices[:, 1], dimensions, "feature_indices")
    buckets[places] = _within(np.asarray(values), num_buckets + 1, "feature_values")
    keys = ((nodes[:, None] * dimensions + np.arange(dimensions)) * (num_buckets + 1) + buckets).reshape(-1)
    found, which = np.unique(keys, return_inverse=True)
    stats = np.concatenate([gradients, hessians], 1)
    sums = np.zeros((len(found), stats.shape[1]), np.float32)
    np.add.at(sums, which, np.repeat(stats, dimensions, axis=0))
    rest, bucket = np.divmod(found, num_buckets + 1)
    node, dimension = np.divmod(rest, dimensions)
    count = stats.shape[1]
    rows = np.repeat(np.stack([node, dimension, bucket], -1), count, axis=0)
    rows = np.concatenate([rows, np.tile(np.arange(count), len(found))[:, None]], 1).astype(np.int32)
    return rows, sums.reshape(-1), np.array([max_splits, dimensions, num_buckets + 1, count], np.int32)


# ---- splits ----


def _gains_shape(c: si.InferenceContext) -> list:
    count = c.attr("num_features")
    si.merge(si.with_rank(c.inputs[0], 1), (2,))
    first = si.with_rank(c.inputs[1], 3)
    si.merge(first, (c.attr("max_splits"), None, 2))
    for sizes in c.inputs[2 : count + 1]:
        si.merge(first, si.with_rank(sizes, 3))
    _check_penalties(c, count + 1)
    return [(None,)] * (3 * count) + [(None, 1)] * (2 * count)


@op(
    "BoostedTreesCalculateBestGainsPerFeature",
    f"(node_id_range: int32, stats_summary_list: num_features*float, {_PENALTIES}, *, max_splits: int >= 1, num_features: int >= 1) "
    "-> (node_ids_list: num_features*int32, gains_list: num_features*float, thresholds_list: num_features*int32, "
    "left_node_contribs_list: num_features*float, right_node_contribs_list: num_features*float)",
    shape=_gains_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _gains_per_feature(nodes: Any, summaries: tuple, *penalties: object) -> tuple:
    """The best bucket that goes left of each node with enough hessian, for every feature."""
    l1, l2, complexity, least = _penalties(*penalties)
    if any(np.ndim(s) != 3 or np.shape(s) != np.shape(summaries[0]) or np.shape(s)[2] != 2 for s in summaries):
        raise invalid("stats_summary_list must be tensors of one shape [nodes, buckets, 2]")
    first, end = _node_range(nodes, len(summaries[0]))
    stats = np.stack(summaries)[:, first:end]
    sums = np.cumsum(stats, axis=2, dtype=np.float32)
    totals = sums[:, :, -1:]
    with np.errstate(all="ignore"):
        _, parent = weights_and_gains(totals[..., 0, 0], totals[..., 0, 1], l1, l2)
        left, left_gains = weights_and_gains(sums[..., 0], sums[..., 1], l1, l2)
        rest = totals - sums
        right, right_gains = weights_and_gains(rest[..., 0], rest[..., 1], l1, l2)
        gains = left_gains + right_gains
        best = np.maximum(first_best(gains.reshape(-1, gains.shape[2])).reshape(gains.shape[:2]), 0)
    found: list[list[np.ndarray]] = [[], [], [], [], []]
    for feature in range(len(summaries)):
        rows = np.flatnonzero(~(totals[feature, :, 0, 1] < least))
        at = (feature, rows, best[feature, rows])
        outputs = (
            first + rows, gains[at] - parent[feature, rows] - complexity, at[2], left[at][:, None], right[at][:, None],
        )  # fmt: skip
        for each, output, dtype in zip(found, outputs, (np.int32, np.float32, np.int32, np.float32, np.float32)):
            each.append(np.asarray(output, dtype))
    return tuple(tuple(each) for each in found)


def _best_split_outputs(rows: list[tuple], logits: int) -> tuple:
    """Rows of (node, gain, dimension, bucket, left, right, kind) as the outputs."""
    node, gain, dimension, bucket, left, right, kind = zip(*rows) if rows else ((),) * 7
    return (
        np.array(node, np.int32), np.array(gain, np.float32), np.array(dimension, np.int32), np.array(bucket, np.int32),
        np.array(left, np.float32).reshape(-1, logits), np.array(right, np.float32).reshape(-1, logits), strings(kind),
    )  # fmt: skip


def _feature_split_shape(c: si.InferenceContext) -> list:
    si.merge(si.with_rank(c.inputs[0], 1), (2,))
    si.with_rank(c.inputs[1], 4)
    _check_penalties(c, 2)
    si.with_rank(c.inputs[5], 0)
    return [(None,)] * 7


def _candidates(stats: np.ndarray, totals: np.ndarray, split_type: str) -> tuple[np.ndarray, list]:
    """What may go left.

    Args:
      stats: [dimensions, buckets + 1, statistics] of a node; the last bucket is for what is missing.
      totals: [dimensions, statistics].
      split_type: "inequality", where what is missing goes left or right, or "equality".

    Returns:
      Statistics [candidates, statistics] that go left, and of each its (dimension, bucket, kind).
    """
    dimensions, buckets = stats.shape[0], stats.shape[1] - 1
    if split_type == "equality":
        left, kinds = stats[:, :-1, None], [_EQUALITY]
    else:
        sums = np.cumsum(stats[:, :-1], axis=1, dtype=np.float32)
        left, kinds = np.stack([sums + stats[:, -1:], sums], 2), [_DEFAULT_LEFT, _DEFAULT_RIGHT]
    names = [(dimension, bucket, kind) for dimension in range(dimensions) for bucket in range(buckets) for kind in kinds]
    return left.reshape(-1, stats.shape[-1]), names


@op(
    "BoostedTreesCalculateBestFeatureSplit",
    f"(node_id_range: int32, stats_summary: float, {_PENALTIES}, *, logits_dimension: int >= 1, "
    f'split_type: {{"inequality", "equality"}} = "inequality") -> ({_BEST_SPLITS})',
    shape=_feature_split_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _best_feature_split(nodes: Any, summary: Any, *penalties: object, logits_dimension: int, split_type: str) -> tuple:
    """The best split of each node over all dimensions of a feature."""
    l1, l2, complexity, least = _penalties(*penalties)
    hessians = summary.shape[3] - logits_dimension if np.ndim(summary) == 4 else 0
    if hessians not in (logits_dimension, logits_dimension**2):
        raise invalid(f"stats_summary must be [nodes, dimensions, buckets, statistics], got {list(np.shape(summary))}")
    first, end = _node_range(nodes, len(summary))
    rows = []
    for node in range(first, end):
        stats = summary[node]
        total = np.sum(stats[0], axis=0, dtype=np.float32)
        if np.sqrt(np.sum(total[logits_dimension:] ** 2)) < least:
            continue
        totals = np.cumsum(stats, axis=1, dtype=np.float32)[:, -1]
        left, names = _candidates(stats, totals, split_type)
        whole = total if split_type == "equality" else np.repeat(totals, len(names) // len(totals), axis=0)
        with np.errstate(all="ignore"):
            (_, parent), (left_weights, left_gains), (right_weights, right_gains) = (
                vector_weights_and_gains(s[..., :logits_dimension], s[..., logits_dimension:], l1, l2)
                for s in (total, left, whole - left)
            )
            gains = left_gains + right_gains
            (best,) = first_best(gains[None])
            if best >= 0:
                dimension, bucket, kind = names[best]
                gain = gains[best] - parent - complexity
                rows.append((node, gain, dimension, bucket, left_weights[best], right_weights[best], kind))
    return _best_split_outputs(rows, logits_dimension)


def _sparse_split_shape(c: si.InferenceContext) -> list:
    si.merge(si.with_rank(c.inputs[0], 1), (2,))
    for sizes, rank in zip(c.inputs[1:], (2, 1, 1, 0, 0, 0, 0)):
        si.with_rank(sizes, rank)
    return [(None,)] * 7


def _dense_node(indices: np.ndarray, values: np.ndarray, size: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The statistics of a node by (dimension, bucket): which dimensions there are, values, and which buckets have any."""
    dimensions, which = np.unique(indices[:, 0], return_inverse=True)
    stats, is_there = np.zeros((len(dimensions), size, count), np.float32), np.zeros((len(dimensions), size), bool)
    stats[which, indices[:, 1], indices[:, 2]] = values
    is_there[which, indices[:, 1]] = True
    return dimensions, stats, is_there


@op(
    "BoostedTreesSparseCalculateBestFeatureSplit",
    "(node_id_range: int32, stats_summary_indices: int32, stats_summary_values: float, stats_summary_shape: int32, "
    f'{_PENALTIES}, *, logits_dimension: int >= 1, split_type: {{"inequality"}} = "inequality") -> ({_BEST_SPLITS})',
    shape=_sparse_split_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _best_sparse_split(nodes: Any, indices: Any, values: Any, sizes: Any, *penalties: object, logits_dimension: int) -> tuple:
    """The same of statistics that are sparse, for one logit."""
    l1, l2, complexity, least = _penalties(*penalties)
    if np.shape(sizes) != (4,) or np.ndim(indices) != 2 or np.shape(indices)[1] != 4 or len(indices) != np.size(values):
        raise invalid("stats_summary_indices must be [entries, 4] with as many values, and stats_summary_shape four numbers.")
    _, dimensions, size, count = (int(n) for n in sizes)
    if count < 2:
        raise invalid("stats_summary_shape must end in at least 2 statistics: a gradient and a hessian.")
    first, end = _node_range(nodes, max(int(nodes[1]), 0))
    for column, limit in ((1, dimensions), (2, size), (3, count)):
        _within(indices[:, column], limit, f"column {column} of stats_summary_indices")
    if len(indices) and not first <= indices[:, 0].min() <= indices[:, 0].max() < end:
        raise invalid(f"node_id of stats_summary_indices which is not in [{first}, {end})")
    rows = []
    starts = np.flatnonzero(np.diff(indices[:, 0], prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(indices)]):
        there, stats, is_there = _dense_node(indices[start:stop, 1:], np.asarray(values[start:stop]), size, count)
        total = np.cumsum(stats[0], axis=0, dtype=np.float32)[-1]
        if total[1] < least:
            continue
        sums = np.cumsum(stats[:, :-1], axis=1, dtype=np.float32)
        missing = stats[:, -1:]
        left = np.stack([sums, sums + missing], 2)
        right = np.stack([total - sums, total - missing - sums], 2)
        with np.errstate(all="ignore"):
            (_, parent), (left_weights, left_gains), (right_weights, right_gains) = (
                weights_and_gains(s[..., 0], s[..., 1], l1, l2) for s in (total, left, right)
            )
            gains = np.where(is_there[:, :-1, None], left_gains + right_gains, np.float32(np.nan))
            (best,) = first_best(gains.reshape(1, -1))
        if best >= 0:
            at = np.unravel_index(best, gains.shape)
            kind = (_DEFAULT_RIGHT, _DEFAULT_LEFT)[at[2]]
            gain = gains[at] - parent - complexity
            rows.append((indices[start, 0], gain, there[at[0]], at[1], left_weights[at], right_weights[at], kind))
    return _best_split_outputs(rows, 1)
