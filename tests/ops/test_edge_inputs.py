"""Inputs at the edge of what operations take; the values and texts are TensorFlow 1.15's."""

import numpy as np
import pytest

import tfcompat as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("is_fed", [False, True])
def test_infinite_matrices_have_no_singular_values(is_fed):
    matrix = np.array([[-np.inf, np.inf, 3e38], [-0.0, 1, 1], [0, 1e-45, -0.0], [3e38, 2.0**31, -0.0]])
    matrices = np.stack([np.arange(12.0).reshape(4, 3), matrix])
    given = tf.placeholder(tf.float64, matrices.shape) if is_fed else tf.constant(matrices)
    with tf.Session() as session:
        values = session.run(tf.svd(given, full_matrices=True)[0], {given: matrices})
    np.testing.assert_allclose(values[0], np.linalg.svd(matrices[0])[1], atol=1e-12)
    assert np.isnan(values[1]).all()


def test_known_ends_of_slices_are_as_many_as_their_begins():
    ends = tf.unique([0, 0, 1])[0]
    with pytest.raises(ValueError, match=r"1D equal size tensors, but got shapes \[3\], \[2\], and \[3\] instead."):
        tf.strided_slice(tf.zeros([2, 3, 4]), [0, 0, 0], ends, [1, 1, 1])


def test_images_that_no_memory_holds_are_refused():
    image = tf.contrib.image.transform(tf.zeros([2, 6, 7, 3]), [1.0] * 6 + [0.0] * 2, output_shape=[2**20, 2**31 - 1])
    with tf.Session() as session, pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating tensor with shape"):
        session.run(image)
