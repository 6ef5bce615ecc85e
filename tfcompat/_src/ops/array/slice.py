"""Slice and the strided slices: reading, their gradient, and assignment."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.constant_value import is_constant, known_value
from tfcompat._src.graph.op_spec import PURE, Facts, NotDifferentiable, op, updates
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.shape import invalid, rank, shape

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array, TensorLike
    from tfcompat._src.graph.operation import Operation

# ---- Slice ----


def _slice_shape(c):
    begin_sizes, size_sizes = si.with_rank(c.inputs[1], 1), si.with_rank(c.inputs[2], 1)
    count = si.merge(begin_sizes, size_sizes)[0]
    source = c.inputs[0] if count is None else si.with_rank(c.inputs[0], count)
    begin, size = c.shape_value(1), c.value(2)
    if size is not None:
        starts = begin or (None,) * len(size)
        dims = source or (None,) * len(size)
        return [tuple(_rest(d, b) if s == -1 else int(s) for d, b, s in zip(dims, starts, size))]
    partly = c.shape_value(2)
    if partly is None and source is not None:
        return [(None,) * len(source)]
    return [partly]


def _rest(size: int | None, begin: int | None) -> int | None:
    if size is None or begin is None:
        return None
    if begin > size:
        raise ValueError(f"Negative dimension size caused by subtracting {begin} from {size}")
    return size - begin


def _slice_gradient(op, grad):
    x, begin = op.inputs[0], op.inputs[1]
    if known_value(begin) is None and _hangs_on_data(begin):
        return [_put_back(x, begin, op.outputs[0], grad), None, None]
    dimensions = rank(x)
    size = shape(op.outputs[0])
    column = stack([dimensions, 1])
    before = raw.Reshape(begin, column)
    after = raw.Reshape(shape(x) - size - begin, column)
    return [raw.Pad(grad, concat([before, after], 1)), None, None]


def _hangs_on_data(tensor: Tensor) -> bool:
    """Whether a run computes a tensor of more than constants and shapes."""
    pending, seen = [tensor.op], set()
    while pending:
        op = pending.pop()
        if op in seen or op.spec.shape_only or is_constant(op):
            continue
        if not op.inputs or op.spec.effects != PURE:
            return True
        seen.add(op)
        pending.extend(t.op for t in op.inputs)
    return False


def _put_back(x: Tensor, begin: Tensor, piece: Tensor, grad: TensorLike) -> Tensor:
    """The gradient of `x` of which a run says where `piece` begins: 1.15's Pad would be compiled for every begin."""
    size = shape(piece, out_type=begin.dtype)
    ones = raw.OnesLike(begin) if x.shape.ndims is None else np.ones(x.shape.ndims, begin.dtype.as_numpy_dtype)
    return raw.StridedSliceGrad(shape(x, out_type=begin.dtype), begin, raw.AddV2(begin, size), ones, grad)


def _slice_sizes(x: Any, begin: Any, size: np.ndarray) -> tuple[int, ...]:
    """The sizes with -1 worked out, checked where `begin` is known."""
    if size.shape != (x.ndim,):
        raise invalid(
            f"Expected begin and size arguments to be 1-D tensors of size {x.ndim}, but got shapes "
            f"{shape_text(tuple(begin.shape))} and {shape_text(size.shape)} instead."
        )
    if not isinstance(begin, np.ndarray):
        return tuple(int(s) for s in size)
    starts = begin.tolist()
    found = tuple([d - b if s == -1 else s for d, b, s in zip(x.shape, starts, size.tolist())])
    failure = _outside(x.shape, found, starts)
    if failure:
        raise invalid(failure)
    return found


def _outside(shape: tuple[int, ...], sizes: tuple[int, ...], starts: Any) -> str:
    """What is wrong with a slice that does not lie inside of a shape; "" where it does."""
    for i, (d, b, s) in enumerate(zip(shape, starts, sizes)):
        if d == 0 and (b or s):
            return f"Expected begin[{i}] == 0 (got {b}) and size[{i}] == 0 (got {s}) when input.dim_size({i}) == 0"
        if not 0 <= b <= d:
            return f"Expected begin[{i}] in [0, {d}], but got {b}"
        if not 0 <= s <= d - b:
            return f"Expected size[{i}] in [0, {d - b}], but got {s}"
    return ""


def _numpy_slice(x, begin, size):
    sizes = _slice_sizes(x, begin, size)
    return x[tuple([slice(b, b + s) for b, s in zip(begin.tolist(), sizes)])]


