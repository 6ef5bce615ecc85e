"""The `_v2` names of TensorFlow 1.15's modules: nodes and values are those of 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.ops.composed import v2_forms as v2

X = np.array([[1, 0, 3], [4, 5, 6]], np.float32)
CASES = [
    (lambda x: v2.expand_dims_v2(x, 0), ["ExpandDims/dim", "ExpandDims"], X[None]),
    (lambda x: v2.shape_v2(x, tf.int64, "s"), ["s"], [2, 3]),
    (lambda x: v2.transpose_v2(x, None, True), None, X.T),
    (lambda x: v2.boolean_mask_v2(x, [True, False, True], 1), None, X[:, [0, 2]]),
    (lambda x: v2.gather_v2(x, [1], axis=1), ["GatherV2/indices", "GatherV2/axis", "GatherV2"], X[:, [1]]),
    (lambda x: v2.gather_v2(x, [[0], [1]], batch_dims=1), None, [[1], [5]]),
    (lambda x: v2.argmax_v2(x), ["ArgMax/dimension", "ArgMax"], [1, 1, 1]),
    (lambda x: v2.argmin_v2(x, 1, tf.int32), ["ArgMin/dimension", "ArgMin"], [1, 0]),
    (lambda x: v2.count_nonzero_v2(x, 0, True), None, [[2, 1, 2]]),
    (lambda x: v2.moments_v2(x, [0], keepdims=True)[1], None, [[2.25, 6.25, 2.25]]),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_nodes_and_values(case):
    function, names, expected = CASES[case]
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        out = function(x)
        if names is not None:
            assert [op.name for op in graph.get_operations()] == ["x", *names]
        np.testing.assert_array_equal(sess.run(out, {x: X}), expected)
