"""Few random numbers are drawn in NumPy until a run has been repeated; then, and among other work, by compiled programs."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.compile import FEW_RUNS

SAMPLERS = {
    "normal": lambda size: tf.random_normal(size, 1.0, 2.0, seed=3),
    "truncated_normal": lambda size: tf.truncated_normal(size, seed=3),
    "uniform": lambda size: tf.random_uniform(size, 2.0, 5.0, seed=3),
    "integers": lambda size: tf.random_uniform(size, 0, 1000, tf.int32, seed=3),
    "poisson": lambda size: tf.random_poisson(3.0, size, seed=3),
}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        yield


@pytest.mark.parametrize("name", SAMPLERS)
def test_repeated_runs_are_compiled_and_go_on_with_the_same_numbers(name):
    size = tf.placeholder(tf.int32, [2])
    alone, compiled = SAMPLERS[name]([4, 3]), SAMPLERS[name](size)
    with tf.Session() as session:
        assert not session.plan(alone).clusters
        for _ in range(FEW_RUNS + 2):
            found, wanted = session.run(alone), session.run(compiled, {size: [4, 3]})
            np.testing.assert_allclose(found, wanted, rtol=2e-7)
        assert session.plan(alone).clusters


def test_samples_among_other_work_are_compiled():
    x = tf.placeholder(tf.float32, [3])
    v = tf.Variable(1.0)
    with tf.Session() as session:
        assert session.plan(x + tf.random_normal([3]), {x: np.zeros(3)}).clusters
        assert session.plan(v + tf.random_normal([3])).clusters
        assert session.plan(tf.random_normal([1 << 15])).clusters
        assert session.plan(tf.random_normal([64, 64]) @ tf.random_normal([64, 64])).clusters


@pytest.mark.parametrize("alpha", [0.2, 3.0])
def test_gamma_is_the_same_in_numpy_and_compiled(alpha):
    v = tf.Variable(np.float32(alpha))
    in_numpy, compiled = tf.random_gamma([50], alpha, seed=3), tf.random_gamma([50], v, seed=3)
    with tf.Session() as session:
        session.run(v.initializer)
        for _ in range(3):
            np.testing.assert_allclose(session.run(in_numpy), session.run(compiled), rtol=1e-6)
