"""Wishart distributions, of positive definite matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions.distribution import FULLY_REPARAMETERIZED, Distribution, parameter
from tfcompat._src.distributions.util import assert_symmetric, gen_new_seed
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.linalg.lower_triangular import LinearOperatorLowerTriangular
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.diagonal import matrix_band_part, matrix_diag_part, matrix_set_diag
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import expand_dims, rank, reshape, shape
from tfcompat._src.ops.array.slice import strided_slice
from tfcompat._src.ops.composed.check_ops import (
    assert_equal,
    assert_less_equal,
    assert_positive,
    assert_same_float_dtype,
)  # fmt: skip
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.linalg.decompose import cholesky
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import less
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.sequence import arange, linspace
from tfcompat._src.ops.math.special import digamma, lgamma
from tfcompat._src.ops.math.unary import exp, log, sqrt, square
from tfcompat._src.ops.random.stateful import random_gamma, random_normal

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class _WishartLinearOperator(Distribution):
    """det(X)^((df - k - 1) / 2) exp(-trace(S^-1 X) / 2) up to a factor, with S = scale_operator scale_operator^T, [k, k].

    Args:
      df: degrees of freedom, at least k.
      scale_operator: square LinearOperator of floats.
      cholesky_input_output_matrices: whether values and samples are Cholesky factors of X.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      TypeError: the operator is not of floats. ValueError: it is not square, or `df` is known to be too small.
    """

    def __init__(
        self, df: Any, scale_operator: LinearOperator, cholesky_input_output_matrices: bool = False,
        validate_args: bool = False, allow_nan_stats: bool = True, name: str | None = None,
    ) -> None:  # fmt: skip
        self._cholesky_input_output_matrices = cholesky_input_output_matrices
        with name_scope(name) as name:
            with name_scope("init", values=[df, scale_operator]):
                if not scale_operator.dtype.is_floating:
                    raise TypeError(f"scale_operator.dtype={scale_operator.dtype} is not a floating-point type")
                if not scale_operator.is_square:
                    raise ValueError("scale_operator must be square.")
                dtype = scale_operator.dtype
                self._scale_operator = scale_operator
                self._df = convert_to_tensor(df, dtype=dtype, name="df")
                assert_same_float_dtype((self._df, scale_operator))
                size = scale_operator.shape.as_list()[-1] if scale_operator.shape.ndims is not None else None
                if size is None:
                    self._dimension = cast(scale_operator.domain_dimension_tensor(), dtype=dtype, name="dimension")
                else:
                    self._dimension = convert_to_tensor(size, dtype=dtype, name="dimension")
                self._df = self._checked_df(validate_args)
        super().__init__(
            dtype=dtype, validate_args=validate_args, allow_nan_stats=allow_nan_stats,
            reparameterization_type=FULLY_REPARAMETERIZED,
            graph_parents=[self._df, self._dimension, *scale_operator.graph_parents], name=name,
        )  # fmt: skip

    df = parameter("df", "The degrees of freedom.")
    scale_operator = parameter("scale_operator", "The linear operator.")
    cholesky_input_output_matrices = parameter("cholesky_input_output_matrices", "Whether values are Cholesky factors.")
    dimension = parameter("dimension", "k, of the dtype of samples.")

    def _checked_df(self, validate_args: bool) -> Tensor:
        df, size = constant_value(self._df), constant_value(self._dimension)
        if df is not None and size is not None:
            if (np.asarray(df) < size).any():
                raise ValueError(
                    f"Degrees of freedom (df = {np.atleast_1d(df)}) cannot be less than dimension of scale matrix "
                    f"(scale.dimension = {size})"
                )
        elif validate_args:
            message = (
                f"Degrees of freedom (df = {self._dimension}) cannot be less than dimension of scale matrix "
                f"(scale.dimension = {self._df})"
            )
            return with_dependencies([assert_less_equal(self._dimension, self._df, message=message)], self._df)
        return self._df

    def _square_scale(self) -> Tensor:
        return self.scale_operator.matmul(self.scale_operator.to_dense(), adjoint_arg=True)

    def scale(self) -> Tensor:
        """S, or its Cholesky factor where values are factors."""
        return self.scale_operator.to_dense() if self.cholesky_input_output_matrices else self._square_scale()

    def _event_shape_tensor(self) -> Tensor:
        size = self.scale_operator.domain_dimension_tensor()
        return stack([size, size])

    def _event_shape(self) -> TensorShape:
        size = self.scale_operator.domain_dimension
        return TensorShape([size, size])

    def _batch_shape_tensor(self) -> Tensor:
        return self.scale_operator.batch_shape_tensor()

    def _batch_shape(self) -> TensorShape:
        return self.scale_operator.batch_shape

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        """By Bartlett's decomposition."""
        batch_shape, event_shape = self.batch_shape_tensor(), self.event_shape_tensor()
        ndims = shape(batch_shape)[0] + 3
        x = random_normal(
            shape=concat([[n], batch_shape, event_shape], 0), mean=0.0, stddev=1.0, dtype=self.dtype, seed=seed
        )
        df = self.df * ones(self.scale_operator.batch_shape_tensor(), dtype=self.df.dtype.base_dtype)
        on_diagonal = random_gamma(
            shape=[n], alpha=self._multi_gamma_sequence(0.5 * df, self.dimension), beta=0.5, dtype=self.dtype,
            seed=gen_new_seed(seed, "wishart"),
        )  # fmt: skip
        x = matrix_set_diag(matrix_band_part(x, -1, 0), sqrt(on_diagonal))
        x = transpose(x, concat([arange(1, ndims), [0]], 0))
        x = self.scale_operator.matmul(reshape(x, concat([batch_shape, [event_shape[0]], [-1]], 0)))
        x = reshape(x, concat([batch_shape, event_shape, [n]], 0))
        x = transpose(x, concat([[ndims - 1], arange(0, ndims - 1)], 0))
        return x if self.cholesky_input_output_matrices else matmul(x, x, adjoint_b=True)

    def _log_prob(self, x: Tensor) -> Tensor:
        factor = x if self.cholesky_input_output_matrices else cholesky(x)
        batch_shape, event_shape = self.batch_shape_tensor(), self.event_shape_tensor()
        ndims = rank(factor)
        sample_ndims = ndims - shape(batch_shape)[0] - 2
        sample_shape = strided_slice(shape(factor), [0], [sample_ndims])
        solved = transpose(factor, concat([arange(sample_ndims, ndims), arange(0, sample_ndims)], 0))
        columns = concat((batch_shape, (cast(self.dimension, dtype=dtypes.int32), -1)), 0)
        solved = self.scale_operator.solve(reshape(solved, columns))
        solved = reshape(solved, concat([batch_shape, event_shape, sample_shape], 0))
        order = concat([arange(ndims - sample_ndims, ndims), arange(0, ndims - sample_ndims)], 0)
        trace = reduce_sum(square(transpose(solved, order)), axis=[-2, -1])
        half_log_det = reduce_sum(log(matrix_diag_part(factor)), axis=[-1])
        found = (self.df - self.dimension - 1.0) * half_log_det - 0.5 * trace - self.log_normalization()
        if x.shape.ndims is not None:
            found.set_shape(x.shape[:-2])
        if found.shape.ndims is not None and self.batch_shape.ndims:
            found.shape[-self.batch_shape.ndims :].merge_with(self.batch_shape)
        return found

    def _prob(self, x: Tensor) -> Tensor:
        return exp(self._log_prob(x))

    def _entropy(self) -> Tensor:
        half_next, half_df = 0.5 * self.dimension + 0.5, 0.5 * self.df
        return (
            self.dimension * (half_df + half_next * math.log(2.0))
            + 2 * half_next * self.scale_operator.log_abs_determinant()
            + self._multi_lgamma(half_df, self.dimension)
            + (half_next - half_df) * self._multi_digamma(half_df, self.dimension)
        )

    def _times_scale(self, factor: Tensor) -> Tensor:
        """`factor` S, or the Cholesky factor of that."""
        if self.cholesky_input_output_matrices:
            return sqrt(factor) * self.scale_operator.to_dense()
        return factor * self._square_scale()

    def _mean(self) -> Tensor:
        return self._times_scale(self.df)

    def _variance(self) -> Tensor:
        x = sqrt(self.df) * self._square_scale()
        d = expand_dims(matrix_diag_part(x), -1)
        found = square(x) + matmul(d, d, adjoint_b=True)
        return cholesky(found) if self.cholesky_input_output_matrices else found

    def _stddev(self) -> Tensor:
        if self.cholesky_input_output_matrices:
            raise ValueError("Computing std. dev. when is cholesky_input_output_matrices=True does not make sense.")
        return cholesky(self.variance())

    def _mode(self) -> Tensor:
        s = self.df - self.dimension - 1.0
        return self._times_scale(where_v2(less(s, 0.0), constant(float("NaN"), dtype=self.dtype, name="nan"), s))

    def mean_log_det(self, name: str = "mean_log_det") -> Tensor:
        """The mean of log det X."""
        with self._name_scope(name):
            return (
                self._multi_digamma(0.5 * self.df, self.dimension) + self.dimension * math.log(2.0)
                + 2 * self.scale_operator.log_abs_determinant()
            )  # fmt: skip

    def log_normalization(self, name: str = "log_normalization") -> Tensor:
        """The logarithm of what the density is divided by."""
        with self._name_scope(name):
            return (
                self.df * self.scale_operator.log_abs_determinant() + 0.5 * self.df * self.dimension * math.log(2.0)
                + self._multi_lgamma(0.5 * self.df, self.dimension)
            )  # fmt: skip

    def _multi_gamma_sequence(self, a: Tensor, p: Tensor, name: str = "multi_gamma_sequence") -> Tensor:
        """a, a - 1/2, ..., a - (p - 1)/2."""
        with self._name_scope(name, values=[a, p]):
            steps = linspace(constant(0.0, dtype=self.dtype), 0.5 - 0.5 * p, cast(p, dtypes.int32))
            return steps + expand_dims(a, [-1])

    def _multi_lgamma(self, a: Tensor, p: Tensor, name: str = "multi_lgamma") -> Tensor:
        with self._name_scope(name, values=[a, p]):
            terms = self._multi_gamma_sequence(a, p)
            return 0.25 * p * (p - 1.0) * math.log(math.pi) + reduce_sum(lgamma(terms), axis=[-1])

    def _multi_digamma(self, a: Tensor, p: Tensor, name: str = "multi_digamma") -> Tensor:
        with self._name_scope(name, values=[a, p]):
            return reduce_sum(digamma(self._multi_gamma_sequence(a, p)), axis=[-1])


