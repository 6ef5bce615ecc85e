"""Distributions each of whose numbers depends on those before it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.distributions.distribution import Distribution, parameter
from tfcompat._src.distributions.util import gen_new_seed
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor


@export("contrib.distributions.Autoregressive")
class Autoregressive(Distribution):
    """The distribution of x whose member i is drawn from `distribution_fn(x)`, which uses members before i only.

    Args:
      distribution_fn: from a sample (none for the first) to a Distribution.
      sample0: the first argument of `distribution_fn`; none by default.
      num_steps: how often a sample is drawn again; the size of an event by default.
      validate_args, allow_nan_stats, name: see `Distribution`.

    Raises:
      ValueError: `num_steps` is below 1, or not given and the event shape is not known.
    """

    def __init__(
        self, distribution_fn: Callable, sample0: object = None, num_steps: int | None = None, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Autoregressive",
    ) -> None:  # fmt: skip
        with name_scope(name) as name:
            self._distribution_fn, self._sample0 = distribution_fn, sample0
            self._distribution0 = distribution_fn() if sample0 is None else distribution_fn(sample0)
            if num_steps is None:
                num_steps = self._distribution0.event_shape.num_elements()
                if num_steps is None:
                    raise ValueError("distribution_fn must generate a distribution with fully known `event_shape`.")
            if num_steps < 1:
                raise ValueError(f"num_steps ({num_steps}) must be at least 1.")
            self._num_steps = num_steps
        super().__init__(
            dtype=self._distribution0.dtype, reparameterization_type=self._distribution0.reparameterization_type,
            validate_args=validate_args, allow_nan_stats=allow_nan_stats,
            graph_parents=self._distribution0._graph_parents, name=name,
        )  # fmt: skip

    distribution_fn = parameter("distribution_fn", "From a sample to a distribution.")
    sample0 = parameter("sample0", "The first argument, or None.")
    num_steps = parameter("num_steps", "How often a sample is drawn again.")
    distribution0 = parameter("distribution0", "The first distribution.")

    def _batch_shape(self) -> TensorShape:
        return self.distribution0.batch_shape

    def _batch_shape_tensor(self) -> Tensor:
        return self.distribution0.batch_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return self.distribution0.event_shape

    def _event_shape_tensor(self) -> Tensor:
        return self.distribution0.event_shape_tensor()

    def _sample_n(self, n: object, seed: int | None = None) -> Tensor:
        if seed is None:
            seed = gen_new_seed(seed=np.random.randint(2**32 - 1), salt="autoregressive")
        samples = self.distribution0.sample(n, seed=seed)
        for _ in range(self.num_steps):
            samples = self.distribution_fn(samples).sample(seed=seed)
        return samples

    def _log_prob(self, value: Tensor) -> Tensor:
        return self.distribution_fn(value).log_prob(value)

    def _prob(self, value: Tensor) -> Tensor:
        return self.distribution_fn(value).prob(value)
