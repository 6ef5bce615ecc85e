"""Rows of an embedding are updated by Adagrad, lazily by Adam, and with scatter operations; indices repeat."""
import tensorflow as tf

tf.set_random_seed(6)
ids = tf.placeholder(tf.int64, [None], name="ids")
table = tf.get_variable("table", [7, 3])
other = tf.get_variable("other", [7, 3], use_resource=True)
loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids) + tf.nn.embedding_lookup(other, ids)), name="loss")
steps = [tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=[table]), tf.train.AdamOptimizer(0.1).minimize(loss, var_list=[other])]
counts = tf.get_variable("counts", [7], tf.int32, tf.zeros_initializer(), trainable=False)
counted = tf.scatter_add(counts, ids, tf.ones_like(ids, tf.int32))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for rows in ([1, 2, 1], [0], [6, 6, 6, 3]):
        session.run([loss, counted, steps], {ids: rows})
