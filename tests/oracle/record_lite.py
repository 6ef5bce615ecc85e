"""Records conversions of TensorFlow 1.15.5: run with its Python from here; writes tests/lite/recorded.npz.

For each model: the frozen GraphDef, the inputs, what Session.run gives, the .tflite file of the real converter (float, float16, dynamic range,
int8, uint8), and what the real interpreter gives for it.
"""

import os

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lite", "recorded.npz")
random = np.random.RandomState(3)


def floats(*shape):
    return random.rand(*shape).astype(np.float32)


def mlp(x):
    return tf.layers.dense(tf.layers.dense(x, 16, tf.nn.relu), 4)


def cnn(x):
    hidden = tf.layers.conv2d(x, 8, 3, strides=2, padding="same", use_bias=False)
    hidden = tf.nn.relu6(tf.layers.batch_normalization(hidden, fused=True))
    hidden = tf.nn.relu6(tf.layers.separable_conv2d(hidden, 12, 3, padding="same"))
    hidden = tf.layers.max_pooling2d(hidden + tf.layers.conv2d(hidden, 12, 1), 2, 2)
    return tf.nn.softmax(tf.layers.dense(tf.layers.flatten(hidden), 5), name="prob")


def batch_norm_after_relu(x):
    hidden = tf.layers.batch_normalization(tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu), fused=True)
    return tf.layers.conv2d(hidden, 2, 3)


def deconv(x):
    return tf.layers.conv2d_transpose(x, 5, 3, 2, "same", activation=tf.nn.relu)


def dilated(x):
    return tf.layers.conv2d(x, 5, 3, padding="same", dilation_rate=2)


def gray(x):
    return tf.layers.conv2d(x, 5, 3, padding="same", activation=tf.nn.relu)


def depthwise(x):
    return tf.nn.depthwise_conv2d(x, tf.constant(floats(3, 3, 3, 2)), [1, 2, 2, 1], "VALID")


def batch_matmul(x):
    return tf.matmul(x, tf.transpose(x, [0, 2, 1]))


def tensordot(x):
    return tf.tensordot(x, tf.constant(floats(3, 5)), 1)


def scale_before(x):
    return tf.layers.conv2d(x * 2.0 - 1.0, 4, 3, padding="valid")


def arrays(x):
    parts = tf.split(tf.concat([x, x * 2], 3), 2, 3)
    stacked = tf.stack(tf.unstack(x, axis=1)[:2], 1)
    taken = tf.gather(x, [1, 0], axis=3)
    return [parts[1], stacked, taken, tf.tile(x, [1, 2, 1, 1]), tf.expand_dims(x, 1), tf.pad(x, [[0, 0], [1, 1], [0, 0], [0, 0]]),
            tf.slice(x, [0, 1, 0, 0], [1, 2, -1, -1]), x[:, 1:4:2, ::2], tf.reshape(x, [-1, 6]), tf.transpose(x, [0, 2, 1, 3])]


def numbers(x):
    return [tf.nn.leaky_relu(x - 0.5), tf.nn.elu(x - 0.5), tf.floor(x * 3), tf.rsqrt(x + 1), tf.exp(-x), tf.pow(x, 2.0), tf.maximum(x, 0.5),
            tf.squared_difference(x, 0.5), tf.where(x > 0.5, x, tf.zeros_like(x)), tf.reduce_max(x, [1, 2], keepdims=True), tf.argmax(x, -1),
            tf.nn.log_softmax(x), tf.nn.l2_normalize(x, -1), tf.sigmoid(x) * tf.tanh(x), tf.cast(x * 5, tf.int32),
            tf.image.resize_bilinear(x, [8, 12]), tf.nn.lrn(x, 1)]


def static_lstm(x):
    cell = tf.nn.rnn_cell.BasicLSTMCell(6)
    return tf.layers.dense(tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)[0][-1], 3)


def embedding(ids):
    return tf.reduce_mean(tf.nn.embedding_lookup(tf.constant(floats(20, 4)), ids), 1)


