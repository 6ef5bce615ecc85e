"""A mixture of distributions of one family."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape, dimension_value
from tfcompat._src.contrib.distributions.distribution_util import pad_mixture_dimensions
from tfcompat._src.distributions.distribution import NOT_REPARAMETERIZED, Distribution, parameter
from tfcompat._src.distributions.util import pick_vector
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import rank, reshape, shape
from tfcompat._src.ops.composed.check_ops import assert_equal
from tfcompat._src.ops.math.binary import squared_difference
from tfcompat._src.ops.math.reduce import reduce_logsumexp, reduce_sum
from tfcompat._src.ops.nn.softmax import log_softmax


@export("contrib.distributions.MixtureSameFamily")
class MixtureSameFamily(Distribution):
    """The mixture of the last batch dimension of a distribution.

    Args:
      mixture_distribution: Categorical of the component.
      components_distribution: of the components, [..., components].
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      ValueError: the first is not of integer scalars, or the batch shapes are known not to fit.
    """

    def __init__(
        self, mixture_distribution: Distribution, components_distribution: Distribution, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "MixtureSameFamily",
    ) -> None:  # fmt: skip
        with name_scope(name) as name:
            self._mixture_distribution = mixture_distribution
            self._components_distribution = components_distribution
            sizes = components_distribution.event_shape_tensor()
            known = dimension_value(sizes.shape[0])
            self._event_ndims = shape(sizes)[0] if known is None else known
            if not mixture_distribution.dtype.is_integer:
                raise ValueError(
                    f"`mixture_distribution.dtype` ({mixture_distribution.dtype.name}) is not over integers"
                )
            if mixture_distribution.event_shape.ndims:
                raise ValueError("`mixture_distribution` must have scalar `event_dim`s")
            self._checks = [*self._batch_checks(validate_args), *self._count_checks(validate_args)]
            parents = mixture_distribution._graph_parents + components_distribution._graph_parents
            super().__init__(
                dtype=components_distribution.dtype, reparameterization_type=NOT_REPARAMETERIZED,
                validate_args=validate_args, allow_nan_stats=allow_nan_stats, graph_parents=parents, name=name,
            )  # fmt: skip

    mixture_distribution = parameter("mixture_distribution", "The distribution of the component.")
    components_distribution = parameter("components_distribution", "The distributions of the components.")

    def _batch_checks(self, validate_args: bool) -> list:
        mixture, components = self.mixture_distribution, self.components_distribution
        first, second = mixture.batch_shape, components.batch_shape.with_rank_at_least(1)[:-1]
        message = "`mixture_distribution.batch_shape` is not compatible with `components_distribution.batch_shape`"
        if first.is_fully_defined() and second.is_fully_defined():
            if first.ndims and first != second:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` (`{first.as_list()}`) is not compatible with "
                    f"`components_distribution.batch_shape` (`{second.as_list()}`)"
                )
        elif validate_args:
            sizes = components.batch_shape_tensor()[:-1]
            given = pick_vector(mixture.is_scalar_batch(), sizes, mixture.batch_shape_tensor())
            return [assert_equal(given, sizes, message=message)]
        return []

    def _count_checks(self, validate_args: bool) -> list:
        """Sets the number of components."""
        logits = self.mixture_distribution.logits
        count = dimension_value(logits.shape.with_rank_at_least(1)[-1])
        other = dimension_value(self.components_distribution.batch_shape.with_rank_at_least(1)[-1])
        self._num_components = shape(logits)[-1] if count is None else count
        if count is not None and other is not None:
            if count != other:
                raise ValueError(
                    f"`mixture_distribution components` ({count}) does not equal "
                    f"`components_distribution.batch_shape[-1]` ({other})"
                )
        elif validate_args:
            message = "`mixture_distribution components` does not equal `components_distribution.batch_shape[-1:]`"
            sizes = self.components_distribution.batch_shape_tensor()
            return [assert_equal(shape(logits)[-1], sizes[-1], message=message)]
        return []

    def _batch_shape_tensor(self) -> Tensor:
        with control_dependencies(self._checks):
            return self.components_distribution.batch_shape_tensor()[:-1]

    def _batch_shape(self) -> TensorShape:
        return self.components_distribution.batch_shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self) -> Tensor:
        with control_dependencies(self._checks):
            return self.components_distribution.event_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return self.components_distribution.event_shape

    def _padded(self, x: Tensor) -> Tensor:
        """`x` [..., components], which broadcasts with events of the components."""
        ndims = self.event_shape.ndims
        return pad_mixture_dimensions(x, self, self.mixture_distribution, self._event_ndims if ndims is None else ndims)

    def _sum_over_components(self, x: Tensor) -> Tensor:
        return reduce_sum(x, axis=-1 - self._event_ndims)

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        with control_dependencies(self._checks):
            x = self.components_distribution.sample(n)
            dtype = x.dtype.as_numpy_dtype
            component = self.mixture_distribution.sample(n)
            mask = one_hot(component, depth=self._num_components, on_value=dtype(1), off_value=dtype(0))
            return self._sum_over_components(x * self._padded(mask))

    def _log_mixed(self, of_components: Tensor) -> Tensor:
        return reduce_logsumexp(of_components + log_softmax(self.mixture_distribution.logits, axis=-1), axis=-1)

    def _log_prob(self, x: Tensor) -> Tensor:
        with control_dependencies(self._checks):
            return self._log_mixed(self.components_distribution.log_prob(self._with_component(x)))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return self._log_mixed(self.components_distribution.log_cdf(self._with_component(x)))

    def _mean(self) -> Tensor:
        with control_dependencies(self._checks):
            probs = self._padded(self.mixture_distribution.probs)
            return self._sum_over_components(probs * self.components_distribution.mean())

    def _variance(self) -> Tensor:
        with control_dependencies(self._checks):
            probs = self._padded(self.mixture_distribution.probs)
            within = self._sum_over_components(probs * self.components_distribution.variance())
            means = self.components_distribution.mean()
            between = squared_difference(means, self._with_component(self._mean()))
            return within + self._sum_over_components(probs * between)

    def _covariance(self) -> Tensor:
        if self.event_shape.ndims != 1:
            raise NotImplementedError("covariance is not implemented")
        with control_dependencies(self._checks):
            probs = self._padded(self._padded(self.mixture_distribution.probs))
            within = reduce_sum(probs * self.components_distribution.covariance(), axis=-3)
            difference = self.components_distribution.mean() - self._with_component(self._mean())
            between = difference[..., None, :] * difference[..., None]
            return within + reduce_sum(probs * between, axis=-3)

    def _with_component(self, x: Tensor) -> Tensor:
        """`x` with a dimension of 1 before the event dimensions."""
        with name_scope("pad_sample_dims", values=[x]):
            ndims = rank(x) if x.shape.ndims is None else x.shape.ndims
            sizes, before = shape(x), ndims - self._event_ndims
            return reshape(x, shape=concat([sizes[:before], [1], sizes[before:]], axis=0))
