"""Programs on the gradient registry, as libraries use it; the same under 1.15.5, which recorded what they return.

    .venv-tf1/bin/python tests/oracle/record_gradient_programs.py
"""

import contextlib

X = [1.0, -2.0, 0.0]
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def gradient(tf, make, overrides=(), times=1):
    """The gradient at X of make(x) where op types have other rules; `times` runs in one session must agree."""
    graph = tf.get_default_graph()
    x = tf.placeholder(tf.float32, [3])
    with graph.gradient_override_map(dict(overrides)):
        y = make(x)
    slope = tf.gradients(y, x)[0]
    if slope is None:
        return None
    with tf.Session() as session:
        found = [session.run(slope, {x: X}).tolist() for _ in range(times)]
    assert found[1:] == found[:-1]
    return found[0]


def error(function):
    try:
        return function()
    except Exception as e:  # noqa: BLE001  (it is what the program returns)
        return [type(e).__name__, str(e).split("\n")[0].split(" (Previous registration")[0]]


@contextlib.contextmanager
def entry_kept(registry, name):
    kept = registry[name] if name in registry else None
    rule = None if kept is None else kept["type"]
    try:
        yield
    finally:
        registry.pop(name, None)
        if kept is not None:
            kept["type"] = rule
            registry[name] = kept


@program
def straight_through(tf, ops):
    return gradient(tf, tf.sign, {"Sign": "Identity"}, times=8)


@program
def rules_of_other_ops(tf, ops):
    names = ["Identity", "Tanh", "Relu", "Sin", "Sigmoid", "Neg", "Square", "Exp", "Softplus", "Floor", "StopGradient", "Elu", "Abs"]
    return {name: gradient(tf, tf.round, {"Round": name}) for name in names}


@program
def ops_without_derivatives(tf, ops):
    makers = {"Floor": tf.floor, "Ceil": tf.ceil, "Round": tf.round, "Rint": tf.rint, "Sign": tf.sign, "OnesLike": tf.ones_like}
    return {name: [gradient(tf, make), gradient(tf, make, {name: "Identity"})] for name, make in makers.items()}


@program
def two_inputs(tf, ops):
    return gradient(tf, lambda x: tf.floormod(x, 2.0) + tf.minimum(x, 0.5), {"FloorMod": "Mul", "Minimum": "Add"})


@program
def in_a_loop(tf, ops):
    def make(x):
        return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.sign(v) * 2.0 + tf.nn.relu(v)), [0, x])[1]

    return [gradient(tf, make, o, times=8) for o in ({}, {"Sign": "Identity"}, {"Relu": "Identity"}, {"Sign": "Tanh", "Relu": "Sin"})]


@program
def in_map_fn(tf, ops):
    return [gradient(tf, lambda x: tf.map_fn(make, x), o) for make, o in ((tf.sign, {"Sign": "Identity"}), (tf.floor, {"Floor": "Identity"}))]


@program
def in_a_scan(tf, ops):
    return gradient(tf, lambda x: tf.scan(lambda a, e: a + tf.sign(e), x), {"Sign": "Identity"})


@program
def in_a_cond(tf, ops):
    def make(x):
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.sign(x), lambda: tf.nn.relu(x) * 3.0)

    return [gradient(tf, make, o, times=8) for o in ({}, {"Relu": "Identity"}, {"Relu": "Neg", "Sign": "Identity"})]


@program
def in_a_cond_in_a_loop(tf, ops):
    def body(i, v):
        return i + 1, tf.cond(i < 1, lambda: tf.sign(v) * 3.0, lambda: tf.nn.relu(v) * 2.0)

    return gradient(tf, lambda x: tf.while_loop(lambda i, v: i < 3, body, [0, x])[1], {"Sign": "Identity", "Relu": "Identity"})


@program
def in_a_loop_of_a_function(tf, ops):
    @tf.RegisterGradient("InLoop%d" % id(tf.get_default_graph()))
    def _(op, grad):
        return grad * 5.0

    def make(x):
        return tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, tf.nn.relu(v)), [0, x])[1]

    return gradient(tf, make, {"Relu": "InLoop%d" % id(tf.get_default_graph())})


