"""Sums of products of tensors: tensordot and the cross product."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.shape_inference import merged_inputs, with_rank_at_least
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.shape import rank, shape
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_prod, reduce_sum
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation

# ---- Cross ----


def _cross_shape(c: Any) -> list:
    sizes = merged_inputs(c)[0]
    with_rank_at_least(sizes, 1)
    if sizes is not None and sizes[-1] not in (None, 3):
        raise ValueError(f"Dimension must be 3 but is {sizes[-1]}")
    return [sizes]


def _cross_grad(op: Operation, g: Tensor) -> list:
    a, b = op.inputs
    return [raw.Cross(b, g), raw.Cross(g, a)]


@op("Cross", "(a: T, b: T, *, T: REAL) -> (product: T)", shape=_cross_shape, gradient=_cross_grad)
def _cross(a, b):
    if a.shape != b.shape:
        raise errors.InvalidArgumentError(
            None, None, f"Both inputs must be of same shape: {shape_text(a.shape)} vs. {shape_text(b.shape)}"
        )
    if a.shape[-1:] != (3,):
        raise errors.FailedPreconditionError(None, None, "Cross-products are only defined for 3-element vectors.")
    axis = a.ndim - 1

    def rolled(x, by):
        return lax.concatenate([lax.slice_in_dim(x, by, 3, axis=axis), lax.slice_in_dim(x, 0, by, axis=axis)], axis)

    return lax.sub(lax.mul(rolled(a, 1), rolled(b, 2)), lax.mul(rolled(a, 2), rolled(b, 1)))


@export("cross", "linalg.cross")
def cross(a, b, name=None):
    """The cross product of the 3-vectors in the last dimension of two Tensors of one shape."""
    return raw.Cross(a, b, name=name)


@export("trace", "linalg.trace")
def trace(x, name=None):
    """The sum of the diagonal of the matrices in the last two dimensions; a Tensor [...]."""
    with name_scope(name, "Trace", [x]) as scope:
        x = to_tensor(x, name="x")
        return reduce_sum(raw.MatrixDiagPart(x, name="diag_part"), [-1], name=scope)


# ---- tensordot ----


def _contracted_axes(a: Tensor, axes: TensorLike) -> tuple[Any, Any]:
    """The axes of a and of b that are summed over, as lists or Tensors."""
    if isinstance(axes, (int, np.integer)):
        if axes < 0:
            raise ValueError("'axes' must be at least 0.")
        ndims = a.shape.ndims
        if ndims is None:
            total = rank(a)
            return arange(total - axes, total, dtype=dtypes.int32), arange(axes, dtype=dtypes.int32)
        if axes > ndims:
            raise ValueError(f"'axes' must not be larger than the number of dimensions of tensor {a}.")
        return list(range(ndims - axes, ndims)), list(range(axes))
    if isinstance(axes, (list, tuple)):
        if len(axes) != 2:
            raise ValueError("'axes' must be an integer or have length 2.")
        a_axes, b_axes = ([x] if isinstance(x, (int, np.integer)) else x for x in axes)
        if isinstance(axes[0], (list, tuple)) or isinstance(axes[1], (list, tuple)) or isinstance(a_axes, list):
            if len(a_axes) != len(b_axes):
                raise ValueError(f"Different number of contraction axes 'a' and 'b', {len(a_axes)} != {len(b_axes)}.")
        return a_axes, b_axes
    axes = to_tensor(axes, dtypes.int32, "axes")
    return axes[0], axes[1]


def _as_matrix(x: Tensor, axes: Any, summed_first: bool) -> tuple[Tensor, Any, list | None]:
    """`x` as a matrix of free and summed axes; its free sizes, as a list or Tensor, and as far as statically known."""
    sizes = x._sizes
    is_static = isinstance(axes, (list, tuple)) and sizes is not None
    if is_static:
        axes = [i if i >= 0 else i + len(sizes) for i in axes]
        free = [i for i in range(len(sizes)) if i not in axes]
        free_sizes = [sizes[i] for i in free]
    if is_static and None not in sizes:
        order = axes + free if summed_first else free + axes
        matrix = [math.prod(free_sizes), math.prod(sizes[i] for i in axes)]
        moved = raw.Transpose(x, order, name="transpose")
        return raw.Reshape(moved, matrix[::-1] if summed_first else matrix), free_sizes, free_sizes
    if is_static:
        axes = to_tensor(axes, dtypes.int32, "axes")
        free = to_tensor(free, dtypes.int32, "free")
        all_sizes = shape(x)
    else:
        free_sizes = None
        all_sizes, count = shape(x), rank(x)
        axes = to_tensor(axes, dtypes.int32, "axes")
        axes = raw.Select(axes >= 0, axes, axes + count)
        free = raw.ListDiff(arange(count), axes).out
    found_free = _gather(all_sizes, free)
    found_axes = _gather(all_sizes, axes)
    free_count, axes_count = reduce_prod(found_free), reduce_prod(found_axes)
    if summed_first:
        order, matrix = concat([axes, free], 0), stack([axes_count, free_count])
    else:
        order, matrix = concat([free, axes], 0), stack([free_count, axes_count])
    return raw.Reshape(raw.Transpose(x, order, name="transpose"), matrix), found_free, free_sizes


def _gather(values: Tensor, indices: Tensor) -> Tensor:
    return raw.GatherV2(values, indices, 0)


@export("tensordot", "linalg.tensordot")
def tensordot(a, b, axes, name=None):
    """The sum of products of `a` and `b` over pairs of their axes.

    Args:
      a, b: Tensors of one dtype.
      axes: n, for the last n axes of a and the first n of b; or two lists (or a Tensor [2, k]) of axes of a and of b.
      name: node name.

    Returns:
      a Tensor with the remaining axes of a, then those of b.

    Raises:
      ValueError: `axes` does not fit the tensors.
    """
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        a, b = to_tensor(a, name="a"), to_tensor(b, name="b")
        a_axes, b_axes = _contracted_axes(a, axes)
        a_matrix, a_free, a_static = _as_matrix(a, a_axes, summed_first=False)
        b_matrix, b_free, b_static = _as_matrix(b, b_axes, summed_first=True)
        product = matmul(a_matrix, b_matrix)
        if isinstance(a_free, list) and isinstance(b_free, list):
            return raw.Reshape(product, a_free + b_free, name=scope)
        a_free, b_free = to_tensor(a_free, dtypes.int32), to_tensor(b_free, dtypes.int32)
        found = raw.Reshape(product, concat([a_free, b_free], 0), name=scope)
        if a_static is not None and b_static is not None:
            found.set_shape(a_static + b_static)
        return found
