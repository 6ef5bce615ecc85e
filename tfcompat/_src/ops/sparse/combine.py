"""Two or more sparse tensors made one: sums, larger and smaller elements, concatenation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.constant_value import constant_value_as_shape
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor, SparseTensorValue
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import broadcast_static_shape, invalid, reshape
from tfcompat._src.ops.math.reduce import reduce_max
from tfcompat._src.ops.sparse.parts import (
    all_sparse,
    as_sparse,
    check_parts,
    check_tensor,
    merged,
    row_keys,
    row_order,
    with_part_ranks,
)

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _check_same_sizes(a: np.ndarray, b: np.ndarray) -> None:
    if len(a) != len(b):
        shapes = " and ".join(shape_text(tuple(int(n) for n in s)) for s in (a, b))
        raise invalid(f"Operands do not have the same ranks; got shapes: {shapes}")
    for i, (m, n) in enumerate(zip(a, b)):
        if m != n:
            raise invalid(f"Operands' shapes do not match: got {m} and {n} for dimension {i}")


def _positions(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The positions of two sparse tensors in order, and the place of each one's rows among them.

    Where rows of one are out of order or repeated, the two are merged as they stand.
    """
    keys_a, keys_b = row_keys(a, b)
    if any((keys[1:] <= keys[:-1]).any() for keys in (keys_a, keys_b)):
        pairs = merged(keys_a.tolist(), keys_b.tolist())
        in_a, in_b = (np.array([k for k, pair in enumerate(pairs) if pair[side] is not None], np.int64) for side in (0, 1))
        rows = np.empty((len(pairs), a.shape[1]), a.dtype)
        rows[in_a], rows[in_b] = a, b
        return rows, in_a, in_b
    rows = np.concatenate((a, b))
    _, first, places = np.unique(np.concatenate((keys_a, keys_b)), return_index=True, return_inverse=True)
    places = places.reshape(-1)
    return rows[first], places[: len(a)], places[len(a) :]


