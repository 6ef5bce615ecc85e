import tensorflow as tf # Build a graph.
a = tf.constant([1.0, 2.0])
b = tf.constant([3.0, 4.0])
c = a * b # Launch the graph in a session.
sess = tf.Session() # Evaluate the tensor 'c'.
print(sess.run(c))
sess.close() # result: [3., 8.]
