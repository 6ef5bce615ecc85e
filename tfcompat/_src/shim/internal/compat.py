"""`tensorflow.python.util.compat`: `tf.compat`'s functions, and the abstract base classes of collections."""

from collections import abc as collections_abc  # noqa: F401

from tfcompat._src.platform.compat import *  # noqa: F403
