"""Shapes that sparse operations refuse while the graph is built; texts of TensorFlow 1.15.5."""

import pytest

import tfcompat as tf


@pytest.mark.parametrize(
    ("places", "grad", "text"),
    [
        ([0, 1], [[0.0, 1.0], [2.0, 3.0]], r"Shape must be rank 1 but is rank 2 for .* with input shapes: \[2\], \[2,2\]"),
        ([[0]], [1.0], r"Shape must be rank 1 but is rank 2 for .* with input shapes: \[1,1\], \[1\]"),
        ([0], 1.0, r"Shape must be rank 1 but is rank 0 for .* with input shapes: \[1\], \[\]"),
    ],
)
def test_gradient_of_filled_rows(places, grad, text):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=text):
        tf.raw_ops.SparseFillEmptyRowsGrad(reverse_index_map=tf.constant(places, tf.int64), grad_values=tf.constant(grad))
