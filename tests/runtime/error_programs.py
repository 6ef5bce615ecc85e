"""Programs whose run fails, for `test_error_texts.py`; TensorFlow 1.15.5 recorded class, node and message of each.

    .venv-tf1/bin/python tests/oracle/record_error_texts.py
"""

import re

import numpy as np

PROGRAMS = {}


def program(function):
    """Registers a function of tf that returns the fetches and the feeds."""
    PROGRAMS[function.__name__] = function
    return function


def vector(tf):
    return tf.placeholder(tf.float32, [2], name="x")


@program
def assertion(tf):
    x = vector(tf)
    with tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0), [x], name="check")]):
        return tf.identity(x), {x: [-1.0, 1.0]}


@program
def check_of_numbers(tf):
    x = vector(tf)
    with tf.name_scope("outer"):
        return tf.check_numerics(x, "bad", name="cn") * 2.0, {x: [np.nan, 1.0]}


@program
def gather(tf):
    x = vector(tf)
    return tf.gather(x, tf.placeholder_with_default([5], [1], name="i"), name="gather") * 2.0, {x: [1.0, 2.0]}


@program
def product(tf):
    a, b = tf.placeholder(tf.float32, name="a"), tf.placeholder(tf.float32, name="b")
    return tf.matmul(a, b, name="mm"), {a: np.ones((2, 3)), b: np.ones((2, 3))}


@program
def python_function(tf):
    def fail(v):
        raise ValueError("hello")

    return tf.py_func(fail, [tf.constant(1.0)], tf.float32, name="pf"), {}


@program
def end_of_sequence(tf):
    return tf.data.Dataset.range(0).make_one_shot_iterator().get_next(name="next"), {}


@program
def uninitialized_iterator(tf):
    return tf.data.Dataset.range(3).make_initializable_iterator().get_next(name="next"), {}


@program
def uninitialized_ref(tf):
    return tf.get_variable("v", [2]) + 1.0, {}


@program
def uninitialized_resource(tf):
    return tf.get_variable("v", [2], use_resource=True) + 1.0, {}


@program
def in_a_loop(tf):
    x = vector(tf)
    body = lambda i, v: (i + 1, tf.check_numerics(v, "bad", name="cn"))  # noqa: E731
    return tf.while_loop(lambda i, v: i < 3, body, [0, x], name="w")[1], {x: [np.nan, 1.0]}


@program
def in_map_fn(tf):
    x = vector(tf)
    return tf.map_fn(lambda v: tf.check_numerics(v, "bad", name="cn"), x, name="m"), {x: [1.0, np.nan]}


@program
def in_a_cond(tf):
    x = vector(tf)
    return tf.cond(x[0] > 0, lambda: tf.check_numerics(x, "bad", name="cn"), lambda: x, name="c"), {x: [1.0, np.nan]}


@program
def unfed(tf):
    return vector(tf) + 1.0, {}


@program
def closed_queue(tf):
    q = tf.FIFOQueue(2, tf.float32, name="q")
    with tf.control_dependencies([q.close(name="close")]):
        return q.dequeue(name="dequeue"), {}


@program
def string_to_number(tf):
    x = tf.placeholder(tf.string, name="s")
    return tf.string_to_number(x, name="number"), {x: "abc"}


@program
def missing_file(tf):
    return tf.read_file(tf.constant("/no/such/file"), name="read"), {}


@program
def reshape(tf):
    x = tf.placeholder(tf.float32, name="x")
    return tf.reshape(x, tf.placeholder_with_default([5], [1], name="shape"), name="reshaped"), {x: [1.0, 2.0]}


@program
def damaged_image(tf):
    x = tf.placeholder(tf.string, name="s")
    return tf.image.decode_png(x, name="png"), {x: b"abc"}


@program
def session_error_without_a_node(tf):
    x = tf.placeholder(tf.string, name="s")
    return tf.identity(x), {x: 1.5}


def outcome(tf, name):
    """The class of the error, its op and node_def, and its message up to the place in it."""
    with tf.Graph().as_default(), tf.Session() as session:
        fetches, feeds = PROGRAMS[name](tf)
        try:
            session.run(fetches, feeds)
        except tf.errors.OpError as e:
            return described(e)
    raise AssertionError(name + " does not fail")


def described(e):
    text = str(e)
    stack = "\n\nOriginal stack trace for '%s':\n" % (e.op.name if e.op is not None else "")
    lines = e.message.split("\n")
    return {
        "class": type(e).__name__, "code": e.error_code, "op": e.op and e.op.name, "node_def": e.node_def and e.node_def.name,
        "first": re.sub("_[0-9]+_q", "_0_q", lines[0].split(" Not found:")[0]), "node": [line.split(" (defined")[0] for line in lines if line.startswith("\t [[")],
        "str": text.startswith(e.message + stack) if e.op is not None else text == e.message,
    }  # fmt: skip
