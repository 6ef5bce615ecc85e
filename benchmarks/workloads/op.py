"""One operation, or its gradients, at a time; the results are kept in variables, so that they are computed in full.

Runs on Python 3.7 too. `python -m benchmarks op:conv_3x3` measures one.
"""

import numpy as np

from benchmarks.workloads.model import GraphModel

IMAGES, CHANNELS, ROWS, COLUMNS = (8, 28, 28, 64), 64, 4096, 1024


class Inputs(object):
    """Variables with fixed values as inputs, which no graph optimizer takes for constants."""

    def __init__(self, tf):
        self.tf, self.random = tf, np.random.RandomState(0)

    def variable(self, values):
        return self.tf.Variable(values, trainable=False)

    def normal(self, *shape, **options):
        values = self.random.standard_normal(shape).astype(np.float32)
        return self.tf.cast(self.variable(values), options.get("dtype", self.tf.float32))

    def integers(self, limit, *shape):
        return self.variable(self.random.randint(0, limit, shape).astype(np.int32))


def _convolution(size, stride=1):
    def build(tf, inputs):
        x, kernel = inputs.normal(*IMAGES), inputs.normal(size, size, IMAGES[-1], CHANNELS)
        return tf.nn.conv2d(x, kernel, strides=[1, stride, stride, 1], padding="SAME"), [x, kernel]

    return build


def _depthwise(tf, inputs):
    x, kernel = inputs.normal(*IMAGES), inputs.normal(3, 3, IMAGES[-1], 1)
    return tf.nn.depthwise_conv2d(x, kernel, [1, 1, 1, 1], "SAME"), [x, kernel]


def _transposed(tf, inputs):
    x, kernel = inputs.normal(8, 14, 14, 64), inputs.normal(3, 3, CHANNELS, 64)
    return tf.nn.conv2d_transpose(x, kernel, output_shape=IMAGES, strides=[1, 2, 2, 1], padding="SAME"), [x, kernel]


def _pooling(kind):
    def build(tf, inputs):
        x = inputs.normal(*IMAGES)
        return getattr(tf.nn, kind)(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [x]

    return build


def _batch_norm(tf, inputs):
    x, scale, offset = inputs.normal(*IMAGES), inputs.normal(64), inputs.normal(64)
    return tf.nn.fused_batch_norm(x, scale, offset)[0], [x, scale, offset]


def _softmax(tf, inputs):
    x = inputs.normal(ROWS, COLUMNS)
    return tf.nn.softmax(x), [x]


def _gather(tf, inputs):
    x = inputs.normal(50000, 128)
    return tf.gather(x, inputs.integers(50000, ROWS)), [x]


def _scatter(tf, inputs):
    return tf.scatter_nd(inputs.integers(20000, ROWS, 1), inputs.normal(ROWS, 128), [20000, 128]), []


def _scatter_add(tf, inputs):
    return tf.scatter_add(inputs.variable(np.zeros((20000, 128), np.float32)), inputs.integers(20000, ROWS), inputs.normal(ROWS, 128)), []


def _segment_sum(tf, inputs):
    ids = np.sort(np.append(inputs.random.randint(0, 500, ROWS - 1), 499)).astype(np.int32)
    return tf.reshape(tf.segment_sum(inputs.normal(ROWS, 128), inputs.variable(ids)), [500, 128]), []


def _unsorted_segment_sum(tf, inputs):
    return tf.unsorted_segment_sum(inputs.normal(ROWS, 128), inputs.integers(500, ROWS), 500), []


def _matmul(dtype):
    def build(tf, inputs):
        kind = getattr(tf, dtype)
        a, b = inputs.normal(512, 512, dtype=kind), inputs.normal(512, 512, dtype=kind)
        return tf.matmul(a, b), [a, b]

    return build


FORWARD = {
    "conv_1x1": _convolution(1), "conv_3x3": _convolution(3), "conv_5x5": _convolution(5), "conv_strided": _convolution(3, 2),
    "conv_depthwise": _depthwise, "conv_transposed": _transposed, "max_pool": _pooling("max_pool"),
    "avg_pool": _pooling("avg_pool"), "batch_norm": _batch_norm, "softmax": _softmax, "gather": _gather, "scatter": _scatter,
    "scatter_add": _scatter_add,
    "top_k": lambda tf, inputs: (tf.nn.top_k(inputs.normal(512, 10000), 10)[0], []),
    "sort": lambda tf, inputs: (tf.sort(inputs.normal(512, 2000)), []),
    "segment_sum": _segment_sum, "unsorted_segment_sum": _unsorted_segment_sum,
    "matmul_float32": _matmul("float32"), "matmul_bfloat16": _matmul("bfloat16"),
}  # fmt: skip
DIFFERENTIATED = (
    "conv_1x1", "conv_3x3", "conv_5x5", "conv_strided", "conv_depthwise", "conv_transposed", "max_pool", "avg_pool",
    "batch_norm", "softmax",
)  # fmt: skip
OPS = (*FORWARD, *(name + "_gradient" for name in DIFFERENTIATED))


def batches(name):
    return [()]


def build(tf, op):
    inputs = Inputs(tf)
    name = op[: -len("_gradient")] if op.endswith("_gradient") else op
    result, sources = FORWARD[name](tf, inputs)
    results = [result]
    if name != op:
        results = tf.gradients(result, sources, inputs.normal(*result.shape.as_list()))
    kept = [tf.Variable(tf.zeros(r.shape, r.dtype), trainable=False, validate_shape=False) for r in results]
    step = tf.group(*[tf.assign(k, r, validate_shape=False) for k, r in zip(kept, results)])
    return GraphModel((), [step], tf.reduce_mean(tf.abs(tf.cast(kept[0], tf.float32))))
