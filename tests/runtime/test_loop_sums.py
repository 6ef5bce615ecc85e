"""The sums of backward loops, against closed formulas: for s_T = sum of x_t W, dW = (sum of x_t)' g and dx_t = g W'."""

import jax
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.engines import choice
from tfcompat._src.runtime.lowering import bounded_loop as differentiable_loop

STEPS, BATCH, INPUT, UNITS = 6, 2, 15, 17


def _summing_loop(dtype, count):
    rng = np.random.RandomState(0)
    rows, kernel = rng.randn(STEPS, BATCH, INPUT), rng.randn(INPUT, UNITS)
    weights, inputs = tf.constant(kernel, dtype), tf.placeholder(dtype, [STEPS, BATCH, INPUT])
    array = tf.TensorArray(dtype, STEPS).unstack(inputs)
    body = lambda i, s: (i + 1, s + tf.matmul(array.read(i), weights))  # noqa: E731
    _, last = tf.while_loop(lambda i, _: i < count, body, (0, tf.zeros([BATCH, UNITS], dtype)))
    return rows, kernel, weights, inputs, last


@pytest.mark.parametrize("length", [STEPS, 4, 0])
def test_products_and_rows(length):
    count = tf.placeholder(tf.int32, [])
    rows, kernel, weights, inputs, last = _summing_loop(tf.float64, tf.minimum(count, STEPS))
    upstream = np.random.RandomState(1).randn(BATCH, UNITS)
    grads = tf.gradients(last, [weights, inputs], [tf.constant(upstream)])
    with tf.Session() as sess:
        d_weights, d_inputs = sess.run(grads, {inputs: rows, count: length})
    np.testing.assert_allclose(d_weights, rows[:length].sum(0).T @ upstream, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(d_inputs[:length], np.broadcast_to(upstream @ kernel.T, (length, BATCH, INPUT)), rtol=1e-12)
    assert not d_inputs[length:].any()


@pytest.fixture
def traced(monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", "interpret")


def test_no_iteration_computes_or_adds_a_product_that_is_greater_than_its_factors(traced):
    rows, _, weights, inputs, last = _summing_loop(tf.float32, STEPS)
    loss = tf.reduce_sum(tf.square(last))
    with tf.Session() as sess:
        grad = tf.gradients(loss, weights)
        sess.run(grad, {inputs: rows})
        (cluster,) = sess.plan(grad, {inputs: rows}).clusters
    (program,) = cluster.programs.values()
    (executable,) = program.executables.values()
    with jax.enable_x64(True):
        jaxpr = executable.tracing.trace(((rows.astype(np.float32),), (), (), (), ())).jaxpr
    bodies = [e.params["body_jaxpr"].jaxpr for e in jaxpr.jaxpr.eqns if e.primitive.name == "while"]
    shapes = [v.aval.shape for body in bodies for e in body.eqns if e.primitive.name == "add" for v in e.outvars]
    assert (BATCH, UNITS) in shapes and (INPUT, UNITS) not in shapes


def test_an_iteration_is_differentiated_once_for_each_program(monkeypatch, traced):
    rows, kernel, weights, inputs, last = _summing_loop(tf.float64, STEPS)
    calls, derivative = [], differentiable_loop._Loop.derivative
    monkeypatch.setattr(differentiable_loop._Loop, "derivative", lambda *arguments: calls.append(1) or derivative(*arguments))
    with tf.Session() as sess:
        (found,) = sess.run(tf.gradients(last, [weights]), {inputs: rows})
    assert len(calls) == 1
    np.testing.assert_allclose(found, rows.sum(0).T @ np.ones([BATCH, UNITS]), rtol=1e-12)
