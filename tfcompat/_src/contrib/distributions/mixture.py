"""A mixture of any distributions of one dtype and shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.distributions.distribution_util import mixture_stddev, pad_mixture_dimensions
from tfcompat._src.distributions.categorical import Categorical
from tfcompat._src.distributions.distribution import NOT_REPARAMETERIZED, Distribution, parameter
from tfcompat._src.distributions.util import gen_new_seed
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.gather import gather, one_hot
from tfcompat._src.ops.array.join import concat, stack, tile, unstack
from tfcompat._src.ops.array.partition import dynamic_partition, dynamic_stitch
from tfcompat._src.ops.array.shape import expand_dims, reshape, shape, size
from tfcompat._src.ops.composed.check_ops import assert_equal
from tfcompat._src.ops.math.reduce import reduce_logsumexp, reduce_prod, reduce_sum
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.nn.softmax import log_softmax, softmax

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _check_types(cat: object, components: object) -> None:
    if not isinstance(cat, Categorical):
        raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
    if not components:
        raise ValueError("components must be a non-empty list or tuple")
    if not isinstance(components, (list, tuple)):
        raise TypeError(f"components must be a list or tuple, but saw: {components}")
    if not all(isinstance(c, Distribution) for c in components):
        raise TypeError(f"all entries in components must be Distribution instances but saw: {components}")
    if any(c.dtype != components[0].dtype for c in components):
        listed = [(c.name, c.dtype) for c in components]
        raise TypeError(f"All components must have the same dtype, but saw dtypes: {listed}")


@export("contrib.distributions.Mixture")
class Mixture(Distribution):
    """The mixture of distributions.

    Args:
      cat: Categorical of the component.
      components: distributions of one dtype, batch shape and event shape.
      validate_args, allow_nan_stats, name: see `Distribution`.
      use_static_graph: whether sampling draws from each component for every sample, with shapes known while building.

    Raises:
      TypeError: arguments of other kinds or dtypes. ValueError: their shapes or numbers are known not to fit.
    """

    def __init__(
        self, cat: Categorical, components: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        use_static_graph: bool = False, name: str = "Mixture",
    ) -> None:  # fmt: skip
        _check_types(cat, components)
        event_shape, batch_shape = components[0].event_shape, cat.batch_shape
        for component in components:
            event_shape = event_shape.merge_with(component.event_shape)
            batch_shape = batch_shape.merge_with(component.batch_shape)
        if event_shape.ndims is None:
            raise ValueError(
                "Expected to know rank(event_shape) from components, but none of the components provide a static number of ndims"
            )
        self._cat, self._components = cat, list(components)
        self._static_event_shape, self._static_batch_shape = event_shape, batch_shape
        self._use_static_graph = use_static_graph
        with name_scope(name, values=[cat.logits]) as name:
            self._num_components = self._checked_count()
            self._assertions = self._batch_checks(validate_args)
        parents = cat._graph_parents + [p for c in components for p in c._graph_parents]
        super().__init__(
            dtype=components[0].dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
            allow_nan_stats=allow_nan_stats, graph_parents=parents, name=name,
        )  # fmt: skip

    cat = parameter("cat", "The distribution of the component.")
    components = parameter("components", "The distributions.")
    num_components = parameter("num_components", "How many there are.")

    def _checked_count(self) -> int:
        count = constant_value(self.cat.event_size)
        if count is None:
            raise ValueError(
                "Could not infer number of classes from cat and unable to compare this value to the number of components passed in."
            )
        if int(count) != len(self.components):
            raise ValueError(f"cat.num_classes != len(components): {int(count)} vs. {len(self.components)}")
        return int(count)

    def _batch_checks(self, validate_args: bool) -> list:
        batch_shape = self.cat.batch_shape_tensor()
        batch_rank = size(batch_shape)
        if not validate_args:
            return []
        shapes = [c.batch_shape_tensor() for c in self.components]
        ranks = [size(each) for each in shapes]
        return [
            assert_equal(wanted, given, message=f"components[{i}] batch shape must match cat batch shape")
            for wanted, all_given in ((batch_rank, ranks), (batch_shape, shapes))
            for i, given in enumerate(all_given)
        ]

    def _batch_shape_tensor(self) -> Tensor:
        return self.cat.batch_shape_tensor()

    def _batch_shape(self) -> TensorShape:
        return self._static_batch_shape

    def _event_shape_tensor(self) -> Tensor:
        return self.components[0].event_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return self._static_event_shape

    def _weights(self, function: Any = softmax) -> list[Tensor]:
        """The probability of each component (or its logarithm), [batch...]."""
        return unstack(function(self.cat.logits), num=self.num_components, axis=-1)

    def _over_events(self, weight: Tensor) -> Tensor:
        """`weight` with dimensions of 1 in place of those of the event."""
        for _ in range(self.event_shape.ndims):
            weight = expand_dims(weight, -1)
        return weight

    def _mean(self) -> Tensor:
        with control_dependencies(self._assertions):
            means = [c.mean() for c in self.components]
            weights = [self._over_events(w) for w in self._weights()]
            return add_n([w * m for w, m in zip(weights, means)])

    def _stddev(self) -> Tensor:
        with control_dependencies(self._assertions):
            means = [c.mean() for c in self.components]
            deviations = [c.stddev() for c in self.components]
            weights = self._weights()
            means, deviations = stack(means, axis=-1), stack(deviations, axis=-1)
            weights = stack([self._over_events(w) for w in weights], axis=-1) * ones_like(means)
            rows = [-1, self.num_components]
            found = mixture_stddev(reshape(weights, rows), reshape(means, rows), reshape(deviations, rows))
            return reshape(found, shape(weights)[:-1])

    def _log_mixed(self, x: Tensor, statistic: str) -> Tensor:
        """The logarithm of the mean of what the components give."""
        with control_dependencies(self._assertions):
            x = convert_to_tensor(x, name="x")
            found = [getattr(c, statistic)(x) for c in self.components]
            weighted = [w + f for w, f in zip(self._weights(log_softmax), found)]
            return reduce_logsumexp(stack(weighted, axis=0), [0])

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._log_mixed(x, "log_prob")

    def _log_cdf(self, x: Tensor) -> Tensor:
        return self._log_mixed(x, "log_cdf")

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Tensor:
        """The mean of the components' entropies, which the entropy is not below."""
        with self._name_scope(name, values=[self.cat.logits]), control_dependencies(self._assertions):
            entropies = [c.entropy() for c in self.components]
            return add_n([w * e for w, e in zip(self._weights(), entropies)])

    def _sample_n(self, n: TensorLike, seed: int | None = None) -> Tensor:
        if self._use_static_graph:
            return self._chosen_samples(n, seed)
        with control_dependencies(self._assertions):
            n = convert_to_tensor(n, name="n")
            known = constant_value(n)
            return self._partitioned_samples(n if known is None else int(known), seed)

    def _chosen_samples(self, n: object, seed: int | None) -> Tensor:
        """Samples of all components, of which a mask leaves one."""
        chosen, samples = self.cat.sample(n, seed=seed), []
        for component in self.components:
            seed = gen_new_seed(seed, "mixture")
            samples.append(component.sample(n, seed=seed))
        event_ndims = self.event_shape.ndims
        x = stack(samples, -event_ndims - 1)
        dtype = x.dtype.as_numpy_dtype
        mask = one_hot(
            indices=chosen, depth=self.num_components, on_value=np.ones([], dtype=dtype), off_value=np.zeros([], dtype=dtype)
        )
        return reduce_sum(x * pad_mixture_dimensions(mask, self, self.cat, event_ndims), axis=-1 - event_ndims)

    def _partitioned_samples(self, n: object, seed: int | None) -> Tensor:
        """As many samples of each component as were chosen, stitched together."""
        chosen = self.cat.sample(n, seed=seed)
        is_known = chosen.shape.is_fully_defined()
        samples_shape = chosen.shape.as_list() if is_known else shape(chosen)
        count = chosen.shape.num_elements() if is_known else size(chosen)
        if self.batch_shape.is_fully_defined():
            batch_size: Any = self.batch_shape.num_elements()
        else:
            batch_size = reduce_prod(self.batch_shape_tensor())
        if self.event_shape.is_fully_defined():
            event_shape: Any = np.array(self.event_shape.as_list(), dtype=np.int32)
        else:
            event_shape = self.event_shape_tensor()
        places = self._by_component(reshape(arange(0, count), samples_shape), chosen)
        members = self._by_component(reshape(tile(arange(0, batch_size), [n]), samples_shape), chosen)
        found = []
        for component, own_places, own_members in zip(self.components, places, members):
            own_count = size(own_places)
            seed = gen_new_seed(seed, "mixture")
            samples = component.sample(own_count, seed=seed)
            rows = batch_size * arange(own_count) + own_members
            samples = reshape(samples, concat([[own_count * batch_size], event_shape], 0))
            found.append(gather(samples, rows, name="samples_class_c_gather"))
        result = reshape(
            dynamic_stitch(indices=places, data=found), concat([samples_shape, self.event_shape_tensor()], 0)
        )
        result.set_shape(TensorShape(chosen.shape).concatenate(self.event_shape))
        return result

    def _by_component(self, data: Tensor, chosen: Tensor) -> list[Tensor]:
        return dynamic_partition(data=data, partitions=chosen, num_partitions=self.num_components)
