"""Convolutions, pooling, bias and local response normalisation."""

import itertools

from cases.table import F32, F64, I32, Table

TABLE = Table("nn_conv")
case, error_case, each = TABLE.case, TABLE.error_case, TABLE.each

for _padding, _stride in itertools.product(("SAME", "VALID"), (1, 2)):
    _label = "%s_%d" % (_padding.lower(), _stride)
    _strides, _window = [1, _stride, _stride, 1], [1, 2, 3, 1]
    case(
        "conv2d_" + _label,
        lambda tf, x, w, s=_strides, p=_padding: tf.nn.conv2d(x, w, s, p),
        x=F64(2, 5, 6, 3),
        w=F64(3, 2, 3, 4),
    )
    case(
        "conv2d_f32_" + _label,
        lambda tf, x, w, s=_strides, p=_padding: tf.nn.conv2d(x, w, strides=s, padding=p),
        x=F32(2, 5, 6, 3),
        w=F32(3, 3, 3, 4),
        atol=1e-5,
        reason="sums in another order",
    )
    case(
        "depthwise_conv2d_" + _label,
        lambda tf, x, w, s=_strides, p=_padding: tf.nn.depthwise_conv2d(x, w, s, p),
        x=F64(2, 5, 6, 3),
        w=F64(3, 2, 3, 2),
    )
    case(
        "separable_conv2d_" + _label,
        lambda tf, x, d, p, s=_strides, pad=_padding: tf.nn.separable_conv2d(x, d, p, s, pad),
        x=F64(2, 5, 6, 3),
        d=F64(3, 3, 3, 1),
        p=F64(1, 1, 3, 4),
    )
    case(
        "conv1d_" + _label,
        lambda tf, x, w, s=_stride, p=_padding: tf.nn.conv1d(x, w, s, p),
        x=F64(2, 7, 3),
        w=F64(3, 3, 4),
    )
    case(
        "conv3d_" + _label,
        lambda tf, x, w, s=_stride, p=_padding: tf.nn.conv3d(x, w, [1, s, s, s, 1], p),
        x=F64(1, 4, 5, 4, 2),
        w=F64(2, 3, 2, 2, 3),
    )
    case(
        "max_pool_" + _label,
        lambda tf, x, s=_strides, p=_padding: tf.nn.max_pool(x, [1, 2, 3, 1], s, p),
        x=F64(2, 5, 6, 3),
    )
    case(
        "avg_pool_" + _label,
        lambda tf, x, s=_strides, p=_padding: tf.nn.avg_pool(x, [1, 2, 3, 1], s, p),
        x=F64(2, 5, 6, 3),
    )
    case(
        "max_pool_f32_" + _label,
        lambda tf, x, s=_strides, p=_padding: tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=s, padding=p),
        x=F32(2, 5, 6, 3),
    )
    case(
        "max_pool3d_" + _label,
        lambda tf, x, s=_stride, p=_padding: tf.nn.max_pool3d(x, [1, 2, 2, 2, 1], [1, s, s, s, 1], p),
        x=F32(1, 4, 4, 5, 2),
    )
    case(
        "avg_pool3d_" + _label,
        lambda tf, x, s=_stride, p=_padding: tf.nn.avg_pool3d(x, [1, 2, 2, 2, 1], [1, s, s, s, 1], p),
        x=F32(1, 4, 4, 5, 2),
    )
    case(
        "conv2d_transpose_" + _label,
        lambda tf, x, w, s=_stride, p=_padding: tf.nn.conv2d_transpose(
            x,
            w,
            [2, *(4 * s if p == "SAME" else 4 * s + (3 - s if s < 3 else 0) for _ in range(2)), 5],
            [1, s, s, 1],
            p,
        ),
        x=F64(2, 4, 4, 3),
        w=F64(3, 3, 5, 3),
        partial=False,
    )
    case(
        "dilation2d_" + _label,
        lambda tf, x, w, s=_strides, p=_padding: tf.nn.dilation2d(x, w, s, [1, 1, 1, 1], p),
        x=F32(1, 5, 5, 2),
        w=F32(2, 2, 2),
    )
