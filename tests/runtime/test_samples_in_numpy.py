"""Random numbers are the same in NumPy, in the interpreter and in compiled programs."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.engines import choice

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


@pytest.mark.parametrize("engine", choice.ENGINES)
@pytest.mark.parametrize("name", SAMPLERS)
def test_numbers_do_not_hang_on_what_draws_them(name, engine, monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", engine)
    size = tf.placeholder(tf.int32, [2])
    drawn, drawn_as_fed = SAMPLERS[name]([4, 3]), SAMPLERS[name](size)
    initialized = tf.get_local_variable("v", initializer=SAMPLERS[name]([4, 3]))
    with tf.Session() as session:
        assert session.plan(drawn).clusters and not session.plan(initialized.initializer).clusters
        for _ in range(3):
            session.run(initialized.initializer)
            found = session.run([drawn, initialized])
            np.testing.assert_allclose(found[0], session.run(drawn_as_fed, {size: [4, 3]}), rtol=2e-7)
            np.testing.assert_allclose(found[0], found[1], rtol=2e-7)


@pytest.mark.parametrize("alpha", [0.2, 3.0])
def test_gamma_is_the_same_in_numpy_and_compiled(alpha):
    v = tf.Variable(np.float32(alpha))
    in_numpy, compiled = tf.random_gamma([50], alpha, seed=3), tf.random_gamma([50], v, seed=3)
    with tf.Session() as session:
        session.run(v.initializer)
        for _ in range(3):
            np.testing.assert_allclose(session.run(in_numpy), session.run(compiled), rtol=1e-6)
