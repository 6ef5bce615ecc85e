"""Where JAX computes on a GPU, products of float32 keep all bits of their factors, unless the user chooses otherwise."""

import jax
import pytest

import tfcompat as tf
from tfcompat._src.base import jax_compat

HIGHEST = (jax.lax.Precision.HIGHEST, jax.lax.Precision.HIGHEST)


@pytest.fixture
def gpu(monkeypatch):
    """JAX's default device counts as a GPU."""
    monkeypatch.setattr(jax_compat, "_computes_on_gpu", lambda: True)


def precisions():
    """What a product, a convolution and the gradient of each are to be computed with, as programs are traced."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2, 4, 4, 3])
        y = tf.layers.dense(tf.layers.flatten(tf.layers.conv2d(x, 5, 3, name="conv")), 2)
        sess.run(tf.global_variables_initializer())
        fn, params = tf.to_jax([y, tf.gradients(y, x)], [x], sess)
    equations = jax.make_jaxpr(fn)(params, jax.ShapeDtypeStruct([2, 4, 4, 3], "float32")).jaxpr.eqns
    return [e.params["precision"] for e in flattened(equations) if e.primitive.name in ("dot_general", "conv_general_dilated")]


def flattened(equations):
    """Equations, and those of the functions that they call."""
    for e in equations:
        yield e
        for inner in jax_compat.jaxprs_in_params(e.params):
            yield from flattened(inner.eqns)


def test_all_bits_count(gpu):
    found = precisions()
    assert len(found) == 4 and set(found) == {HIGHEST}


def test_the_user_chooses(gpu):
    with jax.default_matmul_precision("tensorfloat32"):
        found = precisions()
    assert len(found) == 4 and HIGHEST not in found


def test_a_cpu_needs_nothing():
    assert set(precisions()) == {None}


def test_the_setting_ends_with_the_run(gpu):
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tf.constant(1.0) + 1.0)
    assert jax.config.jax_default_matmul_precision is None
