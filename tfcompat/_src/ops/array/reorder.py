"""Ops that move elements: transpose, reverse, roll."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import invalid, rank

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

# ---- Transpose ----


def _transpose_shape(c):
    sizes, perm = c.inputs[0], c.value(1)
    count = si.num_elements(c.inputs[1])
    known = len(sizes) if sizes is not None else count if count is not None else None if perm is None else perm.size
    if known is None or sizes is None and known < 2:
        return [sizes]
    sizes = si.with_rank(sizes, known)
    si.with_rank(c.inputs[1], 1)
    if count not in (None, known):
        raise ValueError(f"Dimension must be {known} but is {count}")
    if perm is None:
        return [(None,) * known]
    for p in perm:
        if not -known < p < known:
            raise ValueError(f"perm dim {p} is out of range of input rank {known}")
    return [tuple(sizes[p] for p in perm)]


def _checked_perm(x: Any, perm: np.ndarray) -> tuple[int, ...]:
    if perm.shape != (x.ndim,):
        raise invalid(f"transpose expects a vector of size {x.ndim}. But input(1) is a vector of size {perm.size}")
    for p in perm:
        if not 0 <= p < x.ndim:
            raise invalid(f"{p} is out of range [0 .. {x.ndim})")
    for d in range(x.ndim):
        if d not in perm:
            raise invalid(f"{d} is missing from {{{','.join(map(str, perm))}}}.")
    return tuple(int(p) for p in perm)




op(
    "Transpose", "(x: T, perm: Tperm, *, T: type, Tperm: INDEX = int32) -> (y: T)", shape=_transpose_shape,
    exact=True, gradient=lambda op, grad: [transpose(grad, raw.InvertPermutation(op.inputs[1])), None], constants=("perm",),
    kernel=lambda x, perm: jnp.transpose(x, _checked_perm(x, perm)),
    fold=lambda x, perm: np.transpose(x, _checked_perm(x, perm)),
)  # fmt: skip

op(
    "ConjugateTranspose", "(x: T, perm: Tperm, *, T: type, Tperm: INDEX = int32) -> (y: T)", shape=_transpose_shape,
    gradient=lambda op, grad: [transpose(grad, raw.InvertPermutation(op.inputs[1]), conjugate=True), None], constants=("perm",),
    kernel=lambda x, perm: jnp.conj(jnp.transpose(x, _checked_perm(x, perm))),
    fold=lambda x, perm: np.conj(np.transpose(x, _checked_perm(x, perm))),
)  # fmt: skip


@export("transpose")
def transpose(a: Any, perm: object = None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """A tensor with its dimensions in another order.

    Args:
      a: a tensor.
      perm: dimension i of the result is dimension `perm[i]` of `a`; by default the order is reversed.
      name: node name.
      conjugate: whether complex elements are conjugated.

    Raises:
      ValueError: `perm` is known and no permutation of the dimensions.
    """
    with name_scope(name, "transpose", [a]) as scope:
        move = raw.ConjugateTranspose if conjugate and a.dtype.is_complex else raw.Transpose
        if perm is not None:
            return move(a, perm, name=scope)
        a = convert_to_tensor(a, name="a")
        if a.shape.ndims:
            return move(a, np.arange(a.shape.ndims - 1, -1, -1, dtype=np.int32), name=scope)
        count = raw.Rank(a)
        return move(a, count - 1 - raw.Range(0, count, 1), name=scope)


@export("linalg.matrix_transpose", "linalg.transpose", "matrix_transpose")
def matrix_transpose(a: TensorLike, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Swaps the last two dimensions of `a`; `conjugate` conjugates its elements; ValueError for a rank below 2."""
    with name_scope(name, values=[a]):
        a = convert_to_tensor(a, name="a")
        ndims = a.shape.ndims
        if ndims is not None:
            if ndims < 2:
                raise ValueError(f"Argument 'a' should be a (batch) matrix, with rank >= 2.  Found: {a.shape}")
            perm: Any = [*range(ndims - 2), ndims - 1, ndims - 2]
        else:
            count = rank(a)
            perm = concat((raw.Range(0, count - 2, 1), [count - 1, count - 2]), 0)
        return transpose(a, perm=perm, conjugate=conjugate)


@op(
    "InvertPermutation", "(x: T, *, T: INDEX = int32) -> (y: T)", shape=lambda c: [si.with_rank(c.inputs[0], 1)],
    gradient=NotDifferentiable("indices are integers"), side=HOST, fold=True,
)  # fmt: skip
def _invert_permutation(x):
    if x.ndim != 1:
        raise invalid("invert_permutation expects a 1D vector.")
    seen = np.full(len(x), -1, x.dtype)
    for i, target in enumerate(x):
        if not 0 <= target < len(x):
            raise invalid(f"{target} is not between 0 and {len(x)}")
        if seen[target] != -1:
            raise invalid(f"{target} is duplicated in the input.")
        seen[target] = i
    return seen


