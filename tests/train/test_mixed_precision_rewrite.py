"""The rewrite to mixed precision: loss scaling, the ConfigProto of Sessions, and what it refuses, as 1.15.5 on CPUs."""

import pytest

import tfcompat as tf
from tfcompat._src.base import mixed_precision_state
from tfcompat._src.keras.mixed_precision.policy import policy_scope
from tfcompat._src.runtime.session import config

enable = tf.train.experimental.enable_mixed_precision_graph_rewrite


@pytest.fixture(autouse=True)
def off_again(monkeypatch):
    monkeypatch.setattr(config, "_CURRENT", [])
    monkeypatch.setattr(mixed_precision_state, "non_mixed_precision_session_created", False)
    monkeypatch.setattr(mixed_precision_state, "mixed_precision_graph_rewrite_is_enabled", False)
    with tf.Graph().as_default():
        yield


def asked(**options):
    return tf.Session(**options)._config.graph_options.rewrite_options.auto_mixed_precision


def test_optimizers():
    for opt in (tf.train.GradientDescentOptimizer(1.0), tf.keras.optimizers.SGD(1.0)):
        found = enable(opt, 123.0)
        assert type(found).__name__ in ("MixedPrecisionLossScaleOptimizer", "LossScaleOptimizer")
        with pytest.raises(ValueError, match="must not already be an instance of a " + type(found).__name__):
            enable(found)
    with pytest.raises(ValueError, match="must be an instance of a tf.train.Optimizer or"):
        enable(1)


def test_a_step_is_that_of_the_optimizer():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(3.0)
        step = enable(tf.train.GradientDescentOptimizer(0.25)).minimize(v * v)
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run(v) == 1.5


def test_sessions():
    assert asked() == 0
    enable(tf.train.GradientDescentOptimizer(1.0))
    assert asked() == asked(config=tf.ConfigProto()) == 1
    off = tf.ConfigProto()
    off.graph_options.rewrite_options.auto_mixed_precision = 2
    assert asked(config=off) == 2
    tf.train.experimental.disable_mixed_precision_graph_rewrite()
    assert asked() == 2 and asked(config=tf.ConfigProto()) == 0


def test_warnings(monkeypatch):
    texts = []
    monkeypatch.setattr("tfcompat._src.platform.logging.warn", texts.append)
    tf.train.experimental.disable_mixed_precision_graph_rewrite()
    enable(tf.train.GradientDescentOptimizer(1.0))
    tf.Session()
    enable(tf.train.GradientDescentOptimizer(1.0))
    assert len(texts) == 1 and "already disabled" in texts.pop()
    tf.train.experimental.disable_mixed_precision_graph_rewrite()
    tf.Session()
    enable(tf.train.GradientDescentOptimizer(1.0))
    assert len(texts) == 1 and "existing Sessions that do not use mixed precision" in texts[0]


def test_keras_policies_exclude_it():
    with policy_scope("infer_float32_vars"):
        with pytest.raises(ValueError, match="a keras mixed precision Policy has been set"):
            enable(tf.train.GradientDescentOptimizer(1.0))
    enable(tf.train.GradientDescentOptimizer(1.0))
    with pytest.raises(ValueError, match="the mixed precision graph rewrite has already been enabled"):
        tf.keras.mixed_precision.experimental.set_policy("infer_float32_vars")
