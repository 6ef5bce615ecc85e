"""The work of building, planning, differentiating, exporting and importing a graph grows no faster than the graph.

What is counted are calls of functions, which do not depend on the machine.
"""

import cProfile

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.engines import choice

SMALL, LARGE = 60, 240


def chain(step):
    def build(x, count):
        for _ in range(count):
            x = step(x)
        return x

    return build


def waiting(x):
    with tf.control_dependencies([x]):
        return tf.identity(x)


def chosen(x):
    return tf.cond(x > 0, lambda: x + 1, lambda: x - 1)


def counted(x):
    return tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, y * 0.5), [0, x])[1]


def written(x, count):
    array = tf.TensorArray(tf.float32, size=count, element_shape=[])
    for i in range(count):
        array = array.write(i, x * float(i))
    return array.stack()


def assigned(x, count):
    variables = [tf.Variable(float(i)) for i in range(count)]
    with tf.control_dependencies([v.assign_add(x) for v in variables]):
        return tf.identity(x)


GRAPHS = {
    "sum of a tensor with itself": chain(lambda x: x + x), "product with itself": chain(lambda x: x * x), "Add": chain(lambda x: x + 1.0),
    "AddV2": chain(lambda x: tf.raw_ops.AddV2(x=x, y=1.0)), "Identity": chain(tf.identity), "Mul": chain(lambda x: x * 2.0),
    "Tanh": chain(tf.tanh), "AddN": chain(lambda x: tf.add_n([x, x])), "control edges": chain(waiting), "Reshape": chain(lambda x: tf.reshape(x, [])),
    "shapes": chain(lambda x: x + tf.cast(tf.size(x), tf.float32)), "casts": chain(lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32)),
    "py_func": chain(lambda x: tf.py_func(np.tanh, [x], tf.float32)), "strings": chain(lambda x: tf.strings.to_number(tf.as_string(x))),
    "Print": chain(lambda x: tf.Print(x, [x], first_n=0)), "random": chain(lambda x: x + tf.random_uniform([], seed=1)),
    "where": chain(lambda x: tf.where(x > 0, x, -x)), "stop": chain(lambda x: tf.stop_gradient(x) + x),
    "wide": lambda x, count: tf.add_n([x * float(i) for i in range(count)]), "concat": lambda x, count: tf.stack([x + float(i) for i in range(count)]),
    "conditionals": chain(chosen), "variables": assigned, "TensorArray": written,
}  # fmt: skip
WITHOUT_GRADIENT = ("py_func", "strings", "casts", "shapes", "variables", "random")
"""Graphs without a gradient by the placeholder, or with one that another row has."""
ROWS = [(name, gradient) for name in GRAPHS for gradient in (False, True) if not (gradient and name in WITHOUT_GRADIENT)]


def calls(function):
    profile = cProfile.Profile()
    profile.enable()
    try:
        function()
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


def planned(build, count, gradient):
    """The calls that one graph takes."""

    def work():
        with tf.Graph().as_default() as graph, tf.Session() as session:
            x = tf.placeholder(tf.float32, [])
            y = build(x, count)
            if gradient:
                y = tf.gradients(y, x)[0]
            session.plan(y, {x: 1.0})
            with tf.Graph().as_default():
                tf.import_graph_def(graph.as_graph_def(), name="")

    return calls(work)


@pytest.mark.parametrize(("name", "gradient"), ROWS, ids=[f"{name} {'gradient' if gradient else 'forward'}" for name, gradient in ROWS])
def test_the_work_grows_like_the_graph(name, gradient, monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", "interpret")
    build = GRAPHS[name]
    planned(build, 2, gradient)  # what is made once
    small, large = planned(build, SMALL, gradient), planned(build, LARGE, gradient)
    assert large < small * LARGE / SMALL * 1.15, f"{large / small:.2f} times as many calls for {LARGE // SMALL} times as many nodes"
