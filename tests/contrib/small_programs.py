"""Small packages and names of tf.contrib."""

import numpy as np


def run(tf, *fetches):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(list(fetches))


def quantization(tf, folder):
    kit = tf.contrib.quantization
    x = tf.constant(np.linspace(-3, 7, 12, dtype=np.float32).reshape(3, 4))
    found = [kit.quantize_v2(x, -4.0, 8.0, tf.quint8, mode, "HALF_AWAY_FROM_ZERO") for mode in ("MIN_FIRST", "MIN_COMBINED", "SCALED")]
    joined = kit.quantized_concat(0, [found[0][0]] * 2, [found[0][1]] * 2, [found[0][2]] * 2)
    numbers = [tf.cast(each[0], tf.int32) for each in (*found, joined)]
    return run(tf, *numbers, kit.dequantize(*found[0], mode="MIN_FIRST"), kit.quantized_array_ops.dequantize(*found[1]))


PROGRAMS = {f.__name__: f for f in (quantization,)}
