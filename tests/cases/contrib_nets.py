"""tf.contrib.slim networks and data, tf.contrib.layers' training functions, and the small packages of tf.contrib."""

import importlib

import numpy as np

from cases.table import F32, F64, I32, Table

TABLE = Table("contrib_nets")
case, error_case = TABLE.case, TABLE.error_case
NET = dict(
    seed=7, rtol=1e-3, atol=1e-4, grad=False, partial=False,
    reason="dozens of layers, whose sums have another order, and initial values that differ by one unit",
)  # fmt: skip
IMAGES = F32(2, 32, 32, 3)
IDS = np.array([[1, 3, 0], [2, 2, 4]], np.int32)


def net(name, build, **options):
    """A network on small images."""
    case(name, build, x=IMAGES, **{**NET, **options})


def _nets(tf, name):
    """A module of networks, which TensorFlow does not make an attribute of tf.contrib.slim."""
    if hasattr(tf.contrib.slim, "nets"):
        return getattr(tf.contrib.slim.nets, name)
    return importlib.import_module("tensorflow.contrib.slim.python.slim.nets." + name)


def _inception(tf, version, x, endpoint):
    nets = _nets(tf, "inception")
    with tf.contrib.slim.arg_scope(getattr(nets, "inception_v%d_arg_scope" % version)()):
        return getattr(nets, "inception_v%d_base" % version)(x, final_endpoint=endpoint)[0]


def _resnet(tf, version, x, **options):
    nets = _nets(tf, "resnet_v%d" % version)
    make = getattr(nets, "resnet_v%d_block" % version)
    blocks = [make("block1", 2, 2, 2), make("block2", 4, 2, 1)]
    with tf.contrib.slim.arg_scope(nets.resnet_arg_scope()):
        return getattr(nets, "resnet_v%d" % version)(x, blocks, 5, **options)[0]


net("inception_v1_mixed_3b", lambda tf, x: _inception(tf, 1, x, "Mixed_3b"))
net("inception_v2_mixed_4a", lambda tf, x: _inception(tf, 2, x, "Mixed_4a"))
net("inception_v3_stem", lambda tf, x: _inception(tf, 3, x, "Conv2d_2b_3x3"))
net("resnet_v1", lambda tf, x: _resnet(tf, 1, x))
net("resnet_v2", lambda tf, x: _resnet(tf, 2, x))
net("resnet_v2_dense", lambda tf, x: _resnet(tf, 2, x, global_pool=False, output_stride=4))
error_case("resnet_stride", lambda tf, x: _resnet(tf, 1, x, output_stride=3), x=IMAGES)
error_case("inception_endpoint", lambda tf, x: _inception(tf, 1, x, "Mixed_9z"), x=IMAGES)


def _optimized(tf, x, **options):
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 2)))
    options = dict(dict(learning_rate=0.1, optimizer="SGD", global_step=step), **options)
    train = tf.contrib.layers.optimize_loss(loss, **options)
    with tf.control_dependencies([train]):
        return [tf.identity(train), tf.identity(tf.trainable_variables()[0].read_value())]


for label, options in (
    ("sgd", {}),
    ("adam_clipped", dict(optimizer="Adam", clip_gradients=0.5)),
    ("momentum_summaries", dict(optimizer="Momentum", summaries=["loss", "gradients", "gradient_norm"])),
    ("multipliers", dict(gradient_multipliers={"dense/kernel:0": 2.0})),
):
    case(
        "optimize_loss_" + label, lambda tf, x, options=options: _optimized(tf, x, **options), seed=7, grad=False,
        partial=False, rtol=1e-5, atol=1e-6, reason="initial values differ by one unit", x=F32(4, 3),
    )  # fmt: skip
error_case("optimize_loss_name", lambda tf, x: _optimized(tf, x, optimizer="Rprop"), x=F32(4, 3))
error_case("optimize_loss_rate", lambda tf, x: _optimized(tf, x, learning_rate=-0.1), x=F32(4, 3))

