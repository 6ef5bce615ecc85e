"""Derivatives computed along with operations: the numbers are those of 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.gradients import forwardprop
from tfcompat._src.gradients.forwardprop import ForwardGradientAccumulator
from tfcompat._src.shim.internal import pywrap_eager


@pytest.fixture(autouse=True)
def _eager():
    with eager_mode():
        yield


def assert_close(tensor, expected):
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=2e-5)  # float32, in another order of operations


def test_products_of_operations():
    x, v = tf.constant([[2.0, 3.0], [1.0, 4.0]]), [[5.0, 6.0], [7.0, 8.0]]
    with ForwardGradientAccumulator() as acc:
        acc.watch(x, tf.constant(v))
        y = tf.reduce_sum(tf.sin(x) * tf.tan(x), axis=1)
        results = [y, tf.gather(x, [1, 0]), tf.split(x, 2, axis=1)[1], tf.concat([x, x], 0), x]
        others = [tf.stop_gradient(x) * 1.0, tf.cast(x, tf.int32), tf.constant(2.0) * 3.0]
    expected = [[32.51036071777344, 5.842527389526367], [[7.0, 8.0], [5.0, 6.0]], [[6.0], [8.0]], v + v, v]
    for product, value in zip(acc.jvp(results), expected, strict=True):
        assert_close(product, value)
    assert acc.jvp(others) == [None] * 3


def test_tangents_of_one_tensor_are_added():
    x = tf.constant([[2.0, 3.0], [1.0, 4.0]])
    with ForwardGradientAccumulator() as acc:
        acc.watch(x, tf.constant([[5.0, 6.0], [7.0, 8.0]]))
        acc.watch(x, tf.ones_like(x))
        y = x * x
    assert_close(acc.jvp(y), [[24.0, 42.0], [16.0, 72.0]])


@pytest.mark.parametrize("decorate", [tf.function, lambda f: f], ids=["function", "plain"])
def test_the_outer_differentiates_the_inner(decorate):
    power, x = decorate(lambda t: t**3.5), tf.constant(1.1)
    with ForwardGradientAccumulator() as outer:
        outer.watch(x, 1.0)
        with ForwardGradientAccumulator() as inner:
            inner.watch(x, 2.0)
            y = power(x)
    assert_close(inner.jvp(y), 8.883411407470703)
    assert_close(outer.jvp(y), 4.441705703735352)
    assert_close(outer.jvp(inner.jvp(y)), 20.189571380615234)
    assert inner.jvp(outer.jvp(y)) is None


def test_within_a_function():
    found = []

    @tf.function
    def products(x):
        with ForwardGradientAccumulator() as outer:
            outer.watch(x, tf.ones_like(x))
            with ForwardGradientAccumulator() as inner:
                inner.watch(x, tf.ones_like(x))
                y = x**3.5
        first = inner.jvp(y)
        found.append(inner.jvp(outer.jvp(y)))
        return first, outer.jvp(first), outer.jvp(y)

    for product, value in zip(products(tf.constant(1.1)), [4.441705703735352, 10.094785690307617, 4.441705703735352], strict=True):
        assert_close(product, value)
    assert found and set(found) == {None}


def test_with_tapes():
    x, v = tf.constant([1.0, 2.0, 3.0]), tf.constant([3.0, 4.0, 5.0])
    with ForwardGradientAccumulator() as acc:
        acc.watch(x, v)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_prod(tf.tanh(x) ** 2)
        gradient = tape.gradient(y, x)
    assert_close(acc.jvp(gradient), [-1.3125438690185547, -0.31380510330200195, -0.06356772780418396])
    with tf.GradientTape() as tape:
        tape.watch(x)
        with ForwardGradientAccumulator() as acc:
            acc.watch(x, v)
            y = tf.reduce_prod(x * x)
        product = acc.jvp(y)
    assert_close(product, 480.0)
    assert_close(tape.gradient(product, x), [744.0, 408.0, 280.0])


def test_errors():
    acc, x = ForwardGradientAccumulator(), tf.constant([2.0])
    with pytest.raises(ValueError, match="without first tracing anything"):
        acc.jvp(x)
    with pytest.raises(ValueError, match="was not entered"):
        acc.watch(x, x)
    with acc:
        with pytest.raises(ValueError, match="already recording"):
            acc.__enter__()
        with pytest.raises(NotImplementedError, match="only Tensors may be watched"):
            acc.watch(tf.Variable(1.0), 1.0)
        with pytest.raises(ValueError, match="nested structure"):
            acc.watch([x], [x, x])
    with pytest.raises(NotImplementedError, match="reuse"):
        acc.__enter__()


def test_derivative_of_one_operation():
    (product,) = forwardprop.forward_gradient(
        "Mul", (), (tf.constant([4.0]), tf.constant([5.0])), (tf.constant([20.0]),), (tf.constant([2.0]), tf.constant([3.0]))
    )
    assert_close(product, [22.0])
    attrs = ("N", 2, "T", tf.float32, "Tidx", tf.int32)
    inputs, tangents = (tf.constant([4.0]), tf.constant([5.0]), tf.constant(0)), (tf.constant([2.0]), tf.constant([3.0]), tf.constant(0))
    (product,) = forwardprop.forward_gradient("ConcatV2", attrs, inputs, (tf.constant([4.0, 5.0]),), tangents)
    assert_close(product, [2.0, 3.0])


def test_derivative_of_one_operation_of_a_graph():
    with tf.Graph().as_default(), pytest.raises(NotImplementedError, match="A derivative of one Neg needs its values"):
        forwardprop.forward_gradient("Neg", (), [tf.constant(1.0)], [tf.constant(-1.0)], [tf.constant(1.0)])


def test_another_function_differentiates():
    x = tf.constant(1.0)
    with ForwardGradientAccumulator() as acc:
        acc.watch(x, 2.0)
        pywrap_eager.TFE_Py_RegisterForwardGradientFunction(lambda *args, **kwargs: [tf.constant(-15.0)])
        try:
            replaced = x + x
        finally:
            pywrap_eager.TFE_Py_RegisterForwardGradientFunction(forwardprop.forward_gradient)
        y = x + x
    assert_close(acc.jvp(replaced), -15.0)
    assert_close(acc.jvp(y), 4.0)


def test_a_tape_differentiates_what_it_recorded_itself():
    """An operation that only another tape has recorded is a source's value to this one."""
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        y = x * x
        with tf.GradientTape() as inner:
            inner.watch([x, y])
            z = y * x
        gradient = inner.gradient(z, x)
    assert_close(gradient, 9.0)
    assert_close(outer.gradient(gradient, x), 6.0)


def test_recomputed_functions():
    f = tf.recompute_grad(lambda x: tf.tanh(x) ** 2)
    x = tf.constant([1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert_close(tape.gradient(y, x), [0.639700])
