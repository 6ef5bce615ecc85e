"""Optimizers in float64, with constraints, gates, partitions and unknown shapes; custom gradients; gradient checks."""

import numpy as np

from cases.table import F32, Table
from cases.training import OPTIMIZERS, X, trained

TABLE = Table("optimizers_more")
case, error_case = TABLE.case, TABLE.error_case
X64 = X.astype(np.float64)
W = np.array([[0.5, -0.3], [0.2, 0.8]])


def linear_loss(tf, x, w, b):
    return tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1.0))


def double_model(tf, x, make, resource, sparse):
    """A model in float64, dense or with IndexedSlices that repeat a row."""
    with tf.variable_scope("model", use_resource=resource):
        w = tf.get_variable("w", initializer=np.arange(10).reshape(5, 2) / 10.0)
    rows = (w.sparse_read([1, 3, 1]) if resource else tf.gather(w, [1, 3, 1])) if sparse else w[1:4]
    loss = tf.reduce_sum(tf.square(rows - x))
    return {"train": make(tf).minimize(loss), "loss": loss}


for _name, _make in sorted(OPTIMIZERS.items()):
    if _name.startswith("proximal"):
        continue
    for _resource in (False, True):
        for _sparse in (False, True):
            case(
                "float64_%s%s%s" % (_name, "_resource" if _resource else "", "_sparse" if _sparse else ""),
                lambda tf, x, m=_make, r=_resource, s=_sparse: double_model(tf, x, m, r, s),
                x=X64,
                run=trained,
            )


def constrained(tf, x, resource):
    with tf.variable_scope("model", use_resource=resource):
        w = tf.get_variable("w", initializer=W, constraint=lambda v: tf.clip_by_value(v, 0.0, 0.6))
    loss = tf.reduce_sum(tf.square(tf.matmul(x, w)))
    return {"train": tf.train.MomentumOptimizer(0.1, 0.5).minimize(loss), "loss": loss}


case("constraint", lambda tf, x: constrained(tf, x, False), x=X64, run=trained)
case("constraint_resource", lambda tf, x: constrained(tf, x, True), x=X64, run=trained)


def gated(tf, x, gate):
    w, b = tf.Variable(W, name="w"), tf.Variable([0.1, -0.1], dtype=tf.float64, name="b")
    loss = linear_loss(tf, x, w, b)
    return {"train": tf.train.GradientDescentOptimizer(0.1).minimize(loss, gate_gradients=gate), "loss": loss}


for _gate in (0, 1):
    case("gate_%d" % _gate, lambda tf, x, g=_gate: gated(tf, x, g), x=X64, run=trained)


def partitioned(tf, x):
    with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(2)):
        w = tf.get_variable("w", initializer=tf.constant_initializer(0.5), shape=[2, 2])
    loss = tf.reduce_sum(tf.square(tf.matmul(x, tf.convert_to_tensor(w))))
    optimizer = tf.train.AdamOptimizer(0.1)
    train = optimizer.minimize(loss)
    infos = [v._get_save_slice_info() for v in optimizer.variables()]
    return {"train": train, "loss": loss, "slices": [None if i is None else [i.full_name, i.spec] for i in infos]}


case("partitioned", partitioned, x=X, run=trained)


def unknown_shape(tf, x, make):
    w = tf.Variable(tf.placeholder_with_default(np.ones([2, 2], np.float32), None), validate_shape=False, name="w")
    loss = tf.reduce_sum(tf.square(w)) + 0.0 * tf.reduce_sum(x)
    return {"train": make(tf).minimize(loss), "loss": loss}


case("unknown_shape_momentum", lambda tf, x: unknown_shape(tf, x, OPTIMIZERS["momentum"]), x=X, run=trained)
case("unknown_shape_rmsprop", lambda tf, x: unknown_shape(tf, x, OPTIMIZERS["rmsprop"]), x=X, run=trained)


def two_variables(tf, x, **options):
    w, b = tf.Variable(W, name="w"), tf.Variable([0.1, -0.1], dtype=tf.float64, name="b")
    loss = linear_loss(tf, x, w, b)
    optimizer = tf.train.AdamOptimizer(0.1)
    pairs = optimizer.compute_gradients(loss, **options)
    return {
        "train": optimizer.apply_gradients([(pairs[0][0], pairs[0][1]), (None, pairs[1][1])]),
        "loss": loss,
        "slot": [
            optimizer.get_slot(b, "m") is None,
            optimizer.get_slot(w, "m").name,
            optimizer.get_slot(w, "q") is None,
        ],
    }


case("gradient_none", two_variables, x=X64, run=trained)
case(
    "grad_loss",
    lambda tf, x: two_variables(tf, x, grad_loss=tf.constant(2.0, tf.float64)),
    x=X64,
    run=trained,
)


def resource_step(tf, x):
    with tf.variable_scope("", use_resource=True):
        step = tf.train.get_or_create_global_step()
    w = tf.Variable(W, name="w")
    loss = tf.reduce_sum(tf.square(tf.matmul(x, w)))
    return {"train": tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step), "loss": loss}