@op(
    "Slice", "(input: T, begin: Index, size: Index, *, T: type, Index: INDEX) -> (output: T)", shape=_slice_shape,
    exact=True, gradient=_slice_gradient, constants=("begin", "size"), fold=_numpy_slice, facts=Facts(cuts=True),
    traceable=lambda op: () if (size := known_value(op.inputs[2])) is None or -1 in size else ("begin",),
)  # fmt: skip
def _slice(x, begin, size):
    sizes = _slice_sizes(x, begin, size)
    if isinstance(begin, np.ndarray):
        starts = [int(b) for b in begin]
        return lax.slice(x, starts, [b + s for b, s in zip(starts, sizes)])
    last = np.array(x.shape, begin.dtype) - np.array(sizes, begin.dtype)
    checks.require(jnp.all((begin >= 0) & (begin <= last)), functools.partial(_outside, tuple(x.shape), sizes), begin)
    return lax.dynamic_slice(x, list(begin), sizes)


@export("slice")
def slice_(input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None) -> Tensor:
    """The block of `input_` that starts at `begin`.

    Args:
      input_: a tensor of rank n.
      begin: n indices.
      size: n sizes; -1 means up to the end.
      name: node name.
    """
    return raw.Slice(input_, begin, size, name=name)


# ---- what a strided slice means ----


