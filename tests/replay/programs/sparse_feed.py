"""A sparse feed times a dense variable."""
import tensorflow as tf

x = tf.sparse_placeholder(tf.float32, name="x")
w = tf.get_variable("w", [5, 2], initializer=tf.ones_initializer())
product = tf.sparse_tensor_dense_matmul(x, w, name="product")
step = tf.train.RMSPropOptimizer(0.1).minimize(tf.reduce_sum(tf.square(product)))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for value in (1.0, -2.0):
        fed = tf.SparseTensorValue([[0, 1], [2, 4]], [value, 3.0], [3, 5])
        session.run([product, x, step], {x: fed})
