"""Tests of the means of bounded distributions by the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart.

With probability 1 - rate the distribution function of n samples is nowhere farther than sqrt(log(2 / rate) / (2 n)) from the true
one (Massart 1990). The means of all distributions on [low, high] within that distance make an interval. Where a call tests a batch
of distributions, the rate at which it may fail is divided among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import broadcast_dynamic_shape, rank, reshape, shape
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_greater_equal, assert_less_equal
from tfcompat._src.ops.composed.sorting import sort
from tfcompat._src.ops.math.binary import maximum, minimum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.clip import clip_by_value
from tfcompat._src.ops.math.reduce import reduce_max, reduce_min, reduce_prod, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import log, sqrt

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Interval = tuple[Tensor, Tensor]


def _envelope(n: Tensor, rate: Any) -> Tensor:
    """How far the distribution function of `n` samples is from the true one at most, except at `rate`."""
    return sqrt(-log(rate / 2) / (2 * n))


def _needed_samples(envelope: Tensor, rate: Any) -> Tensor:
    return -log(rate / 2) / (2 * envelope**2)


def _rate_of_each(rate: Tensor, parameters: Iterable[Tensor], samples: Tensor | None = None) -> Tensor:
    """The rate of error left for each distribution of a batch."""
    sizes = shape(samples)[1:] if samples is not None else []
    for parameter in parameters:
        sizes = broadcast_dynamic_shape(sizes, shape(parameter))
    return rate / cast(reduce_prod(sizes), rate.dtype)


def _covers(samples: Tensor, parameters: Iterable[Tensor]) -> list[Operation]:
    """Assertions that each distribution of which there are samples has its own parameters."""
    checks = []
    for parameter in parameters:
        missing = rank(samples) - 1 - rank(parameter)
        has_rank = assert_greater_equal(missing, 0, message="a parameter has more dimensions than the batch of distributions")
        with control_dependencies([has_rank]):
            sizes = shape(samples)[1 + missing :]
            checks += [has_rank, assert_equal(broadcast_dynamic_shape(sizes, shape(parameter)), sizes)]
    return checks


def _do_maximum_mean(samples: TensorLike, envelope: Tensor, high: object, name: str | None = None) -> Tensor:
    """The mean where as much weight as `envelope` is taken from the lowest samples, along axis 0, and given to `high`."""
    with name_scope(name, "do_maximum_mean", [samples, envelope, high]):
        ordered = sort(convert_to_tensor(samples, name="samples"), axis=0)
        count = shape(ordered)[0]
        n = cast(count, ordered.dtype)
        upper = reshape(cast(arange(1, count + 1), ordered.dtype) / n, concat([[count], ones([rank(ordered) - 1], count.dtype)], 0))
        return reduce_sum(clip_by_value(upper - envelope, 0, 1 / n) * ordered, axis=0) + envelope * high


def true_mean_confidence_interval_by_dkwm(samples: TensorLike, low: object, high: object, error_rate: object = 1e-6, name: str | None = None) -> Interval:
    """An interval that holds the true mean, except at `error_rate`.

    Args:
      samples: float Tensor [n, ...], independent samples of a batch of distributions.
      low, high: bounds of their supports, which broadcast to the batch.
      error_rate: scalar, of the whole batch.
      name: name scope.

    Returns:
      lower and upper bounds of the means.

    Raises:
      InvalidArgumentError: in a run, where a sample is out of bounds or the shapes do not fit.
    """
    with name_scope(name, "true_mean_confidence_interval_by_dkwm", [samples, low, high, error_rate]):
        samples = convert_to_tensor(samples, name="samples")
        low, high, rate = (convert_to_tensor(v, samples.dtype, name=k) for k, v in (("low", low), ("high", high), ("error_rate", error_rate)))
        with control_dependencies(_covers(samples, [low, high])):
            rate = _rate_of_each(rate, [low, high], samples)
        checks = [
            assert_less_equal(reduce_max(samples, axis=0), high, message="Given sample maximum value exceeds expectations"),
            assert_greater_equal(reduce_min(samples, axis=0), low, message="Given sample minimum value falls below expectations"),
        ]
        with control_dependencies(checks):
            envelope = _envelope(cast(shape(samples)[0], samples.dtype), rate)
        return -_do_maximum_mean(-samples, envelope, -low), _do_maximum_mean(samples, envelope, high)


def assert_true_mean_equal_by_dkwm(
    samples: TensorLike, low: object, high: object, expected: TensorLike, false_fail_rate: object = 1e-6, name: str | None = None
) -> Operation:
    """`assert_true_mean_in_interval_by_dkwm` for one expected mean."""
    with name_scope(name, "assert_true_mean_equal_by_dkwm", [samples, low, high, expected, false_fail_rate]):
        return assert_true_mean_in_interval_by_dkwm(samples, low, high, expected, expected, false_fail_rate)


def assert_true_mean_in_interval_by_dkwm(
    samples: TensorLike, low: object, high: object, expected_low: TensorLike, expected_high: TensorLike, false_fail_rate: object = 1e-6, name: str | None = None
) -> Operation:
    """Asserts that samples may come from distributions with means in [expected_low, expected_high].

    Args:
      samples: float Tensor [n, ...], independent samples of a batch of distributions.
      low, high: bounds of their supports, which broadcast to the batch.
      expected_low, expected_high: bounds of their means, likewise.
      false_fail_rate: how often the assertion may fail though it is true.
      name: name scope.

    Raises:
      InvalidArgumentError: in a run, where the means are elsewhere.
    """
    values = [samples, low, high, expected_low, expected_high, false_fail_rate]
    with name_scope(name, "assert_true_mean_in_interval_by_dkwm", values):
        samples = convert_to_tensor(samples, name="samples")
        expected_low = convert_to_tensor(expected_low, samples.dtype, name="expected_low")
        expected_high = convert_to_tensor(expected_high, samples.dtype, name="expected_high")
        with control_dependencies(_covers(samples, [expected_low, expected_high])):
            samples = identity(samples)
        least, most = true_mean_confidence_interval_by_dkwm(samples, low, high, false_fail_rate)
        return _intersect(least, most, expected_low, expected_high)


def _intersect(least: Tensor, most: Tensor, expected_low: Tensor, expected_high: Tensor) -> Operation:
    text = "Confidence interval does not intersect: true mean {} than expected"
    with control_dependencies([assert_greater_equal(most, expected_low, message=text.format("smaller"))]):
        return assert_less_equal(least, expected_high, message=text.format("greater"))


def assert_true_mean_equal_by_dkwm_two_sample(
    samples1: TensorLike, low1: object, high1: object, samples2: TensorLike, low2: object, high2: object, false_fail_rate: TensorLike = 1e-6, name: str | None = None
) -> Operation:
    """Asserts that two sets of samples may come from distributions with the same means.

    Args:
      samples1, samples2: float Tensors [n, ...] and [m, ...], independent samples of two batches of distributions.
      low1, high1, low2, high2: bounds of their supports, which broadcast to the batches.
      false_fail_rate: how often the assertion may fail though it is true.
      name: name scope.

    Raises:
      InvalidArgumentError: in a run, where the means differ or the shapes do not fit.
    """
    values = [samples1, low1, high1, samples2, low2, high2, false_fail_rate]
    with name_scope(name, "assert_true_mean_equal_by_dkwm_two_sample", values):
        samples1 = convert_to_tensor(samples1, name="samples1")
        samples2 = convert_to_tensor(samples2, samples1.dtype, name="samples2")
        half = convert_to_tensor(false_fail_rate, samples1.dtype, name="false_fail_rate") / 2
        common = minimum(rank(samples1), rank(samples2)) - 1
        same = assert_equal(*(shape(s)[rank(s) - common :] for s in (samples1, samples2)), message="the batches differ in shape")
        with control_dependencies([same]):
            first = true_mean_confidence_interval_by_dkwm(samples1, low1, high1, half)
            second = true_mean_confidence_interval_by_dkwm(samples2, low2, high2, half)
        return _intersect(*first, *second)


def min_discrepancy_of_true_means_detectable_by_dkwm(
    n: TensorLike, low: object, high: object, false_fail_rate: object, false_pass_rate: object, name: str | None = None
) -> Tensor:
    """How far means must be from the expected ones for `assert_true_mean_equal_by_dkwm` to fail.

    Args:
      n: numbers of samples.
      low, high: bounds of the supports.
      false_fail_rate: how often the assertion may fail though it is true.
      false_pass_rate: how often it may hold for one distribution whose mean is as far from the expected one.
      name: name scope.

    Returns:
      Tensor of the shape to which `n`, `low` and `high` broadcast.
    """
    with name_scope(name, "min_discrepancy_of_true_means_detectable_by_dkwm", [n, low, high, false_fail_rate, false_pass_rate]):
        low, high, fail, passing = _same_type(low=low, high=high, false_fail_rate=false_fail_rate, false_pass_rate=false_pass_rate)
        n = cast(convert_to_tensor(n, name="n"), low.dtype)
        return (high - low) * (_envelope(n, _rate_of_each(fail, [n, low, high])) + _envelope(n, passing))


def min_num_samples_for_dkwm_mean_test(
    discrepancy: object, low: object, high: object, false_fail_rate: object = 1e-6, false_pass_rate: object = 1e-6, name: str | None = None
) -> Tensor:
    """How many samples let `assert_true_mean_equal_by_dkwm` see that means are farther from the expected ones than `discrepancy`.

    The other arguments are as in `min_discrepancy_of_true_means_detectable_by_dkwm`; the result is no whole number.
    """
    with name_scope(name, "min_num_samples_for_dkwm_mean_test", [discrepancy, low, high, false_fail_rate, false_pass_rate]):
        discrepancy, low, high, fail, passing = _same_type(
            discrepancy=discrepancy, low=low, high=high, false_fail_rate=false_fail_rate, false_pass_rate=false_pass_rate
        )
        envelope = discrepancy / (2 * (high - low))
        fail = _rate_of_each(fail, [discrepancy, low, high])
        return maximum(_needed_samples(envelope, fail), _needed_samples(envelope, passing))


def min_discrepancy_of_true_means_detectable_by_dkwm_two_sample(
    n1: object, low1: object, high1: object, n2: object, low2: object, high2: object, false_fail_rate: object, false_pass_rate: object, name: str | None = None
) -> Tensor:
    """How far the means must be apart for `assert_true_mean_equal_by_dkwm_two_sample` to fail.

    The arguments are those of `min_discrepancy_of_true_means_detectable_by_dkwm` for two sets of samples.
    """
    values = [n1, low1, high1, n2, low2, high2, false_fail_rate, false_pass_rate]
    with name_scope(name, "min_discrepancy_of_true_means_detectable_by_dkwm_two_sample", values):
        fail, passing = _same_type(false_fail_rate=false_fail_rate, false_pass_rate=false_pass_rate)
        return sum(
            min_discrepancy_of_true_means_detectable_by_dkwm(n, low, high, fail / 2, passing / 2)
            for n, low, high in ((n1, low1, high1), (n2, low2, high2))
        )


def min_num_samples_for_dkwm_mean_two_sample_test(
    discrepancy: object, low1: object, high1: object, low2: object, high2: object, false_fail_rate: object = 1e-6, false_pass_rate: object = 1e-6,
    name: str | None = None,
) -> Interval:  # fmt: skip
    """How many samples of each let `assert_true_mean_equal_by_dkwm_two_sample` see that means are farther apart than `discrepancy`."""
    values = [discrepancy, low1, high1, low2, high2, false_fail_rate, false_pass_rate]
    with name_scope(name, "min_num_samples_for_dkwm_mean_two_sample_test", values):
        discrepancy, fail, passing = _same_type(
            discrepancy=discrepancy, false_fail_rate=false_fail_rate, false_pass_rate=false_pass_rate
        )
        return tuple(
            min_num_samples_for_dkwm_mean_test(discrepancy / 2, low, high, fail / 2, passing / 2)
            for low, high in ((low1, high1), (low2, high2))
        )


def _same_type(**values: object) -> list[Tensor]:
    """The values as tensors of the type of the first."""
    found: list[Tensor] = []
    for name, value in values.items():
        found.append(convert_to_tensor(value, found[0].dtype if found else None, name=name))
    return found
