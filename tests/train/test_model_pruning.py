"""tf.contrib.model_pruning: masks of small weights."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat import contrib


def updated_mask(weights, settings):
    """The mask after one update at the sparsity 0.5."""
    pruning = contrib.model_pruning
    with tf.Graph().as_default(), tf.Session() as session:
        weight = tf.get_variable("weights", initializer=tf.constant(weights))
        pruning.apply_mask(weight, tf.get_variable_scope())
        spec = pruning.get_pruning_hparams().parse(settings)
        update = pruning.Pruning(spec, tf.train.get_or_create_global_step(), sparsity=tf.constant(0.5)).mask_update_op()
        session.run(tf.global_variables_initializer())
        session.run(update)
        mask, zeros = session.run([pruning.get_masks()[0], pruning.get_weight_sparsity()[0]])
        assert session.run(pruning.get_masked_weights()[0]).tolist() == (mask * weights).tolist()
    assert zeros == np.mean(mask == 0)
    return mask


def test_the_smaller_half_is_masked():
    weights = np.linspace(-1.0, 1.9, 30, dtype=np.float32).reshape(5, 6)
    mask = updated_mask(weights, "threshold_decay=0.0")
    np.testing.assert_array_equal(mask, np.abs(weights) >= np.sort(np.abs(weights).ravel())[15])


def test_blocks_are_masked_as_one():
    weights = np.abs(np.random.default_rng(0).normal(size=(4, 6))).astype(np.float32)
    mask = updated_mask(weights, "block_height=2,block_width=3")
    means = weights.reshape(2, 2, 2, 3).mean(axis=(1, 3))
    kept = means >= np.sort(means.ravel())[2]
    np.testing.assert_array_equal(mask, np.kron(kept, np.ones((2, 3))))


@pytest.mark.parametrize("step, expected", [(0, 0.0), (50, 0.4375), (100, 0.5), (200, 0.5)])
def test_the_sparsity_rises_with_the_step(step, expected):
    with tf.Graph().as_default(), tf.Session() as session:
        pruning = contrib.model_pruning.Pruning(global_step=tf.constant(step))
        np.testing.assert_allclose(session.run(pruning._sparsity), expected, rtol=1e-6)


@pytest.mark.parametrize("settings", ["begin_pruning_step=-1", "target_sparsity=1.1", "threshold_decay=-0.1"])
def test_settings_out_of_range_are_refused(settings):
    with tf.Graph().as_default(), pytest.raises(ValueError):
        spec = contrib.model_pruning.get_pruning_hparams().parse(settings)
        contrib.model_pruning.Pruning(spec, tf.train.get_or_create_global_step())


def test_layers_multiply_their_kernels_with_masks():
    with tf.Graph().as_default() as graph:
        contrib.model_pruning.masked_conv2d(tf.zeros([1, 4, 4, 2]), 3, 2)
        contrib.model_pruning.masked_fully_connected(tf.zeros([2, 5]), 3)
        assert [v.op.name for v in tf.global_variables()] == [
            "Conv/mask", "Conv/weights", "Conv/threshold", "Conv/biases", "fully_connected/weights",
            "fully_connected/mask", "fully_connected/threshold", "fully_connected/biases",
        ]  # fmt: skip
        assert len(contrib.model_pruning.get_masks()) == len(contrib.model_pruning.get_masked_weights()) == 2
        assert "fully_connected/weights/masked_weight" in {op.name for op in graph.get_operations()}
