"""Poisson counts whose rate is log-normal, by quadrature."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.distributions.bijectors.elementwise import Exp
from tfcompat._src.contrib.distributions.counts import Poisson
from tfcompat._src.contrib.distributions.distribution_util import static_value
from tfcompat._src.distributions.categorical import Categorical
from tfcompat._src.distributions.distribution import NOT_REPARAMETERIZED, Distribution, parameter
from tfcompat._src.distributions.normal import Normal
from tfcompat._src.distributions.transformed_distribution import TransformedDistribution
from tfcompat._src.distributions.util import gen_new_seed, pick_vector
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import fill, ones, zeros
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import broadcast_dynamic_shape, broadcast_static_shape, reshape, shape
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_logsumexp, reduce_prod
from tfcompat._src.ops.math.sequence import arange, linspace
from tfcompat._src.ops.math.unary import absolute, exp, log
from tfcompat._src.ops.random.stateful import random_poisson

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Scheme = Callable[[Any, Any, int, bool], tuple[Tensor, Tensor]]


def gauss_hermite_rule(quadrature_size: int, dtype: dtypes.DType) -> tuple[np.ndarray, Tensor]:
    """The points of Gauss-Hermite quadrature and weights whose sum is 1."""
    grid, probs = np.polynomial.hermite.hermgauss(deg=quadrature_size)
    grid, probs = grid.astype(dtype.as_numpy_dtype), probs.astype(dtype.as_numpy_dtype)
    probs /= np.linalg.norm(probs, ord=1, keepdims=True)
    return grid, convert_to_tensor(probs, name="probs", dtype=dtype)


@export("contrib.distributions.quadrature_scheme_lognormal_gauss_hermite")
def quadrature_scheme_lognormal_gauss_hermite(
    loc: Any, scale: Any, quadrature_size: int, validate_args: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The points and weights of Gauss-Hermite quadrature for a normal distribution.

    Args:
      loc, scale: of the normal distribution, float Tensors [batch...].
      quadrature_size: how many points.
      validate_args: without effect here, as all schemes take it.
      name: name scope.

    Returns:
      (points [batch..., quadrature_size], weights [quadrature_size]).
    """
    with name_scope(name, "vector_diffeomixture_quadrature_gauss_hermite", [loc, scale]):
        grid, probs = gauss_hermite_rule(quadrature_size, loc.dtype)
        return loc[..., None] + np.sqrt(2.0) * scale[..., None] * grid, probs


def quantile_edges(distribution: Distribution, quadrature_size: int) -> Tensor:
    """The inner quantiles, [batch..., quadrature_size + 1]; `forward` of each before the last axis is made."""
    batch_ndims: Any = batch_rank(distribution)
    zero = zeros([], dtype=distribution.dtype)
    edges = linspace(zero, 1.0, quadrature_size + 3)[1:-1]
    edges = reshape(edges, shape=concat([[-1], ones([batch_ndims], dtype=dtypes.int32)], axis=0))
    return distribution.quantile(edges)


def batch_rank(distribution: Distribution) -> Tensor | int:
    """The rank of the batch shape, a number where it is known."""
    ndims = distribution.batch_shape.ndims
    return shape(distribution.batch_shape_tensor())[0] if ndims is None else ndims


def first_axis_last(x: Tensor, batch_ndims: Any) -> Tensor:
    """`x` with its first axis moved behind the batch axes."""
    return transpose(x, concat([arange(1, 1 + batch_ndims), [0]], axis=0))


