"""Writing at positions: scatter_nd and tensor_scatter_*."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.gather import require_index_rows
from tfcompat._src.ops.array.shape import invalid

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _part(sizes: Any, start: int, stop: int | None = None) -> Any:
    return None if sizes is None else sizes[start:stop]


def _scatter_sizes(output: Any, indices: Any, updates: Any, what: str) -> list:
    """The shape of the output, checked against those of the indices and updates."""
    indices, updates = si.with_rank_at_least(indices, 1), si.with_rank_at_least(updates, 1)
    if si.num_elements(output) == 0 and ((si.num_elements(indices) or 0) > 0 or (si.num_elements(updates) or 0) > 0):
        raise ValueError("Indices and updates specified for empty output shape")
    if indices is None or updates is None or indices[-1] is None:
        return [output]
    outer, depth = len(indices) - 1, indices[-1]
    try:
        si.merge(indices[:outer], updates[:outer])
    except ValueError as e:
        raise ValueError(
            f"The outer {outer} dimensions of indices.shape={shape_text(indices)} must match the outer {outer} "
            "dimensions of "
            f"updates.shape={shape_text(updates)}: {e}"
        ) from None
    try:
        si.merge(_part(output, depth), updates[outer:])
    except ValueError as e:
        raise ValueError(
            f"The inner {len(output) - depth} dimensions of {what}.shape={shape_text(output)} must match the inner "
            f"{len(updates) - outer} dimensions of updates.shape={shape_text(updates)}: {e}"
        ) from None
    return [output]


def check_scatter(sizes: tuple, indices: Any, updates: Any) -> None:
    """InvalidArgumentError where shapes do not fit or an index is out of range."""
    outer, depth = indices.ndim - 1, indices.shape[-1]
    if updates.shape[:outer] != indices.shape[:outer]:
        raise invalid(
            "Outer dimensions of indices and update must match. "
            f"Indices shape: {shape_text(tuple(indices.shape))}, updates shape:{shape_text(tuple(updates.shape))}"
        )
    if depth > len(sizes) or tuple(updates.shape[outer:]) != tuple(sizes[depth:]):
        raise invalid(
            f"Inner dimensions of output shape must match inner dimensions of updates shape. Output: "
            f"{shape_text(tuple(sizes))} "
            f"updates: {shape_text(tuple(updates.shape))}"
        )
    require_index_rows(indices, tuple(sizes), f"shape {shape_text(tuple(sizes))}")


def scatter(combine: Any, target: Any, indices: Any, updates: Any) -> Any:
    """`target` with `updates` written or added (`combine` is lax.scatter or lax.scatter_add) at rows of `indices`."""
    check_scatter(target.shape, indices, updates)
    outer, depth = indices.ndim - 1, indices.shape[-1]
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(outer, updates.ndim)), inserted_window_dims=tuple(range(depth)),
        scatter_dims_to_operand_dims=tuple(range(depth)),
    )  # fmt: skip
    return combine(
        jnp.asarray(target),
        jnp.asarray(indices),
        jnp.asarray(updates),
        numbers,
        mode=lax.GatherScatterMode.FILL_OR_DROP,
    )


def _output_sizes(shape: Any, indices: Any, updates: Any) -> tuple[int, ...]:
    sizes = tuple(int(s) for s in shape)
    for size in sizes:
        if size < 0:
            raise invalid(f"Dimension {size} must be >= 0")
    if 0 in sizes and (indices.size or updates.size):
        raise invalid(
            f"Indices and updates specified for empty output.  indices shape: {shape_text(tuple(indices.shape))}"
        )
    return sizes


def _scatter_numpy(combine: Any, target: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
    """`target` with `updates` combined by a ufunc's `at`, or written, at rows of `indices`; texts are appended."""
    check_scatter(target.shape, indices, updates)
    found, places = np.array(target), tuple(np.moveaxis(indices, -1, 0))
    if combine is None:
        found[places] = updates
    else:
        combine.at(found, places, updates)
    return found


def _scatter_nd_numpy(indices, updates, shape):
    nothing = b"" if updates.dtype == object else 0
    zeros = np.full(_output_sizes(shape, indices, updates), nothing, updates.dtype)
    return _scatter_numpy(np.add, zeros, indices, updates)


def _scatter_nd_gradient(op, grad):
    return [None, raw.GatherNd(grad, op.inputs[0]), None]


