"""`tensorflow.python.util.compat`: the functions of `tf.compat`, and `collections_abc`."""

from collections import abc as collections_abc  # noqa: F401

from tfcompat._src.platform.compat import *  # noqa: F403
