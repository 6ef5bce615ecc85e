"""The identity operator, and multiples of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import hints, util
from tfcompat._src.linalg.algebra import (
    RegisterAdjoint,
    RegisterCholesky,
    RegisterInverse,
    RegisterMatmul,
    RegisterSolve,
)
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.linalg.sized import SizedLinearOperator, checked_sizes
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.diagonal import matrix_diag_part, matrix_set_diag
from tfcompat._src.ops.array.fill import ones, zeros, zeros_like
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.shape import expand_dims, shape
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_positive
from tfcompat._src.ops.control.groups import no_op, with_dependencies
from tfcompat._src.ops.linalg.matrices import adjoint as adjoint_of_matrix
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.complex import conj, imag, real
from tfcompat._src.ops.math.unary import absolute, log, sqrt

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class BaseLinearOperatorIdentity(SizedLinearOperator):
    """A multiple of the identity."""

    def _set_num_rows(self, num_rows: TensorLike) -> None:
        found = util.shape_tensor(num_rows, name="num_rows")
        self._num_rows_static = constant_value(found)
        self._num_rows = checked_sizes(found, self._num_rows_static, 0, "num_rows", self._assert_proper_shapes)

    def _compatible(self, x: Tensor, adjoint_arg: bool) -> Tensor:
        """The argument of a product, checked where that was asked for."""
        x = adjoint_of_matrix(x) if adjoint_arg else x
        if self._assert_proper_shapes:
            x = with_dependencies([util.assert_compatible_matrix_dimensions(self, x)], x)
        return x

    def _ones_diag(self) -> Tensor:
        return ones(shape=self._diagonal_shape(), dtype=self.dtype)

    def _batch_of_ones(self) -> Tensor:
        sizes = self.batch_shape if self.batch_shape.is_fully_defined() else self.batch_shape_tensor()
        return ones(shape=sizes, dtype=self.dtype)

    def _min_matrix_dim_number(self) -> Any:
        known = self._min_matrix_dim()
        return cast(self._min_matrix_dim_tensor(), self.dtype) if known is None else known


@export("linalg.LinearOperatorIdentity")
class LinearOperatorIdentity(BaseLinearOperatorIdentity):
    """The identity, or a batch of it.

    Args:
      num_rows: scalar int.
      batch_shape: int vector, or None for one matrix.
      dtype: dtype of the matrix, float32 by default.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints; all are true.
      assert_proper_shapes: whether sizes are checked in a run.
      name: name scope.

    Raises:
      ValueError: a hint is false, or a size is known to be wrong. TypeError: a size is no integer or a variable.
    """

    def __init__(
        self, num_rows: object, batch_shape: object = None, dtype: object = None, is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True, is_positive_definite: bool | None = True, is_square: bool | None = True,
        assert_proper_shapes: bool = False, name: str = "LinearOperatorIdentity",
    ) -> None:  # fmt: skip
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name):
            for hint, what in (
                (is_self_adjoint, "self adjoint"), (is_non_singular, "non-singular"),
                (is_positive_definite, "positive-definite"), (is_square, "square"),
            ):  # fmt: skip
                if not hint:
                    raise ValueError(f"An identity operator is always {what}.")
            super().__init__(
                dtype=dtypes.as_dtype(dtype or dtypes.float32),
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            util.assert_not_ref_type(num_rows, "num_rows")
            util.assert_not_ref_type(batch_shape, "batch_shape")
            self._set_num_rows(num_rows)
            self._set_batch_shape(batch_shape)

    def _shape(self) -> TensorShape:
        return self._with_batch_shape(TensorShape((self._num_rows_static, self._num_rows_static)))

    def _shape_tensor(self) -> Tensor:
        return self._with_batch_shape_tensor(stack((self._num_rows, self._num_rows), axis=0))

    def _assert_non_singular(self) -> Operation:
        return no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Operation:
        return no_op("assert_positive_definite")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._possibly_broadcast_batch_shape(self._compatible(x, adjoint_arg))

    def _determinant(self) -> Tensor:
        return ones(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _trace(self) -> Tensor:
        batch = self._batch_of_ones()
        return self._min_matrix_dim_number() * batch

    def _diag_part(self) -> Tensor:
        return self._ones_diag()

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """The sum of the identity and a tensor `mat` [..., n, n]."""
        with self._name_scope(name):
            mat = convert_to_tensor(mat, name="mat")
            return matrix_set_diag(mat, 1 + matrix_diag_part(mat))


@export("linalg.LinearOperatorScaledIdentity")
class LinearOperatorScaledIdentity(BaseLinearOperatorIdentity):
    """Multiples of the identity.

    Args:
      num_rows: scalar int.
      multiplier: tensor of the batch shape.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: hints.
      assert_proper_shapes: whether sizes are checked in a run.
      name: name scope.

    Raises:
      ValueError: a hint contradicts the rest, or a size is known to be wrong.
      TypeError: `num_rows` is no integer or a variable.
    """

    def __init__(
        self, num_rows: object, multiplier: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = True, assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:  # fmt: skip
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name, values=[multiplier, num_rows]):
            self._multiplier = util.convert_nonref_to_tensor(multiplier, name="multiplier")
            if not self._multiplier.dtype.is_complex:
                if is_self_adjoint is False:
                    raise ValueError("A real diagonal operator is always self adjoint.")
                is_self_adjoint = True
            if not is_square:
                raise ValueError("A ScaledIdentity operator is always square.")
            util.assert_not_ref_type(num_rows, "num_rows")
            super().__init__(
                dtype=self._multiplier.dtype.base_dtype,
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            self._set_num_rows(num_rows)
            self._num_rows_cast_to_dtype = cast(self._num_rows, self.dtype)
            self._num_rows_cast_to_real_dtype = cast(self._num_rows, self.dtype.real_dtype)

    @property
    def multiplier(self) -> Any:
        """The factor of each matrix."""
        return self._multiplier

    def _shape(self) -> TensorShape:
        return self.multiplier.shape.concatenate([self._num_rows_static, self._num_rows_static])

    def _shape_tensor(self) -> Tensor:
        matrix = stack((self._num_rows, self._num_rows), axis=0)
        return concat((shape(self.multiplier), matrix), 0)

    def _assert_non_singular(self) -> Operation:
        return assert_positive(absolute(self.multiplier), message="LinearOperator was singular")

    def _assert_positive_definite(self) -> Operation:
        return assert_positive(real(self.multiplier), message="LinearOperator was not positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        part = imag(self.multiplier)
        return assert_equal(zeros_like(part), part, message="LinearOperator was not self-adjoint")

    def _multiplier_matrix(self, conjugate: bool) -> Tensor:
        found = expand_dims(expand_dims(self.multiplier, -1), -1)
        return conj(found) if conjugate else found

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = self._compatible(x, adjoint_arg)
        return x * self._multiplier_matrix(adjoint)

    def _determinant(self) -> Tensor:
        return self.multiplier**self._num_rows_cast_to_dtype

    def _log_abs_determinant(self) -> Tensor:
        return self._num_rows_cast_to_real_dtype * log(absolute(self.multiplier))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = self._compatible(rhs, adjoint_arg)
        return rhs / self._multiplier_matrix(adjoint)

    def _trace(self) -> Tensor:
        batch = self._batch_of_ones()
        return self.multiplier * self._min_matrix_dim_number() * batch

    def _diag_part(self) -> Tensor:
        return self._ones_diag() * self.multiplier[..., None]

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """The sum of the operator and a tensor `mat` [..., n, n]."""
        with self._name_scope(name):
            column = expand_dims(self.multiplier, -1)
            mat = convert_to_tensor(mat, name="mat")
            return matrix_set_diag(mat, column + matrix_diag_part(mat))


# ---- what is made of them ----


@RegisterAdjoint(LinearOperatorIdentity)
@RegisterInverse(LinearOperatorIdentity)
def _same(identity: LinearOperatorIdentity) -> LinearOperator:
    return identity


@RegisterCholesky(LinearOperatorIdentity)
def _cholesky(identity: LinearOperatorIdentity) -> LinearOperator:
    return LinearOperatorIdentity(
        num_rows=identity._num_rows, batch_shape=identity.batch_shape, dtype=identity.dtype
    )


@RegisterMatmul(LinearOperatorIdentity, LinearOperator)
def _identity_times(identity: LinearOperatorIdentity, operator: LinearOperator) -> LinearOperator:
    return operator


@RegisterMatmul(LinearOperator, LinearOperatorIdentity)
def _times_identity(operator: LinearOperator, identity: LinearOperatorIdentity) -> LinearOperator:
    return operator


@RegisterSolve(LinearOperatorIdentity, LinearOperator)
def _solve_identity(identity: LinearOperatorIdentity, operator: LinearOperator) -> LinearOperator:
    return operator


@RegisterAdjoint(LinearOperatorScaledIdentity)
def _scaled_adjoint(operator: LinearOperatorScaledIdentity) -> LinearOperator:
    multiplier = operator.multiplier
    return LinearOperatorScaledIdentity(
        num_rows=operator._num_rows,
        multiplier=conj(multiplier) if multiplier.dtype.is_complex else multiplier,
        **hints.of(operator),
    )


@RegisterInverse(LinearOperatorScaledIdentity)
def _scaled_inverse(operator: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorScaledIdentity(
        num_rows=operator._num_rows,
        multiplier=1.0 / operator.multiplier,
        is_non_singular=operator.is_non_singular,
        is_self_adjoint=True,
        is_positive_definite=operator.is_positive_definite,
    )


@RegisterCholesky(LinearOperatorScaledIdentity)
def _scaled_cholesky(operator: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorScaledIdentity(
        num_rows=operator._num_rows,
        multiplier=sqrt(operator.multiplier),
        is_non_singular=True,
        is_self_adjoint=True,
        is_positive_definite=True,
    )
