"""Vectors whose mean and scale lie between two given ones, by quadrature over where (Dillon and Langmore, "Quadrature Compound")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, dimension_value
from tfcompat._src.contrib.distributions.bijectors.affine import AffineLinearOperator
from tfcompat._src.contrib.distributions.bijectors.vectors import SoftmaxCentered
from tfcompat._src.contrib.distributions.distribution_util import maybe_check_scalar_distribution
from tfcompat._src.contrib.distributions.poisson_lognormal import (
    Scheme,
    batch_rank,
    concat_vectors,
    first_axis_last,
    gauss_hermite_rule,
    quantile_edges,
)
from tfcompat._src.distributions.categorical import Categorical
from tfcompat._src.distributions.distribution import FULLY_REPARAMETERIZED, Distribution, parameter
from tfcompat._src.distributions.normal import Normal
from tfcompat._src.distributions.util import gen_new_seed, pad, pick_vector
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg.addition import add_operators
from tfcompat._src.linalg.diag import LinearOperatorDiag
from tfcompat._src.linalg.full_matrix import LinearOperatorFullMatrix
from tfcompat._src.linalg.identity import LinearOperatorIdentity, LinearOperatorScaledIdentity
from tfcompat._src.linalg.lower_triangular import LinearOperatorLowerTriangular
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.diagonal import matrix_diag_part
from tfcompat._src.ops.array.fill import fill, ones, ones_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack, tile
from tfcompat._src.ops.array.shape import broadcast_dynamic_shape, broadcast_static_shape, rank, reshape, shape
from tfcompat._src.ops.composed.check_ops import assert_equal
from tfcompat._src.ops.composed.rank_checks import assert_rank_at_least
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_logsumexp, reduce_prod, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import log, square
from tfcompat._src.ops.nn.softmax import softmax

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _two(values: Any, what: str) -> None:
    if len(values) != 2:
        raise NotImplementedError(f"Mixtures are built of two parts only, as in 1.15; {what} has {len(values)}.")


def _checked(value: object, dtype: Any, name: str, validate_args: bool) -> Tensor:
    """The parameter of a scheme as a tensor whose last dimension is one; a run checks what is not known before."""
    value = convert_to_tensor(value, dtype=dtype, name=name)
    if value.shape.ndims == 0:
        raise ValueError(f"{name} must be a vector, or a batch of vectors, but is a scalar.")
    last = dimension_value(value.shape.with_rank_at_least(1)[-1])
    if last is not None:
        _two(range(last + 1), f"a mixture with {name} of the shape {value.shape}")
    checks = []
    if validate_args and value.shape.ndims is None:
        checks.append(assert_rank_at_least(value, 1, message=f"{name} must be a vector, or a batch of vectors."))
    if validate_args and last is None:
        checks.append(assert_equal(shape(value)[-1], 1, message=f"The last dimension of {name} must be 1."))
    return with_dependencies(checks, value) if checks else value


@export("contrib.distributions.quadrature_scheme_softmaxnormal_gauss_hermite")
def quadrature_scheme_softmaxnormal_gauss_hermite(
    normal_loc: TensorLike, normal_scale: TensorLike, quadrature_size: int, validate_args: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The points and weights of Gauss-Hermite quadrature for the softmax of a normal variable.

    Args:
      normal_loc: float Tensor [batch..., 1].
      normal_scale: float Tensor that fits it.
      quadrature_size: how many points.
      validate_args: whether shapes are checked in a run.
      name: name scope.

    Returns:
      (points of the simplex [batch..., 2, quadrature_size], weights [quadrature_size]).

    Raises:
      ValueError: a parameter is a scalar. NotImplementedError: its last dimension is not 1.
    """
    with name_scope(name, "quadrature_scheme_softmaxnormal_gauss_hermite", [normal_loc, normal_scale]):
        normal_loc = convert_to_tensor(normal_loc, name="normal_loc")
        dtype = normal_loc.dtype.base_dtype
        normal_scale = _checked(normal_scale, dtype, "normal_scale", validate_args)
        grid, probs = gauss_hermite_rule(quadrature_size, dtype)
        points = normal_loc[..., None] + np.sqrt(2.0) * normal_scale[..., None] * grid
        return softmax(-pad(points, axis=-2, front=True), axis=-2), probs


