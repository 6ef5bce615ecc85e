"""Optimizers, learning-rate schedules, moving averages and gradients."""

import numpy as np

from cases.table import F32, F64, Table

TABLE = Table("training")
case, error_case = TABLE.case, TABLE.error_case
X = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -0.7]], np.float32)

OPTIMIZERS = {
    "sgd": lambda tf: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda tf: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda tf: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda tf: tf.train.AdadeltaOptimizer(0.5, 0.9, 1e-6),
    "rmsprop": lambda tf: tf.train.RMSPropOptimizer(0.01),
    "rmsprop_momentum": lambda tf: tf.train.RMSPropOptimizer(0.01, 0.8, 0.9, 1e-8),
    "rmsprop_centered": lambda tf: tf.train.RMSPropOptimizer(0.01, centered=True),
    "adam": lambda tf: tf.train.AdamOptimizer(0.01),
    "adam_arguments": lambda tf: tf.train.AdamOptimizer(0.1, beta1=0.8, beta2=0.99, epsilon=1e-4),
    "ftrl": lambda tf: tf.train.FtrlOptimizer(0.1),
    "ftrl_regularised": lambda tf: tf.train.FtrlOptimizer(0.1, -0.5, 0.2, 0.01, 0.02),
    "ftrl_shrinkage": lambda tf: tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1),
    "proximal_sgd": lambda tf: tf.train.ProximalGradientDescentOptimizer(0.1, 0.01, 0.01),
    "proximal_adagrad": lambda tf: tf.train.ProximalAdagradOptimizer(0.1),
    "adagrad_da": lambda tf: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()),
}


def trained(tf, session, out, feed):
    """Loss of five steps, then every variable."""
    losses = [session.run([out["train"], out["loss"]], feed)[1] for _ in range(5)]
    return [losses, session.run(tf.global_variables())]


def dense_model(tf, x, make, resource, **options):
    """A linear model with fixed start values."""
    with tf.variable_scope("model", use_resource=resource):
        w = tf.get_variable("w", initializer=np.array([[0.5, -0.3], [0.2, 0.8]], np.float32))
        b = tf.get_variable("b", initializer=np.array([0.1, -0.1], np.float32))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1.0))
    optimizer = make(tf)
    train = optimizer.minimize(loss, **options)
    return {
        "train": train,
        "loss": loss,
        "slots": [optimizer.get_slot_names(), [v.name for v in optimizer.variables()]],
    }


def sparse_model(tf, x, make, resource):
    """An embedding whose gradient is IndexedSlices with a repeated row."""
    with tf.variable_scope("model", use_resource=resource):
        w = tf.get_variable("w", initializer=np.arange(10, dtype=np.float32).reshape(5, 2) / 10)
    rows = tf.nn.embedding_lookup(w, [1, 3, 1])
    loss = tf.reduce_sum(tf.square(rows - x))
    return {"train": make(tf).minimize(loss), "loss": loss}


for _name, _make in sorted(OPTIMIZERS.items()):
    for _resource in (False, True):
        _label = _name + ("_resource" if _resource else "")
        if not (_name == "proximal_sgd" and _resource):
            case(_label, lambda tf, x, m=_make, r=_resource: dense_model(tf, x, m, r), x=X, run=trained)
        case("sparse_" + _label, lambda tf, x, m=_make, r=_resource: sparse_model(tf, x, m, r), x=X, run=trained)
case(
    "sgd_global_step",
    lambda tf, x: dense_model(tf, x, OPTIMIZERS["sgd"], False, global_step=tf.train.get_or_create_global_step()),
    x=X,
    run=trained,
)
case(
    "adam_named",
    lambda tf, x: dense_model(tf, x, lambda t: t.train.AdamOptimizer(0.01, name="Mine"), False, name="step"),
    x=X,
    run=trained,
)
case("adam_scoped", lambda tf, x: _scoped(tf, x), x=X, run=trained)
case("adam_in_name_scope", lambda tf, x: _name_scoped(tf, x), x=X, run=trained)
case("two_optimizers", lambda tf, x: _two(tf, x), x=X, run=trained)
case("var_list", lambda tf, x: _var_list(tf, x), x=X, run=trained)
case("clipped", lambda tf, x: _clipped(tf, x), x=X, run=trained)
case("decayed_rate", lambda tf, x: _decayed(tf, x), x=X, run=trained)
case(
    "tensor_rate",
    lambda tf, x: dense_model(tf, x, lambda t: t.train.AdamOptimizer(t.constant(0.1)), False),
    x=X,
    run=trained,
)
case(
    "callable_rate",
    lambda tf, x: dense_model(tf, x, lambda t: t.train.GradientDescentOptimizer(lambda: 0.1), False),
    x=X,
    run=trained,
)
case(
    "colocated_gradients",
    lambda tf, x: dense_model(tf, x, OPTIMIZERS["sgd"], False, colocate_gradients_with_ops=True),
    x=X,
    run=trained,
)
case("moving_average", lambda tf, x: _averaged(tf, x, None), x=X, run=trained)
case("moving_average_updates", lambda tf, x: _averaged(tf, x, 5), x=X, run=trained)
case("moving_average_debiased", lambda tf, x: _tensor_average(tf, x), x=X, run=trained)


