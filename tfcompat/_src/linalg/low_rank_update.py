"""A linear operator plus one of low rank."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import Dimension, TensorShape, dimension_at_index, dimension_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import util
from tfcompat._src.linalg.diag import LinearOperatorDiag
from tfcompat._src.linalg.identity import LinearOperatorIdentity
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.ops.array.diagonal import matrix_diag_part
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import broadcast_dynamic_shape, broadcast_static_shape, shape
from tfcompat._src.ops.linalg.decompose import cholesky
from tfcompat._src.ops.linalg.solve import matrix_determinant
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import absolute, exp, log
from tfcompat._src.platform import logging


@export("linalg.LinearOperatorLowRankUpdate")
class LinearOperatorLowRankUpdate(LinearOperator):
    """L + U D adjoint(V) for an operator L [..., m, n], matrices U [..., m, k] and V [..., n, k] and a diagonal D.

    Equations go by the Woodbury identity, determinants by the matrix determinant lemma: both cost as much as those of L
    and of a k x k matrix, the capacitance inverse(D) + adjoint(V) inverse(L) U.

    Args:
      base_operator: L.
      u: U, a tensor or variable.
      diag_update: the diagonal of D [..., k], or None for ones.
      v: V; U by default.
      is_diag_update_positive: whether the entries of D are known to be positive.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      name: name scope.

    Raises:
      ValueError: a hint contradicts the rest, or shapes do not fit.
    """

    def __init__(
        self, base_operator: Any, u: object, diag_update: object = None, v: object = None,
        is_diag_update_positive: bool | None = None, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:  # fmt: skip
        if diag_update is None:
            if is_diag_update_positive is False:
                raise ValueError("Default diagonal is the identity, which is positive.  However, user set "
                                 "'is_diag_update_positive' to False.")  # fmt: skip
            is_diag_update_positive = True
        elif is_diag_update_positive and base_operator.dtype.is_complex:
            logging.warn("Note: setting is_diag_update_positive with a complex dtype means that diagonal is real and positive.")
        self._use_cholesky = (
            base_operator._can_use_cholesky() and is_diag_update_positive and v is None
        )
        if base_operator.is_self_adjoint and v is None and not base_operator.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A = L + UDU^H, with L self-adjoint and D real diagonal.  Since UDU^H is self-adjoint, "
                                 "this must be a self-adjoint operator.")  # fmt: skip
            is_self_adjoint = True
        if self._use_cholesky:
            if False in (is_positive_definite, is_self_adjoint, is_non_singular):
                raise ValueError("Arguments imply this is self-adjoint positive-definite operator.")
            is_positive_definite = is_self_adjoint = True
        with name_scope(name, values=[*base_operator.graph_parents, u, diag_update, v]):
            self._u = util.convert_nonref_to_tensor(u, name="u")
            self._v = self._u if v is None else util.convert_nonref_to_tensor(v, name="v")
            self._diag_update = util.convert_nonref_to_tensor(diag_update, name="diag_update")
            self._base_operator = base_operator
            parts = [part for part in (self.u, self._diag_update, self.v) if part is not None]
            super().__init__(
                dtype=base_operator.dtype,
                graph_parents=[*base_operator.graph_parents, *parts],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            self._is_diag_update_positive = is_diag_update_positive
            self._diag_operator = self._make_diag_operator()
            self._check_shapes()

    def _make_diag_operator(self) -> LinearOperator:
        if self._diag_update is not None:
            return LinearOperatorDiag(self._diag_update, is_positive_definite=self._is_diag_update_positive)
        known = dimension_value(dimension_at_index(self.u.shape, -1))
        return LinearOperatorIdentity(num_rows=shape(self.u)[-1] if known is None else known, dtype=self.dtype)

    def _check_shapes(self) -> None:
        sizes = broadcast_static_shape(self.u.shape, self.v.shape)
        batch = broadcast_static_shape(self.base_operator.batch_shape, sizes[:-2])
        Dimension(self.base_operator.domain_dimension).assert_is_compatible_with(dimension_at_index(sizes, -2))
        if self._diag_update is not None:
            diagonal = self._diag_update.shape
            dimension_at_index(sizes, -1).assert_is_compatible_with(dimension_at_index(diagonal, -1))
            broadcast_static_shape(batch, diagonal[:-1])

    @property
    def u(self) -> Any:
        return self._u

    @property
    def v(self) -> Any:
        return self._v

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether the entries of D are known to be positive."""
        return self._is_diag_update_positive

    @property
    def diag_update(self) -> Any:
        """The diagonal of D, or None."""
        return self._diag_update

    @property
    def diag_operator(self) -> LinearOperator:
        """D as an operator."""
        return self._diag_operator

    @property
    def base_operator(self) -> Any:
        """L."""
        return self._base_operator

    def _shape(self) -> TensorShape:
        batch = broadcast_static_shape(self.base_operator.batch_shape, self.u.shape[:-2])
        return batch.concatenate(self.base_operator.shape[-2:])

    def _shape_tensor(self) -> Tensor:
        batch = broadcast_dynamic_shape(self.base_operator.batch_shape_tensor(), shape(self.u)[:-2])
        return concat([batch, self.base_operator.shape_tensor()[-2:]], axis=0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        leading = self.base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg)
        return leading + matmul(left, self.diag_operator.matmul(inner, adjoint=adjoint))

    def _make_capacitance(self) -> Tensor:
        inner = matmul(self.v, self.base_operator.solve(self.u), adjoint_a=True)
        return self._diag_operator.inverse().add_to_tensor(inner)

    def _determinant(self) -> Tensor:
        if self.is_positive_definite:
            return exp(self.log_abs_determinant())
        capacitance = matrix_determinant(self._make_capacitance())
        diagonal = self.diag_operator.determinant()
        base = self.base_operator.determinant()
        return capacitance * diagonal * base

    def _log_abs_determinant(self) -> Tensor:
        diagonal = self.diag_operator.log_abs_determinant()
        base = self.base_operator.log_abs_determinant()
        if self._use_cholesky:
            factor = matrix_diag_part(cholesky(self._make_capacitance()))
            capacitance = 2 * reduce_sum(log(factor), axis=[-1])
        else:
            capacitance = log(absolute(matrix_determinant(self._make_capacitance())))
            if self.dtype.is_complex:
                capacitance = cast(capacitance, dtype=self.dtype)
        return capacitance + diagonal + base

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if self.base_operator.is_non_singular is False:
            raise ValueError("Solve not implemented unless this is a perturbation of a non-singular LinearOperator.")
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        base_solution = self.base_operator.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = matmul(right, base_solution, adjoint_a=True)
        if self._use_cholesky:
            small = util.cholesky_solve_with_broadcast(cholesky(self._make_capacitance()), inner)
        else:
            small = util.matrix_solve_with_broadcast(self._make_capacitance(), inner, adjoint=adjoint)
        return base_solution - self.base_operator.solve(matmul(left, small), adjoint=adjoint)
