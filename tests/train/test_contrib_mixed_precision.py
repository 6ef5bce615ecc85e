"""tf.contrib.mixed_precision: factors after each step by the rule of their manager, and steps as without a factor."""

import numpy as np
import pytest

import tfcompat as tf

STEPS = [True, True, False, True, True, False, False, False, False, True, True, True, True]


def rule(scale, grow_after, shrink_after, grow_by, shrink_by):
    """The factor after each step: it grows after finite steps in a row, shrinks after others, and starts counting anew then."""
    good = bad = 0
    for finite in STEPS:
        if finite:
            good += 1
            if good == grow_after:
                with np.errstate(over="ignore"):
                    larger = np.float32(scale) * np.float32(grow_by)
                scale, good, bad = larger if np.isfinite(larger) else scale, 0, 0
        else:
            good, bad = 0, bad + 1
            if bad == shrink_after:
                scale, good, bad = max(np.float32(1), np.float32(scale) * np.float32(shrink_by)), 0, 0
        yield np.float32(scale)


@pytest.mark.parametrize(
    ("first", "options"),
    [(8.0, (2, 2, 2, 0.8)), (1.1, (2, 1, 2, 0.5)), (1e38, (2, 2, 10, 0.8)), (4.0, (3, 3, 1.5, 0.25))],
)
def test_exponential_updates(first, options):
    with tf.Graph().as_default(), tf.Session() as session:
        finite = tf.placeholder(tf.bool, [])
        manager = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(first, *options)
        step = manager.update_loss_scale(finite)
        session.run(tf.global_variables_initializer())
        found = []
        for value in STEPS:
            session.run(step, {finite: value})
            found.append(session.run(manager.get_loss_scale()))
    assert found == list(rule(first, *options))


@pytest.mark.parametrize(("slope", "want"), [(2.0, 2.5), (np.inf, 3.0), (np.nan, 3.0)])
def test_optimizer(slope, want):
    with tf.Graph().as_default(), tf.Session() as session:
        v, unused = tf.Variable(3.0), tf.Variable(1.0)
        manager = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(64.0, 1, 1, 2, 0.5)
        optimizer = tf.contrib.mixed_precision.LossScaleOptimizer(tf.train.GradientDescentOptimizer(0.25), manager)
        loss = v * slope
        assert optimizer.compute_gradients(loss, [v, unused])[1] == (None, unused)
        step = optimizer.minimize(loss, var_list=[v])
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run([v, manager.get_loss_scale()]) == [want, 128.0 if want != 3.0 else 32.0]


def test_a_fixed_factor():
    with tf.Graph().as_default(), tf.Session() as session:
        manager = tf.contrib.mixed_precision.FixedLossScaleManager(100)
        session.run(manager.update_loss_scale(tf.constant(False)))
        assert session.run(manager.get_loss_scale()) == np.float32(100)
        with pytest.raises(ValueError, match="must be at least 1"):
            tf.contrib.mixed_precision.FixedLossScaleManager(0.5)
    with pytest.raises(TypeError, match="abstract"):
        tf.contrib.mixed_precision.LossScaleManager()
