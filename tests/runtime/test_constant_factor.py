"""A matrix product with a constant of equal elements, which XLA's fusions of products for the CPU get wrong (`jax_compat`)."""

import numpy as np

import tfcompat as tf


def test_product_with_a_constant_of_equal_elements():
    x = tf.placeholder(tf.float32, [48, 3])
    y = tf.matmul(x, tf.ones([3, 18])) + 1
    z = tf.matmul(x, tf.constant(np.full([3, 18], 2, np.float32))) + 1
    value = np.arange(144, dtype=np.float32).reshape(48, 3)
    with tf.Session() as session:
        found = session.run([y, z], {x: value})
    sums = value.sum(1, keepdims=True)
    np.testing.assert_array_equal(found[0], np.broadcast_to(sums + 1, (48, 18)))
    np.testing.assert_array_equal(found[1], np.broadcast_to(2 * sums + 1, (48, 18)))


def test_transposed_convolution_of_constants():
    """Every element of the input reaches those 3x3 elements of the output that exist, from each of 3 channels."""
    y = tf.nn.conv2d_transpose(tf.ones([1, 6, 4, 3]), tf.ones([3, 3, 2, 3]), [1, 6, 4, 2], [1, 1, 1, 1])
    with tf.Session() as session:
        found = session.run(y)
    rows, columns = np.array([2, 3, 3, 3, 3, 2]), np.array([2, 3, 3, 2])
    np.testing.assert_array_equal(found[0, :, :, 0], 3 * np.outer(rows, columns))
