"""Joining tensors and taking them apart: pack, concat, split, tile, and lists that hold tensors."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import arrays, checks, dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import Dimension, TensorShape
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.constant_value import known_value
from tfcompat._src.graph.op_spec import HOST, Facts, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.graph.tensor_like import is_dense_tensor_like
from tfcompat._src.nodes import convert, raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.shape import invalid, rank, shape, shape_n, size
from tfcompat._src.ops.control.context import output_context
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.sequence import arange

# ---- Pack, Unpack ----


def _pack_axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"Invalid axis: {axis}; must be in [{-rank},{rank})")
    return axis % rank


def _merged(shapes: list) -> Any:
    """The one shape that all are."""
    return functools.reduce(lambda a, b: si.merge(b, a), reversed(shapes))


def _pack_shape(c):
    sizes = _merged_pack(c.inputs)
    si.pass_handle(c)
    if sizes is None:
        return [None]
    axis = _pack_axis(c.attr("axis"), len(sizes) + 1)
    return [sizes[:axis] + (len(c.inputs),) + sizes[axis:]]


def _merged_pack(shapes: list) -> Any:
    merged = shapes[-1]
    for i, sizes in reversed([*enumerate(shapes[:-1])]):
        try:
            merged = si.merge(sizes, merged)
        except ValueError as e:
            raise ValueError(f"{e}\n\tFrom merging shape {i} with other shapes.") from None
    return merged


def _stacked(stack: Callable[..., Any], values: tuple, *, axis: int) -> Any:
    for i, v in enumerate(values):
        if v.shape != values[0].shape:
            raise invalid(f"Shapes of all inputs must match: values[0].shape = {shape_text(values[0].shape)} != values[{i}].shape = {shape_text(v.shape)}")
    _check_axis(axis, len(values[0].shape) + 1)
    return stack(values, axis)


def _check_axis(axis: int, rank: int) -> None:
    if not -rank <= axis < rank:
        raise invalid(f"axis = {axis} not in [{-rank}, {rank})")


def _numpy_stack(values: tuple, axis: int) -> np.ndarray:
    if not axis and isinstance(first := values[0], np.ndarray):  # no handle, as of a queue
        return np.concatenate([v[np.newaxis] for v in values]) if first.ndim or first.dtype.kind == "O" else arrays.new_array(values)
    return np.stack(values, axis)


@op(
    "Pack", "(values: N*T, *, N: int >= 1, T: type, axis: int = 0) -> (output: T)", shape=_pack_shape,
    exact=True, gradient=lambda op, grad: unstack(grad, num=op.get_attr("N"), axis=op.get_attr("axis")), fold=functools.partial(_stacked, _numpy_stack),
    facts=Facts(joins="new"),
)  # fmt: skip
def _pack(values, *, axis):
    return _stacked(jnp.stack, values, axis=axis)


def _unpack_shape(c):
    sizes, count = c.inputs[0], len(c.op.outputs)
    si.pass_handle(c)
    if sizes is None:
        return [None] * count
    axis = _pack_axis(c.attr("axis"), len(sizes))
    if sizes[axis] not in (None, count):
        raise ValueError(f"Dimension must be {count} but is {sizes[axis]}")
    return [sizes[:axis] + sizes[axis + 1 :]] * count


def _numpy_unpack(value, *, num, axis):
    _check_unpack(value, num, axis)
    return tuple(np.moveaxis(value, axis, 0)[i, ...] for i in range(num))


def _check_unpack(value: Any, num: int, axis: int) -> None:
    _check_axis(axis, value.ndim)
    if value.shape[axis] != num:
        raise invalid(f"Input shape axis {axis % value.ndim} must equal {num}, got shape {shape_text(tuple(value.shape))}")


@op(
    "Unpack", "(value: T, *, num: int >= 0, T: type, axis: int = 0) -> (output: num*T)", shape=_unpack_shape,
    exact=True, gradient=lambda op, *grads: [stack(list(grads), axis=op.get_attr("axis"))], fold=_numpy_unpack,
)  # fmt: skip
def _unpack(value, *, num, axis):
    _check_unpack(value, num, axis)
    axis %= value.ndim
    rest = tuple(value.shape[:axis] + value.shape[axis + 1 :])
    value = jnp.asarray(value)
    return tuple(jnp.reshape(value[(slice(None),) * axis + (slice(i, i + 1),)], rest) for i in range(num))


@export("stack")
def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Packs a list of tensors of one shape along a new dimension.

    Args:
      values: list of tensors.
      axis: where the new dimension stands in the result.
      name: node name.

    Raises:
      ValueError: `axis` is outside the rank of the result, or the shapes differ.
    """
    if axis == 0:
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError, NotImplementedError):
            pass
    sizes = convert_to_tensor(values[0], name=name)._sizes
    if sizes is not None and not -len(sizes) - 1 <= axis <= len(sizes):
        raise ValueError(f"axis = {axis} not in [{-len(sizes) - 1}, {len(sizes) + 1})")
    return raw.Pack(values, axis=axis, name=name)


