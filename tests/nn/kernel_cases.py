"""Cases of the convolution and pooling kernels: (name, raw op, kernel, arguments, attributes).

An argument is a shape tuple (normal numbers), a list (a shape, passed as it is), "ties" / "special" plus a shape, or
("output", shape) for a gradient. Shared by the recorder and the tests.
"""

import zlib

import numpy as np

NHWC = {"data_format": "NHWC"}


def _conv(name, x, filters, out, **attributes):
    a = dict(NHWC, **attributes)
    return [(name, "Conv2D", "conv", {"input": x, "filter": filters}, a),
            (name + "_input", "Conv2DBackpropInput", "conv_backprop_input",
             {"input_sizes": list(x), "filter": filters, "out_backprop": out}, a),
            (name + "_filter", "Conv2DBackpropFilter", "conv_backprop_filter",
             {"input": x, "filter_sizes": list(filters), "out_backprop": out}, a)]


def _depthwise(name, x, filters, out, **attributes):
    a = dict(NHWC, **attributes)
    op = "DepthwiseConv2dNative"
    return [(name, op, "depthwise_conv", {"input": x, "filter": filters}, a),
            (name + "_input", op + "BackpropInput", "depthwise_conv_backprop_input",
             {"input_sizes": list(x), "filter": filters, "out_backprop": out}, a),
            (name + "_filter", op + "BackpropFilter", "depthwise_conv_backprop_filter",
             {"input": x, "filter_sizes": list(filters), "out_backprop": out}, a)]


def _pool(name, x, out, **attributes):
    a = dict(NHWC, **attributes)
    cases = [(name + "_avg", "AvgPool", "avg_pool", {"value": x}, a),
             (name + "_avg_grad", "AvgPoolGrad", "avg_pool_grad", {"orig_input_shape": list(x), "grad": out}, a)]
    for values in ("ties", "special"):
        data = (values, *x)
        cases += [(f"{name}_{values}", "MaxPool", "max_pool", {"input": data}, a),
                  (f"{name}_{values}_grad", "MaxPoolGrad", "max_pool_grad",
                   {"orig_input": data, "orig_output": out, "grad": out}, a),
                  (f"{name}_{values}_grad_grad", "MaxPoolGradGrad", "max_pool_grad_grad",
                   {"orig_input": data, "orig_output": ("ties", *out), "grad": x}, a)]
    return cases


CASES = [
    *_conv("same", (2, 7, 6, 9), (3, 3, 9, 4), (2, 7, 6, 4), strides=[1, 1, 1, 1], padding="SAME"),
    *_conv("strided", (2, 7, 8, 9), (3, 2, 9, 4), (2, 4, 3, 4), strides=[1, 2, 3, 1], padding="SAME"),
    *_conv("one_channel", (2, 6, 7, 1), (5, 5, 1, 4), (2, 6, 7, 4), strides=[1, 1, 1, 1], padding="SAME"),
    *_conv("valid_few_channels", (2, 8, 7, 3), (3, 2, 3, 4), (2, 3, 3, 4), strides=[1, 2, 2, 1], padding="VALID"),
    *_conv("pointwise", (2, 5, 6, 9), (1, 1, 9, 4), (2, 3, 3, 4), strides=[1, 2, 2, 1], padding="SAME"),
    *_conv("filter_above_input", (1, 2, 3, 2), (5, 4, 2, 3), (1, 2, 3, 3), strides=[1, 1, 1, 1], padding="SAME"),
    *_conv("explicit", (1, 4, 5, 2), (3, 3, 2, 3), (1, 3, 6, 3), strides=[1, 2, 1, 1], padding="EXPLICIT",
           explicit_paddings=[0, 0, 1, 2, 3, 0, 0, 0]),
    *_conv("empty_batch", (0, 4, 4, 2), (3, 3, 2, 3), (0, 4, 4, 3), strides=[1, 1, 1, 1], padding="SAME"),
    *_conv("dilated", (1, 7, 8, 2), (3, 2, 2, 3), (), strides=[1, 1, 1, 1], padding="SAME",
           dilations=[1, 2, 3, 1])[:1],
    *_depthwise("depthwise", (2, 5, 6, 3), (3, 3, 3, 2), (2, 5, 6, 6), strides=[1, 1, 1, 1], padding="SAME"),
    *_depthwise("depthwise_strided", (2, 6, 7, 3), (3, 2, 3, 1), (2, 2, 3, 3), strides=[1, 2, 2, 1], padding="VALID"),
    ("conv3d", "Conv3D", "conv", {"input": (1, 3, 4, 4, 2), "filter": (2, 2, 2, 2, 3)},
     {"strides": [1, 1, 2, 1, 1], "padding": "SAME", "data_format": "NDHWC"}),
    *_pool("pool2", (2, 4, 6, 3), (2, 2, 3, 3), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"),
    *_pool("pool3", (2, 6, 7, 2), (2, 3, 4, 2), ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME"),
    *_pool("pool_overlap", (1, 5, 4, 2), (1, 5, 4, 2), ksize=[1, 3, 2, 1], strides=[1, 1, 1, 1], padding="SAME"),
    *_pool("pool_gap", (1, 7, 7, 2), (1, 2, 2, 2), ksize=[1, 2, 2, 1], strides=[1, 4, 4, 1], padding="VALID"),
    ("argmax", "MaxPoolWithArgmax", "max_pool_with_argmax", {"input": ("special", 2, 5, 4, 2)},
     {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME", "include_batch_in_index": True}),
    ("bias_nhwc", "BiasAddGrad", "bias_add_grad", {"out_backprop": (3, 2, 4, 5)}, NHWC),
    ("bias_nchw", "BiasAddGrad", "bias_add_grad", {"out_backprop": (3, 2, 4, 5)}, {"data_format": "NCHW"}),
]


def arguments(case):
    """The arguments of a case, arrays drawn from its name and theirs."""
    return {name: _array(f"{case[0].split('_grad')[0]}/{name}", value) for name, value in case[3].items()}


def _array(key, value):
    if isinstance(value, list):
        return value
    random = np.random.RandomState(zlib.crc32(key.encode()) & 0x7FFFFFFF)
    if not value or not isinstance(value[0], str):
        return random.standard_normal(value).astype(np.float32)
    x = np.round(random.standard_normal(value[1:])).astype(np.float32)
    if value[0] == "special":
        x[random.uniform(size=x.shape) < 0.2] = np.nan
        x[random.uniform(size=x.shape) < 0.4] = -np.inf
    return x
