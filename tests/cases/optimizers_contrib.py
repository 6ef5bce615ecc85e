"""tf.contrib.opt: ten steps of each optimizer, on reference and resource variables, dense and with IndexedSlices."""

import numpy as np

from cases.table import Table

TABLE = Table("optimizers_contrib")
case, error_case = TABLE.case, TABLE.error_case
X = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -0.7]], np.float32)


def step_of(tf):
    return tf.train.get_or_create_global_step()


def extended(tf):
    return tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.AdagradOptimizer)


OPTIMIZERS = {
    "adamax": lambda tf: tf.contrib.opt.AdaMaxOptimizer(0.1),
    "adamw": lambda tf: tf.contrib.opt.AdamWOptimizer(0.01, 0.1),
    "adam_gs": lambda tf: tf.contrib.opt.AdamGSOptimizer(step_of(tf), 0.1),
    "add_sign": lambda tf: tf.contrib.opt.AddSignOptimizer(0.1),
    "extended": lambda tf: extended(tf)(0.01, learning_rate=0.1),
    "lars": lambda tf: tf.contrib.opt.LARSOptimizer(0.5, 0.9),
    "lars_skip": lambda tf: tf.contrib.opt.LARSOptimizer(0.1, 0.9, skip_list=["w"], use_nesterov=True),
    "lazy_adam": lambda tf: tf.contrib.opt.LazyAdamOptimizer(0.1),
    "lazy_adam_gs": lambda tf: tf.contrib.opt.LazyAdamGSOptimizer(step_of(tf), 0.1),
    "momentumw": lambda tf: tf.contrib.opt.MomentumWOptimizer(0.01, 0.1, 0.9),
    "nadam": lambda tf: tf.contrib.opt.NadamOptimizer(0.1),
    "power_sign": lambda tf: tf.contrib.opt.PowerSignOptimizer(0.1, base=2.0),
    "reg_adagrad": lambda tf: tf.contrib.opt.RegAdagradOptimizer(0.1),
    "moving_average": lambda tf: tf.contrib.opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.1), 0.5),
    "multitask": lambda tf: tf.contrib.opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(0.1, 0.9)),
    "shampoo": lambda tf: tf.contrib.opt.ShampooOptimizer(step_of(tf), gbar_decay=0.5, learning_rate=0.1),
    "shampoo_diagonal": lambda tf: tf.contrib.opt.ShampooOptimizer(step_of(tf), max_matrix_size=1, learning_rate=0.1),
    "shampoo_interval": lambda tf: tf.contrib.opt.ShampooOptimizer(step_of(tf), svd_interval=2, learning_rate=0.1, epsilon=0.1),
    "shampoo_iterative": lambda tf: tf.contrib.opt.ShampooOptimizer(
        step_of(tf), use_iterative_root=True, learning_rate=0.1, epsilon=0.1
    ),
}
NO_SPARSE = ("add_sign_resource", "power_sign_resource", "shampoo_diagonal_resource", "multitask", "multitask_resource")
RACES = ("adamw",)
"""Sparse cases that 1.15 cannot run, or where it reads the variable before or after the decay by chance."""
SINGULAR = "1.15's singular value decomposition is Eigen's, here LAPACK's"


def trained(tf, session, out, feed):
    """Loss of ten steps, then every variable."""
    losses = [session.run([out["train"], out["loss"]], feed)[1] for _ in range(10)]
    return [losses, session.run(tf.global_variables())]


def names(optimizer):
    return [optimizer.get_slot_names(), [v.name for v in optimizer.variables()]]


def dense(tf, x, make, resource):
    with tf.variable_scope("model", use_resource=resource):
        w = tf.get_variable("w", initializer=np.array([[0.5, -0.3], [0.2, 0.8]], np.float32))
        b = tf.get_variable("b", initializer=np.array([0.1, -0.1], np.float32))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1.0))
    optimizer = make(tf)
    train = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return {"train": train, "loss": loss, "slots": [] if hasattr(optimizer, "swapping_saver") else names(optimizer)}


def sparse(tf, x, make, resource):
    with tf.variable_scope("model", use_resource=resource):
        w = tf.get_variable("w", initializer=np.arange(10, dtype=np.float32).reshape(5, 2) / 10)
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(w, [1, 3, 1]) - x))
    return {"train": make(tf).minimize(loss, global_step=tf.train.get_global_step()), "loss": loss}


for _name, _make in sorted(OPTIMIZERS.items()):
    _options = {"rtol": 1e-4, "atol": 1e-5, "reason": SINGULAR} if _name.startswith("shampoo") else {}
    for _resource in (False, True):
        _label = _name + ("_resource" if _resource else "")
        case(_label, lambda tf, x, m=_make, r=_resource: dense(tf, x, m, r), x=X, run=trained, **_options)
        if _label not in NO_SPARSE + RACES:
            case(
                "sparse_" + _label, lambda tf, x, m=_make, r=_resource: sparse(tf, x, m, r), x=X, run=trained, **_options
            )