def _spread(values: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
    """`values` at `places` of a vector of zeros; values of one place are added."""
    found = np.zeros(count, values.dtype)
    np.add.at(found, places, values)
    return found


# ---- SparseAdd ----


def _add_shape(c):
    sizes = si.with_rank(c.inputs[2], 1)
    return [(None, sizes[0]), (None,), sizes]


def _add_gradient(op, _, grad, __):
    a, b = raw.SparseAddGrad(grad, op.inputs[0], op.inputs[3], op.outputs[0])
    a.set_shape(op.inputs[1].shape)
    b.set_shape(op.inputs[4].shape)
    return [None, a, None, None, b, None, None]


@op(
    "SparseAdd",
    "(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64, thresh: Treal, *, "
    "T: NUMBER, Treal: REAL) -> (sum_indices: int64, sum_values: T, sum_shape: int64)",
    shape=_add_shape, gradient=_add_gradient, side=HOST,
)  # fmt: skip
def _sparse_add(a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh):
    check_parts(a_indices, a_values, a_shape, "Left")
    check_parts(b_indices, b_values, b_shape, "Right")
    _check_same_sizes(a_shape, b_shape)
    if thresh.ndim:
        raise invalid(f"The magnitude threshold must be a scalar: got shape {shape_text(thresh.shape)}")
    rows, in_a, in_b = _positions(a_indices, b_indices)
    total = _spread(a_values, in_a, len(rows)) + _spread(b_values, in_b, len(rows))
    in_both = np.isin(np.arange(len(rows)), in_a) & np.isin(np.arange(len(rows)), in_b)
    kept = ~in_both | (np.abs(total) >= thresh)
    return rows[kept], total[kept], a_shape


def _add_grad_shape(c):
    return [si.with_rank(c.inputs[1], 2)[:1], si.with_rank(c.inputs[2], 2)[:1]]


@op(
    "SparseAddGrad",
    "(backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64, *, T: NUMBER) -> "
    "(a_val_grad: T, b_val_grad: T)",
    shape=_add_grad_shape, gradient=NotDifferentiable("1.15 has no second gradient of SparseAdd"), side=HOST,
)  # fmt: skip
def _sparse_add_grad(grad, a_indices, b_indices, sum_indices):
    if grad.ndim != 1 or any(t.ndim != 2 for t in (a_indices, b_indices, sum_indices)):
        raise invalid("Input backprop_val_grad should be a vector and the indices matrices")
    if len(grad) != len(sum_indices):
        raise invalid(f"# elements of backprop_val_grad and # rows of sum_indices should match (#nnz of sum): got {len(grad)} and {len(sum_indices)}")
    if not a_indices.shape[1] == b_indices.shape[1] == sum_indices.shape[1]:
        raise invalid("The densified operands should have the same ndims")
    return tuple(_picked(grad, sum_indices, rows) for rows in (a_indices, b_indices))


def _picked(values: np.ndarray, positions: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """For each wanted position its value, or zero where `positions` lacks it."""
    keys, asked = row_keys(positions, wanted)
    if not len(keys):
        return np.zeros(len(asked), values.dtype)
    order = np.argsort(keys, kind="stable")
    place = order[np.minimum(np.searchsorted(keys, asked, sorter=order), len(keys) - 1)]
    return np.where(keys[place] == asked, values[place], np.zeros((), values.dtype))


# ---- SparseSliceGrad: both lists are in order, and are walked through together ----


@op(
    "SparseSliceGrad",
    "(backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64, *, T: NUMBER) -> (val_grad: T)",
    shape=lambda c: [si.with_rank(c.inputs[1], 2)[:1]],
    gradient=NotDifferentiable("1.15 has no second gradient of SparseSlice", raises=True), side=HOST,
)  # fmt: skip
def _sparse_slice_grad(grad, input_indices, input_start, output_indices):
    if grad.ndim != 1 or input_indices.ndim != 2 or output_indices.ndim != 2 or input_start.ndim != 1:
        raise invalid(
            "Input indices and output_indices should be matrices, backprop_val_grad and input_start vectors, but received "
            f"shapes: {shape_text(input_indices.shape)}, {shape_text(output_indices.shape)}, {shape_text(grad.shape)} and "
            f"{shape_text(input_start.shape)}"
        )
    if input_indices.shape[1] != output_indices.shape[1] or len(input_start) != input_indices.shape[1]:
        raise invalid(
            "The input and output should have the same ndims, as should input_start: got "
            f"{input_indices.shape[1]}, {output_indices.shape[1]} and {len(input_start)}"
        )
    if len(grad) != len(output_indices):
        raise invalid(
            f"# elements of backprop_val_grad and # rows of output_indices should match (#nnz of sum): got {len(grad)} and "
            f"{len(output_indices)}"
        )
    if len(input_indices) < len(output_indices):
        raise invalid(
            f"# rows of output_indices should be not greater than of input_indices, got {len(output_indices)} and {len(input_indices)}"
        )
    found, used = np.zeros(len(input_indices), grad.dtype), 0
    wanted, given = (keys.tolist() for keys in row_keys(output_indices + input_start, input_indices))
    for i, key in enumerate(given):
        if used < len(wanted) and key == wanted[used]:
            found[i] = grad[used]
            used += 1
    if used < len(grad):
        raise errors.InternalError(
            None, None, f"Elements of backprop_val_grad aren't all propagated. Num elements:{len(grad)}, used: {used}"
        )
    return found


# ---- SparseSparseMaximum, SparseSparseMinimum ----


def _extreme_shape(c):
    with_part_ranks(c, 0, 3)
    return [(None, None), (None,)]


def _extreme(name: str, types: str, choose: Any) -> None:
    def kernel(a_indices, a_values, a_shape, b_indices, b_values, b_shape):
        check_parts(a_indices, a_values, a_shape, "Left")
        check_parts(b_indices, b_values, b_shape, "Right")
        _check_same_sizes(a_shape, b_shape)
        rows, in_a, in_b = _positions(a_indices, b_indices)
        return rows, choose(_spread(a_values, in_a, len(rows)), _spread(b_values, in_b, len(rows)))

    def gradient(op, *grads):
        raise NotImplementedError(f"Gradient for {name} is currently not implemented yet.")

    op(
        name,
        "(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64, *, "
        f"T: {types}) -> (output_indices: int64, output_values: T)",
        shape=_extreme_shape, kernel=kernel, gradient=gradient, side=HOST, depth=2,
    )  # fmt: skip


_extreme("SparseSparseMaximum", "REAL", np.maximum)
_extreme("SparseSparseMinimum", "NUMBER", np.minimum)


# ---- SparseConcat ----


def _concat_shape(c):
    n = len(c.inputs) // 3
    count, rank, sizes = 0, None, None
    for indices, values, part in zip(c.inputs[:n], c.inputs[n : 2 * n], c.inputs[2 * n :]):
        indices, values = si.with_rank(indices, 2), si.with_rank(values, 1)
        sizes = si.merge(sizes, si.with_rank(part, 1))
        count = si.add_sizes(count, si.merge_size(indices[0], values[0]))
        rank = si.merge_size(rank, indices[1])
    return [(count, rank), (count,), sizes]


@op(
    "SparseConcat",
    "(indices: N*int64, values: N*T, shapes: N*int64, *, concat_dim: int, N: int >= 2, T: type) -> "
    "(output_indices: int64, output_values: T, output_shape: int64)",
    shape=_concat_shape, gradient=NotDifferentiable("1.15 lets no gradient through SparseConcat"), side=HOST,
)  # fmt: skip
def _sparse_concat(indices, values, shapes, *, concat_dim):
    for parts in zip(indices, values, shapes):
        check_tensor(*parts)
    first = shapes[0]
    axis = concat_dim + len(first) if concat_dim < 0 else concat_dim
    if not 0 <= axis < len(first):
        raise invalid(f"Concat dimension must be in range [{-len(first)}, {len(first)}), got {concat_dim}")
    for i, sizes in enumerate(shapes[1:], 1):
        if len(sizes) != len(first):
            raise invalid(f"Ranks of all input tensors must match: expected {len(first)} but got {len(sizes)} at position {i}")
        for d, (wanted, got) in enumerate(zip(first, sizes)):
            if d != axis and wanted != got:
                raise invalid(f"Input shapes must match: expected {wanted} for dimension {d} but got {got} at position {i}")
    starts = np.cumsum([0] + [int(s[axis]) for s in shapes])
    moved = [rows.copy() for rows in indices]
    for rows, start in zip(moved, starts):
        rows[:, axis] += start
    rows, sizes = np.concatenate(moved), first.copy()
    sizes[axis] = starts[-1]
    order = row_order(rows)
    return rows[order], np.concatenate(values)[order], sizes


# ---- public functions ----


@export("sparse.add", "sparse_add")
def sparse_add(a: object, b: object, threshold: TensorLike | None = None, thresh: object = None) -> SparseTensor | Tensor:
    """The sum of two tensors of which one or both are sparse.

    Args:
      a, b: Tensor, SparseTensor or SparseTensorValue of one dtype and shape; at least one is sparse.
      threshold: real scalar, by default 0; sums of two stored elements of a smaller magnitude are left out.
      thresh: an older name of `threshold`.

    Returns:
      a SparseTensor where both are sparse, else a Tensor.

    Raises:
      TypeError: neither is sparse. ValueError: static shapes differ, or the threshold is given twice.
    """
    threshold = deprecated_argument_lookup("threshold", threshold, "thresh", thresh)
    threshold = 0 if threshold is None else threshold
    kinds = (SparseTensor, SparseTensorValue)
    if not isinstance(a, kinds) and not isinstance(b, kinds):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if isinstance(a, kinds) and isinstance(b, kinds):
        a, b = as_sparse(a), as_sparse(b)
        threshold = convert_to_tensor(threshold, dtype=a.values.dtype.real_dtype.base_dtype, name="threshold")
        found = raw.SparseAdd(a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, threshold)
        a.shape.assert_is_compatible_with(b.shape)
        static = broadcast_static_shape(a.shape, b.shape)
        return SparseTensor(*found[:2], static.as_list() if static.is_fully_defined() else found[2])
    sparse, dense = (a, b) if isinstance(a, kinds) else (b, a)
    return raw.SparseTensorDenseAdd(*as_sparse(sparse)._to_components(), dense)


@export("sparse.maximum", "sparse_maximum")
def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The larger elements of two SparseTensors of one shape; an element that one lacks is zero there."""
    with name_scope(name, "SparseSparseMaximum", [sp_a.indices, sp_a.values, sp_b.indices, sp_b.values]) as scope:
        found = _extremes(raw.SparseSparseMaximum, sp_a, sp_b, scope)
    return SparseTensor(*found, sp_a.dense_shape)


@export("sparse.minimum", "sparse_minimum")
def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The smaller elements of two SparseTensors of one shape; an element that one lacks is zero there."""
    with name_scope(name, "SparseSparseMinimum", [sp_a.indices, sp_a.values, sp_b.indices, sp_b.values]) as scope:
        found = _extremes(raw.SparseSparseMinimum, sp_a, sp_b, scope)
    return SparseTensor(*found, sp_a.dense_shape)


def _extremes(apply: Any, sp_a: Any, sp_b: Any, scope: str) -> tuple:
    parts = (sp_a.indices, sp_a.values, sp_a.dense_shape, sp_b.indices, sp_b.values, sp_b.dense_shape)
    return apply(*parts, name=scope)


@export("sparse.concat", "sparse_concat")
def sparse_concat(
    axis: Any, sp_inputs: object, name: str | None = None, expand_nonconcat_dim: bool = False, concat_dim: object = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """SparseTensors of one rank, put side by side along one dimension.

    Args:
      axis: int, the dimension, in [-rank, rank).
      sp_inputs: list of SparseTensors or SparseTensorValues.
      name: node name.
      expand_nonconcat_dim: whether the other dimensions may differ; the result has the largest of each.
      concat_dim, expand_nonconcat_dims: older names of `axis` and `expand_nonconcat_dim`.

    Raises:
      TypeError: an input is not sparse.
    """
    if expand_nonconcat_dims is not None:
        if expand_nonconcat_dim:
            raise ValueError("Cannot specify both 'expand_nonconcat_dims' and 'expand_nonconcat_dim'")
        expand_nonconcat_dim = expand_nonconcat_dims
    axis = deprecated_argument_lookup("axis", axis, "concat_dim", concat_dim)
    inputs = all_sparse(sp_inputs)
    if len(inputs) == 1:
        return inputs[0]
    sizes = [sp.dense_shape for sp in inputs]
    if expand_nonconcat_dim:
        sizes = _widened(sizes, axis)
    found = raw.SparseConcat(
        [sp.indices for sp in inputs], [sp.values for sp in inputs], sizes, concat_dim=axis, name=name
    )
    static = [constant_value_as_shape(s) for s in sizes]
    if not all(s.is_fully_defined() for s in static):
        return SparseTensor(*found)
    total = static[0].as_list()
    total[axis] = sum(s.as_list()[axis] for s in static)
    return SparseTensor(*found[:2], constant(total, dtypes.int64))


def _widened(sizes: list[Tensor], axis: int) -> list[Tensor]:
    """The sizes of each tensor, with the largest of all in each dimension but `axis`."""
    largest = reduce_max(concat([reshape(s, [1, -1]) for s in sizes], 0), 0)
    end = axis + 1 if axis != -1 else None
    return [concat([largest[:axis], s[axis:end], [] if end is None else largest[end:]], 0) for s in sizes]
