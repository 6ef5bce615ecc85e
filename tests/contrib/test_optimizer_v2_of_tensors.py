"""tf.contrib.optimizer_v2 gives gradients for tensors, and updates variables alone, as TensorFlow 1.15.5 does."""

import contextlib

import pytest

import tfcompat as tf
from tfcompat._src.contrib.optimizer_v2.optimizers import GradientDescentOptimizer
from tfcompat._src.eager.mode import eager_mode


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_tensors_have_gradients_and_no_updates(mode):
    with eager_mode() if mode == "eager" else contextlib.nullcontext(), tf.Graph().as_default() if mode == "graph" else contextlib.nullcontext():
        x = tf.constant(1.0)
        optimizer = GradientDescentOptimizer(3.0)
        pairs = optimizer.compute_gradients((lambda: x * x) if mode == "eager" else x * x, [x])
        assert len(pairs) == 1 and pairs[0][1] is x
        if mode == "eager":
            assert float(pairs[0][0]) == 2.0
        with pytest.raises(NotImplementedError, match="Trying to update a Tensor"):
            optimizer.apply_gradients(pairs)
