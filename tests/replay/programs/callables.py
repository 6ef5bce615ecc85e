"""make_callable with and without feeds, two sessions on one graph, a table, and random operations without a seed."""
import tensorflow as tf

x = tf.placeholder(tf.float32, [], name="x")
count = tf.Variable(1.0, name="count")
table = tf.contrib.lookup.index_table_from_tensor(["a", "b", "c"])
found = table.lookup(tf.constant(["c", "z"]))
noise = tf.random_normal([2]) * count
added = tf.assign_add(count, x)
doubled = tf.assign(count, count * 2.0)
for _ in range(2):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        add, double = session.make_callable(added, [x]), session.make_callable(doubled)
        for number in range(2):
            add(number + 0.5)
            double()
            session.run([found, noise])