@export("contrib.distributions.quadrature_scheme_lognormal_quantiles")
def quadrature_scheme_lognormal_quantiles(
    loc: object, scale: object, quadrature_size: int, validate_args: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Points in the middle between quantiles of a log-normal distribution, with equal weights.

    Args:
      loc, scale: of the normal distribution, float Tensors [batch...].
      quadrature_size: how many points.
      validate_args: whether values are checked in a run.
      name: name scope.

    Returns:
      (points [batch..., quadrature_size], weights [quadrature_size]).
    """
    with name_scope(name, "quadrature_scheme_lognormal_quantiles", [loc, scale]):
        distribution = TransformedDistribution(
            distribution=Normal(loc=loc, scale=scale), bijector=Exp(), validate_args=validate_args
        )
        quantiles = first_axis_last(quantile_edges(distribution, quadrature_size), batch_rank(distribution))
        grid = (quantiles[..., :-1] + quantiles[..., 1:]) / 2.0
        grid.set_shape(distribution.batch_shape.concatenate([quadrature_size]))
        return grid, fill(dims=[quadrature_size], value=1.0 / cast(quadrature_size, distribution.dtype))


def concat_vectors(*vectors: object) -> Any:
    """The vectors one after another, a list where all are known."""
    known = [static_value(v) for v in vectors]
    if any(v is None for v in known):
        return concat(vectors, axis=0)
    return [value for vector in known for value in vector]


@export("contrib.distributions.PoissonLogNormalQuadratureCompound")
class PoissonLogNormalQuadratureCompound(Distribution):
    """The distribution of counts whose rate is log-normal, as a mixture over points of quadrature.

    Args:
      loc, scale: of the logarithm of the rate, float Tensors.
      quadrature_size: how many points.
      quadrature_fn: (loc, scale, quadrature_size, validate_args) -> (logarithms of rates, weights).
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      TypeError: points and weights differ in dtype.
    """

    def __init__(
        self, loc: TensorLike, scale: TensorLike, quadrature_size: int = 8,
        quadrature_fn: Scheme = quadrature_scheme_lognormal_quantiles, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "PoissonLogNormalQuadratureCompound",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[loc, scale]) as name:
            if loc is not None:
                loc = convert_to_tensor(loc, name="loc")
            if scale is not None:
                scale = convert_to_tensor(scale, dtype=None if loc is None else loc.dtype, name="scale")
            grid, probs = quadrature_fn(loc, scale, quadrature_size, validate_args)
            if grid.dtype.base_dtype != probs.dtype.base_dtype:
                raise TypeError(
                    f"Quadrature grid dtype ({grid.dtype.name}) does not match quadrature probs dtype ({probs.dtype.name})."
                )
            checks = {"validate_args": validate_args, "allow_nan_stats": allow_nan_stats}
            self._distribution = Poisson(log_rate=grid, **checks)
            self._mixture_distribution = Categorical(logits=log(probs), **checks)
            self._loc, self._scale, self._quadrature_size = loc, scale, quadrature_size
            super().__init__(
                dtype=grid.dtype, reparameterization_type=NOT_REPARAMETERIZED, graph_parents=[loc, scale], name=name, **checks
            )

    mixture_distribution = parameter("mixture_distribution", "The distribution over the points.")
    distribution = parameter("distribution", "The Poisson distributions at the points.")
    loc = parameter("loc", "The mean of the logarithm of the rate.")
    scale = parameter("scale", "Its standard deviation.")
    quadrature_size = parameter("quadrature_size", "How many points.")

    def _batch_shape_tensor(self) -> Tensor:
        return broadcast_dynamic_shape(
            self.distribution.batch_shape_tensor(), shape(self.mixture_distribution.logits)
        )[:-1]

    def _batch_shape(self) -> TensorShape:
        return broadcast_static_shape(self.distribution.batch_shape, self.mixture_distribution.logits.shape)[:-1]

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        batch_size = self.batch_shape.num_elements()
        if batch_size is None:
            batch_size = reduce_prod(self.batch_shape_tensor())
        none = np.int32([])
        extra = pick_vector(self.mixture_distribution.is_scalar_batch(), [batch_size], none)
        ids = self.mixture_distribution.sample(
            sample_shape=concat_vectors([n], extra), seed=gen_new_seed(seed, "poisson_lognormal_quadrature_compound")
        )
        ids = reshape(ids, shape=concat_vectors([n], pick_vector(self.is_scalar_batch(), none, np.int32([-1]))))
        size = self.quadrature_size
        ids += arange(start=0, limit=batch_size * size, delta=size, dtype=ids.dtype)
        rate = gather(reshape(self.distribution.rate, shape=[-1]), ids)
        rate = reshape(rate, shape=concat_vectors([n], self.batch_shape_tensor()))
        return random_poisson(lam=rate, shape=[], dtype=self.dtype, seed=seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        logits = self.mixture_distribution.logits
        return reduce_logsumexp(logits + self.distribution.log_prob(x[..., None]), axis=-1)

    def _mean(self) -> Tensor:
        return exp(reduce_logsumexp(self.mixture_distribution.logits + self.distribution.log_rate, axis=-1))

    def _variance(self) -> Tensor:
        return exp(self._log_variance())

    def _stddev(self) -> Tensor:
        return exp(0.5 * self._log_variance())

    def _log_variance(self) -> Tensor:
        """The variance is the mean of the rates and of their squared distances from the mean."""
        distances = absolute(self.distribution.mean() - self._mean()[..., None])
        parts = stack([self.distribution.log_rate, 2.0 * log(distances)], axis=-1)
        return reduce_logsumexp(self.mixture_distribution.logits[..., None] + parts, axis=[-2, -1])
