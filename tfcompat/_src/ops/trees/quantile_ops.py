"""Buckets of float features by their quantiles, for boosted trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.ops.queues.held import Held, handle_op, held_op, is_initialized_op
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.ops.trees.gains import scalar_of
from tfcompat._src.ops.trees.quantile_sketch import QuantileStream, QuantileStreams, boundaries, quantiles

_HANDLE = "quantile_stream_resource_handle"
_TYPE = "BoostedTreesQuantileStreamResource"
_NO_GRADIENT = NotDifferentiable("the place of a number among others has no derivative", raises=True)

handle_op(f"{_TYPE}HandleOp", f"N10tensorflow{len(_TYPE)}{_TYPE}E")
is_initialized_op(f"Is{_TYPE}Initialized", _HANDLE)


def _scalars(c: si.InferenceContext) -> list:
    for sizes in c.inputs:
        si.with_rank(sizes, 0)
    return []


@held_op(
    "BoostedTreesCreateQuantileStreamResource",
    f"({_HANDLE}: resource, epsilon: float, num_streams: int64, *, max_elements: int = 1099511627776) -> ()",
    shape=_scalars,
)
def _create(context: object, handle: Held, epsilon: Any, count: Any, *, max_elements: int) -> tuple:
    epsilon = float(scalar_of(epsilon, "epsilon"))
    if not epsilon > 0:
        raise invalid("An epsilon value of zero is not allowed.")
    if np.ndim(count) or count < 0:
        raise invalid("Num_streams input must be a scalar and cannot be a negative integer")
    handle.create(lambda: QuantileStreams(epsilon, max_elements, int(count)))
    return ()


def _summaries_shape(c: si.InferenceContext) -> list:
    count = c.attr("num_features")
    for sizes in c.inputs[: count + 1]:
        si.with_rank(sizes, 1)
    si.with_rank(c.inputs[count + 1], 0)
    return [(None, 4)] * count


@op(
    "BoostedTreesMakeQuantileSummaries",
    "(float_values: num_features*float, example_weights: float, epsilon: float, *, num_features: int >= 0) -> "
    "(summaries: num_features*float)",
    shape=_summaries_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _make_summaries(features: tuple, weights: object, epsilon: object) -> tuple:
    epsilon, weights = float(scalar_of(epsilon, "epsilon")), np.asarray(weights).reshape(-1)
    sizes = {np.size(values) for values in features}
    if len(sizes) != 1:
        raise invalid("float_values must be features of one size.")
    (size,) = sizes
    if len(weights) not in (1, size):
        raise invalid("Weights should be a single value or same size as features.")
    found = []
    for values in features:
        stream = QuantileStream(epsilon, size + 1)
        stream.add(np.asarray(values).reshape(-1), np.broadcast_to(weights, size))
        found.append(stream.summary())
    return (tuple(found),)


@held_op(
    "BoostedTreesFlushQuantileSummaries",
    f"({_HANDLE}: resource, *, num_features: int >= 0) -> (summaries: num_features*float)",
    shape=lambda c: [(None, 4)] * c.attr("num_features"),
)
def _flush_summaries(context: object, handle: Held, *, num_features: int) -> tuple:
    with handle.lock:
        streams = handle.held()
        if num_features > streams.count:
            raise invalid(f"{num_features} summaries are asked for of {streams.count} streams.")
        found = streams.summaries()[:num_features]
        streams.reset()
        return (tuple(found),)


def _added_shape(c: si.InferenceContext) -> list:
    si.with_rank(c.inputs[0], 0)
    for sizes in c.inputs[1:]:
        si.with_rank(sizes, 2)
    return []


@held_op(
    "BoostedTreesQuantileStreamResourceAddSummaries",
    f"({_HANDLE}: resource, summaries: num_features*float, *, num_features: int >= 0) -> ()",
    shape=_added_shape,
)
def _add_summaries(context: object, handle: Held, summaries: tuple) -> tuple:
    with handle.lock:
        handle.held().add_summaries(summaries)
    return ()


def _deserialize_shape(c: si.InferenceContext) -> list:
    """1.15 takes no known vector here: what a checkpoint is read into has no shape."""
    si.with_rank(c.inputs[0], 0)
    si.with_rank(c.inputs[1], 0)
    return []


@held_op(
    "BoostedTreesQuantileStreamResourceDeserialize",
    f"({_HANDLE}: resource, bucket_boundaries: num_streams*float, *, num_streams: int >= 1) -> ()",
    shape=_deserialize_shape,
)
def _deserialize(context: object, handle: Held, given: tuple) -> tuple:
    with handle.lock:
        streams = handle.held()
        streams.check_count(len(given))
        if any(np.ndim(values) != 1 for values in given):
            raise invalid("bucket boundaries for each stream must be a vector")
        streams.boundaries = [np.array(values) for values in given]
    return ()


@held_op(
    "BoostedTreesQuantileStreamResourceFlush",
    f"({_HANDLE}: resource, num_buckets: int64, *, generate_quantiles: bool = False) -> ()",
    shape=_scalars,
)
def _flush(context: object, handle: Held, num_buckets: Any, *, generate_quantiles: bool) -> tuple:
    if np.ndim(num_buckets) or num_buckets < 1:
        raise invalid(f"num_buckets must be a scalar and positive, got {num_buckets}")
    count = int(num_buckets)
    with handle.lock:
        streams = handle.held()
        found = streams.summaries()
        streams.boundaries = [quantiles(s, count - 1) if generate_quantiles else boundaries(s, count) for s in found]
        streams.reset()
    return ()


def _boundaries_shape(c: si.InferenceContext) -> list:
    si.with_rank(c.inputs[0], 0)
    return [(None,)] * c.attr("num_features")


@held_op(
    "BoostedTreesQuantileStreamResourceGetBucketBoundaries",
    f"({_HANDLE}: resource, *, num_features: int >= 0) -> (bucket_boundaries: num_features*float)",
    shape=_boundaries_shape,
)
def _bucket_boundaries(context: object, handle: Held, *, num_features: int) -> tuple:
    with handle.lock:
        streams = handle.held()
        streams.check_count(num_features)
        return (tuple(streams.boundaries),)


def _bucketize_shape(c: si.InferenceContext) -> list:
    count = c.attr("num_features")
    values = [si.with_rank(sizes, 1) for sizes in c.inputs[:count]]
    for sizes in values:
        si.merge_size(sizes[0], values[0][0])
    return [(sizes[0],) for sizes in values]


@op(
    "BoostedTreesBucketize",
    "(float_values: num_features*float, bucket_boundaries: num_features*float, *, num_features: int >= 0) -> "
    "(buckets: num_features*int32)",
    shape=_bucketize_shape, gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _bucketize(features: tuple, limits: tuple) -> tuple:
    """The first boundary that is not less than a value; the last one for what is beyond all, the first for NaN."""
    found = []
    for values, ends in zip(features, limits):
        if np.ndim(ends) != 1:
            raise invalid("Buckets should be flat vectors.")
        buckets = np.minimum(np.searchsorted(ends, values), max(len(ends) - 1, 0))
        found.append(np.where(np.isnan(values), 0, buckets).astype(np.int32))
    return (tuple(found),)