@export("unstack")
def unstack(value: arrays.TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """Takes a tensor apart along `axis`.

    Args:
      value: a tensor of rank 1 or more.
      num: the size of `axis`, needed where it is not known.
      axis: the dimension that goes away.
      name: node name.

    Raises:
      ValueError: `axis` does not exist, or `num` is neither given nor known.
    """
    if num is None:
        value = convert_to_tensor(value)
        sizes = value._sizes
        if sizes is not None:
            if not -len(sizes) <= axis < len(sizes):
                raise ValueError(f"axis = {axis} not in [{-len(sizes)}, {len(sizes)})")
            num = sizes[axis]
        if num is None:
            raise ValueError(f"Cannot infer num from shape {value.shape}")
    return raw.Unpack(value, num=num, axis=axis, name=name)


def _parallel_shape(c):
    wanted = c.attr("shape").sizes
    if wanted is None or None in wanted:
        raise ValueError("shape attr must be fully defined.")
    merged = (1, *wanted[1:])
    for i, sizes in enumerate(c.inputs):
        if sizes is None or None in sizes:
            raise ValueError("All input shapes must be fully defined.")
        if sizes[:1] != (1,):
            raise ValueError("Size of first dimension must be 1.")
        try:
            merged = si.merge(merged, sizes)
        except ValueError as e:
            raise ValueError(f"{e}\n\tFrom merging shape {i} with other shapes.") from None
    return [wanted]


@op(
    "ParallelConcat", "(values: N*T, *, N: int >= 1, T: type, shape: shape) -> (output: T)", shape=_parallel_shape,
    gradient=NotDifferentiable("ParallelConcat has none", raises=True), fold=lambda values: np.concatenate(values),
)  # fmt: skip
def _parallel_concat(values):
    return jnp.concatenate(values)


@export("parallel_stack")
def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """Packs a list of tensors of one known shape along a new first dimension."""
    with name_scope(name):
        sizes = convert_to_tensor(values[0]).shape
        rows = [raw.ExpandDims(v, 0) for v in values]
        return raw.ParallelConcat(rows, shape=TensorShape([len(values)]).concatenate(sizes))


# ---- Concat ----


def _concat_sizes(shapes: list, axis: int | None) -> Any:
    """The shape of a concatenation, as far as the shapes and the axis are known."""
    if axis is None:
        known = next((s for s in shapes if s is not None), None)
        return None if known is None else (None,) * len(known)
    for s in shapes:
        si.with_rank_at_least(s, -axis if axis < 0 else axis + 1)
    known = [s for s in shapes if s is not None]
    if not known:
        return None
    at = axis % len(known[0])
    before, after = _merged([s[:at] for s in known]), _merged([s[at + 1 :] for s in known])
    total = functools.reduce(si.add_sizes, (s[at] for s in known)) if len(known) == len(shapes) else None
    return before + (total,) + after


def _require_one_rank(shapes: list) -> None:
    """1.15 looks at the ranks before it knows the axis."""
    rank = next((len(sizes) for sizes in shapes if sizes is not None), None)
    if rank == 0:
        raise ValueError("Can't concatenate scalars (use tf.stack instead)")
    if rank is not None:
        for sizes in shapes:
            si.with_rank(sizes, rank)


def concat_shape(c, values: list, axis_index: int) -> list:
    si.with_rank(c.inputs[axis_index], 0)
    _require_one_rank(values)
    axis = c.value(axis_index)
    return [_concat_sizes(values, None if axis is None else int(axis))]


def concatenated(xp: Any, values: tuple, axis: np.ndarray) -> Any:
    checks.scalar("axis", axis, "tensor should be a scalar integer, but got shape {}")
    rank, at = values[0].ndim, int(axis)
    if not -rank <= at < rank:
        raise invalid(f"ConcatOp : Expected concatenating dimensions in the range [{-rank}, {rank}), but got {at}")
    at %= rank
    rest = values[0].shape[:at] + values[0].shape[at + 1 :]
    for i, v in enumerate(values):
        if v.ndim != rank or v.shape[:at] + v.shape[at + 1 :] != rest:
            first, other = shape_text(tuple(values[0].shape)), shape_text(tuple(v.shape))
            if v.ndim != rank:
                raise invalid(f"ConcatOp : Ranks of all input tensors should match: shape[0] = {first} vs. shape[{i}] = {other}")
            raise invalid(f"ConcatOp : Dimensions of inputs should match: shape[0] = {first} vs. shape[{i}] = {other}")
    return xp.concatenate(values, at)


def _slices_gradient(values: list, axis: Tensor, grad: arrays.TensorLike) -> list:
    """The parts of `grad` that belong to each of the concatenated `values`."""
    known_axis = known_value(axis)
    if isinstance(grad, Tensor) and axis.op.type == "Const" and output_context(axis.op) is not output_context(grad.op):
        axis = constant(known_axis, dtype=axis.dtype)
    axis = axis % rank(values[0])
    if hasattr(grad, "dense_shape"):
        return _sparse_slices(values, axis, known_axis, grad)
    sizes = _shapes(values)
    if len(sizes) > _MOST_OFFSETS:
        along = raw.Squeeze(raw.Slice(stack(sizes, axis=1), [axis, 0], [1, -1]))
        return split(grad, along, axis)
    offsets = raw.ConcatOffset(axis, sizes)
    return [raw.Slice(grad, begin, part_sizes) for begin, part_sizes in zip(offsets, sizes)]


_MOST_OFFSETS = 16
"""How many parts 1.15 cuts out of a gradient each by itself; more are split off at once."""


def _shapes(values: list) -> list:
    """The shapes of tensors: constants where all are known, else what one node gives."""
    sizes = []
    for value in values:
        sizes.append(shape(value))
        if not value.shape.is_fully_defined():
            return shape_n(values)
    return sizes


def _sparse_slices(values: list, axis: Tensor, known_axis: Any, grad: Any) -> list:
    """The parts of IndexedSlices: of its rows for axis 0, else of its values."""
    kind = type(grad)
    if known_axis is None:
        raise ValueError("Can only compute IndexedSlices gradient with statically-known concat_dim")
    if known_axis < 0:
        count = known_value(rank(values[0]))
        if count is None:
            raise ValueError("Can only compute IndexedSlices gradient with negative concat_dim when first value rank is statically-known.")
        known_axis %= count
    sizes = [shape(v) for v in values]
    if known_axis > 0:
        return _sparse_columns(kind, sizes, axis, grad)
    found, start = [], constant(0, dtype=grad.indices.dtype)
    for part_sizes in sizes:
        end = start + cast(raw.GatherV2(part_sizes, axis, 0), grad.indices.dtype)
        inside = raw.LogicalAnd(grad.indices >= start, grad.indices < end)
        rows = raw.Squeeze(raw.Where(inside), squeeze_dims=[1])
        indices = raw.GatherV2(grad.indices, rows, 0) - start
        found.append(kind(raw.GatherV2(grad.values, rows, 0), indices, part_sizes))
        start = end
    return found


def _sparse_columns(kind: type, sizes: list, axis: Tensor, grad: Any) -> list:
    """The parts of IndexedSlices of which the values were put side by side along `axis`, which is not 0."""
    length = shape(sizes[0])
    is_axis = concat([raw.Fill(raw.ExpandDims(axis, 0), 0), [1], raw.Fill(length - axis - 1, 0)], 0)
    found, begin = [], raw.Fill(length, 0)
    for part_sizes in sizes:
        part = raw.Slice(grad.values, begin, concat([[-1], raw.Slice(part_sizes, [1], [-1])], 0))
        found.append(kind(part, grad.indices, part_sizes))
        begin = raw.Add(begin, part_sizes * is_axis)
    return found


op(
    "Concat", "(concat_dim: int32, values: N*T, *, N: int >= 2, T: type) -> (output: T)",
    shape=lambda c: concat_shape(c, c.inputs[1:], 0),
    exact=True, gradient=lambda op, grad: [None, *_slices_gradient(list(op.inputs[1:]), op.inputs[0], grad)],
    constants=("concat_dim",), kernel=lambda axis, values: concatenated(jnp, values, axis),
    fold=lambda axis, values: concatenated(np, values, axis),
)  # fmt: skip

op(
    "ConcatV2", "(values: N*T, axis: Tidx, *, N: int >= 2, T: type, Tidx: INDEX = int32) -> (output: T)",
    shape=lambda c: concat_shape(c, c.inputs[:-1], len(c.inputs) - 1),
    exact=True, gradient=lambda op, grad: [*_slices_gradient(list(op.inputs[:-1]), op.inputs[len(op.inputs) - 1], grad), None],
    constants=("axis",), kernel=functools.partial(concatenated, jnp), fold=functools.partial(concatenated, np),
    facts=Facts(joins="old"),
)  # fmt: skip


@op(
    "ConcatOffset", "(concat_dim: int32, shape: N*int32, *, N: int >= 2) -> (offset: N*int32)",
    shape=lambda c: list(c.inputs[1:]), gradient=NotDifferentiable("offsets are integers"), side=HOST, fold=True,
)  # fmt: skip
def _concat_offset(axis, shapes):
    if np.ndim(axis):
        raise invalid(f"Concat dim tensor should be a scalar integer, but got shape {shape_text(np.shape(axis))}")
    for i, sizes in enumerate(shapes):
        if np.ndim(sizes) != 1:
            raise invalid(f"input {i} should be a vector, but got shape {shape_text(np.shape(sizes))}")
        if len(sizes) != len(shapes[0]):
            raise invalid(f"input {i} should contain {len(shapes[0])} elements, but got {len(sizes)}")
    rank = len(shapes[0])
    if not -rank <= axis < rank:
        raise invalid(f"Concat dim is out of range: {axis} vs. {rank}")
    at = int(axis) % rank
    # In Python's integers, as backward loops ask for a few numbers in each iteration.
    rows, offsets = [np.asarray(sizes).tolist() for sizes in shapes], []
    for i, sizes in enumerate(rows):
        if sizes[:at] != rows[0][:at] or sizes[at + 1 :] != rows[0][at + 1 :]:
            first, other = (" ".join(map(str, s)) for s in (rows[0], sizes))
            raise invalid(f"All dimensions except {at} must match. Input {i} has shape [{other}] and doesn't match input 0 with shape [{first}].")
        offsets.append(np.array([sum(s[at] for s in rows[:i]) if k == at else 0 for k in range(rank)]).astype(np.int32))
    return tuple(offsets)


@export("concat")
def concat(values: object, axis: arrays.TensorLike, name: str = "concat") -> Tensor:
    """Joins tensors along an existing dimension.

    Args:
      values: list of tensors of one rank, which agree in every dimension but `axis`; a single tensor is copied.
      axis: scalar int32 or int64, may be negative.
      name: node name.

    Raises:
      ValueError: the shapes are known and do not fit.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with name_scope(name):
            convert_to_tensor(axis, name="concat_dim", dtype=dtypes.int32).shape.assert_has_rank(0)
            return raw.Identity(values[0], name=name)
    return raw.ConcatV2(values, axis, name=name)


# ---- Split ----


def _split_axis(c, index: int, sizes: Any) -> int | None:
    axis = si.scalar_value(c, index)
    if axis is None or (sizes is None and axis < 0):
        return None
    return axis if sizes is None else si.normalize_axis(axis, len(sizes))


def _split_shape(c):
    sizes, count = c.inputs[1], len(c.op.outputs)
    axis = _split_axis(c, 0, sizes)
    if sizes is None:
        return [None] * count
    if axis is None:
        return [(None,) * len(sizes)] * count
    if sizes[axis] is not None and sizes[axis] % count:
        raise ValueError(
            f"Dimension size must be evenly divisible by {count} but is {sizes[axis]}\n"
            "\tNumber of ways to split should evenly divide the split dimension"
        )
    part = None if sizes[axis] is None else sizes[axis] // count
    return [sizes[:axis] + (part,) + sizes[axis + 1 :]] * count


def _parts(xp: object, value: Any, lengths: list, axis: int) -> tuple:
    if xp is jnp:
        return tuple(jax.lax.split(jnp.asarray(value), lengths, axis))
    return tuple(np.split(value, np.cumsum(lengths)[:-1], axis))


def _checked_axis(axis: np.ndarray, rank: int) -> int:
    if not -rank <= int(axis) < rank:
        raise invalid(f"-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {int(axis)}")
    return int(axis) % rank


def _split_evenly(xp: Any, axis: np.ndarray, value: Any, *, num_split: int) -> tuple:
    checks.scalar("split_dim", axis, f"must be a scalar but has rank {axis.ndim}")
    at = _checked_axis(axis, value.ndim)
    if value.shape[at] % num_split:
        raise invalid(
            f"Number of ways to split should evenly divide the split dimension, but got split_dim {at} "
            f"(size = {value.shape[at]}) and num_split {num_split}"
        )
    return _parts(xp, value, [value.shape[at] // num_split] * num_split, at)


@op(
    "Split", "(split_dim: int32, value: T, *, num_split: int >= 1, T: type) -> (output: "
    "num_split*T)", shape=_split_shape,
    exact=True, gradient=lambda op, *grads: [None, concat(list(grads), op.inputs[0])], constants=("split_dim",),
    fold=lambda axis, value, *, num_split: _split_evenly(np, axis, value, num_split=num_split),
)  # fmt: skip
def _split(axis, value, *, num_split):
    return _split_evenly(jnp, axis, value, num_split=num_split)


def _lengths(given: list[int], total: int | None) -> list[int | None]:
    """The sizes of the parts with -1 worked out; ValueError where they do not add up."""
    if given.count(-1) > 1:
        raise ValueError("There can only be one -1 in the input.")
    known = sum(g for g in given if g != -1)
    if total is None:
        return [None if g == -1 else g for g in given]
    found = [total - known if g == -1 else g for g in given]
    for i, g in enumerate(found):
        if g < 0:
            raise ValueError(f"Split size at index {i} must be >= 0. Got: {g}")
    if sum(found) != total:
        raise ValueError(f"can't split axis of size {total} into pieces of size [{','.join(map(str, given))}]")
    return found


def _split_v_shape(c):
    sizes, count = c.inputs[0], len(c.op.outputs)
    axis, given = _split_axis(c, 2, sizes), c.value(1)
    if sizes is None:
        return [None] * count
    if sizes == ():
        raise ValueError("Can't split scalars")
    if axis is None:
        return [(None,) * len(sizes)] * count
    if given is None:
        return [sizes[:axis] + (None,) + sizes[axis + 1 :]] * count
    if len(given) != count:
        raise ValueError("Length of size_splits should be equal to num_outputs")
    return [sizes[:axis] + (n,) + sizes[axis + 1 :] for n in _lengths([int(g) for g in given], sizes[axis])]


def _split_by_sizes(xp: object, value: Any, sizes: np.ndarray, axis: np.ndarray) -> tuple:
    at = _checked_axis(axis, value.ndim)
    given, total = [int(s) for s in sizes], value.shape[at]
    known = sum(g for g in given if g != -1)
    if known > total or known != total and -1 not in given:
        raise invalid(
            "Determined shape must either match input shape along split_dim exactly if fully specified, or be less "
            "than the "
            f"size of the input along split_dim if not fully specified.  Got: {known}"
        )
    try:
        return _parts(xp, value, _lengths(given, total), at)
    except ValueError as e:
        raise invalid(str(e)) from None


op(
    "SplitV",
    "(value: T, size_splits: Tlen, split_dim: int32, *, num_split: int >= 1, T: type, Tlen: INDEX = int64) -> "
    "(output: num_split*T)",
    shape=_split_v_shape, exact=True, gradient=lambda op, *grads: [concat(list(grads), op.inputs[2]), None, None],
    constants=("size_splits", "split_dim"), kernel=functools.partial(_split_by_sizes, jnp),
    fold=functools.partial(_split_by_sizes, np),
)  # fmt: skip


@export("split")
def split(
    value: arrays.TensorLike, num_or_size_splits: arrays.TensorLike, axis: arrays.TensorLike = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """Cuts a tensor into parts along `axis`.

    Args:
      value: a tensor.
      num_or_size_splits: the number of equal parts, or a vector of their sizes (one may be -1).
      axis: scalar int, may be negative.
      num: the number of parts, needed where the length of the sizes is not known.
      name: node name.

    Raises:
      ValueError: the sizes do not fit, or the number of parts is not known.
    """
    sizes = convert_to_tensor(num_or_size_splits)
    if isinstance(num_or_size_splits, (int, Dimension)):
        return raw.Split(axis, value, num_split=num_or_size_splits, name=name)
    if sizes._sizes == ():
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            f"Argument provided: {num_or_size_splits}"
        )
    if num is None:
        num = sizes._sizes[0] if sizes._sizes else None
        if num is None:
            raise ValueError(f"Cannot infer num from shape {num_or_size_splits}")
    return raw.SplitV(value, sizes, axis, num_split=num, name=name)


# ---- Tile ----


def _tile_shape(c):
    si.with_rank(c.inputs[1], 1)
    counts, sizes = c.shape_value(1), c.inputs[0]
    if counts is None:
        return [None if sizes is None else (None,) * len(sizes)]
    counts = counts if sizes is None else si.with_rank(counts, len(sizes))
    sizes = si.with_rank(sizes, len(counts))
    return [tuple(0 if 0 in (s, m) else None if s is None or m is None else s * m for s, m in zip(sizes, counts))]


def _tile_gradient(op, grad):
    sizes = shape(op.inputs[0], out_type=op.inputs[1].dtype)
    pairs = stack([op.inputs[1], sizes])
    interleaved = raw.Reshape(raw.Transpose(pairs, [1, 0], name="transpose"), [-1])
    axes = arange(0, size(interleaved), 2)
    if hasattr(grad, "dense_shape"):
        rows = cast(sizes[0], grad.indices.dtype)
        grad = raw.UnsortedSegmentSum(grad.values, raw.FloorMod(grad.indices, rows), rows)
        interleaved = concat([[1], interleaved[1:]], 0)
    return [raw.Sum(raw.Reshape(grad, interleaved), axes), None]


def _numpy_tile(x: np.ndarray, counts: tuple[int, ...]) -> np.ndarray:
    """`np.tile` for one count for each dimension: what is behind the start of a dimension is repeated as a whole."""
    sizes = list(x.shape)
    for axis, count in enumerate(counts):
        if count != 1:
            x = x.reshape(math.prod(sizes[:axis]), 1, math.prod(sizes[axis:])).repeat(count if x.size else 1, 1)  # NumPy counts, of nothing too
            sizes[axis] *= count
    return x.reshape(sizes)


def _tiled(tile: Callable[..., Any], x: Any, multiples: np.ndarray) -> Any:
    counts = tuple(multiples.tolist())
    if len(counts) != x.ndim:
        raise invalid(f"Expected multiples argument to be a vector of length {x.ndim} but got length {len(counts)}")
    if any(m < 0 for m in counts):
        raise invalid(f"Expected multiples[{next(i for i, m in enumerate(counts) if m < 0)}] >= 0, but got {min(counts)}")
    return tile(x, counts)


op("Tile", "(input: T, multiples: Tmultiples, *, T: type, Tmultiples: INDEX = int32) -> (output: T)", shape=_tile_shape,
   exact=True, gradient=_tile_gradient, constants=("multiples",), kernel=functools.partial(_tiled, jnp.tile),
   fold=functools.partial(_tiled, _numpy_tile))  # fmt: skip


@export("tile", "manip.tile")
def tile(input: arrays.TensorLike, multiples: arrays.TensorLike, name: str | None = None) -> Tensor:
    """`input` repeated along its dimensions.

    Args:
      input: a tensor.
      multiples: vector of int32 or int64, how often along each dimension.
      name: node name.
    """
    return raw.Tile(input, multiples, name=name)


# ---- lists that hold tensors ----


def _first_dtype(values: Any) -> dtypes.DType | None:
    for value in values:
        if is_dense_tensor_like(value):
            return value.dtype.base_dtype
        if isinstance(value, (list, tuple)):
            found = _first_dtype(value)
            if found is not None:
                return found
    return None


def _cast_all(values: Any, dtype: dtypes.DType) -> Any:
    if isinstance(values, (list, tuple)):
        return [_cast_all(v, dtype) for v in values]
    if is_dense_tensor_like(values) and values.dtype.base_dtype != dtype:
        return raw.Cast(values, DstT=dtype)
    return values


def _packed(values: Any, dtype: dtypes.DType, name: str) -> Any:
    """A Pack of `values`, whose other elements become constants; the list itself where no tensor is in it."""
    with name_scope(name) as scope:
        found = []
        for i, value in enumerate(values):
            if is_dense_tensor_like(value) and value.dtype.base_dtype != dtype:
                raise TypeError(
                    f"Cannot convert a list containing a tensor of dtype {value.dtype} to {dtype} (Tensor is: "
                    f"{value!r})"
                )
            found.append(_packed(value, dtype, str(i)) if isinstance(value, (list, tuple)) else value)
        if not any(is_dense_tensor_like(v) for v in found):
            return found
        return raw.Pack(
            [v if is_dense_tensor_like(v) else constant(v, dtype=dtype, name=str(i)) for i, v in enumerate(found)],
            name=scope,
        )


def _pack_conversion(
    values: arrays.TensorLike, dtype: dtypes.DType | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    inferred = None if as_ref else _first_dtype(values)
    if inferred is None:
        return NotImplemented
    if dtype is not None and dtype != inferred:
        values = _cast_all(values, dtype)
    return _packed(values, dtype or inferred, name or "packed")


convert._register((list, tuple), _pack_conversion, 99)
