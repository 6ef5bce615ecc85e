"""The program whose session on the command line session.txt has."""

import numpy as np
import tensorflow as tf
from tensorflow.python import debug as tf_debug

tf.logging.set_verbosity(tf.logging.ERROR)
x = tf.placeholder(tf.float32, [None, 3], name="x")
with tf.name_scope("h"):
    w = tf.Variable(tf.ones([3, 2]), name="w")
    mm = tf.matmul(x, w, name="mm")
    r = tf.nn.relu(mm, name="r")
loss = tf.reduce_mean(r, name="loss")
step = tf.train.GradientDescentOptimizer(0.5).minimize(loss, name="step")
bad = tf.reshape(x, [9], name="bad")
session = tf.Session()
session.run(tf.global_variables_initializer())
debugged = tf_debug.LocalCLIDebugWrapperSession(session, ui_type="readline")
for k in range(4):
    print("loss", debugged.run([step, loss], {x: np.arange(6.0).reshape(2, 3)})[1])
print(type(debugged.run(bad, {x: np.ones([2, 3])})).__name__)
print("last", debugged.run({"a": loss}, {x: np.ones([2, 3])}))