def _scoped(tf, x):
    with tf.variable_scope("training"):
        return dense_model(tf, x, OPTIMIZERS["adam"], False)


def _name_scoped(tf, x):
    with tf.name_scope("training"):
        return dense_model(tf, x, OPTIMIZERS["adam"], False)


def _two(tf, x):
    w, b = tf.Variable(np.ones([2, 2], np.float32), name="w"), tf.Variable([0.5, 0.5], name="b")
    loss = tf.nn.l2_loss(tf.matmul(x, w) + b)
    first = tf.train.AdamOptimizer(0.01).minimize(loss, var_list=[w])
    second = tf.train.AdamOptimizer(0.02).minimize(-loss, var_list=[b])
    return {"train": tf.group(first, second), "loss": loss}


def _var_list(tf, x):
    w, b = tf.Variable(np.ones([2, 2], np.float32), name="w"), tf.Variable([0.5, 0.5], name="b")
    loss = tf.nn.l2_loss(tf.matmul(x, w) + b)
    return {"train": tf.train.MomentumOptimizer(0.1, 0.5).minimize(loss, var_list=[b]), "loss": loss}


def _clipped(tf, x):
    w = tf.Variable(np.ones([2, 2], np.float32), name="w")
    loss = tf.nn.l2_loss(tf.matmul(x, w))
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    pairs = [(tf.clip_by_value(g, -0.2, 0.2), v) for g, v in optimizer.compute_gradients(loss)]
    return {"train": optimizer.apply_gradients(pairs), "loss": loss}


def _decayed(tf, x):
    step = tf.Variable(0, trainable=False, name="step")
    rate = tf.train.exponential_decay(0.1, step, 2, 0.5, staircase=True)
    return dense_model(tf, x, lambda t: t.train.GradientDescentOptimizer(rate), False, global_step=step)


def _averaged(tf, x, updates):
    w = tf.Variable(np.ones([2, 2], np.float32), name="w")
    loss = tf.nn.l2_loss(tf.matmul(x, w))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    average = tf.train.ExponentialMovingAverage(0.9, num_updates=updates)
    with tf.control_dependencies([train]):
        step = average.apply(tf.trainable_variables())
    return {
        "train": step,
        "loss": loss,
        "names": [average.average(w).name, average.average_name(w), sorted(average.variables_to_restore())],
    }


def _tensor_average(tf, x):
    loss = tf.reduce_sum(x)
    average = tf.train.ExponentialMovingAverage(0.9, zero_debias=True)
    step = average.apply([loss])
    return {"train": step, "loss": average.average(loss)}


SCHEDULES = {
    "exponential": lambda tf, s: tf.train.exponential_decay(0.1, s, 10, 0.9),
    "staircase": lambda tf, s: tf.train.exponential_decay(0.1, s, 10, 0.9, staircase=True),
    "natural_exp": lambda tf, s: tf.train.natural_exp_decay(0.1, s, 10, 0.9),
    "inverse_time": lambda tf, s: tf.train.inverse_time_decay(0.1, s, 10, 0.9),
    "polynomial": lambda tf, s: tf.train.polynomial_decay(0.1, s, 20, 0.01, power=2.0),
    "polynomial_cycle": lambda tf, s: tf.train.polynomial_decay(0.1, s, 7, cycle=True),
    "piecewise": lambda tf, s: tf.train.piecewise_constant(s, [5, 15], [1.0, 0.5, 0.1]),
    "cosine": lambda tf, s: tf.train.cosine_decay(0.1, s, 20, alpha=0.1),
    "cosine_restarts": lambda tf, s: tf.train.cosine_decay_restarts(0.1, s, 6),
    "linear_cosine": lambda tf, s: tf.train.linear_cosine_decay(0.1, s, 20),
}
for _name, _schedule in sorted(SCHEDULES.items()):
    for _at in (0, 6, 12, 25):
        case(
            "schedule_%s_%d" % (_name, _at),
            lambda tf, s, f=_schedule: f(tf, s),
            s=np.array(_at, np.int32),
            partial=False,
        )
case(
    "schedule_noisy",
    lambda tf, s: tf.train.noisy_linear_cosine_decay(0.1, s, 20),
    s=np.array(3, np.int32),
    partial=False,
    seed=4,
    rtol=1e-4,
    reason="normal noise",
)

