"""Mixins for tests of distributions: samples agree with densities and with statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.diagonal import matrix_diag_part
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.join import concat, unstack
from tfcompat._src.ops.array.shape import reshape, shape
from tfcompat._src.ops.linalg.norm import norm
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.histogram import histogram_fixed_width
from tfcompat._src.ops.math.reduce import reduce_max, reduce_mean, reduce_min, reduce_prod
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.special import lgamma
from tfcompat._src.ops.math.unary import exp, log, sqrt, square
from tfcompat._src.variables.collections import global_variables_initializer

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Run = Callable[[Any], Any]


class DiscreteScalarDistributionTestHelpers:
    """Checks of distributions of whole numbers; mixed into a TestCase."""

    def run_test_sample_consistent_log_prob(
        self, sess_run_fn: Run, dist: Any, num_samples: int = int(1e5), num_threshold: int = int(1e3), seed: int = 42,
        batch_size: int | None = None, rtol: float = 1e-2, atol: float = 0.0,
    ) -> None:  # fmt: skip
        """Compares how often a value is drawn with its probability, for values drawn more than `num_threshold` times.

        Raises:
          ValueError: `num_threshold` is below 1.
        """
        if num_threshold < 1:
            raise ValueError(f"num_threshold({num_threshold}) must be at least 1.")
        samples = reshape(dist.sample(num_samples, seed=seed), shape=[num_samples, -1])
        size = reduce_prod(dist.batch_shape_tensor()) if batch_size is None else batch_size
        batch_ndims = shape(dist.batch_shape_tensor())[0]
        along_batch = concat([[-1], ones([batch_ndims], dtype=dtypes.int32)], axis=0)
        for member, x in enumerate(unstack(samples, num=size, axis=1)):
            counts, values = self.histogram(x)
            probs = exp(dist.log_prob(reshape(values, along_batch)))
            probs = reshape(probs, shape=[-1, size])[:, member]
            counted, expected = sess_run_fn([counts, probs])
            enough = counted > num_threshold
            self.assertAllClose(expected[enough], counted[enough] / num_samples, rtol=rtol, atol=atol)

    def run_test_sample_consistent_mean_variance(
        self, sess_run_fn: Run, dist: Any, num_samples: int = int(1e5), seed: int = 24, rtol: float = 1e-2,
        atol: float = 0.0,
    ) -> None:  # fmt: skip
        """Compares mean, variance and deviation of samples with those of the distribution."""
        x = cast(dist.sample(num_samples, seed=seed), dtypes.float32)
        mean = reduce_mean(x, axis=0)
        variance = reduce_mean(square(x - mean), axis=0)
        found = sess_run_fn([mean, variance, sqrt(variance), dist.mean(), dist.variance(), dist.stddev()])
        for sampled, stated in zip(found[:3], found[3:]):
            self.assertAllClose(stated, sampled, rtol=rtol, atol=atol)

    def histogram(self, x: TensorLike, value_range: TensorLike | None = None, nbins: object = None, name: str | None = None) -> tuple[Tensor, Tensor]:
        """(how many values are in each of `nbins` parts of a range, where the parts begin); by default one for each whole number."""
        with name_scope(name, "histogram", [x]):
            x = convert_to_tensor(x, name="x")
            if value_range is None:
                value_range = [reduce_min(x), 1 + reduce_max(x)]
            value_range = convert_to_tensor(value_range, name="value_range")
            low, high = value_range[0], value_range[1]
            nbins = cast(high - low, dtypes.int32) if nbins is None else nbins
            width = (high - low) / cast(nbins, dtype=value_range.dtype.base_dtype)
            edges = arange(start=low, limit=high, delta=width, dtype=x.dtype.base_dtype)
            return histogram_fixed_width(x, value_range=value_range, nbins=nbins), edges


class VectorDistributionTestHelpers:
    """Checks of distributions of vectors; mixed into a TestCase."""

    def run_test_sample_consistent_log_prob(
        self, sess_run_fn: Run, dist: Any, num_samples: int = int(1e5), radius: float = 1.0, center: Any = 0.0,
        seed: int = 42, rtol: float = 1e-2, atol: float = 0.0,
    ) -> None:  # fmt: skip
        """Compares the volume of a ball with its estimate by importance sampling: the mean of 1 / density inside the ball.

        The density must not vanish in the ball. A ball of d dimensions has the volume pi^(d/2) radius^d / Gamma(1 + d/2).
        """
        with name_scope(
            "run_test_sample_consistent_log_prob", values=[num_samples, radius, center, *dist._graph_parents]
        ):
            batch_shape = dist.batch_shape_tensor()
            radius = np.asarray(radius)
            dims = cast(dist.event_shape_tensor()[0], dtype=radius.dtype)
            volume = exp((dims / 2.0) * np.log(np.pi) - lgamma(1.0 + dims / 2.0) + dims * log(radius))
            x = identity(dist.sample(num_samples, seed=seed))
            inside = cast(norm(x - center, axis=-1) <= radius, dtype=x.dtype)
            estimate = reduce_mean(exp(-dist.log_prob(x)) * inside, axis=0)
            initializer = global_variables_initializer()
        sess_run_fn(initializer)
        batch, expected, sampled = sess_run_fn([batch_shape, volume, estimate])
        self.assertAllClose(np.full(batch, expected), sampled, rtol=rtol, atol=atol)

    def run_test_sample_consistent_mean_covariance(
        self, sess_run_fn: Run, dist: Any, num_samples: int = int(1e5), seed: int = 24, rtol: float = 1e-2,
        atol: float = 0.1, cov_rtol: float | None = None, cov_atol: float | None = None,
    ) -> None:  # fmt: skip
        """Compares mean, covariance, variance and deviation of samples with those of the distribution."""
        x = dist.sample(num_samples, seed=seed)
        mean = reduce_mean(x, axis=0)
        centered = x - mean
        covariance = reduce_mean(centered[..., :, None] * centered[..., None, :], axis=0)
        variance = matrix_diag_part(covariance)
        sampled = [mean, covariance, variance, sqrt(variance)]
        stated = [dist.mean(), dist.covariance(), dist.variance(), dist.stddev()]
        found = sess_run_fn(sampled + stated)
        for place, (have, want) in enumerate(zip(found[:4], found[4:])):
            is_covariance = place == 1
            self.assertAllClose(
                want, have, rtol=(is_covariance and cov_rtol) or rtol, atol=(is_covariance and cov_atol) or atol
            )
