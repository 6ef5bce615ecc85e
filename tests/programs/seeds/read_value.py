# Supplied lines:
import tensorflow as tf
# The program:
v = tf.get_variable("v", shape=(), initializer=tf.zeros_initializer())
assignment = v.assign_add(1)
with tf.control_dependencies([assignment]):
    w = v.read_value() # w is guaranteed to reflect v's value after the

# assign_add operation.
# Supplied lines:
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(w), sess.run(w))