def fake_quant(x):
    weights = tf.fake_quant_with_min_max_args(tf.constant(floats(3, 3, 3, 4) - 0.5), -0.5, 0.5)
    hidden = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, weights, 1, "SAME"), tf.constant(floats(4))))
    hidden = tf.nn.max_pool(tf.fake_quant_with_min_max_args(hidden, 0.0, 4.0), 2, 2, "VALID")
    return tf.fake_quant_with_min_max_args(hidden + 0.5, 0.0, 5.0, name="out")


IMAGE = (1, 8, 8, 3)
MODELS = [
    (mlp, [floats(1, 10)]), (cnn, [floats(1, 16, 16, 3)]), (batch_norm_after_relu, [floats(*IMAGE)]), (deconv, [floats(1, 4, 4, 3)]),
    (dilated, [floats(*IMAGE)]), (gray, [floats(1, 8, 8, 1)]), (depthwise, [floats(*IMAGE)]), (batch_matmul, [floats(2, 4, 3)]),
    (tensordot, [floats(1, 4, 3)]), (scale_before, [floats(*IMAGE)]), (arrays, [floats(1, 4, 6, 2)]), (numbers, [floats(1, 4, 6, 2)]),
    (static_lstm, [floats(1, 5, 4)]), (embedding, [np.array([[3, 5, 0, 19]], np.int32)]),
]


def run(content, feeds):
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    for detail, feed in zip(interpreter.get_input_details(), feeds):
        interpreter.set_tensor(detail["index"], feed)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def variants(name):
    """Name of the variant and what sets the converter up for it."""
    yield "float", lambda converter, feeds: None
    if name == "fake_quant":
        yield "uint8", uint8
    if name in ("mlp", "cnn", "batch_norm_after_relu"):
        yield "float16", float16
        yield "int8", int8
    if name == "wide":
        yield "dynamic", dynamic


def uint8(converter, feeds):
    converter.inference_type = tf.lite.constants.QUANTIZED_UINT8
    converter.quantized_input_stats = {"x0": (0.0, 255.0)}


def float16(converter, feeds):
    dynamic(converter, feeds)
    converter.target_spec.supported_types = [tf.lite.constants.FLOAT16]


def dynamic(converter, feeds):
    converter.optimizations = [tf.lite.Optimize.DEFAULT]


def int8(converter, feeds):
    dynamic(converter, feeds)
    samples = [[(feed * factor).astype(np.float32) for feed in feeds] for factor in (0.5, 0.8, 1.0)]
    converter.representative_dataset = lambda: iter(samples)


def wide(x):
    return tf.layers.dense(tf.layers.dense(x, 64, tf.nn.relu), 3)


def main():
    found = {}
    for build, feeds in MODELS + [(fake_quant, [floats(*IMAGE)]), (wide, [floats(1, 32)])]:
        name = build.__name__
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(7)
            inputs = [tf.placeholder(feed.dtype, feed.shape, name="x%d" % i) for i, feed in enumerate(feeds)]
            outputs = build(*inputs)
            outputs = outputs if isinstance(outputs, list) else [outputs]
            session.run(tf.global_variables_initializer())
            for variable in tf.global_variables():  # statistics of normalizations, too, are no 0 and 1
                session.run(variable.assign_add(0.1 * floats(*variable.shape.as_list())))
            frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, [o.op.name for o in outputs])
            found[name + "/graph"] = np.frombuffer(frozen.SerializeToString(), np.uint8)
            found[name + "/outputs"] = np.array([o.name for o in outputs])
            for i, (feed, value) in enumerate(zip(feeds, [None] * len(feeds))):
                found["%s/feed%d" % (name, i)] = feed
            for i, value in enumerate(session.run(outputs, dict(zip(inputs, feeds)))):
                found["%s/value%d" % (name, i)] = value
            for variant, prepare in variants(name):
                converter = tf.lite.TFLiteConverter.from_session(session, inputs, outputs)
                prepare(converter, feeds)
                content = converter.convert()
                found["%s/%s" % (name, variant)] = np.frombuffer(content, np.uint8)
                given = [(feeds[0] * 255).round().astype(np.uint8)] if variant == "uint8" else feeds
                for i, value in enumerate(run(content, given)):
                    found["%s/%s_value%d" % (name, variant, i)] = value
    np.savez_compressed(OUT, **found)


if __name__ == "__main__":
    main()
