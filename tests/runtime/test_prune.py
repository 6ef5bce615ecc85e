"""What pruning gives, and that it changes nothing."""

import tfcompat as tf
from tfcompat._src.graph.ordering import topological
from tfcompat._src.nodes.function_body import CallOperation
from tfcompat._src.runtime.passes.prune import prune


def described(graph):
    return [
        (op.node_def.SerializeToString(), op.order, [t.name for t in op.inputs], [c.name for c in op.control_inputs], [t.name for t in op.takes])
        for op in graph.get_operations()
    ]


def test_prune_leaves_the_nodes_of_a_graph_as_they_were():
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.0, use_resource=True)

        @tf.function
        def inner(x):
            v.assign_add(x)
            return tf.cond(x > 0, lambda: x * v, lambda: x)

        @tf.function
        def outer(x):
            return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + inner(s)), [0, x])[1]

        x = tf.placeholder_with_default(2.0, [])
        y = outer(x)
        wanted = [y, tf.gradients(outer(x), v.handle)[0]]
        before = described(graph)
        ops = prune(wanted, [], [])
        assert described(graph) == before
        assert prune(wanted, [], []) == ops


def test_copies_of_bodies_stand_before_their_calls_and_are_not_listed():
    with tf.Graph().as_default() as graph:
        square = tf.function(lambda x: x * x)
        y = square(tf.constant(3.0)) + 1.0
        listed = set(graph.get_operations())
        ops = prune([y], [], [])
        call = next(op for op in ops if isinstance(op, CallOperation))
        assert [op.type for op in ops if op not in listed] == ["Mul"]
        assert [t.op.type for t in call.takes] == ["Mul"]
        assert [t.op.type for t in call.inputs] == ["Const"]
        assert topological(ops) == ops
