"""Sizes of batches, callbacks and rings of devices under strategies; what it prints is the same under TensorFlow 1.15.5 and tfcompat."""

import numpy as np
import tensorflow as tf
from tensorflow.python.distribute import all_reduce
from tensorflow.python.keras.distribute import distributed_training_utils as utils


def shows(function, *args, **kwargs):
    try:
        print(function(*args, **kwargs))
    except ValueError as e:
        text = str(e)
        print(type(e).__name__, text[:40], text[-50:] if "0x" not in text else text.split("> ")[1])


strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
x, y = np.ones((4, 3), "f"), np.ones((4, 1), "f")
for optimizer in (tf.keras.optimizers.SGD(0.1), tf.train.GradientDescentOptimizer(0.1)):
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
        model.compile(optimizer, "mse")
    for callback in (tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.1), tf.keras.callbacks.ReduceLROnPlateau()):
        shows(lambda: model.fit(x, y, verbose=0, callbacks=[callback]).params["batch_size"])
        shows(utils.validate_callbacks, [callback], optimizer)

for given in ((10, None, None), (10, 2, None), (10, 3, None), (10, None, 3), (10, 2, 5), (10, 3, 5), (10, None, 5)):
    for mode in (None, "train", "test"):
        for each in (strategy, tf.contrib.distribute.OneDeviceStrategy("/cpu:0")):
            shows(utils.get_input_params, each, *given, mode=mode)

for given in ((2, 2, [0, 1, 2]), (1, 1, [1, 0]), (3, 3, [2, 1, 0]), (1, 2, [0, 1, 2, 3, 4]), (1, 2, []), (1, 2, [0])):
    shows(all_reduce._ring_permutations, *given)
shows(all_reduce._flatten_tensors, [tf.ones([2, 3], name="a"), tf.ones([2, 3], name="b")])
shows(lambda: all_reduce._flatten_tensors([tf.ones([3])])[1])
shows(lambda: all_reduce._flatten_tensors([tf.placeholder(tf.float32)]))
shows(all_reduce._flatten_tensors, [])
