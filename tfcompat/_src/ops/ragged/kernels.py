"""The ragged op types: ranges, gathering of rows, conversions. Lengths depend on data, so they run in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import checks, errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.shape import invalid, reshape, shape
from tfcompat._src.ops.ragged.math import range as ragged_range

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext
    from tfcompat._src.graph.tensor import Tensor

# ---- RaggedRange ----


def _range_shape(c: Any) -> list:
    rows = None
    for sizes in c.inputs:
        if len(si.with_rank_at_most(sizes, 1) or ()) == 1:
            rows = si.merge_size(rows, sizes[0])
    if rows is None and all(sizes == () for sizes in c.inputs):
        rows = 1
    return [(si.add_sizes(rows, 1),), (None,)]


@op(
    "RaggedRange",
    "(starts: T, limits: T, deltas: T, *, T: {bfloat16, float32, float64, int32, int64} = int32, Tsplits: INDEX = int64) -> "
    "(rt_nested_splits: Tsplits, rt_dense_values: T)",
    shape=_range_shape, gradient=NotDifferentiable("lengths are integers"), side=HOST, fold=True,
)  # fmt: skip
def _ragged_range(starts, limits, deltas, *, Tsplits):
    if max(starts.ndim, limits.ndim, deltas.ndim) > 1:
        raise invalid("starts, limits, and deltas must be scalars or vectors")
    lengths = {len(x) for x in (starts, limits, deltas) if x.ndim}
    if len(lengths) > 1:
        raise invalid("starts, limits, and deltas must have the same shape")
    rows = lengths.pop() if lengths else 1
    first, last, step = (np.broadcast_to(x, (rows,)) for x in (starts, limits, deltas))
    if (step == 0).any():
        raise invalid("Requires delta != 0")
    with np.errstate(invalid="ignore"):
        counts = np.ceil((last - first) / step) if step.dtype.kind not in "iu" else -((first - last) // step)
    counts = np.maximum(counts, 0).astype(np.int64)
    splits = np.concatenate(([0], np.cumsum(counts)))
    checks.require_room((8, sum(counts.tolist())), splits.dtype)
    places = np.arange(splits[-1]) - np.repeat(splits[:-1], counts)
    values = np.repeat(first, counts) + places.astype(step.dtype) * np.repeat(step, counts)
    return splits.astype(Tsplits), values.astype(starts.dtype)


# ---- RaggedGather ----


def _gather_shape(c: InferenceContext) -> list:
    inner = c.attr("PARAMS_RAGGED_RANK")
    values, indices = si.with_rank_at_least(c.inputs[inner], 1), c.inputs[-1]
    if indices is not None and len(indices) + inner - 1 != c.attr("OUTPUT_RAGGED_RANK"):
        raise ValueError(
            f"OUTPUT_RAGGED_RANK must be {len(indices) + inner - 1}, the rank of indices plus PARAMS_RAGGED_RANK less 1, "
            f"but is {c.attr('OUTPUT_RAGGED_RANK')}"
        )
    for splits in c.inputs[:inner]:
        si.with_rank(splits, 1)
    return [(None,)] * c.attr("OUTPUT_RAGGED_RANK") + [None if values is None else (None, *values[1:])]


def _gather_gradient(op: Any, *grads: Any) -> list:
    *nested_splits, values, indices = op.inputs
    bounds = nested_splits[0]
    for splits in nested_splits[1:]:
        bounds = gather(splits, bounds)
    rows = reshape(indices, [-1])
    places = ragged_range(gather(bounds, rows), gather(bounds[1:], rows)).values
    return [None] * len(nested_splits) + [IndexedSlices(grads[-1], places, shape(values)), None]


def _spans(lengths: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The indices starts[i], starts[i] + 1, ... of `lengths[i]` elements, one row after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)


def _with_zero(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(lengths)))


@op(
    "RaggedGather",
    "(params_nested_splits: PARAMS_RAGGED_RANK*Tsplits, params_dense_values: Tvalues, indices: Tindices, *, Tvalues: type, "
    "Tindices: INDEX, Tsplits: INDEX = int64, PARAMS_RAGGED_RANK: int >= 1, OUTPUT_RAGGED_RANK: int >= 0) -> "
    "(output_nested_splits: OUTPUT_RAGGED_RANK*Tsplits, output_dense_values: Tvalues)",
    shape=_gather_shape, gradient=_gather_gradient, side=HOST, fold=True,
)  # fmt: skip
def _ragged_gather(nested_splits, values, indices, *, Tsplits, OUTPUT_RAGGED_RANK):
    if OUTPUT_RAGGED_RANK != len(nested_splits) + indices.ndim - 1:
        wanted = f"{len(nested_splits)} + {indices.ndim} - 1"
        raise invalid(f"OUTPUT_RAGGED_RANK must be PARAMS_RAGGED_RANK + rank(indices) - 1 = {wanted}, not {OUTPUT_RAGGED_RANK}")
    if not values.ndim:
        raise invalid("params.rank must be nonzero")
    if not len(nested_splits[0]):
        raise invalid("Splits may not be empty")
    rows, places = len(nested_splits[0]) - 1, indices.reshape(-1)
    outside = np.flatnonzero((places < 0) | (places >= rows))
    if outside.size:
        where = np.unravel_index(outside[0], indices.shape) if indices.ndim else ()
        raise invalid(f"indices{list(map(int, where)) if where else ''} = {places[outside[0]]} is not in [0, {rows})")
    outputs = []
    for depth in range(1, indices.ndim):
        count = int(np.prod(indices.shape[:depth], dtype=np.int64))
        outputs.append(np.arange(count + 1) * indices.shape[depth])
    for splits, limit in zip(nested_splits, [len(s) - 1 for s in nested_splits[1:]] + [len(values)]):
        if (np.diff(splits) < 0).any() or len(splits) and (splits[0] < 0 or splits[-1] > limit):
            raise invalid("Ragged splits must be sorted, non-negative, and end within the values")
        lengths = np.diff(splits)[places] if len(splits) > 1 else np.zeros(0, np.int64)
        outputs.append(_with_zero(lengths))
        places = _spans(lengths, splits[:-1][places])
    if not indices.ndim:
        outputs = outputs[1:]
    return (*(splits.astype(Tsplits) for splits in outputs), values[places])


# ---- RaggedTensorToSparse ----


def _check_splits(nested_splits: tuple, values: np.ndarray) -> None:
    limits = [len(s) - 1 for s in nested_splits[1:]] + [len(values)]
    for splits, limit in zip(nested_splits, limits):
        if not len(splits):
            raise invalid("Ragged splits may not be empty.")
        if splits[0]:
            raise invalid("First value of ragged splits must be 0.")
        if (np.diff(splits) < 0).any():
            raise invalid("Ragged splits should be non decreasing.")
        if splits[-1] != limit:
            raise invalid(
                "Final value of ragged splits must match the length the corresponding ragged values: "
                f"expected {limit}, got {splits[-1]}"
            )


def _to_sparse_shape(c: InferenceContext) -> list:
    values = si.with_rank_at_least(c.inputs[-1], 1)
    for splits in c.inputs[:-1]:
        si.with_rank(splits, 1)
    rank = None if values is None else len(c.inputs) - 1 + len(values)
    count = si.num_elements(values)
    return [(count, rank), (count,), (rank,)]


def _to_sparse_gradient(op: Operation, _: object, grad: Tensor, __: object) -> list:
    values = op.inputs[-1]
    return [None] * (len(op.inputs) - 1) + [reshape(grad, shape(values))]


@op(
    "RaggedTensorToSparse",
    "(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: T, *, RAGGED_RANK: int >= 1, T: type, Tsplits: INDEX = int64) -> "
    "(sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64)",
    shape=_to_sparse_shape, gradient=_to_sparse_gradient, side=HOST, fold=True,
)  # fmt: skip
def _ragged_to_sparse(nested_splits, values):
    if not values.ndim:
        raise invalid(f"flat_values must have at least 1 dimension, got shape {shape_text(values.shape)}")
    _check_splits(nested_splits, values)
    columns = [np.arange(len(nested_splits[0]) - 1)]
    sizes = [len(nested_splits[0]) - 1]
    for splits in nested_splits:
        lengths = np.diff(splits)
        columns = [np.repeat(column, lengths) for column in columns]
        columns.append(_spans(lengths, np.zeros(len(lengths), np.int64)))
        sizes.append(lengths.max(initial=0))
    inner = values.shape[1:]
    count = int(np.prod(inner, dtype=np.int64))
    columns = [np.repeat(column, count) for column in columns]
    columns.extend(np.tile(c.reshape(-1), len(values)) for c in np.indices(inner))
    indices = np.stack(columns, 1).astype(np.int64)
    return indices, values.reshape(-1), np.array([*sizes, *inner], np.int64)


# ---- RaggedTensorToTensor ----


def _row_ids(partitions: tuple, kinds: tuple, value_count: int) -> tuple[int, list[np.ndarray]]:
    """The number of rows, and for each ragged dimension the row of each of its values."""
    by_size = kinds[0] == "FIRST_DIM_SIZE"
    if by_size and partitions[0].size != 1:
        raise invalid(f"FIRST_DIM_SIZE must be a scalar, got shape {shape_text(partitions[0].shape)}")
    parts = [part.reshape(-1) for part in partitions[by_size:]]
    rows = int(partitions[0].reshape(())) if by_size else len(parts[0]) - 1
    if rows < 0:
        raise invalid(f"Dimension {rows} must be >= 0")
    counts = [rows]
    for part, kind in zip(parts, kinds[by_size:]):
        counts.append(int(part[-1]) if kind == "ROW_SPLITS" and len(part) else len(part))
    counts[-1] = value_count
    found = []
    for part, kind, above, below in zip(parts, kinds[by_size:], counts, counts[1:]):
        if kind == "VALUE_ROWIDS":
            if np.any(part < 0) or np.any(part >= above) or np.any(np.diff(part) < 0):
                raise invalid(f"VALUE_ROWIDS must rise from 0 to less than {above}, got {part.tolist()}")
            _require_entries(len(part) == below)
            found.append(part)
        else:
            lengths = np.diff(part)
            if lengths.max(initial=0) > 0:
                _require_entries(part[0] == 0 and np.all(lengths >= 0) and len(lengths) == above and part[-1] == below)
            found.append(np.repeat(np.arange(len(lengths)), np.maximum(lengths, 0)))
    return rows, found


def _require_entries(are_as_many: object) -> None:
    if not are_as_many:
        raise errors.InternalError(None, None, "Values and indices must be equal")


def _padded_shape(c: InferenceContext) -> list:
    kinds = [kind.decode() for kind in c.attr("row_partition_types")]
    for kind in kinds:
        if kind not in ("FIRST_DIM_SIZE", "ROW_SPLITS", "VALUE_ROWIDS"):
            raise ValueError(f"Unknown string for partition info type: {kind}")
    if not kinds:
        raise ValueError("Partition info types should not be empty")
    if "FIRST_DIM_SIZE" in kinds[1:]:
        raise ValueError("FIRST_DIM_SIZE must be first")
    if kinds[0] == "FIRST_DIM_SIZE" and kinds[1:2] != ["VALUE_ROWIDS"]:
        raise ValueError("FIRST_DIM_SIZE must be followed by VALUE_ROWIDS")
    if kinds[0] == "VALUE_ROWIDS":
        raise ValueError("VALUE_ROWIDS cannot be first")
    parts = c.inputs[3:]
    if len(kinds) != len(parts):
        raise ValueError(f"Number of row partition tensors ({len(parts)}) does not equal the number of row partition types({len(kinds)}).")
    for kind, sizes in zip(kinds, parts):
        if sizes is not None and len(sizes) != (kind != "FIRST_DIM_SIZE"):
            raise ValueError("FIRST_DIM_SIZE must be a scalar." if kind == "FIRST_DIM_SIZE" else "Row partition must be a vector.")
    return [c.shape_value(0)]


@op(
    "RaggedTensorToTensor",
    "(shape: Tshape, values: T, default_value: T, row_partition_tensors: num_row_partition_tensors*Tindex, *, T: type, "
    "Tindex: INDEX, Tshape: INDEX, num_row_partition_tensors: int >= 1, row_partition_types: list(string)) -> (result: T)",
    shape=_padded_shape, gradient=NotDifferentiable("1.15 has no gradient of RaggedTensorToTensor", raises=True), side=HOST,
)  # fmt: skip
def _ragged_to_tensor(wanted, values, default_value, partitions, *, row_partition_types):
    if not values.ndim:
        raise invalid("Value shape (), which must have a dimension for the ragged values")
    if default_value.size != 1 and default_value.shape != values.shape[default_value.ndim * -1 :]:
        raise invalid(f"default_value {shape_text(default_value.shape)} does not fit values {shape_text(values.shape)}")
    count, row_ids = _row_ids(partitions, row_partition_types, len(values))
    places, sizes = [np.arange(count)], [count]
    for ids in row_ids:
        starts = np.searchsorted(ids, ids)
        column = np.arange(len(ids)) - starts
        places = [p[ids] for p in places] + [column]
        sizes.append(int(column.max(initial=-1)) + 1)
    full = np.array([*sizes, *values.shape[1:]], np.int64)
    if wanted.ndim and len(wanted) == len(full):
        full = np.where(wanted < 0, full, wanted)
    elif wanted.ndim:
        raise invalid(f"shape must have {len(full)} sizes, got {len(wanted)}")
    checks.require_room(full.tolist(), values.dtype)
    result = np.empty(full, values.dtype)
    result[...] = default_value.reshape(()) if default_value.size == 1 else default_value
    kept = np.all([p < n for p, n in zip(places, full)], axis=0)
    inner = tuple(slice(min(a, b)) for a, b in zip(values.shape[1:], full[len(places) :]))
    result[(*(p[kept] for p in places), *inner)] = values[(kept, *inner)]
    return result


# ---- variants: a ragged tensor as one value on the host ----


class EncodedRagged:
    """What a variant holds of a ragged tensor: the splits, outermost first, and the values."""

    def __init__(self, nested_splits: tuple, values: np.ndarray) -> None:
        self.nested_splits, self.values = nested_splits, values


def _variant(encoded: object) -> np.ndarray:
    found = np.empty((), object)
    found[()] = encoded
    return found


def _to_variant_shape(c: InferenceContext) -> list:
    if not c.attr("batched_input"):
        return [()]
    rows = si.with_rank(c.inputs[0], 1)[0]
    return [(None if rows is None else rows - 1,)]


@op(
    "RaggedTensorToVariant",
    "(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: Tvalues, *, RAGGED_RANK: int >= 1, Tvalues: type, Tsplits: INDEX, "
    "batched_input: bool) -> (encoded_ragged: variant)",
    shape=_to_variant_shape, gradient=NotDifferentiable("a variant has no gradient"), side=HOST, fold=True,
)  # fmt: skip
def _ragged_to_variant(nested_splits, values, *, batched_input):
    _check_splits(nested_splits, values)
    if not batched_input:
        return _variant(EncodedRagged(nested_splits, values))
    outer, *inner = nested_splits
    rows = np.empty(len(outer) - 1, object)
    for i, (low, high) in enumerate(zip(outer, outer[1:])):
        splits = []
        for level in inner:
            part = level[low : high + 1]
            splits.append(part - part[0])
            low, high = part[0], part[-1]
        rows[i] = EncodedRagged(tuple(splits), values[low:high])
    return rows


@op(
    "RaggedTensorFromVariant",
    "(encoded_ragged: variant, *, input_ragged_rank: int >= -1, output_ragged_rank: int >= 1, Tvalues: type, Tsplits: INDEX) -> "
    "(output_nested_splits: output_ragged_rank*Tsplits, output_dense_values: Tvalues)",
    shape=lambda c: [(None,)] * c.attr("output_ragged_rank") + [None],
    gradient=NotDifferentiable("a variant has no gradient", raises=True), side=HOST, fold=True,
)  # fmt: skip
def _ragged_from_variant(encoded, *, input_ragged_rank, output_ragged_rank, Tvalues, Tsplits):
    inner_rank = output_ragged_rank - encoded.ndim if input_ragged_rank == -1 else input_ragged_rank
    if inner_rank < 0 or output_ragged_rank != encoded.ndim + inner_rank:
        raise invalid(f"output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(): {output_ragged_rank}")
    entries = encoded.reshape(-1).tolist()
    for entry in entries:
        if not isinstance(entry, EncodedRagged) or entry.values.dtype != Tvalues or len(entry.nested_splits) != inner_rank:
            raise invalid("An entry of encoded_ragged is no ragged tensor of the expected element type and rank")
    if not encoded.ndim:
        return (*(s.astype(Tsplits) for s in entries[0].nested_splits), entries[0].values)
    outputs = [np.arange(np.prod(encoded.shape[:d], dtype=np.int64) + 1) * encoded.shape[d] for d in range(1, encoded.ndim)]
    for level in range(inner_rank):
        outer = _with_zero([len(e.nested_splits[level]) - 1 for e in entries])
        if not level:
            outputs.append(outer)
        lengths = [np.diff(e.nested_splits[level]) for e in entries]
        outputs.append(_with_zero(np.concatenate(lengths) if lengths else np.zeros(0, np.int64)))
    if not inner_rank:
        outputs.append(_with_zero([len(e.values) for e in entries]))
    values = np.concatenate([e.values for e in entries]) if entries else np.zeros(0, Tvalues)
    return (*(splits.astype(Tsplits) for splits in outputs), values)
