"""Products of a sparse tensor and a dense one: with a matrix, and element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks, dispatch, dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.one_call import one_call
from tfcompat._src.base.row_sums import weighted_sums
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import ones, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import invalid, shape, size
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.composed.indexing import gather_nd
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.sparse.parts import as_sparse, check_parts

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation

# ---- SparseTensorDenseMatMul ----


def _matmul_shape(c):
    si.with_rank(c.inputs[0], 2), si.with_rank(c.inputs[1], 1)
    si.with_rank(c.inputs[2], 1)
    a, b = si.with_rank(c.shape_value(2), 2), si.with_rank(c.inputs[3], 2)
    if c.attr("adjoint_a"):
        a = a[::-1]
    if c.attr("adjoint_b"):
        b = b[::-1]
    si.merge_size(a[1], b[0])
    return [(a[0], b[1])]


def _sparse_matmul_numpy(indices, values, sizes, b, *, adjoint_a, adjoint_b):
    dense, rows, columns = _checked_factors(indices, values, sizes, b, adjoint_a, adjoint_b)
    for column, letter in ((columns, "k"), (rows, "m")):
        bad = np.flatnonzero((indices[:, column] < 0) | (indices[:, column] >= sizes[column]))
        if bad.size:
            found = indices[bad[0], column]
            raise invalid(f"{letter} ({found}) from index[{bad[0]},{column}] out of bounds (>={sizes[column]})")
    return weighted_sums(indices[:, rows], indices[:, columns], values, dense, int(sizes[rows]))


def _matmul_gradient(op, grad):
    """Element (i, k) of A meets row i of the gradient and row k of B, with i and k swapped where A is transposed."""
    indices, values, sizes, b = op.inputs
    is_turned, is_b_turned = op.get_attr("adjoint_a"), op.get_attr("adjoint_b")
    if values.dtype.is_complex:
        raise NotImplementedError("SparseTensorDenseMatMul op does not support complex gradients.")
    to_b = raw.SparseTensorDenseMatMul(indices, values, sizes, grad, adjoint_a=not is_turned)
    to_b = transpose(to_b) if is_b_turned else to_b
    rows, columns = indices[:, 0], indices[:, 1]
    of_grad = gather(grad, columns if is_turned else rows)
    of_b = gather(transpose(b) if is_b_turned else b, rows if is_turned else columns)
    return [None, reduce_sum(of_grad * of_b, axis=1), None, to_b]


@op(
    "SparseTensorDenseMatMul",
    "(a_indices: Tindices, a_values: T, a_shape: int64, b: T, *, T: type, Tindices: INDEX = int64, "
    "adjoint_a: bool = False, adjoint_b: bool = False) -> (product: T)",
    shape=_matmul_shape, gradient=_matmul_gradient, constants=("a_shape",), fold=_sparse_matmul_numpy,
    counted=("a_indices", "a_values"),
)  # fmt: skip
def _sparse_matmul(indices, values, sizes, b, *, adjoint_a, adjoint_b):
    dense, rows, columns = _checked_factors(indices, values, sizes, b, adjoint_a, adjoint_b)
    outer, inner = int(sizes[rows]), int(sizes[columns])
    if not indices.shape[0] or not dense.size:
        return jnp.zeros((outer, dense.shape[1]), values.dtype)
    for column, letter, limit in ((columns, "k", inner), (rows, "m", outer)):
        _require_inside(indices, column, letter, limit)
    return _sums_of_products(indices[:, rows], indices[:, columns], values, dense, outer)


def _products_added_in_jax(places: Any, chosen: Any, weights: Any, rows: Any, count: int) -> Any:
    """`weighted_sums` for XLA; an index that `_sparse_matmul` refuses is moved to the last row."""
    # XLA's loop over updates runs a fused product slower than it reads one from memory.
    terms = lax.optimization_barrier(jnp.asarray(weights)[:, None] * jnp.take(rows, chosen, axis=0, mode="clip"))
    return jnp.zeros((count, rows.shape[1]), terms.dtype).at[places].add(terms, mode="drop")


def _products_added_in_numpy(places: Any, chosen: Any, weights: Any, rows: Any, count: int) -> Any:
    """`weighted_sums`; an index that `_sparse_matmul` refuses is moved to the nearest row."""
    # Padding stands at the end.
    count_given = len(places) - int(np.argmax(places[::-1] != checks.no_row(places.dtype)))
    places, chosen, weights = places[:count_given], chosen[:count_given], weights[:count_given]
    if not checks.all_inside(chosen, len(rows)):
        chosen = np.clip(chosen, 0, len(rows) - 1)
    return weighted_sums(places, chosen, weights, rows, count)


_sums_of_products = one_call(_products_added_in_jax, _products_added_in_numpy, static=(4,))


def _checked_factors(indices: Any, values: Any, sizes: Any, b: Any, adjoint_a: bool, adjoint_b: bool) -> tuple[Any, int, int]:
    """The dense factor as it is multiplied, and which columns of `indices` are rows and columns of the sparse one."""
    if b.ndim != 2:
        raise invalid("Tensor 'b' is not a matrix")
    if sizes.shape != (2,):
        raise invalid(f"Tensor 'a_shape' must have 2 elements, got shape {shape_text(sizes.shape)}")
    if values.ndim != 1:
        raise invalid("Tensor 'a_values' is not a vector")
    if indices.ndim != 2 or indices.shape[1] != 2 or indices.shape[0] != values.shape[0]:
        raise invalid(f"Tensor 'a_indices' is no matrix of {values.shape[0]} rows and 2 columns: {shape_text(indices.shape)}")
    dense = b.T if adjoint_b else b
    if adjoint_b and b.dtype.kind == "c":
        dense = dense.conj()
    rows, columns = (1, 0) if adjoint_a else (0, 1)
    if int(sizes[columns]) != dense.shape[0]:
        raise invalid(
            f"Cannot multiply A and B because inner dimension does not match: {int(sizes[columns])} vs. {dense.shape[0]}.  "
            f"Did you forget a transpose?  Dimensions of A: [{sizes[0]}, {sizes[1]}).  Dimensions of B: {shape_text(b.shape)}"
        )
    return dense, rows, columns


def _require_inside(indices: Any, column: int, letter: str, limit: int) -> None:
    place = indices[:, column]
    # As unsigned numbers, negative places are beyond every limit.
    unsigned = np.dtype(f"u{place.dtype}").type
    number = place.astype(unsigned)
    bad = (number >= unsigned(limit)) & (number != unsigned(checks.no_row(place.dtype) + (1 << 8 * place.dtype.itemsize)))
    at = checks.first(bad)
    text = f"{letter} ({{}}) from index[{{}},{column}] out of bounds (>={limit})"
    checks.require(~bad[at], text, jnp.asarray(place)[at], at)


@export("sparse.matmul", "sparse.sparse_dense_matmul", "sparse_tensor_dense_matmul")
def sparse_tensor_dense_matmul(
    sp_a: object, b: TensorLike, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of a sparse matrix and a dense one.

    Args:
      sp_a: SparseTensor [m, k].
      b: Tensor [k, n] of its dtype.
      adjoint_a: whether the sparse matrix is transposed first; 1.15 does not conjugate it.
      adjoint_b: whether the dense matrix is transposed and conjugated first.
      name: name of the scope of the node.

    Returns:
      a Tensor [m, n].

    Raises:
      TypeError: `sp_a` is not sparse. InvalidArgumentError: when it runs, an index outside the shape.
    """
    sp_a = as_sparse(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [sp_a.indices, sp_a.values, b]):
        b = to_tensor(b, name="b")
        return raw.SparseTensorDenseMatMul(*sp_a._to_components(), b, adjoint_a=adjoint_a, adjoint_b=adjoint_b)