@export("math.invert_permutation", "invert_permutation")
def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse of a permutation of 0, 1, ..., n - 1, given as an int32 or int64 vector."""
    return raw.InvertPermutation(x, name=name)


# ---- Reverse ----

_REVERSE_TYPES = (
    "uint8, int8, uint16, int16, int32, int64, bool, float16, float32, float64, complex64, complex128, string"
)


def _reverse_v1_shape(c):
    count = si.with_rank(c.inputs[1], 1)[0]
    return [c.inputs[0] if count is None else si.with_rank(c.inputs[0], count)]


def _marked(x: Any, dims: np.ndarray) -> tuple[int, ...]:
    if dims.shape != (x.ndim,):
        raise invalid(f"'dims' must have one value for each of the {x.ndim} dimensions of 'input', got shape {list(dims.shape)}")
    return tuple(int(d) for d in np.flatnonzero(dims))


op(
    "Reverse", f"(tensor: T, dims: bool, *, T: {{{_REVERSE_TYPES}}}) -> (output: T)", shape=_reverse_v1_shape,
    exact=True, gradient=lambda op, grad: [raw.Reverse(grad, op.inputs[1]), None], constants=("dims",),
    kernel=lambda x, dims: lax.rev(jnp.asarray(x), _marked(x, dims)), fold=lambda x, dims: np.flip(x, _marked(x, dims)),
)  # fmt: skip


def _normal_axes(axes: Any, rank: int) -> tuple[int, ...]:
    found: list[int] = []
    for i, axis in enumerate(axes):
        at = int(axis) + rank if axis < 0 else int(axis)
        if not 0 <= at < rank:
            raise ValueError(f"'axis'[{i}] = {axis} is out of valid range [0, {rank - 1}")
        if at in found:
            raise ValueError(f"axis {at} specified more than once.")
        found.append(at)
    return tuple(found)


def _reverse_shape(c):
    si.with_rank(c.inputs[1], 1)
    if c.inputs[0] is not None and c.value(1) is not None:
        _normal_axes(c.value(1), len(c.inputs[0]))
    return [c.inputs[0]]


def _axes_at_run(axes: np.ndarray, rank: int) -> tuple[int, ...]:
    if axes.ndim != 1:
        raise invalid(f"'dims' must be 1-dimension, not {axes.ndim}")
    try:
        return _normal_axes(axes, rank)
    except ValueError as e:
        raise invalid(str(e)) from None


op(
    "ReverseV2", f"(tensor: T, axis: Tidx, *, Tidx: INDEX = int32, T: {{{_REVERSE_TYPES}, bfloat16}}) -> (output: T)",
    shape=_reverse_shape, exact=True, gradient=lambda op, grad: [raw.ReverseV2(grad, op.inputs[1]), None], constants=("axis",),
    kernel=lambda x, axes: lax.rev(jnp.asarray(x), _axes_at_run(axes, x.ndim)),
    fold=lambda x, axes: np.flip(x, _axes_at_run(axes, x.ndim)),
)  # fmt: skip


@export("reverse", "manip.reverse", "reverse_v2")
def reverse(tensor: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """`tensor` with the order of its elements reversed along some dimensions.

    Args:
      tensor: a tensor.
      axis: vector of int32 or int64, the dimensions; negative ones count from the end.
      name: node name.

    Raises:
      ValueError: a dimension does not exist or is named twice; InvalidArgumentError when run otherwise.
    """
    return raw.ReverseV2(tensor, axis, name=name)


def _reverse_sequence_shape(c):
    lengths, sizes = si.with_rank(c.inputs[1], 1), c.inputs[0]
    if sizes is None:
        return [None]
    for label in ("batch_dim", "seq_dim"):
        if c.attr(label) >= len(sizes):
            raise ValueError(f"{label} must be < input rank: {c.attr(label)} vs. {len(sizes)}")
    batch = c.attr("batch_dim")
    if batch < 0:
        raise ValueError(f"batch_dim must be >=0, got {batch}")
    return [sizes[:batch] + (si.merge_size(sizes[batch], lengths[0]),) + sizes[batch + 1 :]]


def _reverse_sequence_gradient(op, grad):
    attrs = {"seq_dim": op.get_attr("seq_dim"), "batch_dim": op.get_attr("batch_dim")}
    return [raw.ReverseSequence(grad, op.inputs[1], **attrs), None]


def _near_reverse_sequence(x, lengths, *, seq_dim, batch_dim):
    _require_lengths(x, lengths, seq_dim, batch_dim)
    for row, length in enumerate(lengths.tolist()):
        if length > x.shape[seq_dim]:
            raise invalid(f"seq_lens({row}) > input.dims({seq_dim})")
        if length < 0:
            raise invalid(f"seq_lens({row}) < 0")
    places = np.arange(x.shape[seq_dim], dtype=lengths.dtype)
    source = np.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
    return np.take_along_axis(x, _along_both(source, x, seq_dim, batch_dim), seq_dim)


def _require_lengths(x, lengths, seq: int, batch: int) -> None:
    if lengths.ndim != 1:
        raise invalid(f"seq_lens input must be 1-dim, not {lengths.ndim}")
    for label, dim in (("batch_dim", batch), ("seq_dim", seq)):
        if dim >= x.ndim:
            raise invalid(f"{label} must be < input.dims()( {dim} vs. {x.ndim})")
    if seq == batch:
        raise invalid(f"batch_dim == seq_dim == {seq}")
    if lengths.shape != (x.shape[batch],):
        raise invalid(f"len(seq_lens) != input.dims({batch}), ({lengths.shape[0]} vs. {x.shape[batch]})")


def _along_both(source, x, seq: int, batch: int):
    """The positions [batch, seq] with the dimensions of `x`, of size 1 but for these two."""
    source = source if batch < seq else source.T
    return source.reshape([x.shape[d] if d in (batch, seq) else 1 for d in range(x.ndim)])


@op(
    "ReverseSequence",
    "(input: T, seq_lengths: Tlen, *, seq_dim: int, batch_dim: int = 0, T: type, Tlen: INDEX = int64) -> (output: T)",
    shape=_reverse_sequence_shape, gradient=_reverse_sequence_gradient, near=_near_reverse_sequence,
)  # fmt: skip
def _reverse_sequence(x, lengths, *, seq_dim, batch_dim):
    _require_lengths(x, lengths, seq_dim, batch_dim)
    seq = seq_dim
    lengths = jnp.asarray(lengths)
    if lengths.size:
        worst, least = (checks.first(lengths == end) for end in (jnp.max(lengths), jnp.min(lengths)))
        checks.require(lengths[worst] <= x.shape[seq], f"seq_lens({{}}) > input.dims({seq})", worst)
        checks.require(lengths[least] >= 0, "seq_lens({}) < 0", least)
    places = jnp.arange(x.shape[seq], dtype=lengths.dtype)
    source = jnp.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
    return jnp.take_along_axis(x, _along_both(source, x, seq_dim, batch_dim), seq, mode="clip")


@export("reverse_sequence")
def reverse_sequence(
    input: TensorLike, seq_lengths: TensorLike, seq_axis: int | None = None, batch_axis: int | None = None, name: str | None = None,
    seq_dim: int | None = None, batch_dim: int | None = None,
) -> Tensor:  # fmt: skip
    """Reverses the first `seq_lengths[b]` elements along `seq_axis` in each slice b of `batch_axis`.

    Args:
      input: a tensor.
      seq_lengths: int vector, one length per slice.
      seq_axis, batch_axis: dimensions (`seq_dim` and `batch_dim` are their old names); `batch_axis` is 0 by default.
      name: node name.

    Raises:
      ValueError: a dimension does not exist or the lengths do not fit.
    """
    seq_axis = deprecated_argument_lookup("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch_axis = deprecated_argument_lookup("batch_axis", batch_axis, "batch_dim", batch_dim)
    return raw.ReverseSequence(input, seq_lengths, seq_dim=seq_axis, batch_dim=batch_axis or 0, name=name)


# ---- Roll ----


def _roll_shape(c):
    if c.inputs[0] == ():
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    si.merge(si.with_rank_at_most(c.inputs[1], 1), si.with_rank_at_most(c.inputs[2], 1))
    return [c.inputs[0]]


def _roll_gradient(op, grad):
    return [raw.Roll(grad, raw.Neg(op.inputs[1]), op.inputs[2]), None, None]


def _rolled(xp: Any, x: Any, shift: Any, axis: np.ndarray) -> Any:
    if not x.ndim:
        raise invalid("input must be 1-D or higher")
    if shift.shape != axis.shape:
        raise invalid("shift and axis must have the same size")
    for at in axis.reshape(-1):
        if not -x.ndim <= at < x.ndim:
            raise invalid(f"axis {at} is out of range")
    return xp.roll(x, shift, tuple(int(a) for a in axis) if axis.ndim else int(axis))


op(
    "Roll", "(input: T, shift: Tshift, axis: Taxis, *, T: type, Tshift: INDEX, Taxis: INDEX) -> (output: T)",
    shape=_roll_shape, gradient=_roll_gradient, constants=("axis",), kernel=functools.partial(_rolled, jnp),
    fold=functools.partial(_rolled, np),
)  # fmt: skip


@export("roll", "manip.roll")
def roll(input: TensorLike, shift: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """`input` shifted by `shift` places along `axis`, what falls off one end coming in at the other.

    Args:
      input: a tensor of rank 1 or more.
      shift: scalar or vector of ints.
      axis: scalar or vector of ints, of the same size.
      name: node name.
    """
    return raw.Roll(input, shift, axis, name=name)