SEEDED = dict(seed=7, grad=False, partial=False, rtol=1e-5, atol=1e-6, reason="initial values differ by one unit")
case("embed_sequence", lambda tf, i: tf.contrib.layers.embed_sequence(i, 5, 4), i=IDS, **SEEDED)
case("embed_sequence_unique", lambda tf, i: tf.contrib.layers.embed_sequence(i, 5, 4, unique=True), i=IDS, **SEEDED)
case("bow_encoder", lambda tf, i: tf.contrib.layers.bow_encoder(i, 5, 4), i=IDS, **SEEDED)
case("bow_encoder_dense", lambda tf, i: tf.contrib.layers.bow_encoder(i, 5, 4, sparse_lookup=False), i=IDS, **SEEDED)
error_case("bow_encoder_size", lambda tf, i: tf.contrib.layers.bow_encoder(i, 0, 4), i=IDS)

case("sparsemax", lambda tf, x: tf.contrib.sparsemax.sparsemax(x), x=F32(4, 5), partial=False)
case(
    "sparsemax_loss",
    lambda tf, x: tf.contrib.sparsemax.sparsemax_loss(x, tf.contrib.sparsemax.sparsemax(x), tf.one_hot([0, 1, 2, 3], 5)),
    x=F32(4, 5), grad=False, partial=False, rtol=1e-5, atol=1e-6, reason="sums have another order",
)  # fmt: skip
case("scaled_softplus", lambda tf, x: tf.contrib.nn.scaled_softplus(x, 0.5, clip=1.0), x=F64(3, 4), fetch=True, grad=False)
case("alpha_dropout", lambda tf, x: tf.contrib.nn.alpha_dropout(x, 0.7), x=F32(3, 4), seed=7, grad=False)
error_case("alpha_dropout_range", lambda tf, x: tf.contrib.nn.alpha_dropout(x, 1.5), x=F32(3, 4))


def _cell(tf, name, x):
    cell = getattr(tf.contrib.grid_rnn, name)(3)
    state = cell.zero_state(2, tf.float32)
    return cell(x, state)


for name in ("Grid1BasicRNNCell", "Grid2BasicRNNCell", "Grid2BasicLSTMCell", "Grid2GRUCell", "Grid3LSTMCell"):
    case(
        name, lambda tf, x, name=name: _cell(tf, name, x), seed=7, grad=False, partial=False, rtol=1e-5, atol=1e-6,
        reason="initial values differ by one unit", x=F32(2, 4),
    )  # fmt: skip

TIMES = np.array([0.0, 0.3, 0.7, 1.0])
ODE = dict(grad=False, partial=False, rtol=1e-9, atol=1e-11, reason="sums have another order")
case("odeint", lambda tf, y: tf.contrib.integrate.odeint(lambda y, t: -y * t, y, TIMES), y=F64(2), **ODE)
case("odeint_fixed", lambda tf, y: tf.contrib.integrate.odeint_fixed(lambda y, t: -y * t, y, TIMES, 0.05), y=F64(2), **ODE)
error_case("odeint_method", lambda tf, y: tf.contrib.integrate.odeint(lambda y, t: y, y, TIMES, method="rk4"), y=F64(2))
error_case("odeint_dtype", lambda tf, y: tf.contrib.integrate.odeint(lambda y, t: y, y, TIMES), y=I32(2))


def _expectation(tf, x):
    return tf.contrib.bayesflow.monte_carlo.expectation(tf.square, x, log_prob=tf.negative, use_reparametrization=False)


case("monte_carlo_expectation", _expectation, x=F32(5, 2), grad=False)


def _scaled_step(tf, x):
    variable = tf.get_variable("w", initializer=[1.0, 2.0])
    scale = tf.train.experimental.DynamicLossScale(initial_loss_scale=8, increment_period=1)
    inner = tf.train.GradientDescentOptimizer(0.5)
    optimizer = tf.train.experimental.MixedPrecisionLossScaleOptimizer(inner, scale)
    train = optimizer.minimize(tf.reduce_sum(variable * x), var_list=[variable])
    with tf.control_dependencies([train]):
        return [tf.identity(variable.read_value()), scale()]


case("dynamic_loss_scale", _scaled_step, x=F32(2), grad=False, partial=False)
error_case("fixed_loss_scale", lambda tf, x: tf.train.experimental.FixedLossScale(0.5), x=F32(1))
