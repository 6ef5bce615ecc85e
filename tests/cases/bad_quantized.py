"""Bad input of ops on quantized values, and of rounding to what quantized values hold."""

import numpy as np

from cases.bad_control import fed
from cases.table import Table

TABLE = Table("bad_quantized")
error_case = TABLE.error_case


def quantized(tf, *shape):
    """Quantized values of unknown static shape."""
    return tf.bitcast(fed(tf, np.ones(shape), np.uint8), tf.quint8)


def known(tf, *shape):
    """Quantized values of known shape."""
    return tf.bitcast(tf.ones(shape, tf.uint8), tf.quint8)


def ones(tf, *shape):
    return fed(tf, np.ones(shape), np.float32)


def number(tf, value):
    return fed(tf, value, np.float32)


def conv(tf, images=(1, 4, 4, 1), weights=(2, 2, 1, 1), strides=(1, 1, 1, 1), padding="SAME", **options):
    return tf.nn.quantized_conv2d(
        quantized(tf, *images), quantized(tf, *weights), 0.0, 1.0, 0.0, 1.0, strides=list(strides), padding=padding, **options
    )[1]


def pool(tf, size=(1, 2, 2, 1), strides=(1, 1, 1, 1), images=(1, 4, 4, 1), kind="max", low=0.0):
    function = getattr(tf.nn, "quantized_%s_pool" % kind)
    return function(quantized(tf, *images), low, 1.0, list(size), list(strides), "VALID")[1]


def binary(tf, kind, x=(2,), y=(2,), low=0.0, high=1.0):
    return getattr(tf.raw_ops, "Quantized" + kind)(
        x=quantized(tf, *x), y=quantized(tf, *y), min_x=number(tf, low), max_x=number(tf, high), min_y=0.0, max_y=1.0
    )[1]


def norm(tf, *shape, **options):
    return tf.raw_ops.QuantizedInstanceNorm(x=quantized(tf, *shape), x_min=0.0, x_max=1.0, **options)[1]


def joined(tf, axis, *shapes):
    return tf.quantized_concat(axis, [quantized(tf, *s) for s in shapes], [0.0] * len(shapes), [1.0] * len(shapes))[1]


def there_and_back(tf, low=0.0, high=1.0, bits=8, **options):
    return tf.raw_ops.QuantizeAndDequantizeV3(input=ones(tf, 3), input_min=low, input_max=high, num_bits=bits, **options)


def matmul(tf, a, b, low=0.0, **options):
    return tf.raw_ops.QuantizedMatMul(
        a=quantized(tf, *a), b=quantized(tf, *b), min_a=number(tf, low), max_a=1.0, min_b=0.0, max_b=1.0, Toutput=tf.qint32, **options
    )[1]


