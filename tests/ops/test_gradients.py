"""Names and kinds of the nodes that tf.gradients begins with, and gradients of what is no real number, as in 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def nodes(graph):
    return [f"{op.name}:{op.type}" for op in graph.get_operations()]


def test_default_gradient(graph):
    x = tf.placeholder(tf.float32, name="x")
    found = tf.gradients(tf.identity(x, name="y"), x)
    assert found[0].name == "gradients/Fill:0"
    assert nodes(graph)[2:] == ["gradients/Shape:Shape", "gradients/grad_ys_0:Const", "gradients/Fill:Fill"]


def test_known_shape_is_a_constant(graph):
    x = tf.constant([1.0, 2.0], name="x")
    tf.gradients(tf.identity(x, name="y"), x)
    assert nodes(graph)[2:] == ["gradients/Shape:Const", "gradients/grad_ys_0:Const", "gradients/Fill:Fill"]


def test_given_gradients(graph):
    x = tf.constant([1.0, 2.0], name="x")
    y = tf.identity(x, name="y")
    slices = tf.IndexedSlices(*(tf.constant(v, name="part") for v in ([3.0, 4.0], [0, 1], [2])))
    before = len(nodes(graph))
    with pytest.warns(UserWarning, match="Converting sparse IndexedSlices to a dense Tensor of unknown shape"):
        tf.gradients([y, y], x, grad_ys=[[3.0, 4.0], slices])
    assert nodes(graph)[before:][:5] == [
        "gradients/grad_y_0:Const",
        "gradients/grad_ys_0:Identity",
        "gradients/grad_ys_1_indices:Identity",
        "gradients/grad_ys_1_values:Identity",
        "gradients/grad_ys_1_shape:Identity",
    ]


def test_nothing_flows_through_integers(graph):
    x = tf.constant([1, 2])
    z = tf.cast(x, tf.float32)
    assert tf.gradients(tf.identity(x), x) == [None]
    found = tf.gradients(2.0 * z, [x, z])
    assert found[0] is None and found[1] is not None
    itself = tf.gradients(x, x)[0]
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(itself), np.ones(2, np.int32))
    assert itself.dtype == tf.int32


def test_gradient_of_another_rank(graph):
    x = tf.placeholder_with_default(3.0, [])
    found = tf.gradients(x + x * 2.0, x, grad_ys=tf.constant([5.0]))[0]
    with tf.Session() as session:
        assert session.run(found) == 15.0 and found.shape == ()


WRONG = {
    "complex for real": (tf.float32, np.complex64, "Gradient type complex64 generated for real or integer-valued tensor"),
    "real for complex": (tf.complex64, np.float32, "Gradient type float32 generated for complex-valued tensor"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_type_of_gradient(name):
    of, given, message = WRONG[name]
    x = tf.placeholder(of, [2])
    with pytest.raises(TypeError, match=message):
        tf.gradients(tf.identity(x), x, grad_ys=np.ones(2, given))


def test_complex_needs_a_gradient():
    x = tf.placeholder(tf.complex64, [2])
    with pytest.raises(TypeError, match="Gradients of complex tensors must set grad_ys"):
        tf.gradients(tf.identity(x), x)


def test_string_has_no_default_gradient():
    x = tf.constant(["a"])
    with pytest.raises(TypeError, match="Expected string, got 1 of type 'int' instead"):
        tf.gradients(tf.identity(x), x)


def test_operators_on_the_gradient_of_gathered_rows(graph):
    """1.15.5 makes IndexedSlices dense on the right of an operator; Keras 2.3.1's optimizers multiply a rate by them."""
    x = tf.Variable(np.ones((3, 2), "f"))
    slices = tf.gradients(tf.reduce_sum(tf.gather(x, [1, 1])), [x])[0]
    assert isinstance(slices, tf.IndexedSlices)
    rate = tf.constant(0.5)
    with tf.Session() as session:
        session.run(x.initializer)
        for value in (rate * slices, slices * rate):
            np.testing.assert_array_equal(session.run(value), [[0, 0], [1, 1], [0, 0]])
        np.testing.assert_array_equal(session.run(rate - slices), [[0.5, 0.5], [-1.5, -1.5], [0.5, 0.5]])
    with pytest.raises(TypeError, match="unsupported operand"):
        2.0 * slices
