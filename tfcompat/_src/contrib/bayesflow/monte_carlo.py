"""tf.contrib.bayesflow.monte_carlo: expectations by sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import stop_gradient
from tfcompat._src.ops.math.reduce import reduce_max, reduce_mean
from tfcompat._src.ops.math.unary import exp, log
from tfcompat._src.ops.nn.activation import relu

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Function = Callable[[Tensor], Tensor]


def _get_samples(dist: Any, z: object, n: Any, seed: int | None) -> Tensor:
    """`z`, or `n` samples of the distribution; ValueError unless exactly one is given."""
    with name_scope("get_samples", values=[z, n]):
        if (n is None) == (z is None):
            raise ValueError(f'Must specify exactly one of arguments "n" and "z".  Found: n = {n}, z = {z}')
        return convert_to_tensor(z, name="z") if n is None else dist.sample(n, seed=seed)


def _log_mean(log_values: Tensor) -> Tensor:
    """The logarithm of the mean over samples, without overflow."""
    center = stop_gradient(reduce_max(log_values, axis=[0]))
    return log(reduce_mean(exp(log_values - center), axis=[0])) + center


@export("contrib.bayesflow.monte_carlo.expectation_importance_sampler")
def expectation_importance_sampler(
    f: Function, log_p: Function, sampling_dist_q: Any, z: TensorLike | None = None, n: object = None, seed: int | None = None,
    name: str = "expectation_importance_sampler",
) -> Tensor:  # fmt: skip
    """The mean of f(Z) p(Z) / q(Z) over samples Z of q.

    Args:
      f: function of samples.
      log_p: function from samples to the logarithm of p.
      sampling_dist_q: the distribution q.
      z: samples, or n: their number; one of both.
      seed: op seed.
      name: name scope.

    Raises:
      ValueError: both or none of `z` and `n` are given.
    """
    with name_scope(name, values=[z, n]):
        samples = _get_samples(sampling_dist_q, z, n, seed)
        target, proposal = log_p(samples), sampling_dist_q.log_prob(samples)
        values = f(samples)
        positive, negative = log(relu(values) + 1.0), log(relu(-1.0 * values) + 1.0)
        above, below = (_log_mean(part + target - proposal) for part in (positive, negative))
    return exp(above) - exp(below)


@export("contrib.bayesflow.monte_carlo.expectation_importance_sampler_logspace")
def expectation_importance_sampler_logspace(
    log_f: Function, log_p: Function, sampling_dist_q: Any, z: TensorLike | None = None, n: object = None, seed: int | None = None,
    name: str = "expectation_importance_sampler_logspace",
) -> Tensor:  # fmt: skip
    """The logarithm of `expectation_importance_sampler` of a positive function; arguments and errors as there."""
    with name_scope(name, values=[z, n]):
        samples = _get_samples(sampling_dist_q, z, n, seed)
        return _log_mean(log_f(samples) + log_p(samples) - sampling_dist_q.log_prob(samples))


@export("contrib.bayesflow.monte_carlo.expectation")
def expectation(
    f: Function, samples: Any, log_prob: Function | None = None, use_reparametrization: bool = True, axis: Any = 0,
    keep_dims: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The mean of f over samples, with its gradient.

    Args:
      f: function of samples.
      samples: the samples.
      log_prob: function from samples to the logarithm of their probability.
      use_reparametrization: whether the gradient flows through the samples; else it is that of `log_prob`.
      axis, keep_dims: as in tf.reduce_mean.
      name: name scope, "expectation" by default.

    Raises:
      ValueError: a function is not callable.
    """
    with name_scope(name, "expectation", [samples]):
        if not callable(f):
            raise ValueError("`f` must be a callable function.")
        if use_reparametrization:
            return reduce_mean(f(samples), axis=axis, keepdims=keep_dims)
        if not callable(log_prob):
            raise ValueError("`log_prob` must be a callable function.")
        fixed = stop_gradient(samples)
        log_probability = log_prob(fixed)
        values = f(fixed)
        values += stop_gradient(values) * (log_probability - stop_gradient(log_probability))
        return reduce_mean(values, axis=axis, keepdims=keep_dims)
