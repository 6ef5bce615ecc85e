"""A run changes no node of its graph, whatever it inlines, folds and differentiates."""

import numpy as np
import plan_programs
import pytest

import tfcompat as tf


def gradient_of_a_function_with_a_branch():
    @tf.function
    def twice(x):
        return 2.0 * x + tf.random_uniform([])

    @tf.function
    def branching(x):
        return tf.cond(x > 0.0, lambda: twice(x), lambda: -x)

    x = tf.placeholder(tf.float32, [])
    y = branching(x)
    return [y, tf.gradients(y, x)], {x: np.float32(3)}


def gradient_of_a_loop_in_a_function():
    @tf.function
    def power(x, n):
        return tf.while_loop(lambda i, p: i < n, lambda i, p: (i + 1, p * x), [0, 1.0])[1]

    x, n = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])
    y = power(x, n)
    return [y, tf.gradients(y, x)], {x: np.float32(3), n: np.int32(4)}


PROGRAMS = {**plan_programs.PROGRAMS, **{f.__name__: f for f in (gradient_of_a_function_with_a_branch, gradient_of_a_loop_in_a_function)}}
PLANNED_ONLY = {"saving": "would write a file", "image_decoding": "is fed no image"}


def nodes(graph):
    """What is to stay of each node of a graph and of the bodies of its functions: inputs, control inputs, attributes and device."""
    found = {}
    for function in graph._functions.values():
        found[function.name] = nodes(function.body)
    for op in graph.get_operations():
        shapes = [t.shape.as_list() if t.shape.ndims is not None else None for t in op.outputs]
        found[op.name] = (op.node_def, list(op.inputs), list(op.control_inputs), op.device, op.type, shapes, list(op.outputs))
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_changes_no_node(name):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        fetches, feeds = PROGRAMS[name]()
        prepare = [tf.global_variables_initializer(), tf.tables_initializer()]
        before, version = nodes(graph), graph.version
        session.run(prepare)
        if name not in PLANNED_ONLY:
            session.run(fetches, feeds)
            session.run(fetches, feeds)
        session.explain(fetches, feeds)
        assert nodes(graph) == before
        assert graph.version == version
