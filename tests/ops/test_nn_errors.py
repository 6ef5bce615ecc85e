"""Errors of tf.nn that only a run can find: shapes that are unknown while the graph is built, and bad data."""

import numpy as np
import pytest

import tfcompat as tf

INVALID, UNIMPLEMENTED = tf.errors.InvalidArgumentError, tf.errors.UnimplementedError


def unknown(*shape):
    """Ones whose static shape is unknown."""
    return tf.placeholder_with_default(np.ones(shape, np.float32), None)


def labels_out_of_range(*labels):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=list(labels), logits=tf.zeros([len(labels), 10]))


CASES = {
    "conv_window": (
        INVALID,
        r"Computed output size would be negative: -2 \[input_size: 2, effective_filter_size: 5, stride: 1\]",
        lambda: tf.nn.conv2d(unknown(1, 2, 2, 1), unknown(5, 5, 1, 1), 1, "VALID"),
    ),
    "conv_channels": (
        INVALID,
        "input depth must be evenly divisible by filter depth: 1 vs 3",
        lambda: tf.nn.conv2d(unknown(1, 2, 2, 1), unknown(1, 1, 3, 1), 1, "VALID"),
    ),
    "conv_groups": (
        UNIMPLEMENTED,
        "does not support grouped convolutions",
        lambda: tf.nn.conv2d(unknown(1, 2, 2, 4), unknown(1, 1, 2, 2), 1, "VALID"),
    ),
    "conv_rank": (
        INVALID,
        r"input must be 4-dimensional\[2,2,4\]",
        lambda: tf.nn.conv2d(unknown(2, 2, 4), unknown(1, 1, 2, 2), 1, "VALID"),
    ),
    "conv_batch_stride": (
        INVALID,
        "strides in the batch and depth dimensions",
        lambda: tf.nn.conv2d(unknown(1, 5, 5, 1), unknown(3, 3, 1, 1), [2, 1, 1, 1], "VALID"),
    ),
    "conv_backprop_shape": (
        INVALID,
        "Size of out_backprop doesn't match computed",
        lambda: tf.nn.conv2d_backprop_input([1, 5, 5, 1], unknown(3, 3, 1, 1), unknown(1, 4, 4, 1), [1] * 4, "SAME"),
    ),
    "bias_size": (
        INVALID,
        r"Must provide as many biases as the last dimension of the input tensor: \[3\] vs. \[1,2\]",
        lambda: tf.nn.bias_add(unknown(1, 2), unknown(3)),
    ),
    "pool_window": (
        INVALID,
        "Computed output size would be negative: -2",
        lambda: tf.nn.max_pool(unknown(1, 2, 2, 1), 5, 1, "VALID"),
    ),
    "pool_batch": (
        UNIMPLEMENTED,
        "Pooling is not yet supported on the batch dimension",
        lambda: tf.nn.max_pool(unknown(1, 2, 2, 4), [2, 1, 1, 1], 1, "VALID"),
    ),
    "pool_depth": (
        UNIMPLEMENTED,
        "depth window to evenly divide the input depth",
        lambda: tf.nn.max_pool(unknown(1, 2, 2, 4), [1, 1, 1, 3], [1, 1, 1, 3], "VALID"),
    ),
    "label_high": (
        INVALID,
        r"Received a label value of 10 which is outside the valid range of \[0, 10\)",
        lambda: labels_out_of_range(1, 10),
    ),
    "label_low": (INVALID, "Received a label value of -3 which", lambda: labels_out_of_range(10, -3)),
    "softmax_rank": (INVALID, "logits must have >= 1 dimension", lambda: tf.nn.softmax(unknown())),
    "top_k_columns": (
        INVALID,
        "input must have at least k columns. Had 2, needed 5",
        lambda: tf.nn.top_k(unknown(2), 5).values,
    ),
    "in_top_k_rank": (INVALID, "predictions must be 2-dimensional", lambda: tf.nn.in_top_k(unknown(2), [0], 2)),
    "nth_element": (
        INVALID,
        r"Input must have at least n\+1 columns",
        lambda: tf.contrib.nn.nth_element(unknown(3), 4),
    ),
    "lrn_rank": (INVALID, "in must be 4-dimensional", lambda: tf.nn.lrn(unknown(1, 2))),
    "batch_norm_rank": (
        INVALID,
        r"input must be 4-dimensional\[2,3\]",
        lambda: tf.nn.fused_batch_norm(unknown(2, 3), unknown(3), unknown(3))[0],
    ),
    "batch_norm_offset": (
        INVALID,
        r"offset must be 1-dimensional\[1,2\]",
        lambda: tf.nn.fused_batch_norm(unknown(2, 2, 3, 2), unknown(2), unknown(1, 2))[0],
    ),
    "dilation_depth": (
        INVALID,
        "input and filter must have the same depth: 2 vs 3",
        lambda: tf.nn.dilation2d(unknown(1, 3, 3, 2), unknown(2, 2, 3), [1] * 4, [1] * 4, "SAME"),
    ),
    "pooling_batch": (
        UNIMPLEMENTED,
        "Pooling is not yet supported on the batch dimension",
        lambda: tf.raw_ops.MaxPool(input=unknown(3), ksize=[2, 2, 2, 1], strides=[1] * 4, padding="SAME"),
    ),
    "embedding_id": (INVALID, r"= 5 is not in \[0, 3\)", lambda: tf.nn.embedding_lookup(unknown(3, 2), [5])),
}


@pytest.mark.parametrize("name", CASES)
def test_run_raises(name):
    error, text, build = CASES[name]
    with tf.Graph().as_default():
        fetch = build()
        with tf.Session() as session, pytest.raises(error, match=text):
            session.run(fetch)


def test_window_just_too_large_gives_an_empty_result():
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.nn.conv2d(unknown(1, 2, 2, 1), unknown(3, 3, 1, 1), 1, "VALID"))
    assert found.shape == (1, 0, 0, 1)


def test_channels_first_equals_channels_last():
    rng = np.random.RandomState(0)
    x = rng.randn(2, 5, 6, 3).astype(np.float32)
    w = rng.randn(3, 3, 3, 4).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        last = tf.nn.max_pool(tf.nn.conv2d(x, w, 2, "SAME"), 2, 1, "SAME")
        first = tf.transpose(x, [0, 3, 1, 2])
        first = tf.nn.conv2d(first, w, 2, "SAME", data_format="NCHW")
        first = tf.nn.max_pool(first, 2, 1, "SAME", data_format="NCHW")
        want, found = session.run([last, tf.transpose(first, [0, 2, 3, 1])])
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)
