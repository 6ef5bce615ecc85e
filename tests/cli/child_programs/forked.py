"""Processes that are forked off one whose session ran, and end as Python ends."""

import os
import sys

import numpy as np
import tensorflow as tf

x = tf.placeholder(tf.float32, [None, None])
square = tf.matmul(x, x)
session = tf.Session()
session.run(square, {x: np.ones([300, 300])})
for status in (0, 3):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        print(np.arange(4).sum())
        sys.exit(status)
    print(os.waitpid(child, 0)[1] / 256.0, session.run(square, {x: np.ones([300, 300])}).sum())
