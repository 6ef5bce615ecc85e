"""tf.contrib.solvers: conjugate gradients, for linear equations and for least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.solvers import util
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.shape import expand_dims, squeeze
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.linalg.norm import norm
from tfcompat._src.ops.math.compare import logical_and


class State(NamedTuple):
    """Iterations done, solution, residual, direction, and the squared norm that the method minimizes."""

    i: Tensor
    x: Tensor
    r: Tensor
    p: Tensor
    gamma: Tensor


def _squeezed(state: State) -> State:
    return State(state.i, squeeze(state.x), squeeze(state.r), squeeze(state.p), state.gamma)


@export("contrib.solvers.linear_equations.conjugate_gradient")
def conjugate_gradient(
    operator: util.LinearOperator, rhs: Tensor, preconditioner: util.LinearOperator | None = None,
    x: Tensor | None = None, tol: float = 1e-4, max_iter: int = 20, name: str = "conjugate_gradient",
) -> State:  # fmt: skip
    """Solves A x = rhs for a self-adjoint, positive definite A (Hestenes and Stiefel 1952).

    Args:
      operator: A.
      rhs: Tensor [n].
      preconditioner: an approximate inverse of A.
      x: Tensor [n] to start from, zeros by default.
      tol: norm of the residual, relative to the first, at which it stops.
      max_iter: most iterations.
      name: name scope.
    """

    def conditioned(r: Tensor) -> Tensor:
        return r if preconditioner is None else preconditioner.apply(r)

    def step(i: Tensor, state: State) -> tuple[Tensor, State]:
        z = operator.apply(state.p)
        alpha = state.gamma / util.dot(state.p, z)
        x = state.x + alpha * state.p
        r = state.r - alpha * z
        q = conditioned(r)
        gamma = util.dot(r, q)
        return i + 1, State(i + 1, x, r, q + gamma / state.gamma * state.p, gamma)

    with name_scope(name):
        rhs = expand_dims(rhs, -1)
        if x is None:
            x = expand_dims(zeros(operator.shape[1:], dtype=rhs.dtype.base_dtype), -1)
            r = rhs
        else:
            x = expand_dims(x, -1)
            r = rhs - operator.apply(x)
        p = conditioned(r)
        limit = tol * norm(r)
        i = constant(0, dtype=dtypes.int32)
        _, state = while_loop(
            lambda i, state: logical_and(i < max_iter, norm(state.r) > limit), step,
            [i, State(i, x, r, p, util.dot(r, p))],
        )  # fmt: skip
        return _squeezed(state)


@export("contrib.solvers.least_squares.cgls")
def cgls(
    operator: util.LinearOperator, rhs: Tensor, tol: float = 1e-6, max_iter: int = 20, name: str = "cgls"
) -> State:
    """Minimizes |A x - rhs| by conjugate gradients on the normal equations (Bjoerck 1996).

    Args:
      operator: A.
      rhs: Tensor [m].
      tol: norm of the gradient, relative to the first, at which it stops.
      max_iter: most iterations.
      name: name scope.
    """

    def step(i: Tensor, state: State) -> tuple[Tensor, State]:
        q = operator.apply(state.p)
        alpha = state.gamma / util.l2norm_squared(q)
        x = state.x + alpha * state.p
        r = state.r - alpha * q
        s = operator.apply_adjoint(r)
        gamma = util.l2norm_squared(s)
        return i + 1, State(i + 1, x, r, s + gamma / state.gamma * state.p, gamma)

    with name_scope(name):
        rhs = expand_dims(rhs, -1)
        s = operator.apply_adjoint(rhs)
        gamma = util.l2norm_squared(s)
        limit = tol * tol * gamma
        x: Any = expand_dims(zeros(operator.shape[1:], dtype=rhs.dtype.base_dtype), -1)
        i = constant(0, dtype=dtypes.int32)
        _, state = while_loop(
            lambda i, state: logical_and(i < max_iter, state.gamma > limit), step, [i, State(i, x, rhs, s, gamma)]
        )
        return _squeezed(state)