@program
def second_derivative(tf, ops):
    x = tf.placeholder(tf.float32, [3])
    with tf.get_default_graph().gradient_override_map({"Sign": "Tanh"}):
        y = tf.sign(x) * x
    first = tf.gradients(y, x)[0]
    second = tf.gradients(first, x)[0]
    with tf.Session() as session:
        return [v.tolist() for v in session.run([first, second], {x: X})]


@program
def unknown_name(tf, ops):
    return error(lambda: gradient(tf, lambda x: tf.sign(x, name="s"), {"Sign": "NoSuchName"}))


@program
def lookups(tf, ops):
    registry = ops._gradient_registry
    names = ["Relu", "ArgMax", "Shape", "NoSuchName", "StringSplit", "AddV2", "TensorArrayV3"]
    return [error(lambda name=name: registry.lookup(name) is not None) for name in names] + [name in registry._registry for name in names]


@program
def names_are_taken(tf, ops):
    names = ["Relu", "ArgMax", "Shape"]
    return [error(lambda n=n: tf.RegisterGradient(n)(lambda op, g: g)) for n in names] + [error(lambda n=n: tf.NoGradient(n)) for n in names]


@program
def a_rule_is_called(tf, ops):
    x = tf.placeholder(tf.float32, [3])
    relu, total, pair = tf.nn.relu(x), tf.reduce_sum(x), x * x
    lookup = ops._gradient_registry.lookup
    one = lookup("Relu")(relu.op, x)
    grads = [lookup("Sum")(total.op, tf.constant(2.0)), lookup("Mul")(pair.op, x)]
    with tf.Session() as session:
        values = session.run([one, grads[0][0], *grads[1]], {x: X})
    return [isinstance(one, tf.Tensor), [g is None for g in grads[0]], [v.tolist() for v in values]]


@program
def gradient_function_of_an_operation(tf, ops):
    x = tf.placeholder(tf.float32, [3])
    grad = ops.get_gradient_function(tf.tanh(x).op)
    y = tf.tanh(x)
    with tf.Session() as session:
        return [session.run(grad(y.op, tf.ones([3])), {x: X}).round(5).tolist(), ops.get_gradient_function(tf.constant(1.0).op)]


@program
def a_rule_is_replaced(tf, ops):
    registry = ops._gradient_registry._registry
    plain = registry["Relu"]["type"]

    def doubled(op, grad):
        return 2.0 * plain(op, grad)

    def in_loop(x):
        return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.nn.relu(v)), [0, x])[1]

    found = []
    with entry_kept(registry, "Relu"):
        registry["Relu"]["type"] = doubled
        found += [gradient(tf, tf.nn.relu), gradient(tf, in_loop), gradient(tf, lambda x: tf.cond(x[0] > 0.0, lambda: tf.nn.relu(x), lambda: x))]
    return found + [gradient(tf, tf.nn.relu), gradient(tf, in_loop)]


@program
def a_rule_under_a_new_name(tf, ops):
    registry = ops._gradient_registry._registry
    with entry_kept(registry, "shap_Relu"):
        registry["shap_Relu"] = {"type": lambda op, g: g * 7.0, "location": registry["Relu"]["location"]}
        found = gradient(tf, tf.nn.relu, {"Relu": "shap_Relu"})
        del registry["shap_Relu"]
        return [found, "shap_Relu" in registry, error(lambda: gradient(tf, tf.nn.relu, {"Relu": "shap_Relu"}))[0]]


@program
def a_rule_is_deleted(tf, ops):
    registry = ops._gradient_registry._registry
    with entry_kept(registry, "Softplus"):
        del registry["Softplus"]
        found = ["Softplus" in registry, error(lambda: gradient(tf, lambda x: tf.nn.softplus(x, name="s")))]
        tf.RegisterGradient("Softplus")(lambda op, g: g * 4.0)
        found.append(gradient(tf, tf.nn.softplus))
    return [*found, gradient(tf, lambda x: tf.nn.softplus(x) * 0.0)]


@program
def a_rule_becomes_none(tf, ops):
    registry = ops._gradient_registry._registry
    with entry_kept(registry, "Tanh"):
        registry["Tanh"]["type"] = None
        return gradient(tf, tf.tanh)
