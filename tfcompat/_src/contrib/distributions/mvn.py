"""Multivariate normal distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.distributions.bijectors.affine import AffineLinearOperator
from tfcompat._src.contrib.distributions.distribution_util import (
    is_diagonal_scale,
    make_diag_scale,
    optional_tensor,
    shapes_from_loc_and_scale,
)  # fmt: skip
from tfcompat._src.distributions.kullback_leibler import RegisterKL
from tfcompat._src.distributions.normal import Normal
from tfcompat._src.distributions.transformed_distribution import TransformedDistribution
from tfcompat._src.distributions.util import dimension_size
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg.identity import LinearOperatorIdentity
from tfcompat._src.linalg.low_rank_update import LinearOperatorLowRankUpdate
from tfcompat._src.linalg.lower_triangular import LinearOperatorLowerTriangular
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.diagonal import matrix_diag, matrix_diag_part
from tfcompat._src.ops.array.fill import ones, zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import matrix_transpose
from tfcompat._src.ops.array.shape import broadcast_static_shape
from tfcompat._src.ops.composed.check_ops import assert_near
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.linalg.decompose import cholesky
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import absolute, sqrt, square
from tfcompat._src.ops.nn.activation import softplus

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class MultivariateNormalLinearOperator(TransformedDistribution):
    """The distribution of scale Z + loc with standard normal Z.

    Args:
      loc: Tensor [..., n], or None for 0.
      scale: LinearOperator [..., n, n].
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      ValueError: `scale` is missing. TypeError: it is not of floats.
    """

    def __init__(
        self, loc: Any = None, scale: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "MultivariateNormalLinearOperator",
    ) -> None:  # fmt: skip
        if scale is None:
            raise ValueError("Missing required `scale` parameter.")
        if not scale.dtype.is_floating:
            raise TypeError("`scale` parameter must have floating-point dtype.")
        with name_scope(name, values=[loc, *scale.graph_parents]) as name:
            loc = optional_tensor(loc, "loc")
            batch_shape, event_shape = shapes_from_loc_and_scale(loc, scale)
        super().__init__(
            distribution=Normal(loc=zeros([], dtype=scale.dtype), scale=ones([], dtype=scale.dtype)),
            bijector=AffineLinearOperator(shift=loc, scale=scale, validate_args=validate_args),
            batch_shape=batch_shape, event_shape=event_shape, validate_args=validate_args, name=name,
        )  # fmt: skip

    @property
    def loc(self) -> Tensor | None:
        """The mean, or None for 0."""
        return self.bijector.shift

    @property
    def scale(self) -> Any:
        """The linear operator."""
        return self.bijector.scale

    def _mean(self) -> Tensor:
        sizes = self.batch_shape.concatenate(self.event_shape)
        is_known = sizes.is_fully_defined()
        if not is_known:
            sizes = concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        if self.loc is None:
            return zeros(sizes, self.dtype)
        if is_known and sizes == self.loc.shape:
            return identity(self.loc)
        return identity(self.loc) + zeros(sizes, self.dtype)

    def _mode(self) -> Tensor:
        return self._mean()

    def _covariance(self) -> Tensor:
        if is_diagonal_scale(self.scale):
            return matrix_diag(square(self.scale.diag_part()))
        return self.scale.matmul(self.scale.to_dense(), adjoint_arg=True)

    def _diagonal_of_covariance(self) -> Tensor:
        is_symmetric = isinstance(self.scale, LinearOperatorLowRankUpdate) and self.scale.is_self_adjoint
        return matrix_diag_part(self.scale.matmul(self.scale.to_dense(), adjoint_arg=not is_symmetric))

    def _variance(self) -> Tensor:
        if is_diagonal_scale(self.scale):
            return square(self.scale.diag_part())
        return self._diagonal_of_covariance()

    def _stddev(self) -> Tensor:
        if is_diagonal_scale(self.scale):
            return absolute(self.scale.diag_part())
        return sqrt(self._diagonal_of_covariance())


@RegisterKL(MultivariateNormalLinearOperator, MultivariateNormalLinearOperator)
def _kl_mvn(
    a: MultivariateNormalLinearOperator, b: MultivariateNormalLinearOperator, name: str | None = None
) -> Tensor:
    def squared_norm(x: Tensor) -> Tensor:
        return reduce_sum(square(x), axis=[-2, -1])

    parents = [each for each in (a.loc, b.loc) if each is not None] + a.scale.graph_parents + b.scale.graph_parents
    with name_scope(name, "kl_mvn", values=parents):
        if is_diagonal_scale(a.scale) and is_diagonal_scale(b.scale):
            ratio = (a.stddev() / b.stddev())[..., None]
        else:
            ratio = b.scale.solve(a.scale.to_dense())
        volumes = b.scale.log_abs_determinant() - a.scale.log_abs_determinant()
        size = cast(a.scale.domain_dimension_tensor(), a.dtype)
        shift = squared_norm(b.scale.solve((b.mean() - a.mean())[..., None]))
        found = volumes + 0.5 * (-size + squared_norm(ratio) + shift)
        found.set_shape(broadcast_static_shape(a.batch_shape, b.batch_shape))
        return found


@export("contrib.distributions.MultivariateNormalDiag")
class MultivariateNormalDiag(MultivariateNormalLinearOperator):
    """The distribution of (diag(scale_diag) + scale_identity_multiplier I) Z + loc with standard normal Z.

    Args:
      loc: Tensor [..., n], or None for 0.
      scale_diag: Tensor [..., n].
      scale_identity_multiplier: Tensor [...]; the identity where neither is given.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      ValueError: neither `loc` nor `scale_diag` says how many dimensions there are.
    """

    def __init__(
        self, loc: Any = None, scale_diag: Any = None, scale_identity_multiplier: Any = None,
        validate_args: bool = False, allow_nan_stats: bool = True, name: str = "MultivariateNormalDiag",
    ) -> None:  # fmt: skip
        with name_scope(name) as name:
            with name_scope("init", values=[loc, scale_diag, scale_identity_multiplier]):
                scale = make_diag_scale(loc, scale_diag, scale_identity_multiplier)
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)


@export("contrib.distributions.MultivariateNormalDiagWithSoftplusScale")
class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """`MultivariateNormalDiag` with the diagonal softplus(scale_diag)."""

    def __init__(
        self, loc: object, scale_diag: object, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagWithSoftplusScale",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[scale_diag]) as name:
            super().__init__(
                loc, softplus(scale_diag), validate_args=validate_args, allow_nan_stats=allow_nan_stats, name=name
            )


@export("contrib.distributions.MultivariateNormalTriL")
class MultivariateNormalTriL(MultivariateNormalLinearOperator):
    """The distribution of scale_tril Z + loc with standard normal Z; of `loc` and `scale_tril` one may be None.

    Raises:
      ValueError: neither is given.
    """

    def __init__(
        self, loc: Any = None, scale_tril: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ) -> None:  # fmt: skip
        if loc is None and scale_tril is None:
            raise ValueError("Must specify one or both of `loc`, `scale_tril`.")
        with name_scope(name) as name:
            with name_scope("init", values=[loc, scale_tril]):
                loc, scale_tril = optional_tensor(loc, "loc"), optional_tensor(scale_tril, "scale_tril")
                if scale_tril is None:
                    scale = LinearOperatorIdentity(
                        num_rows=dimension_size(loc, -1), dtype=loc.dtype, is_self_adjoint=True,
                        is_positive_definite=True, assert_proper_shapes=validate_args,
                    )  # fmt: skip
                else:
                    scale = LinearOperatorLowerTriangular(
                        scale_tril, is_non_singular=True, is_self_adjoint=False, is_positive_definite=False
                    )
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)


@export("contrib.distributions.MultivariateNormalFullCovariance")
class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """The normal distribution with the mean `loc` and the covariance `covariance_matrix`, [..., n, n]."""

    def __init__(
        self, loc: object = None, covariance_matrix: TensorLike | None = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "MultivariateNormalFullCovariance",
    ) -> None:  # fmt: skip
        with name_scope(name) as name:
            with name_scope("init", values=[loc, covariance_matrix]):
                scale_tril = None
                if covariance_matrix is not None:
                    covariance = convert_to_tensor(covariance_matrix, name="covariance_matrix")
                    if validate_args:
                        message = "Matrix was not symmetric"
                        check = assert_near(covariance, matrix_transpose(covariance), message=message)
                        covariance = with_dependencies([check], covariance)
                    scale_tril = cholesky(covariance)
                super().__init__(loc, scale_tril, validate_args, allow_nan_stats, name)


@export("contrib.distributions.MultivariateNormalDiagPlusLowRank")
class MultivariateNormalDiagPlusLowRank(MultivariateNormalLinearOperator):
    """The distribution of (diag(d) + m I + U diag(p) U^T) Z + loc with standard normal Z.

    Args:
      loc: Tensor [..., n], or None for 0.
      scale_diag: d, [..., n].
      scale_identity_multiplier: m, [...].
      scale_perturb_factor: U, [..., n, r].
      scale_perturb_diag: p, [..., r]; ones by default.
      validate_args, allow_nan_stats, name: see `Distribution`.
    """

    def __init__(
        self, loc: TensorLike | None = None, scale_diag: TensorLike | None = None, scale_identity_multiplier: TensorLike | None = None,
        scale_perturb_factor: TensorLike | None = None, scale_perturb_diag: TensorLike | None = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "MultivariateNormalDiagPlusLowRank",
    ) -> None:  # fmt: skip
        given = [loc, scale_diag, scale_identity_multiplier, scale_perturb_factor, scale_perturb_diag]
        with name_scope(name) as name:
            with name_scope("init", values=given):
                has_low_rank = scale_perturb_factor is not None or scale_perturb_diag is not None
                scale = make_diag_scale(
                    loc=loc, scale_diag=scale_diag, scale_identity_multiplier=scale_identity_multiplier,
                    validate_args=validate_args, assert_positive=has_low_rank,
                )  # fmt: skip
                factor = optional_tensor(scale_perturb_factor, "scale_perturb_factor")
                perturb_diag = optional_tensor(scale_perturb_diag, "scale_perturb_diag")
                if has_low_rank:
                    scale = LinearOperatorLowRankUpdate(
                        scale, u=factor, diag_update=perturb_diag, is_diag_update_positive=perturb_diag is None,
                        is_non_singular=True, is_self_adjoint=True, is_positive_definite=True, is_square=True,
                    )  # fmt: skip
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)
