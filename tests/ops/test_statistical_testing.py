"""The tests of means in tf.contrib.distributions' internal module: numbers of 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.contrib.distributions import statistical_testing

SAMPLES = np.random.RandomState(0).rand(50, 3).astype(np.float32)


@pytest.mark.parametrize(
    "function, arguments, wanted",
    [
        ("min_discrepancy_of_true_means_detectable_by_dkwm", (100, 0.0, 1.0, 1e-3, 1e-2), 0.35770983),
        ("min_discrepancy_of_true_means_detectable_by_dkwm", ([10.0, 20], [0.0, 0], [1.0, 2], 0.1, 0.2), [0.7687764, 1.0872141]),
        ("min_discrepancy_of_true_means_detectable_by_dkwm", (100, [0.0, 0], 1.0, 0.1, 0.2), [0.24310845, 0.24310845]),
        ("min_num_samples_for_dkwm_mean_test", (0.1, -1.0, 3.0, 1e-3, 1e-6), 46427.7),
        ("min_num_samples_for_dkwm_mean_test", ([0.1, 0.2], 0.0, 1.0, 0.1, 0.2), [737.7758, 184.44395]),
        (
            "min_discrepancy_of_true_means_detectable_by_dkwm_two_sample",
            ([100, 200], 0.0, 1.0, 400, 0.0, 3.0, 1e-3, 1e-2),
            [0.95014936, 0.83736706],
        ),
        (
            "min_num_samples_for_dkwm_mean_two_sample_test",
            ([0.1, 0.3], 0.0, 1.0, 0.0, 3.0, 1e-3, 1e-2),
            [[7189.757, 798.86194], [64707.81, 7189.757]],
        ),
        (
            "true_mean_confidence_interval_by_dkwm",
            (SAMPLES, 0.0, [1.0, 2.0, 3.0], 0.1),
            [[0.31098083, 0.31234223, 0.36752105], [0.66552997, 0.8811609, 1.1319513]],
        ),
        ("true_mean_confidence_interval_by_dkwm", (SAMPLES[:1], 0.0, 1.0, 0.1), [[0, 0, 0], [1.4307942, 1.4307942, 1.4307942]]),
    ],
)
def test_numbers(function, arguments, wanted):
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(getattr(statistical_testing, function)(*arguments)), wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "function, arguments, message",
    [
        ("true_mean_confidence_interval_by_dkwm", (SAMPLES, 0.5, 1.0), "minimum value falls below expectations"),
        ("true_mean_confidence_interval_by_dkwm", (SAMPLES, 0.0, 0.5), "maximum value exceeds expectations"),
        ("true_mean_confidence_interval_by_dkwm", (SAMPLES[:, 0], 0.0, [1.0, 2.0, 3.0]), "Condition x >= y did not hold"),
        ("true_mean_confidence_interval_by_dkwm", (SAMPLES[:, :1], 0.0, [1.0, 2.0, 3.0]), "Condition x == y did not hold"),
        ("assert_true_mean_equal_by_dkwm", (SAMPLES, 0.0, 1.0, 0.1), "true mean greater than expected"),
        ("assert_true_mean_equal_by_dkwm", (SAMPLES, 0.0, 1.0, 0.9), "true mean smaller than expected"),
        ("assert_true_mean_equal_by_dkwm_two_sample", (SAMPLES / 9, 0.0, 1.0, SAMPLES[:, 0], 0.0, 1.0, 0.1), "true mean smaller"),
        ("assert_true_mean_equal_by_dkwm_two_sample", (SAMPLES, 0.0, 1.0, SAMPLES[:, :1], 0.0, 1.0, 0.1), "Condition x == y did not hold"),
    ],
)
def test_what_does_not_hold(function, arguments, message):
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(getattr(statistical_testing, function)(*arguments))


def test_what_holds():
    with tf.Session() as session:
        session.run(statistical_testing.assert_true_mean_in_interval_by_dkwm(SAMPLES, 0.0, 1.0, 0.2, [0.5, 0.6, 0.7], 0.1))
        session.run(statistical_testing.assert_true_mean_equal_by_dkwm_two_sample(SAMPLES, 0.0, 1.0, SAMPLES[:, 0], 0.0, 1.0, 0.1))
