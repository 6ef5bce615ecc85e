"""Templates, functions inside a graph, imported graphs and frozen ones."""

import importlib

import numpy as np

from cases.table import F32, Table

TABLE = Table("functions")
case, error_case = TABLE.case, TABLE.error_case


def defun(tf, *types, **options):
    """TensorFlow's function.Defun, and ours."""
    real = tf.__name__.startswith("tensorflow")
    module = "tensorflow.python.framework.function" if real else "tfcompat._src.function.defun"
    return importlib.import_module(module).Defun(*types, **options)


def lines(nodes):
    """The nodes of a GraphDef as text, with sorted attribute names."""
    return np.array(
        [" ".join([n.name, n.op] + list(n.input) + sorted(n.attr)).encode() for n in nodes], dtype=object
    )


# ---- templates ----


def scaled(tf):
    def layer(x, factor=1.0):
        w = tf.get_variable("w", [], initializer=tf.constant_initializer(3.0))
        return x * w * factor

    return layer


def template_in_scopes(tf, x):
    shared = tf.make_template("shared", scaled(tf), factor=2.0)
    first = shared(x)
    with tf.name_scope("names"):
        second = shared(x + 1.0)
    with tf.variable_scope("variables"):
        third = shared(x)
    other = tf.make_template("shared", scaled(tf))
    return [first, second, third, other(x)]


def template_now(tf, x):
    with tf.variable_scope("outer"):
        shared = tf.make_template("now", scaled(tf), create_scope_now_=True)
    return [shared(x), shared(x), tf.make_template("named", scaled(tf), unique_name_="exact")(x)]


def template_nested(tf, x):
    inner = tf.make_template("inner", scaled(tf))
    outer = tf.make_template("outer", lambda y: inner(y) + tf.make_template("own", scaled(tf))(y))
    return [outer(x), outer(x)]


case("template_in_scopes", template_in_scopes, x=F32(2))
case("template_now", template_now, x=F32(2))
case("template_nested", template_nested, x=F32(2))


def template_grows(tf):
    names = iter("ab")
    grow = tf.make_template("grow", lambda: tf.get_variable(next(names), []))
    grow()
    grow()


def template_new_variable(tf):
    make = tf.make_template("make", lambda: tf.Variable(1.0))
    make()
    make()


error_case("template_grows", template_grows)
error_case("template_new_variable", template_new_variable)
error_case("template_without_name", lambda tf: tf.make_template(None, abs))


# ---- functions ----


def captures(tf, x, y):
    w = tf.constant([2.0, 3.0])

    @defun(tf, tf.float32, tf.float32, func_name="Weighted")
    def weighted(a, b):
        v = tf.get_variable("v", initializer=[1.0, -1.0])
        return a * w + b * v, tf.reduce_sum(a * b)

    first, total = weighted(x, y)
    again, _ = weighted(y, x, name="again")
    return [first, total, again]


def calls_in_calls(tf, x):
    @defun(tf, tf.float32, func_name="SquareOf")
    def square(a):
        return a * a

    @defun(tf, tf.float32, func_name="QuarticOf")
    def quartic(a):
        return square(square(a)) + a

    return [quartic(x), square(quartic(x))]


def own_gradient(tf, x):
    @defun(tf, tf.float32, tf.float32, func_name="Backward")
    def backward(a, grad):
        return grad * 10.0 + a

    @defun(tf, tf.float32, func_name="Forward", grad_func=backward)
    def forward(a):
        return a * 2.0

    @defun(tf, tf.float32, func_name="InPython", python_grad_func=lambda op, grad: op.inputs[0] * 5.0)
    def in_python(a):
        return a * 2.0

    return [tf.gradients(forward(x), x)[0], tf.gradients(in_python(x), x)[0]]


def branches_inside(tf, x):
    @defun(tf, tf.float32, func_name="Branches")
    def branches(a):
        with tf.control_dependencies([tf.Assert(tf.reduce_all(a < 100.0), [a])]):
            return tf.cond(tf.reduce_sum(a) > 0.0, lambda: tf.identity(a * 2.0), lambda: a - 1.0)

    return [branches(x), branches(-x)]


case("captures", captures, x=F32(2), y=F32(2), grad=False, partial=False)
case(
    "captures_gradient", lambda tf, x, y: tf.gradients(captures(tf, x, y)[:2], [x, y]), x=F32(2), y=F32(2), grad=False,
    partial=False,
)  # fmt: skip
case("calls_in_calls", calls_in_calls, x=F32(3), grad=False, partial=False)
case(
    "calls_in_calls_gradient", lambda tf, x: tf.gradients(calls_in_calls(tf, x), x), x=F32(3), grad=False, partial=False
)
case("own_gradient", own_gradient, x=F32(3), grad=False, partial=False)
case("branches_inside", branches_inside, x=F32(3), grad=False, partial=False)
error_case("too_few_arguments", lambda tf: defun(tf, tf.float32)(lambda a, b: a)(1.0))
error_case("wrong_count", lambda tf: defun(tf, tf.float32, func_name="One")(lambda a: a)(1.0, 2.0))
error_case("unknown_keyword", lambda tf: defun(tf, tf.float32, func_name="One")(lambda a: a)(1.0, zork=3))
error_case("not_a_function", lambda tf: defun(tf, tf.float32)(3))