error_case("sparse_add_sign_resource", lambda tf, x: sparse(tf, x, OPTIMIZERS["add_sign"], True), x=X)
error_case("lars_negative_momentum", lambda tf: tf.contrib.opt.LARSOptimizer(0.1, momentum=-1.0))
error_case("lars_negative_decay", lambda tf: tf.contrib.opt.LARSOptimizer(0.1, weight_decay=-1.0))
error_case("multitask_of_no_optimizer", lambda tf: tf.contrib.opt.MultitaskOptimizerWrapper(3))
error_case(
    "swapping_saver_too_early",
    lambda tf: tf.contrib.opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.1)).swapping_saver(),
)


def decayed(tf, x, listed, minimize, resource):
    """Weight decay of one variable of two."""
    with tf.variable_scope("model", use_resource=resource):
        w = tf.get_variable("w", initializer=np.array([[0.5, -0.3], [0.2, 0.8]], np.float32))
        b = tf.get_variable("b", initializer=np.array([0.1, -0.1], np.float32))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1.0))
    optimizer = tf.contrib.opt.MomentumWOptimizer(0.1, 0.1, 0.9)
    options = {"decay_var_list": [w]} if listed else {}
    if minimize:
        return {"train": optimizer.minimize(loss, **options), "loss": loss}
    return {"train": optimizer.apply_gradients(optimizer.compute_gradients(loss), **options), "loss": loss}


case("decay_listed", lambda tf, x: decayed(tf, x, True, False, False), x=X, run=trained)
case("decay_listed_resource", lambda tf, x: decayed(tf, x, True, False, True), x=X, run=trained)
case("decay_listed_minimize", lambda tf, x: decayed(tf, x, True, True, False), x=X, run=trained)


def clipped(tf, x, rows, resource, dims):
    with tf.variable_scope("model", use_resource=resource):
        w = tf.get_variable("w", initializer=np.arange(10, dtype=np.float32).reshape(5, 2) / 10)
    loss = tf.reduce_sum(tf.square((tf.gather(w, [1, 3, 1]) if rows else w[:3]) - x))
    optimizer = tf.contrib.opt.VariableClippingOptimizer(tf.train.GradientDescentOptimizer(0.1), {w: dims}, 0.5)
    return {"train": optimizer.minimize(loss), "loss": loss, "slots": optimizer.get_slot_names()}


case("clipping", lambda tf, x: clipped(tf, x, False, False, [1]), x=X, run=trained)
case("clipping_resource", lambda tf, x: clipped(tf, x, False, True, [0, 1]), x=X, run=trained)
case("clipping_rows", lambda tf, x: clipped(tf, x, True, False, [1]), x=X, run=trained)


def held(tf, x):
    """Adagrad with accumulators that stay."""
    w = tf.Variable(np.ones([2, 2], np.float32), name="w")
    loss = tf.nn.l2_loss(tf.matmul(x, w))
    optimizer = tf.contrib.opt.RegAdagradOptimizer(0.1)
    with optimizer.avoid_updating_slots():
        train = optimizer.minimize(loss)
    return {"train": train, "loss": loss}


case("reg_adagrad_held", held, x=X, run=trained)


def stale(tf, x):
    step = tf.train.get_or_create_global_step()
    w = tf.Variable(np.ones([2, 2], np.float32), name="w")
    loss = tf.nn.l2_loss(tf.matmul(x, w))
    optimizer = tf.contrib.opt.DropStaleGradientOptimizer(tf.train.GradientDescentOptimizer(0.1), 0)
    return {"train": optimizer.minimize(loss, global_step=step), "loss": loss}


case("drop_stale", stale, x=X, run=trained)


def averaged(tf, x, getter, make, resource):
    """One worker with a variable of its own."""
    step = tf.train.get_or_create_global_step()
    custom_getter = getter(tf)
    with tf.variable_scope("", custom_getter=custom_getter, use_resource=resource):
        w = tf.get_variable("w", initializer=tf.constant([[0.5, -0.3], [0.2, 0.8]]))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
    with tf.variable_scope("steps", use_resource=True):
        optimizer = make(tf, tf.train.GradientDescentOptimizer(0.1), custom_getter)
    return {"train": optimizer.minimize(loss, global_step=step), "loss": loss}


def trained_locally(tf, session, out, feed):
    session.run(tf.local_variables_initializer())
    losses = [session.run([out["train"], out["loss"]], feed)[1] for _ in range(10)]
    return [losses, session.run(tf.global_variables() + tf.local_variables())]


case(
    "elastic_average",
    lambda tf, x: averaged(
        tf, x, lambda t: t.contrib.opt.ElasticAverageCustomGetter(""),
        lambda t, opt, getter: t.contrib.opt.ElasticAverageOptimizer(opt, 2, getter, 3), True,
    ),  # fmt: skip
    x=X,
    run=trained_locally,
)
case(
    "accumulated_gradient",
    lambda tf, x: averaged(
        tf, x, lambda t: t.contrib.opt.AGNCustomGetter(""),
        lambda t, opt, getter: t.contrib.opt.AGNOptimizer(opt, 1, getter, 3), True,
    ),  # fmt: skip
    x=X,
    run=trained_locally,
)
case(
    "model_average",
    lambda tf, x: averaged(
        tf, x, lambda t: t.contrib.opt.ModelAverageCustomGetter(""),
        lambda t, opt, getter: t.contrib.opt.ModelAverageOptimizer(opt, 1, True, getter, 3), False,
    ),  # fmt: skip
    x=X,
    run=trained_locally,
)
