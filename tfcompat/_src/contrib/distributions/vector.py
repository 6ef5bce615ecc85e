"""Distributions of vectors: linear functions of vectors of independent Laplace, exponential, sinh-arcsinh or Student numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.distributions.bijectors import elementwise
from tfcompat._src.contrib.distributions.bijectors.affine import Affine, AffineLinearOperator
from tfcompat._src.contrib.distributions.bijectors.composite import Chain
from tfcompat._src.contrib.distributions.distribution_util import (
    is_diagonal_scale,
    make_diag_scale,
    maybe_check_scalar_distribution,
    optional_tensor,
    shapes_from_loc_and_scale,
)  # fmt: skip
from tfcompat._src.contrib.distributions.mvn import MultivariateNormalLinearOperator
from tfcompat._src.distributions.distribution import Distribution, parameter
from tfcompat._src.distributions.gamma import Exponential
from tfcompat._src.distributions.laplace import Laplace
from tfcompat._src.distributions.normal import Normal
from tfcompat._src.distributions.student_t import StudentT
from tfcompat._src.distributions.transformed_distribution import TransformedDistribution
from tfcompat._src.distributions.util import pick_vector
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.diagonal import matrix_diag
from tfcompat._src.ops.array.fill import ones, zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.unary import absolute, sqrt, square

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _check_scale(scale: Any) -> None:
    if scale is None:
        raise ValueError("Missing required `scale` parameter.")
    if not scale.dtype.is_floating:
        raise TypeError("`scale` parameter must have floating-point dtype.")


class _OfLinearOperator(MultivariateNormalLinearOperator):
    """scale Z + loc with independent numbers Z, whose variance is `_VARIANCE`."""

    _VARIANCE = 1.0
    _NESTED_SCOPE = False
    """Whether the name scope of the distribution is opened again inside itself, as 1.15 does for Laplace numbers."""

    def __init__(
        self, distribution: Any, loc: Any, scale: Any, validate_args: bool, allow_nan_stats: bool, name: str
    ) -> None:
        _check_scale(scale)
        with name_scope(name, values=[loc, *scale.graph_parents]) as scope:
            loc = optional_tensor(loc, "loc")
            batch_shape, event_shape = shapes_from_loc_and_scale(loc, scale)
            TransformedDistribution.__init__(
                self, distribution=distribution(scale.dtype),
                bijector=AffineLinearOperator(shift=loc, scale=scale, validate_args=validate_args),
                batch_shape=batch_shape, event_shape=event_shape, validate_args=validate_args,
                name=name if self._NESTED_SCOPE else scope,
            )  # fmt: skip

    def _scaled(self, x: Tensor, factor: float) -> Tensor:
        return x if factor == 1.0 else factor * x

    def _covariance(self) -> Tensor:
        if is_diagonal_scale(self.scale):
            return self._scaled(matrix_diag(square(self.scale.diag_part())), self._VARIANCE)
        return self._scaled(self.scale.matmul(self.scale.to_dense(), adjoint_arg=True), self._VARIANCE)

    def _variance(self) -> Tensor:
        if is_diagonal_scale(self.scale):
            return self._scaled(square(self.scale.diag_part()), self._VARIANCE)
        return self._scaled(self._diagonal_of_covariance(), self._VARIANCE)

    def _stddev(self) -> Tensor:
        deviation = np.sqrt(self._VARIANCE)
        if is_diagonal_scale(self.scale):
            return self._scaled(absolute(self.scale.diag_part()), deviation)
        return self._scaled(sqrt(self._diagonal_of_covariance()), deviation)


class VectorLaplaceLinearOperator(_OfLinearOperator):
    """scale Z + loc with independent Laplace numbers Z of mean 0 and scale 1; arguments as of a normal distribution."""

    _VARIANCE = 2.0
    _NESTED_SCOPE = True

    def __init__(
        self, loc: Any = None, scale: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "VectorLaplaceLinearOperator",
    ) -> None:  # fmt: skip
        super().__init__(
            lambda dtype: Laplace(loc=zeros([], dtype=dtype), scale=ones([], dtype=dtype)),
            loc, scale, validate_args, allow_nan_stats, name,
        )  # fmt: skip


@export("contrib.distributions.VectorLaplaceDiag")
class VectorLaplaceDiag(VectorLaplaceLinearOperator):
    """(diag(scale_diag) + scale_identity_multiplier I) Z + loc with independent Laplace numbers Z.

    Args:
      loc: Tensor [..., n], or None for 0.
      scale_diag: Tensor [..., n].
      scale_identity_multiplier: Tensor [...]; the identity where neither is given.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    def __init__(
        self, loc: TensorLike | None = None, scale_diag: TensorLike | None = None, scale_identity_multiplier: TensorLike | None = None,
        validate_args: bool = False, allow_nan_stats: bool = True, name: str = "VectorLaplaceDiag",
    ) -> None:  # fmt: skip
        scale = _diagonal_scale(name, loc, scale_diag, scale_identity_multiplier)
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)


