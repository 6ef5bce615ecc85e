"""Shapes as values, and ops that change the shape alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, as_shape
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, Facts, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike

_NO_GRADIENT = NotDifferentiable("a shape does not depend on the values")


def invalid(text: str) -> errors.InvalidArgumentError:
    """The error that a kernel raises for facts known while it is traced; the runtime adds the node."""
    return errors.InvalidArgumentError(None, None, text)


# ---- Shape, ShapeN, Size, Rank ----


def _rank_vectors(c):
    return [(None,) if sizes is None else (len(sizes),) for sizes in c.inputs]


@op(
    "Shape", "(input: T, *, T: type, out_type: INDEX = int32) -> (output: out_type)", shape=_rank_vectors,
    gradient=_NO_GRADIENT, shape_only=("input",), facts=Facts(tells_sizes=True),
)  # fmt: skip
def _shape(x, *, out_type):
    return np.array(x.shape, out_type)


@op(
    "ShapeN", "(input: N*T, *, N: int >= 1, T: type, out_type: INDEX = int32) -> (output: N*out_type)",
    shape=_rank_vectors, gradient=_NO_GRADIENT, shape_only=("input",),
)  # fmt: skip
def _shape_n(xs, *, out_type):
    return tuple(np.array(x.shape, out_type) for x in xs)


@op(
    "Size", "(input: T, *, T: type, out_type: INDEX = int32) -> (output: out_type)", shape=si.scalar,
    gradient=_NO_GRADIENT, shape_only=("input",),
)  # fmt: skip
def _size(x, *, out_type):
    return np.prod(x.shape, dtype=np.int64).astype(out_type)


@op("Rank", "(input: T, *, T: type) -> (output: int32)", shape=si.scalar, gradient=_NO_GRADIENT, shape_only=("input",))
def _rank(x):
    return np.array(len(x.shape), np.int32)


def _is_sparse(value: object) -> bool:
    return hasattr(value, "dense_shape") and hasattr(value, "indices")


@export("shape")
def shape(input: TensorLike, name: str | None = None, out_type: object = dtypes.int32) -> Tensor:
    """The shape of a tensor as a vector, a constant where it is fully known.

    Args:
      input: a tensor or SparseTensor.
      name: node name.
      out_type: int32 or int64.
    """
    return shape_internal(input, name, optimize=True, out_type=out_type)


def shape_internal(input: Any, name: str | None = None, optimize: bool = True, out_type: Any = dtypes.int32) -> Tensor:
    """`shape`; without `optimize`, a Shape node also where the shape is known."""
    with name_scope(name, "Shape", [input]) as scope:
        if _is_sparse(input):
            return raw.Cast(input.dense_shape, DstT=out_type)
        sizes = convert_to_tensor(input)._sizes
        if optimize and sizes is not None and None not in sizes:
            return constant(list(sizes), out_type, name=scope)
        return raw.Shape(input, out_type=out_type, name=scope)


@export("shape_n")
def shape_n(input: Sequence[TensorLike], out_type: DTypeLike = dtypes.int32, name: str | None = None) -> list[Tensor]:
    """The shapes of a list of tensors, as vectors of `out_type`."""
    return raw.ShapeN(input, out_type=out_type, name=name)


@export("size")
def size(input: TensorLike, name: str | None = None, out_type: object = dtypes.int32) -> Tensor:
    """The number of elements of a tensor or SparseTensor, a constant where it is known."""
    return size_internal(input, name, optimize=True, out_type=out_type)


def size_internal(input: Any, name: str | None = None, optimize: bool = True, out_type: Any = dtypes.int32) -> Tensor:
    """`size`; without `optimize`, a Size node also where the number is known."""
    with name_scope(name, "Size", [input]) as scope:
        if _is_sparse(input):
            return raw.Prod(raw.Cast(input.dense_shape, DstT=out_type), 0, name=scope)
        sizes = convert_to_tensor(input)._sizes
        if optimize and sizes is not None:
            count = 0 if 0 in sizes else si.num_elements(sizes)
            if count is not None:
                return constant(count, out_type, name=scope)
        return raw.Size(input, out_type=out_type, name=scope)


@export("rank")
def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """The number of dimensions of a tensor or SparseTensor as an int32 scalar, a constant where it is known."""
    return rank_internal(input, name, optimize=True)


def rank_internal(input: Any, name: str | None = None, optimize: bool = True) -> Tensor:
    """`rank`; without `optimize`, a Rank node also where the rank is known."""
    with name_scope(name, "Rank", [input]) as scope:
        if _is_sparse(input):
            return raw.Size(input.dense_shape, name=scope)
        sizes = convert_to_tensor(input)._sizes
        if optimize and sizes is not None:
            return constant(len(sizes), dtypes.int32, name=scope)
        return raw.Rank(input, name=scope)


# ---- Reshape ----


def _known_product(sizes: tuple) -> tuple[int, int]:
    """The product of the known sizes, and how many are unknown."""
    known = [s for s in sizes if s is not None]
    return int(np.prod(known, dtype=np.int64)), len(sizes) - len(known)


def _divided(total: int, by: int) -> int:
    if total % by:
        raise ValueError(f"Dimension size must be evenly divisible by {by} but is {total}")
    return total // by


def reshape_shape(c):
    si.with_rank(c.inputs[1], 1)
    source, target = c.inputs[0], c.shape_value(1)
    if source is None or target is None:
        return [target]
    have, open_in = _known_product(source)
    want, open_out = _known_product(target)
    if open_in > 1 or open_out > 1:
        return [target]
    if not open_in and not open_out:
        if have != want:
            raise ValueError(
                f"Cannot reshape a tensor with {have} elements to shape {shape_text(target)} ({want} elements)"
            )
    elif not open_in and want > 0:
        missing = _divided(have, want)
        return [tuple(missing if s is None else s for s in target)]
    elif not open_in and have:
        raise ValueError(
            f"Cannot reshape a tensor with {have} elements to shape {shape_text(target)} ({want} elements)"
        )
    elif open_in and not open_out and have:
        _divided(want, have)
    elif open_in and open_out and have == want:
        missing = source[source.index(None)]
        return [tuple(missing if s is None else s for s in target)]
    return [target]


def reshaped_sizes(x: Any, wanted: np.ndarray) -> tuple[int, ...]:
    """The shape that Reshape gives `x`, with its -1 worked out."""
    if wanted.ndim != 1:
        raise invalid(f"sizes input must be 1-D, not {shape_text(wanted.shape)}")
    sizes = wanted.tolist()
    if sizes.count(-1) > 1:
        first = sizes.index(-1)
        raise invalid(f"Only one input size may be -1, not both {first} and {sizes.index(-1, first + 1)}")
    for i, s in enumerate(sizes):
        if s < -1:
            raise invalid(f"Size {i} must be non-negative, not {s}")
    total, known = math.prod(x.shape), math.prod(s for s in sizes if s >= 0)
    if -1 in sizes and not known and not total:
        have, want = (math.prod(s for s in found if s > 0) for found in (x.shape, sizes))
        sizes[sizes.index(-1)] = have // want
    elif -1 in sizes and known:
        if total % known:
            raise invalid(
                f"Input to reshape is a tensor with {total} values, but the requested shape requires a multiple of "
                f"{known}"
            )
        sizes[sizes.index(-1)] = total // known
    elif known != total:
        raise invalid(f"Input to reshape is a tensor with {total} values, but the requested shape has {known}")
    return tuple(sizes)


def reshape_to_input(op, grad):
    """The gradient with respect to input 0 of an op that changes only its shape."""
    return raw.Reshape(grad, shape(op.inputs[0]))


@op(
    "Reshape", "(tensor: T, shape: Tshape, *, T: type, Tshape: INDEX = int32) -> (output: T)", shape=reshape_shape,
    exact=True, gradient=lambda op, grad: [reshape_to_input(op, grad), None], constants=("shape",),
    fold=lambda x, sizes: x.reshape(reshaped_sizes(x, sizes)), facts=Facts(hands_on="tensor"),
)  # fmt: skip
def _reshape(x, sizes):
    return jnp.reshape(x, reshaped_sizes(x, sizes))


@export("reshape", "manip.reshape")
def reshape(tensor: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """A tensor with the elements of `tensor`, in their order, in another shape.

    Args:
      tensor: a tensor.
      shape: vector of int32 or int64; one element may be -1 and is worked out.
      name: node name.

    Raises:
      ValueError: the numbers of elements are known and differ; InvalidArgumentError when run otherwise.
    """
    return raw.Reshape(tensor, shape, name=name)


# ---- ExpandDims, Squeeze ----


def _expanded(sizes: tuple, dim: int) -> tuple:
    if not -len(sizes) - 1 <= dim <= len(sizes):
        raise ValueError(f"dim {dim} not in the interval [{-len(sizes) - 1}, {len(sizes)}].")
    at = dim + len(sizes) + 1 if dim < 0 else dim
    return sizes[:at] + (1,) + sizes[at:]


def _expand_dims_shape(c):
    dim = c.value(1)
    if dim is not None and dim.size != 1:
        raise ValueError("'dim' input must be a tensor with a single value")
    if dim is None or c.inputs[0] is None:
        return [None]
    return [_expanded(c.inputs[0], int(dim.reshape(())))]


def _expanded_at_run(x: Any, dim: np.ndarray) -> tuple:
    try:
        return _expanded(tuple(x.shape), int(dim.reshape(())))
    except ValueError:
        raise invalid(f"Tried to expand dim index {dim} for tensor with {x.ndim} dimensions.") from None


@op(
    "ExpandDims", "(input: T, dim: Tdim, *, T: type, Tdim: INDEX = int32) -> (output: T)", shape=_expand_dims_shape,
    exact=True, gradient=lambda op, grad: [reshape_to_input(op, grad), None], constants=("dim",),
    fold=lambda x, dim: np.reshape(x, _expanded_at_run(x, dim)),
)  # fmt: skip
def _expand_dims(x, dim):
    return jnp.reshape(x, _expanded_at_run(x, dim))


@export("expand_dims")
def expand_dims(input: TensorLike, axis: TensorLike | None = None, name: str | None = None, dim: object = None) -> Tensor:
    """`input` with a new dimension of size 1.

    Args:
      input: a tensor.
      axis: before which dimension it is inserted; negative counts from the end.
      name: node name.
      dim: old name of `axis`.

    Raises:
      ValueError: no axis is given, or it is outside [-rank - 1, rank].
    """
    axis = deprecated_argument_lookup("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return raw.ExpandDims(input, axis, name=name)


def _squeezed(sizes: tuple, dims: Any) -> tuple | None:
    """`sizes` without `dims`, or without all ones where none are named; None where that is not known."""
    for i, d in enumerate(dims):
        if not -len(sizes) <= d < len(sizes):
            raise ValueError(f"squeeze_dims[{i}] not in [{-len(sizes)},{len(sizes)}).")
    named = {d % len(sizes) for d in dims}
    for d in sorted(named):
        if sizes[d] not in (None, 1):
            raise ValueError(f"Can not squeeze dim[{d}], expected a dimension of 1, got {sizes[d]}")
    if not named:
        return None if None in sizes else tuple(s for s in sizes if s != 1)
    return tuple(s for i, s in enumerate(sizes) if i not in named)


def _squeeze_shape(c):
    return [None if c.inputs[0] is None else _squeezed(c.inputs[0], c.attr("squeeze_dims"))]


def _squeezed_at_run(x: Any, dims: Any) -> tuple:
    try:
        return _squeezed(tuple(x.shape), dims)
    except ValueError as e:
        raise invalid(str(e)) from None


@op(
    "Squeeze", "(input: T, *, T: type, squeeze_dims: list(int) >= 0 = []) -> (output: T)", shape=_squeeze_shape,
    exact=True, gradient=lambda op, grad: [reshape_to_input(op, grad)],
    fold=lambda x, *, squeeze_dims: np.reshape(x, _squeezed_at_run(x, squeeze_dims)),
)  # fmt: skip
def _squeeze(x, *, squeeze_dims):
    return jnp.reshape(x, _squeezed_at_run(x, squeeze_dims))


@export("squeeze")
def squeeze(input: TensorLike, axis: object = None, name: str | None = None, squeeze_dims: object = None) -> Tensor:
    """`input` without dimensions of size 1.

    Args:
      input: a tensor.
      axis: an int or a list, the dimensions that go; by default all of size 1.
      name: node name.
      squeeze_dims: old name of `axis`.

    Raises:
      ValueError: a named dimension is known to be of another size or does not exist.
    """
    axis = deprecated_argument_lookup("axis", axis, "squeeze_dims", squeeze_dims)
    return raw.Squeeze(input, squeeze_dims=[axis] if np.isscalar(axis) else axis, name=name)


@export("compat.v2.squeeze")
def squeeze_v2(input: TensorLike, axis: object = None, name: str | None = None) -> Tensor:
    """`squeeze` with the arguments of TensorFlow 2."""
    return squeeze(input, axis, name)


# ---- broadcasting ----


def _broadcast_to_shape(c):
    si.with_rank(c.inputs[1], 1)
    target, source = c.shape_value(1), c.inputs[0]
    if target is None or source is None:
        return [target]
    si.with_rank_at_most(source, len(target))
    merged = list(target)
    for i in range(1, len(source) + 1):
        if source[-i] is not None and source[-i] > 1:
            merged[-i] = si.merge_size(source[-i], target[-i])
    return [tuple(merged)]


def _broadcast_to_gradient(op, grad):
    source = shape(op.inputs[0], out_type=op.inputs[1].dtype)
    axes = raw.BroadcastGradientArgs(op.inputs[1], source).r1
    return [raw.Reshape(raw.Sum(grad, axes, keep_dims=True), source), None]


def _broadcast_to(xp: Any, x: Any, sizes: np.ndarray) -> Any:
    target = tuple(int(s) for s in sizes)
    try:
        return xp.broadcast_to(x, target)
    except ValueError:
        raise invalid(f"Incompatible shapes: {shape_text(tuple(x.shape))} vs. {shape_text(target)}") from None


op(
    "BroadcastTo", "(input: T, shape: Tidx, *, T: type, Tidx: INDEX = int32) -> (output: T)", shape=_broadcast_to_shape,
    gradient=_broadcast_to_gradient, constants=("shape",), kernel=lambda x, sizes: _broadcast_to(jnp, x, sizes),
    fold=lambda x, sizes: _broadcast_to(np, x, sizes),
)  # fmt: skip


@export("broadcast_to")
def broadcast_to(input: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """`input` repeated along its dimensions of size 1, and new leading ones, to `shape`."""
    return raw.BroadcastTo(input, shape, name=name)


def _broadcast_args_shape(c):
    a, b = si.with_rank(c.inputs[0], 1), si.with_rank(c.inputs[1], 1)
    return [(None,) if a[0] is None or b[0] is None else (max(a[0], b[0]),)]


@op(
    "BroadcastArgs", "(s0: T, s1: T, *, T: INDEX = int32) -> (r0: T)", shape=_broadcast_args_shape,
    gradient=_NO_GRADIENT, side=HOST, fold=True,
)  # fmt: skip
def _broadcast_args(a, b):
    if np.array_equal(a, b):  # whatever they hold, as in 1.15
        return a.copy()
    try:
        return np.array(np.broadcast_shapes(tuple(a), tuple(b)), a.dtype)
    except ValueError:
        raise invalid(f"Incompatible shapes: {shape_text(tuple(a))} vs. {shape_text(tuple(b))}") from None


def _two_unknown_vectors(c):
    si.with_rank(c.inputs[0], 1), si.with_rank(c.inputs[1], 1)
    return [(None,), (None,)]


@op(
    "BroadcastGradientArgs", "(s0: T, s1: T, *, T: INDEX = int32) -> (r0: T, r1: T)", shape=_two_unknown_vectors,
    gradient=_NO_GRADIENT, side=HOST, fold=True,
)  # fmt: skip
def _broadcast_gradient_args(a, b):
    """The axes over which the gradients of two broadcast operands of shapes `a` and `b` are summed."""
    width = len(_broadcast_args(a, b))
    if np.array_equal(a, b):
        return np.zeros(0, a.dtype), np.zeros(0, a.dtype)
    padded = (np.concatenate([np.ones(width - len(sizes), sizes.dtype), sizes]) for sizes in (a, b))
    return tuple(np.flatnonzero(sizes == 1).astype(a.dtype) for sizes in padded)


@export("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Tensor:
    """The shape, as a vector, to which two shape vectors broadcast."""
    return raw.BroadcastArgs(shape_x, shape_y)


@export("broadcast_static_shape")
def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """The TensorShape to which two of them broadcast.

    Raises:
      ValueError: they do not fit.
    """
    a, b = as_shape(shape_x), as_shape(shape_y)
    try:
        return TensorShape.of(si.broadcast(a.sizes, b.sizes))
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: {a} and {b}") from None