@export("contrib.distributions.quadrature_scheme_softmaxnormal_quantiles")
def quadrature_scheme_softmaxnormal_quantiles(
    normal_loc: TensorLike, normal_scale: TensorLike, quadrature_size: int, validate_args: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Points in the middle between quantiles of the softmax of a normal variable, with equal weights.

    Arguments, results and errors are those of `quadrature_scheme_softmaxnormal_gauss_hermite`.
    """
    with name_scope(name, "softmax_normal_grid_and_probs", [normal_loc, normal_scale]):
        normal_loc = convert_to_tensor(normal_loc, name="normal_loc")
        normal_scale = _checked(normal_scale, normal_loc.dtype.base_dtype, "normal_scale", validate_args)
        distribution = Normal(loc=normal_loc, scale=normal_scale)
        quantiles = SoftmaxCentered().forward(quantile_edges(distribution, quadrature_size))
        quantiles = first_axis_last(quantiles, batch_rank(distribution))
        grid = (quantiles[..., :-1] + quantiles[..., 1:]) / 2.0
        batch = distribution.batch_shape.with_rank_at_least(1)
        parts = dimension_value(batch[-1])
        grid.set_shape(batch[:-1].concatenate([None if parts is None else parts + 1, quadrature_size]))
        return grid, fill(dims=[quadrature_size], value=1.0 / cast(quadrature_size, distribution.dtype))


def _points(grid: Tensor) -> int:
    count = dimension_value(grid.shape.with_rank_at_least(1)[-1])
    if count is None:
        raise ValueError("The number of quadrature points must be known when the graph is built.")
    return count


def interpolate_loc(grid: Tensor, loc: Any) -> list[Tensor | None]:
    """For each point [batch..., 2] of the grid the mean between the two of `loc`; None stands for zeros."""
    _two(loc, "loc")
    with name_scope("interpolate_loc", values=[grid, loc]):
        if loc[0] is None and loc[1] is None:
            return [None] * _points(grid)
        weights = grid[..., None, :, :]
        first, second = (None if each is None else each[..., None] for each in loc)
        if first is None:
            between = weights[..., 1, :] * second
        elif second is None:
            between = weights[..., 0, :] * first
        else:
            between = weights[..., 0, :] * (first - second) + second
        return [between[..., number] for number in range(_points(grid))]


def interpolate_scale(grid: Tensor, scale: Any) -> list[Any]:
    """For each point [batch..., 2] of the grid the operator between the two of `scale`."""
    _two(scale, "scale")
    with name_scope("interpolate_scale", values=[grid]):
        return [add_operators([linop_scale(grid[..., k, q], each) for k, each in enumerate(scale)])[0] for q in range(_points(grid))]


def linop_scale(w: Tensor, op: object) -> Any:
    """The operator times numbers [batch...]; NotImplementedError for an operator of another class than those below."""
    properties = {key: getattr(op, key) for key in ("is_non_singular", "is_self_adjoint", "is_positive_definite")}
    with name_scope("linop_scale", values=[w]):
        if isinstance(op, LinearOperatorScaledIdentity):
            return LinearOperatorScaledIdentity(op.range_dimension_tensor(), w * op.multiplier, **properties)
        if isinstance(op, LinearOperatorIdentity):
            return LinearOperatorScaledIdentity(op.range_dimension_tensor(), w, **properties)
        if isinstance(op, LinearOperatorDiag):
            return LinearOperatorDiag(w[..., None] * op.diag_part(), **properties)
        if isinstance(op, LinearOperatorLowerTriangular):
            return LinearOperatorLowerTriangular(w[..., None, None] * op.to_dense(), **properties)
    raise NotImplementedError(f"A mixture takes scales that are identities, diagonal or lower triangular, not {type(op).__name__}.")


class _Shapes:
    """The batch and event shape of a mixture, as far as they are known, and as tensors."""

    def __init__(self, grid: Tensor, affine: list[AffineLinearOperator]) -> None:
        batches, events = [(grid.shape[:-2], shape(grid)[:-2])], []
        for each in affine:
            if each.shift is not None:
                batches.append((each.shift.shape[:-1], shape(each.shift)[:-1]))
                events.append((each.shift.shape[-1:], shape(each.shift)[-1:]))
            if each.scale is not None:
                batches.append((each.scale.batch_shape, each.scale.batch_shape_tensor()))
                events.append((TensorShape([each.scale.range_dimension]), each.scale.range_dimension_tensor()[None]))
        self.batch, self.batch_tensor = self._joined(batches)
        self.event, self.event_tensor = self._joined(events)

    @staticmethod
    def _joined(pairs: list[tuple[TensorShape, Tensor]]) -> tuple[TensorShape, Tensor]:
        static, dynamic = pairs[0]
        for other, tensor in pairs[1:]:
            static, dynamic = broadcast_static_shape(static, other), broadcast_dynamic_shape(dynamic, tensor)
        return static, dynamic


def _sum(values: list[Any]) -> Any:
    return None if not values else sum(values[1:], values[0])


@export("contrib.distributions.VectorDiffeomixture")
class VectorDiffeomixture(Distribution):
    """Vectors `scale x + loc` of independent x, where loc and scale lie between two given ones as the softmax of a normal variable says.

    Args:
      mix_loc: float Tensor [batch..., 1]; the larger, the nearer to the first part.
      temperature: float Tensor that fits it; the smaller, the more often one part rules.
      distribution: scalar distribution of x.
      loc: list of two Tensors [batch..., d], None for zeros; None for both.
      scale: list of two positive definite LinearOperators [batch..., d, d].
      quadrature_size: how many points.
      quadrature_fn: (loc, scale, quadrature_size, validate_args) -> (points of the simplex, weights).
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      ValueError: there are fewer than two scales, or another number of means, or a scale may not be positive definite. TypeError: dtypes
      differ. NotImplementedError: there are more than two parts.
    """

    def __init__(
        self, mix_loc: TensorLike, temperature: TensorLike, distribution: Distribution, loc: Any = None, scale: Any = None, quadrature_size: int = 8,
        quadrature_fn: Scheme = quadrature_scheme_softmaxnormal_quantiles, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "VectorDiffeomixture",
    ) -> None:  # fmt: skip
        checks = {"validate_args": validate_args, "allow_nan_stats": allow_nan_stats}
        with name_scope(name, values=[mix_loc, temperature]) as name:
            if not scale or len(scale) < 2:
                raise ValueError("scale must be a list of LinearOperators, one for each part of the mixture, two at least.")
            loc = [None] * len(scale) if loc is None else loc
            if len(loc) != len(scale):
                raise ValueError(f"There are {len(loc)} of loc, but {len(scale)} of scale; each part of the mixture has one.")
            dtype = scale[0].dtype.base_dtype
            loc = [None if each is None else convert_to_tensor(each, dtype=dtype, name=f"loc{k}") for k, each in enumerate(loc)]
            self._check_scales(scale, dtype, validate_args)
            self._endpoint_affine = self._affine(loc, scale, "endpoint", validate_args)
            _two(scale, "scale")
            mix_loc = convert_to_tensor(mix_loc, dtype=dtype, name="mix_loc")
            temperature = convert_to_tensor(temperature, dtype=dtype, name="temperature")
            self._grid, probs = quadrature_fn(mix_loc / temperature, 1.0 / temperature, quadrature_size, validate_args)
            self._mixture_distribution = Categorical(logits=log(probs), **checks)
            asserts = maybe_check_scalar_distribution(distribution, dtype, validate_args)
            if asserts:
                self._grid = with_dependencies(asserts, self._grid)
            self._distribution = distribution
            between = interpolate_loc(self._grid, loc), interpolate_scale(self._grid, scale)
            self._interpolated_affine = self._affine(*between, "interpolated", validate_args)
            self._shapes = _Shapes(self._grid, self._endpoint_affine)
            parents = [*distribution._graph_parents, *(each for each in loc if each is not None), *(p for s in scale for p in s.graph_parents)]
            super().__init__(dtype=dtype, reparameterization_type=FULLY_REPARAMETERIZED, graph_parents=parents, name=name, **checks)

    @staticmethod
    def _check_scales(scale: Any, dtype: dtypes.DType, validate_args: bool) -> None:
        for k, each in enumerate(scale):
            if validate_args and not each.is_positive_definite:
                raise ValueError(f"scale[{k}] must be positive definite, but its is_positive_definite is {each.is_positive_definite}.")
            if each.dtype.base_dtype != dtype:
                raise TypeError(f"scale[{k}] is of {each.dtype.base_dtype.name}, but scale[0] of {dtype.name}; they must be of one dtype.")

    @staticmethod
    def _affine(loc: Any, scale: Any, kind: str, validate_args: bool) -> list[AffineLinearOperator]:
        pairs = enumerate(zip(loc, scale, strict=True))
        return [AffineLinearOperator(m, s, validate_args=validate_args, name=f"{kind}_affine_{k}") for k, (m, s) in pairs]

    mixture_distribution = parameter("mixture_distribution", "The distribution over the points.")
    distribution = parameter("distribution", "The distribution of x.")
    grid = parameter("grid", "The points, [batch..., 2, quadrature_size].")
    endpoint_affine = parameter("endpoint_affine", "The affine map of each part.")
    interpolated_affine = parameter("interpolated_affine", "The affine map at each point.")

    def _batch_shape_tensor(self) -> Tensor:
        return self._shapes.batch_tensor

    def _batch_shape(self) -> TensorShape:
        return self._shapes.batch

    def _event_shape_tensor(self) -> Tensor:
        return self._shapes.event_tensor

    def _event_shape(self) -> TensorShape:
        return self._shapes.event

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        sizes = concat_vectors([n], self.batch_shape_tensor(), self.event_shape_tensor())
        first, second = (each.forward(x) for x in [self.distribution.sample(sizes, seed=seed)] for each in self.endpoint_affine)
        batch_size, mixed_size = self._size(self), self._size(self.mixture_distribution)
        none = np.int32([])
        extra = pick_vector(self.is_scalar_batch(), none, [batch_size // mixed_size])
        ids = self.mixture_distribution.sample(concat_vectors([n], extra), seed=gen_new_seed(seed, "vector_diffeomixture"))
        ids = reshape(ids, shape=concat_vectors([n], pick_vector(self.is_scalar_batch(), none, np.int32([-1]))))
        stride = self.grid.shape.with_rank_at_least(2)[-2:].num_elements()
        stride = reduce_prod(shape(self.grid)[-2:]) if stride is None else stride
        weight = gather(reshape(self.grid, [-1]), ids + arange(0, batch_size * stride, stride, dtype=ids.dtype))
        weight = reshape(weight, shape=concat_vectors([-1], self.batch_shape_tensor(), [1]))
        return weight * (first - second) + second

    @staticmethod
    def _size(distribution: Distribution) -> Any:
        """How many elements a batch has, a number where it is known."""
        size = distribution.batch_shape.num_elements()
        return reduce_prod(distribution.batch_shape_tensor()) if size is None else size

    def _log_prob(self, x: Tensor) -> Tensor:
        y = stack([each.inverse(x) for each in self.interpolated_affine], axis=-1)
        log_prob = reduce_sum(self.distribution.log_prob(y), axis=-2)
        event_ndims = rank(self.event_shape_tensor())
        jacobians = stack([each.forward_log_det_jacobian(x, event_ndims=event_ndims) for each in self.interpolated_affine], axis=-1)
        return reduce_logsumexp(self.mixture_distribution.logits - jacobians + log_prob, axis=-1)

    # ---- moments ----

    def _mean(self) -> Tensor:
        weights, mean = self._weights(), self._base_mean()
        return _sum([weights[..., k] * each.forward(mean) for k, each in enumerate(self.interpolated_affine)])

    def _covariance(self) -> Tensor:
        return self._mean_of_covariances() + self._covariance_of_means(lambda x: x[..., :, None] * x[..., None, :], False)

    def _variance(self) -> Tensor:
        return self._mean_of_variances() + self._covariance_of_means(square, True)

    def _parts(self) -> tuple[Any, Any, Any]:
        """Sums, over the points, of the squares of scales that are multiples of the identity, diagonal, or others; None where none is."""
        identities, diagonals, others = [], [], []
        for k, each in enumerate(self.interpolated_affine):
            scale, p = each.scale, self.mixture_distribution.probs[..., k, None]
            if isinstance(scale, LinearOperatorScaledIdentity):
                identities.append(p * square(scale.multiplier))
            elif scale is None or isinstance(scale, LinearOperatorIdentity):
                identities.append(p)
            elif isinstance(scale, LinearOperatorDiag):
                diagonals.append(p * square(scale.diag_part()))
            else:
                others.append(p[..., None] * scale.matmul(scale.to_dense(), adjoint_arg=True))
        variance = self.distribution.variance()
        identity, diagonal, full = _sum(identities), _sum(diagonals), _sum(others)
        return (
            None if identity is None else identity * variance,
            None if diagonal is None else diagonal * variance[..., None],
            None if full is None else full * variance[..., None],
        )

    def _mean_of_variances(self) -> Tensor:
        identity, diagonal, full = self._parts()
        found = _sum([each for each in (diagonal, None if full is None else matrix_diag_part(full)) if each is not None])
        if found is None:
            return identity[..., None] * ones(self.event_shape_tensor(), dtype=self.dtype)
        return found if identity is None else found + identity

    def _mean_of_covariances(self) -> Tensor:
        identity, diagonal, full = self._parts()
        definite = True if all(each.scale.is_positive_definite for each in self.endpoint_affine) else None
        found: list[Any] = []
        if diagonal is not None:
            found.append(LinearOperatorDiag(diagonal, is_positive_definite=definite))
        if full is not None:
            found.append(LinearOperatorFullMatrix(full, is_positive_definite=definite))
        if identity is not None:
            found.append(LinearOperatorScaledIdentity(self.event_shape_tensor()[0], identity, is_positive_definite=definite))
        return add_operators(found)[0].to_dense()

    def _covariance_of_means(self, squared: Any, of_elements: bool) -> Tensor:
        weights = self._weights()
        weights = weights if of_elements else weights[..., None, :]
        mean, base = self._mean(), self._base_mean()
        return _sum([weights[..., k] * squared(each.forward(base) - mean) for k, each in enumerate(self.interpolated_affine)])

    def _base_mean(self) -> Tensor:
        """The mean of x, [batch..., d]."""
        sizes = concat_vectors(self.batch_shape_tensor(), self.event_shape_tensor())
        mean = tile(reshape(self.distribution.mean(), shape=ones_like(sizes, dtype=dtypes.int32)), multiples=sizes)
        mean.set_shape(self.batch_shape.concatenate(self.event_shape))
        return mean

    def _weights(self) -> Tensor:
        """The weights of the points, [batch..., 1, points]."""
        probs = self.mixture_distribution.probs
        event_ndims = self.event_shape.ndims
        event_ndims = shape(self.event_shape_tensor())[0] if event_ndims is None else event_ndims
        count = dimension_value(probs.shape.with_rank_at_least(1)[-1])
        count = shape(probs)[-1] if count is None else count
        sizes = [self.mixture_distribution.batch_shape_tensor(), ones([event_ndims], dtype=dtypes.int32), [count]]
        return reshape(probs, shape=concat(sizes, axis=0))