# ---- SparseDenseCwiseAdd, Mul, Div ----


def _divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind in "iu":
        if (y == 0).any():
            raise invalid("Integer division by zero")
        return (np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))).astype(x.dtype)
    with np.errstate(all="ignore"):
        return x / y


def _gradient(partials: Callable) -> Callable:
    """The gradient of an elementwise operation; `partials(grad, x, y)` are those of its stored elements and their partners."""

    def gradient(op: Operation, grad: Tensor) -> list:
        indices, values, sizes, dense = op.inputs
        dense_sizes = cast(shape(dense), dtypes.int64)
        added = raw.ExpandDims(size(sizes) - size(dense_sizes), 0)
        places = indices // (sizes // concat([ones(added, dtypes.int64), dense_sizes], 0))
        places = slice_(places, concat([[0], added], 0), [-1, -1])
        to_values, to_partners = partials(grad, values, gather_nd(dense, places))
        return [None, to_values, None, raw.SparseTensorDenseAdd(places, to_partners, dense_sizes, zeros_like(dense))]

    return gradient


def _no_add_gradient(op, grad):
    raise NotImplementedError("Gradient for SparseDenseCwiseAdd is currently not implemented yet.")


def _elementwise(name: str, function: Callable, gradient: Callable) -> None:
    def kernel(indices, values, sizes, dense):
        check_parts(indices, values, sizes)
        offset = len(sizes) - dense.ndim
        if offset < 0 or any(n not in (1, m) for m, n in zip(sizes[offset:], dense.shape)):
            raise invalid(
                f"{_BROADCAST}{shape_text(tuple(int(n) for n in sizes))} vs. {shape_text(dense.shape)}"
            )
        if ((indices < 0) | (indices >= sizes)).any():
            raise invalid("Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape")
        places = tuple(indices[:, offset + d] if n != 1 else 0 for d, n in enumerate(dense.shape))
        found = dense[places] if places else dense
        return function(values, np.broadcast_to(found, values.shape)).astype(values.dtype)

    op(
        name, "(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T, *, T: NUMBER) -> (output: T)",
        shape=lambda c: [(si.with_rank(c.inputs[0], 2)[0],)], kernel=kernel, gradient=gradient, side=HOST, depth=2,
    )  # fmt: skip