# fmt: off
ROWS = {
    "quantize_range": lambda tf: tf.quantize_v2(ones(tf, 3), number(tf, 2.0), number(tf, 1.0), tf.quint8),
    "quantize_rounding": lambda tf: tf.quantize_v2(ones(tf, 3), 0.0, 1.0, tf.quint8, "MIN_FIRST", round_mode="HALF_TO_EVEN"),
    "quantize_range_rank_static": lambda tf: tf.quantize_v2(ones(tf, 3), [0.0], 1.0, tf.quint8),
    "dequantize_range_rank_static": lambda tf: tf.dequantize(quantized(tf, 3), [0.0], 1.0),
    "there_and_back_range": lambda tf: there_and_back(tf, number(tf, 2.0), number(tf, 1.0)),
    "there_and_back_bits": lambda tf: there_and_back(tf, bits=fed(tf, 0)),
    "there_and_back_bits_many": lambda tf: there_and_back(tf, bits=fed(tf, 64)),
    "there_and_back_bits_rank_static": lambda tf: there_and_back(tf, bits=[8]),
    "there_and_back_range_rank_static": lambda tf: there_and_back(tf, [0.0]),
    "requantize_range": lambda tf: tf.raw_ops.Requantize(
        input=tf.bitcast(fed(tf, [1, 2], np.int32), tf.qint32), input_min=0.0, input_max=1.0, requested_output_min=number(tf, 1.0),
        requested_output_max=2.0, out_type=tf.quint8,
    )[1],
    "matmul_sizes": lambda tf: matmul(tf, (2, 3), (2, 3)),
    "matmul_rank": lambda tf: matmul(tf, (2,), (2, 3)),
    "matmul_range": lambda tf: matmul(tf, (2, 3), (3, 2), low=1.0),
    "conv_filter_rank": lambda tf: conv(tf, weights=(2, 1, 1)),
    "conv_depth": lambda tf: conv(tf, weights=(2, 2, 2, 1)),
    "conv_strides": lambda tf: conv(tf, strides=(1, 1, 2, 1)),
    "conv_strides_batch": lambda tf: conv(tf, strides=(2, 1, 1, 1)),
    "conv_stride_attr": lambda tf: conv(tf, strides=(1, -1, -1, 1)),
    "conv_stride_zero_attr": lambda tf: conv(tf, strides=(1, 0, 0, 1)),
    "conv_strides_length_attr": lambda tf: conv(tf, strides=(1, 1, 1)),
    "conv_dilations_attr": lambda tf: conv(tf, dilations=[1, 1, 1]),
    "conv_dilation": lambda tf: conv(tf, dilations=[1, 2, 2, 1]),
    "conv_padding_attr": lambda tf: conv(tf, padding="BAD"),
    "add_shapes": lambda tf: binary(tf, "Add", (2,), (3,)),
    "add_range": lambda tf: binary(tf, "Add", low=1.0),
    "multiply_range": lambda tf: binary(tf, "Mul", high=np.nan),
    "bias_length": lambda tf: tf.raw_ops.QuantizedBiasAdd(
        input=quantized(tf, 2, 2), bias=quantized(tf, 3), min_input=0.0, max_input=1.0, min_bias=0.0, max_bias=1.0, out_type=tf.qint32
    )[1],
    "max_pool_stride_attr": lambda tf: pool(tf, strides=(1, 0, 0, 1)),
    "max_pool_size_attr": lambda tf: pool(tf, size=(1, 2, 2)),
    "max_pool_rank": lambda tf: pool(tf, images=(4, 4, 1)),
    "max_pool_depth": lambda tf: pool(tf, size=(1, 2, 2, 2), kind="avg"),
    "avg_pool_range_static": lambda tf: pool(tf, kind="avg", low=[0.0]),
    "norm_rank_static": lambda tf: tf.raw_ops.QuantizedInstanceNorm(x=known(tf, 2, 3), x_min=0.0, x_max=1.0)[1],
    "norm_given_range": lambda tf: norm(tf, 1, 2, 2, 1, output_range_given=True, given_y_min=1.0, given_y_max=-1.0),
    "reshape_size": lambda tf: tf.raw_ops.QuantizedReshape(tensor=quantized(tf, 4), shape=fed(tf, [3]), input_min=0.0, input_max=1.0)[1],
    "reshape_size_static": lambda tf: tf.raw_ops.QuantizedReshape(tensor=known(tf, 4), shape=[3], input_min=0.0, input_max=1.0)[1],
    "concat_axis": lambda tf: joined(tf, fed(tf, 2), (2, 2), (2, 2)),
    "concat_axis_negative": lambda tf: joined(tf, fed(tf, -1), (2, 2), (2, 2)),
    "concat_axis_rank": lambda tf: joined(tf, fed(tf, [0]), (2, 2), (2, 2)),
    "concat_sizes": lambda tf: joined(tf, fed(tf, 0), (2, 2), (2, 3)),
    "fake_range_attr": lambda tf: tf.fake_quant_with_min_max_args(ones(tf, 3), 3.0, 2.0),
    "fake_bits_attr": lambda tf: tf.fake_quant_with_min_max_args(ones(tf, 3), num_bits=1),
    "fake_vars_bits_attr": lambda tf: tf.fake_quant_with_min_max_vars(ones(tf, 3), 0.0, 1.0, num_bits=17),
    "fake_vars_range_rank_static": lambda tf: tf.fake_quant_with_min_max_vars(ones(tf, 3), [0.0], 1.0),
    "fake_vars_gradient_shapes": lambda tf: tf.fake_quant_with_min_max_vars_gradient(ones(tf, 2), ones(tf, 3), 0.0, 1.0)[0],
    "fake_channels_length": lambda tf: tf.fake_quant_with_min_max_vars_per_channel(ones(tf, 2, 3), ones(tf, 3), ones(tf, 2)),
}
# fmt: on

for _name, _build in ROWS.items():
    error_case(_name, _build)
