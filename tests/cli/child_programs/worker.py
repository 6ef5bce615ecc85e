"""What the other programs start: says that TensorFlow and names of its time are there."""

import imp  # noqa: F401
import sys

import numpy as np
import tensorflow as tf

with tf.Session() as session:
    total = session.run(tf.reduce_sum(tf.constant([float(len(sys.argv)), 2.0])))
print(__name__, sys.argv[1:], total, np.zeros(1, np.int).dtype.kind)
