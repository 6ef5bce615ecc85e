"""tf.contrib.layers: rev_block, recompute_grad and gdn."""

from cases.table import F32, Table

TABLE = Table("reversible")
case, error_case = TABLE.case, TABLE.error_case
SUMS = dict(rtol=1e-4, atol=1e-5, reason="sums in another order", partial=False, seed=3)


def scaled(tf, x):
    """A function with one variable: with more, the order of 1.15's nodes changes from run to run."""
    return tf.nn.tanh(x * tf.get_variable("w", [4], initializer=tf.ones_initializer()))


def with_side(tf, x, side):
    return scaled(tf, x) * side[0]


def block(tf, x, y, scope=None, **options):
    with tf.variable_scope(scope or "block"):
        return tf.contrib.layers.rev_block(x, y, lambda t: scaled(tf, t), tf.nn.sigmoid, **options)


PAIR = {"x": F32(3, 4), "y": F32(3, 4)}
case("rev_block", lambda tf, x, y: block(tf, x, y), **dict(SUMS, **PAIR))
case("rev_block_plain", lambda tf, x, y: block(tf, x, y, num_layers=2, is_training=False), **dict(SUMS, **PAIR))
case(
    "rev_block_sides",
    lambda tf, x, y, f, g: tf.contrib.layers.rev_block(
        x, y, lambda t, side: with_side(tf, t, side), lambda t, side: t * side[0], num_layers=1, f_side_input=[f], g_side_input=[g]
    ),
    **dict(SUMS, f=F32(3, 4), g=F32(3, 4), **PAIR)
)
case(
    "rev_block_lists",
    lambda tf, x, y: tf.contrib.layers.rev_block(
        x, y, [lambda t: scaled(tf, t), tf.tanh], [tf.sin, tf.nn.softplus], num_layers=2
    ),
    **dict(SUMS, **PAIR)
)
error_case(
    "rev_block_too_few", lambda tf, x, y: tf.contrib.layers.rev_block(x, y, [tf.sin], tf.sin, num_layers=2), **PAIR
)


def recomputed(tf, x, **options):
    function = tf.contrib.layers.recompute_grad(**options) if options else tf.contrib.layers.recompute_grad
    with tf.variable_scope("scope", use_resource=True):
        return function(lambda t: scaled(tf, tf.sin(t)))(x)


for _name, _options in (
    ("plain", {}), ("tuple", {"tupleize_grads": True}), ("data", {"use_data_dep": True}),
    ("both", {"use_data_dep": True, "tupleize_grads": True}),
):
    case("recompute_" + _name, lambda tf, x, o=_options: recomputed(tf, x, **o), **dict(SUMS, x=F32(3, 4)))


def says_so(tf, x):
    def function(t, is_recomputing=False):
        return t * t * (3.0 if is_recomputing else 2.0)

    return tf.contrib.layers.recompute_grad(function)(x)


case("recompute_is_recomputing", says_so, partial=False, x=F32(3, 2))


def closed(tf, x):
    return tf.contrib.layers.recompute_grad(lambda t: t * x)(x)


error_case("recompute_closes_over", closed, same_words=True, x=F32(2))
error_case("recompute_no_tensor", lambda tf, x: tf.contrib.layers.recompute_grad(lambda t: t)(1.0), same_words=True, x=F32(2))
GDN = dict(SUMS, seed=1)
for _name, _shape, _options in (
    ("3", (2, 5, 3), {}), ("4", (2, 3, 4, 3), {}), ("5", (1, 2, 2, 3, 2), {}), ("inverse", (2, 3, 4, 3), {"inverse": True}),
    ("settings", (1, 2, 2, 3), {"beta_min": 0.5, "gamma_init": 0.3, "reparam_offset": 0.01, "name": "norm"}),
    ("regularized", (1, 2, 2, 3), {"activity_regularizer": lambda y: (y * y)}),
):  # fmt: skip
    case("gdn_" + _name, lambda tf, x, o=_options: tf.contrib.layers.gdn(x, **o), **dict(GDN, x=F32(*_shape)))
case("gdn_bound", lambda tf, x: tf.contrib.layers.gdn(x, beta_min=4.0), **dict(GDN, x=F32(1, 2, 2, 3)))
for _name, _shape in (("3", (2, 3, 5)), ("4", (2, 3, 4, 2))):
    case(
        "gdn_first_" + _name, lambda tf, x: tf.contrib.layers.gdn(x, data_format="channels_first"), fetch=False,
        **dict(GDN, x=F32(*_shape))
    )  # fmt: skip
error_case("gdn_format", lambda tf, x: tf.contrib.layers.gdn(x, data_format="NCHW"), same_words=True, x=F32(2, 2, 3))
error_case("gdn_rank", lambda tf, x: tf.contrib.layers.gdn(x), x=F32(2, 3))
