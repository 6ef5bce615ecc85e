"""Reductions of sparse tensors, and softmax over their rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.shape import invalid, rank, reshape
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduction import reduced_shape
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.sparse.parts import as_sparse, check_tensor, groups, row_keys, with_part_ranks

if TYPE_CHECKING:
    from tfcompat._src.graph.shape_inference import InferenceContext


def _axes(given: np.ndarray, count: int) -> list[int]:
    """The reduced dimensions, each once; InvalidArgumentError where one is outside [-count, count)."""
    if given.ndim > 1:
        raise invalid(f"Expected reduction_axes to be a scalar or a vector; got shape: {shape_text(given.shape)}")
    for axis in given.reshape(-1):
        if not -count <= axis < count:
            raise invalid(f"Invalid reduction dimension {axis}, for input with {count} dimensions.")
    return sorted({int(axis) % count for axis in given.reshape(-1)})


def _reduced(reduce: np.ufunc, indices: Any, values: Any, sizes: Any, axes: Any, keep_dims: bool) -> tuple:
    """Positions, values and sizes of the reduced tensor."""
    check_tensor(indices, values, sizes)
    gone = _axes(axes, len(sizes))
    left = [d for d in range(len(sizes)) if d not in gone]
    keys = row_keys(indices[:, left])[0]
    order = np.argsort(keys, kind="stable")
    starts, _ = groups(keys[order])
    rows = indices[order][starts]
    found = reduce.reduceat(values[order], starts, dtype=values.dtype) if len(starts) else values[:0]
    if not keep_dims:
        return rows[:, left], found, sizes[left]
    rows, sizes = rows.copy(), sizes.copy()
    rows[:, gone], sizes[gone] = 0, 1
    return rows, found, sizes


def _dense_shape(c: InferenceContext) -> list:
    sizes, axes = c.value(2), c.value(3)
    if sizes is None or axes is None:
        return [None]
    sizes = sizes.reshape(-1)
    if not sizes.size:
        raise ValueError("Number of dims in shape tensor must not be 0")
    gone = {int(axis) % len(sizes) for axis in axes.reshape(-1)}
    keep_dims = c.attr("keep_dims")
    return [tuple(1 if d in gone else int(n) for d, n in enumerate(sizes) if keep_dims or d not in gone)]


def _sum_gradient(op, grad):
    indices, _, sizes, axes = op.inputs
    kept = reduced_shape(sizes, axes)
    grad = reshape(grad, kept)
    scale = sizes // cast(kept, dtypes.int64)
    return [None, gather_nd(grad, indices // scale), None, None]


def _reduction(name: str, types: str, reduce: np.ufunc, gradient: Any) -> None:
    """The rows of a reduction with a dense result and of the same with a sparse one."""
    text = (
        "(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32, *, keep_dims: bool = False, "
        f"T: {types}) -> "
    )

    def sparse(indices, values, sizes, axes, *, keep_dims):
        return _reduced(reduce, indices, values, sizes, axes, keep_dims)

    def dense(indices, values, sizes, axes, *, keep_dims):
        rows, found, kept = _reduced(reduce, indices, values, sizes, axes, keep_dims)
        output = np.zeros(kept, values.dtype)
        outside = (rows < 0) | (rows >= kept)
        if outside.any():
            raise invalid(f"Index {rows[outside.any(1)][0].tolist()} is outside the shape {kept.tolist()} of the result")
        output[tuple(rows.T)] = found if len(kept) else found.sum(dtype=found.dtype)
        return output

    op(name, text + "(output: T)", shape=_dense_shape, kernel=dense, gradient=gradient, side=HOST, depth=2)
    op(
        name + "Sparse", text + "(output_indices: int64, output_values: T, output_shape: int64)", shape=si.unknown,
        kernel=sparse, gradient=NotDifferentiable(f"1.15 has no gradient of {name}Sparse", raises=True), side=HOST, depth=2,
    )  # fmt: skip


_reduction("SparseReduceSum", "NUMBER", np.add, _sum_gradient)
_reduction("SparseReduceMax", "REAL", np.maximum, NotDifferentiable("1.15 has no gradient of SparseReduceMax", raises=True))


# ---- SparseSoftmax ----


def _softmax_shape(c):
    with_part_ranks(c, 0)
    return [si.with_rank(c.inputs[1], 1)]


def _softmax_gradient(op, grad):
    indices, _, sizes = op.inputs
    found = op.outputs[0]
    product = SparseTensor(indices, found * grad, sizes)
    total = sparse_reduce_sum(product, [-1], keepdims=True)
    return [None, raw.SparseDenseCwiseAdd(indices, grad, sizes, -total) * found, None]


@op(
    "SparseSoftmax", "(sp_indices: int64, sp_values: T, sp_shape: int64, *, T: {float32, float64}) -> (output: T)",
    shape=_softmax_shape, gradient=_softmax_gradient, side=HOST,
)  # fmt: skip
def _sparse_softmax(indices, values, sizes):
    check_tensor(indices, values, sizes)
    if len(sizes) < 2:
        raise invalid(f"Input should have rank >= 2, but received shape: {', '.join(map(str, sizes))}")
    keys = row_keys(indices[:, :-1])[0]
    order = np.argsort(keys, kind="stable")
    starts, group = groups(keys[order])
    if not len(starts):
        return values
    sorted_values = values[order]
    powers = np.exp(sorted_values - np.maximum.reduceat(sorted_values, starts)[group])
    output = np.empty_like(values)
    output[order] = powers / np.add.reduceat(powers, starts)[group]
    return output


@export("sparse.softmax", "sparse_softmax")
def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Softmax over the stored elements of each row (the last dimension) of a SparseTensor.

    Args:
      sp_input: SparseTensor of rank 2 or more, float32 or float64.
      name: name of the scope of the node.
    """
    with name_scope(name, "SparseSoftmax", [sp_input.indices, sp_input.values]):
        values = raw.SparseSoftmax(sp_input.indices, sp_input.values, sp_input.dense_shape)
        return SparseTensor(sp_input.indices, values, sp_input.dense_shape)