case(
    "conv2d_dilated",
    lambda tf, x, w: tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME", dilations=[1, 2, 2, 1]),
    x=F64(1, 7, 7, 2),
    w=F64(3, 3, 2, 3),
    grad=False,
)
case(
    "conv2d_explicit",
    lambda tf, x, w: tf.nn.conv2d(x, w, 1, [[0, 0], [1, 2], [0, 1], [0, 0]]),
    x=F64(1, 4, 4, 2),
    w=F64(3, 3, 2, 3),
)
case("conv2d_int_stride", lambda tf, x, w: tf.nn.conv2d(x, w, 2, "SAME"), x=F32(1, 5, 5, 2), w=F32(3, 3, 2, 3))
case(
    "conv2d_one_by_one",
    lambda tf, x, w: tf.nn.conv2d(x, w, [1, 1, 1, 1], "VALID"),
    x=F64(2, 3, 3, 4),
    w=F64(1, 1, 4, 2),
)
case(
    "conv2d_named",
    lambda tf, x, w: tf.nn.conv2d(input=x, filter=w, strides=[1, 1, 1, 1], padding="SAME", name="c"),
    x=F32(1, 4, 4, 1),
    w=F32(3, 3, 1, 2),
)
case(
    "convolution",
    lambda tf, x, w: tf.nn.convolution(x, w, "SAME", strides=[2, 2]),
    x=F32(1, 5, 5, 2),
    w=F32(3, 3, 2, 3),
)
case(
    "convolution_dilated",
    lambda tf, x, w: tf.nn.convolution(x, w, "VALID", dilation_rate=[2, 2]),
    x=F32(1, 7, 7, 2),
    w=F32(3, 3, 2, 3),
    partial=False,
)
case(
    "atrous_conv2d",
    lambda tf, x, w: tf.nn.atrous_conv2d(x, w, 2, "SAME"),
    x=F32(1, 7, 7, 2),
    w=F32(3, 3, 2, 3),
    partial=False,
)
case(
    "conv2d_backprop_input",
    lambda tf, w, g: tf.nn.conv2d_backprop_input([1, 5, 5, 2], w, g, [1, 1, 1, 1], "SAME"),
    w=F64(3, 3, 2, 3),
    g=F64(1, 5, 5, 3),
)
case(
    "conv2d_backprop_filter",
    lambda tf, x, g: tf.nn.conv2d_backprop_filter(x, [3, 3, 2, 3], g, [1, 1, 1, 1], "SAME"),
    x=F64(1, 5, 5, 2),
    g=F64(1, 5, 5, 3),
)
case("conv2d_empty_batch", lambda tf, x, w: tf.nn.conv2d(x, w, 1, "SAME"), x=F32(0, 4, 4, 2), w=F32(3, 3, 2, 3))
case(
    "conv2d_second_derivative",
    lambda tf, x, w: tf.gradients(tf.square(tf.nn.conv2d(x, w, 1, "SAME")), w)[0],
    x=F64(1, 4, 4, 1),
    w=F64(3, 3, 1, 1),
)
case("pool_max", lambda tf, x: tf.nn.pool(x, [2, 2], "MAX", "SAME", strides=[2, 2]), x=F32(1, 5, 5, 2))
case("pool_avg", lambda tf, x: tf.nn.pool(x, [2], "AVG", "VALID"), x=F32(1, 5, 2))
case(
    "max_pool_with_argmax",
    lambda tf, x: tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    x=F32(1, 5, 5, 2),
    grad=False,
)
case(
    "max_pool_ties",
    lambda tf, x: tf.nn.max_pool(x, 2, 2, "VALID"),
    x=I32(1, 4, 4, 2, low=0, high=3).array("ties").astype("float32"),
)
case("bias_add", lambda tf, x, b: tf.nn.bias_add(x, b), x=F64(2, 3, 4), b=F64(4))
case("bias_add_nchw", lambda tf, x, b: tf.nn.bias_add(x, b, data_format="NCHW"), x=F64(2, 3, 4, 5), b=F64(3))
case("bias_add_named", lambda tf, x, b: tf.nn.bias_add(x, b, name="b"), x=F32(2, 4), b=F32(4))
case("lrn", lambda tf, x: tf.nn.lrn(x), x=F32(2, 3, 3, 12))
case(
    "lrn_arguments",
    lambda tf, x: tf.nn.local_response_normalization(x, depth_radius=2, bias=2.0, alpha=1e-2, beta=0.75),
    x=F32(1, 3, 3, 7),
)
case(
    "with_space_to_batch",
    lambda tf, x: tf.nn.with_space_to_batch(
        x, [2, 2], "SAME", lambda c, n, p: tf.nn.max_pool(c, 2, 1, p), filter_shape=[2, 2]
    ),
    x=F32(1, 4, 4, 1),
    partial=False,
)
case(
    "erosion2d",
    lambda tf, x, w: tf.nn.erosion2d(x, w, [1, 1, 1, 1], [1, 1, 1, 1], "SAME"),
    x=F32(1, 4, 4, 2),
    w=F32(2, 2, 2),
)
case("fractional_shapes", lambda tf, x: tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"), x=F32(1, 28, 28, 1))
error_case("conv2d_channels", lambda tf, x, w: tf.nn.conv2d(x, w, 1, "SAME"), x=F32(1, 4, 4, 2), w=F32(3, 3, 3, 4))
error_case("conv2d_rank", lambda tf, x, w: tf.nn.conv2d(x, w, 1, "SAME"), x=F32(4, 4, 2), w=F32(3, 3, 2, 4))
error_case("conv2d_padding", lambda tf, x, w: tf.nn.conv2d(x, w, 1, "FULL"), x=F32(1, 4, 4, 2), w=F32(3, 3, 2, 4))
error_case(
    "conv2d_window_too_large", lambda tf, x, w: tf.nn.conv2d(x, w, 1, "VALID"), x=F32(1, 2, 2, 2), w=F32(3, 3, 2, 4)
)
error_case(
    "conv2d_batch_stride",
    lambda tf, x, w: tf.nn.conv2d(x, w, [2, 1, 1, 1], "SAME"),
    x=F32(2, 4, 4, 2),
    w=F32(3, 3, 2, 4),
)
error_case("conv2d_of_ints", lambda tf, x, w: tf.nn.conv2d(x, w, 1, "SAME"), x=I32(1, 4, 4, 2), w=I32(3, 3, 2, 4))
error_case(
    "conv2d_stride_rank", lambda tf, x, w: tf.nn.conv2d(x, w, [1, 1, 1], "SAME"), x=F32(1, 4, 4, 2), w=F32(3, 3, 2, 4)
)
error_case("max_pool_rank", lambda tf, x: tf.nn.max_pool(x, 2, 2, "SAME"), x=F32(4, 4))
error_case("bias_size", lambda tf, x, b: tf.nn.bias_add(x, b), x=F32(2, 3), b=F32(4))
error_case("bias_rank", lambda tf, x, b: tf.nn.bias_add(x, b), x=F32(2, 3), b=F32(1, 3))

# ---- windows with more taps than XLA compiles one by one ----

WIDE = {"strides": [1, 1, 1, 1], "padding": "SAME"}
case(
    "depthwise_wide_filter_gradient", lambda tf, x, g: tf.nn.depthwise_conv2d_native_backprop_filter(x, [31, 64, 2, 1], g, **WIDE),
    x=F64(1, 4, 4, 2), g=F64(1, 4, 4, 2), grad=False,
)  # fmt: skip
case(
    "depthwise_wide_input_gradient", lambda tf, w, g: tf.nn.depthwise_conv2d_native_backprop_input([1, 4, 4, 2], w, g, **WIDE),
    w=F64(9, 9, 2, 1), g=F64(1, 4, 4, 2), grad=False,
)  # fmt: skip
case("depthwise_wide", lambda tf, x, w: tf.nn.depthwise_conv2d_native(x, w, **WIDE), x=F64(1, 4, 4, 2), w=F64(9, 9, 2, 2))
case("conv2d_wide", lambda tf, x, w: tf.nn.conv2d(x, w, **WIDE), x=F64(1, 4, 4, 2), w=F64(9, 9, 2, 2))
