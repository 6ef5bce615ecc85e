"""Bijectors of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, dimension_value
from tfcompat._src.contrib.distributions.bijectors.composite import Chain
from tfcompat._src.contrib.distributions.bijectors.elementwise import AffineScalar, Softplus
from tfcompat._src.distributions.bijector import Bijector
from tfcompat._src.distributions.matrices import fill_triangular, fill_triangular_inverse
from tfcompat._src.distributions.util import pick_vector
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.diagonal import matrix_band_part, matrix_diag_part, matrix_set_diag
from tfcompat._src.ops.array.fill import zeros, zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import rank, reshape, shape, squeeze
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_none_equal, assert_positive
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.composed.rank_checks import assert_rank_at_least
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.linalg.decompose import cholesky
from tfcompat._src.ops.linalg.solve import matrix_triangular_solve
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.sequence import linspace
from tfcompat._src.ops.math.unary import absolute, log, sqrt


@export("contrib.distributions.bijectors.CholeskyOuterProduct")
class CholeskyOuterProduct(Bijector):
    """Y = X X^T of lower triangular X with a positive diagonal."""

    def __init__(self, validate_args: bool = False, name: str = "cholesky_outer_product") -> None:
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        if self.validate_args:
            is_matrix, sizes = assert_rank_at_least(x, 2), shape(x)
            x = with_dependencies([is_matrix, assert_equal(sizes[-2], sizes[-1])], x)
        x = matrix_band_part(x, -1, 0)
        return matmul(x, x, adjoint_b=True)

    def _inverse(self, y: Tensor) -> Tensor:
        return cholesky(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        """p log 2 + sum over i of (p - i) log X_ii."""
        diagonal = _as_rows(matrix_diag_part(x))
        if self.validate_args:
            is_matrix = assert_rank_at_least(x, 2, message="Input must be a (batch of) matrix.")
            sizes = shape(x)
            message = "Input must be a (batch of) square matrix."
            is_square = assert_equal(sizes[-2], sizes[-1], message=message)
            is_definite = assert_positive(diagonal, message="Input must be positive definite.")
            x = with_dependencies([is_matrix, is_square, is_definite], x)
        known = None if x.shape.ndims is None else dimension_value(x.shape[-1])
        count = shape(x)[-1] if known is None else known
        p = cast(count, dtype=x.dtype) if known is None else np.array(known, dtype=x.dtype.as_numpy_dtype)
        exponents = linspace(p, np.array(1.0, x.dtype.as_numpy_dtype), count)
        weighted = squeeze(matmul(log(diagonal), exponents[..., None]), axis=-1)
        found = p * np.log(2.0) + weighted
        if x.shape.ndims is not None:
            return squeeze(found, axis=-1) if x.shape.ndims == 2 else found
        sizes = shape(found)
        last = pick_vector(equal(rank(x), 2), np.array([], dtype=np.int32), sizes[-1:])
        return reshape(found, concat([sizes[:-1], last], 0))


def _as_rows(x: Tensor) -> Tensor:
    """`x`, as a matrix of one row where it is a vector."""
    if x.shape.ndims is not None:
        return x[None, :] if x.shape.ndims == 1 else x
    sizes = shape(x)
    extra = pick_vector(equal(rank(x), 1), [1], np.array([], dtype=np.int32))
    return reshape(x, concat([sizes[:-1], extra, sizes[-1:]], 0))


@export("contrib.distributions.bijectors.MatrixInverseTriL")
class MatrixInverseTriL(Bijector):
    """Y = X^-1 of lower triangular X."""

    def __init__(self, validate_args: bool = False, name: str = "matrix_inverse_tril") -> None:
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x: Tensor) -> Tensor:
        with control_dependencies(self._checks(x)):
            sizes = shape(x)
            one = eye(sizes[-1], batch_shape=sizes[:-2], dtype=x.dtype.base_dtype)
            return matrix_triangular_solve(x, one, lower=True)

    def _inverse(self, y: Tensor) -> Tensor:
        return self._forward(y)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        with control_dependencies(self._checks(x)):
            size = cast(shape(x)[-1], x.dtype.base_dtype)
            return -2.0 * size * reduce_sum(log(absolute(matrix_diag_part(x))), axis=-1)

    def _checks(self, x: Tensor) -> list:
        if not self.validate_args:
            return []
        sizes = shape(x)
        is_matrix = assert_rank_at_least(x, 2, message="Input must have rank at least 2.")
        is_square = assert_equal(sizes[-2], sizes[-1], message="Input must be a square matrix.")
        above = matrix_band_part(matrix_set_diag(x, zeros(sizes[:-1], dtype=x.dtype.base_dtype)), 0, -1)
        is_lower = assert_equal(above, zeros_like(above), message="Input must be lower triangular.")
        diagonal = matrix_diag_part(x)
        message = "Input must have all diagonal entries nonzero."
        return [is_matrix, is_square, is_lower, assert_none_equal(diagonal, zeros_like(diagonal), message=message)]


@export("contrib.distributions.bijectors.FillTriangular")
class FillTriangular(Bijector):
    """Y = fill_triangular(x): vectors [..., n (n + 1) / 2] to lower (or `upper`) triangular matrices [..., n, n]."""

    def __init__(self, upper: bool = False, validate_args: bool = False, name: str = "fill_triangular") -> None:
        self._upper = upper
        super().__init__(
            forward_min_event_ndims=1, inverse_min_event_ndims=2, validate_args=validate_args, name=name
        )

    def _forward(self, x: Tensor) -> Tensor:
        return fill_triangular(x, upper=self._upper)

    def _inverse(self, y: Tensor) -> Tensor:
        return fill_triangular_inverse(y, upper=self._upper)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return zeros_like(x[..., 0])

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return zeros_like(y[..., 0, 0])

    def _forward_event_shape(self, input_shape: TensorShape) -> TensorShape:
        count = dimension_value(input_shape[-1])
        n = None if count is None else vector_size_to_square_matrix_size(count, self.validate_args)
        return input_shape[:-1].concatenate([n, n])

    def _inverse_event_shape(self, output_shape: object) -> TensorShape:
        output_shape = TensorShape(output_shape)
        rows, columns = dimension_value(output_shape[-2]), dimension_value(output_shape[-1])
        if rows is None or columns is None:
            return output_shape[:-2].concatenate([None])
        if rows != columns:
            raise ValueError(f"Matrix must be square. (saw [{rows}, {columns}])")
        return output_shape[:-2].concatenate([rows * (rows + 1) // 2])

    def _forward_event_shape_tensor(self, input_shape: Tensor) -> Tensor:
        n = vector_size_to_square_matrix_size(input_shape[-1], self.validate_args)
        return concat([input_shape[:-1], [n, n]], axis=0)

    def _inverse_event_shape_tensor(self, output_shape: Tensor) -> Tensor:
        n = output_shape[-1]
        if self.validate_args:
            with control_dependencies([assert_equal(n, output_shape[-2], message="Matrix must be square.")]):
                n = identity(n)
        return concat([output_shape[:-2], [cast(n * (n + 1) / 2, output_shape.dtype)]], axis=0)


def vector_size_to_square_matrix_size(d: Any, validate_args: bool, name: str | None = None) -> Any:
    """The n with n (n + 1) / 2 = d; ValueError where the number `d` has none."""
    if isinstance(d, (float, int, np.generic, np.ndarray)):
        n = (-1 + np.sqrt(1 + 8 * d)) / 2.0
        if float(int(n)) != n:
            raise ValueError("Vector length is not a triangular number.")
        return int(n)
    with name_scope(name, "vector_size_to_square_matrix_size", [d]):
        n = (-1.0 + sqrt(1 + 8.0 * cast(d, dtypes.float32))) / 2.0
        if validate_args:
            rounded = cast(cast(n, dtypes.int32), dtypes.float32)
            with control_dependencies([assert_equal(rounded, n, message="Vector length is not a triangular number")]):
                n = identity(n)
        return cast(n, d.dtype)


@export("contrib.distributions.bijectors.TransformDiagonal")
class TransformDiagonal(Bijector):
    """Y = X with `diag_bijector` of its diagonal."""

    def __init__(
        self, diag_bijector: Bijector, validate_args: bool = False, name: str = "transform_diagonal"
    ) -> None:
        self._diag_bijector = diag_bijector
        super().__init__(
            forward_min_event_ndims=2, inverse_min_event_ndims=2, validate_args=validate_args, name=name
        )

    def _forward(self, x: Tensor) -> Tensor:
        return matrix_set_diag(x, self._diag_bijector.forward(matrix_diag_part(x)))

    def _inverse(self, y: Tensor) -> Tensor:
        return matrix_set_diag(y, self._diag_bijector.inverse(matrix_diag_part(y)))

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return self._diag_bijector.forward_log_det_jacobian(matrix_diag_part(x), event_ndims=1)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return self._diag_bijector.inverse_log_det_jacobian(matrix_diag_part(y), event_ndims=1)


@export("contrib.distributions.bijectors.ScaleTriL")
class ScaleTriL(Chain):
    """Vectors to lower triangular matrices whose diagonal is `diag_bijector` (softplus by default) plus `diag_shift`."""

    def __init__(
        self, diag_bijector: Bijector | None = None, diag_shift: object = 1e-5, validate_args: bool = False,
        name: str = "scale_tril",
    ) -> None:  # fmt: skip
        if diag_bijector is None:
            diag_bijector = Softplus(validate_args=validate_args)
        if diag_shift is not None:
            diag_bijector = Chain([AffineScalar(shift=diag_shift), diag_bijector])
        members = [TransformDiagonal(diag_bijector=diag_bijector), FillTriangular()]
        super().__init__(members, validate_args=validate_args, name=name)