# ---- public functions ----


def _all_axes(sp_input: SparseTensor, axis: object) -> Any:
    """`axis`, or where it is None a Tensor of all dimensions."""
    if axis is not None:
        return axis
    sizes = sp_input.dense_shape._sizes
    if sizes is None or None in sizes:
        return arange(0, rank(sp_input))
    return constant(np.arange(sizes[0]), dtype=dtypes.int32)


def _call(apply: Callable, sp_input: object, axis: object, keepdims: object, reduction_axes: object, keep_dims: object) -> Any:
    keepdims = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    if axis is not None and reduction_axes is not None:
        raise ValueError("Can't specify both axis' and 'reduction_indices'.")
    sp_input = as_sparse(sp_input)
    axes = _all_axes(sp_input, reduction_axes if axis is None else axis)
    return apply(*sp_input._to_components(), axes, keep_dims=bool(keepdims))


@export("sparse.reduce_sum", "sparse_reduce_sum")
def sparse_reduce_sum(
    sp_input: object, axis: object = None, keepdims: bool | None = None, reduction_axes: object = None, keep_dims: bool | None = None
) -> Tensor:
    """The sum of the elements of a SparseTensor along dimensions, as a Tensor.

    Args:
      sp_input: SparseTensor of a number type.
      axis: int or list or int32 Tensor, the dimensions; None for all.
      keepdims: whether reduced dimensions stay with size 1.
      reduction_axes, keep_dims: older names of `axis` and `keepdims`.
    """
    return _call(raw.SparseReduceSum, sp_input, axis, keepdims, reduction_axes, keep_dims)


@export("sparse.reduce_max", "sparse_reduce_max")
def sparse_reduce_max(
    sp_input: object, axis: object = None, keepdims: bool | None = None, reduction_axes: object = None, keep_dims: bool | None = None
) -> Tensor:
    """The largest stored elements of a SparseTensor along dimensions, as a Tensor; 0 where there is none.

    The arguments are those of `tf.sparse.reduce_sum`.
    """
    return _call(raw.SparseReduceMax, sp_input, axis, keepdims, reduction_axes, keep_dims)


@export("sparse.reduce_sum_sparse", "sparse_reduce_sum_sparse")
def sparse_reduce_sum_sparse(
    sp_input: object, axis: object = None, keepdims: bool | None = None, reduction_axes: object = None, keep_dims: bool | None = None
) -> SparseTensor:
    """`tf.sparse.reduce_sum` with a SparseTensor as result."""
    return SparseTensor(*_call(raw.SparseReduceSumSparse, sp_input, axis, keepdims, reduction_axes, keep_dims))


@export("sparse.reduce_max_sparse", "sparse_reduce_max_sparse")
def sparse_reduce_max_sparse(
    sp_input: object, axis: object = None, keepdims: bool | None = None, reduction_axes: object = None, keep_dims: bool | None = None
) -> SparseTensor:
    """`tf.sparse.reduce_max` with a SparseTensor as result."""
    return SparseTensor(*_call(raw.SparseReduceMaxSparse, sp_input, axis, keepdims, reduction_axes, keep_dims))


@export("compat.v2.sparse.reduce_sum")
def sparse_reduce_sum_v2(
    sp_input: object, axis: object = None, keepdims: bool | None = None, output_is_sparse: bool = False, name: str | None = None
) -> Any:
    """`tf.sparse.reduce_sum`, whose result is a SparseTensor where `output_is_sparse`; `name` is the node's."""
    if output_is_sparse:
        return SparseTensor(*_call(functools.partial(raw.SparseReduceSumSparse, name=name), sp_input, axis, keepdims, None, None))
    return _call(functools.partial(raw.SparseReduceSum, name=name), sp_input, axis, keepdims, None, None)


@export("compat.v2.sparse.reduce_max")
def sparse_reduce_max_v2(
    sp_input: object, axis: object = None, keepdims: bool | None = None, output_is_sparse: bool = False, name: str | None = None
) -> Any:
    """`tf.sparse.reduce_max`, whose result is a SparseTensor where `output_is_sparse`; `name` is the node's."""
    if output_is_sparse:
        return SparseTensor(*_call(functools.partial(raw.SparseReduceMaxSparse, name=name), sp_input, axis, keepdims, None, None))
    return _call(functools.partial(raw.SparseReduceMax, name=name), sp_input, axis, keepdims, None, None)
