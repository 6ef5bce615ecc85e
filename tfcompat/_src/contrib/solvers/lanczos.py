"""tf.contrib.solvers: Lanczos bidiagonalization (Golub and Kahan 1965)."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.solvers import util
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import matrix_transpose
from tfcompat._src.ops.array.shape import expand_dims, shape, squeeze
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.random.stateful import random_uniform


class LanczosBidiagState(NamedTuple):
    """Bases u and v, and the bidiagonal matrix with diagonal alpha and lower diagonal beta: A v = u B."""

    u: Any
    v: Any
    alpha: Any
    beta: Any


def _column(array: TensorArray, i: object) -> Tensor:
    return expand_dims(array.read(i), -1)


def _orthogonalize_once(count: object, basis: TensorArray, v: Tensor) -> tuple[Tensor, Tensor]:
    """A vector less its projections on the first columns of a basis (Gram-Schmidt), normalized, and its norm."""

    def step(j: Tensor, basis: TensorArray, v: Tensor) -> tuple:
        column = _column(basis, j)
        rest = v - matmul(column, v, adjoint_a=True) * column
        rest.set_shape(v.get_shape())
        return j + 1, basis, rest

    start = constant(0, dtype=dtypes.int32)
    _, _, v = while_loop(lambda j, basis, v: j < count, step, [start, basis, v])
    return util.l2normalize(v)


def _orthogonalize(count: object, basis: TensorArray, v: Tensor) -> tuple[Tensor, Tensor]:
    """`_orthogonalize_once`, again where the norm shrank by more than 1 / sqrt(2)."""
    norm = util.l2norm(v)
    found, found_norm = _orthogonalize_once(count, basis, v)
    return cond(
        found_norm < 0.7071 * norm, lambda: _orthogonalize_once(count, basis, v), lambda: (found, found_norm)
    )


@export("contrib.solvers.lanczos.lanczos_bidiag")
def lanczos_bidiag(
    operator: util.LinearOperator, k: int, orthogonalize: bool = True, starting_vector: Tensor | None = None,
    name: str = "lanczos_bidiag",
) -> LanczosBidiagState:  # fmt: skip
    """The first `k` steps of the bidiagonalization of a linear operator A.

    Args:
      operator: A, of shape [m, n].
      k: number of steps.
      orthogonalize: whether the bases are made orthogonal again in each step.
      starting_vector: Tensor [m, 1], random by default.
      name: name scope.

    Returns:
      u [m, k + 1], v [n, k], alpha [k], beta [k].
    """

    def array(count: int, name: str) -> TensorArray:
        return TensorArray(operator.dtype, size=count, tensor_array_name=name, clear_after_read=False)

    def normalized(count: object, basis: TensorArray, v: Tensor) -> tuple[Tensor, Tensor]:
        return _orthogonalize(count, basis, v) if orthogonalize else util.l2normalize(v)

    def step(i: Tensor, state: LanczosBidiagState) -> tuple[Tensor, LanczosBidiagState]:
        u = _column(state.u, i)
        image = operator.apply_adjoint(u)
        r = cond(i > 0, lambda: image - state.beta.read(i - 1) * _column(state.v, i - 1), lambda: image)
        r.set_shape(image.get_shape())
        v, alpha = normalized(i - 1, state.v, r)
        u, beta = normalized(i, state.u, operator.apply(v) - alpha * u)
        return i + 1, LanczosBidiagState(
            state.u.write(i + 1, squeeze(u)), state.v.write(i, squeeze(v)), state.alpha.write(i, alpha),
            state.beta.write(i, beta),
        )  # fmt: skip

    with name_scope(name):
        if starting_vector is None:
            starting_vector = random_uniform(operator.shape[:1], -1, 1, dtype=operator.dtype)
        first, _ = util.l2normalize(starting_vector)
        state = LanczosBidiagState(
            array(k + 1, "u").write(0, squeeze(first)), array(k, "v"), array(k, "alpha"), array(k, "beta")
        )
        _, state = while_loop(lambda i, _: i < k, step, [constant(0, dtype=dtypes.int32), state])
        return LanczosBidiagState(
            matrix_transpose(state.u.stack()), matrix_transpose(state.v.stack()), state.alpha.stack(),
            state.beta.stack(),
        )  # fmt: skip


@export("contrib.solvers.lanczos.bidiag_matmul")
def bidiag_matmul(
    matrix: Tensor, alpha: Tensor, beta: Tensor, adjoint_b: bool = False, name: str = "bidiag_matmul"
) -> Tensor:
    """matrix * B for the lower bidiagonal B [k + 1, k] with diagonal alpha and lower diagonal beta.

    Args:
      matrix: Tensor [m, k + 1]; [m, k] where `adjoint_b`.
      alpha, beta: Tensors [k].
      adjoint_b: whether B is transposed, without its last column.
      name: name scope.
    """
    with name_scope(name):
        diagonal = expand_dims(alpha, 0)
        if not adjoint_b:
            return matrix[:, :-1] * diagonal + matrix[:, 1:] * expand_dims(beta, 0)
        zero = expand_dims(zeros(shape(matrix)[:1], dtype=matrix.dtype), 1)
        return matrix * diagonal + concat([zero, matrix[:, :-1] * expand_dims(beta[:-1], 0)], 1)
