"""Rounding to quantized steps."""

import numpy as np

from cases.table import F32, Table

TABLE = Table("fake_quant")
case, error_case = TABLE.case, TABLE.error_case

RANGES = [(-6.0, 6.0, 8, False), (-1.0, 1.0, 8, True), (0.0, 2.0, 4, False), (-0.5, 3.0, 2, False), (0.3, 1.7, 16, True)]

for position, (low, high, bits, narrow) in enumerate(RANGES):
    options = dict(num_bits=bits, narrow_range=narrow)
    case(
        "args_%d" % position,
        lambda tf, x, low=low, high=high, options=options: tf.fake_quant_with_min_max_args(x, low, high, **options),
        x=F32(5, 4),
    )
    case(
        "vars_%d" % position,
        lambda tf, x, low, high, options=options: tf.fake_quant_with_min_max_vars(x, low, high, **options),
        x=F32(5, 4),
        low=np.float32(low),
        high=np.float32(high),
    )
case(
    "per_channel",
    lambda tf, x, low, high: tf.fake_quant_with_min_max_vars_per_channel(x, low, high, num_bits=6, name="q"),
    x=F32(2, 5, 3),
    low=np.array([-1.0, 0.0, -0.3], np.float32),
    high=np.array([1.0, 0.0, 1.9], np.float32),
)
case(
    "per_channel_vector",
    lambda tf, x, low, high: tf.fake_quant_with_min_max_vars_per_channel(x, low, high),
    x=F32(3),
    low=np.array([-1.0, 0.5, -2.3], np.float32),
    high=np.array([1.0, 1.5, -0.4], np.float32),
)
case(
    "empty_range",
    lambda tf, x, low, high: tf.fake_quant_with_min_max_vars(x, low, high),
    x=F32(4),
    low=np.float32(0),
    high=np.float32(0),
)
case(
    "backward",
    lambda tf, g, x: [
        tf.fake_quant_with_min_max_args_gradient(g, x, -1.0, 1.0),
        tf.fake_quant_with_min_max_vars_gradient(g, x, -1.0, 1.0),
        tf.fake_quant_with_min_max_vars_per_channel_gradient(g, x, [-1.0, 0.0], [1.0, 0.0]),
    ],
    g=F32(4, 2),
    x=F32(4, 2),
    grad=False,
)
case("defaults", lambda tf, x: tf.quantization.fake_quant_with_min_max_args(x), x=F32(6, low=-9.0, high=9.0))
error_case("range", lambda tf, x: tf.fake_quant_with_min_max_args(x, 1.0, -1.0), x=F32(2))
error_case("bits", lambda tf, x: tf.fake_quant_with_min_max_vars(x, -1.0, 1.0, num_bits=17), x=F32(2))
error_case("vars_rank", lambda tf, x: tf.fake_quant_with_min_max_vars(x, [-1.0], 1.0), x=F32(2))
error_case("channels", lambda tf, x: tf.fake_quant_with_min_max_vars_per_channel(x, [-1.0], [1.0]), x=F32(2))
error_case("no_second_gradient", lambda tf, x: tf.gradients(
    tf.gradients(tf.fake_quant_with_min_max_args(x), x)[0], x), x=F32(2))  # fmt: skip
for bits in (8, 6, 3):
    for low, high in ((-6.0, 6.0), (-1.0, 1.0), (-2.3, 2.3), (2.0, 1.0)):
        case(
            "zero_between_steps_%d_%g_%g" % (bits, low, high),
            lambda tf, x, low, high, bits=bits: tf.fake_quant_with_min_max_vars(x, low, high, num_bits=bits),
            x=np.float32([-9.0, 0.3, 9.0]),
            low=np.float32(low),
            high=np.float32(high),
            grad=False,
            partial=False,
        )