@op(
    "ScatterNd", "(indices: Tindices, updates: T, shape: Tindices, *, T: type, Tindices: INDEX) -> (output: T)",
    shape=lambda c: _scatter_sizes(c.shape_value(2), c.inputs[0], c.inputs[1], "output"), gradient=_scatter_nd_gradient,
    constants=("shape",), fold=_scatter_nd_numpy,
)  # fmt: skip
def _scatter_nd(indices, updates, shape):
    sizes = _output_sizes(shape, indices, updates)
    if updates.dtype == bool:
        return scatter(
            lax.scatter_max, jnp.zeros(sizes, np.uint8), indices, jnp.asarray(updates).astype(np.uint8)
        ).astype(bool)
    return scatter(lax.scatter_add, jnp.zeros(sizes, updates.dtype), indices, updates)


def _written_gradient(op, grad):
    of_updates = raw.GatherNd(grad, op.inputs[1])
    of_tensor = raw.Identity(grad)
    nothing = zeros_like(op.inputs[2], dtype=grad.dtype)
    return [raw.TensorScatterUpdate(of_tensor, op.inputs[1], nothing), None, of_updates]


def _added_gradient(op, grad):
    of_updates = raw.GatherNd(grad, op.inputs[1])
    return [raw.Identity(grad), None, of_updates]


def _subtracted_gradient(op, grad):
    of_updates = raw.GatherNd(grad, op.inputs[1])
    return [raw.Identity(grad), None, -of_updates]


def _tensor_scatter(name: str, kernel: Any, numpy_combine: Any, gradient: Any) -> None:
    op(
        name, "(tensor: T, indices: Tindices, updates: T, *, T: type, Tindices: INDEX) -> (output: T)",
        shape=lambda c: _scatter_sizes(si.with_rank_at_least(c.inputs[0], 1), c.inputs[1], c.inputs[2], "output"),
        gradient=gradient, kernel=kernel, fold=functools.partial(_scatter_numpy, numpy_combine), depth=2,
    )  # fmt: skip


def _written(tensor, indices, updates):
    return scatter(lax.scatter, tensor, indices, updates)


def _added(tensor, indices, updates):
    return scatter(lax.scatter_add, tensor, indices, updates)


def _subtracted(tensor, indices, updates):
    return scatter(lax.scatter_sub, tensor, indices, updates)


_tensor_scatter("TensorScatterUpdate", _written, None, _written_gradient)
_tensor_scatter("TensorScatterAdd", _added, np.add, _added_gradient)
_tensor_scatter("TensorScatterSub", _subtracted, np.subtract, _subtracted_gradient)

op(
    "ScatterNdNonAliasingAdd",
    "(input: T, indices: Tindices, updates: T, *, T: {float32, float64, int32, uint8, int16, int8, complex64, "
    "int64, qint8, "
    "quint8, qint32, bfloat16, uint16, complex128, float16, uint32, uint64, bool}, Tindices: INDEX) -> (output: T)",
    shape=lambda c: _scatter_sizes(c.inputs[0], c.inputs[1], c.inputs[2], "input"),
    gradient=lambda op, grad: [grad, None, raw.GatherNd(grad, op.inputs[1])],
    kernel=_added,
)  # fmt: skip


@export("scatter_nd", "manip.scatter_nd")
def scatter_nd(indices: TensorLike, updates: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """Zeros of `shape` with `updates` added at the positions `indices`.

    Args:
      indices: int [..., k], positions in the first k dimensions.
      updates: [..., shape[k:]].
      shape: shape vector of the result, of the dtype of `indices`.
      name: node name.

    Raises:
      ValueError: the shapes do not fit. InvalidArgumentError: when run, an index is out of range.
    """
    return raw.ScatterNd(indices, updates, shape, name=name)


@export("tensor_scatter_update", "tensor_scatter_nd_update")
def tensor_scatter_update(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
    """`tensor` with `updates` written at the positions `indices`; arguments as in `scatter_nd`."""
    return raw.TensorScatterUpdate(tensor, indices, updates, name=name)


@export("tensor_scatter_add", "tensor_scatter_nd_add")
def tensor_scatter_add(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
    """`tensor` with `updates` added at the positions `indices`; arguments as in `scatter_nd`."""
    return raw.TensorScatterAdd(tensor, indices, updates, name=name)


@export("tensor_scatter_sub", "tensor_scatter_nd_sub")
def tensor_scatter_sub(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None) -> Tensor:
    """`tensor` with `updates` subtracted at the positions `indices`; arguments as in `scatter_nd`."""
    return raw.TensorScatterSub(tensor, indices, updates, name=name)
