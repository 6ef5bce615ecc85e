"""tf.contrib.quantize: batch normalizations folded, weights and results rounded."""

from cases.table import F32, Table

TABLE = Table("quantize")
case = TABLE.case

FIXED = dict(partial=False, grad=False, seed=3)
ROUNDING = dict(rtol=1e-4, atol=1e-4, reason="convolutions sum in another order; a value on the edge of a level may take the next")


def run(tf, session, outputs, feed):
    """Three steps, and the ranges after them; averages move after a step, so that no step depends on a race."""
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        values = session.run(outputs, feed)
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS), feed)
    ranges = [v for v in tf.global_variables() if "quant" in v.op.name]
    return list(values) + session.run(sorted(ranges, key=lambda v: v.op.name))


def layers(tf, x, training, fused, depthwise=False, scope=None):
    """A convolution with batch normalization, and a fully connected layer."""
    tl = tf.contrib.layers
    settings = dict(normalizer_fn=tl.batch_norm, normalizer_params=dict(is_training=training, fused=fused, decay=0.9, scale=True))
    with tf.variable_scope(scope or "net"):
        if depthwise:
            y = tl.separable_conv2d(x, None, [3, 3], depth_multiplier=1, activation_fn=tf.nn.relu6, scope="deep", **settings)
        else:
            y = tl.conv2d(x, 4, [3, 3], activation_fn=tf.nn.relu6, scope="conv", **settings)
        return tl.fully_connected(tf.reduce_mean(y, [1, 2]), 3, activation_fn=None, scope="fc")


def rewritten(tf, x, function="create_training_graph", fused=True, depthwise=False, **options):
    output = layers(tf, x, "training" in function, fused, depthwise)
    getattr(tf.contrib.quantize, function)(tf.get_default_graph(), **options)
    return [tf.identity(output)]


IMAGES = F32(2, 5, 5, 3)
for _fused in (True, False):
    _name = "fused" if _fused else "parts"
    case("training_" + _name, lambda tf, x, f=_fused: rewritten(tf, x, fused=f), x=IMAGES, run=run, **dict(FIXED, **ROUNDING))
    case("eval_" + _name, lambda tf, x, f=_fused: rewritten(tf, x, "create_eval_graph", fused=f), x=IMAGES, run=run, **dict(FIXED, **ROUNDING))
    case("depthwise_" + _name, lambda tf, x, f=_fused: rewritten(tf, x, fused=f, depthwise=True), x=IMAGES, run=run,
         **dict(FIXED, **ROUNDING))  # fmt: skip
case("delayed", lambda tf, x: rewritten(tf, x, quant_delay=2), x=IMAGES, run=run, **dict(FIXED, **ROUNDING))
case("frozen", lambda tf, x: rewritten(tf, x, "experimental_create_training_graph", freeze_bn_delay=2, weight_bits=4, activation_bits=6,
                                       symmetric=True), x=IMAGES, run=run, **dict(FIXED, **ROUNDING))  # fmt: skip
case("scope", lambda tf, x: rewritten(tf, x, "experimental_create_training_graph", scope="net/conv"), x=IMAGES, run=run,
     **dict(FIXED, **ROUNDING))  # fmt: skip


def bypass(tf, x, after):
    """A sum with the input, before or after the activation."""
    tl = tf.contrib.layers
    y = tl.conv2d(x, 3, [3, 3], activation_fn=tf.nn.relu if after else None, scope="net/conv")
    z = tf.add(y, x, name="net/sum")
    output = tf.identity(z if after else tf.nn.relu(z))
    tf.contrib.quantize.create_training_graph()
    return [tf.identity(output)]


case("bypass", lambda tf, x: bypass(tf, x, False), x=IMAGES, run=run, **dict(FIXED, **ROUNDING))
case("bypass_after_activation", lambda tf, x: bypass(tf, x, True), x=IMAGES, run=run, **dict(FIXED, **ROUNDING))


def trained(tf, x):
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(x * tf.get_variable("w", [3])))
    tf.contrib.quantize.create_training_graph()
    return x


TABLE.error_case("after_gradients", trained, x=F32(3))
