"""What other files of the repository import."""

import tensorflow as tf

contrib = tf.contrib


def has_own_method(d):
    return d.readfp()
