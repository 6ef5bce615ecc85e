"""Quantized values: to them and back, arithmetic on them."""

import numpy as np

from cases.table import F32, F64, Table

TABLE = Table("quantized")
case, error_case = TABLE.case, TABLE.error_case

RANDOM = np.random.RandomState(0)
SMALL, WIDE = (RANDOM.randint(0, 256, size).astype(np.uint8) for size in ((3, 4), (4, 2)))
IMAGES, FILTERS = (RANDOM.randint(0, 256, size).astype(np.uint8) for size in ((2, 5, 6, 3), (3, 2, 3, 4)))
NUMBERS = RANDOM.uniform(-3, 7, (3, 4)).astype(np.float32)


def q(tf, x):
    return tf.bitcast(tf.constant(x), tf.quint8)


def of(name, build):
    case(name, build, grad=False)


for _type in ("quint8", "qint8", "quint16", "qint16", "qint32"):
    for _mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):

        def both(tf, x, dtype=_type, mode=_mode):
            found = tf.quantize_v2(x, -4.0, 8.0, getattr(tf, dtype), mode=mode)
            return [found, tf.dequantize(*found, mode=mode)]

        case("%s_%s" % (_type, _mode.lower()), both, x=NUMBERS, grad=False)
case("half_to_even", lambda tf, x: tf.quantization.quantize(x, -2.0, 6.0, tf.qint8, "SCALED", "HALF_TO_EVEN"), x=NUMBERS, grad=False)
for _name, _options in (
    ("", {}), ("_unsigned", {"signed_input": False}), ("_given", {"range_given": True}),
    ("_half_up", {"num_bits": 4, "range_given": True, "round_mode": "HALF_UP"}),
    ("_narrow", {"narrow_range": True, "range_given": True}),
):  # fmt: skip
    case(
        "there_and_back" + _name,
        lambda tf, x, options=_options: tf.quantization.quantize_and_dequantize(x, -2.0, 1.5, name="q", **options),
        x=F32(3, 4),
    )
case("there_and_back_64", lambda tf, x: tf.raw_ops.QuantizeAndDequantizeV3(input=x, input_min=-2.0, input_max=3.0, num_bits=5),
     x=F64(3), grad=False)  # fmt: skip
of("matmul", lambda tf: tf.raw_ops.QuantizedMatMul(a=q(tf, SMALL), b=q(tf, WIDE), min_a=-1.0, max_a=4.0, min_b=-2.0, max_b=3.0))


def _narrowed(tf):
    values, low, high = tf.raw_ops.QuantizedMatMul(a=q(tf, SMALL), b=q(tf, WIDE), min_a=-1.0, max_a=4.0, min_b=-2.0, max_b=3.0)
    return [
        tf.raw_ops.QuantizeDownAndShrinkRange(input=values, input_min=low, input_max=high, out_type=tf.quint8),
        tf.raw_ops.RequantizationRange(input=values, input_min=low, input_max=high),
        tf.raw_ops.Requantize(
            input=values, input_min=low, input_max=high, requested_output_min=-3.0, requested_output_max=9.0, out_type=tf.quint8
        ),
    ]


of("narrowed", _narrowed)
for _padding in ("SAME", "VALID"):
    for _stride in (1, 2):
        of(
            "conv_%s_%d" % (_padding.lower(), _stride),
            lambda tf, p=_padding, s=_stride: tf.nn.quantized_conv2d(q(tf, IMAGES), q(tf, FILTERS), -1.0, 2.0, -1.5, 0.5, [1, s, s, 1], p),
        )
        of(
            "pool_%s_%d" % (_padding.lower(), _stride),
            lambda tf, p=_padding, s=_stride: [
                f(q(tf, IMAGES), -1.0, 2.0, [1, 3, 2, 1], [1, s, s, 1], p)
                for f in (tf.nn.quantized_avg_pool, tf.nn.quantized_max_pool)
            ],
        )
of(
    "activations",
    lambda tf: [
        tf.raw_ops.QuantizedRelu(features=q(tf, SMALL), min_features=-2.0, max_features=5.0),
        tf.raw_ops.QuantizedRelu6(features=q(tf, SMALL), min_features=-2.0, max_features=8.0),
    ],
)
ROW = np.array([3, 100, 200, 255], np.uint8)
RANGES = {"min_x": -1.0, "max_x": 4.0, "min_y": -2.0, "max_y": 1.0}
of(
    "sums",
    lambda tf: [
        tf.raw_ops.QuantizedBiasAdd(
            input=q(tf, SMALL), bias=q(tf, ROW), min_input=-1.0, max_input=4.0, min_bias=-2.0, max_bias=1.0, out_type=tf.qint32
        ),
        tf.raw_ops.QuantizedAdd(x=q(tf, SMALL), y=q(tf, ROW), **RANGES),
        tf.raw_ops.QuantizedMul(x=q(tf, SMALL), y=q(tf, ROW), **RANGES),
    ],
)
of(
    "moving",
    lambda tf: [
        tf.raw_ops.QuantizedReshape(tensor=q(tf, SMALL), shape=[2, -1], input_min=-1.0, input_max=2.0),
        tf.quantized_concat(0, [q(tf, SMALL)] * 2, [-1.0, 0.0], [2.0, 5.0]),
        tf.quantization.quantized_concat(1, [q(tf, SMALL)] * 2, [-1.0, -1.0], [2.0, 2.0]),
        tf.reshape(q(tf, SMALL), [4, 3]),
    ],
)
of("instance_norm", lambda tf: tf.raw_ops.QuantizedInstanceNorm(x=q(tf, IMAGES), x_min=-1.0, x_max=3.0))

error_case("range_upside_down", lambda tf, x: tf.quantize_v2(x, 6.0, -2.0, tf.qint8), x=NUMBERS)
error_case("half_to_even_mode", lambda tf, x: tf.quantize_v2(x, -2.0, 6.0, tf.qint8, round_mode="HALF_TO_EVEN"), x=NUMBERS)
error_case("many_bits", lambda tf, x: tf.quantization.quantize_and_dequantize(x, -2.0, 6.0, num_bits=70), x=NUMBERS)
error_case("given_range", lambda tf, x: tf.quantization.quantize_and_dequantize(x, 2.0, -6.0, range_given=True), x=NUMBERS)
error_case("range_rank", lambda tf, x: tf.raw_ops.QuantizedReshape(tensor=x, shape=[12], input_min=[1.0, 2.0], input_max=3.0), x=NUMBERS)
error_case("empty_range", lambda tf: tf.raw_ops.QuantizedMatMul(a=q(tf, SMALL), b=q(tf, WIDE), min_a=1.0, max_a=1.0, min_b=-2.0, max_b=3.0))
error_case("requested_range", lambda tf: tf.raw_ops.Requantize(
    input=tf.bitcast(tf.constant([1]), tf.qint32), input_min=-1.0, input_max=1.0, requested_output_min=3.0,
    requested_output_max=9.0, out_type=tf.quint8))  # fmt: skip
