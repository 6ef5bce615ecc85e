"""Names whose absence the program prepares for."""

import sys

import tensorflow as tf

try:
    from tensorflow.models.rnn import rnn_cell  #: guarded missing tf.models
except ImportError:
    from tensorflow.contrib import rnn as rnn_cell
try:
    import tensorflow.no_such_package as package  #: guarded missing tf.no_such_package
except Exception:
    package = None
try:
    tf.mul  #: missing tf.mul
except KeyError:
    pass
try:
    merge = tf.merge_all_summaries  #: guarded missing tf.merge_all_summaries
except AttributeError:
    merge = tf.summary.merge_all
try:
    unicode  #: guarded stops unicode
except NameError:
    unicode = str
if sys.version_info[0] < 3:
    text = raw_input()  #: guarded stops raw_input
split = tf.unpack if tf.__version__ < "1.0" else tf.unstack  #: guarded missing tf.unpack
if hasattr(tf, "pack"):
    stack = tf.pack  #: guarded missing tf.pack
else:
    stack = tf.stack

cell = rnn_cell.BasicLSTMCell(3)
never = getattr(tf, "inv", None)  #: guarded missing tf.inv
