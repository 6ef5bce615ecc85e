"""Names through aliases, from imports and stars; each line that is not well says so behind `#:`."""

import tensorflow as tf
import tensorflow.compat.v1 as tf1
import tensorflow.contrib.slim as slim
from tensorflow.contrib import layers as contrib_layers
from tensorflow.contrib.rnn import *
from tensorflow.python.ops import array_ops
from tensorflow.python.ops import no_such_module  #: missing tensorflow.python.ops.no_such_module

layers = tf.contrib.layers
flags = tf.app.flags
FLAGS = flags.FLAGS
a, b = tf.nn, tf.train
cell = BasicLSTMCell(3)
late = BasicLTSMCell if False else None
d = tf.DType.no_such_member  #: missing tf.DType.no_such_member

flags.DEFINE_string("name", "", "a name")
print(FLAGS.anything.at_all)
print(a.relu, a.sofmax, b.Saver)  #: missing tf.nn.sofmax
print(tf1.placeholder, tf1.no_such_name)  #: missing tf.compat.v1.no_such_name
print(slim.conv2d, slim.no_such_layer)  #: missing tf.contrib.slim.no_such_layer
print(contrib_layers.xavier_initializer(), layers.fully_connected, layers.nothing)  #: missing tf.contrib.layers.nothing
print(array_ops.concat)
print(tf.mul(1, 2))  #: missing tf.mul
print(getattr(tf, "sub")(2, 1))  #: missing tf.sub
print([tf.neg(tf) for tf in [1]], tf.neg)  #: missing tf.neg


def uses_an_argument(tf, slim):
    layers = [tf.mul]
    return layers.nothing, slim.no_such_layer


def rebinds():
    slim = 3
    return slim.no_such_layer, late_alias.pack  #: missing tf.pack


class Holder:
    slim = 3
    inner = slim.no_such_layer

    def method(self, x=tf.unpack):  #: missing tf.unpack
        return slim.no_such_model  #: missing tf.contrib.slim.no_such_model


late_alias = tf
tf.my_own_name = 3
print(tf.my_own_name)
