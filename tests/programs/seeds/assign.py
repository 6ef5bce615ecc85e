# Supplied lines:
import tensorflow as tf
v = tf.Variable(0)
# The program:
update = tf.assign(v, v+1)
# Supplied lines:
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(update), sess.run(update))
