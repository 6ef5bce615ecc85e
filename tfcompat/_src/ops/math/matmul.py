"""Matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import COSTLY, op
from tfcompat._src.graph.scopes import executing_eagerly, name_scope
from tfcompat._src.graph.shape_inference import broadcast, merge, merge_size, with_rank, with_rank_at_least
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.math.binary import full
from tfcompat._src.ops.math.broadcast_gradient import sum_batch_to_shape
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.complex import conj

if TYPE_CHECKING:
    from tfcompat._src.graph.shape_inference import InferenceContext
    from tfcompat._src.graph.tensor import Tensor

_TYPES = "{bfloat16, float16, float32, float64, int32, int64, complex64, complex128}"


# ---- MatMul ----


def _matmul_shape(c: InferenceContext) -> list:
    a, b = with_rank(c.inputs[0], 2), with_rank(c.inputs[1], 2)
    if c.attr("transpose_a"):
        a = a[::-1]
    if c.attr("transpose_b"):
        b = b[::-1]
    merge_size(a[1], b[0])
    return [(a[0], b[1])]


def _product_grads(apply: Any, op: Any, g: object, transposes: tuple[str, str]) -> list:
    """The gradients of a product of two matrices, each perhaps transposed, as two products."""
    ta, tb = (op.get_attr(t) for t in transposes)
    a, b = op.inputs
    first, second = transposes

    def product(x: Any, y: Any, tx: bool, ty: bool) -> Any:
        return apply(x, y, **{first: tx, second: ty})

    ga = product(b, g, tb, True) if ta else product(g, b, False, not tb)
    gb = product(g, a, True, ta) if tb else product(a, g, not ta, False)
    return [ga, gb]


class _Conjugated:
    """A product node whose inputs are seen conjugated."""

    def __init__(self, op: Any) -> None:
        self.inputs = [conj(t) for t in op.inputs]
        self.get_attr = op.get_attr


def _matmul_grad(op: Any, g: Any) -> list:
    return _product_grads(raw.MatMul, _Conjugated(op), g, ("transpose_a", "transpose_b"))


def _near_matmul(a: Any, b: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    return np.matmul(a.T if transpose_a else a, b.T if transpose_b else b)


def _near_batch_matmul(x: Any, y: Any, *, adj_x: bool, adj_y: bool) -> Any:
    return np.matmul(np.swapaxes(x, -1, -2) if adj_x else x, np.swapaxes(y, -1, -2) if adj_y else y)


@op("MatMul", f"(a: T, b: T, *, transpose_a: bool = False, transpose_b: bool = False, T: {_TYPES}) -> (product: T)",
    shape=_matmul_shape, exact=True, gradient=_matmul_grad, near=_near_matmul, facts=COSTLY)  # fmt: skip
def _matmul(a, b, *, transpose_a, transpose_b):
    for i, x in enumerate((a, b)):
        if x.ndim != 2:
            raise errors.InvalidArgumentError(None, None, f"In[{i}] is not a matrix. Instead it has shape {shape_text(x.shape)}")
    if a.shape[0 if transpose_a else 1] != b.shape[1 if transpose_b else 0]:
        raise errors.InvalidArgumentError(
            None, None, f"Matrix size-incompatible: In[0]: {shape_text(a.shape)}, In[1]: {shape_text(b.shape)}"
        )
    return lax.dot_general(a, b, (((0 if transpose_a else 1,), (1 if transpose_b else 0,)), ((), ())))


# ---- BatchMatMul ----


def _batch_matmul_shape(c: Any) -> list:
    return [_batch_product(c, merge)]


def _batch_matmul_v2_shape(c: Any) -> list:
    return [_batch_product(c, broadcast)]


def _batch_product(c: InferenceContext, combine: Any) -> Any:
    x, y = with_rank_at_least(c.inputs[0], 2), with_rank_at_least(c.inputs[1], 2)
    rows, inner_x = _matrix_sizes(x, c.attr("adj_x"))
    inner_y, columns = _matrix_sizes(y, c.attr("adj_y"))
    merge_size(inner_x, inner_y)
    if combine is merge and x is None and y is None or combine is broadcast and (x is None or y is None):
        return None
    batch = combine(None if x is None else x[:-2], None if y is None else y[:-2])
    return None if batch is None else batch + (rows, columns)


def _matrix_sizes(sizes: Any, transposed: bool) -> tuple:
    if sizes is None:
        return (None, None)
    return sizes[:-3:-1] if transposed else sizes[-2:]


def _batch_matmul(x, y, *, adj_x, adj_y):
    if adj_x and x.dtype.kind == "c":
        x = lax.conj(x)
    if adj_y and y.dtype.kind == "c":
        y = lax.conj(y)
    for i, a in enumerate((x, y)):
        if a.ndim < 2:
            raise errors.InvalidArgumentError(None, None, f"In[{i}] ndims must be >= 2: {a.ndim}")
    inner_x, inner_y = x.shape[-2 if adj_x else -1], y.shape[-1 if adj_y else -2]
    if inner_x != inner_y:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"In[0] mismatch In[1] shape: {inner_x} vs. {inner_y}: {shape_text(x.shape)} {shape_text(y.shape)} "
            f"{int(adj_x)} {int(adj_y)}",
        )
    if y.ndim == 2 and x.ndim > 2 and not adj_x:
        return lax.dot_general(x, y, (((x.ndim - 1,), (1 if adj_y else 0,)), ((), ())))
    try:
        batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        shapes = f"{shape_text(x.shape)} vs. {shape_text(y.shape)}"
        raise errors.InvalidArgumentError(None, None, f"In[0] and In[1] must have compatible batch dimensions: {shapes}") from None
    x, y = full(x, batch + x.shape[-2:]), full(y, batch + y.shape[-2:])
    n = len(batch)
    contracted = ((n if adj_x else n + 1,), (n + 1 if adj_y else n,))
    return lax.dot_general(x, y, (contracted, (range(n), range(n))))


def _batch_matmul_of_equal_batches(x, y, *, adj_x, adj_y):
    shapes = shape_text(x.shape), shape_text(y.shape)
    if x.ndim != y.ndim:
        raise errors.InvalidArgumentError(None, None, f"In[0] and In[1] has different ndims: {' vs. '.join(shapes)}")
    for i, (a, b) in enumerate(zip(x.shape[:-2], y.shape[:-2])):
        if a != b:
            raise errors.InvalidArgumentError(None, None, f"In[0].dim({i}) and In[1].dim({i}) must be the same: {' vs '.join(shapes)}")
    return _batch_matmul(x, y, adj_x=adj_x, adj_y=adj_y)


def _batch_matmul_grad(op: Any, g: Tensor) -> list:
    return _product_grads(_adjoint_product, op, g, ("adj_x", "adj_y"))


def _adjoint_product(x: object, y: object, *, adj_x: bool, adj_y: bool) -> Any:
    return matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y)


def _batch_matmul_v2_grad(op: Any, g: Tensor) -> list:
    x, y = op.inputs
    gx, gy = _batch_matmul_grad(op, g)
    if x.shape.is_fully_defined() and x._sizes == y._sizes:
        return [gx, gy]
    if executing_eagerly():
        return [sum_batch_to_shape(x, y, gx), sum_batch_to_shape(y, x, gy)]
    sizes = shape(x), shape(y)
    axes = raw.BroadcastGradientArgs(sizes[0][:-2], sizes[1][:-2])
    return [raw.Reshape(raw.Sum(grad, over), size) for grad, over, size in zip((gx, gy), axes, sizes)]


_BATCH = f"(x: T, y: T, *, T: {_TYPES}, adj_x: bool = False, adj_y: bool = False) -> (output: T)"
op("BatchMatMul", _BATCH, shape=_batch_matmul_shape, kernel=_batch_matmul_of_equal_batches, exact=True, gradient=_batch_matmul_grad, near=_near_batch_matmul,
   facts=COSTLY)
op("BatchMatMulV2", _BATCH, shape=_batch_matmul_v2_shape, kernel=_batch_matmul, exact=True, gradient=_batch_matmul_v2_grad, near=_near_batch_matmul, facts=COSTLY)


# ---- SparseMatMul ----


def _sparse_matmul_grad(op: Any, g: Tensor) -> list:
    grads = _product_grads(_sparse_product(op, g), op, g, ("transpose_a", "transpose_b"))
    return [cast(grad, t.dtype.base_dtype) for grad, t in zip(grads, op.inputs)]


def _sparse_product(op: Any, g: Any) -> Any:
    """A product of inputs of `op` and its gradient, which may have many zeros behind a Relu."""
    sparse = {
        op.inputs[0].experimental_ref(): op.get_attr("a_is_sparse"),
        op.inputs[1].experimental_ref(): op.get_attr("b_is_sparse"),
        g.experimental_ref(): not executing_eagerly() and g.op.type == "ReluGrad",
    }

    def apply(a: Any, b: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
        flags = [sparse[t.experimental_ref()] for t in (a, b)]
        b = transpose(b) if transpose_b else b
        return matmul(a, b, transpose_a=transpose_a, a_is_sparse=flags[0], b_is_sparse=flags[1])

    return apply


@op("SparseMatMul",
    "(a: Ta, b: Tb, *, transpose_a: bool = False, transpose_b: bool = False, a_is_sparse: bool = False, "
    "b_is_sparse: bool = False, Ta: {float32, bfloat16} = float32, Tb: {float32, bfloat16} = float32) -> (product: float32)",
    shape=_matmul_shape, gradient=_sparse_matmul_grad)  # fmt: skip
def _sparse_matmul(a, b, *, transpose_a, transpose_b):
    a, b = lax.convert_element_type(a, np.float32), lax.convert_element_type(b, np.float32)
    return _matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b)


# ---- public functions ----


@export("sparse_matmul")
def sparse_matmul(a, b, transpose_a=False, transpose_b=False, a_is_sparse=False, b_is_sparse=False, name=None):
    """The product of two matrices of float32 or bfloat16, of which one or both have many zeros; a float32 Tensor."""
    return raw.SparseMatMul(a, b, transpose_a, transpose_b, a_is_sparse, b_is_sparse, name=name)


@export("matmul", "linalg.matmul")
def matmul(
    a,
    b,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
    a_is_sparse=False,
    b_is_sparse=False,
    name=None,
):
    """The product of two matrices, or of batches of them.

    Args:
      a: Tensor [..., m, k]; b: Tensor [..., k, n], of one dtype. Leading dimensions are broadcast.
      transpose_a, transpose_b: whether the last two dimensions are exchanged first.
      adjoint_a, adjoint_b: whether they are exchanged and conjugated first.
      a_is_sparse, b_is_sparse: hints that a matrix has many zeros.
      name: node name.

    Returns:
      a Tensor [..., m, n].

    Raises:
      ValueError: a matrix is to be transposed and adjoint, or the shapes do not fit.
    """
    with name_scope(name, "MatMul", [a, b]) as scope:
        if transpose_a and adjoint_a:
            raise ValueError("Only one of transpose_a and adjoint_a can be True.")
        if transpose_b and adjoint_b:
            raise ValueError("Only one of transpose_b and adjoint_b can be True.")
        a, b = to_tensor(a, name="a"), to_tensor(b, name="b")
        has_batch = any(t._sizes is None or len(t._sizes) > 2 for t in (a, b))
        if has_batch and not a_is_sparse and not b_is_sparse:
            a = conj(a) if transpose_a else a
            b = conj(b) if transpose_b else b
            return raw.BatchMatMulV2(a, b, adj_x=adjoint_a or transpose_a, adj_y=adjoint_b or transpose_b, name=scope)
        a = conj(a) if adjoint_a else a
        b = conj(b) if adjoint_b else b
        transposes = (adjoint_a or transpose_a, adjoint_b or transpose_b)
        if not _use_sparse_matmul(a.dtype, b.dtype, a_is_sparse or b_is_sparse):
            return raw.MatMul(a, b, *transposes, name=scope)
        product = raw.SparseMatMul(a, b, *transposes, a_is_sparse, b_is_sparse, name=scope)
        return cast(product, dtypes.bfloat16) if a.dtype == b.dtype == dtypes.bfloat16 else product


def _use_sparse_matmul(a: dtypes.DType, b: dtypes.DType, is_sparse: bool) -> bool:
    allowed = (dtypes.bfloat16, dtypes.float32)
    return (is_sparse and a in allowed and b in allowed) or (a != b and dtypes.bfloat16 in (a, b))


@export("linalg.matvec")
def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None):
    """The product of a matrix [..., m, k] and a vector [..., k]; a Tensor [..., m]. Flags are those of `matmul`."""
    with name_scope(name, "MatVec", [a, b]):
        column = raw.ExpandDims(b, -1)
        product = matmul(
            a, column, transpose_a=transpose_a, adjoint_a=adjoint_a, a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse
        )
        return raw.Squeeze(product, squeeze_dims=[-1])
