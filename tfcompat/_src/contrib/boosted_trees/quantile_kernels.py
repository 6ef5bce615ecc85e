"""Quantiles of float features of tf.contrib.boosted_trees: summaries in messages, and streams with stamps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.contrib.boosted_trees.stats_kernels import Stamped
from tfcompat._src.contrib.boosted_trees.trees import parsed
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.ops.queues.held import Held, handle_op, held_op, is_initialized_op
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.ops.trees.quantile_sketch import QuantileStream, boundaries, quantiles
from tfcompat._src.proto import pool

_HANDLE = "quantile_accumulator_handle: resource"
_NO_GRADIENT = NotDifferentiable("the place of a number among others has no derivative", raises=True)
_FIELDS = ("value", "weight", "min_rank", "max_rank")
_COUNTS = "num_dense_features: int >= 0, num_sparse_features: int >= 0"
_COLUMNS = (
    "dense_float_features: num_dense_features*float, sparse_float_feature_indices: num_sparse_features*int64, "
    "sparse_float_feature_values: num_sparse_features*float, sparse_float_feature_shapes: num_sparse_features*int64, "
    "example_weights: float"
)


def _message(name: str) -> Any:
    return pool.message(f"boosted_trees.{name}")


def _to_message(summary: np.ndarray) -> Any:
    state = _message("QuantileSummaryState")()
    for row in summary.tolist():
        state.entries.add(**dict(zip(_FIELDS, row)))
    return state


def _from_message(state: Any) -> np.ndarray:
    rows = [[getattr(entry, field) for field in _FIELDS] for entry in state.entries]
    return np.array(rows, np.float32).reshape(-1, 4)


class _Quantiles:
    """A stream of values, and the buckets that were made of the one before; `buckets` is None before there was one."""

    def __init__(self, epsilon: float, max_elements: int, count: int, exact_count: bool) -> None:
        self._settings, self._count, self._exact_count = (epsilon, max_elements), count, exact_count
        self.buckets: np.ndarray | None = None
        self.stream = QuantileStream(*self._settings)

    def restart(self) -> None:
        self.stream = QuantileStream(*self._settings)

    def make_buckets(self) -> None:
        summary = self.stream.summary()
        self.buckets = quantiles(summary, self._count) if self._exact_count else boundaries(summary, self._count)
        self.restart()


handle_op("QuantileStreamResourceHandleOp", "N10tensorflow13boosted_trees22QuantileStreamResourceE")
is_initialized_op("QuantileAccumulatorIsInitialized", "quantile_accumulator_handle")


@held_op(
    "CreateQuantileAccumulator",
    f'({_HANDLE}, stamp_token: int64, *, container: string = "", shared_name: string = "", max_elements: int = 1099511627776, '
    "epsilon: float, num_quantiles: int, generate_quantiles: bool = False) -> ()",
    shape=si.no_outputs,
)
def _create(
    context: object, handle: Held, stamp: object, *, max_elements: int, epsilon: float, num_quantiles: int, generate_quantiles: bool
) -> tuple:
    if not epsilon > 0:
        raise invalid("An epsilon value of zero is not allowed.")
    epsilon = float(np.float32(epsilon))
    handle.create(lambda: Stamped(_Quantiles(epsilon, max_elements, num_quantiles, generate_quantiles), stamp))
    return ()


@held_op(
    "QuantileAccumulatorAddSummaries",
    "(quantile_accumulator_handles: num_resource_handles*resource, stamp_token: int64, summaries: num_resource_handles*string, *, "
    "num_resource_handles: int >= 1) -> ()",
    shape=si.no_outputs,
)
def _add_summaries(context: object, handles: tuple, stamp: Any, summaries: tuple) -> tuple:
    for handle, summary in zip(handles, summaries):
        with handle.lock:
            held = handle.held()
            if held.stamp == int(stamp):
                state = parsed(_message("QuantileSummaryState"), summary, "quantile summary")
                held.content.stream.add_summary(_from_message(state))
    return ()


@held_op(
    "QuantileAccumulatorGetBuckets",
    "(quantile_accumulator_handles: num_resource_handles*resource, stamp_token: int64, *, num_resource_handles: int >= 1) -> "
    "(are_buckets_ready: num_resource_handles*bool, buckets: num_resource_handles*float)",
    shape=lambda c: [()] * c.attr("num_resource_handles") + [(None,)] * c.attr("num_resource_handles"),
)
def _get_buckets(context: object, handles: tuple, stamp: Any) -> tuple:
    ready, found = [], []
    for handle in handles:
        with handle.lock:
            held = handle.held()
            is_ready = held.stamp == int(stamp) and held.content.buckets is not None
            ready.append(np.bool_(is_ready))
            found.append(held.content.buckets if is_ready else np.zeros(0, np.float32))
    return tuple(ready), tuple(found)


@held_op("QuantileAccumulatorFlush", f"({_HANDLE}, stamp_token: int64, next_stamp_token: int64) -> ()", shape=si.no_outputs)
def _flush(context: object, handle: Held, stamp: object, following: object) -> tuple:
    with handle.lock:
        held = handle.held()
        held.advance(stamp, following)
        held.content.make_buckets()
    return ()


@held_op(
    "QuantileAccumulatorFlushSummary",
    f"({_HANDLE}, stamp_token: int64, next_stamp_token: int64) -> (output: string)",
    shape=lambda c: [()],
)
def _flush_summary(context: object, handle: Held, stamp: object, following: object) -> np.ndarray:
    with handle.lock:
        held = handle.held()
        held.advance(stamp, following)
        state = _to_message(held.content.stream.summary())
        held.content.restart()
    return np.array(state.SerializeToString(), object)


@held_op(
    "QuantileAccumulatorSerialize",
    f"({_HANDLE}) -> (stamp_token: int64, stream_state: string, are_buckets_ready: bool, buckets: float)",
    shape=lambda c: [(), (), (), (None,)],
)
def _serialize(context: object, handle: Held) -> tuple:
    """The state ends in an empty summary: that which 1.15 works with."""
    with handle.lock:
        held = handle.held()
        state = _message("QuantileStreamState")()
        for level in held.content.stream.levels():
            state.summaries.add().CopyFrom(_to_message(level))
        state.summaries.add()
        buckets = held.content.buckets
        is_ready = buckets is not None
        found = buckets if is_ready else np.zeros(0, np.float32)
        return np.int64(held.stamp), np.array(state.SerializeToString(), object), np.bool_(is_ready), found


@held_op(
    "QuantileAccumulatorDeserialize",
    f"({_HANDLE}, stamp_token: int64, stream_state: string, are_buckets_ready: bool, buckets: float) -> ()",
    shape=si.no_outputs,
)
def _deserialize(context: object, handle: Held, stamp: Any, state: Any, is_ready: Any, buckets: Any) -> tuple:
    if np.ndim(buckets) != 1 or any(np.size(each) != 1 for each in (stamp, state, is_ready)):
        raise invalid("A quantile accumulator is restored from a stamp, a state, whether there are buckets, and a vector of them.")
    state = parsed(_message("QuantileStreamState"), state, "quantile stream state")
    levels = [_from_message(each) for each in state.summaries]
    with handle.lock:
        held = handle.held()
        held.stamp = int(np.asarray(stamp).item())
        held.content.stream.restore_levels(levels[:-1])
        held.content.buckets = np.array(buckets) if np.asarray(is_ready).item() else None
    return ()


# ---- without state ----


def _summaries(epsilons: list, dense: tuple, indices: tuple, values: tuple, weights: np.ndarray, extra: int) -> list[np.ndarray]:
    """The summary of each dense feature, then of each sparse one; `epsilons` has one for each."""
    pairs = [(np.asarray(each).reshape(-1), weights) for each in dense]
    pairs += [(np.asarray(each), weights[np.asarray(places)[:, 0]]) for places, each in zip(indices, values)]
    found = []
    for epsilon, (numbers, importance) in zip(epsilons, pairs):
        if len(numbers) != len(importance):
            raise invalid(f"A feature has {len(numbers)} values, and there are {len(importance)} example_weights.")
        stream = QuantileStream(epsilon, len(weights) + extra)
        stream.add(numbers, importance)
        found.append(stream.summary())
    return found


def _check_rows(indices: tuple, shapes: tuple, weights: np.ndarray) -> None:
    for places, shape in zip(indices, shapes):
        if np.asarray(shape).reshape(-1)[0] != len(weights):
            raise invalid("Sparse column shape doesn't match the batch size.")
        if np.ndim(places) != 2 or np.any((places[:, 0] < 0) | (places[:, 0] >= len(weights))):
            raise invalid("Indices of a sparse feature are outside of its shape.")


def _split(c: si.InferenceContext, sizes: tuple) -> list:
    return [sizes] * (c.attr("num_dense_features") + c.attr("num_sparse_features"))


@op(
    "MakeQuantileSummaries",
    f"({_COLUMNS}, *, {_COUNTS}, epsilon: float) -> "
    "(dense_summaries: num_dense_features*string, sparse_summaries: num_sparse_features*string)",
    shape=lambda c: _split(c, ()), gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _make_summaries(dense: tuple, indices: tuple, values: tuple, shapes: tuple, weights: object, *, epsilon: float) -> tuple:
    weights = np.asarray(weights).reshape(-1)
    _check_rows(indices, shapes, weights)
    epsilons = [float(np.float32(epsilon))] * (len(dense) + len(values))
    found = _summaries(epsilons, dense, indices, values, weights, 1)
    states = [np.array(_to_message(summary).SerializeToString(), object) for summary in found]
    return tuple(states[: len(dense)]), tuple(states[len(dense) :])


@op(
    "QuantileBuckets",
    f"({_COLUMNS}, *, {_COUNTS}, dense_config: list(string), sparse_config: list(string)) -> "
    "(dense_buckets: num_dense_features*float, sparse_buckets: num_sparse_features*float)",
    shape=lambda c: _split(c, (None,)), gradient=_NO_GRADIENT, side=HOST, context=True,
)  # fmt: skip
def _buckets(context: Any, dense: tuple, indices: tuple, values: tuple, shapes: tuple, weights: Any) -> tuple:
    attrs, weights = context.op.attrs, np.asarray(weights).reshape(-1)
    _check_rows(indices, shapes, weights)
    configs = [parsed(_message("QuantileConfig"), each, "QuantileConfig") for each in (*attrs["dense_config"], *attrs["sparse_config"])]
    if len(attrs["dense_config"]) != len(dense) or len(attrs["sparse_config"]) != len(values):
        raise invalid("Mismatch in number of quantile configs.")
    summaries = _summaries([config.eps for config in configs], dense, indices, values, weights, 0)
    found = [boundaries(summary, config.num_quantiles) for summary, config in zip(summaries, configs)]
    return tuple(found[: len(dense)]), tuple(found[len(dense) :])


def _quantized(values: Any, buckets: Any, dimensions: Any) -> np.ndarray:
    """(bucket, dimension) of values; all are in bucket 0 where there is none."""
    values = np.asarray(values).reshape(-1)
    if np.ndim(buckets) != 1:
        raise invalid("Buckets should be flat vectors.")
    found = np.minimum(np.searchsorted(buckets, values), max(len(buckets) - 1, 0))
    found = np.where(np.isnan(values), 0, found)
    return np.stack([found, np.broadcast_to(dimensions, len(values))], -1).astype(np.int32)


@op(
    "Quantiles",
    "(dense_values: num_dense_features*float, sparse_values: num_sparse_features*float, dense_buckets: num_dense_features*float, "
    f"sparse_buckets: num_sparse_features*float, sparse_indices: num_sparse_features*int64, *, {_COUNTS}) -> "
    "(dense_quantiles: num_dense_features*int32, sparse_quantiles: num_sparse_features*int32)",
    shape=lambda c: _split(c, (None, 2)), gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _quantiles(dense: tuple, sparse: tuple, dense_buckets: tuple, sparse_buckets: tuple, indices: tuple) -> tuple:
    """The bucket of each value with its dimension, which is 0 for dense ones."""
    if len(sparse) != len(indices) or any(np.shape(places) != (np.size(v), 2) for v, places in zip(sparse, indices)):
        raise invalid("Sparse values need indices [entries, 2].")
    return (
        tuple(_quantized(values, buckets, 0) for values, buckets in zip(dense, dense_buckets)),
        tuple(_quantized(v, buckets, np.asarray(places)[:, 1]) for v, buckets, places in zip(sparse, sparse_buckets, indices)),
    )


@op(
    "BucketizeWithInputBoundaries",
    "(input: T, boundaries: float, *, T: {int32, int64, float32, float64}) -> (output: int32)",
    shape=lambda c: [c.inputs[0]], gradient=_NO_GRADIENT, side=HOST,
)  # fmt: skip
def _bucketize(values: object, limits: object) -> np.ndarray:
    values = np.asarray(values)
    limits = np.asarray(limits).reshape(-1).astype(values.dtype)
    if np.any(np.diff(limits) < 0):
        raise invalid("Expected sorted boundaries")
    return np.searchsorted(limits, values, side="right").astype(np.int32)
