"""SparseToDense: a dense tensor from positions and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.math.reduce import reduce_sum

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.shape_inference import InferenceContext


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _gradient(op, g):
    indices, sizes, _, _ = op.inputs
    to_values = raw.GatherNd(g, indices)
    to_default = reduce_sum(g) - reduce_sum(to_values)
    return [zeros_like(indices), zeros_like(sizes), to_values, to_default]


def _dense_shape(c: InferenceContext) -> list:
    si.with_rank(c.inputs[1], 1)
    return [c.shape_value(1)]


def _positions(indices: np.ndarray, rank: int) -> np.ndarray:
    """Indices as a matrix of one row per element."""
    if indices.ndim > 2:
        raise _invalid(f"sparse_indices should be a scalar, vector, or matrix, got shape {shape_text(indices.shape)}")
    rows = indices if indices.ndim == 2 else indices.reshape(-1, 1)
    if rows.shape[1] != rank:
        raise _invalid(f"output_shape has incorrect number of elements: {rank} should be: {rows.shape[1]}")
    return rows


def _check_positions(rows: np.ndarray, sizes: tuple, ordered: bool) -> None:
    outside = np.flatnonzero(((rows < 0) | (rows >= np.array(sizes))).any(1))
    if outside.size:
        i = outside[0]
        raise _invalid(f"indices[{i}] = {shape_text(rows[i])} is out of bounds: need 0 <= index < {shape_text(sizes)}")
    if not ordered or len(rows) < 2:
        return
    flat = np.ravel_multi_index(rows.T, sizes)
    wrong = np.flatnonzero(np.diff(flat) <= 0)
    if wrong.size:
        i = wrong[0] + 1
        what = "repeated" if flat[i] == flat[i - 1] else "out of order. Many sparse ops require sorted indices."
        raise _invalid(f"indices[{i}] = {shape_text(rows[i])} is {what}")


@op(
    "SparseToDense",
    "(sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T, *, "
    "validate_indices: bool = True, T: type, Tindices: INDEX) -> (dense: T)",
    shape=_dense_shape, gradient=_gradient, fold=True, side=HOST,
)  # fmt: skip
def _sparse_to_dense(indices, output_shape, values, default_value, *, validate_indices):
    if output_shape.ndim != 1:
        raise _invalid(f"output_shape should be a vector, got shape {shape_text(output_shape.shape)}")
    sizes = tuple(int(n) for n in output_shape)
    rows = _positions(indices, len(sizes))
    if values.ndim > 1 or values.ndim == 1 and len(values) != len(rows):
        raise _invalid(f"sparse_values has incorrect shape {shape_text(values.shape)}, should be [] or [{len(rows)}]")
    if default_value.ndim:
        raise _invalid("default_value should be a scalar.")
    _check_positions(rows, sizes, validate_indices)
    dense = np.full(sizes, default_value, values.dtype)
    dense[tuple(rows.T)] = values
    return dense


@export("sparse_to_dense")
def sparse_to_dense(
    sparse_indices: TensorLike, output_shape: TensorLike, sparse_values: TensorLike, default_value: TensorLike = 0, validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A tensor that holds `sparse_values` at `sparse_indices` and `default_value` elsewhere.

    Args:
      sparse_indices: int32 or int64 scalar, vector [n] or matrix [n, rank].
      output_shape: vector of the same dtype, the shape of the result.
      sparse_values: vector [n], or a scalar for all positions.
      default_value: scalar of its dtype.
      validate_indices: whether indices must rise in row-major order without repeats.
      name: node name.

    Raises:
      InvalidArgumentError: when it runs, an index outside the shape, or one that does not rise.
    """
    return raw.SparseToDense(
        sparse_indices, output_shape, sparse_values, default_value, validate_indices=validate_indices, name=name
    )