def _triangular(factor: Tensor) -> LinearOperatorLowerTriangular:
    return LinearOperatorLowerTriangular(tril=factor, is_non_singular=True, is_positive_definite=True, is_square=True)


@export("contrib.distributions.WishartCholesky")
class WishartCholesky(_WishartLinearOperator):
    """The Wishart distribution with the lower triangular Cholesky factor `scale` of S, [..., k, k].

    Args:
      df: degrees of freedom, at least k.
      scale: lower triangular with a positive diagonal.
      cholesky_input_output_matrices: whether values and samples are Cholesky factors.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    def __init__(
        self, df: object, scale: TensorLike, cholesky_input_output_matrices: bool = False, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "WishartCholesky",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[scale]) as name:
            with name_scope("init", values=[scale]):
                scale = convert_to_tensor(scale)
                if validate_args:
                    is_positive = assert_positive(matrix_diag_part(scale), message="scale must be positive definite")
                    is_square = assert_equal(shape(scale)[-1], shape(scale)[-2], message="scale must be square")
                    scale = with_dependencies([is_positive, is_square], scale)
            super().__init__(
                df=df, scale_operator=_triangular(scale), cholesky_input_output_matrices=cholesky_input_output_matrices,
                validate_args=validate_args, allow_nan_stats=allow_nan_stats, name=name,
            )  # fmt: skip


@export("contrib.distributions.WishartFull")
class WishartFull(_WishartLinearOperator):
    """The Wishart distribution with the symmetric positive definite matrix `scale`, [..., k, k]; see `WishartCholesky`."""

    def __init__(
        self, df: object, scale: TensorLike, cholesky_input_output_matrices: bool = False, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "WishartFull",
    ) -> None:  # fmt: skip
        with name_scope(name) as name:
            with name_scope("init", values=[scale]):
                scale = convert_to_tensor(scale)
                factor = cholesky(assert_symmetric(scale) if validate_args else scale)
                if validate_args:
                    factor = with_dependencies([assert_positive(matrix_diag_part(factor))], factor)
        super().__init__(
            df=df, scale_operator=_triangular(factor), cholesky_input_output_matrices=cholesky_input_output_matrices,
            validate_args=validate_args, allow_nan_stats=allow_nan_stats, name=name,
        )  # fmt: skip
