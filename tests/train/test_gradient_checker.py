"""tf.test.compute_gradient finds right gradients right and wrong ones wrong."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.testing import gradient_checker_v2


def test_square_has_a_diagonal_jacobian():
    with tf.Graph().as_default(), tf.Session():
        x = tf.placeholder(tf.float64, [3])
        value = np.array([1.0, 2.0, -3.0])
        by_rule, by_difference = tf.test.compute_gradient(x, [3], tf.square(x), [3], x_init_value=value)
        np.testing.assert_allclose(by_rule, np.diag(2 * value), rtol=1e-12)
        np.testing.assert_allclose(by_difference, np.diag(2 * value), atol=1e-9)


def test_a_wrong_gradient_is_seen():
    with tf.Graph().as_default(), tf.Session():
        x = tf.placeholder(tf.float64, [2])
        wrong = tf.custom_gradient(lambda v: (tf.square(v), lambda g: 3.0 * g))
        error = tf.test.compute_gradient_error(x, [2], wrong(x), [2], x_init_value=np.array([1.0, 2.0]))
        assert error == pytest.approx(1.0, abs=1e-6)


def test_complex_numbers_count_twice():
    with tf.Graph().as_default(), tf.Session():
        x = tf.placeholder(tf.complex128, [2])
        by_rule, by_difference = tf.test.compute_gradient(x, [2], x * x, [2], x_init_value=np.array([1 + 2j, -1j]))
        assert by_rule.shape == (4, 4)
        np.testing.assert_allclose(by_rule, by_difference, atol=1e-8)


def test_lists_rows_and_scalars():
    with tf.Graph().as_default(), tf.Session():
        a, b = tf.placeholder(tf.float64, [4, 2]), tf.placeholder(tf.float64, [])
        y = tf.gather(a, [1, 1, 3]) * b
        values = [np.arange(8.0).reshape(4, 2), np.array(2.0)]
        (rows, numeric), (scalar, _) = tf.test.compute_gradient(
            [a, b], [[4, 2], []], y, [3, 2], x_init_value=values, extra_feed_dict={a: values[0], b: values[1]}
        )
        np.testing.assert_allclose(rows, numeric, atol=1e-9)
        assert rows[2, 0] == rows[2, 2] == 2.0 and rows[0].sum() == 0.0
        np.testing.assert_allclose(scalar, [[2.0, 3.0, 2.0, 3.0, 6.0, 7.0]])


def test_functions():
    with tf.Graph().as_default(), tf.Session():
        by_rule, by_difference = gradient_checker_v2.compute_gradient(
            lambda p, q: tf.matmul(p, q), [np.ones([2, 3]), np.arange(6.0).reshape(3, 2)]
        )
        assert gradient_checker_v2.max_error(by_rule, by_difference) < 1e-9
        assert by_rule[0].shape == (6, 4)
        with pytest.raises(ValueError, match="must be a list"):
            gradient_checker_v2.compute_gradient(tf.sin, np.ones(2))