case("gradients", lambda tf, x, y: tf.gradients(tf.reduce_sum(x * y * x), [x, y]), x=F64(3), y=F64(3))
case("gradients_grad_ys", lambda tf, x, g: tf.gradients(tf.tanh(x), x, grad_ys=g), x=F64(3), g=F64(3))
case(
    "gradients_two_ys",
    lambda tf, x: tf.gradients([tf.sin(x), x * x], [x], grad_ys=[tf.fill([3], tf.constant(2.0, tf.float64)), None]),
    x=F64(3),
)
case("gradients_none", lambda tf, x, y: [g is None for g in tf.gradients(tf.sin(x), [x, y])], x=F32(3), y=F32(3))
case(
    "gradients_zero",
    lambda tf, x, y: tf.gradients(tf.sin(x), [x, y], unconnected_gradients="zero"),
    x=F64(3),
    y=F64(2),
    grad=False,
)
case("gradients_stop", lambda tf, x: tf.gradients(tf.stop_gradient(tf.sin(x)) * x, x), x=F64(3))
case("gradients_stop_gradients", lambda tf, x: _stopped(tf, x), x=F64(3))
case("gradients_intermediate", lambda tf, x: _intermediate(tf, x), x=F64(3))
case(
    "gradients_through_variable",
    lambda tf: tf.gradients(tf.square(tf.Variable([1.0, 2.0], name="v")), tf.trainable_variables()),
    grad=False,
)
case("gradients_int", lambda tf, x: [g is None for g in tf.gradients(tf.cast(x, tf.int32), [x])], x=F32(3))
case("hessians", lambda tf, x: tf.hessians(tf.reduce_sum(x * x * x), x), x=F64(3), partial=False, grad=False)
case("custom_gradient", lambda tf, x: _custom(tf, x), x=F32(3))
case("gradient_override", lambda tf, x: _override(tf, x), x=F32(3))
case("gradient_of_gather", lambda tf, x: _slices(tf, x), x=F32(4, 2), grad=False)
case(
    "aggregation",
    lambda tf, x: [
        tf.gradients(x * x + tf.sin(x) + x, x, aggregation_method=m)
        for m in (tf.AggregationMethod.ADD_N, tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N)
    ],
    x=F64(3),
    grad=False,
)
case("name", lambda tf, x: tf.gradients(x * x, x, name="mine"), x=F64(3), grad=False)
case("gate", lambda tf, x: tf.gradients(x * x, x, gate_gradients=True), x=F64(3), grad=False)


def _stopped(tf, x):
    a = tf.sin(x)
    return tf.gradients(a * x, [x, a], stop_gradients=[a])


def _intermediate(tf, x):
    a = tf.sin(x)
    b = a * a
    return tf.gradients(tf.reduce_sum(b * a), [a, b, x])


def _custom(tf, x):
    @tf.custom_gradient
    def clipped(value):
        return value * 2.0, lambda upstream: tf.clip_by_value(upstream, -0.7, 0.7)

    return clipped(x)


def _override(tf, x):
    if "TestsNegate" not in _override.done.setdefault(id(tf), set()):
        tf.RegisterGradient("TestsNegate")(lambda op, grad: -grad)
        _override.done[id(tf)].add("TestsNegate")
    with tf.get_default_graph().gradient_override_map({"Identity": "TestsNegate"}):
        return tf.identity(x)


_override.done = {}


def _slices(tf, x):
    grad = tf.gradients(tf.gather(x, [1, 1, 3]), x)[0]
    return [type(grad).__name__, grad, tf.convert_to_tensor(grad)]


error_case("gradients_of_nothing", lambda tf, x: tf.train.GradientDescentOptimizer(0.1).minimize(x), x=F32())
error_case(
    "no_gradient_path",
    lambda tf, x: [tf.Variable(1.0), tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(x))],
    x=F32(2),
)
error_case("gradient_undefined", lambda tf, x: tf.gradients(tf.truncatemod(x, x), x), x=F32(2))
error_case("grad_ys_length", lambda tf, x: tf.gradients([x * x], [x], grad_ys=[x, x]), x=F32(2))
error_case("grad_ys_shape", lambda tf, x: tf.gradients(tf.sin(x), x, grad_ys=tf.ones([3])), x=F32(2))
error_case(
    "piecewise_lengths", lambda tf, s: tf.train.piecewise_constant(s, [5, 15], [1.0, 0.5]), s=np.array(1, np.int32)
)
error_case("decay_without_step", lambda tf: tf.train.exponential_decay(0.1, None, 10, 0.9))
error_case("apply_nothing", lambda tf: tf.train.GradientDescentOptimizer(0.1).apply_gradients([]))
error_case("negative_rate", lambda tf: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0))