_BROADCAST = "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "

_elementwise("SparseDenseCwiseAdd", np.add, _no_add_gradient)
_elementwise("SparseDenseCwiseMul", np.multiply, _gradient(lambda grad, x, y: (grad * y, grad * x)))
_elementwise("SparseDenseCwiseDiv", _divide, _gradient(lambda grad, x, y: (grad / y, grad * (-x / raw.Square(y)))))


def sparse_dense_cwise_add(sp_t: SparseTensor, dense_t: TensorLike) -> SparseTensor:
    """A SparseTensor with the elements of a Tensor, broadcast to its shape, added to those that it stores."""
    found = raw.SparseDenseCwiseAdd(sp_t.indices, sp_t.values, sp_t.dense_shape, dense_t)
    return SparseTensor(sp_t.indices, found, sp_t.dense_shape)


# ---- operators of SparseTensor ----


def _multiply(indices: TensorLike, x: TensorLike, sizes: TensorLike, y: TensorLike, name: str) -> Tensor:
    return raw.SparseDenseCwiseMul(indices, x, sizes, y, name=name)


def _quotient(indices: TensorLike, x: TensorLike, sizes: TensorLike, y: TensorLike, name: str) -> Tensor:
    return raw.SparseDenseCwiseDiv(indices, x, sizes, y, name=name)


_TRUE_DIVISION = {
    **dict.fromkeys((dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16), dtypes.float32),
    **dict.fromkeys((dtypes.int32, dtypes.int64), dtypes.float64),
}


def _true_quotient(indices: TensorLike, x: Any, sizes: TensorLike, y: Any, name: str) -> Tensor:
    y = to_tensor(y, name="y")
    if x.dtype.base_dtype is not y.dtype.base_dtype:
        raise TypeError(f"x and y must have the same dtype, got {x.dtype!r} != {y.dtype!r}")
    wanted = _TRUE_DIVISION.get(x.dtype.base_dtype)
    if wanted is not None:
        x, y = cast(x, wanted), cast(y, wanted)
    return raw.SparseDenseCwiseDiv(indices, x, sizes, y, name=name)


def _override(operator: str, function: Callable) -> None:
    """Sets `sparse operator dense`, in a name scope called as the operator."""

    def method(sp_x: SparseTensor, y: TensorLike) -> SparseTensor:
        with name_scope(None, operator, [sp_x, y]) as scope:
            y = to_tensor(y, dtype=sp_x.dtype.base_dtype, name="y")
            values = function(sp_x.indices, sp_x.values, sp_x.dense_shape, y, scope)
            return SparseTensor(sp_x.indices, values, sp_x.dense_shape)

    method.__name__ = f"__{operator}__"
    SparseTensor._override_operator(method.__name__, method)


for _operator, _function in (("div", _quotient), ("truediv", _true_quotient), ("mul", _multiply)):
    _override(_operator, _function)


# ---- functions of one value ----


def _add_dispatcher(name: str, function: Callable) -> None:
    if name not in dispatch.SPARSE_UNARY:
        return

    def apply(x: SparseTensor, name: str | None = None) -> SparseTensor:
        return SparseTensor(x.indices, function.__wrapped__(x.values, name=name), x.dense_shape)

    dispatch.TypeDispatcher(apply, (SparseTensor,)).register(function)


dispatch.watch(_add_dispatcher)
