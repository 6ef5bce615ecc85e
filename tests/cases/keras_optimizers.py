"""tf.keras.optimizers: the operations of a step and its result, for dense gradients and for rows."""

import numpy as np

from cases.table import F32, Table

TABLE = Table("keras_optimizers")
case, error_case = TABLE.case, TABLE.error_case

OPTIMIZERS = {
    "sgd": lambda k: k.SGD(0.1),
    "sgd_momentum": lambda k: k.SGD(0.1, momentum=0.9),
    "sgd_nesterov": lambda k: k.SGD(0.1, momentum=0.9, nesterov=True, decay=0.5),
    "adam": lambda k: k.Adam(0.1),
    "adam_amsgrad": lambda k: k.Adam(0.1, amsgrad=True),
    "adamax": lambda k: k.Adamax(0.1),
    "nadam": lambda k: k.Nadam(0.1),
    "rmsprop": lambda k: k.RMSprop(0.1),
    "rmsprop_centered": lambda k: k.RMSprop(0.1, centered=True),
    "rmsprop_momentum": lambda k: k.RMSprop(0.1, momentum=0.5),
    "rmsprop_momentum_centered": lambda k: k.RMSprop(0.1, momentum=0.5, centered=True),
    "adagrad": lambda k: k.Adagrad(0.1),
    "adadelta": lambda k: k.Adadelta(0.1),
    "ftrl": lambda k: k.Ftrl(0.1, l1_regularization_strength=0.01),
    "ftrl_shrinkage": lambda k: k.Ftrl(0.1, l2_shrinkage_regularization_strength=0.1),
    "schedule": lambda k: k.SGD(k.schedules.ExponentialDecay(0.1, 2, 0.5)),
    "clipnorm": lambda k: k.SGD(0.1, clipnorm=0.5),
    "clipvalue": lambda k: k.Adam(0.1, clipvalue=0.05),
}


def step(tf, x, make, sparse):
    """The operation of one step down the gradient of a sum of squares."""
    w = tf.Variable(np.arange(10, dtype=np.float32).reshape(5, 2) / 10, name="w", use_resource=True)
    rows = tf.gather(w, [1, 3, 1]) if sparse else w[1:4]
    loss = tf.reduce_sum(tf.square(rows - x))
    optimizer = make(tf.keras.optimizers)
    if sparse:
        return {"train": optimizer.apply_gradients(zip(tf.gradients(loss, [w]), [w])), "w": w}
    return {"train": optimizer.get_updates(loss, [w]), "w": w}


def trained(tf, session, outputs, feed):
    """The variables after three steps."""
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run(outputs["train"], feed)
    return {v.name: session.run(v) for v in tf.global_variables()}


for _name, _make in sorted(OPTIMIZERS.items()):
    case("dense_" + _name, lambda tf, x, m=_make: step(tf, x, m, False), x=F32(3, 2), run=trained)
    if not _name.startswith("clip"):
        case("rows_" + _name, lambda tf, x, m=_make: step(tf, x, m, True), x=F32(3, 2), run=trained)

error_case("unknown_argument", lambda tf: tf.keras.optimizers.SGD(0.1, momentun=0.5))
error_case("negative_decay", lambda tf: tf.keras.optimizers.SGD(0.1, decay=-1.0))
error_case("momentum_range", lambda tf: tf.keras.optimizers.SGD(0.1, momentum=1.5))
error_case("unknown_name", lambda tf: tf.keras.optimizers.get("nothing"))


def of_unused(tf):
    v = tf.Variable(1.0, use_resource=True)
    return tf.keras.optimizers.SGD(0.1).apply_gradients([(None, v)])


error_case("no_gradient", of_unused)