def _diagonal_scale(name: str, loc: TensorLike, scale_diag: TensorLike, multiplier: TensorLike) -> Any:
    with name_scope(name), name_scope("init", values=[loc, scale_diag, multiplier]):
        return make_diag_scale(loc, scale_diag, multiplier)


class VectorExponentialLinearOperator(_OfLinearOperator):
    """scale Z + loc with independent exponential numbers Z of rate 1; arguments as of a normal distribution."""

    def __init__(
        self, loc: Any = None, scale: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "VectorExponentialLinearOperator",
    ) -> None:  # fmt: skip
        super().__init__(
            lambda dtype: Exponential(rate=ones([], dtype=dtype), allow_nan_stats=allow_nan_stats),
            loc, scale, validate_args, allow_nan_stats, name,
        )  # fmt: skip

    def _of_constant(self, vector: Any) -> Tensor:
        """scale v + loc for a vector of one number."""
        sizes = self.batch_shape.concatenate(self.event_shape)
        if not sizes.is_fully_defined():
            sizes = concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        found = self.scale.matvec(vector(sizes, self.dtype))
        return found if self.loc is None else identity(self.loc) + found

    def _mean(self) -> Tensor:
        return self._of_constant(ones)

    def _mode(self) -> Tensor:
        return self._of_constant(zeros)


@export("contrib.distributions.VectorExponentialDiag")
class VectorExponentialDiag(VectorExponentialLinearOperator):
    """(diag(scale_diag) + scale_identity_multiplier I) Z + loc with independent exponential numbers Z; see `VectorLaplaceDiag`."""

    def __init__(
        self, loc: TensorLike | None = None, scale_diag: TensorLike | None = None, scale_identity_multiplier: TensorLike | None = None,
        validate_args: bool = False, allow_nan_stats: bool = True, name: str = "VectorExponentialDiag",
    ) -> None:  # fmt: skip
        with name_scope(name) as name:
            with name_scope("init", values=[loc, scale_diag, scale_identity_multiplier]):
                scale = make_diag_scale(loc, scale_diag, scale_identity_multiplier)
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)


