"""Functions of square matrices: exponential, logarithm, square root; pseudo-inverse and rank of any matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.on_demand import linalg
from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.join import concat, tile
from tfcompat._src.ops.array.reorder import matrix_transpose
from tfcompat._src.ops.array.search import where, where_v2
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape, size
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.composed.rank_checks import assert_rank_at_least
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.linalg import matrices as lib
from tfcompat._src.ops.linalg.decompose import svd
from tfcompat._src.ops.linalg.solve import matrix_solve
from tfcompat._src.ops.math.binary import maximum, power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import less
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_max, reduce_prod, reduce_sum
from tfcompat._src.ops.math.unary import absolute, floor, log

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

# ---- logarithm and square root ----


def _each_matrix(function: Callable) -> Callable:
    """A kernel that applies `function` to one matrix after the other; NaN where it is not finite, or the result not of its dtype."""

    def kernel(x):
        lib.require_square(x)
        found = np.full_like(x, complex(np.nan, np.nan) if x.dtype.kind == "c" else np.nan)
        for place in np.ndindex(x.shape[:-2]):
            if x.size and np.all(np.isfinite(x[place])):
                matrix = np.asarray(function(x[place]))
                if x.dtype.kind == "c" or not np.any(matrix.imag):
                    found[place] = matrix if x.dtype.kind == "c" else matrix.real
        return found

    return kernel


def _kronecker(a: Tensor, b: Tensor) -> Tensor:
    """The Kronecker products of two batches of square matrices."""
    sizes, other = shape(a), shape(b)
    side, other_side = sizes[-1], other[-1]
    batch = raw.Slice(sizes, [0], [raw.Sub(size(sizes), 2)])
    spread = concat([batch, [side], [1], [side], [1]], 0)
    other_spread = concat([batch, [1], [other_side], [1], [other_side]], 0)
    a, b = reshape(a, spread), reshape(b, other_spread)
    product_side = side * other_side
    joined = concat([batch, [product_side], [product_side]], 0)
    return reshape(a * b, joined)


def _square_root_gradient(op, g):
    """From R dR + dR R = dA, solved as linear equations for the entries of dR."""
    root = op.outputs[0]
    sizes = shape(root)
    side = sizes[-1]
    count = reduce_prod(sizes[0:-2])
    one = reshape(eye(side, dtype=root.dtype), [-1])
    identities = reshape(tile(one, [count]), sizes)
    transposed = matrix_transpose(root)
    first = _kronecker(identities, transposed)
    second = _kronecker(root, identities)
    system = raw.Add(first, second)
    batch = raw.Slice(sizes, [0], [raw.Sub(size(sizes), 2)])
    column = concat([batch, [side * side], [1]], 0)
    solution = matrix_solve(system, reshape(matrix_transpose(g), column))
    return [matrix_transpose(reshape(solution, sizes))]


op(
    "MatrixLogarithm", "(input: T, *, T: COMPLEX) -> (output: T)", shape=lib.square_shape,
    kernel=_each_matrix(lambda x: linalg.logm(x)), side=HOST,
    gradient=NotDifferentiable("1.15 has no gradient for this op", raises=True),
)  # fmt: skip
op(
    "MatrixSquareRoot", f"(input: T, *, T: {lib.TYPES}) -> (output: T)", shape=lib.square_shape,
    kernel=_each_matrix(lambda x: linalg.sqrtm(x)), side=HOST, gradient=_square_root_gradient,
)  # fmt: skip


@export("linalg.logm")
def matrix_logarithm(input: TensorLike, name: str | None = None) -> Tensor:
    """The principal logarithm of each square matrix of a complex tensor [..., m, m], by its Schur form."""
    return raw.MatrixLogarithm(input, name=name)


@export("linalg.sqrtm", "matrix_square_root")
def matrix_square_root(input: TensorLike, name: str | None = None) -> Tensor:
    """The principal square root of each square matrix of `input` [..., m, m], by its Schur form; NaN where there is none."""
    return raw.MatrixSquareRoot(input, name=name)


# ---- exponential ----

_PADE = {
    3: (120.0, 60.0, 12.0),
    5: (30240.0, 15120.0, 3360.0, 420.0, 30.0),
    7: (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0),
    9: (17643225600.0, 8821612800.0, 2075673600.0, 302702400.0, 30270240.0, 2162160.0, 110880.0, 3960.0, 90.0),
    13: (
        64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
        10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0,
    ),
}  # fmt: skip
_NARROW = (3.925724783138660, {3: 4.258730016922831e-001, 5: 1.880152677804762e000, 7: None})
_WIDE = (
    5.371920351148152,
    {3: 1.495585217958292e-002, 5: 2.539398330063230e-001, 7: 9.504178996162932e-001, 9: 2.097847961257068e000, 13: None},
)


def _pade(matrix: Tensor, order: int) -> tuple[Tensor, Tensor]:
    """The odd and the even part of the Pade numerator of exp of an order."""
    factors = [constant(value, matrix.dtype) for value in _PADE[order]]
    powers = {0: eye(shape(matrix)[-2], batch_shape=shape(matrix)[:-2], dtype=matrix.dtype)}
    powers[2] = matmul(matrix, matrix)
    for exponent in range(4, min(order, 8), 2):
        powers[exponent] = matmul(powers[exponent - 2], powers[2])
    if order == 9:
        powers[8] = matmul(powers[6], powers[2])

    def combined(found: object, exponents: tuple[int, ...], odd: bool) -> Any:
        for exponent in exponents:
            term = factors[exponent + odd] * powers[exponent]
            found = term if found is None else found + term
        return found

    if order == 13:
        top = powers[6] + factors[11] * powers[4] + factors[9] * powers[2]
        odd = combined(matmul(powers[6], top), (6, 4, 2, 0), True)
        odd = matmul(matrix, odd)
        top = factors[12] * powers[6] + factors[10] * powers[4] + factors[8] * powers[2]
        return odd, combined(matmul(powers[6], top), (6, 4, 2, 0), False)
    below = tuple(range(order - 3, -1, -2))
    odd = matmul(matrix, combined(powers[order - 1], below, True))
    return odd, combined(None, (order - 1, *below), False)


@export("linalg.expm")
def matrix_exponential(input: TensorLike, name: str | None = None) -> Tensor:
    """The exponential of each square matrix, by scaling, Pade approximation and squaring.

    Higham, "The scaling and squaring method for the matrix exponential revisited", 2005.

    Args:
      input: floating or complex tensor [..., m, m].
      name: name scope.

    Raises:
      ValueError: the dtype is another.
    """
    with name_scope(name, "matrix_exponential", [input]):
        matrix = convert_to_tensor(input, name="input")
        if matrix.shape[-2:] == [0, 0]:
            return matrix
        batch_shape: Any = matrix.shape[:-2]
        if not batch_shape.is_fully_defined():
            batch_shape = shape(matrix)[:-2]
        matrix = reshape(matrix, concat(([-1], shape(matrix)[-2:]), axis=0))
        columns = reduce_sum(absolute(matrix), axis=size(shape(matrix)) - 2)
        l1_norm = reduce_max(columns, axis=-1)
        if matrix.dtype in (dtypes.float16, dtypes.float32, dtypes.complex64):
            limit, bounds = _NARROW
        elif matrix.dtype in (dtypes.float64, dtypes.complex128):
            limit, bounds = _WIDE
        else:
            raise ValueError(f"tf.linalg.expm does not support matrices of type {matrix.dtype}")
        quotient, squarings = _approximated(matrix, l1_norm, limit, bounds)
        found = _squared(quotient, squarings, l1_norm.dtype)
        if not matrix.shape.is_fully_defined():
            return reshape(found, concat((batch_shape, shape(found)[-2:]), axis=0))
        return reshape(found, batch_shape.concatenate(found.shape[-2:]))


def _approximated(matrix: Tensor, l1_norm: Tensor, limit: float, bounds: dict[int, float | None]) -> tuple[Tensor, Tensor]:
    """(the exponential of the scaled matrices, how often each is to be squared)."""

    def number(value: float) -> Tensor:
        return constant(value, l1_norm.dtype)

    ratio = l1_norm / number(limit)
    squarings = maximum(floor(log(ratio) / log(number(2.0))), 0)
    *low, highest = bounds
    parts = [_pade(matrix, order) for order in low]
    scale = power(constant(2.0, dtype=matrix.dtype), cast(squarings, matrix.dtype))[..., None, None]
    parts.append(_pade(matrix / scale, highest))

    def chosen(which: int) -> Tensor:
        def among(orders: list[int], candidates: list[Tensor]) -> Tensor:
            if not orders:
                return candidates[0]
            is_small = less(l1_norm, number(bounds[orders[0]]))
            return where(is_small, candidates[0], among(orders[1:], candidates[1:]))

        return among(low, [part[which] for part in parts])

    odd, even = chosen(0), chosen(1)
    numerator = odd + even
    return matrix_solve(-odd + even, numerator), squarings


def _squared(found: Tensor, squarings: Tensor, dtype: Any) -> Tensor:
    """Each matrix squared as often as `squarings` says."""
    most = reduce_max(squarings)
    return while_loop(
        lambda i, _: less(i, most),
        lambda i, x: (i + 1, where(less(i, squarings), matmul(x, x), x)),
        [constant(0.0, dtype), found],
    )[1]


# ---- by singular values ----


def _checked_matrix(a: Tensor, validate_args: bool) -> Tensor:
    """`a`; TypeError or ValueError where it is known to hold no floating matrices, an assertion where that is asked for."""
    if not a.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}).")
    message = "Input `a` must have at least 2 dimensions"
    if a.shape.ndims is not None:
        if a.shape.ndims < 2:
            raise ValueError(f"{message} (saw: {a.shape.ndims}).")
    elif validate_args:
        with control_dependencies([assert_rank_at_least(a, rank=2, message=message + ".")]):
            return identity(a)
    return a


@export("linalg.matrix_rank")
def matrix_rank(a: TensorLike, tol: object = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """How many singular values of each matrix are above a limit.

    Args:
      a: floating tensor [..., m, n].
      tol: the limit; by default eps * max(m, n) * the largest singular value.
      validate_args: whether an unknown rank is checked in a run.
      name: name scope.

    Returns:
      int32 [...].

    Raises:
      TypeError: `a` is not floating. ValueError: it has fewer than two dimensions.
    """
    with name_scope(name or "matrix_rank"):
        a = _checked_matrix(convert_to_tensor(a, dtype_hint=dtypes.float32, name="a"), validate_args)
        values = svd(a, compute_uv=False)
        if tol is None:
            known = a.shape[-2:]
            side = np.max(known.as_list()) if known.is_fully_defined() else reduce_max(shape(a)[-2:])
            eps = np.finfo(a.dtype.as_numpy_dtype).eps
            tol = eps * cast(side, a.dtype) * reduce_max(values, axis=-1, keepdims=True)
        return reduce_sum(cast(values > tol, dtypes.int32), axis=-1)


@export("linalg.pinv")
def pinv(a: TensorLike, rcond: TensorLike | None = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The Moore-Penrose inverse of each matrix.

    Args:
      a: floating tensor [..., m, n].
      rcond: singular values not above `rcond` times the largest count as 0; by default 10 * max(m, n) * eps.
      validate_args: whether an unknown rank is checked in a run.
      name: name scope.

    Returns:
      a tensor [..., n, m].

    Raises:
      TypeError: `a` is not floating. ValueError: it has fewer than two dimensions.
    """
    with name_scope(name or "pinv"):
        a = _checked_matrix(convert_to_tensor(a, name="a"), validate_args)
        dtype = a.dtype.as_numpy_dtype
        if rcond is None:
            rows, columns = (shape(a)[i] if (known := dimension_value(a.shape[i])) is None else known for i in (-2, -1))
            if isinstance(rows, int) and isinstance(columns, int):
                side: Any = float(max(rows, columns))
            else:
                side = cast(maximum(rows, columns), dtype)
            rcond = 10.0 * side * np.finfo(dtype).eps
        rcond = convert_to_tensor(rcond, dtype=dtype, name="rcond")
        values, left, right = svd(a, full_matrices=False, compute_uv=True)
        limit = rcond * reduce_max(values, axis=-1)
        values = where_v2(values > expand_dims(limit, -1), values, np.array(np.inf, dtype))
        found = matmul(right / expand_dims(values, -2), left, adjoint_b=True)
        if a.shape.ndims is not None:
            found.set_shape(a.shape[:-2].concatenate([a.shape[-1], a.shape[-2]]))
        return found
