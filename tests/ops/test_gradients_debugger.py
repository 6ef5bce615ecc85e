"""tf_debug.GradientsDebugger: the gradients of watched tensors, which are those that the chain rule gives."""

import pytest

import tfcompat as tf
from tfcompat._src.ops.control import gradients_debugger
from tfcompat._src.ops.control.gradients_debugger import GradientsDebugger


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph
    gradients_debugger.clear_gradient_debuggers()


def run(*fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


@pytest.mark.parametrize("use_resource", [False, True])
def test_uses_that_are_there_are_watched(graph, use_resource):
    u = tf.Variable(2.0, name="u", use_resource=use_resource)
    w = tf.multiply(u, 3.0, name="part/w")
    z = tf.square(w - 1.0)
    debugger = GradientsDebugger()
    assert debugger.watch_gradients_by_tensors(graph, [w, u]) is debugger
    (u_grad,) = tf.gradients(z, [u])
    assert set(debugger.gradient_tensors()) == {"u:0", "part/w:0"} and debugger.gradient_tensor("u:0") is u_grad
    assert run(z, u_grad, debugger.gradient_tensor(w), debugger.gradient_tensor(u)) == (25.0, 30.0, 10.0, 30.0)


def test_names_and_types_of_the_nodes(graph):
    a = tf.identity(tf.Variable(1.0, name="v", use_resource=False), name="scope/a")
    GradientsDebugger().watch_gradients_by_tensor_names(graph, "(v|scope/a):0$")
    found = {op.name.rpartition("_")[0]: op.type for op in graph.get_operations() if "Debug" in op.type}
    assert found == {"v_0/gradient_debug": "DebugGradientRefIdentity", "scope/a_0/gradient_debug": "DebugGradientIdentity"}
    assert a.consumers()[0].type == "DebugGradientIdentity"


def test_of_several_debuggers_the_entered_one_receives():
    x = tf.constant(5.0)
    first, second = GradientsDebugger(), GradientsDebugger()
    square, root = tf.square(first.identify_gradient(x)), tf.sqrt(second.identify_gradient(x))
    tf.gradients(square, x)
    with pytest.raises(LookupError, match="not received any gradient tensor for x-tensor Const:0"):
        first.gradient_tensor(x)
    with first:
        tf.gradients(square, x)
    with second:
        tf.gradients(root, x)
    assert run(first.gradient_tensor(x))[0] == 10.0 and run(second.gradient_tensor(x))[0] == pytest.approx(0.5 * 5**-0.5)


def test_what_is_refused():
    x = tf.constant(1.0)
    debugger = GradientsDebugger(x)
    debugger.identify_gradient(x)
    with pytest.raises(ValueError, match="The graph already contains an op named Const_0/gradient_debug_"):
        debugger.identify_gradient(x)
    with pytest.raises(TypeError, match="x_tensor must be a str or tf.Tensor or tf.Variable"):
        debugger.gradient_tensor(x.op)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="not the same as the graph"):
        y = tf.constant(1.0)
        tf.gradients(debugger.identify_gradient(y), y)