case("resource_global_step", resource_step, x=X64, run=trained)


def ftrl_names(tf, x):
    w = tf.Variable(W, name="w")
    loss = tf.reduce_sum(tf.square(tf.matmul(x, w)))
    optimizer = tf.train.FtrlOptimizer(0.1, accum_name="a", linear_name="l")
    return {"train": optimizer.minimize(loss), "loss": loss, "names": [v.name for v in optimizer.variables()]}


case("ftrl_names", ftrl_names, x=X64, run=trained)


def averaged_resource(tf, x):
    with tf.variable_scope("model", use_resource=True):
        w = tf.get_variable("w", initializer=W)
    loss = tf.reduce_sum(tf.square(tf.matmul(x, w)))
    average = tf.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.1).minimize(loss)]):
        step = average.apply()
    return {"train": step, "loss": loss, "names": sorted(average.variables_to_restore())}


case("moving_average_resource", averaged_resource, x=X64, run=trained)


def custom(tf, x):
    """A custom gradient that uses a variable."""
    with tf.variable_scope("model", use_resource=True):

        @tf.custom_gradient
        def scaled(value):
            w = tf.get_variable("w", initializer=np.array([2.0, 3.0], np.float32))
            tf.get_variable("unused", initializer=np.array([2.0, 3.0], np.float32))

            def grad(upstream, variables=None):
                return 10.0 * upstream, [100.0 * tf.reduce_sum(upstream, 0) for _ in variables]

            return value * w, grad

        return scaled(x)


def recomputed(tf, x):
    with tf.variable_scope("model", use_resource=True):

        @tf.recompute_grad
        def layer(value):
            with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
                return tf.sin(value * tf.get_variable("w", initializer=np.array([2.0, 3.0], np.float32)))

        return layer(layer(x))


def passed_through(tf, x):
    with tf.variable_scope("model", use_resource=True):
        return tf.grad_pass_through(tf.round)(x)


case("custom_gradient_variable", custom, x=F32(3, 2), partial=False)
case("recompute_grad", recomputed, x=F32(3, 2), partial=False)
case("grad_pass_through", passed_through, x=F32(3, 2), partial=False)


def checked(tf, session, out, feed):
    pairs = tf.test.compute_gradient(out["x"], [2, 2], out["y"], [2, 2], x_init_value=W, delta=1e-3)
    return [list(pairs), tf.test.compute_gradient_error(out["x"], [2, 2], out["y"], [2, 2], x_init_value=W)]


def to_check(tf):
    x = tf.placeholder(tf.float64, [2, 2], name="x")
    return {"x": x, "y": tf.matmul(tf.sin(x), x)}


case("compute_gradient", to_check, run=lambda tf, s, o, f: in_session(tf, s, o), rtol=1e-8, reason="differences")


def in_session(tf, session, out):
    with session.as_default():
        return checked(tf, session, out, None)


error_case("optimizer_without_name", lambda tf: tf.train.GradientDescentOptimizer(0.1, name=""))
error_case("gate_unknown", lambda tf, x: gated(tf, x, 3), x=X64)
error_case("integer_loss", lambda tf: tf.train.GradientDescentOptimizer(0.1).minimize(tf.Variable(3)))
error_case(
    "update_of_tensor",
    lambda tf, x: tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(x), var_list=[x]),
    x=F32(2),
)
error_case(
    "all_gradients_none",
    lambda tf: tf.train.GradientDescentOptimizer(0.1).apply_gradients([(None, tf.Variable(1.0))]),
)
error_case(
    "gradient_of_no_kind",
    lambda tf: tf.train.GradientDescentOptimizer(0.1).apply_gradients([(object(), tf.Variable(1.0))]),
)
error_case("adagrad_start", lambda tf: tf.train.AdagradOptimizer(0.1, initial_accumulator_value=0.0))
error_case("ftrl_power", lambda tf: tf.train.FtrlOptimizer(0.1, learning_rate_power=0.5))
error_case("global_step_twice", lambda tf: [tf.train.create_global_step(), tf.train.create_global_step()])
error_case("global_step_float", lambda tf: tf.train.assert_global_step(tf.Variable(1.0)))
error_case("global_step_vector", lambda tf: tf.train.assert_global_step(tf.Variable([1])))
error_case("average_of_int", lambda tf: tf.train.ExponentialMovingAverage(0.9).apply([tf.Variable(1)]))
error_case(
    "custom_gradient_keywords",
    lambda tf: tf.custom_gradient(lambda x, y=1: (x, lambda g: g))(tf.constant(1.0), y=2),
)
error_case("recompute_without_resource", lambda tf, x: tf.recompute_grad(tf.sin)(x), x=F32(2))
error_case(
    "schedule_boundary_types",
    lambda tf: tf.train.piecewise_constant(tf.constant(1.0), [5, 15], [1.0, 0.5, 0.1]),
)
error_case("schedule_value_types", lambda tf: tf.train.piecewise_constant(tf.constant(1), [5], [1.0, 2]))