# ---- import ----


def import_twice(tf, x):
    graph = tf.Graph()
    with graph.as_default():
        a = tf.placeholder(tf.float32, name="a")
        with tf.name_scope("s"):
            tf.identity(a + 1.0, name="b")
    graph_def = graph.as_graph_def()
    outputs = []
    for name in ("", "", None, "given"):
        outputs += tf.import_graph_def(graph_def, {"a": x}, ["s/b:0"], name=name)
    return outputs


case("import_twice", import_twice, x=F32(2), partial=False, grad=False)


def import_of(text, **arguments):
    def build(tf):
        graph_def = tf.GraphDef()
        for name, op, inputs in text:
            node = graph_def.node.add(name=name, op=op)
            node.input.extend(inputs)
            if op in ("Placeholder", "Const"):
                node.attr["dtype"].type = 1
            if op == "Identity":
                node.attr["T"].type = 1
        graph_def.versions.producer = arguments.get("producer", 134)
        graph_def.versions.min_consumer = arguments.get("min_consumer", 0)
        tf.import_graph_def(graph_def, return_elements=arguments.get("elements"))

    return build


error_case("import_unknown_input", import_of([("b", "Identity", ["a:0"])]))
error_case("import_twice_the_name", import_of([("a", "Placeholder", []), ("a", "Placeholder", [])]))
error_case("import_missing_output", import_of([("a", "Placeholder", []), ("b", "Identity", ["a:1"])]))
error_case("import_missing_element", import_of([("a", "Placeholder", [])], elements=["c"]))
error_case("import_missing_tensor", import_of([("a", "Placeholder", [])], elements=["a:1"]))
error_case("import_from_the_future", import_of([("a", "Placeholder", [])], min_consumer=1 << 30))


# ---- frozen graphs ----


def model(tf, x):
    v = tf.Variable([1.0, 2.0], name="v")
    r = tf.Variable([3.0, 4.0], name="r", use_resource=True)
    y = tf.identity(tf.check_numerics(x * v + r, "m"), name="y")
    with tf.control_dependencies([tf.identity(x, name="waited_for")]):
        tf.identity(tf.gather(r, 0) + tf.identity(y[0]), name="z")
    return y


def frozen(tf, sess, names, **options):
    return tf.graph_util.convert_variables_to_constants(sess, sess.graph.as_graph_def(), names, **options)


case(
    "freeze", model, x=F32(2), grad=False, partial=False,
    run=lambda tf, s, out, feed: [lines(frozen(tf, s, ["y", "z"]).node)],
)  # fmt: skip
case(
    "freeze_some", model, x=F32(2), grad=False, partial=False,
    run=lambda tf, s, out, feed: [
        lines(frozen(tf, s, ["y"], variable_names_blacklist=["v"]).node),
        lines(frozen(tf, s, ["y"], variable_names_whitelist=["v", "r"]).node),
    ],
)  # fmt: skip
case(
    "without_training_nodes", model, x=F32(2), grad=False, partial=False,
    run=lambda tf, s, out, feed: [lines(tf.graph_util.remove_training_nodes(frozen(tf, s, ["y", "z"]), ["y", "z"]).node)],
)  # fmt: skip
case(
    "on_cpu", model, x=F32(2), grad=False, partial=False,
    run=lambda tf, s, out, feed: [np.array([tf.graph_util.must_run_on_cpu(o, True) for o in s.graph.get_operations()])],
)  # fmt: skip
error_case("extract_missing", lambda tf: tf.graph_util.extract_sub_graph(tf.GraphDef(), ["nope"]))
error_case("extract_one_name", lambda tf: tf.graph_util.extract_sub_graph(tf.GraphDef(), "nope"))
error_case("extract_from_nothing", lambda tf: tf.graph_util.extract_sub_graph(3, ["nope"]))


def hoisted(tf, x):
    """A function, called by another one, makes variables: their values are passed in."""

    @defun(tf, tf.float32, func_name="inner")
    def inner(value):
        return value * tf.get_variable("w", [], initializer=tf.ones_initializer(), use_resource=True)

    @defun(tf, tf.float32, func_name="outer")
    def outer(value):
        return inner(value) + tf.get_variable("b", [], initializer=tf.ones_initializer())

    with tf.variable_scope("scope"):
        result = outer(x)
    return [tf.identity(result), tf.constant(" ".join(v.name for v in tf.global_variables()))]


case("hoisted_variables", lambda tf, x: hoisted(tf, x), x=F32(3), grad=False, partial=False)