class Masks(NamedTuple):
    """The five bit masks over the entries of a strided slice."""

    begin: int
    end: int
    ellipsis: int
    new_axis: int
    shrink: int

    @staticmethod
    def of(attr: Callable[[str], Any]) -> Masks:
        return Masks(*(attr(f"{name}_mask") for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")))


class Interval(NamedTuple):
    """What is taken of one dimension: `count` elements from `start` by `stride`; None is unknown."""

    start: int | None
    stride: int
    count: int | None


_NEW = -1


def _bit(mask: int, entry: int) -> bool:
    return bool(mask >> entry & 1)


def layout(rank: int, count: int, masks: Masks) -> tuple[list[int | None], list[int]]:
    """The entry for each input dimension (None: all of it), and the input dimension of each result dimension.

    Args:
      rank: rank of the input.
      count: number of entries.
      masks: how they are read.
    """
    if masks.ellipsis & (masks.ellipsis - 1):
        raise ValueError("Multiple ellipses in slice spec not allowed")
    at = next((i for i in range(count) if _bit(masks.ellipsis, i)), count)
    used = sum(1 for i in range(count) if i != at and not _bit(masks.new_axis, i))
    if used > rank:
        raise ValueError(f"Index out of range using input dim {rank}; input has only {rank} dims")
    entries: list[int | None] = []
    result: list[int] = []
    for i in range(max(count, at + 1)):
        if i == at:
            result.extend(range(len(entries), len(entries) + rank - used))
            entries.extend([None] * (rank - used))
        elif _bit(masks.new_axis, i):
            result.append(_NEW)
        else:
            if not _bit(masks.shrink, i):
                result.append(len(entries))
            entries.append(i)
    return entries, result


def _interval(
    dim: int, size: int | None, entry: int | None, begin: Any, end: Any, strides: Any, masks: Masks
) -> Interval:
    if entry is None:
        return Interval(0, 1, size)
    stride, shrink = int(strides[entry]), _bit(masks.shrink, entry)
    if stride == 0:
        raise ValueError(f"strides[{dim}] must be non-zero")
    if shrink:
        if stride < 0:
            raise ValueError("only stride 1 allowed on non-range indexing.")
        if size is None or begin is None:
            return Interval(None, 1, 1)
        start = int(begin[entry])
        if not -size <= start < size:
            raise ValueError(f"slice index {start} of dimension {dim} out of bounds.")
        return Interval(start % size, 1, 1)
    free = _bit(masks.begin, entry), _bit(masks.end, entry)
    if size is None or not all(free) and (begin is None or end is None):
        return Interval(None, stride, None)
    wanted = slice(None if free[0] else int(begin[entry]), None if free[1] else int(end[entry]), stride)
    return Interval(wanted.indices(size)[0], stride, len(range(*wanted.indices(size))))


def resolve(sizes: tuple, begin: object, end: object, strides: Any, masks: Masks) -> tuple[list[Interval], tuple]:
    """What is taken of each dimension, and the sizes of the result; ValueError for a slice that cannot be."""
    entries, result = layout(len(sizes), len(strides), masks)
    taken = [_interval(d, s, e, begin, end, strides, masks) for d, (s, e) in enumerate(zip(sizes, entries))]
    return taken, tuple(1 if r == _NEW else taken[r].count for r in result)


def _require_equal_vectors(begin: object, end: object, strides: object) -> None:
    text = _unequal(begin, end, strides)
    if text:
        raise invalid(text)


def _unequal(begin: Any, end: Any, strides: Any) -> str | None:
    """What an error says of vectors that are not of one size, else None."""
    if begin.ndim == 1 and begin.shape == end.shape == strides.shape:
        return None
    shapes = [shape_text(v.shape) for v in (begin, end, strides)]
    return f"Expected begin, end, and strides to be 1D equal size tensors, but got shapes {shapes[0]}, {shapes[1]}, and {shapes[2]} instead."


def _resolve_at_run(sizes: tuple, begin: object, end: object, strides: object, masks: Masks) -> tuple[list[Interval], tuple]:
    if begin is not None:
        _require_equal_vectors(begin, end, strides)
    try:
        return resolve(sizes, begin, end, strides, masks)
    except ValueError as e:
        raise invalid(str(e)) from None


def _python_slice(taken: Interval) -> slice:
    stop = taken.start + taken.count * taken.stride
    return slice(taken.start, None if stop < 0 else stop, taken.stride)


# ---- StridedSlice ----

_MASK_ATTRS = (
    "begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0"
)
_SLICE_INPUTS = "begin: Index, end: Index, strides: Index"


def _with_masks(function: Callable) -> Callable:
    """A kernel that takes the five mask attributes as one `Masks`, after the inputs."""

    @functools.wraps(function)
    def kernel(*inputs, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask):
        return function(*inputs, Masks(begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask))

    del kernel.__wrapped__
    return kernel


def _strided_slice_shape(c):
    count = functools.reduce(si.merge, (si.with_rank(c.inputs[i], 1) for i in (1, 2, 3)))[0]
    strides = c.value(3)
    si.pass_handle(c)
    if c.inputs[0] is None or count is None or strides is None:
        return [None]
    masks = Masks.of(c.attr)
    begin, end = c.value(1), c.value(2)
    if begin is None or end is None:
        begin = end = None
    elif text := _unequal(begin, end, strides):
        raise ValueError(text)
    return [resolve(c.inputs[0], begin, end, strides, masks)[1]]


def _mask_attrs(op: Operation) -> dict[str, int]:
    return {n: op.get_attr(n) for n in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")}


def _strided_slice_gradient(op, grad):
    begin, end, strides = op.inputs[1], op.inputs[2], op.inputs[3]
    sizes = shape(op.inputs[0], out_type=begin.dtype)
    return [raw.StridedSliceGrad(sizes, begin, end, strides, grad, **_mask_attrs(op)), None, None, None]


@functools.lru_cache(1024)
def _slices(sizes: tuple, begin: tuple, end: tuple, strides: tuple, masks: Masks) -> tuple[tuple, tuple]:
    """Python's slices for an array of these sizes, and the sizes of the result."""
    taken, result = resolve(sizes, begin, end, strides, masks)
    return tuple(map(_python_slice, taken)), result


def _numpy_strided_slice(x, begin, end, strides, masks):
    _require_equal_vectors(begin, end, strides)
    try:
        taken, sizes = _slices(x.shape, *(tuple(v.tolist()) for v in (begin, end, strides)), masks)
    except ValueError as e:
        raise invalid(str(e)) from None
    return x[taken].reshape(sizes)


def _index_is_free(op: Any) -> tuple[str, ...]:
    """`begin` and `end` may be traced where every entry is one index or takes a whole dimension."""
    masks = Masks.of(op.get_attr)
    sizes = op.inputs[1]._sizes
    fixed = masks.shrink | masks.new_axis | masks.ellipsis | masks.begin & masks.end
    known = sizes is not None and None not in sizes
    return ("begin", "end") if known and all(_bit(fixed, i) for i in range(sizes[0])) else ()


def _traced_starts(sizes: tuple, begin: Any, entries: list, masks: Masks) -> list:
    """Where the slice starts in each dimension, with a traced `begin`."""
    starts = []
    for size, entry in zip(sizes, entries):
        if entry is None or not _bit(masks.shrink, entry) and _bit(masks.begin, entry):
            starts.append(jnp.zeros((), begin.dtype))
            continue
        given = begin[entry]
        if _bit(masks.shrink, entry):
            checks.require(
                (given >= -size) & (given < size), f"slice index {{}} of dimension {len(starts)} out of bounds.", given
            )
        starts.append(jnp.where(given < 0, given + size, given))
    return starts


def _traced_strided_slice(x: Any, begin: Any, strides: np.ndarray, masks: Masks) -> Array:
    taken, sizes = _resolve_at_run(tuple(x.shape), None, None, strides, masks)
    entries, _ = layout(x.ndim, len(strides), masks)
    if any(t.count is None for t in taken):
        raise NotImplementedError("tfcompat has no StridedSlice whose bounds change inside a compiled loop.")
    picked = [1 if e is not None and _bit(masks.shrink, e) else s for s, e in zip(x.shape, entries)]
    starts = _traced_starts(x.shape, begin, entries, masks)
    has_all = all(p <= s for p, s in zip(picked, x.shape))  # else an index of an empty dimension, which fails where it is computed
    block = lax.dynamic_slice(x, starts, picked) if has_all else jnp.zeros(picked, x.dtype)
    steps = tuple(slice(None, None, t.stride) for t in taken)
    return jnp.reshape(block if all(t.stride == 1 for t in taken) else block[steps], sizes)


@op(
    "StridedSlice", f"(input: T, {_SLICE_INPUTS}, *, T: type, Index: INDEX, {_MASK_ATTRS}) -> (output: T)",
    shape=_strided_slice_shape, exact=True, gradient=_strided_slice_gradient, constants=("begin", "end", "strides"),
    fold=_with_masks(_numpy_strided_slice), traceable=_index_is_free, facts=Facts(cuts=True),
)  # fmt: skip
@_with_masks
def _strided_slice(x, begin, end, strides, masks):
    if not isinstance(begin, np.ndarray):
        return _traced_strided_slice(x, begin, strides, masks)
    taken, sizes = _resolve_at_run(tuple(x.shape), begin, end, strides, masks)
    if any(t.count != s or t.stride != 1 for t, s in zip(taken, x.shape)):
        low = [min(t.start, t.start + (t.count - 1) * t.stride) if t.count else 0 for t in taken]
        high = [t.start + 1 if t.stride < 0 else t.start + (t.count - 1) * t.stride + 1 for t in taken]
        limits = [h if t.count else 0 for t, h in zip(taken, high)]
        x = lax.slice(x, low, limits, [abs(t.stride) if t.count else 1 for t in taken])
        flipped = [d for d, t in enumerate(taken) if t.stride < 0]
        x = lax.rev(x, flipped) if flipped else x
    return x if tuple(x.shape) == sizes else lax.reshape(x, sizes)


@export("strided_slice")
def strided_slice(
    input_: TensorLike, begin: object, end: object, strides: object = None, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0, var: Any = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """A Python-like slice of a tensor, written as vectors; `tensor[...]` is the readable form.

    Args:
      input_: a tensor.
      begin, end, strides: vectors of one length, an entry per index; strides are 1 by default.
      begin_mask, end_mask: bits of the entries whose begin or end is ignored (the whole range).
      ellipsis_mask, new_axis_mask, shrink_axis_mask: bits of the entries for `...`, a new dimension, one index.
      var: the variable that `input_` is the value of; the result's `assign` writes to it.
      name: node name.

    Raises:
      ValueError: an index is known to be out of bounds.
    """
    masks = {
        "begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask, "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }  # fmt: skip
    if strides is None:
        strides = ones_like(begin)
    result = raw.StridedSlice(input_, begin, end, strides, **masks, name=name)

    def assign(val: Any, name: str | None = name and f"{name}_assign") -> Any:
        if var is None:
            raise ValueError("Sliced assignment is only supported for variables")
        return var._strided_slice_assign(begin=begin, end=end, strides=strides, value=val, name=name, **masks)

    result.assign = assign
    return result


# ---- StridedSliceGrad ----


def _grad_gradient(op, grad):
    read = raw.StridedSlice(grad, op.inputs[1], op.inputs[2], op.inputs[3], **_mask_attrs(op))
    return [None, None, None, None, read]


def _all_steps_one(op: Operation) -> tuple[str, ...]:
    strides = known_value(op.inputs[3])
    return ("begin", "end") if strides is not None and (strides == 1).all() else ()


def _block_shape(dy: Any, sizes: tuple, entries: list, result: list) -> tuple:
    """The shape of `dy` with a dimension of size 1 for each index, and without new dimensions."""
    found = [1] * len(sizes)
    for size, dim in zip(dy.shape, result):
        if dim != _NEW:
            found[dim] = size
    return tuple(found)


@op(
    "StridedSliceGrad", f"(shape: Index, {_SLICE_INPUTS}, dy: T, *, T: type, Index: INDEX, {_MASK_ATTRS}) -> "
                        "(output: T)",
    shape=si.from_shape_input(0), gradient=_grad_gradient, constants=("shape", "begin", "end", "strides"),
    traceable=_all_steps_one,
)  # fmt: skip
@_with_masks
def _strided_slice_grad(shape, begin, end, strides, dy, masks):
    sizes = tuple(int(s) for s in shape)
    entries, result = layout(len(sizes), len(strides), masks)
    block = jnp.reshape(dy, _block_shape(dy, sizes, entries, result))
    if not isinstance(begin, np.ndarray):
        _require_equal_vectors(begin, end, strides)
        return lax.dynamic_update_slice(jnp.zeros(sizes, dy.dtype), block, _traced_starts(sizes, begin, entries, masks))
    taken, expected = _resolve_at_run(sizes, begin, end, strides, masks)
    if tuple(dy.shape) != expected:
        raise invalid(f"shape of dy was {shape_text(tuple(dy.shape))} instead of {shape_text(expected)}")
    flipped = [d for d, t in enumerate(taken) if t.stride < 0]
    block = lax.rev(block, flipped) if flipped else block
    return lax.pad(block, jnp.zeros((), dy.dtype), [_padding(t, s) for t, s in zip(taken, sizes)])


def _padding(taken: Interval, size: int) -> tuple[int, int, int]:
    if not taken.count:
        return 0, size, 0
    first, last = sorted((taken.start, taken.start + (taken.count - 1) * taken.stride))
    return first, size - 1 - last, abs(taken.stride) - 1


# ---- assignment ----

_NO_ASSIGN_GRADIENT = NotDifferentiable("assignment has none", raises=True)


@_with_masks
def _updated(x, begin, end, strides, value, masks):
    sizes = tuple(x.shape)
    entries, result = layout(x.ndim, len(strides), masks)
    if not isinstance(begin, np.ndarray):
        block = jnp.reshape(value, _block_shape(value, sizes, entries, result))
        return lax.dynamic_update_slice(x, block, _traced_starts(sizes, begin, entries, masks))
    taken, expected = _resolve_at_run(sizes, begin, end, strides, masks)
    if 0 in expected:
        return x
    if tuple(value.shape) != expected:
        raise errors.UnimplementedError(
            None, None,
            f"sliced l-value shape {shape_text(expected)} does not match r-value shape {shape_text(tuple(value.shape))}. "
            "Automatic broadcasting not yet implemented.",
        )  # fmt: skip
    block = jnp.reshape(value, tuple(t.count for t in taken))
    if all(t.stride == 1 for t in taken):
        return lax.dynamic_update_slice(x, block, [t.start for t in taken])
    return jnp.asarray(x).at[tuple(map(_python_slice, taken))].set(block)


op(
    "StridedSliceAssign", f"(ref: Ref(T), {_SLICE_INPUTS}, value: T, *, T: type, Index: INDEX, {_MASK_ATTRS}) -> "
                          "(output_ref: Ref(T))",
    shape=si.unchanged, gradient=_NO_ASSIGN_GRADIENT, kernel=_updated, constants=("begin", "end", "strides"),
    traceable=_index_is_free, effects=updates("ref"),
)  # fmt: skip
op(
    "ResourceStridedSliceAssign", f"(ref: resource, {_SLICE_INPUTS}, value: T, *, T: type, Index: INDEX, "
                                  f"{_MASK_ATTRS}) -> ()",
    shape=si.no_outputs, gradient=_NO_ASSIGN_GRADIENT, kernel=_updated, constants=("begin", "end", "strides"),
    traceable=_index_is_free, effects=updates("ref"),
)  # fmt: skip
op(
    "TensorStridedSliceUpdate", f"(input: T, {_SLICE_INPUTS}, value: T, *, T: type, Index: INDEX, {_MASK_ATTRS}) "
                                "-> (output: T)",
    shape=si.unchanged, gradient=_NO_ASSIGN_GRADIENT, kernel=_updated, constants=("begin", "end", "strides"),
    traceable=_index_is_free,
)  # fmt: skip
