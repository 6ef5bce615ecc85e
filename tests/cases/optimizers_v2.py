"""tf.contrib.optimizer_v2 and tf.train.SyncReplicasOptimizer's graph."""

import importlib

import numpy as np

from cases.table import Table

TABLE = Table("optimizers_v2")
case, error_case = TABLE.case, TABLE.error_case
X = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, -0.7]], np.float32)


def symbols(tf):
    package = "tfcompat" if tf.__name__ == "tfcompat" else "tensorflow"
    return importlib.import_module(package + ".contrib.optimizer_v2.optimizer_v2_symbols")


OPTIMIZERS = {
    "adadelta": lambda tf: symbols(tf).AdadeltaOptimizer(0.5, 0.9, 1e-6),
    "adagrad": lambda tf: symbols(tf).AdagradOptimizer(0.1),
    "adam": lambda tf: symbols(tf).AdamOptimizer(0.1),
    "momentum": lambda tf: symbols(tf).MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "rmsprop": lambda tf: symbols(tf).RMSPropOptimizer(0.1, momentum=0.5, epsilon=0.1),
    "rmsprop_centered": lambda tf: symbols(tf).RMSPropOptimizer(0.1, epsilon=0.5, centered=True),
    "sgd": lambda tf: symbols(tf).GradientDescentOptimizer(0.1),
    "sgd_callable": lambda tf: symbols(tf).GradientDescentOptimizer(lambda: 0.1),
}


def trained(tf, session, out, feed):
    """Loss before each of ten steps, then every variable."""
    losses = []
    for _ in range(10):
        losses.append(session.run(out["loss"], feed))
        session.run(out["train"], feed)
    return [losses, session.run(tf.global_variables())]


def model(tf, x, make, resource, counts, sparse):
    step = tf.train.get_or_create_global_step() if counts else None
    with tf.variable_scope("model", use_resource=resource):
        w = tf.get_variable("w", initializer=np.arange(10, dtype=np.float32).reshape(5, 2) / 10)
        b = tf.get_variable("b", initializer=np.array([0.1, -0.1], np.float32))
    rows = tf.gather(w, [1, 3, 1]) if sparse else w[1:4]
    loss = tf.reduce_sum(tf.square(rows - x)) + tf.reduce_sum(tf.square(b))
    optimizer = make(tf)
    train = optimizer.minimize(loss, global_step=step)
    names = [optimizer.get_slot_names(), [v.name for v in optimizer.variables()]]
    return {"train": train, "loss": loss, "names": names}


for _name, _make in sorted(OPTIMIZERS.items()):
    for _resource in (False, True):
        for _sparse in (False, True):
            if _name == "rmsprop_centered" and _resource and _sparse:
                continue
            case(
                _name + ("_resource" if _resource else "") + ("_sparse" if _sparse else ""),
                lambda tf, x, m=_make, r=_resource, s=_sparse: model(tf, x, m, r, True, s),
                x=X,
                run=trained,
            )
case("adam_uncounted", lambda tf, x: model(tf, x, OPTIMIZERS["adam"], False, False, False), x=X, run=trained)


def stopped(tf, x):
    w = tf.Variable(np.ones([2, 2], np.float32), name="w")
    middle = tf.matmul(x, w)
    loss = tf.reduce_sum(tf.square(middle) + tf.square(w)[0])
    train = symbols(tf).GradientDescentOptimizer(0.1).minimize(loss, stop_gradients=[middle])
    return {"train": train, "loss": loss}


case("stop_gradients", stopped, x=X, run=trained)
error_case("adagrad_start", lambda tf: symbols(tf).AdagradOptimizer(0.1, initial_accumulator_value=0.0))
error_case("without_name", lambda tf: symbols(tf).AdamOptimizer(0.1, name=""))
error_case("without_variables", lambda tf: symbols(tf).AdamOptimizer(0.1).apply_gradients([]))
error_case(
    "without_gradients", lambda tf: symbols(tf).AdamOptimizer(0.1).apply_gradients([(None, tf.Variable(1.0))])
)


def synchronized(tf, x, averaged):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=np.arange(10, dtype=np.float32).reshape(5, 2) / 10)
    b = tf.get_variable("b", initializer=np.array([0.1, -0.1], np.float32))
    loss = tf.reduce_sum(tf.square(tf.gather(w, [1, 3, 1]) - x)) + tf.reduce_sum(tf.square(b))
    average = tf.train.ExponentialMovingAverage(0.9) if averaged else None
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.MomentumOptimizer(0.1, 0.9), 1, 1, average, tf.trainable_variables() if averaged else None
    )
    train = optimizer.minimize(loss, global_step=step)
    tokens = optimizer.get_init_tokens_op()
    hook = optimizer.make_session_run_hook(True, num_tokens=1)
    hook.begin()
    runner = optimizer.get_chief_queue_runner()
    names = [runner.name, [op.name for op in runner.enqueue_ops], [v.name for v in optimizer.variables()]]
    return {"train": train, "loss": loss, "names": names, "tokens": tokens.name, "slots": optimizer.get_slot_names()}


case("sync_replicas", lambda tf, x: synchronized(tf, x, False), x=X, fetch=False)
case("sync_replicas_averages", lambda tf, x: synchronized(tf, x, True), x=X, fetch=False)


def synchronizing(tf):
    return tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 2, 1)


error_case("sync_without_step", lambda tf: synchronizing(tf).apply_gradients([(tf.constant(1.0), tf.Variable(1.0))]))
error_case("sync_without_variables", lambda tf: synchronizing(tf).apply_gradients([]))
error_case("sync_tokens_too_early", lambda tf: synchronizing(tf).get_init_tokens_op())
error_case("sync_runner_too_early", lambda tf: synchronizing(tf).get_chief_queue_runner())


def few_tokens(tf):
    optimizer = synchronizing(tf)
    optimizer.minimize(tf.square(tf.Variable(1.0)), global_step=tf.train.get_or_create_global_step())
    return optimizer.get_init_tokens_op(0)


error_case("sync_few_tokens", few_tokens)
