"""SparseTensorDenseAdd: a sparse tensor and a dense one of its shape, added."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tfcompat._src.base import checks, errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import op
from tfcompat._src.nodes import raw


def _gradient(op, grad):
    return [None, raw.GatherNd(grad, op.inputs[0]), None, grad]


@op(
    "SparseTensorDenseAdd",
    "(a_indices: Tindices, a_values: T, a_shape: Tindices, b: T, *, T: NUMBER, Tindices: INDEX) -> (output: T)",
    shape=si.unchanged_from(3), gradient=_gradient,
)  # fmt: skip
def _sparse_tensor_dense_add(indices, values, sizes, dense):
    if sizes.shape != (dense.ndim,) or indices.shape != (values.size, dense.ndim):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Dimensions of the sparse operand do not fit: indices {list(indices.shape)}, values {list(values.shape)}, "
            f"shape of {sizes.size} sizes, for a dense operand of rank {dense.ndim}",
        )
    limits = jnp.array(dense.shape, sizes.dtype)
    at = checks.first(sizes != limits) if dense.ndim else 0
    checks.require(
        jnp.all(sizes == limits),
        "Dimension {} does not equal (no broadcasting is supported): sparse side {} vs dense side {}",
        *((at, jnp.asarray(sizes)[at], limits[at]) if dense.ndim else (0, 0, 0)),
    )
    inside = jnp.all((indices >= 0) & (indices < limits))
    checks.require(inside, "Sparse tensor has an invalid index")
    numbers = lax.ScatterDimensionNumbers((), tuple(range(dense.ndim)), tuple(range(dense.ndim)))
    return lax.scatter_add(
        jnp.asarray(dense), jnp.asarray(indices), jnp.asarray(values), numbers, mode=lax.GatherScatterMode.FILL_OR_DROP
    )
