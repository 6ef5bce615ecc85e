"""The base class of linear operators: matrices, or batches of them, given by what they do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.dispatch import dispatch_for_types
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import Dimension, TensorShape, dimension_at_index, dimension_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import algebra, util
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.diagonal import matrix_diag_part
from tfcompat._src.ops.array.shape import expand_dims, size, squeeze
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_less, assert_positive
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.linalg.decompose import cholesky as cholesky_of_matrix
from tfcompat._src.ops.linalg.decompose import svd
from tfcompat._src.ops.linalg.matrices import adjoint as adjoint_of_matrix
from tfcompat._src.ops.linalg.solve import logdet, matrix_determinant, matrix_inverse, matrix_solve, slogdet
from tfcompat._src.ops.math import contraction, matmul
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_max, reduce_min, reduce_sum
from tfcompat._src.ops.math.unary import exp, log
from tfcompat._src.platform import logging
from tfcompat._src.train.module import Module

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _warn_slow(method: str, cost: str = " and O(N^3) operations") -> None:
    logging.warn(
        "Using (possibly slow) default implementation of %s.  Requires conversion to a dense matrix%s.", method, cost
    )


@export("linalg.LinearOperator")
class LinearOperator(Module):
    """A [batch] matrix A of shape [..., m, n] that need not be stored.

    A subclass defines `_shape`, `_shape_tensor`, `_matmul`, and what else it knows a shorter way for.

    Args:
      dtype: the dtype of the matrix.
      graph_parents: tensors and variables that the operator is made of.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: what the caller knows; None where unknown.
      name: name scope of its methods.

    Raises:
      ValueError: the hints contradict each other, or an entry of `graph_parents` is no tensor.
    """

    def __init__(
        self, dtype: Any, graph_parents: list[Any] | None = None, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        for hint, what in ((is_non_singular, "non-singular"), (is_self_adjoint, "self-adjoint")):
            if hint:
                if is_square is False:
                    raise ValueError(f"A {what} matrix is always square.")
                is_square = True
        graph_parents = [] if graph_parents is None else graph_parents
        for i, parent in enumerate(graph_parents):
            if parent is None or not (util.is_ref(parent) or isinstance(parent, Tensor)):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        self._dtype = dtypes.as_dtype(dtype).base_dtype if dtype else dtype
        self._graph_parents = graph_parents
        self._is_non_singular, self._is_self_adjoint = is_non_singular, is_self_adjoint
        self._is_positive_definite, self._is_square_set_or_implied_by_hints = is_positive_definite, is_square
        self._name = name or type(self).__name__

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None) -> Iterator[str]:
        with name_scope(self.name if name is None else f"{self.name}/{name}") as scope:
            yield scope

    # ---- properties ----

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def name(self) -> str:
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors and variables that the operator is made of."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether it is square, by its hints or its shape; ValueError where these contradict."""
        found = self.domain_dimension == self.range_dimension
        hint = self._is_square_set_or_implied_by_hints
        if hint is False and found:
            raise ValueError("User set is_square hint to False, but the operator was square.")
        return found if hint is None else hint

    # ---- shape ----

    def _shape(self) -> TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    @property
    def shape(self) -> TensorShape:
        return self._shape()

    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError("_shape_tensor is not implemented.")

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """The shape [..., m, n] as an int32 vector."""
        with self._name_scope(name):
            return util.shape_tensor(self.shape.as_list()) if self.shape.is_fully_defined() else self._shape_tensor()

    @property
    def batch_shape(self) -> TensorShape:
        """The shape without the dimensions of the matrices."""
        return self.shape[:-2]

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """`batch_shape` as an int32 vector."""
        with self._name_scope(name):
            if self.batch_shape.is_fully_defined():
                return util.shape_tensor(self.batch_shape.as_list(), name="batch_shape")
            return self.shape_tensor()[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The number of dimensions."""
        with self._name_scope("tensor_rank"):
            return self.shape.ndims

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """`tensor_rank` as an int32 scalar."""
        with self._name_scope(name):
            rank = self.tensor_rank
            return size(self.shape_tensor()) if rank is None else convert_to_tensor(rank)

    @property
    def domain_dimension(self) -> Dimension:
        """n, the number of columns."""
        return Dimension(None) if self.shape.ndims is None else self.shape.dims[-1]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """`domain_dimension` as an int32 scalar."""
        with self._name_scope(name):
            known = dimension_value(self.domain_dimension)
            return self.shape_tensor()[-1] if known is None else convert_to_tensor(known)

    @property
    def range_dimension(self) -> Dimension:
        """m, the number of rows."""
        return self.shape.dims[-2] if self.shape.dims else Dimension(None)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """`range_dimension` as an int32 scalar."""
        with self._name_scope(name):
            known = dimension_value(self.range_dimension)
            return self.shape_tensor()[-2] if known is None else convert_to_tensor(known)

    # ---- assertions ----

    def _can_use_cholesky(self) -> bool | None:
        return self.is_self_adjoint and self.is_positive_definite

    def _assert_non_singular(self) -> Operation:
        _warn_slow("assert_non_singular")
        if self._can_use_cholesky():
            return self.assert_positive_definite()
        singular_values = svd(self.to_dense(), compute_uv=False)
        condition = reduce_max(singular_values, axis=-1) / reduce_min(singular_values, axis=-1)
        limit = self._max_condition_number_to_be_non_singular()
        return assert_less(condition, limit, message="Singular matrix up to precision epsilon.")

    def _max_condition_number_to_be_non_singular(self) -> Tensor:
        with name_scope("max_nonsingular_condition_number"):
            sizes = [
                100.0, cast(self.range_dimension_tensor(), self.dtype), cast(self.domain_dimension_tensor(), self.dtype),
            ]  # fmt: skip
            return 1.0 / (cast(reduce_max(sizes), self.dtype) * np.finfo(self.dtype.as_numpy_dtype).eps)

    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """An operation that fails where the operator is singular, up to rounding."""
        with self._name_scope(name):
            return self._assert_non_singular()

    def _assert_positive_definite(self) -> Operation:
        _warn_slow("assert_positive_definite")
        if not self.is_self_adjoint:
            raise NotImplementedError("assert_positive_definite is not implemented.")
        diagonal = matrix_diag_part(cholesky_of_matrix(self.to_dense()))
        return assert_positive(diagonal, message="Matrix was not positive definite.")

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        """An operation that fails where the operator is not positive definite."""
        with self._name_scope(name):
            return self._assert_positive_definite()

    def _assert_self_adjoint(self) -> Operation:
        dense = self.to_dense()
        _warn_slow("assert_self_adjoint", "")
        return assert_equal(dense, adjoint_of_matrix(dense), message="Matrix was not equal to its adjoint.")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Operation:
        """An operation that fails where the operator is not self-adjoint."""
        with self._name_scope(name):
            return self._assert_self_adjoint()

    # ---- products ----

    def _check_input_dtype(self, arg: Tensor) -> None:
        """Raises TypeError for a tensor of another dtype."""
        if arg.dtype.base_dtype != self.dtype:
            raise TypeError(f"Expected argument to have dtype {self.dtype}.  Found: {arg.dtype} in tensor {arg}")

    def _checked_argument(self, x: TensorLike, name: str, own_axis: int, axis: int) -> Tensor:
        """`x` as a tensor; TypeError for another dtype, ValueError where a dimension of it does not fit."""
        x = convert_to_tensor(x, name=name)
        self._check_input_dtype(x)
        dimension_at_index(self.shape, own_axis).assert_is_compatible_with(dimension_at_index(x.shape, axis))
        return x

    def _factors(self, other: LinearOperator, adjoint: bool, adjoint_arg: bool, name: str) -> tuple:
        """This operator and another, as they are multiplied; ValueError where they do not fit."""
        left = self.adjoint() if adjoint else self
        right = other.adjoint() if adjoint_arg else other
        have, want = right.range_dimension, left.domain_dimension
        if have is not None and want is not None and have != want:
            raise ValueError(f"Operators are incompatible. Expected `{name}` to have dimension {want} but got {have}.")
        return left, right

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        raise NotImplementedError("_matmul is not implemented.")

    def matmul(self, x: object, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """A @ x.

        Args:
          x: tensor [..., n, r] of the same dtype, or another operator.
          adjoint: whether the adjoint of A is taken.
          adjoint_arg: whether the adjoint of x is taken.
          name: name scope.

        Returns:
          a tensor [..., m, r], or an operator.

        Raises:
          ValueError: the dimensions do not fit. TypeError: the dtypes differ.
        """
        if isinstance(x, LinearOperator):
            left, right = self._factors(x, adjoint, adjoint_arg, "x")
            with self._name_scope(name):
                return algebra.matmul(left, right)
        with self._name_scope(name):
            x = self._checked_argument(x, "x", -2 if adjoint else -1, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return squeeze(self.matmul(expand_dims(x, axis=-1), adjoint=adjoint), axis=-1)

    def matvec(self, x: object, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """A @ x for vectors x [..., n]; arguments and errors are those of `matmul`."""
        with self._name_scope(name):
            return self._matvec(self._checked_argument(x, "x", -2 if adjoint else -1, -1), adjoint=adjoint)

    # ---- determinants ----

    def _require_square(self) -> None:
        if self.is_square is False:
            raise NotImplementedError("Determinant not implemented for an operator that is expected to not be square.")

    def _determinant(self) -> Tensor:
        _warn_slow("determinant")
        return exp(self.log_abs_determinant()) if self._can_use_cholesky() else matrix_determinant(self.to_dense())

    def determinant(self, name: str = "det") -> Tensor:
        """The determinant of each matrix; NotImplementedError where these are not square."""
        self._require_square()
        with self._name_scope(name):
            return self._determinant()

    def _log_abs_determinant(self) -> Tensor:
        _warn_slow("determinant")
        if self._can_use_cholesky():
            diagonal = matrix_diag_part(cholesky_of_matrix(self.to_dense()))
            return 2 * reduce_sum(log(diagonal), axis=[-1])
        return slogdet(self.to_dense())[1]

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithm of the absolute determinant of each matrix; NotImplementedError where these are not square."""
        self._require_square()
        with self._name_scope(name):
            return self._log_abs_determinant()

    # ---- equations ----

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if self.is_square is False:
            raise NotImplementedError("Solve is not yet implemented for non-square operators.")
        _warn_slow("solve")
        rhs = adjoint_of_matrix(rhs) if adjoint_arg else rhs
        if self._can_use_cholesky():
            return util.cholesky_solve_with_broadcast(cholesky_of_matrix(self.to_dense()), rhs)
        return util.matrix_solve_with_broadcast(self.to_dense(), rhs, adjoint=adjoint)

    def solve(self, rhs: object, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        """The solution of A @ x = rhs.

        Args:
          rhs: tensor [..., m, r] of the same dtype, or another operator.
          adjoint: whether the adjoint of A is taken.
          adjoint_arg: whether the adjoint of rhs is taken.
          name: name scope.

        Returns:
          a tensor [..., n, r], or an operator.

        Raises:
          NotImplementedError: the operator is known to be singular or not square.
          ValueError: the dimensions do not fit. TypeError: the dtypes differ.
        """
        for hint, what in ((self.is_non_singular, "be singular"), (self.is_square, "not be square")):
            if hint is False:
                raise NotImplementedError(f"Exact solve not implemented for an operator that is expected to {what}.")
        if isinstance(rhs, LinearOperator):
            left, right = self._factors(rhs, adjoint, adjoint_arg, "rhs")
            with self._name_scope(name):
                return algebra.solve(left, right)
        with self._name_scope(name):
            rhs = self._checked_argument(rhs, "rhs", -1 if adjoint else -2, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        return squeeze(self.solve(expand_dims(rhs, axis=-1), adjoint=adjoint), axis=-1)

    def solvevec(self, rhs: object, adjoint: bool = False, name: str = "solve") -> Tensor:
        """The solution of A @ x = rhs for vectors rhs [..., m]; arguments and errors are those of `solve`."""
        with self._name_scope(name):
            return self._solvevec(self._checked_argument(rhs, "rhs", -1 if adjoint else -2, -1), adjoint=adjoint)

    # ---- other operators ----

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The operator of the conjugate transpose."""
        if self.is_self_adjoint is True:
            return self
        with self._name_scope(name):
            return algebra.adjoint(self)

    H = property(adjoint, None)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The operator of the inverse; ValueError where it is known to be singular or not square."""
        for hint, what in ((self.is_square, "non square"), (self.is_non_singular, "singular")):
            if hint is False:
                raise ValueError(f"Cannot take the Inverse: This operator represents a {what} matrix.")
        with self._name_scope(name):
            return algebra.inverse(self)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The operator of the lower Cholesky factor; ValueError where it is not known to be positive definite."""
        if not self._can_use_cholesky():
            raise ValueError("Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix.")
        with self._name_scope(name):
            return algebra.cholesky(self)

    # ---- entries ----

    def _to_dense(self) -> Tensor:
        batch_shape = self.batch_shape if self.batch_shape.is_fully_defined() else self.batch_shape_tensor()
        known = dimension_value(self.domain_dimension)
        columns = self.domain_dimension_tensor() if known is None else known
        return self.matmul(eye(num_rows=columns, batch_shape=batch_shape, dtype=self.dtype))

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrices as a tensor [..., m, n]."""
        with self._name_scope(name):
            return self._to_dense()

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self.to_dense())

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonals of the matrices, [..., min(m, n)]."""
        with self._name_scope(name):
            return self._diag_part()

    def _trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), axis=-1)

    def trace(self, name: str = "trace") -> Tensor:
        """The sum of each diagonal."""
        with self._name_scope(name):
            return self._trace()

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self.to_dense() + x

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """A + x for a tensor x of the same dtype."""
        with self._name_scope(name):
            x = convert_to_tensor(x, name="x")
            self._check_input_dtype(x)
            return self._add_to_tensor(x)


# ---- functions of matrices that take operators ----


@dispatch_for_types(adjoint_of_matrix, LinearOperator)
def _adjoint(matrix: Any, name: str | None = None) -> Any:
    return matrix.adjoint(name)


@dispatch_for_types(cholesky_of_matrix, LinearOperator)
def _cholesky(input: Any, name: str | None = None) -> Any:
    return input.cholesky(name)


@dispatch_for_types(matrix_diag_part, LinearOperator)
def _diag_part(input: Any, name: str = "diag_part", k: object = 0, padding_value: object = 0) -> Any:
    return input.diag_part(name)


@dispatch_for_types(matrix_determinant, LinearOperator)
def _det(input: Any, name: str | None = None) -> Any:
    return input.determinant(name)


@dispatch_for_types(matrix_inverse, LinearOperator)
def _inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    found = input.inverse(name)
    return found.adjoint() if adjoint else found


@dispatch_for_types(logdet, LinearOperator)
def _logdet(matrix: Any, name: str | None = None) -> Any:
    if not matrix._can_use_cholesky():
        raise ValueError("Expected matrix to be self-adjoint positive definite.")
    return matrix.log_abs_determinant(name)


@dispatch_for_types(matmul.matmul, LinearOperator)
def _matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,
    adjoint_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    if transpose_a or transpose_b:
        raise ValueError("Transposing not supported at this time.")
    if a_is_sparse or b_is_sparse:
        raise ValueError("Sparse methods not supported at this time.")
    if isinstance(a, LinearOperator):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b, name=name)
    return adjoint_of_matrix(b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a, name=name))


@dispatch_for_types(matrix_solve, LinearOperator)
def _solve(matrix: object, rhs: object, adjoint: bool = False, name: str | None = None) -> Any:
    if not isinstance(matrix, LinearOperator):
        raise ValueError("Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported.")
    return matrix.solve(rhs, adjoint=adjoint, name=name)


@dispatch_for_types(contraction.trace, LinearOperator)
def _trace(x: Any, name: str | None = None) -> Any:
    return x.trace(name)