@export("contrib.distributions.VectorSinhArcsinhDiag")
class VectorSinhArcsinhDiag(TransformedDistribution):
    """C sinh((arcsinh(Z) + skewness) tailweight) + loc with C = 2 scale / (its value at 2 without skewness).

    Args:
      loc: Tensor [..., n], or None for 0.
      scale_diag: Tensor [..., n].
      scale_identity_multiplier: Tensor [...].
      skewness: float Tensor; 0 by default.
      tailweight: float Tensor; 1 by default.
      distribution: of the numbers in Z; standard normal by default.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    def __init__(
        self, loc: TensorLike | None = None, scale_diag: TensorLike | None = None, scale_identity_multiplier: TensorLike | None = None, skewness: object = None,
        tailweight: object = None, distribution: Distribution | None = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "MultivariateNormalLinearOperator",
    ) -> None:  # fmt: skip
        values = [loc, scale_diag, scale_identity_multiplier, skewness, tailweight]
        with name_scope(name, values=values) as name:
            loc = optional_tensor(loc, "loc")
            is_skewed = skewness is not None
            scale = make_diag_scale(loc, scale_diag, scale_identity_multiplier)
            batch_shape, event_shape = shapes_from_loc_and_scale(loc, scale)
            diagonal = scale.diag_part()
            dtype = diagonal.dtype
            if distribution is None:
                distribution = Normal(
                    loc=zeros([], dtype=dtype), scale=ones([], dtype=dtype), allow_nan_stats=allow_nan_stats
                )
            else:
                checks = maybe_check_scalar_distribution(distribution, dtype, validate_args)
                diagonal = with_dependencies(checks, diagonal) if checks else diagonal
            skewness = convert_to_tensor(skewness if is_skewed else 0.0, dtype=dtype, name="skewness")
            tailweight = convert_to_tensor(1.0 if tailweight is None else tailweight, dtype=dtype, name="tailweight")
            function = unskewed = elementwise.SinhArcsinh(skewness=skewness, tailweight=tailweight)
            if is_skewed:
                unskewed = elementwise.SinhArcsinh(skewness=dtype.as_numpy_dtype(0.0), tailweight=tailweight)
            factor = 2 * diagonal / unskewed.forward(convert_to_tensor(2, dtype=dtype))
            affine = Affine(shift=loc, scale_diag=factor, validate_args=validate_args)
            super().__init__(
                distribution=distribution, bijector=Chain([affine, function]), batch_shape=batch_shape,
                event_shape=event_shape, validate_args=validate_args, name=name,
            )  # fmt: skip
        self._loc, self._scale, self._tailweight, self._skewness = loc, scale, tailweight, skewness

    loc = parameter("loc", "What is added, or None.")
    scale = parameter("scale", "The linear operator before it is divided.")
    tailweight = parameter("tailweight", "How heavy the tails are.")
    skewness = parameter("skewness", "How skewed it is.")


class VectorStudentT(TransformedDistribution):
    """scale Z + loc with independent Student numbers Z of `df` degrees of freedom.

    Args:
      df: Tensor [...].
      loc: Tensor [..., n], or None for 0.
      scale_identity_multiplier, scale_diag, scale_tril, scale_perturb_factor, scale_perturb_diag: see the bijector Affine.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    def __init__(
        self, df: object, loc: object = None, scale_identity_multiplier: object = None, scale_diag: object = None,
        scale_tril: object = None, scale_perturb_factor: object = None, scale_perturb_diag: object = None,
        validate_args: bool = False, allow_nan_stats: bool = True, name: str = "VectorStudentT",
    ) -> None:  # fmt: skip
        scales = [scale_identity_multiplier, scale_diag, scale_tril, scale_perturb_factor, scale_perturb_diag]
        with name_scope(name) as name:
            with name_scope("init", values=[df, loc, *scales]):
                affine = Affine(loc, *scales, validate_args=validate_args)
                zero, one = zeros([], dtype=affine.dtype), ones([], dtype=affine.dtype)
                distribution = StudentT(df=df, loc=zero, scale=one)
                batch_shape, event_shape = shapes_from_loc_and_scale(affine.shift, affine.scale)
                is_one = distribution.is_scalar_batch()
                batch_shape = pick_vector(is_one, batch_shape, constant([], dtype=dtypes.int32))
                super().__init__(
                    distribution=distribution, bijector=affine, batch_shape=batch_shape, event_shape=event_shape,
                    validate_args=validate_args, name=name,
                )  # fmt: skip

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.distribution.df

    @property
    def loc(self) -> Tensor | None:
        """What is added, or None."""
        return self.bijector.shift

    @property
    def scale(self) -> Any:
        """The linear operator."""
        return self.bijector.scale
